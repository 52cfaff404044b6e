"""How far one unit can move a sum of outer products."""

from __future__ import annotations

import math
from fractions import Fraction

from dpfda.bases import Basis
from dpfda.bases.symmetric import places
from dpfda.errors import UsageError
from dpfda.privacy.norms import Norm, Nuclear, Sensitivity, WeightedL2, frobenius, up

ROUGH = 2**16  # lattice steps in the bound: products stay below 2^32, and those of 2^30 units fit 64 bits


def check_orthonormal(basis: Basis) -> None:
    """Second moments are taken in an orthonormal basis, where the norm of a matrix is that of its function."""
    if not basis.orthonormal:
        raise UsageError(
            f"Second moments need an orthonormal basis, and {type(basis).__name__} is none. Take e.g. 'reinsch' or "
            "'cosine'."
        )


def moved_by(square: float, side: int, *, replaced: bool) -> tuple[Sensitivity, ...]:
    """How far a unit moves a sum of matrices `u u'` with `|u|^2 <= square`, a whole number: in two norms.

    Such a matrix has the eigenvalue `|u|^2` and zeros. Replacing it moves the sum by `u u' - v v'` with the square
    `|u|^4 + |v|^4 - 2 (u'v)^2` of its Frobenius norm: at most `2 square^2`, reached at orthogonal u and v.
    """
    one = f"a unit adds a matrix of rank one with trace at most {square:.0f}"
    # The steps up outweigh the rounding of the weights sqrt 2 in the norm.
    if not replaced or side == 1:  # two numbers between 0 and square differ by no more than it
        return Sensitivity(square, Nuclear(), one), Sensitivity(up(square, 4), frobenius(side), one)
    because = f"{one}, and replacing it by another moves the sum by at most"
    return (
        Sensitivity(2 * square, Nuclear(), f"{because} twice that in nuclear norm"),
        Sensitivity(up(math.sqrt(2.0) * square, 8), frobenius(side), f"{because} sqrt 2 times that in Frobenius norm"),
    )


def moved_in(norm: Norm | None, lead: int, side: int, *, replaced: bool) -> tuple[Sensitivity, ...]:
    """How far a unit moves the sum of `(lead, x) (lead, x)'`, `|x| <= ROUGH`, in a weighted Euclidean norm alone.

    Frobenius norms times the largest weight say more than that: the row of the mean holds `lead (x - y)` alone, and a
    unit moves diagonal entries by at most `ROUGH^2`. In fractions, so that nothing but the root is rounded.
    """
    if not isinstance(norm, WeightedL2):
        return ()
    first, second = places(side)
    # In the whole matrix, where an entry that is kept once stands twice.
    squares = {
        (row, column): Fraction(weight) ** 2 / (1 if row == column else 2)
        for weight, row, column in zip(norm.weights, first.tolist(), second.tolist(), strict=True)
    }
    longest = _replaced(squares, lead) if replaced else _added(squares, lead)
    doing = "replacing" if replaced else "adding"
    because = (
        f"a unit adds (z, x) (z, x)' with z = {lead} and |x| <= {ROUGH}; {doing} it moves the entries, weighed as the "
        "noise is, by at most this"
    )
    return (Sensitivity(up(math.sqrt(up(float(longest))), 2), norm, because),)


Squares = dict[tuple[int, int], Fraction]  # of weights, by places in the matrix on and above the diagonal


def _replaced(squares: Squares, lead: int) -> Fraction:
    """The square of the most that replacing a unit moves; proven in docs/mathematics.md."""
    start = 1 if lead else 0
    along = lead**2 * max((square for (row, column), square in squares.items() if row < start <= column), default=0)
    diagonal = [square for (row, column), square in squares.items() if row == column >= start]
    least = max((square for (row, column), square in squares.items() if start <= row < column), default=Fraction(0))
    found: list[Fraction] = []
    for level in {least, *(square for square in diagonal if square > least)}:
        above = sorted((max(square - level, Fraction(0)) for square in diagonal), reverse=True)[:2]
        even = Fraction(8 * along * ROUGH**2)
        if level and along <= level * ROUGH**2:
            even = 2 * (level * ROUGH**2 + along) ** 2 / level
        found.append(even + sum(above, Fraction(0)) * ROUGH**4)
    return min(found)


def _added(squares: Squares, lead: int) -> Fraction:
    """The square of the most that adding a unit moves; proven in docs/mathematics.md.

    Weights above the largest of the diagonal are counted layer by layer: k entries off the diagonal hold no more than
    `1 - 1/c` of a unit's square, c the most rows of which all pairs are among k.
    """
    start = 1 if lead else 0

    def whole(row: int, column: int) -> Fraction:
        """The weight of an entry with its part of the mean's row: squares of a curve's coordinates add up to one."""
        of_mean = squares[0, row] + squares[0, column] if lead else Fraction(0)
        return squares[row, column] * ROUGH**4 + of_mean * lead**2 * ROUGH**2

    inner = [place for place in squares if place[0] >= start]
    others = sorted((whole(*place) for place in inner if place[0] < place[1]), reverse=True)
    total = level = max(whole(*place) for place in inner if place[0] == place[1])
    for k, weight in enumerate(others, 1):
        below = max(level, others[k]) if k < len(others) else level
        total += max(weight - below, Fraction(0)) * (1 - Fraction(1, (1 + math.isqrt(1 + 8 * k)) // 2))
    return total + (squares[0, 0] * lead**4 if lead else 0)
