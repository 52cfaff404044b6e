"""Published figures of others are computed anew: a deployed load curve, and mistakes that are made again and again."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import norm

from dpfda.privacy import GaussianProfile, PureProfile
from dpfda.releases.verification import Report, verify
from dpfda.releases.verification.claims import amplified, epsilon_at

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
GAUSSIAN = {"what": "mean", "law": "gaussian", "scale": 2.0, "sensitivity": 1.0, "norm": "L2", "values": 48}
LAPLACE = {"what": "sum", "law": "laplace", "scale": 4.0, "sensitivity": 1.0, "norm": "L1", "values": 1}


def claim(tmp_path: Path, *parts: dict[str, Any], **changes: Any) -> Report:
    """The report on a claim with these mechanisms."""
    data = {
        "format": "dpfda-claim-1",
        "what": "a release",
        "unit": "person",
        "neighbours": "replace-one",
        "n": 1000,
        "parts": list(parts or (LAPLACE,)),
        "epsilon": 1.0,
        "delta": 0.0,
    }
    path = tmp_path / "claim.json"
    path.write_text(json.dumps({key: value for key, value in (data | changes).items() if value is not None}))
    return verify(path)


def test_the_published_epsilon_of_the_load_curve_disagrees_and_the_corrected_one_holds() -> None:
    """OpenDP registry, Recurve (2020): 0.1 + 0.2 + 4.0 + 2 x 1.25 = 6.8, of a sample of 0.124; published 0.843."""
    report = verify(EXAMPLES / "load-curve-claim.json")
    (finding,) = report.findings
    assert finding.text.startswith("epsilon: stated 0.843, recomputed 4.72036 (basic composition of 5 mechanisms: 6.8")
    assert report.exit_code == 3
    assert report.notes[-1] == (
        "0.843 is 0.124 times 6.8: sampling was taken to multiply epsilon, which holds for small epsilon only"
    )
    corrected = verify(EXAMPLES / "load-curve-corrected-claim.json")
    assert corrected.ok
    assert corrected.held == ("epsilon", "delta")


def test_the_example_says_what_is_known_and_what_is_assumed() -> None:
    data = json.loads((EXAMPLES / "load-curve-claim.json").read_text(encoding="utf-8"))
    assert "0.843 is 0.124 times 6.8" in data["known"]
    assert data["assumed"].startswith("The entry states no scale and no sensitivity.")
    assert data["n"] == 4948
    assert data["parts"][2]["values"] == 48


def test_laplace_noise_has_epsilon_sensitivity_over_scale(tmp_path: Path) -> None:
    assert claim(tmp_path, epsilon=0.25).ok
    (finding,) = claim(tmp_path, epsilon=0.24).findings
    assert finding.recomputed.startswith("0.25 ")


def test_a_bound_on_each_value_is_one_on_all_together(tmp_path: Path) -> None:
    """48 values, each moved by at most 1 under Laplace noise of scale 4: 48 times the epsilon of one."""
    each = LAPLACE | {"norm": "Linf", "values": 48}
    assert claim(tmp_path, each, epsilon=12.0).ok
    report = claim(tmp_path, each, epsilon=0.25)
    assert report.notes[-1] == "0.25 is that of one of the 48 values of 'sum' alone"
    rooted = LAPLACE | {"norm": "L2", "values": 16}
    assert claim(tmp_path, rooted, epsilon=1.0).ok
    assert not claim(tmp_path, rooted, epsilon=0.9).ok
    assert claim(tmp_path, GAUSSIAN | {"norm": "L1"}, epsilon=3.0, delta=1e-6).ok


def test_normal_noise_has_the_epsilon_of_its_exact_curve(tmp_path: Path) -> None:
    """mu = 1/2; delta at epsilon = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), Balle and Wang (2018)."""
    epsilon = epsilon_at(GaussianProfile(0.5), 1e-6)
    delta = norm.cdf(0.25 - 2 * epsilon) - math.exp(epsilon) * norm.cdf(-0.25 - 2 * epsilon)
    assert delta == pytest.approx(1e-6, rel=1e-6)
    above, below = math.ceil(epsilon * 1000) / 1000, math.floor(epsilon * 1000) / 1000 - 0.001
    assert claim(tmp_path, GAUSSIAN, epsilon=above, delta=1e-6).ok
    assert not claim(tmp_path, GAUSSIAN, epsilon=below, delta=1e-6).ok
    # Without delta there is no epsilon at all.
    assert "inf" in claim(tmp_path, GAUSSIAN, epsilon=5.0, delta=0).findings[0].recomputed


def test_normal_noise_is_noted_at_the_delta_of_the_claim_and_a_modest_claim_too(tmp_path: Path) -> None:
    report = claim(tmp_path, GAUSSIAN, epsilon=25.0, delta=1e-6)
    assert report.ok
    epsilon = epsilon_at(GaussianProfile(0.5), 1e-6)
    assert report.notes == (
        f"mean: epsilon {epsilon:.6g} at delta 1e-06",
        f"epsilon is stated as 25.0, but {epsilon:.4g} would hold",
    )
    assert claim(tmp_path, GAUSSIAN, epsilon=5.0, delta=0).notes[0] == "mean: no epsilon at delta 0"
    assert claim(tmp_path, epsilon=0.26).notes == ("sum: epsilon 0.25",)


def test_epsilon_at_a_delta_is_the_least_one() -> None:
    assert epsilon_at(PureProfile(0.7), 0.0) == 0.7
    assert epsilon_at(GaussianProfile(1e-3), 0.1) == 0.0
    assert epsilon_at(GaussianProfile(1.0), 0.0) == math.inf
    assert epsilon_at(GaussianProfile(1e7), 1e-6) == math.inf
    found = epsilon_at(GaussianProfile(1.0), 1e-5)
    assert GaussianProfile(1.0).delta(found) <= 1e-5 < GaussianProfile(1.0).delta(found * (1 - 1e-9))


def test_sampling_helps_by_the_logarithm() -> None:
    assert amplified(6.8, 0.124) == pytest.approx(math.log(1 + 0.124 * (math.exp(6.8) - 1)), rel=1e-14)
    assert amplified(1.0, 1.0) == pytest.approx(1.0, rel=1e-15)
    assert amplified(1e-6, 0.1) == pytest.approx(1e-7, rel=1e-5)
    assert amplified(1000.0, 0.5) == pytest.approx(1000 + math.log(0.5), rel=1e-15)


def test_mechanisms_add_up_as_the_claim_says(tmp_path: Path) -> None:
    many = LAPLACE | {"times": 40}
    assert claim(tmp_path, many, composition="basic", epsilon=10.0).ok
    assert not claim(tmp_path, many, composition="basic", epsilon=9.9).ok
    tight = claim(tmp_path, many, composition="tight", epsilon=10.0, delta=1e-6)
    assert tight.ok


def test_a_stated_part_counts_as_stated(tmp_path: Path) -> None:
    parts = ({"what": "a", "law": "stated", "epsilon": 1.0, "delta": 1e-7}, LAPLACE)
    assert claim(tmp_path, *parts, composition="basic", epsilon=1.25, delta=1e-7).ok
    report = claim(tmp_path, *parts, composition="basic", epsilon=1.25, delta=1e-8)
    assert [finding.rule for finding in report.findings] == ["delta"]


def test_a_figure_may_have_been_rounded_to_its_last_digit(tmp_path: Path) -> None:
    third = LAPLACE | {"scale": 3.0}
    assert claim(tmp_path, third, epsilon=0.333).ok
    assert not claim(tmp_path, third, epsilon=0.332).ok
    assert not claim(tmp_path, LAPLACE | {"scale": 0.8}, epsilon=1).ok


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"n": 0}, "n must be a whole number, 1 or more"),
        ({"n": 4.5}, "n must be a whole number, 1 or more"),
        ({"n": None}, "a field is missing or of another type"),
        ({"more": 1}, "unknown fields: more"),
        ({"unit": 5}, "unit must be a text"),
        ({"composition": "advanced"}, "composition must be 'basic' or 'tight'"),
        ({"sampling": 0}, "sampling must be a positive number"),
        ({"sampling": 1.5}, "epsilon must be positive, delta below 1, sampling a share"),
        ({"epsilon": "one"}, "epsilon and delta must be numbers"),
        ({"epsilon": 0}, "epsilon must be positive, delta below 1, sampling a share"),
        ({"delta": 1.0}, "epsilon must be positive, delta below 1, sampling a share"),
        ({"parts": []}, "parts must name at least one mechanism"),
        ({"parts": [5]}, "a field is missing or of another type"),
        ({"parts": [LAPLACE | {"more": 1}]}, "unknown fields of a part: more"),
        ({"parts": [LAPLACE | {"law": "cauchy"}]}, "law must be one of gaussian, laplace, stated"),
        ({"parts": [LAPLACE | {"norm": "L3"}]}, "norm must be one of L1, L2, Linf (a bound on each value)"),
        ({"parts": [LAPLACE | {"scale": 0}]}, "scale must be a positive number"),
        ({"parts": [LAPLACE | {"values": 0}]}, "values must be a whole number, 1 or more"),
        ({"parts": [LAPLACE | {"what": 5}]}, "a part needs a text 'what', and its delta is below 1"),
    ],
    ids=str,
)
def test_a_claim_that_cannot_be_read_says_why(changes: dict[str, Any], text: str, tmp_path: Path) -> None:
    report = claim(tmp_path, **changes)
    assert report.exit_code == 5
    assert [finding.recomputed for finding in report.findings] == [text]
