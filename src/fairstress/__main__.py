"""The command line as a process of its own: ``fairstress``, or ``python -m fairstress``."""

from __future__ import annotations

import os

from fairstress.cli import main
from fairstress.process import own_process


def run() -> None:
    """Run the command that the arguments name."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as sums are worked out in any case; others would only wait
    own_process()
    main(prog_name="fairstress")


if __name__ == "__main__":
    run()
