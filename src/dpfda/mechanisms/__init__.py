"""Mechanisms: noise on integer coordinates, and choices among integer vectors, drawn exactly.

A new mechanism is one class with three methods, of which `noise` tells the law of what it adds: one of these, or a
class of one's own under `register_law`. The planner's `DESIGNS` gives a mechanism a name for the mean function.
"""

from __future__ import annotations

from dpfda.mechanisms.base import Mechanism, register_mechanism
from dpfda.mechanisms.choice import ChoiceLaw, Dictionary
from dpfda.mechanisms.exponential import Exponential
from dpfda.mechanisms.frames import FrameLaw, Frames, Gibbs, draw_frames, draw_projected, gibbs_frames
from dpfda.mechanisms.gaussian import Gaussian, GaussianLaw
from dpfda.mechanisms.knorm import KNorm, RadialLaw
from dpfda.mechanisms.laplace import Laplace
from dpfda.mechanisms.noise import LAWS, Care, Noise, NoiseLaw, register_law
from dpfda.mechanisms.randomness import Randomness, SeededRandomness, SystemRandomness
from dpfda.mechanisms.threshold import SoftThreshold
from dpfda.mechanisms.wishart import Wishart, WishartLaw

__all__ = [
    "LAWS",
    "Care",
    "ChoiceLaw",
    "Dictionary",
    "Exponential",
    "FrameLaw",
    "Frames",
    "Gaussian",
    "GaussianLaw",
    "Gibbs",
    "KNorm",
    "Laplace",
    "Mechanism",
    "Noise",
    "NoiseLaw",
    "RadialLaw",
    "Randomness",
    "SeededRandomness",
    "SoftThreshold",
    "SystemRandomness",
    "Wishart",
    "WishartLaw",
    "draw_frames",
    "draw_projected",
    "gibbs_frames",
    "register_law",
    "register_mechanism",
]
