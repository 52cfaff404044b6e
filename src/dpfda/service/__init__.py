"""The service that answers what has been released: `make_app` gives it to any ASGI server.

The files:

    app.py        `make_app` and `run`
    server.py     the process: sockets, timeouts, stopping
    asgi.py       the application that every request passes
    endpoints.py  the answer of each address, and the home page
    served.py     the releases and oracles that are served, and their files
    answers.py    a release or oracle in the form that is asked
    limits.py     limits, rates and host names
    refusals.py   every refusal, with its constant text
    openapi.py    the OpenAPI document
"""

from dpfda.service.answers import Answers
from dpfda.service.app import make_app, run
from dpfda.service.limits import Limits

__all__ = ["Answers", "Limits", "make_app", "run"]
