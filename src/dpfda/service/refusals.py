"""Everything the service refuses: one constant text each, so that no error tells of any record."""

from __future__ import annotations

import json
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a request is refused: what happened, and the way out; nothing in it depends on data or on the request."""

    status: int
    code: str
    message: str
    way_out: str
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """The JSON that is sent: code, message and way out."""
        said = {"code": self.code, "message": self.message, "way_out": self.way_out}
        return json.dumps({"error": said}).encode()


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, reason: Reason, **headers: str) -> None:
        super().__init__(reason.message)
        self.reason = reason
        self.headers = {**reason.headers, **headers}


BAD_REQUEST = Reason(400, "bad-request", "This is no HTTP request.", "Send HTTP/1.1.")
BAD_JSON = Reason(
    400,
    "bad-json",
    "The body is not JSON: UTF-8, no NaN or Infinity, no name twice in an object, not nested deeply.",
    'Send e.g. {"points": [0.5]}.',
)
NO_TOKEN = Reason(
    401,
    "token-needed",
    "This is the owner's, and the token is missing or wrong.",
    "Send the header Authorization: Bearer TOKEN.",
    {"WWW-Authenticate": "Bearer"},
)
NO_OWNER = Reason(
    403,
    "no-owner",
    "This is the owner's, and the service was started without a token.",
    "Start it with --token-file FILE, or with the environment variable DPFDA_TOKEN.",
)
NOT_FOUND = Reason(404, "not-found", "There is nothing here under this name.", "GET /releases lists what there is.")
WRONG_METHOD = Reason(
    405, "wrong-method", "This method is not for this address.", "The header Allow lists those that are."
)
TOO_SLOW = Reason(408, "too-slow", "The body did not come in time.", "Send it at once.", {"Connection": "close"})
MISFIT = Reason(
    409,
    "points-misfit",
    "The points do not fit this release: a point lies outside its domain or has another number of coordinates.",
    "GET /releases/{id} says what a point is: coordinates, lower and upper.",
)
NO_ANSWER = Reason(
    409,
    "no-answer",
    "This oracle gives no more new answers: it has all that its guarantee covers, or no records behind it.",
    "Ask for points that have answers.",
)
TAKEN = Reason(
    409, "id-taken", "A release of this id is being served.", "Choose another id, or withdraw that release first."
)
UNFIT = Reason(
    409,
    "cannot-publish",
    "This cannot be published: it is damaged or edited, of a kind or version that is not known here, or not private.",
    "Send a file that release.save() wrote, as it is. What a seeded source drew is not private and stays here.",
)
NO_FOLDER = Reason(
    409, "no-folder", "This service has no folder to publish in.", "Start it with dpfda serve FOLDER to publish."
)
TOO_LARGE = Reason(
    413,
    "too-large",
    "The body is larger than this service takes.",
    "Ask for fewer points at a time.",
    {"Connection": "close"},
)
WRONG_HOST = Reason(
    421,
    "wrong-host",
    "This service does not answer under this host name.",
    "Use its address, or let its owner state the name with --host-name.",
)
NOT_JSON = Reason(
    415, "not-json", "The body must be JSON.", "Send the header Content-Type: application/json and no Content-Encoding."
)
BAD_POINTS = Reason(
    422,
    "bad-points",
    "The body must be an object with the one entry points: numbers, or lists of numbers, finite, at least one and not "
    "more than this service takes.",
    'Send e.g. {"points": [0, 0.5, 1]} or {"points": [[0.1, 0.2]]}; GET /openapi.json says how many at most.',
)
BAD_ID = Reason(
    422,
    "bad-id",
    "A release is published under an id of 1 to 100 letters, digits, dots, hyphens and underscores, a letter or digit "
    "first, said once.",
    "Send e.g. POST /releases?id=mean-2026.",
)
BAD_RELEASE = Reason(
    422,
    "bad-release",
    "The body must be a release: an object with the entries format, certificate and basis at least.",
    "Send a file that release.save() wrote, as it is.",
)
TOO_MANY = Reason(
    429, "too-many", "More is asked than this service answers in the time.", "Wait as Retry-After says, in seconds."
)
HEADERS_TOO_LARGE = Reason(
    431, "headers-too-large", "The headers are larger than this service takes.", "Send fewer and shorter ones."
)
FAILED = Reason(
    500,
    "failed",
    "Something unforeseen happened. Nothing more can be said without saying something about what was computed.",
    "Ask again; if it stays, tell the owner of the service.",
)
BUSY = Reason(
    503, "busy", "Too many are asking at the moment, or the service is stopping.", "Ask again.", {"Retry-After": "1"}
)

ALL = tuple(value for value in list(globals().values()) if isinstance(value, Reason))
