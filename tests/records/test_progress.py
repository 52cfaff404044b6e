"""The progress bar stays silent unless asked or watched, and never touches what it passes on."""

from __future__ import annotations

import pytest

from dpfda.records import reading as progress
from dpfda.records.reading import with_progress


@pytest.mark.parametrize("show", [None, False, True])
def test_quick_reading_prints_nothing(capfd, show):
    assert list(with_progress(iter("abc"), total=3, show=show)) == ["a", "b", "c"]
    assert capfd.readouterr() == ("", "")


def test_a_bar_never_writes_to_standard_output(capfd, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    assert list(with_progress(iter("abc"), total=3, show=True)) == ["a", "b", "c"]
    assert capfd.readouterr().out == ""


def test_the_bar_moves_once_for_each_batch(monkeypatch):
    moves = []

    class Bar:
        def advance(self, task):
            moves.append(task)

        def stop(self):
            moves.append("stop")

    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setattr(progress, "_bar", lambda total: (Bar(), total))
    assert list(with_progress(iter("ab"), total=2, show=True)) == ["a", "b"]
    assert moves == [2, 2, "stop"]


def test_a_failure_while_reading_stops_the_bar_and_passes_on(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", -1.0)

    def failing():
        yield 1
        yield 2
        raise KeyError("x")

    with pytest.raises(KeyError):
        list(with_progress(failing(), total=3, show=True))
