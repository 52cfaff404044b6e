"""Errors of this package as tests look at them: by class, parameter and value, never by sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dpfda.errors import DpfdaError
from dpfda.messages import brief

ANY = object()


@contextmanager
def refused(kind: type[DpfdaError], parameter: str, value: object = ANY) -> Iterator[pytest.ExceptionInfo[DpfdaError]]:
    """What is inside raises an error of this kind about this parameter, and with this value if one is stated."""
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.value.parameter == parameter, str(caught.value)
    assert value is ANY or caught.value.value == brief(value), str(caught.value)
