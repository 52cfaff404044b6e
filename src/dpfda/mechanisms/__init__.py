"""Mechanisms: noise on integer coordinates, and choices among integer vectors, drawn exactly.

A new mechanism is one class with three methods, of which `noise` tells the law of what it adds: one of these, or a
class of one's own under `register_law`. `register_mechanism` gives it a name. The papers' mechanisms are stated by
objects that carry their settings, e.g. `GaussianProcess(eta=1.0)`, or by their names.
"""

from __future__ import annotations

from dpfda.mechanisms.base import Mechanism
from dpfda.mechanisms.choice import ChoiceLaw, Dictionary
from dpfda.mechanisms.exponential import Exponential
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
    "register_law",
    "register_mechanism",
]
