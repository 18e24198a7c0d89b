"""``python -m fairstress`` is the command line."""

from fairstress.cli import main

main(prog_name="fairstress")
