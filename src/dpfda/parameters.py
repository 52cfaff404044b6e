"""Every parameter that is stated to an estimator, a mechanism or a reader: its type, and what help says about it.

The one place for these texts. Options of the command line are made from it; fields of estimators and of mechanism
objects are compared with it by a test. It loads nothing, so that help is quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Parameter:
    """A name, what is stated by it, and how it is typed on a command line."""

    name: str
    help: str  # {mechanisms} stands for those that take a setting, {kernels} and {bases} for the names there are
    metavar: str | None = None  # what stands for its value in help; None for that of the type
    kind: type = str  # str, int or float; bool for a flag
    default: str = ""  # what holds where it is not stated, in words
    choices: tuple[str, ...] = ()
    typed: str = ""  # the option, where it is not called as the parameter
    most: int | None = None  # of a whole number; the least is 1
    many: bool = False  # several numbers, separated by commas
    variants: Mapping[str, str] = field(default_factory=dict)  # other words for some statistics
    defaults: Mapping[str, str] = field(default_factory=dict)

    @property
    def option(self) -> str:
        return self.typed or "--" + self.name.replace("_", "-")

    def text(self, statistic: str = "", **names: str) -> str:
        """What help says of it, for a statistic, with the default."""
        said = self.variants.get(statistic, self.help).format(**names)
        default = self.defaults.get(statistic, self.default)
        return f"{said}  [default: {default}]" if default else said


CLASSIFIER_LOSSES = ("hinge", "smoothed-hinge", "logistic")
REGRESSOR_LOSSES = ("huber", "absolute", "squared")
SMOOTHINGS = ("auto", "none", "sobolev-1", "sobolev-2", "sobolev-4", "sobolev-8", "james-stein")
RULE = "by a rule of n, epsilon and the kernel"

_ALL = (
    # The guarantee, and who is protected.
    Parameter("epsilon", "Privacy loss epsilon, e.g. 1.", kind=float),
    Parameter("delta", "Privacy loss delta: 0 for pure privacy, else e.g. 1e-6.", kind=float),
    Parameter(
        "neighbours",
        "Which data sets count as neighbours. Under replace-one the number of units is public, under add-or-remove-one "
        "it is private too.",
        choices=("replace-one", "add-or-remove-one"),
    ),
    Parameter(
        "n",
        "Public number of units, stated rather than counted; for replace-one.",
        kind=int,
        default="counted",
    ),
    Parameter("planned_n", "Public guess of the number of units, for add-or-remove-one.", kind=int),
    Parameter("dataset", "Name of the data set, on the card and in the ledger.", default="the file's name"),
    Parameter("ledger", "Where the budget of --dataset is kept, e.g. sqlite:///budget.db.", metavar="URL"),
    Parameter("randomness", "Source of noise; a seeded one is for tests and stamps the release not private."),
    Parameter("force", "Go on although next to nothing but noise is expected.", kind=bool),
    # How records are read.
    Parameter("reading", "How records are read: dpfda.Reading(batch_rows=..., workers=..., progress=...)."),
    Parameter("batch_rows", "Number of rows read at a time.", kind=int, default="about a million values"),
    Parameter("workers", "Number of threads that encode curves.", kind=int, default="processors, at most 4"),
    Parameter("progress", "Whether to show how far reading is.", kind=bool),
    # What is public about curves and points.
    Parameter("bound", "Public bound on a curve's root mean square, e.g. 6; not read from the data.", kind=float),
    Parameter("limits", "Instead of a bound: the public range of values, e.g. 0,12.", metavar="LOW,HIGH"),
    Parameter(
        "domain",
        "Public domain of the curves.",
        metavar="LOW,HIGH",
        variants={
            "density": "Public domain of the points; for a box one for each side, e.g. '0,1;0,2'. It need not hold "
            "all points.",
            "function": "Public domain of the function; for a box one for each side, e.g. '0,1;0,2'.",
            "machine": "Public domain of the points: for every coordinate, or one for each, e.g. '0,1;18,90'. Points "
            "beyond are moved to its edge.",
        },
    ),
    Parameter(
        "centre",
        "File of a mean release that is subtracted first; it has been paid for.",
        default="zero, or half-way between the limits",
    ),
    Parameter(
        "edges",
        "Instead of a domain: public edges of bins, e.g. 0,1,5:110:5, the last by steps of 5; people are counted "
        "between them. For points that are rounded, such as ages in years: 0:110.",
        metavar="NUMBER,...",
    ),
    Parameter(
        "outside",
        "What becomes of points outside the domain: apart counts them together in one more noisy number, and the "
        "density integrates to the share of the others; edge moves each to the nearest end, as '100 and older'.",
    ),
    # What is released, and how.
    Parameter("mechanism", "How privacy is reached; auto takes what is expected to err least."),
    Parameter(
        "basis",
        "Family of basis functions that carry a curve: {bases}.",
        metavar="NAME",
        default="the planner's choice",
        variants={"function": "The kernel's eigenfunctions, or the kernel at the points."},
        defaults={"function": "by a rule"},
    ),
    Parameter(
        "size",
        "Number of basis functions.",
        kind=int,
        default="chosen from n, the budget and the grid",
        variants={
            "density": "Number of cells of the histogram, or of functions of the papers' mechanisms; for bernstein "
            "along each side.",
        },
        defaults={"density": "chosen from n and the budget"},
    ),
    Parameter(
        "smoothing",
        "How the noisy curve is smoothed; free, because it sees only what was released.",
        choices=SMOOTHINGS,
        variants={
            "covariance": "How the noisy covariance is smoothed; free, because it sees only what was released.",
            "components": "How the covariance behind the components is smoothed; free, because it sees only what was "
            "released.",
            "regression": "How the noisy coefficients are smoothed; free, because it sees only what was released.",
            "density": "How the noisy density is smoothed; free, because it sees only what was released.",
        },
    ),
    Parameter(
        "mean",
        "Whether the mean is released along, or the public centre is taken for it.",
        choices=("joint", "centre"),
        default="joint where that can be done",
    ),
    Parameter("n_components", "Number of components.", kind=int, typed="--k"),
    Parameter(
        "explained_variance",
        "Share of epsilon that exponential spends on the variances along the components, e.g. 0.2.",
        metavar="SHARE",
        kind=float,
        default="none are released",
    ),
    Parameter(
        "covariate_limits",
        "Public range of each covariate without levels, in their order, e.g. 18:90,0:1; not read from the data.",
        metavar="LOW:HIGH,...",
    ),
    Parameter(
        "covariate_bound",
        "Instead of ranges: public bound on the Euclidean norm of the covariates together.",
        kind=float,
    ),
    Parameter(
        "covariate_levels",
        "Columns that the curves are regressed on: numbers, or declared levels, e.g. 'age,sex=female|male', which need "
        "no range and are compared with the first. A cell that is no number, or no level, counts as missing.",
        metavar="NAME,NAME=A|B",
        typed="--covariates",
    ),
    Parameter("intercept", "Fit no intercept: it is the public centre.", kind=bool, typed="--no-intercept"),
    Parameter(
        "ridge",
        "Number added to the diagonal of the moments of scaled covariates.",
        kind=float,
        default="chosen after the noise, free",
    ),
    Parameter(
        "bandwidth_epsilon",
        "Price of the bandwidth private-iqr or private-loo, on top of --epsilon, e.g. 0.1.",
        kind=float,
    ),
    Parameter(
        "loss",
        "Loss that is minimised; logistic gives probabilities.",
        choices=(*CLASSIFIER_LOSSES, *REGRESSOR_LOSSES),
        variants={"regressor": "Loss that is minimised."},
    ),
    Parameter(
        "features",
        "Number of public features that carry the function.",
        kind=int,
        most=4096,
        default="by a rule of the budget and the kernel",
    ),
    Parameter("classes", "The two labels, known in advance; a row with another one is left out.", metavar="A,B"),
    Parameter(
        "response_bound",
        "Public bound on the size of responses, on both sides of zero: subtract a public centre first. Those beyond "
        "are moved to it. Not read from the data.",
        kind=float,
    ),
    Parameter(
        "threshold",
        "Residual beyond which the huber loss grows linearly.",
        kind=float,
        default="a fifth of the bound",
    ),
    Parameter("utility", "Function of units and a point whose sum over units is maximised."),
    Parameter("utility_range", "Public range of one unit's utility.", metavar="LOW,HIGH"),
    Parameter("curvature", "How strongly one unit's utility is known to bend.", kind=float),
    Parameter(
        "sensitivity",
        "How far one unit moves the function at most, in --norm: your claim, for all data; not read from yours.",
        kind=float,
    ),
    Parameter(
        "norm",
        "What the sensitivity is measured in: the norm of the kernel's space, the sum over its eigenfunctions of "
        "changes over roots of eigenvalues, or root mean square.",
        choices=("kernel", "weighted-l1", "rms"),
    ),
    Parameter("unit", "Word for one unit on the card, e.g. person."),
    # Settings of mechanisms.
    Parameter(
        "kernel",
        "Noise kernel of {mechanisms}: a name, {kernels}, and a range, e.g. matern-3/2,0.1.",
        metavar="NAME,RANGE",
        default="matern-3/2 with a tenth of the domain",
        variants={
            "ask": "Kernel of the estimate and of its noise; answers are fastest for Markov kernels on a line: a name, "
            "{kernels}, and a range, e.g. matern-3/2,10.",
            "components": "Base measure of exponential and gibbs, or noise kernel of gp and iclp-qr: a name, "
            "{kernels}, and a range, e.g. matern-3/2,0.1.",
            "density": "Kernel of the estimate and of the noise of {mechanisms}: a name, {kernels}, and a range, e.g. "
            "matern-3/2,10.",
            "function": "Covariance of the noise, and the kernel in whose space the sensitivity is measured: a name, "
            "{kernels}, and a range, e.g. matern-3/2,0.2.",
            "machine": "Kernel of the space that the function lives in: a name, {kernels}, and a range, e.g. "
            "gaussian,0.3.",
        },
        defaults={
            "ask": "by --bandwidth",
            "components": "by a rule of the domain",
            "density": "by --bandwidth",
            "function": "",
            "machine": "gaussian, by a rule of the domain",
        },
    ),
    Parameter(
        "eta",
        "Power of the noise kernel in the penalty of {mechanisms}, e.g. 1.",
        kind=float,
        default=RULE,
        variants={
            "density": "Power of the kernel in which {mechanisms} estimates the density, above 1.",
            "machine": "Power of the noise kernel of {mechanisms} in whose space the function lives, at least 1.",
        },
        defaults={"density": "1.25 on a line, 1.05 on a box", "machine": "2"},
    ),
    Parameter(
        "penalty",
        "Size of the penalty of {mechanisms}, e.g. 0.01; the larger, the more is shrunk before the noise.",
        kind=float,
        default=RULE,
        variants={"machine": "Penalty on the squared norm of the function; noise falls in proportion to it."},
        defaults={"machine": "by a rule of n, the budget, the kernel and the loss"},
    ),
    Parameter(
        "penalty_kernel",
        "Kernel in whose space the mean of {mechanisms} is penalised: a name, {kernels}, and a range.",
        metavar="NAME,RANGE",
        default="that of the noise",
    ),
    Parameter(
        "calibration",
        "Noise scale of {mechanisms}: exact is as little as privacy needs, published is the papers' own, simple is the "
        "simpler bound of gp.",
        choices=("exact", "published", "simple"),
        default="exact",
        variants={
            "density": "Noise scale of {mechanisms}: exact is as little as privacy needs, published is the papers' own."
        },
    ),
    Parameter(
        "base",
        "How exponential makes components of its base measure: two laws, both private.",
        choices=("bingham", "projected"),
        default="bingham",
    ),
    Parameter(
        "bandwidth",
        "Instead of a kernel: bandwidth of {mechanisms}, a number, one for each side, for gp and iclp-qr a matrix such "
        "as '1,0.5;0.5,2', or private-iqr or private-loo, which are bought: by quartiles, or by leave-one-out.",
        metavar="NUMBER|...",
        default="n^(-1/(4+d)) of each side",
        variants={"ask": "Instead of a kernel: bandwidth of a Gaussian one, a number, one for each side, or a matrix."},
    ),
    Parameter(
        "answers", "Number of points that will ever be answered.", kind=int, default="as many as there is room for"
    ),
    Parameter(
        "candidates",
        "Public functions, or the number of points, that one is chosen among.",
        variants={
            "mean": "File of the public functions that dictionary chooses among: a table with a row for each and a "
            "column for each of equally spaced points of the domain."
        },
    ),
    Parameter("radius", "Radius of the ball around the centre that holds the curve.", kind=float),
    Parameter("spread", "Root mean square of the base measure before it is cut to the ball.", kind=float),
)
PARAMETERS: dict[str, Parameter] = {parameter.name: parameter for parameter in _ALL}
