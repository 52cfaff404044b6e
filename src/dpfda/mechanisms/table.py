"""The one table of mechanisms by name: what each is, which statistics take it, and with which settings.

`mechanism=`, the command line, error messages and tests read it. To add a mechanism: its class under
`@register_mechanism("name")`; in the package its module is imported by `__init__.py`, from outside by whoever uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, TypeVar

from dpfda.arrays import brief
from dpfda.errors import UsageError
from dpfda.mechanisms.base import register_draw
from dpfda.messages import arg, either
from dpfda.privacy.norms import L2, Norm, WeightedL2

AUTO = "auto"
# Statistics that take any noise law as an object; a law without more to say serves them by its name too.
TAKE_NOISE = ("mean", "covariance", "components", "regression", "machine")
EVERYWHERE = (*TAKE_NOISE, "density", "function")
OURS = (*EVERYWHERE, "maximiser")
EUCLIDEAN = L2()


@dataclass(frozen=True, slots=True)
class Entry:
    """A name, the class behind it, and the settings that each statistic takes of it."""

    name: str
    make: type
    serves: Mapping[str, tuple[str, ...]]  # a statistic -> names of settings
    online: tuple[str, ...] = ()  # statistics that it releases to an oracle alone
    shaped: bool = False  # whether plans shape it for each statistic where its name alone is stated

    @property
    def complete(self) -> bool:
        """Whether the name alone is enough: no setting has to be stated."""
        stated = fields(self.make) if is_dataclass(self.make) and not self.shaped else ()
        return not any(each.default is MISSING and each.default_factory is MISSING for each in stated)

    @property
    def taken_as_it_is(self) -> bool:
        """Whether plans take its object, and not a name and settings."""
        return not self.shaped and (self.is_law or hasattr(self.make, "design"))

    @property
    def is_law(self) -> bool:
        """Whether its objects are noise laws themselves, and not settings that a plan makes noise from."""
        return callable(getattr(self.make, "profile", None))

    @property
    def norms(self) -> tuple[str, ...]:
        """The names of the norms in which its noise is measured; empty where only an object with settings knows it."""
        if not hasattr(self.make, "norms") and self.complete:
            return (type(self.make().norm).__name__,)
        return tuple(getattr(self.make, "norms", ()))

    def taken_by(self, statistic: str, norm: Norm = EUCLIDEAN) -> bool:
        """Whether a statistic takes it, whose summary states its bound in this norm.

        A statistic that is none of this package takes every noise law that is registered for noise of any kind. Of
        bounds, the Euclidean ones say enough for every norm, and others for their own alone.
        """
        if statistic in self.serves or statistic in OURS:
            return statistic in self.serves
        if not self.is_law or not set(TAKE_NOISE) <= set(self.serves):
            return False
        return isinstance(norm, L2 | WeightedL2) or type(norm).__name__ in self.norms


MECHANISMS: dict[str, Entry] = {}
Class = TypeVar("Class", bound=type)


def register_mechanism(
    name: str,
    *,
    serves: Mapping[str, tuple[str, ...]] | tuple[str, ...] = TAKE_NOISE,
    online: tuple[str, ...] = (),
    shaped: bool = False,
) -> Callable[[Class], Class]:
    """Put a class into the table: a noise law, or the settings of a process that a plan makes noise from.

    `serves` names the statistics that take it, each with the settings it takes there. The settings of a process are
    the fields of a frozen, keyword-only dataclass that derives from `Process`; one for means has a method
    `design(request)` that returns a `dpfda.planning.request.Design`.
    """

    def add(made: Class) -> Class:
        if name == AUTO or (name in MECHANISMS and _place(MECHANISMS[name].make) != _place(made)):
            raise UsageError(f"The mechanism {brief(name)} is taken. Take another name.", parameter="name", value=name)
        if not isinstance(made, type) or getattr(made, "name", None) != name:
            raise UsageError(
                parameter="name", value=name, rule=f"must be the attribute `name` of the class, here {brief(made)}"
            )
        taken = serves if isinstance(serves, Mapping) else dict.fromkeys(serves, ())
        MECHANISMS[name] = Entry(name, made, dict(taken), online, shaped)
        if hasattr(made, "laws"):  # noise: cards that name it are held against its laws
            register_draw(made)
        return made

    return add


def _place(made: type) -> tuple[str, str]:
    return made.__module__, made.__qualname__


def names_for(statistic: str, norm: Norm = EUCLIDEAN) -> tuple[str, ...]:
    """The names that a statistic takes beside "auto", in the order of registration; `norm` is that of its bound."""
    return tuple(entry.name for entry in MECHANISMS.values() if entry.taken_by(statistic, norm))


def typed_for(statistic: str, norm: Norm = EUCLIDEAN) -> tuple[str, ...]:
    """The names that a command offers: those that need no setting which cannot be typed, and no oracle."""
    entries = (MECHANISMS[name] for name in names_for(statistic, norm))
    return (AUTO, *(entry.name for entry in entries if entry.complete and statistic not in entry.online))


def settings_of(name: object, statistic: str) -> tuple[str, ...]:
    """The settings that a statistic takes of a mechanism; none of a name that it does not know."""
    entry = MECHANISMS.get(name) if isinstance(name, str) else None
    return () if entry is None else tuple(entry.serves.get(statistic, ()))


def names_with(setting: str, statistic: str) -> tuple[str, ...]:
    """The mechanisms of a statistic that take a setting."""
    return tuple(name for name in names_for(statistic) if setting in settings_of(name, statistic))


def is_pure(name: str) -> bool:
    """Whether a mechanism of the table needs no delta."""
    return name in MECHANISMS and bool(getattr(MECHANISMS[name].make, "pure", False))


def as_law(mechanism: Any, statistic: str) -> Any:
    """What a plan is made for: the object of a noise law that plans do not shape, and else what was given."""
    entry = MECHANISMS.get(mechanism) if isinstance(mechanism, str) else None
    if entry is None or not entry.taken_by(statistic) or entry.shaped or not entry.is_law:
        return mechanism
    if not entry.complete:
        raise UsageError(
            f"The mechanism {brief(mechanism)} has settings without a default: make an object of it.",
            parameter="mechanism",
            value=mechanism,
        )
    return entry.make()


def unknown(name: object, statistic: str, what: str) -> UsageError:
    """The refusal of a mechanism that a statistic does not know."""
    known = ", ".join(map(repr, (AUTO, *names_for(statistic))))
    return UsageError(
        f"Unknown mechanism {brief(name)} for {what}. Known are {known}.", parameter="mechanism", value=name
    )


def not_used(setting: str, name: object, statistic: str) -> UsageError:
    """The refusal of a setting that a mechanism would ignore."""
    able = names_with(setting, statistic)
    free = ", or smooth after the noise, free: release_.kernel(h)" if setting == "bandwidth" else ""
    fix = f"Leave it out{free}."
    return UsageError(
        parameter=setting, rule=("is for ", arg("mechanism", *able), f"; {brief(name)} does not use it"), fix=fix
    )


def by_name(name: str, statistic: str, settings: Mapping[str, Any]) -> Any:
    """A mechanism from a name and settings, as a command states them; the name itself where none is stated."""
    stated = {setting: value for setting, value in settings.items() if value is not None}
    for setting in stated:
        if setting not in settings_of(name, statistic):
            raise not_used(setting, name, statistic)
    return MECHANISMS[name].make(**stated) if stated else name


def resolve(mechanism: Any, statistic: str) -> tuple[Any, dict[str, Any]]:
    """A mechanism as plans take it: a name with its settings, or an object that is taken as it is."""
    if isinstance(mechanism, str):
        named = MECHANISMS.get(mechanism)
        made = named is not None and named.taken_by(statistic) and named.taken_as_it_is
        return (named.make() if named is not None and made else mechanism), {}
    entry = MECHANISMS.get(getattr(mechanism, "name", ""))
    if entry is None or entry.make is not type(mechanism) or entry.is_law or entry.taken_as_it_is:
        return mechanism, {}
    taken = entry.serves.get(statistic, ())
    for each in fields(entry.make):
        if statistic in entry.serves and each.name not in taken and getattr(mechanism, each.name) != each.default:
            others = [other for other, settings in entry.serves.items() if each.name in settings]
            raise UsageError(
                parameter=each.name,
                rule=f"is a setting of {type(mechanism).__name__} for the {either(others)}, not for the {statistic}",
                fix="Leave it out.",
            )
    return entry.name, {setting: getattr(mechanism, setting) for setting in taken}


def owner_of(setting: str, statistic: str, stated: object = None) -> type | None:
    """The class that a setting belongs to: that of the mechanism that is stated, or the first that takes it."""
    names = names_with(setting, statistic)
    name = stated if stated in names else (names or (None,))[0]
    return None if name is None else MECHANISMS[str(name)].make
