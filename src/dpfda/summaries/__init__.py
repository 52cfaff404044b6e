"""Come here for summaries: what is computed from the records, and how far one unit can move it."""

from dpfda.summaries.base import Decoded, Public, Summary
from dpfda.summaries.mean import Mean

__all__ = ["Decoded", "Mean", "Public", "Summary"]
