"""Whether a release shows more than the noise in it: tests at a stated level, from the known law of the noise."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpfda.arrays import Array, Integers
from dpfda.bases import Basis
from dpfda.bases.symmetric import unpack
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.releases.cards.words import Statement, say

LEVEL = 0.01  # the chance of a false alarm is at most this
DRAWS = 4096  # of the noise alone, by which a statistic is judged
SEED = 20260114  # public: the verdict is a function of the release, and anybody finds the same
MOST_COEFFICIENTS = 8  # that are tested one by one
LARGEST = 2**21  # numbers of draws that are held at a time
BLOCK = 16  # smooth functions among which a covariance is sought
NEARLY_NORMAL = 0.05  # excess kurtosis of a step up to which the draw of people is taken for normal
NO_NOISE = say("detected", "drawn")


def draws_of(noise: NoiseLaw, count: int = DRAWS) -> Array:
    """A fixed sample of the law of the noise, (count, size); every entry has the variance that the law gives it.

    For simulation alone: no release is ever drawn from a generator with a known seed.
    """
    return np.asarray(standard_draws(noise, count) * np.sqrt(noise.variances), dtype=np.float64)


def standard_draws(noise: NoiseLaw, count: int = DRAWS) -> npt.NDArray[np.float32]:
    """The same with all variances one: ratios of scales do not matter, so equal shapes share a sample."""
    return _standard_draws(noise.standard(), count)


@lru_cache(maxsize=4)
def _standard_draws(noise: NoiseLaw, count: int) -> npt.NDArray[np.float32]:
    # Six digits are plenty, and half the memory.
    kept = noise.standard_draws(np.random.default_rng(SEED), count).astype(np.float32)
    kept.flags.writeable = False
    return kept


def count_for(size: int) -> int:
    """How many draws of so many coordinates: fewer where there are many."""
    return DRAWS if size * DRAWS <= LARGEST else DRAWS // 2


def prefixes(size: int) -> tuple[int, ...]:
    """Numbers of leading coordinates that are looked at: 1, 2, 4, ..., and all of them."""
    return (*(2**power for power in range(size.bit_length()) if 2**power < size), size)


def energies(coordinates: Array, ends: tuple[int, ...]) -> Array:
    """Mean squares of leading coordinates, (..., size) -> (..., number of ends).

    Their cube roots, which are nearly normal whatever the number of coordinates (Wilson and Hilferty), so that short
    and long sums can be compared.
    """
    sums = np.cumsum(coordinates**2, axis=-1)[..., np.array(ends) - 1]
    return np.asarray(np.cbrt(sums / np.array(ends)))


def largest(found: Array, null: Array) -> tuple[float, Array]:
    """The largest of several statistics in deviations of each under noise alone, and the same of every draw."""
    middle, spread = null.mean(axis=0), null.std(axis=0)
    # A sum in which nothing is left but rounding, as of what lies along a direction that was taken out, tells nothing.
    kept = spread > 1e-6 * spread.max()
    middle, spread = middle[kept], spread[kept]
    return float(np.max((found[kept] - middle) / spread)), np.max((null[:, kept] - middle) / spread, axis=1)


def beyond(found: float, null: Array) -> bool:
    """Whether a statistic is larger than noise alone makes it, but for `LEVEL` of the time.

    Three standard errors of a simulated level on the safe side.
    """
    size = len(null)
    rank = (1 - LEVEL) * size + 3 * np.sqrt(size * LEVEL * (1 - LEVEL)) + 1
    return bool(found > np.sort(null)[min(int(np.ceil(rank)), size) - 1])


def smooth_first(frequencies: Array) -> Integers:
    """The order in which coordinates are added up: a signal is sought among smooth functions first."""
    return np.argsort(frequencies, kind="stable").astype(np.int64)


def differs(values: Array, noise: NoiseLaw, frequencies: Array, along: Array | None = None) -> bool:
    """Whether noisy coordinates are more than noise, or than noise around some multiple of the direction `along`.

    The largest of standardised energies over 1, 2, 4, ... leading coordinates, smooth ones first, against its law
    under noise alone: that finds a smooth signal among many rough coordinates, and loses little on a rough one.
    """
    deviations = np.sqrt(noise.variances)
    # Coordinates that are places have no frequencies: they are read as waves along their order.
    order = tuple(smooth_first(frequencies).tolist()) if frequencies.any() else ()
    direction: tuple[float, ...] = ()
    if along is not None and along.any():  # a constant of which no coordinate knows is nothing to leave out
        # What lies along the direction is left out of the release and of every draw alike, so its size is free.
        scaled = along / deviations
        direction = tuple((scaled / np.linalg.norm(scaled)).round(12).tolist())
        if len(values) == 1:
            return False
    table = _null(noise.standard(), order, direction)
    found = _energies_across(values / deviations, order, direction)
    return beyond(*largest(found, table))


@lru_cache(maxsize=32)
def _null(noise: NoiseLaw, order: tuple[int, ...], direction: tuple[float, ...]) -> Array:
    drawn = np.asarray(standard_draws(noise, count_for(noise.size)), dtype=np.float64)
    return _energies_across(drawn, order, direction)


def _energies_across(standard: Array, order: tuple[int, ...], direction: tuple[float, ...]) -> Array:
    """Energies of standardised coordinates without what lies along a direction; without an order those of waves."""
    listed = list(order)
    if direction:
        along = np.array(direction)
        standard = standard - (standard @ along)[..., None] * along
        if np.count_nonzero(along) == 1:  # that coordinate is left out altogether
            listed = [place for place in listed if along[place] == 0]
    if not order:
        return energies(_waves(standard, standard.shape[-1:]), prefixes(standard.shape[-1]))
    return energies(standard[..., listed], prefixes(len(listed)))


@lru_cache(maxsize=32)
def constant_in(basis: Basis) -> Array:
    """Coordinates of the function that is one everywhere, or of its projection, (size,)."""
    inner = basis.means()
    found = np.asarray(inner if basis.orthonormal else np.linalg.lstsq(basis.gram(), inner, rcond=None)[0], np.float64)
    # Next to nothing is rounding: a constant that is a function of the basis has that coordinate alone.
    kept = np.where(np.abs(found) > 1e-9 * np.abs(found).max(), found, 0.0)
    kept.flags.writeable = False
    return kept


def density_verdict(found: bool) -> Statement:
    """What the card of a density says."""
    return say("detected", "density" if found else "uniform")


def strays(values: Array, noise: NoiseLaw, frequencies: Array, uniform: Array, spread: Array) -> bool:
    """Whether noisy coordinates are more than noise and the chance of who was drawn, around evenly spread points.

    `uniform` are the coordinates of those, `spread` is the covariance of what the draw of people adds, (size, size).
    """
    deviations = np.sqrt(noise.variances + np.diagonal(spread))
    eigenvalues, vectors = np.linalg.eigh(spread)
    count = count_for(noise.size)
    people = np.random.default_rng(SEED + 1).standard_normal((count, noise.size))
    drawn = (draws_of(noise, count) + people @ (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))).T) / deviations
    order = tuple(smooth_first(frequencies).tolist()) if frequencies.any() else ()
    scaled = uniform / deviations
    direction = tuple((scaled / np.linalg.norm(scaled)).tolist())
    null = _energies_across(drawn, order, direction)
    return len(values) > 1 and beyond(*largest(_energies_across(values / deviations, order, direction), null))


def compared(noise: float, released: float, what: str) -> str:
    """How large noise is against what was released, for people."""
    if released <= 1e-12 * noise:
        return f"after smoothing nothing is left of the {what}; the noise before smoothing was {noise:.3g}"
    return (
        f"the noise before smoothing, {noise:.3g} root mean square, was {noise / released:.2g} times as large as the "
        f"released {what}, {released:.3g}"
    )


def of_matrices(matrices: Array, deviations: Array) -> Array:
    """Statistics of noisy second moments, (..., m, m) -> (..., k): energies and traces of leading blocks.

    A covariance adds to every variance and takes from none, so that traces find it soonest. Functions beyond the
    `BLOCK` smoothest are left to themselves: noise in so many entries would hide what they add.
    """
    standard = matrices / deviations
    ends = np.array(prefixes(len(deviations)))
    sums = np.cumsum(np.cumsum(standard**2, axis=-1), axis=-2)[..., ends - 1, ends - 1]
    traces = np.cumsum(np.diagonal(standard, axis1=-2, axis2=-1), axis=-1)[..., ends - 1]
    return np.concatenate([np.cbrt(sums / ends**2), traces / np.sqrt(ends)], axis=-1)


def coefficients_differ(
    moments: Array, products: Array, noise: NoiseLaw, frequencies: Array, *, intercept: bool
) -> tuple[bool, tuple[bool, ...] | None]:
    """Whether any coefficient is more than noise, and which of them; None where there are too many to tell.

    With S the mean of z z' and T that of z y', coefficient j is zero where `T_j = S_jo S_oo^-1 T_o`, o all others. How
    noise alone moves both sides apart is simulated around the noisy S and T. The tests of single coefficients hold
    together at the level.
    """
    side, size = products.shape
    drawn = draws_of(noise, count_for(noise.size))
    entries = noise.size - side * size
    turned = moments + unpack(drawn[:, :entries])
    moved = drawn[:, entries:].reshape(len(drawn), side, size)
    order = smooth_first(frequencies)
    covariates = range(1 if intercept else 0, side)
    rest = [0] if intercept else []

    def apart(places: range | list[int], others: list[int]) -> tuple[Array, Array]:
        """How far both sides are apart, (rows, size), and that under noise alone, (b, rows, size)."""
        rows = list(places)
        if not others:
            return products[rows], moved[:, rows]
        held = np.linalg.solve(moments[np.ix_(others, others)], moments[np.ix_(others, rows)]).T  # (rows, others)
        shaken = np.linalg.solve(turned[:, others][:, :, others], turned[:, others][:, :, rows]).transpose(
            0, 2, 1
        )  # (b, rows, others)
        under = moved[:, rows] - shaken @ moved[:, others] - (shaken - held) @ products[others]
        return products[rows] - held @ products[others], under

    def statistic(rows: range | list[int], others: list[int]) -> tuple[float, Array]:
        found, null = apart(rows, others)
        scale = np.maximum(null.std(axis=0), 1e-300)
        ends = prefixes(size)
        # All rows at once: a prefix is so many smooth functions of each.
        one, many = ((part / scale)[..., order] for part in (found, null))
        flat = [np.sqrt(np.mean(part**2, axis=-2)) for part in (one, many)]
        return largest(energies(flat[0], ends), energies(flat[1], ends))

    some = beyond(*statistic(covariates, rest))
    if len(covariates) > MOST_COEFFICIENTS:
        return some, None
    each = [statistic([row], [other for other in range(side) if other != row]) for row in covariates]
    worst = np.max(np.stack([null for _, null in each]), axis=0)
    return some, tuple(beyond(found, worst) for found, _ in each)


def unevenly(values: Array, shares: Array, noise: NoiseLaw, units: float, shape: tuple[int, ...]) -> bool:
    """Whether a noisy histogram is more than noise and the chance of who was drawn, around a uniform density.

    `values` are the probabilities of steps over the roots of their shares of the domain, in the order of an array of
    the shape. A person's point is as likely in a step as that is large. Several points of one person vary less together
    than one, but how many there are is private: everybody is taken to have one.
    """
    roots = np.sqrt(shares)
    spread = np.sqrt(noise.variances + (1 - shares) / units)
    order = smooth_first(np.linalg.norm(np.indices(shape).reshape(len(shape), -1), axis=0))[1:]
    if not len(order):
        return False
    table = _uneven_null(noise, tuple(shares.tolist()), float(units), shape)
    found = _waves((values - (values @ roots) * roots) / spread, shape)[..., order]
    return beyond(*largest(energies(found, prefixes(len(order))), table))


@lru_cache(maxsize=8)
def _uneven_null(noise: NoiseLaw, shares: tuple[float, ...], units: float, shape: tuple[int, ...]) -> Array:
    roots = np.sqrt(shares)
    spread = np.sqrt(noise.variances + (1 - roots**2) / units)
    order = smooth_first(np.linalg.norm(np.indices(shape).reshape(len(shape), -1), axis=0))[1:]
    count = count_for(noise.size)
    drawn = draws_of(noise, count) + _people_in(np.array(shares), noise, units, count)
    across = drawn - (drawn @ roots)[:, None] * roots
    return energies(_waves(across / spread, shape)[..., order], prefixes(len(order)))


def _people_in(shares: Array, noise: NoiseLaw, units: float, count: int) -> Array:
    """What the draw of people adds to a histogram around a uniform density, (count, size), but for its sum.

    A step where few are expected has none of them most of the time and one too many else: their numbers are drawn, not
    normal ones, unless the noise hides the difference. The excess kurtosis of a noisy step tells that.
    """
    generator = np.random.default_rng(SEED + 1)
    expected = units * shares
    hidden = noise.variances * units * expected  # variance of the noise, where one person more is 1
    if np.max(expected / (expected + hidden) ** 2) <= NEARLY_NORMAL:
        return np.asarray(generator.standard_normal((count, noise.size)) / np.sqrt(units))
    counts = generator.multinomial(max(round(units), 1), shares / shares.sum(), size=count)
    return np.asarray(counts / (units * np.sqrt(shares)))


def _waves(values: Array, shape: tuple[int, ...]) -> Array:
    """The discrete cosine transform along every side, (..., size) -> (..., size): neighbours together first."""
    table = values.reshape(*values.shape[:-1], *shape)
    for axis, size in enumerate(shape):
        middles = (np.arange(size) + 0.5) / size
        waves = np.cos(np.pi * np.outer(np.arange(size), middles)) * np.sqrt(2 / size)
        waves[0] /= np.sqrt(2)
        place = axis - len(shape)
        table = np.moveaxis(np.tensordot(table, waves, (place, 1)), -1, place)
    return table.reshape(values.shape)
