"""A plan says of each penalty parameter by itself whether it was stated or follows from public facts."""

from __future__ import annotations

import pytest

from dpfda import MeanFunction
from dpfda.mechanisms import LaplaceProcess

RULE = "privacy-safe: by a rule of n, epsilon and the kernel"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, RULE),
        ({"eta": 1.5}, f"eta stated by the user, the other {RULE}"),
        ({"penalty": 0.25}, f"penalty stated by the user, the other {RULE}"),
        ({"eta": 1.5, "penalty": 0.25}, "stated by the user"),
    ],
    ids=["neither", "eta", "penalty", "both"],
)
def test_a_parameter_that_was_stated_is_not_called_chosen_by_a_rule(given: dict[str, float], said: str) -> None:
    plan = MeanFunction(epsilon=1.0, delta=0.0, bound=1.0, mechanism=LaplaceProcess(**given)).plan(100)
    assert dict(plan.reasons)["penalty"].split("; ")[1] == said
