"""The page of a function of the user's own: that of any private function."""

from __future__ import annotations

from dpfda.statistics.mean.page import MeanPage

PAGE = MeanPage()
