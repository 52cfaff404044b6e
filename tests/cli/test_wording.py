"""Messages of the package in the words of the command line."""

from __future__ import annotations

import pytest

from dpfda.cli.wording import in_options, of_moments, said_of_moments
from dpfda.errors import CannotMeetBudget


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("at most 4, got n_components=5. State size= for more.", "at most 4, got --k 5. State --size for more."),
        ("n_components must be whole, got 0.", "--k must be whole, got 0."),
        ("use mechanism='k-norm' or 'laplace'.", "use --mechanism k-norm or laplace."),
        ("kernel is for mechanism 'iclp-qr'; 'auto' not.", "--kernel is for --mechanism iclp-qr; 'auto' not."),
        ("e.g. planned_n=5000.", "e.g. --planned-n 5000."),
        ("share explained_variance=0.2, or", "share --explained-variance 0.2, or"),
        ("2 pair(s) in covariate_limits: one", "2 pair(s) in --covariate-limits: one"),
        ("e.g. covariate_levels={'sex': ('a', 'b')}, or", "e.g. --covariates 'sex=a|b', or"),
        ("and let centre= be public", "and let --centre be public"),
        ("state bandwidth=... or edges=[0, 1]", "state --bandwidth ... or --edges 0,1"),
        ("e.g. domain=(0.0, 100.0) or edges=[0, 1, 5]; got", "e.g. --domain 0.0,100.0 or --edges 0,1,5; got"),
        ("bandwidth is for mechanism 'gp'; not", "--bandwidth is for --mechanism gp; not"),
        ("response_bound must be positive, got 0.", "--response-bound must be positive, got 0."),
        ("features must be 'auto', the features live on", "--features must be 'auto', the features live on"),
        ("Fit one with loss='logistic'.", "Fit one with --loss logistic."),
        ("calibration='published' is for the papers", "--calibration published is for the papers"),
        ("the limits of values, their size and a kernel stay", "the limits of values, their size and a kernel stay"),
        ("n = 5 and epsilon = 1, delta = 0", "n = 5 and epsilon = 1, delta = 0"),
        ("left 0.60. Lower epsilon to 0.60. Nothing", "left 0.60. Lower it to --epsilon 0.60. Nothing"),
        ("make one with Ledger.create, or dpfda budget create URL", "make one with dpfda budget create URL"),
        ("--delta ..., or Ledger.create. Nothing", "--delta .... Nothing"),
        (
            "is only written with it: open it with anchor='...', the",
            "is only written with it: open it with --anchor FILE, the",
        ),
        (
            "on purpose: Ledger(url, anchor=...).start_anchor(). Nothing",
            "on purpose: dpfda budget anchor URL --anchor FILE. Nothing",
        ),
        (
            "on purpose: Ledger(url, anchor=...).start_anchor(lost=True). Nothing",
            "on purpose: dpfda budget anchor URL --anchor FILE --lost. Nothing",
        ),
        (
            "closed: former='...'; or say lost=True, if it is gone",
            "closed: --former FILE; or say --lost, if it is gone",
        ),
        (
            "begin one without former= and lost=. Nothing",
            "begin one without --former and --lost. Nothing",
        ),
        (
            "Name the file first: Ledger(url, anchor='a.b').start_anchor().",
            "Name the file first: dpfda budget anchor URL --anchor FILE.",
        ),
        ("Release with the unit 'person', or", "Release with --unit person, or"),
        ("Release with neighbours='add-or-remove-one'.", "Release with --neighbours add-or-remove-one."),
        ("candidates are bounds known in advance", "--candidates are bounds known in advance"),
        ("quantile must lie in (0, 1], got 2.", "--quantile must lie in (0, 1], got 2."),
        ("No column 'grid=1' here.", "No column 'grid=1' here."),
        ("'my_n_components.csv' and dpfda.size=3 stay", "'my_n_components.csv' and dpfda.size=3 stay"),
    ],
)
def test_parameters_become_options_and_other_words_stay(python: str, command: str) -> None:
    assert in_options(python) == command


def test_second_moments_have_pure_mechanisms_of_their_own() -> None:
    text = "it needs delta > 0. For delta = 0 use mechanism='k-norm' or 'laplace'."
    assert in_options(of_moments(text)).endswith("use --mechanism wishart or k-norm.")
    with pytest.raises(CannotMeetBudget, match="mechanism='wishart' or 'k-norm'"), said_of_moments():
        raise CannotMeetBudget(text)
