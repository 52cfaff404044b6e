"""The drawing in docs/architecture.md is what happens: names, order, depth and number of calls are those of a trace."""

from __future__ import annotations

import re
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import dpfda

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dpfda"
LINE = re.compile(r"^(?P<indent> *)(?P<name>[a-z_]+(?:\.\w+)+)(?P<star> \*)?(?: {2,}.*)?$")


@dataclass(frozen=True)
class Step:
    """A line of the drawing."""

    path: tuple[str, ...]  # from the outermost call to this one
    repeated: bool


def drawing() -> list[Step]:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```text walk\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    steps, path = [], []
    for line in block.splitlines():
        found = LINE.match(line)
        assert found, line
        del path[len(found["indent"]) // 2 :]
        path.append(found["name"])
        steps.append(Step(tuple(path), bool(found["star"])))
    return steps


def name_of(frame: FrameType) -> str:
    code = frame.f_code
    file = Path(code.co_filename).relative_to(SOURCE).with_suffix("").as_posix()
    return f"{file.removesuffix('/__init__').replace('/', '.')}.{code.co_qualname}"


def trace(names: set[str], act: Any) -> list[tuple[str, ...]]:
    """Every call of one of these functions, with those of them that it was called from."""
    paths: list[tuple[str, ...]] = []
    root = f"{SOURCE}/"

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(root) or name_of(frame) not in names:
            return
        inner: FrameType | None = frame
        path: list[str] = []
        while inner is not None:
            if inner.f_code.co_filename.startswith(root) and name_of(inner) in names:
                path.append(name_of(inner))
            inner = inner.f_back
        paths.append(tuple(reversed(path)))

    sys.setprofile(watch)
    threading.setprofile(watch)
    try:
        act()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return paths


def test_the_way_of_one_record_is_as_it_is_drawn(tmp_path: Path) -> None:
    t = np.linspace(0, 1, 30)
    curves = np.sin(np.pi * t) + np.linspace(-0.3, 0.3, 3000)[:, None]
    ledger = dpfda.Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("curves", epsilon=2.0, delta=1e-5, unit="person")
    est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.5, dataset="curves", ledger=ledger)
    people = {"person": np.repeat(np.arange(1500), 2)}
    steps = drawing()
    walked = trace({step.path[-1] for step in steps}, lambda: est.fit(curves, grid=t, units=people))
    # Calls that follow each other with the same path are one line with a star.
    starred = {step.path for step in steps if step.repeated}
    found = [path for k, path in enumerate(walked) if not (path in starred and path in walked[:k])]
    assert found == [step.path for step in steps]


def test_the_drawing_is_read() -> None:
    assert len(drawing()) > 20
    with pytest.raises(ValueError, match="not in the subpath"):
        name_of(sys._getframe())
