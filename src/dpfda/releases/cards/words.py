"""Sentences of cards, rendered from codes and numbers: the one table of what a card can say.

A card keeps a code and its numbers; `say` makes the sentence of them, and nothing is ever read out of a sentence. A
statistic from outside may say a sentence of its own, which has the code "said".
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, Context
from textwrap import fill
from typing import Any, Self

from dpfda.arrays import Array, brief
from dpfda.errors import DataError, DpfdaError
from dpfda.mechanisms.noise import LAWS, Noise, NoiseLaw
from dpfda.privacy import REPLACE, Budget, Counting
from dpfda.privacy.budget import CAUTIONS


def entry(label: str, said: str) -> str:
    """A labelled line of a card."""
    return wrapped(f"  {label:<15}", said)


def wrapped(start: str, text: str) -> str:
    """Lines of at most 118 characters, the later ones below the beginning of the text."""
    return fill(
        text,
        width=118,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )


def plain(value: float) -> str:
    """A number in few digits if they say it exactly, else in all of them: a guarantee is not rounded."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value)).removesuffix(".0")


def steps(value: float) -> str:
    """A number of lattice steps as people read it: the last digits of a double are in the fields of the card."""
    return f"{value:.10g}"


def up(value: float, digits: int) -> str:
    """A number rounded up, since the card says "at most"."""
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(value)):g}"


COMPARED = (
    "compared trimmed, in one Unicode form, upper and lower case alike; numbers, dates and UUIDs in one spelling, so "
    "that 1, 1.0, 01 and +1 are one {unit}; rows without an identifier enter no sum"
)


def neighbours_are(counting: Counting, unit: str, relation: str) -> str:
    """What two neighbouring data sets have in common and in what they differ, after "neighbours are ..."."""
    if counting is Counting.IDENTIFIERS:
        return (
            f"two data sets with the same identifiers that differ in the rows of one {unit}; rows without an "
            "identifier are one unit more, which always counts, present or not"
        )
    if counting is Counting.ROWS:
        return "two tables with the same number of rows that differ in one row"
    if counting is Counting.OUTSIDE:
        return (
            f"two data sets of which one has another {unit} in the place of one, as the user's claim understands them"
        )
    if counting is Counting.PEOPLE:
        return f"two tables that count the same number of people and differ in the point of one {unit}"
    if relation == REPLACE:
        return (
            f"two data sets of which one has another {unit}, with all its rows, in the place of one; the number of "
            "units was stated and not compared with the data"
        )
    return f"two data sets of which one has all rows of one {unit} more; the number of units is protected"


def units_text(counting: str, n: float) -> str:
    """The public number of units, and where it comes from."""
    if counting == Counting.IDENTIFIERS:
        return f"{n:.0f}: {n - 1:.0f} identifiers, and one unit for rows without any, present or not"
    if counting == Counting.OUTSIDE:
        return "not stated: the records were read elsewhere"
    return f"{n:.0f}, stated by the user" if counting == Counting.STATED else f"{n:.0f}"


def neighbour_entries(counting: str, unit: str, relation: str, *, assumed: bool) -> tuple[tuple[str, str], ...]:
    """What a card says of neighbours and identifiers; nothing for cards from before it was kept."""
    if not counting:
        return ()
    how = Counting(counting)
    compared = (
        () if assumed or how in (Counting.PEOPLE, Counting.OUTSIDE) else (("identifiers", COMPARED.format(unit=unit)),)
    )
    return (("neighbours", neighbours_are(how, unit, relation)), *compared)


MOST_BLOCKS = 2**22
SAID = "said"  # the code of a sentence that somebody else has written
NOMINAL = "NOMINAL: the draw is approximate. Its epsilon is that of the law it aims at, and no guarantee."
NOT_PRIVATE = "NOT PRIVATE: the noise came from a seeded source and can be predicted. For tests and studies only."
SURE = "(at most 1 % false alarms; the sampling of people is not counted)"
SAMPLED = "(at most 1 % false alarms, the sampling of people counted)"


class Statement(str):
    """A sentence of a card, with the code and the values that it was made of."""

    __slots__ = ("code", "values")
    code: str
    values: dict[str, Any]

    def __new__(cls, text: str, code: str = SAID, values: Mapping[str, Any] | None = None) -> Self:
        made = super().__new__(cls, text)
        made.code, made.values = code, {"text": text} if values is None else dict(values)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return str(self), self.code, self.values

    def to_dict(self) -> dict[str, Any]:
        """The code and the values as plain data."""
        return {"code": self.code, **self.values}


# What was released ----------------------------------------------------------------------------------------------------


def _maximiser(utility: str) -> str:
    return f"maximiser of {utility}"


def _components(count: int, variances: bool) -> str:
    return f"{count} principal component{'s' * (count > 1)}{' with their variances' * variances}"


# The noise ------------------------------------------------------------------------------------------------------------


def _online(answers: int) -> str:
    return f"a Gaussian process drawn at the points asked for, at most {answers} of them ever"


def _drawn(how: str) -> str:
    return how


def of_law(noise: NoiseLaw, *, besides: str = "") -> Statement:
    """The law of the noise by its name and its blocks; `besides` is a mechanism whose noise is in further numbers."""
    blocks: list[list[int]] = []
    for size in noise.sizes:
        if blocks and blocks[-1][1] == size:
            blocks[-1][0] += 1
        else:
            blocks.append([1, size])
    more = f"; {besides} noise in their variances" if besides else ""
    return Statement(noise.text + more, noise.name, {"blocks": blocks, "besides": besides})


def with_besides(noise: Statement, mechanism: str) -> Statement:
    """A law, and a mechanism whose noise is in further numbers."""
    return _law(noise.code, noise.values["blocks"], mechanism)


def _law(code: str, blocks: list[list[int]], besides: str) -> Statement:
    """The same from plain data; a law that is not registered here has a name and no words."""
    if not isinstance(besides, str) or not all(type(part) is int and part >= 1 for pair in blocks for part in pair):
        raise TypeError
    if sum(count for count, _ in blocks) > MOST_BLOCKS:  # a file may hold any number
        raise ValueError
    sizes = tuple(size for count, size in blocks for _ in range(count))
    if code in LAWS:
        return of_law(Noise(code, sizes, (1.0,) * len(sizes)), besides=besides)
    return Statement(f"noise of the law '{code}'", code, {"blocks": blocks, "besides": besides})


# How far one unit moves the summary -----------------------------------------------------------------------------------


def _mean_moves(by: float) -> str:
    return f"moves the mean by at most {up(by, 4)} root mean square"


def _adds_to_sum(by: float) -> str:
    return f"adds at most {plain(by)} root mean square to the sum, and itself to the count"


def _objective_moves(by: float) -> str:
    return f"moves the objective by at most {plain(by)} at every point"


def _weights_move(by: float) -> str:
    return f"moves the weights of the features by at most {up(by, 4)} in Euclidean norm"


def _moments_move(by: float) -> str:
    return f"moves the matrix of moments by at most {up(by, 4)} in Frobenius norm"


def _adds_to_moments(by: float, counted: bool) -> str:
    return f"adds at most {up(by, 6)} in Frobenius norm to the sum of moments{', its count included' * counted}"


def _points_move(units: float) -> str:
    return f"moves at most 1/{units:.0f} of all points from anywhere to anywhere"


def _products(start: str, by: float, lead: float, weight: float) -> str:
    return (
        f"{start} at most {by:.6g} in Frobenius norm, where z is its covariates in the unit ball"
        f"{f' led by {lead:.4g}' if lead else ''}, y its curve in units of the bound, and z y' is weighed {weight:.4g}"
    )


def _products_move(by: float, lead: float, weight: float) -> str:
    return _products("moves the sums of z z' and z y' by", by, lead, weight)


def _adds_to_products(by: float, lead: float, weight: float) -> str:
    return _products("adds to the sums of z z' and z y'", by, lead, weight)


def _function_moves(by: float) -> str:
    return f"moves the function by at most {by:.4g} in the norm of the kernel's space"


def _claimed_moves(by: float, norm: str) -> str:
    return f"moves the function by at most {plain(by)} in {NORMS.get(norm, norm)}, by the user's claim"


# The norms in which a user may claim how far one unit moves a function.
NORMS = {
    "kernel": "the norm of the kernel's space",
    "weighted-l1": "the sum of its coordinates in the kernel's eigenfunctions, each over the root of its eigenvalue",
    "rms": "root mean square over the domain",
}


# The centre, gaps -----------------------------------------------------------------------------------------------------


def _constant(value: float) -> str:
    return f"the constant {value:g}"


# What becomes of rows that do not say whose they are.
NOBODY = {
    "": "",
    "left-out": "; rows that do not say whose they are are left out",
    "counted": "; rows that do not say whose they are are left out and count as one empty unit, present or not",
}
_GAPS = (
    "a cell that holds no finite number is a gap; gaps by straight lines within the curve, ends by its nearest value"
)


def _curves(nobody: str) -> str:
    return f"{_GAPS}, empty curves by the centre{NOBODY[nobody]}"


def _curves_and_covariates(filled: str, nobody: str) -> str:
    return f"{_GAPS}, records with empty curves are left out; {covariate_filled(filled)}{NOBODY[nobody]}"


def covariate_filled(filled: str) -> str:
    """What becomes of a covariate that is missing: it is filled by the "middle" of its limits, or by "zero"."""
    by = {"middle": "the middle of its limits", "zero": "zero"}[filled]
    return f"a covariate that is no number counts as missing and is filled by {by}"


def _points(nobody: str) -> str:
    return (
        "points without a coordinate are left out; a unit without any other lies in the middle of the domain"
        f"{NOBODY[nobody]}"
    )


def _none_read(nobody: str) -> str:
    return "no record was read: the function was computed elsewhere"


def _labelled_points(nobody: str) -> str:
    return (
        "a coordinate that is missing or no number by the middle of its side, points beyond the domain by its nearest "
        "point; records without a readable label or response are left out, and count as a loss of zero"
        f"{NOBODY[nobody]}"
    )


# What was seen above the noise ----------------------------------------------------------------------------------------


def _coefficients(seen: list[str], unseen: list[str]) -> str:
    if not seen:
        return f"coefficients detected, but none by itself: {', '.join(unseen)} {SURE}"
    rest = f"; not distinguishable from zero: {', '.join(unseen)}" if unseen else ""
    return f"coefficients detected: {', '.join(seen)}{rest} {SURE}"


# How parameters came about, and warnings ------------------------------------------------------------------------------


def _bought_centre(what: str, dataset: str, guarantee: str) -> str:
    return f"the {what} of '{dataset}', {guarantee}, whose cost adds to this one"


def _large_epsilon(epsilon: float) -> str:
    return CAUTIONS["large-epsilon"].format(epsilon=epsilon)


def _large_delta(delta: float) -> str:
    return CAUTIONS["large-delta"].format(delta=delta)


Words = str | Callable[..., str]
# By the field of the card and the code: the sentence, or what makes it of the values. The order of the parameters is
# that of the names in files.
WORDS: dict[str, dict[str, Words]] = {
    "what": {
        "mean": "mean function",
        "penalised-mean": "penalised mean function",
        "maximiser": _maximiser,
        "covariance": "covariance function",
        "second-moment": "second moment around the centre",
        "components": _components,
        "density": "density",
        "classifier": "kernel classifier",
        "regressor": "kernel regressor",
        "regression": "regression coefficient functions",
        "bound": "bound",
        "function": "function of the user's own",
    },
    "noise": {"online": _online, "none": _drawn},  # and every registered law, by its name
    "moves": {
        "mean": _mean_moves,
        "sum-and-count": _adds_to_sum,
        "objective": _objective_moves,
        "weights": _weights_move,
        "moments": _moments_move,
        "sum-of-moments": _adds_to_moments,
        "points": _points_move,
        "one-point": "adds its point, or its several points together as one, anywhere",
        "products": _products_move,
        "sum-of-products": _adds_to_products,
        "function": _function_moves,
        "claimed": _claimed_moves,
        "sum": "moves the sum",
    },
    "centre": {"zero": "zero", "constant": _constant, "curve": "a public curve"},
    "missing": {
        "curves": _curves,
        "curves-and-covariates": _curves_and_covariates,
        "points": _points,
        "labelled-points": _labelled_points,
        "none-read": _none_read,
        "clipped-points": "points outside the domain are moved to its edge, unreadable ones to its middle",
    },
    "randomness": {
        "integers": "system, exact integer samplers",
        "candidates": "system, exact sampler",
        "points": "system, exact normal numbers",
        "seeded": NOT_PRIVATE,
    },
    "detected": {
        "not-said": "",  # on cards from before it was kept
        "not-tested": "not tested: this statistic has no test of what stands out from its noise",
        "shape": f"shape detected {SURE}",
        "not-the-centre": "detected: not the centre alone; whether it is more than a constant was not tested " + SURE,
        "constant": f"no shape: not distinguishable from a constant {SURE}",
        "centre": f"nothing: not distinguishable from the centre {SURE}",
        "density": f"shape detected {SAMPLED}",
        "uniform": f"nothing: not distinguishable from a uniform density {SAMPLED}",
        "covariance": f"covariance detected {SURE}",
        "no-covariance": f"nothing: not distinguishable from no covariance {SURE}",
        "components": "covariance detected behind the components; how well each is determined was not tested " + SURE,
        "no-components": f"nothing: the covariance behind the components is not distinguishable from none {SURE}",
        "coefficients": _coefficients,
        "many-coefficients": f"coefficients detected; they are too many to be tested one by one {SURE}",
        "no-coefficient": f"nothing: no coefficient is distinguishable from zero {SURE}",
        "function": f"function detected; whether it predicts anything was not tested {SURE}",
        "zero": f"nothing: not distinguishable from a function that is zero everywhere {SURE}",
        "drawn": "not tested: no noise was added, the release was drawn as a whole",
        "online": "not tested: the noise is drawn at the points that are asked for",
    },
    "chosen": {"bought-centre": _bought_centre},
    "warnings": {
        "seeded": NOT_PRIVATE,
        "large-epsilon": _large_epsilon,
        "large-delta": _large_delta,
        "nothing-seen": "No component has a variance that stands out from the noise in it: they are smooth functions "
        "of the basis rather than of the data.",
    },
}


CASTS: dict[str, Callable[[Any], Any]] = {"str": str, "bool": bool, "int": int, "float": float, "list[str]": list}


def say(field: str, code: str, /, **values: Any) -> Statement:
    """The sentence of a field for a code and its values."""
    words = WORDS[field][code]
    if isinstance(words, str):
        return Statement(words, code, values)
    types = values_of(words)
    plain_values = {name: CASTS[types[name]](value) for name, value in values.items()}  # no numbers of numpy
    return Statement(words(**plain_values), code, plain_values)


def statement(said: str) -> Statement:
    """A sentence as it stands on a card: one of ours, or somebody's own."""
    return said if isinstance(said, Statement) else Statement(said)


def cautions(budget: Budget, units: int) -> tuple[Statement, ...]:
    """Warnings that follow from the budget and the number of units."""
    values = {"large-epsilon": {"epsilon": budget.epsilon}, "large-delta": {"delta": budget.delta}}
    return tuple(say("warnings", name, **values[name]) for name in budget.cautions(units))


def with_nobody(missing: str, nobody: str) -> Statement:
    """What becomes of missing data, rows of nobody included."""
    if isinstance(missing, Statement) and "nobody" in missing.values:
        return say("missing", missing.code, **missing.values | {"nobody": nobody})
    return statement(f"{missing}{NOBODY[nobody]}")


def of_centre(centre: Array) -> Statement:
    """What curves are measured from, in words."""
    if not centre.any():
        return say("centre", "zero")
    if (centre == centre[0]).all():
        return say("centre", "constant", value=float(centre[0]))
    return say("centre", "curve")


def plain_of(said: str) -> Any:
    """A sentence as plain data of a list: a code with values where it has one, else the text."""
    return said.to_dict() if isinstance(said, Statement) and said.code != SAID else str(said)


def values_of(words: Words) -> dict[str, str]:
    """The values that a sentence is made of, by name, and their types."""
    if isinstance(words, str):
        return {}
    return {name: str(value.annotation) for name, value in inspect.signature(words).parameters.items()}


TYPES: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: type(value) is int and abs(value) < 2**53,
    "float": lambda value: type(value) in (int, float) and abs(value) <= 1e150,
    "list[str]": lambda value: isinstance(value, list) and all(isinstance(part, str) for part in value),
}


def read(field: str, data: Any) -> Statement:
    """The statement that `to_dict` wrote; a code that this version does not know is kept as it is."""
    try:
        code, values = data["code"], {name: value for name, value in data.items() if name != "code"}
        if not isinstance(code, str):
            raise TypeError
        if code == SAID:
            (text,) = values.values()
            return statement(_text(text)) if list(values) == ["text"] else _refuse(field, data)
        words = WORDS[field].get(code)
        if words is None:
            return _law(code, **values) if field == "noise" else Statement(f"'{code}'", code, values)
        types = values_of(words)
        if values.keys() != types.keys() or not all(TYPES[types[name]](value) for name, value in values.items()):
            raise TypeError
        return say(field, code, **{name: values[name] for name in types})
    except (ArithmeticError, AttributeError, DpfdaError, LookupError, TypeError, ValueError):
        return _refuse(field, data)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _refuse(field: str, data: Any) -> Statement:
    raise DataError(
        f"on its card {field} must be a code with the values that it has, got {brief(data)}. Take a fresh copy of it."
    )
