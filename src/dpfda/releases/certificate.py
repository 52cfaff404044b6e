"""The cards of releases and of private choices: what was done, under which guarantee, and what that means."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from dpfda.privacy import REPLACE
from dpfda.releases.cards import plain as plain_cards
from dpfda.releases.cards.plain import SCHEMA
from dpfda.releases.cards.words import (
    NOMINAL,
    Statement,
    entry,
    neighbour_entries,
    plain,
    say,
    statement,
    steps,
    units_text,
    up,
    wrapped,
)
from dpfda.releases.entry import Fits, LedgerEntry, recorded
from dpfda.releases.fields import check

__all__ = ["NOMINAL", "NOT_PRIVATE", "SCHEMA", "Certificate", "as_changed", "as_handed_out", "changed"]
STATEMENTS = ("what", "centre", "noise", "missing", "randomness", "moves", "detected")
MOVES_SUM, NOT_SAID = say("moves", "sum"), say("detected", "not-said")
OURS = ("integers", "candidates", "points")  # sources of randomness that nobody can predict
NOT_PRIVATE = say("warnings", "seeded")
# What noise in a function that predicts is compared with.
SIGNALS = {"classifier": "the margin", "regressor": "the bound on responses"}


def is_seeded(said: str) -> bool:
    """Whether a warning is the one of a seeded source."""
    return isinstance(said, Statement) and said.code == NOT_PRIVATE.code


class AnyCard:
    """What the cards of releases and of choices share."""

    __slots__ = ()

    unit: str
    epsilon: float
    randomness: Statement
    software: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    entry: LedgerEntry | None
    fits: Fits | None
    older_record: str

    def to_dict(self) -> dict[str, Any]:
        """The card as plain data, in the schema that it is of."""
        return plain_cards.to_plain(self)

    @property
    def recorded(self) -> str:
        """What is said of the ledger."""
        return self.older_record or recorded(self.entry, self.fits)

    @property
    def private(self) -> bool:
        """Whether it was drawn from a source of randomness that nobody can predict."""
        return self.randomness.code in OURS

    @property
    def stamps(self) -> tuple[str, ...]:
        """What has to be seen first: warnings, and that a release or a choice is not private."""
        told = self.private or any(is_seeded(said) for said in self.warnings)
        return self.warnings if told else (NOT_PRIVATE, *self.warnings)

    def _meaning(self, otherwise: str) -> str:
        """What epsilon means to those who are in the data."""
        times = up(math.exp(self.epsilon), 3) if self.epsilon < 700 else f"e^{plain(self.epsilon)}"
        return (
            f"Whatever a reader concludes would be at most {times} times more or less likely had this {self.unit} "
            f"{otherwise}."
        )

    def _software(self) -> tuple[str, str]:
        return ("software", ", ".join(f"{name} {version}" for name, version in self.software))


@dataclass(frozen=True, slots=True)
class Certificate(AnyCard):
    """The card of a release. Every field is public: chosen in advance, or paid for.

    Names, codes and numbers are data. A `Statement` is a code with its numbers, and reads as the sentence that
    `cards/words.py` makes of them; a plain sentence in its place is somebody's own, and no rule looks at it.
    """

    what: Statement
    dataset: str
    domain: tuple[tuple[float, float], ...]
    unit: str
    unit_was_assumed: bool
    neighbours: str
    n: float  # exact under replace-one, where it is public; noisy under add-or-remove-one
    n_is_noisy: bool
    bound: float
    centre: Statement
    epsilon: float
    delta: float
    rho: float
    mechanism: str
    noise: Statement  # its code is the name of a registered law, or "none", or "online"
    noise_rms: float  # root mean square over the domain, before smoothing, in the units of the curve
    scale: float  # in the units of the curve, of one coordinate of the mean (of the largest block)
    lattice_step: float
    sensitivity: float  # of the integer sum, in lattice steps
    sensitivity_norm: str
    sensitivity_because: str  # for people
    attacker_power: float  # at 5 % false positives
    basis: str
    size: int
    chosen: tuple[tuple[str, str], ...]  # how each public parameter came about, for people
    missing: Statement
    randomness: Statement
    software: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]  # those that follow from numbers are statements
    moves: Statement = MOVES_SUM  # how far one unit moves the summary
    nominal: bool = False  # drawn approximately: the guarantee is that of the law that was aimed at
    n_is_planned: bool = False  # a public guess, where the number is private and no part of the release
    power: int = 1  # of the bound, in whose units the noise is measured: 2 for second moments
    shrunk_by: str = ""  # what shrank the mean before the noise, and so is in no band; empty: nothing did
    bounded: str = ""  # what bounds a record, for people; empty: the bound, on the root mean square of a curve
    # The privacy curves of all that was drawn, as `describe()` wrote them: of the release itself first, then of private
    # choices that it rests on. Dictionaries have no hash; cards that differ in nothing else may share theirs.
    losses: tuple[dict[str, Any], ...] = field(default=(), hash=False)
    # In the units of the sensitivity: their ratio is the parameter of the first loss, so many deviations of normal
    # noise, or so much epsilon; exponential mechanisms that count a move several times have a multiple of it, see
    # `verification/guarantee.py`. 0 in files from before it was kept.
    noise_scale: float = 0.0
    curves_per_unit: str = ""  # how many curves one unit may have, for people; empty: one
    entry: LedgerEntry | None = None  # of the ledger; None where nothing was recorded
    fits: Fits | None = None  # those before it, where nothing was recorded
    counting: str = ""  # how n is known, a `Counting`, hence what neighbours are
    detected: Statement = NOT_SAID  # whether anything was seen above the noise, after it
    statistic: str = ""  # the kind of release, as in the table of kinds; empty for what is none of them
    schema: str = SCHEMA
    # What was changed since, for nothing, as {"what": "smoothing", "was": "auto", "now": "none"}.
    afterwards: tuple[dict[str, Any], ...] = field(default=(), hash=False)
    older_record: str = ""  # what a card of the first schema says of the ledger

    def __post_init__(self) -> None:
        for name in STATEMENTS:
            object.__setattr__(self, name, statement(getattr(self, name)))

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Certificate:
        """The card that `to_dict` wrote; DataError where a field is none, else any exception where one is missing."""
        return Certificate(**plain_cards.read_plain(Certificate, data))

    @property
    def law(self) -> str:
        """The registered name of the law of the noise, or "none", or "online"."""
        return self.noise.code

    @property
    def bought_centre(self) -> str:
        """Which release the curves were taken around, if it was one; empty for a centre that was public anyway."""
        how = statement(dict(self.chosen).get("centre", ""))
        return how if how.code == "bought-centre" else ""

    @property
    def around(self) -> str:
        """The centre in words."""
        return self.bought_centre or self.centre

    @property
    def guarantee(self) -> str:
        if self.nominal:
            return f"nominally epsilon = {plain(self.epsilon)}, drawn approximately"
        if self.delta == 0:
            return f"pure epsilon = {plain(self.epsilon)}"
        return f"(epsilon = {plain(self.epsilon)}, delta = {plain(self.delta)})"

    @property
    def _nominally(self) -> str:
        return "nominally " if self.nominal else ""

    @property
    def sentence(self) -> str:
        """What the guarantee means, for those who are in the data."""
        if not self.private:
            return "The noise can be predicted, so this release promises nothing to anybody."
        if self.nominal:
            return "It was drawn approximately, so this release promises nothing exactly."
        otherwise = "been another one" if self.neighbours == REPLACE else "not been included"
        exception = "" if self.delta == 0 else f", but for a chance of {plain(self.delta)}"
        return self._meaning(f"{otherwise}{exception}")

    @property
    def not_covered(self) -> str:
        """What the noise band, or the size of the noise where there is no band, says nothing about."""
        from dpfda.releases.kinds import has_band

        if self.noise_rms == 0:
            return "There is no noise band: the release was drawn as a whole, not disturbed by noise."
        if self.moves.code == "claimed":
            return "The noise band does not cover what the finite basis did to the function."
        more = f", {self.shrunk_by}" if self.shrunk_by else ""
        what = "noise band" if has_band(self.statistic) else "size of the noise"
        return f"The {what} does not cover what clipping, the finite basis{more} or the sampling of people did."

    def _mechanism(self) -> str:
        noise = "" if self.noise == self.mechanism else f", {self.noise}"
        return self.mechanism + noise + (f"; the mean is shrunk by {self.shrunk_by}" if self.shrunk_by else "")

    def _noise(self) -> str:
        if self.noise_rms == 0:
            return "none"
        return (
            f"{self.noise_rms:.4g} root mean square before smoothing, {self._against()}; "
            f"scale {self.scale:.4g}, the largest standard deviation of a coordinate"
        )

    def _against(self) -> str:
        """The noise against a signal of the same kind, from public numbers; what was seen is said elsewhere."""
        if self.power == 2:
            return (
                f"{self.noise_rms / (self.bound / 4) ** 2:.2g} times the covariance of curves that vary around their "
                "mean by a quarter of the bound"
            )
        if self.what.code in SIGNALS:
            return f"{self.noise_rms / self.bound:.2g} times {SIGNALS[self.what.code]}"
        if self.moves.code == "claimed":
            return f"{self.noise_rms / self.bound:.2g} times the stated sensitivity"
        if self.what.code == "density":
            volume = math.prod(high - low for low, high in self.domain)
            return f"{self.noise_rms * volume:.2g} times a uniform density"
        return f"{self.noise_rms / self.bound:.2g} times a curve as large as the bound"

    def _sensitivity(self) -> str:
        return (
            f"one {self.unit} {self.moves}. In the integers that are summed: {steps(self.sensitivity)} lattice steps "
            f"of {self.lattice_step:.4g} in {self.sensitivity_norm}, because {self.sensitivity_because}"
        )

    def _since(self) -> tuple[tuple[str, str], ...]:
        """What was changed after the release, in words."""
        return tuple(
            (
                "changed since",
                f"{change['what']}: {_named(change['now'])} instead of {_named(change['was'])}, from the noisy numbers "
                "alone, which costs nothing",
            )
            for change in self.afterwards
        )

    @property
    def entries(self) -> tuple[tuple[str, str], ...]:
        """What the card says, as labels and texts; how each parameter was chosen is in `chosen`."""
        count = units_text(self.counting, self.n)
        if self.n_is_noisy:
            count = f"about {self.n:.0f} (noisy: the number itself is private)"
        if self.n_is_planned:
            count = f"planned for {self.n:.0f}; the number itself is private"
        assumed = "; no column of persons was named, so every row counts as another person"
        return (
            ("guarantee", f"{self.guarantee}; for composition {self._nominally}{up(self.rho, 4)}-zCDP"),
            ("protects", f"one {self.unit} (neighbours: {self.neighbours}){assumed if self.unit_was_assumed else ''}"),
            *neighbour_entries(self.counting, self.unit, self.neighbours, assumed=self.unit_was_assumed),
            ("units", count),
            ("domain", " x ".join(f"[{low:g}, {high:g}]" for low, high in self.domain)),
            ("bound", self.bounded or f"{plain(self.bound)}, on the root mean square around the centre: {self.around}"),
            ("mechanism", self._mechanism()),
            ("noise", self._noise()),
            *((("detected", self.detected),) if self.detected else ()),
            ("sensitivity", self._sensitivity()),
            ("basis", f"{self.basis}, {self.size} function{'s' if self.size > 1 else ''}"),
            ("missing data", self.missing),
            ("randomness", self.randomness),
            ("ledger", self.recorded),
            (
                "attacker",
                f"detects one {self.unit} with probability {self._nominally}at most {up(self.attacker_power, 3)} at "
                "5 % false alarms",
            ),
            self._software(),
        )

    def text(self) -> str:
        """The card for people."""
        *most, software = self.entries
        chosen = (("chosen", f"{name}: {how}") for name, how in self.chosen)
        lines = [
            wrapped("", f"Release card: {self.what} of '{self.dataset}'"),
            *(wrapped("", f"Warning: {stamp}") for stamp in self.stamps),
            "",
            *(entry(label, said) for label, said in (*most, *chosen, *self._since(), software)),
            "",
            wrapped("  ", self.sentence),
            wrapped("  ", self.not_covered),
        ]
        return "\n".join(lines)


def _named(value: Any) -> str:
    return "'auto'" if value is None else repr(value)


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


@dataclass(frozen=True, slots=True)
class ChoiceCard(AnyCard):
    """What was chosen among, under which guarantee. Every field is public: stated in advance, or paid for."""

    what: Statement
    dataset: str
    unit: str
    unit_was_assumed: bool
    n: int
    candidates: int
    epsilon: float
    rho: float
    attacker_power: float  # at 5 % false positives
    chosen: tuple[tuple[str, str], ...]  # how each public parameter came about, and what came out
    randomness: Statement
    software: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    # As on every card: the privacy curve of the choice, how far one unit moves a score and the scale it is measured by,
    # both in lattice steps (0 where they were not kept), and the entry of the ledger.
    losses: tuple[dict[str, Any], ...] = field(default=(), hash=False)
    sensitivity: float = 0.0
    noise_scale: float = 0.0
    entry: LedgerEntry | None = None
    fits: Fits | None = None  # those before it, where nothing was recorded
    counting: str = ""  # how n is known, a `Counting`; empty on cards from before it was kept
    neighbours: str = REPLACE  # a choice knows replaced units alone
    result: float | None = None  # what was chosen, where that is a number
    schema: str = SCHEMA
    older_record: str = ""  # what a card of the first schema says of the ledger

    def __post_init__(self) -> None:
        for name in ("what", "randomness"):
            object.__setattr__(self, name, statement(getattr(self, name)))

    @staticmethod
    def from_dict(data: dict[str, Any]) -> ChoiceCard:
        """The card that `to_dict` wrote; DataError where a field is none, else any exception where one is missing."""
        check("neighbours", data.get("neighbours", REPLACE), (lambda value: value == REPLACE, repr(REPLACE)))
        return ChoiceCard(**plain_cards.read_plain(ChoiceCard, data))

    @property
    def sentence(self) -> str:
        """What the guarantee means, for those who are in the data."""
        if not self.private:
            return "The choice can be predicted, so it promises nothing to anybody."
        return self._meaning("been another one")

    @property
    def entries(self) -> tuple[tuple[str, str], ...]:
        """What the card says, as labels and texts."""
        assumed = "; no column of persons was named, so every row counts as another person"
        return (
            ("guarantee", f"pure epsilon = {plain(self.epsilon)}; for composition {up(self.rho, 4)}-zCDP"),
            ("protects", f"one {self.unit} (neighbours: {self.neighbours}){assumed if self.unit_was_assumed else ''}"),
            *neighbour_entries(self.counting, self.unit, self.neighbours, assumed=self.unit_was_assumed),
            ("units", units_text(self.counting, self.n)),
            ("mechanism", f"exponential mechanism on {self.candidates} candidates, drawn exactly"),
            *self.chosen,
            ("randomness", self.randomness),
            ("ledger", self.recorded),
            (
                "attacker",
                f"detects one {self.unit} with probability at most {up(self.attacker_power, 3)} at 5 % false alarms",
            ),
            self._software(),
        )

    def text(self) -> str:
        """The card for people."""
        lines = [
            wrapped("", f"Card of a choice: {self.what} for '{self.dataset}'"),
            *(wrapped("", f"Warning: {stamp}") for stamp in self.stamps),
            "",
            *(wrapped(f"  {label:<15}", text) for label, text in self.entries),
            "",
            wrapped("  ", self.sentence),
        ]
        return "\n".join(lines)
