"""Random command lines: every command and option by introspection, with values that fit, nearly fit, or do not."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import click
import numpy as np
from fuzz_calls import LIMIT, Tally, TooLong, limited
from fuzz_files import write_files

import dpfda
from dpfda.cli.main import cli, main

# Commands that do not end by themselves, or take minutes.
ENDLESS = {("serve",), ("reproduce",), ("compare",), ("demo",)}
ANY = [
    "", "x", "0", "1", "-1", "2", "0.5", "1e300", "-1e308", "1e-300", "nan", "inf", "1e400", "10" * 200, "a,b",
    "0,1", "1,0",
    "0,1e-300", "0,1;0,2", "t*", "*", "[", "t0", "id", "age", "word", "--", "-", "é", "\x01", "'", '"', "a=b|c", "a=b",
    "/dev/null", ".", "missing.csv", "0,0.5,1", "0:1", ",", ";", "|", "=", "auto", "none", "true", "3000000",
    "99999999999999999999",
    "sqlite:///x.db", "sqlite:///", "postgresql://127.0.0.1:1/x", "http://x", "\udcff", "a" * 5000, "1,2,3,4,5,6,7,8,9",
]  # fmt: skip
# By the name of an option: values that fit the files.
FIT: dict[str, list[str]] = {
    "epsilon": ["1", "50", "0.5", "3"],
    "delta": ["1e-6", "0", "1e-9"],
    "bound": ["1", "0.5", "2"],
    "limits": ["-1,1", "0,1", "-2,2"],
    "domain": ["0,1", "0,1"],
    "unit": ["id"],
    "values": ["t*", "t*", "t0,t1", "t?"],
    "covariates": ["age,dose", "age", "word=w0|w1"],
    "covariate_limits": ["-1:1,-1:1", "-1:1"],
    "points": ["point", "age", "age,dose"],
    "label": ["label", "word"],
    "response": ["age"],
    "response_bound": ["1"],
    "classes": ["0,1", "w0,w1"],
    "at": ["0,0.5,1", "0.5", "0.25"],
    "n": ["12", "100", "100000"],
    "k": ["1", "2"],
    "size": ["3", "5", "7"],
    "candidates": ["0.01,100", "0.1,1,3"],
    "quantile": ["0.9"],
    "mechanism": ["auto", "gaussian", "laplace", "k-norm", "gp", "iclp-qr", "frl", "exponential", "bernstein"],
    "kernel": ["matern-3/2,0.3", "gaussian,0.1", "exponential,0.5"],
    "basis": ["cosine", "fourier", "legendre", "bspline"],
    "smoothing": ["auto", "none", "sobolev-2"],
    "neighbours": ["replace-one", "add-or-remove-one"],
    "planned_n": ["12", "100"],
    "grid": ["header", "even"],
    "dataset": ["scans", "scans", "other"],
    "level": ["0.95", "0.5"],
    "derivative": ["0", "1", "2"],
    "quantiles": ["0.1,0.9"],
    "edges": ["0,0.25,1"],
    "bandwidth": ["0.1"],
    "penalty": ["0.1"],
    "loss": ["hinge", "logistic", "huber"],
    "features": ["4"],
    "seed": ["1"],
    "names": ["x", "a,b"],
    "copy": ["copy"],
    "name": ["copy"],
    "people": ["1", "2"],
    "mean": ["joint", "private"],
    "eta": ["1.5"],
}  # fmt: skip


# What makes most lines go through where nothing else was said.
USUAL = {
    "unit": "id",
    "values": "t*",
    "bound": "1",
    "domain": "0,1",
    "at": "0.5",
    "force": "",
    "overwrite": "",
}


class Typist:
    """One seeded series of command lines, run in this process in a folder of its own."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = np.random.default_rng(seed)
        self.folder = folder
        self.files = write_files(folder)
        self.tally = Tally()
        self.commands = list(leaves(cli, ()))
        self.ledgers = self.made = 0
        for number in range(8):  # what one line does to a ledger, an anchor or a freeze, stays with it
            ledger = dpfda.Ledger(f"sqlite:///{folder}/l{number}.db")
            ledger.create("scans", epsilon=1e4, delta=1e-3)
            ledger.close()
        self.words: Counter[str] = Counter()  # what refusals said, to see whether the lines are good ones

    def some(self, options: Any) -> Any:
        return options[self.rng.integers(len(options))]

    def line(self) -> tuple[str, ...]:
        """A command, its arguments, and some of its options."""
        path, command = self.some(self.commands)
        oddly = 0.35 * (self.rng.random() < 0.6)
        words = list(path)
        options: list[str] = []
        for one in command.params:
            if isinstance(one, click.Argument):
                words += self.argument(one, path, oddly)
            elif isinstance(one, click.Option) and (one.required or self.rng.random() < self.share(one)):
                options += self.option(one, oddly)
        if self.rng.random() < 0.92:
            options += self.usual(command, options)
        if self.rng.random() < 0.02:
            options.append(self.some(["--no-such-option", "-z", "--help", "extra"]))
        return tuple(words + options)

    def share(self, one: click.Option) -> float:
        return 0.0 if one.name in ("version", "help") else 0.25 if one.name == "overwrite" else 0.08

    def usual(self, command: click.Command, given: list[str]) -> list[str]:
        """What makes most releases go through: a unit, the values, and a bound."""
        known = {one.name: one for one in command.params if isinstance(one, click.Option)}
        found: list[str] = []
        for name, text in USUAL.items():
            one = known.get(name)
            rival = {"bound": "--limits", "domain": "--edges"}.get(name)
            if one is not None and one.opts[-1] not in given and rival not in given and self.rng.random() < 0.95:
                found += [one.opts[-1]] if one.is_flag else [one.opts[-1], text]
        if "covariates" in known and "--covariates" in given and "--covariate-limits" not in given:
            found += ["--covariate-limits", "-1:1,-1:1"]
        return found

    def argument(self, one: click.Argument, path: tuple[str, ...], oddly: float) -> list[str]:
        if self.rng.random() < oddly / 3:
            return [] if self.rng.random() < 0.2 else [self.some(ANY)]
        if path[0] == "budget":
            return [self.ledger(path)]
        if path[0] in ("release", "check", "bounds", "ask", "compare") or one.name in ("table", "source"):
            good = ["scans.csv", "scans.parquet"]
            return [self.some(good) if self.rng.random() > oddly else str(self.some(self.files["read_curves"]))]
        if isinstance(one.type, click.Choice):
            return [self.some(list(one.type.choices))]
        wanted = {"sample": "density", "predict": "classifier"}.get(path[0])
        if self.rng.random() > oddly:
            kinds = ["mean", "covariance", "components", "regression", "density", "classifier"]
            return [f"{wanted or self.some(kinds)}.json"]
        return [str(self.some(self.files["load"]))]

    def ledger(self, path: tuple[str, ...]) -> str:
        if path[-1] == "create":
            self.made += 1
            return f"sqlite:///new{self.made}.db"
        return f"sqlite:///l{self.ledgers}.db"

    def option(self, one: click.Option, oddly: float) -> list[str]:
        word = self.some(one.opts)
        if one.is_flag or one.count:
            return [word]
        values = [self.value(one, oddly) for _ in range(max(one.nargs, 1))]
        return [word, *values]

    def value(self, one: click.Option, oddly: float) -> str:
        if self.rng.random() < oddly / 2:
            return str(self.some(ANY))
        name = str(one.name)
        if name in FIT and self.rng.random() < 0.9:
            return str(self.some(FIT[name]))
        if isinstance(one.type, click.Choice):
            return str(self.some(list(one.type.choices)))
        if isinstance(one.type, click.Path):
            return str(
                self.some([f"out{self.rng.integers(4)}.json", "out.csv", "out.html", "out.parquet", "/no/such/x"])
            )
        if name == "ledger":
            return f"sqlite:///l{self.ledgers}.db"
        if isinstance(one.type, click.types.IntParamType | click.IntRange):
            return str(self.some(["1", "2", "5", "100"]))
        if isinstance(one.type, click.types.FloatParamType | click.FloatRange):
            return str(self.some(["0.5", "1", "2.5"]))
        return str(self.some(ANY))

    def run(self, cases: int) -> Tally:
        """So many command lines; each ends with a known exit code, in time, and without a traceback."""
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            for number in range(cases):
                self.ledgers = number % 8
                self.one(self.line())
        finally:
            os.chdir(before)
        return self.tally

    def one(self, words: tuple[str, ...]) -> None:
        out, err = io.StringIO(), io.StringIO()
        code: object = None
        began, fault = time.process_time(), None
        argv, sys.argv = sys.argv, ["dpfda", *words]
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), limited(LIMIT):
                main()
        except SystemExit as left:
            code = 0 if left.code is None else left.code
        except TooLong:
            fault = f"TooLong: {' '.join(words[:2])}"
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"[:160]
        finally:
            sys.argv = argv
            logging.getLogger().handlers.clear()
        said = err.getvalue()
        if fault is None and (code not in (0, 2, 3, 4, 5) or "Traceback" in said):
            fault = f"exit {code}: {said.strip().splitlines()[-1] if said.strip() else ''}"[:200]
        self.words[f"{code} {said.strip()[:90]}"] += code != 0
        self.tally.reached += code == 0
        self.tally.refused += code in (2, 3, 4, 5)
        self.tally.add(
            " ".join(word if len(word) < 80 else f"{word[:40]}..." for word in words),
            time.process_time() - began,
            fault,
        )


def leaves(group: click.Command, path: tuple[str, ...]) -> Any:
    """All commands below a group, with the words that lead to them."""
    if not isinstance(group, click.Group):
        if path[:1] not in ENDLESS:
            yield path, group
        return
    for name, command in sorted(group.commands.items()):
        yield from leaves(command, (*path, name))
