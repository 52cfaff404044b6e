"""What all tests share: a floor on their number, so that none is lost unseen."""

from __future__ import annotations

import pytest

FLOOR = 10200


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A full run collects at least this many tests; a run of named files or of the audit is not held to it."""
    whole = set(config.args) <= {str(path) for path in config.getini("testpaths")} | set(config.getini("testpaths"))
    if whole and config.option.markexpr == "not audit" and len(items) < FLOOR:
        raise pytest.UsageError(f"only {len(items)} tests were collected; there should be at least {FLOOR}")
