"""How far one unit can move a sum of outer products."""

from __future__ import annotations

import math

from dpfda.bases import Basis
from dpfda.errors import UsageError
from dpfda.privacy.norms import Nuclear, Sensitivity, frobenius, up

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
