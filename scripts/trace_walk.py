"""Count what a release walks through: functions, files, layers, and how often the layer changes.

`python scripts/trace_walk.py` prints a table for `dpfda release mean`, `density` and `components`, each in a process of
its own so that nothing is remembered from the one before.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import itertools
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

SOURCE = Path(__file__).parents[1] / "src" / "dpfda"
COMMANDS = {
    "mean": "--unit ID --values t* --epsilon 1 --delta 1e-6 --bound 1.5",
    "density": "--unit ID --points t0 --domain 0,1 --epsilon 1 --delta 0",
    "components": "--unit ID --values t* --epsilon 1 --delta 1e-6 --bound 1.5 --force",
}


@dataclass(frozen=True)
class Call:
    """A call of a function of this package."""

    file: str  # relative to src/dpfda
    function: str  # as it is qualified in its file
    loading: bool = False  # the body of a class, which runs while its module is loaded

    @property
    def layer(self) -> str:
        """The folder, or the module at the top."""
        return self.file.split("/")[0].removesuffix(".py")

    @property
    def name(self) -> str:
        """As documents write it, e.g. `curator.curator.Curator.order`."""
        return f"{self.file.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}.{self.function}"


@contextlib.contextmanager
def traced(source: Path = SOURCE) -> Iterator[list[Call]]:
    """Every call of a function of the package while this lasts, in order, in all threads.

    Module bodies and comprehensions do not count. Bodies of classes do, since whoever reads a module to find a function
    meets its classes; without them the figures are those of "called".
    """
    calls: list[Call] = []
    known: dict[CodeType, Call | None] = {}
    root = f"{source}{os.sep}"

    def of(code: CodeType) -> Call | None:
        if not code.co_filename.startswith(root) or code.co_name in (
            "<module>",
            "<listcomp>",
            "<dictcomp>",
            "<setcomp>",
        ):
            return None
        # Only functions have fast locals.
        loading = not code.co_flags & inspect.CO_OPTIMIZED
        return Call(Path(code.co_filename).relative_to(source).as_posix(), code.co_qualname, loading)

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            code = frame.f_code
            if code not in known:
                known[code] = of(code)
            call = known[code]
            if call is not None:
                calls.append(call)

    before: Callable[..., Any] | None = sys.getprofile()
    sys.setprofile(watch)
    threading.setprofile(watch)
    try:
        yield calls
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def figures(calls: list[Call]) -> dict[str, int]:
    """How many functions in how many files, and how often the layer changes from one call to the next new one.

    A function counts where it is called for the first time, as a reader meets it.
    """
    first = list(dict.fromkeys(calls))
    layers = [call.layer for call in first]
    return {
        "functions": len(first),
        "files": len({call.file for call in first}),
        "layers": len(set(layers)),
        "changes": sum(one != other for one, other in itertools.pairwise(layers)),
    }


def called(calls: list[Call]) -> list[Call]:
    """Without what is only loaded."""
    return [call for call in calls if not call.loading]


def demo(folder: Path) -> Path:
    """A small table of curves, one of each of 400 people."""
    target = folder / "scans.csv"
    header = "ID," + ",".join(f"t{j}" for j in range(20))
    rows = (f"p{i}," + ",".join(f"{(i * 37 + j * 11) % 97 / 97:.3f}" for j in range(20)) for i in range(400))
    target.write_text("\n".join([header, *rows]) + "\n")
    return target


def walk(kind: str) -> list[Call]:
    """Release one statistic by its command; what was called on the way."""
    from dpfda.cli.main import cli

    with tempfile.TemporaryDirectory() as folder:
        file = demo(Path(folder))
        words = ["release", kind, str(file), *COMMANDS[kind].split(), "--out", f"{folder}/out.json"]
        said = io.StringIO()
        with traced() as calls, contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            cli.main(words, standalone_mode=False)
    return calls


def main() -> None:
    """One row for each command."""
    if len(sys.argv) > 1:
        calls = walk(sys.argv[1])
        for found in (figures(calls), figures(called(calls))):
            print(" ".join(f"{name} {value}" for name, value in found.items()))
        return
    for kind in COMMANDS:
        done = subprocess.run([sys.executable, __file__, kind], capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines() or done.stderr.strip().splitlines()[-1:]
        for name, line in zip((kind, "  called"), lines, strict=False):
            print(f"{name:<11} {line}")


if __name__ == "__main__":
    main()
