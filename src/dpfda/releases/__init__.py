"""Come here for what has been paid for: releases, their cards, smoothing, bands, files and pictures."""

from dpfda.releases.bands import Band
from dpfda.releases.calculus import Function
from dpfda.releases.certificate import NOT_PRIVATE, Certificate
from dpfda.releases.components import ComponentsRelease
from dpfda.releases.covariance import CovarianceRelease
from dpfda.releases.files import load, save
from dpfda.releases.regression import RegressionRelease
from dpfda.releases.release import Count, Release, smoothed
from dpfda.releases.smoothing import FAMILIES, Smoothing, smooth

__all__ = [
    "FAMILIES",
    "NOT_PRIVATE",
    "Band",
    "Certificate",
    "ComponentsRelease",
    "Count",
    "CovarianceRelease",
    "Function",
    "RegressionRelease",
    "Release",
    "Smoothing",
    "load",
    "save",
    "smooth",
    "smoothed",
]
