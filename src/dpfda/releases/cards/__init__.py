"""Come here for cards that others can check: their forms, their schema, and the check itself."""

from dpfda.releases.cards.report import Finding, Report
from dpfda.releases.cards.verification import recompute, verify
from dpfda.releases.entry import Entry

__all__ = ["Entry", "Finding", "Report", "recompute", "verify"]
