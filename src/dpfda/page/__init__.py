"""The HTML page of a release; like the release, it sees only what was paid for."""

from dpfda.page.page import page

__all__ = ["page"]
