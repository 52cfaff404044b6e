"""Mechanisms: noise on integer coordinates, and choices among integer vectors, drawn exactly.

A new mechanism is one class with three methods; the planner's `DESIGNS` gives it a name for the mean function.
"""

from __future__ import annotations

from dpfda.mechanisms.base import Mechanism
from dpfda.mechanisms.choice import Dictionary
from dpfda.mechanisms.exponential import Exponential
from dpfda.mechanisms.frames import Frames, Gibbs, draw_frames, draw_projected, gibbs_frames
from dpfda.mechanisms.gaussian import Gaussian
from dpfda.mechanisms.knorm import KNorm
from dpfda.mechanisms.laplace import Laplace
from dpfda.mechanisms.noise import Noise
from dpfda.mechanisms.randomness import Randomness, SeededRandomness, SystemRandomness
from dpfda.mechanisms.threshold import SoftThreshold
from dpfda.mechanisms.wishart import Wishart

__all__ = [
    "Dictionary",
    "Exponential",
    "Frames",
    "Gaussian",
    "Gibbs",
    "KNorm",
    "Laplace",
    "Mechanism",
    "Noise",
    "Randomness",
    "SeededRandomness",
    "SoftThreshold",
    "SystemRandomness",
    "Wishart",
    "draw_frames",
    "draw_projected",
    "gibbs_frames",
]
