# the generator needs programs that the test suite does without, so it is not collected for doctests
collect_ignore = ["generate.py"]
