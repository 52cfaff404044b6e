"""The rehearsal before the charge: what a summary says of its shapes is so, and its release can be written and read.

All of it runs on an empty record and on noise alone. What would fail after the charge fails here, and the error names
the duty that is not kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from dpfda.arrays import Array, Integers, brief
from dpfda.bases import Basis
from dpfda.bases.lattice import FRACTIONS
from dpfda.curator.summary import Public, Summary
from dpfda.errors import DpfdaError, UsageError
from dpfda.releases.decoded import Decoded
from dpfda.releases.files import from_dict, to_dict
from dpfda.releases.kinds import is_release

T = TypeVar("T")


def rehearse_sum(summary: Summary, public: Public, basis: Basis) -> None:
    """Send one empty record through encode, clip and collect, and compare the shapes with what the summary says."""
    encode = summary.encode(public, basis)
    encoded = _kept(summary, "encode", lambda: encode(np.full((1, public.width), np.nan)))
    if not summary.adds_vectors:
        return  # no sum over units: it reads records in its own way
    vectors, present = _kept(summary, "encode", lambda: _pair(encoded))
    size, sums = summary.encoded_size(basis), summary.sums(public, basis)
    told = f"encoded_size says {size}"
    _check(summary, "encode", f"{told}, encode gives {_rows(vectors)} for one record", vectors.shape == (size, 1))
    _check(
        summary,
        "encode",
        f"encode gives, beside the vectors, {present.shape} for one record, and not one number a record, (1,)",
        present.shape == (1,),
    )
    clipping = summary.clipping(public)
    parts = _kept(summary, "clipping", lambda: np.asarray(clipping.clip(vectors / FRACTIONS)))
    told = f"sums says {sums}"
    _check(summary, "sums", f"{told}, clipping gives {_rows(parts)}", parts.ndim == 2 and len(parts) == sums)
    total = parts.sum(axis=1).astype(np.int64)
    collected = _kept(summary, "collect", lambda: np.asarray(summary.collect(total, 1, public)))
    handed = summary.size(public, basis)
    # A size of 0 is that of a summary that hands over all units, and is rehearsed without any.
    _check(
        summary, "size", f"size says {handed}, collect gives {_rows(collected)}", not handed or len(collected) == handed
    )


def rehearse_decoded(summary: Summary, decoded: Decoded, basis: Basis) -> None:
    """Compare what was decoded with the law of its noise, and ask for the noise over the domain."""
    noisy, variances = np.shape(decoded.noisy), np.shape(decoded.noise.variances)
    _check(
        summary, "decode", f"decode gives numbers of shape {noisy} and noise of shape {variances}", noisy == variances
    )
    rms = _kept(summary, "noise_rms", lambda: float(summary.noise_rms(decoded, basis)))
    _check(summary, "noise_rms", f"noise_rms gives {rms}, which is no size of noise", 0 <= rms < math.inf)


def rehearse_file(release: Any) -> None:
    """Write a release to plain data, and read it back by the rules of `dpfda.load`, its basis but for its name."""
    if not is_release(release):
        return  # it cannot be saved, so nobody can lose a file of it
    try:
        written = json.loads(json.dumps(to_dict(release)))
        again = json.loads(json.dumps(from_dict(written, release.basis).to_plain()))
    except (ArithmeticError, AttributeError, DpfdaError, LookupError, TypeError, ValueError) as error:
        raise _refused(
            release,
            "to_plain",
            f"writes what dpfda.load would refuse: {_said(error)}. Every part must have the shape that from_plain asks "
            "for; `centre`, or `noisy` where there is none, has a number for each function of the basis",
        ) from error
    differing = [part for part, value in again.items() if value != written.get(part)]
    if differing:
        said = f"reads another release than to_plain wrote: {', '.join(differing)} differ"
        raise _refused(release, "from_plain", said)


def _kept(summary: Summary, duty: str, act: Callable[[], T]) -> T:
    """What a method gives; where it fails, the error names it."""
    try:
        return act()
    except DpfdaError:
        raise
    except Exception as error:
        raise UsageError(
            f"{type(summary).__name__}.{duty} fails in the rehearsal before the charge: {_said(error)}.", parameter=duty
        ) from error


def _check(summary: Summary, duty: str, said: str, holds: bool) -> None:
    if not holds:
        told, _, rest = said.partition(" ")
        raise _refused(summary, duty, rest, told=told)


def _refused(thing: object, duty: str, said: str, told: str = "") -> UsageError:
    """The error about a duty; `told` is the method that it begins with, where that is another."""
    return UsageError(
        f"{type(thing).__name__}.{told or duty} {said}. Nothing was charged. CONTRIBUTING.md lists all duties.",
        parameter=duty,
    )


def _pair(encoded: tuple[Array, Array]) -> tuple[Array, Array]:
    vectors, present = encoded
    return np.asarray(vectors), np.asarray(present)


def _rows(array: Array | Integers) -> str:
    return str(len(array)) if array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1) else f"{array.shape}"


def _said(error: Exception) -> str:
    """What went wrong, in brief: no record has been read."""
    text = str(error).rstrip(".")
    return f"{type(error).__name__}{f': {brief(text)}' if text else ''}"
