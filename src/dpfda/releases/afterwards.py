"""What was changed in a release after it was handed out, for nothing: another smoothing, another ridge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpfda.releases.certificate import Certificate


def changed(card: Certificate, what: str, was: Any, now: Any) -> Certificate:
    """The card with a line on what was changed, and what it was when the release was handed out.

    Without it a file with another smoothing could not be told from one that somebody edited. Who changes it back has
    the card as it was.
    """
    known = {change["what"]: change for change in card.afterwards}
    first = known[what]["was"] if what in known else was
    known[what] = {"what": what, "was": first, "now": now}
    kept = tuple(known[name] for name in sorted(known) if known[name]["was"] != known[name]["now"])
    return card if kept == card.afterwards else replace(card, afterwards=kept)


def as_handed_out(release: Any) -> Any:
    """The release with the smoothing and the ridge that it was handed out with; ValueError for any other change."""
    for change in release.certificate.afterwards:
        release = _with(release, change["what"], change["was"])
    return release


def as_changed(release: Any, changes: tuple[dict[str, Any], ...]) -> Any:
    """A release with these changes made anew."""
    for change in changes:
        release = _with(release, change["what"], change["now"])
    return release


def _with(release: Any, what: str, value: Any) -> Any:
    if what == "smoothing" and hasattr(release, "smooth"):
        return release.smooth(value)
    if what == "ridge" and hasattr(release, "with_ridge"):
        return release.with_ridge("auto" if value is None else value)
    raise ValueError(f"no {what} can be changed after this release")
