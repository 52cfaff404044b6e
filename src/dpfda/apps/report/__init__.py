"""Come here for the HTML page of a release; like the release, it sees only what was paid for."""

from dpfda.apps.report.page import page

__all__ = ["page"]
