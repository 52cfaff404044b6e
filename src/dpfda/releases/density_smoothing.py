"""Come here for the smoothing of a density: adaptive, free, and aware that people are a sample too."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np

from dpfda.arrays import Array
from dpfda.bases import Basis
from dpfda.bases.tensor import Tensor
from dpfda.privacy import Noise
from dpfda.releases.density_frame import Frame, frame_of
from dpfda.releases.smoothing import Care, Smoothing, smooth

CARE = Care(1.2, 2.0)
ORDERS = (1, 2, 4, 8)
CUTOFFS = 40
RATIOS = (0.25, 1.0, 4.0)  # of smoothness along one side of a rectangle to that along the other
SLANTS = (-0.5, 0.0, 0.5, 0.8)  # densities along a diagonal have rough functions of both sides at once


def density_smoothing(name: str, noisy: Array, noise: Noise, basis: Basis, n: float) -> Smoothing:
    """Weights on the coordinates of `density_frame.frame_of`, chosen from noisy coordinates; "none" leaves all alone.

    The risk that is estimated is that for the density which the people were drawn from: noise and sampling.
    """
    name = _known(name)
    if name == "none":
        return Smoothing("none", np.ones(basis.size), float(noise.variances.sum()))
    return smoothing_of(name, frame_of(noisy, noise.variances, basis, n))


def smoothing_of(name: str, frame: Frame) -> Smoothing:
    """A smoothing of coordinates in a frame: of one family, or with "auto" averaged over anisotropic ridges."""
    # Sampling is noise as any other; nobody can see its law, but its variance is, near enough, that of the data.
    variances = np.where(frame.known, 0.0, frame.noise_variances + frame.sampling_variances)
    if not frame.basis.frequencies.any():
        weights = np.ones(frame.basis.size)  # coordinates that are places are not shrunk
    elif name == "auto":
        weights = averaged(np.where(frame.known, 1.0, ridges(frame.basis)), frame.noisy, variances)
    else:
        weights = smooth(name, frame.noisy, variances, frame.basis.frequencies).weights
    weights = np.where(frame.known, 1.0, weights)
    # Weights h are best where signals have the variance h/(1-h) v; the error is then h v. An unbiased estimate of it
    # would be the sum of far more noise than there is error, most of it from functions that were taken out.
    return Smoothing(name, weights, float(weights @ variances))


def _known(name: str) -> str:
    """The name of a smoothing, or the error that says which there are."""
    return smooth(name, np.ones(1), np.ones(1), np.zeros(1)).name


def averaged(weights: Array, noisy: Array, variances: Array) -> Array:
    """The mean of candidates, each with weight `exp(-risk / (t v))` (Leung and Barron 2006), (m, size) -> (size,)."""
    # Of the unbiased risk; noise that is kept counts somewhat more, since too much of it costs more than too little.
    risks = (1 - weights) ** 2 @ noisy**2 + 2 * CARE.caution * weights @ variances
    shares = np.exp(-(risks - risks.min()) / (CARE.temperature * variances.mean()))
    mean: Array = np.clip(shares @ weights / shares.sum(), 0.0, 1.0)
    return mean


def ridges(basis: Basis) -> Array:
    """Ridges `1 / (1 + (r/c)^(2 order))` for cut-offs c and several lengths r of a product of functions, (m, size)."""
    if not isinstance(basis, Tensor):
        return _ridges(basis.frequencies[:, None], (((1.0,),),))
    each = np.stack(
        [factor.frequencies[column] for factor, column in zip(basis.factors, basis.index.T, strict=True)], 1
    )
    return _ridges(each, forms(each.shape[1]))


@lru_cache(maxsize=8)
def forms(dimension: int) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Quadratic forms that measure how rough a product is: round, longer along a side, slanted in the plane."""
    found = [np.eye(dimension)]
    if dimension == 2:
        found = [np.array([[ratio, -slant], [-slant, 1 / ratio]]) for ratio in RATIOS for slant in SLANTS]
    elif dimension == 3:
        found = [
            np.diag(np.array(stretch) / np.prod(stretch) ** (1 / 3))
            for stretch in itertools.product((1.0, 4.0), repeat=3)
            if min(stretch) == 1.0
        ]
    return tuple(tuple(tuple(row) for row in form.tolist()) for form in found)


def _ridges(frequencies: Array, shapes: tuple[tuple[tuple[float, ...], ...], ...]) -> Array:
    # Fine steps: between two cut-offs of a steep ridge in the plane lie a quarter more functions.
    cutoffs = np.geomspace(0.5, 2 * max(float(np.linalg.norm(frequencies, axis=1).max()), 1.0), CUTOFFS)
    rows = [np.ones((1, len(frequencies)))]
    for shape in shapes:
        squares = np.maximum(np.einsum("ij,jk,ik->i", frequencies, np.array(shape), frequencies), 0.0)
        for order in ORDERS:
            rows.append(1 / (1 + (squares / cutoffs[:, None] ** 2) ** order))
    return np.concatenate(rows)
