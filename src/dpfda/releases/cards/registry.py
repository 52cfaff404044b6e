"""An entry of the OpenDP deployments registry: what a card knows in its fields, the rest left empty."""

from __future__ import annotations

import json
import re
from typing import Any

from dpfda.privacy import REPLACE
from dpfda.releases.cards.facts import (
    THREATS,
    Card,
    afterwards,
    band,
    estimated,
    method,
    native,
    nominally,
    spent,
    unprotected,
)
from dpfda.releases.cards.words import plain, steps, up
from dpfda.releases.certificate import NOMINAL, Certificate

# The structure of opendp/deployments-registry-data, schemas/deployments-schema.yaml, as of 2026. Texts that a card
# cannot know are empty, to be filled in by whoever registers; lists of fixed words that it cannot know are left out,
# and so are the variant and its parameters where the release guarantees none.
MODELS = ("classifier", "regressor")


def registry_entry(card: Card, release: Any = None) -> dict[str, Any]:
    """A draft of a registry entry."""
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", f"{card.dataset} {card.what}".lower()).strip("-"),
        "deployment": {
            "basic": {
                "name": f"{card.what} of {card.dataset}",
                "data_curators": [],
                "description": _sentences(estimated(card), card.sentence),
                "intended_use": "",
                "data_product_type": "Machine learning model" if card.what.code in MODELS else "Summary statistics",
                "data_product_region": "",
                "publication_date": "",
            },
            "dp_variant": {
                **_variant(card),
                "data_domain": "",
                "unprotected_quantities": unprotected(card),
            },
            "privacy_loss": _loss(card),
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": "",
                "trust_assumptions": THREATS,
                "actors": "",
                "release_type": "One release",
                "release_type_details": spent(card),
                "data_source_type_details": "",
                "access_type": "Interactive" if getattr(card, "law", "") == "online" else "Non-interactive",
                "access_type_details": "",
            },
            "implementation": _implementation(card, release),
            "administrative": {"status": "Draft", "registry_authors": [], "tier": 3},
        },
    }


def registry_text(card: Card, release: Any = None) -> str:
    """The entry as JSON, which is YAML too."""
    return json.dumps(registry_entry(card, release), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _promises(card: Card) -> bool:
    """Whether the epsilon on the card is a guarantee: programs take what stands in its field for one."""
    return card.private and not nominally(card)


def _variant(card: Card) -> dict[str, str]:
    return {"variant_name": "Approximate DP" if _delta(card) else "Pure DP"} if _promises(card) else {}


def _loss(card: Card) -> dict[str, Any]:
    replaced = card.neighbours == REPLACE
    parameters: dict[str, Any] = {"epsilon": card.epsilon} if _promises(card) else {}
    if _promises(card) and _delta(card):
        parameters["delta"] = _delta(card)
    found: dict[str, Any] = {
        "privacy_unit": card.unit,
        "privacy_unit_details": f"Data sets are adjacent if all records of one {card.unit} are "
        f"{'replaced by those of another' if replaced else 'added or removed'} ({card.neighbours}).",
        "privacy_parameters": parameters,
        "privacy_parameters_details": _sentences(
            *((NOMINAL,) if nominally(card) else ()),
            f"native: {native(card)}",
            f"converted: {method(card)}" if method(card) else "",
            f"for composition {nominally(card)}{up(card.rho, 4)}-zCDP",
            *card.stamps,
        ),
    }
    if not getattr(card, "n_is_planned", False):
        found["number_of_privacy_units"] = round(card.n)
    return found


def _implementation(card: Card, release: Any) -> dict[str, Any]:
    software = ", ".join(f"{name} {version}" for name, version in card.software)
    if isinstance(card, Certificate):
        bounded = card.bounded or f"{plain(card.bound)}, on the root mean square around the centre: {card.around}"
        mechanism: tuple[str, ...] = (
            f"{card.mechanism}: {card.noise}",
            f"scale {steps(card.noise_scale)} lattice steps of {card.lattice_step:.6g}" if card.noise_scale else "",
            f"sensitivity {steps(card.sensitivity)} in {card.sensitivity_norm}, because {card.sensitivity_because}",
        )
        before = _sentences(f"missing data: {card.missing}", f"bound: {bounded}")
        utility = _sentences(f"noise of {card.noise_rms:.4g} root mean square", band(release), card.not_covered)
    else:
        mechanism, before, utility = (f"exponential mechanism on {card.candidates} candidates",), "", ""
    return {
        "preprocessing_and_hyperparameter_tuning": before,
        "mechanisms": _sentences(*mechanism, f"randomness: {card.randomness}", f"software: {software}"),
        "composition": card.recorded,
        "post_processing": afterwards(card, release),
        "justification": _sentences(*(f"{name}: {how}" for name, how in card.chosen)),
        "utility": utility,
        "additional_information": "",
    }


def _delta(card: Card) -> float:
    return card.delta if isinstance(card, Certificate) else 0.0


def _sentences(*parts: str) -> str:
    """Parts as sentences, the empty ones left out."""
    return " ".join(f"{part[:1].upper()}{part[1:]}{'' if part.endswith('.') else '.'}" for part in parts if part)
