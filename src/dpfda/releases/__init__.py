"""What has been released, and what all releases share: cards, smoothing, bands, files, verification."""

from dpfda.releases.bands import Band
from dpfda.releases.calculus import Function
from dpfda.releases.certificate import NOT_PRIVATE, Certificate
from dpfda.releases.decoded import Count
from dpfda.releases.files import load, save
from dpfda.releases.release import Release, smoothed
from dpfda.releases.smoothing import FAMILIES, Smoothing, smooth

__all__ = [
    "FAMILIES",
    "NOT_PRIVATE",
    "Band",
    "Certificate",
    "Count",
    "Function",
    "Release",
    "Smoothing",
    "load",
    "save",
    "smooth",
    "smoothed",
]
