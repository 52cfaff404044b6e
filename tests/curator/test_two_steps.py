"""A fit is two steps: an order, which charges nothing and reads no record, and its release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.errors import BudgetExceeded, DpfdaError, ReleaseFailed, UsageError
from dpfda.ledger import Charge, Receipt, SessionLedger
from dpfda.mechanisms import GaussianProcess, LaplaceProcess
from dpfda.records import Curves
from dpfda.records.identity import Identity
from dpfda.statistics.maximiser.utilities import RobustDistance
from dpfda.statistics.private_bound import bound_order
from dpfda.statistics.private_choice import choice_order

N, WIDTH = 600, 9
SPENT = {"epsilon": 1.0, "delta": 1e-6, "dataset": "people", "force": True}
PURE = SPENT | {"delta": 0.0}
Z = np.linspace(0, 1, N)
LABELS = (np.arange(N) % 2).astype(int)


class Unreadable:
    """Rows that can be counted, and whose they are be told, and that fail when they are read."""

    def __init__(self, width: int) -> None:
        self.width = width

    def rows(self) -> int:
        return N

    def identity(self) -> Identity:
        return Identity.of(np.arange(N))

    def batches(self, rows: int) -> Any:
        raise RuntimeError("a record was read")


def records(width: int) -> Curves:
    return Curves(Unreadable(width), None, "person")


def mean(ledger: Any, **changes: Any) -> dpfda.MeanFunction:
    return dpfda.MeanFunction(**SPENT | {"bound": 1.0, "ledger": ledger} | changes)


Made = Callable[[Any], tuple[Any, tuple[Any, ...]]]
# What makes an estimator that charges a ledger, and the arguments of its fit.
FITS: dict[str, Made] = {
    "mean": lambda ledger: (mean(ledger), (records(WIDTH),)),
    "mean, process": lambda ledger: (mean(ledger, mechanism="gp"), (records(WIDTH),)),
    "covariance": lambda ledger: (
        dpfda.CovarianceFunction(**SPENT, bound=1.0, ledger=ledger),
        (records(WIDTH),),
    ),
    "components": lambda ledger: (dpfda.FPCA(2, **SPENT, bound=1.0, ledger=ledger), (records(WIDTH),)),
    "components, drawn": lambda ledger: (
        dpfda.FPCA(1, **PURE, bound=1.0, ledger=ledger, mechanism="exponential", explained_variance=0.2),
        (records(WIDTH),),
    ),
    "regression": lambda ledger: (
        dpfda.FunctionOnScalarRegression(**SPENT, bound=1.0, covariate_limits=[(0, 1)], ledger=ledger),
        (Z, Curves(Unreadable(WIDTH), None, "person")),
    ),
    "density": lambda ledger: (dpfda.DensityFunction(**PURE, domain=(0, 1), ledger=ledger), (records(1),)),
    "density, point by point": lambda ledger: (
        dpfda.DensityFunction(**SPENT, domain=(0, 1), mechanism="gp", ledger=ledger),
        (records(1),),
    ),
    "density, bandwidth bought": lambda ledger: (
        dpfda.DensityFunction(
            **PURE,
            domain=(0, 1),
            mechanism=LaplaceProcess(bandwidth="private-iqr"),
            bandwidth_epsilon=0.5,
            ledger=ledger,
        ),
        (records(1),),
    ),
    "density, bandwidth bought, point by point": lambda ledger: (
        dpfda.DensityFunction(
            **SPENT,
            domain=(0, 1),
            mechanism=GaussianProcess(bandwidth="private-iqr"),
            bandwidth_epsilon=0.5,
            ledger=ledger,
        ),
        (records(1),),
    ),
    "classifier": lambda ledger: (
        dpfda.KernelClassifier(**SPENT, domain=(0, 1), classes=(0, 1), ledger=ledger),
        (records(1), LABELS),
    ),
    "classifier, point by point": lambda ledger: (
        dpfda.KernelClassifier(**SPENT, domain=(0, 1), classes=(0, 1), mechanism="gp", ledger=ledger),
        (records(1), LABELS),
    ),
    "regressor": lambda ledger: (
        dpfda.KernelRegressor(**SPENT, domain=(0, 1), response_bound=1.0, ledger=ledger),
        (records(1), Z),
    ),
    "maximiser": lambda ledger: (
        dpfda.Maximiser(
            utility=RobustDistance(knot=0.5),
            epsilon=1.0,
            bound=1.0,
            size=2,
            dataset="people",
            force=True,
            ledger=ledger,
        ),
        (records(WIDTH),),
    ),
}
CHOICES: dict[str, Callable[[Any], Any]] = {
    "bound": lambda ledger: bound_order(
        records(WIDTH), epsilon=1.0, quantile=0.9, candidates=(0.1, 10.0), dataset="people", ledger=ledger
    ),
    "choice": lambda ledger: choice_order(
        records(WIDTH),
        epsilon=1.0,
        candidates=[mean(None, mechanism=GaussianProcess(penalty=penalty)) for penalty in (1e-3, 1e-2)],
        dataset="people",
        ledger=ledger,
        force=True,
    ),
}


@pytest.fixture
def ledger(tmp_path: Any) -> dpfda.Ledger:
    made = dpfda.Ledger(f"sqlite:///{tmp_path}/budget.db")
    made.create("people", epsilon=2.0, delta=1e-5, unit="person")
    return made


def charges(ledger: dpfda.Ledger) -> int:
    return sum(entry.kind == "charge" for entry in ledger.history())


@pytest.mark.parametrize("name", FITS)
def test_an_order_charges_nothing_and_reads_no_record_and_its_release_does_both(
    name: str, ledger: dpfda.Ledger
) -> None:
    est, arguments = FITS[name](ledger)
    ordered = est.order(*arguments)
    quote = ordered.quote()
    assert charges(ledger) == 0
    assert quote is not None
    assert quote.allowed
    assert (quote.spent, quote.cap.epsilon) == (0.0, 2.0)
    assert not hasattr(est, "plan_")
    with pytest.raises(ReleaseFailed):
        est.fit_order(ordered)
    assert charges(ledger) == 1


@pytest.mark.parametrize("name", CHOICES)
def test_so_do_choices(name: str, ledger: dpfda.Ledger) -> None:
    order = CHOICES[name](ledger)
    quote = order.quote()
    assert charges(ledger) == 0
    assert quote is not None
    assert quote.allowed
    with pytest.raises(ReleaseFailed):
        order.release()
    assert charges(ledger) == 1


@pytest.mark.parametrize("name", [*FITS, *CHOICES])
def test_an_order_asks_for_what_its_release_is_charged(name: str) -> None:
    charged: list[Charge] = []

    class Noted(SessionLedger):
        def charge(self, entry: Charge) -> Receipt:
            charged.append(entry)
            return super().charge(entry)

    if name in CHOICES:
        order = CHOICES[name](Noted())
        with pytest.raises(ReleaseFailed):
            order.release()
    else:
        est, arguments = FITS[name](Noted())
        order = est.order(*arguments)
        with pytest.raises(ReleaseFailed):
            est.fit(*arguments)
    (entry,) = charged
    assert (entry.request, entry.what, entry.budget) == (order.price.request, order.price.what, order.price.budget)
    assert [loss.describe() for loss in entry.losses] == [loss.describe() for loss in order.price.losses]


def test_a_quote_says_what_the_release_would_raise(ledger: dpfda.Ledger) -> None:
    est = mean(ledger, epsilon=3.0)
    ordered = est.order(records(WIDTH))
    quote = ordered.quote()
    assert quote is not None
    assert not quote.allowed
    with pytest.raises(BudgetExceeded):
        est.fit_order(ordered)
    assert charges(ledger) == 0


def test_a_view_under_a_key_gives_quotes_too_and_without_a_ledger_there_is_none(ledger: dpfda.Ledger) -> None:
    plain = mean(ledger).order(records(WIDTH)).quote()
    assert mean(ledger.under("mine")).order(records(WIDTH)).quote() == plain
    assert mean(SessionLedger().under("mine")).order(records(WIDTH)).quote() is None
    assert mean(None).order(records(WIDTH)).quote() is None


REFUSED: dict[str, dict[str, Any]] = {
    "next to nothing but noise": {"force": False, "epsilon": 1e-4},
    "no bound": {"bound": None},
    "a smoothing that is none": {"smoothing": "wrong"},
    "a mechanism that needs delta": {"mechanism": "gaussian", "delta": 0.0},
    "a grid beyond the domain": {"domain": (0.0, 0.5)},
}


@pytest.mark.parametrize("changes", REFUSED.values(), ids=REFUSED)
def test_an_order_refuses_what_its_release_refuses(changes: dict[str, Any], ledger: dpfda.Ledger) -> None:
    curves = np.zeros((N, WIDTH))
    grid = np.linspace(0, 1, WIDTH)
    est = mean(ledger, **changes)
    with pytest.raises(DpfdaError) as of_order:
        est.order(curves, grid=grid)
    with pytest.raises(DpfdaError) as of_fit:
        est.fit(curves, grid=grid)
    assert type(of_order.value) is type(of_fit.value)
    assert of_order.value.args == of_fit.value.args
    assert charges(ledger) == 0


def test_an_order_that_is_released_twice_is_one_release_under_one_key(ledger: dpfda.Ledger) -> None:
    est = mean(ledger, bound=1.0)
    ordered = est.order(np.zeros((N, WIDTH)), units={"person": np.arange(N)})
    first = est.fit_order(ordered).release_
    again = est.fit_order(ordered).release_
    assert charges(ledger) == 1
    np.testing.assert_array_equal(first.noisy, again.noisy)


def test_an_order_shows_no_record() -> None:
    ordered = mean(None).order(np.full((N, WIDTH), 0.123456))
    assert "0.123456" not in repr(ordered) + repr(ordered.order) + str(ordered.order)


def test_a_choice_is_for_pure_epsilon() -> None:
    with pytest.raises(UsageError):
        bound_order(records(WIDTH), epsilon=0.0, quantile=0.9, candidates=(0.1, 10.0))


@pytest.mark.parametrize("odd", [None, "an order", object()])
def test_what_is_no_order_is_refused(odd: object, ledger: dpfda.Ledger) -> None:
    with pytest.raises(UsageError):
        mean(ledger).fit_order(odd)  # type: ignore[arg-type]
    assert charges(ledger) == 0


@pytest.mark.parametrize("changed", [{"epsilon": 1.5}, {"bound": 2.0}, {"smoothing": "none"}], ids=str)
def test_an_order_is_released_with_the_parameters_that_it_was_made_with_or_not_at_all(
    changed: dict[str, Any], ledger: dpfda.Ledger
) -> None:
    est = mean(ledger)
    ordered = est.order(records(WIDTH))
    est.set_params(**changed)
    with pytest.raises(UsageError):
        est.fit_order(ordered)
    assert charges(ledger) == 0


def test_an_order_is_released_by_its_own_estimator(ledger: dpfda.Ledger) -> None:
    for other in (mean(ledger), dpfda.CovarianceFunction(**SPENT, bound=1.0, ledger=ledger)):
        with pytest.raises(UsageError):
            mean(ledger).fit_order(other.order(records(WIDTH)))
    assert charges(ledger) == 0


def test_a_density_after_a_bandwidth_spends_what_was_paid_whatever_is_set_later() -> None:
    est = dpfda.DensityFunction(
        **PURE, domain=(0, 1), mechanism=LaplaceProcess(bandwidth="private-iqr"), bandwidth_epsilon=0.5
    )
    ordered = est.order(np.linspace(0, 1, N))
    est.set_params(epsilon=50.0)
    released = ordered.order.release()
    assert ordered.price.budget.epsilon == released.whole.certificate.epsilon == 1.5
