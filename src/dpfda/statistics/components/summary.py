"""Principal components as a summary: second moments in, an orthonormal frame out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfda.arrays import Integers
from dpfda.bases import Basis
from dpfda.curator.summary import Public
from dpfda.mechanisms.frames import LATTICE
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.releases import Certificate
from dpfda.releases.cards.words import say
from dpfda.releases.decoded import Decoded
from dpfda.releases.detection import NO_NOISE
from dpfda.statistics.components.release import ComponentsRelease, smoothest_first
from dpfda.statistics.covariance.summary import Moments


@dataclass(frozen=True, slots=True)
class Spans(Moments):
    """The span of k directions of large second moment around the centre, drawn as a whole."""

    k: int = 1

    @property
    def name(self) -> str:
        return say("what", "components", count=int(self.k), variances=False)

    def decode(self, sums: Integers, noise: NoiseLaw, public: Public, basis: Basis) -> Decoded:
        return Decoded(sums.astype(np.float64) / LATTICE, noise, None)

    def noise_rms(self, decoded: Decoded, basis: Basis) -> float:
        return 0.0

    def publish(
        self, decoded: Decoded, public: Public, basis: Basis, certificate: Certificate, *, smoothing: str
    ) -> Any:
        # Rounding to the lattice left the columns a little off: the nearest orthonormal ones of the same span.
        left, _, right = np.linalg.svd(decoded.noisy.reshape(basis.size, self.k), full_matrices=False)
        return ComponentsRelease(
            basis=basis,
            frame=smoothest_first(left @ right, basis.frequencies),
            variances=None,
            total=None,
            centre=basis.projection(public.grid) @ public.centre,
            certificate=replace(certificate, detected=NO_NOISE),
        )
