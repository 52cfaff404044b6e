"""Statistics: one folder each, with `summary.py`, `plan.py`, `release.py`, `estimator.py` and `page.py`."""
