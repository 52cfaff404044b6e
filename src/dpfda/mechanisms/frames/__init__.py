"""Exact draws of principal components, and the exponential mechanism that releases them.

The files:

    mechanism.py  `Frames`, the mechanism, and `Gibbs` for comparison
    exact.py      one frame, every decision the true one
    interval.py   arithmetic with proven errors
    stiefel.py    draws in doubles, by rejection
    projected.py  draws in doubles under the projected Gaussian measure
"""

from __future__ import annotations

from dpfda.mechanisms.frames.exact import LATTICE
from dpfda.mechanisms.frames.mechanism import FrameLaw, Frames, Gibbs, gibbs_frames
from dpfda.mechanisms.frames.projected import draw_projected
from dpfda.mechanisms.frames.stiefel import draw_frames

__all__ = ["LATTICE", "FrameLaw", "Frames", "Gibbs", "draw_frames", "draw_projected", "gibbs_frames"]
