"""Cards, pages and pictures of mechanisms that shrink the mean before the noise say so: no band holds the mean."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dpfda import MeanFunction
from dpfda.mechanisms import Exponential, Laplace, SeededRandomness, SoftThreshold
from dpfda.page.render import page
from dpfda.releases import Certificate, Release
from dpfda.releases.cards import first_schema

GRID = np.linspace(0, 1, 41)
WAVE = 0.95 * np.sqrt(2) * np.sin(6 * np.pi * GRID)  # nobody is clipped, and every unit is the same
SHRUNK = {
    "gp": "the penalty",
    "iclp-qr": "the penalty",
    "iclp-ar": "the soft threshold",
    "exponential": "the base measure and the cut to the ball",
    "k-norm": "",
    "frl": "",
    "bernstein": "",
}


def released(mechanism: object, *, n: int = 2000, seed: int = 1, **more: object) -> Release:
    est = MeanFunction(
        epsilon=4.0,
        delta=1e-6 if mechanism == "gp" else 0.0,
        bound=1.0,
        mechanism=mechanism,  # type: ignore[arg-type]
        randomness=SeededRandomness(seed),
        **more,  # type: ignore[arg-type]
    )
    return est.fit(np.tile(WAVE, (n, 1)), grid=GRID).release_


@pytest.mark.parametrize("mechanism", SHRUNK)
def test_the_card_names_what_shrank_the_mean_and_takes_it_out_of_the_band(mechanism: str) -> None:
    card = released(mechanism).certificate
    assert card.shrunk_by == SHRUNK[mechanism]
    more = f", {card.shrunk_by}" if card.shrunk_by else ""
    sentence = f"The noise band does not cover what clipping, the finite basis{more} or the sampling of people did."
    assert card.not_covered == sentence
    assert " ".join(card.text().split()).endswith(sentence)
    assert dict(card.entries)["mechanism"].endswith(f"; the mean is shrunk by {card.shrunk_by}") == bool(more)


def test_a_band_around_a_mean_that_was_shrunk_first_misses_the_mean_itself() -> None:
    """Why the card has to say it: with the true mean known, no band of forty holds it."""
    release = released("iclp-ar")
    held = []
    for seed in range(40):
        band = released("iclp-ar", seed=seed).band(0.95, GRID)
        held.append(bool(((band.lower <= WAVE) & (band.upper >= WAVE)).all()))
    assert not any(held)
    error = float(np.sqrt(np.mean((release(GRID) - WAVE) ** 2)))
    assert error > 5 * release.estimated_error


def test_mechanisms_of_the_user_say_it_too_and_one_inside_another_both() -> None:
    inner = Exponential(2000, 2**24, (float(2**24),) * 5)
    card = released(SoftThreshold(inner, (7,) * 5), size=5).certificate
    assert card.shrunk_by == "the soft threshold and the base measure and the cut to the ball"
    assert released(SoftThreshold(Laplace(), (7,) * 5), size=5).certificate.shrunk_by == "the soft threshold"


@pytest.mark.parametrize("mechanism", ["iclp-ar", "iclp-qr"])
def test_a_page_promises_the_shrunk_curve_and_a_picture_the_noise_alone(mechanism: str) -> None:
    release = released(mechanism)
    html = page(release)
    assert f"it holds what {SHRUNK[mechanism]} left of the exact clipped curve everywhere at once" in html
    assert f"the finite basis, {SHRUNK[mechanism]} or the sampling of people did." in html
    ax = release.plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[-1].endswith(f"noise about {release.estimated_error:.2g} root mean square")


def test_a_page_of_noise_alone_promises_the_clipped_curve() -> None:
    assert "it holds the exact clipped curve everywhere at once" in page(released("k-norm"))


def test_a_card_that_was_written_before_reads_as_one_that_shrinks_nothing() -> None:
    first = replace(released("k-norm").certificate, schema=first_schema.SCHEMA)
    data = json.loads(json.dumps(first.to_dict()))
    del data["shrunk_by"]
    assert Certificate.from_dict(data).shrunk_by == ""
