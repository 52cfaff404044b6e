"""The papers' mechanisms as people state them: a name and its settings. Plans make bases and noise laws from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import as_real
from dpfda.errors import UsageError
from dpfda.kernels import Kernel
from dpfda.kernels import describe as describe_kernel
from dpfda.mechanisms.table import register_mechanism

EXACT = "exact"


@dataclass(frozen=True, kw_only=True, slots=True)
class Process:
    """A named mechanism with settings; None leaves a setting to the plan."""

    name: ClassVar[str]
    pure: ClassVar[bool] = True  # whether it needs no delta
    truncates: ClassVar[bool] = False  # whether the few coordinates that it releases are its smoothing
    drawn: ClassVar[bool] = False  # whether it draws from a kernel's process, tilted by the data: as rough as that
    calibrations: ClassVar[tuple[str, ...]] = (EXACT, "published")
    later: ClassVar[tuple[str, ...]] = ()  # settings that keys in older ledgers do not know

    def __post_init__(self) -> None:
        stated = {each.name: getattr(self, each.name) for each in fields(self)}
        for setting in ("kernel", "penalty_kernel"):
            kernel = stated.get(setting)
            if not (kernel is None or isinstance(kernel, Kernel)):
                raise UsageError(
                    parameter=setting, value=kernel, rule="must be a kernel such as dpfda.kernels.Matern(1.5, 0.1)"
                )
        for setting in ("eta", "penalty"):
            value = stated.get(setting)
            if value is not None and not 0.0 <= as_real(value) < math.inf:
                raise UsageError(parameter=setting, value=value, rule="must be a finite number, 0 or more")
        calibration = stated.get("calibration", EXACT)
        if not isinstance(calibration, str) or calibration not in self.calibrations:
            known = ", ".join(map(repr, self.calibrations))
            raise UsageError(parameter="calibration", value=calibration, rule=f"must be one of {known}")

    def request_parts(self) -> dict[str, Any]:
        """By what it is hashed: a setting that came later counts where it is stated, so that older keys go on."""
        stated = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in stated.items() if value is not None or name not in self.later}

    def describe(self) -> dict[str, Any]:
        """Its name and the settings that were stated, as plain data."""
        stated = ((each.name, getattr(self, each.name), each.default) for each in fields(self))
        return {"name": self.name, **{name: _plain(value) for name, value, usual in stated if value is not usual}}


def _plain(value: Any) -> Any:
    if isinstance(value, Kernel):
        return describe_kernel(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return getattr(value, "__qualname__", type(value).__name__) if callable(value) else value


Bandwidth = float | Sequence[float] | Sequence[Sequence[float]] | str


@register_mechanism(
    "gp",
    serves={
        "mean": ("kernel", "eta", "penalty", "penalty_kernel", "calibration"),
        "covariance": ("kernel", "eta", "penalty"),
        "components": ("kernel", "eta", "penalty"),
        "regression": ("kernel", "eta", "penalty"),
        "density": ("kernel", "bandwidth", "answers", "calibration"),
        "machine": (),
        "function": (),
    },
    online=("machine",),
)
@dataclass(frozen=True, kw_only=True, slots=True)
class GaussianProcess(Process):
    """A Gaussian process (Hall et al. 2013; Mirshani et al. 2019): around a penalised mean, covariance or regression, a
    kernel estimate of a density, or the exact minimiser of a kernel machine. It needs delta > 0.

    Parameters
    ----------
    kernel : the covariance of the noise; of a density also the kernel of the estimate.
    eta, penalty : the power of the kernel that penalises, and how strongly; None for a rule of n.
    penalty_kernel : of a mean, the kernel in whose space it is penalised; None for that of the noise.
    bandwidth : of a density, instead of a kernel: a number, one for each side, a matrix, or "private-iqr" or
        "private-loo", which are bought for the estimator's `bandwidth_epsilon`; None for `n^(-1/(4+d))` of each side.
    answers : how many points will ever be answered online; None for as many as there is room for.
    calibration : "exact"; "published" for the papers' own, larger noise scale; "simple" for the simpler bound of a
        mean.
    """

    kernel: Kernel | None = None
    eta: float | None = None
    penalty: float | None = None
    penalty_kernel: Kernel | None = None
    bandwidth: Bandwidth | None = None
    answers: int | None = None
    calibration: str = EXACT

    name: ClassVar[str] = "gp"
    pure: ClassVar[bool] = False
    calibrations: ClassVar[tuple[str, ...]] = (EXACT, "published", "simple")
    later: ClassVar[tuple[str, ...]] = ("penalty_kernel",)


@register_mechanism("sobolev", serves={"density": ("bandwidth", "calibration")})
@dataclass(frozen=True, kw_only=True, slots=True)
class SobolevProcess(Process):
    """A Gaussian kernel estimate of a density with noise of an exponential covariance (Hall et al. 2013, 4.2)."""

    bandwidth: Bandwidth | None = None
    calibration: str = EXACT

    name: ClassVar[str] = "sobolev"
    pure: ClassVar[bool] = False


@register_mechanism(
    "iclp-qr",
    serves={
        "mean": ("kernel", "eta", "penalty", "calibration"),
        "covariance": ("kernel", "eta", "penalty"),
        "components": ("kernel", "eta", "penalty"),
        "regression": ("kernel", "eta", "penalty"),
        "density": ("kernel", "bandwidth", "eta", "calibration"),
        "machine": ("eta",),
    },
)
@dataclass(frozen=True, kw_only=True, slots=True)
class LaplaceProcess(Process):
    """The Laplace process of Lin and Reimherr around a summary with a quadratic penalty. Pure epsilon.

    Parameters
    ----------
    kernel : of the noise; of a density also the kernel of the estimate.
    eta, penalty : the power of the kernel that penalises, and how strongly; None for a rule of n and epsilon. For
        densities and kernel machines eta is the power of the kernel in whose space the estimate lies.
    bandwidth : of a density, instead of a kernel: a number, one for each side, or "private-iqr" or "private-loo".
    calibration : "exact", or "published" for the paper's own, larger noise scale.
    """

    kernel: Kernel | None = None
    eta: float | None = None
    penalty: float | None = None
    bandwidth: Bandwidth | None = None
    calibration: str = EXACT

    name: ClassVar[str] = "iclp-qr"


@register_mechanism("iclp-ar", serves={"mean": ("kernel", "eta", "penalty", "calibration")})
@dataclass(frozen=True, kw_only=True, slots=True)
class ThresholdedLaplaceProcess(Process):
    """The Laplace process of Lin and Reimherr around a mean with an absolute penalty: a soft threshold. Pure epsilon.

    Settings as those of `LaplaceProcess`.
    """

    kernel: Kernel | None = None
    eta: float | None = None
    penalty: float | None = None
    calibration: str = EXACT

    name: ClassVar[str] = "iclp-ar"


@register_mechanism(
    "frl", serves={"mean": ("kernel", "calibration"), "density": ("kernel", "bandwidth", "calibration")}
)
@dataclass(frozen=True, kw_only=True, slots=True)
class FiniteLaplace(Process):
    """Independent Laplace noise on a few coordinates: the finite representation of Lin and Reimherr. Pure epsilon.

    The estimator's `size` states how many coordinates; None for the cube root of n.
    """

    kernel: Kernel | None = None
    bandwidth: Bandwidth | None = None
    calibration: str = EXACT

    name: ClassVar[str] = "frl"
    truncates: ClassVar[bool] = True


@register_mechanism("bernstein", serves={"mean": ("calibration",), "density": ("kernel", "bandwidth", "calibration")})
@dataclass(frozen=True, kw_only=True, slots=True)
class Bernstein(Process):
    """Independent Laplace noise on values at a lattice of points, and Bernstein polynomials between. Pure epsilon."""

    kernel: Kernel | None = None
    bandwidth: Bandwidth | None = None
    calibration: str = EXACT

    name: ClassVar[str] = "bernstein"
    truncates: ClassVar[bool] = True


@register_mechanism(
    "exponential",
    serves={
        "mean": ("kernel",),
        "covariance": ("kernel",),
        "components": ("kernel", "base"),
        "maximiser": ("kernel", "radius", "spread", "candidates", "penalty", "eta"),
    },
)
@dataclass(frozen=True, kw_only=True, slots=True)
class ExponentialDraw(Process):
    """The exponential mechanism (Awan et al. 2019): a function drawn, exactly, instead of one that is disturbed.

    Parameters
    ----------
    kernel : covariance of the Gaussian process that is the base measure, for a covariance function its tensor product
        with itself; None for a rule.
    base : how principal components are made of it: "bingham", columns conditioned to be orthonormal (Section 5), or
        "projected", the span of Gaussian processes (Theorem 4.1): two laws, both private.
    radius, spread : of a `Maximiser`: the radius of the ball around the centre that holds the curve (None for the
        bound), and the base measure's root mean square before the cut (None for the radius).
    candidates : of a `Maximiser` without a curvature: among how many points of the base measure one is chosen.
    penalty, eta : of a `Maximiser`: how strongly, for each unit, `<b, C^-eta b>` is penalised, C the base measure's
        covariance (Example 3.5); None for no penalty, and for a power that Theorem 3.3 allows.
    """

    kernel: Kernel | None = None
    base: str = "bingham"
    radius: float | None = None
    spread: float | None = None
    candidates: int = 2048
    penalty: float | None = None
    eta: float | None = None

    name: ClassVar[str] = "exponential"
    drawn: ClassVar[bool] = True
    later: ClassVar[tuple[str, ...]] = ("penalty", "eta")

    def __post_init__(self) -> None:
        Process.__post_init__(self)
        if not isinstance(self.base, str) or self.base not in ("bingham", "projected"):
            raise UsageError(parameter="base", value=self.base, rule="must be 'bingham' or 'projected'")


@register_mechanism("gibbs", serves={"components": ("kernel",)})
@dataclass(frozen=True, kw_only=True, slots=True)
class GibbsChain(Process):
    """Principal components by the Markov chain of the paper, for comparison: its guarantee is approximate."""

    kernel: Kernel | None = None

    name: ClassVar[str] = "gibbs"
    drawn: ClassVar[bool] = True


@register_mechanism("dictionary", serves={"mean": ("candidates",)})
@dataclass(frozen=True, kw_only=True, slots=True)
class DictionaryDraw(Process):
    """One of the user's public functions, the nearer to the mean the more likely (Hall et al. 2013, Section 3.2)."""

    candidates: Sequence[Callable[[Any], Any]]

    name: ClassVar[str] = "dictionary"


@register_mechanism("covariance", serves={"components": ()})
@dataclass(frozen=True, kw_only=True, slots=True)
class ThroughCovariance(Process):
    """Principal components of a private covariance function, whose noise the plan chooses."""

    name: ClassVar[str] = "covariance"
