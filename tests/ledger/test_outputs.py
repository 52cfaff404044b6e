"""What a ledger keeps of a draw comes back as it was, and anything else is said to be something else."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfda.privacy.ledger.outputs import pack, unpack

VECTORS = st.lists(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6).map(lambda v: np.array(v, dtype=np.int64)), max_size=4
)


@given(vectors=VECTORS, cards=st.lists(st.binary(min_size=32, max_size=32), max_size=3))
def test_vectors_and_digests_come_back(vectors, cards):
    kept = unpack(pack(vectors, cards))
    assert [vector.tolist() for vector in kept.vectors] == [vector.tolist() for vector in vectors]
    assert list(kept.cards) == cards


@given(st.binary(max_size=80))
def test_other_bytes_are_refused(found):
    with pytest.raises(ValueError, match=r"no draw|damaged|lengths|reshape|size"):
        unpack(found)


@pytest.mark.parametrize("cut", [1, 2, 20, 60])
def test_a_draw_that_was_cut_short_is_refused(cut):
    with pytest.raises(ValueError, match=r"no draw|damaged"):
        unpack(pack([np.arange(50)], [b"x" * 32])[:-cut])


def test_lengths_that_do_not_fit_are_refused():
    wrong = np.array([1, 9, 5], dtype="<i8").view(np.uint8).reshape(-1, 8).T.tobytes()
    with pytest.raises(ValueError, match="lengths do not fit"):
        unpack(bytes([1, 0]) + zlib.compress(wrong))
