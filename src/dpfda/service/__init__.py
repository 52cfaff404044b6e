"""The service that answers what has been released: `make_app` gives it to any ASGI server."""

from dpfda.service.answers import Answers
from dpfda.service.app import make_app, run
from dpfda.service.limits import Limits

__all__ = ["Answers", "Limits", "make_app", "run"]
