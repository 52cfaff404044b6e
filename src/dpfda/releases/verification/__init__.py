"""The check of a release, a card or a claim: every field recomputed, and compared with the ledger."""

from dpfda.releases.entry import LedgerEntry
from dpfda.releases.verification.check import recompute, verify
from dpfda.releases.verification.report import Finding, Report

__all__ = ["Finding", "LedgerEntry", "Report", "recompute", "verify"]
