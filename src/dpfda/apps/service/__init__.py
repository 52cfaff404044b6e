"""Come here for the service that answers what has been released: `make_app` gives it to any ASGI server."""

from dpfda.apps.service.answers import Answers
from dpfda.apps.service.app import make_app, run
from dpfda.apps.service.limits import Limits

__all__ = ["Answers", "Limits", "make_app", "run"]
