"""Mechanisms: noise on integer coordinates, and choices among integer vectors, drawn exactly.

A new mechanism is one class with three methods, of which `noise` tells the law of what it adds: one of these, or a
class of one's own under `register_law`. `register_mechanism` gives it a name. The papers' mechanisms are stated by
objects that carry their settings, e.g. `GaussianProcess(eta=1.0)`, or by their names.

The files:

    base.py            what a mechanism is, and the checks that all share
    table.py           the one table of names: which statistics take a mechanism, and with which settings
    processes.py       the papers' mechanisms as objects that carry their settings
    noise.py           what the law of a noise is, and the table of laws
    randomness.py      the sources of randomness
    gaussian.py        discrete Gaussian noise
    laplace.py         discrete Laplace noise
    knorm.py           K-norm noise in blocks
    wishart.py         Wishart noise on symmetric matrices
    threshold.py       a soft threshold before another mechanism
    choice.py          the exponential mechanism among finitely many candidates
    exponential.py     the exponential mechanism for a mean
    exponential_matrix.py  the same for a mean of symmetric matrices
    objective.py       the exponential mechanism for any utility
    utility_checks.py  checks of a utility before anything is charged
    concave.py         exact draws for concave utilities
    ball.py            exact normal vectors on the integer points of a ball
    normals.py         exact normal numbers
    decision.py        decisions with an exact probability
    frames/            principal components by the exponential mechanism
"""

from __future__ import annotations

from dpfda.mechanisms.base import Mechanism, register_draw
from dpfda.mechanisms.choice import ChoiceLaw, Dictionary
from dpfda.mechanisms.exponential import Exponential
from dpfda.mechanisms.exponential_matrix import ExponentialMatrix
from dpfda.mechanisms.frames import FrameLaw, Frames, Gibbs, draw_frames, draw_projected, gibbs_frames
from dpfda.mechanisms.gaussian import Gaussian, GaussianLaw
from dpfda.mechanisms.knorm import KNorm, RadialLaw
from dpfda.mechanisms.laplace import Laplace
from dpfda.mechanisms.noise import LAWS, Care, Noise, NoiseLaw, register_law
from dpfda.mechanisms.processes import (
    Bernstein,
    DictionaryDraw,
    ExponentialDraw,
    FiniteLaplace,
    GaussianProcess,
    GibbsChain,
    LaplaceProcess,
    Process,
    SobolevProcess,
    ThresholdedLaplaceProcess,
    ThroughCovariance,
)
from dpfda.mechanisms.randomness import Randomness, SeededRandomness, SystemRandomness
from dpfda.mechanisms.table import MECHANISMS, register_mechanism
from dpfda.mechanisms.threshold import SoftThreshold
from dpfda.mechanisms.wishart import Wishart, WishartLaw

__all__ = [
    "LAWS",
    "MECHANISMS",
    "Bernstein",
    "Care",
    "ChoiceLaw",
    "Dictionary",
    "DictionaryDraw",
    "Exponential",
    "ExponentialDraw",
    "ExponentialMatrix",
    "FiniteLaplace",
    "FrameLaw",
    "Frames",
    "Gaussian",
    "GaussianLaw",
    "GaussianProcess",
    "Gibbs",
    "GibbsChain",
    "KNorm",
    "Laplace",
    "LaplaceProcess",
    "Mechanism",
    "Noise",
    "NoiseLaw",
    "Process",
    "RadialLaw",
    "Randomness",
    "SeededRandomness",
    "SobolevProcess",
    "SoftThreshold",
    "SystemRandomness",
    "ThresholdedLaplaceProcess",
    "ThroughCovariance",
    "Wishart",
    "WishartLaw",
    "draw_frames",
    "draw_projected",
    "gibbs_frames",
    "register_draw",
    "register_law",
    "register_mechanism",
]
