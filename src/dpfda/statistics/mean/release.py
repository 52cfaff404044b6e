"""The release of a mean: a private function."""

from __future__ import annotations

from dpfda.releases.release import Release

RELEASE = Release
