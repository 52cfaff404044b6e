"""A function of the user's own that answers point by point."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpfda.arrays import Array, ArrayLike
from dpfda.curator import Order, Payment, exact_hash, request_hash
from dpfda.ledger import AnyLedger, Charge
from dpfda.mechanisms import Randomness
from dpfda.online import Facts, OnlineLaw, Oracle, OwnFunction, Store, calibrated, check_store, open_online
from dpfda.online.specification import NUGGET, peak_of
from dpfda.privacy import Counting, Unit
from dpfda.releases.cards.words import say
from dpfda.statistics.function.plan import PROCESS, FunctionRequest
from dpfda.statistics.pending import Pending

# Of the sensitivity, that roundings of values and of the public inverse may add: what `calibrated` makes room for.
SPARE = 4.0


@dataclass(frozen=True, eq=False, repr=False)
class OnlineOrder(Order):
    """Answers of a function that is not asked yet; everything public is checked."""

    own: OwnFunction
    facts: Facts
    law: OnlineLaw
    randomness: Randomness | None

    def spend(self, payment: Payment) -> Pending:
        return Pending(sections=self.own, law=self.law, facts=self.facts, randomness=self.randomness, payment=payment)

    def reopened(self, store: str | Path | Store | None) -> Oracle:
        """The oracle of a store that was made for this function."""
        check_store(store, self.law, self.facts, randomness=self.randomness)
        return open_online(self.own, self.law, store, facts=self.facts, randomness=self.randomness, must_exist=True)


def order_online(
    request: FunctionRequest,
    function: Callable[[Array], ArrayLike],
    dataset: str,
    unit: str,
    ledger: AnyLedger | None,
    randomness: Randomness | None,
    *,
    neighbours: str,
    counting: Counting,
) -> OnlineOrder:
    """Answers of a function that are neither charged nor drawn yet."""
    kernel, domain, claim = request.kernel, request.domain, request.sensitivity
    assert kernel is not None
    height = math.sqrt(peak_of(kernel, domain))
    law = calibrated(
        kernel, domain, sensitivity=claim, moved=SPARE * claim / height, budget=request.budget, by_values=True
    )
    # Half a unit at every point, for either of two neighbours, moves whitened values by this share of the sensitivity.
    step = claim * math.sqrt(NUGGET) * height * 2.0**-20 / math.sqrt(law.answers)
    facts = Facts(
        what=say("what", "function"),
        statistic="function",
        dataset=dataset,
        unit=unit,
        unit_was_assumed=False,
        neighbours=neighbours,
        n=float(request.n),
        because="it is the user's claim",
        chosen=(("sensitivity", "the user's claim: where it is false the guarantee does not hold"),),
        missing=say("missing", "none-read", nobody=""),
        counting=counting,
    )
    # The whole way once, on a function that is zero: what fails, fails before the charge.
    nothing = OwnFunction(lambda points: np.zeros(len(points)), kernel, domain.dimension, step)
    with open_online(nothing, law, None, facts=facts) as tried:
        tried(domain.grid(2))
    what = f"{facts.what}, {PROCESS}"
    price = Charge(
        dataset,
        what,
        request.budget,
        (law.profile,),
        Unit(unit, neighbours),
        request=request_hash(what, facts.without_reasons(), law.describe()),
        former=exact_hash(what, facts, law.describe()),
    )
    own = OwnFunction(function, kernel, domain.dimension, step)
    return OnlineOrder(price, ledger, own, facts, law, randomness)
