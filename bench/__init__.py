"""Benchmarks: error and speed of the defaults against named peers, in one run. Start with `python -m bench --help`."""
