"""The HTML page of a release; like the release, it sees only what was paid for."""

from dpfda.page.render import page

__all__ = ["page"]
