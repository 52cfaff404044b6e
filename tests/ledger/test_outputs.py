"""What a ledger keeps of a draw comes back as it was, and anything else is said to be something else."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfda.ledger.outputs import Document, pack, unpack

VECTORS = st.lists(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6).map(lambda v: np.array(v, dtype=np.int64)), max_size=4
)


DIGEST = st.binary(min_size=32, max_size=32)
DOCUMENTS = st.lists(st.builds(Document, DIGEST, DIGEST, DIGEST), max_size=3)


@given(
    vectors=VECTORS, documents=DOCUMENTS, software=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3)
)
def test_vectors_digests_and_versions_come_back(vectors, documents, software):
    kept = unpack(pack(vectors, documents, software))
    assert [vector.tolist() for vector in kept.vectors] == [vector.tolist() for vector in vectors]
    assert list(kept.documents) == documents
    assert list(kept.cards) == [document.card for document in documents]
    assert kept.software == software


@given(vectors=VECTORS, cards=st.lists(DIGEST, max_size=3))
def test_what_kept_digests_of_cards_alone_is_still_read(vectors, cards):
    sizes = np.array([len(vectors), *map(len, vectors)], dtype="<i8")
    packed = np.concatenate([sizes, *vectors]).astype("<i8").view(np.uint8).reshape(-1, 8).T.tobytes()
    kept = unpack(bytes([1, len(cards)]) + b"".join(cards) + zlib.compress(packed, 9))
    assert [vector.tolist() for vector in kept.vectors] == [vector.tolist() for vector in vectors]
    assert (list(kept.cards), kept.documents, kept.software) == (cards, (), {})


@given(st.binary(max_size=80))
def test_other_bytes_are_refused(found):
    with pytest.raises(ValueError, match=r"no draw|damaged|lengths|reshape|size"):
        unpack(found)


@pytest.mark.parametrize("cut", [1, 2, 20, 60])
def test_a_draw_that_was_cut_short_is_refused(cut):
    with pytest.raises(ValueError, match=r"no draw|damaged"):
        unpack(pack([np.arange(50)], [Document(b"x" * 32, b"y" * 32)], {"dpfda": "1"})[:-cut])


def test_lengths_that_do_not_fit_are_refused():
    wrong = np.array([1, 9, 5], dtype="<i8").view(np.uint8).reshape(-1, 8).T.tobytes()
    with pytest.raises(ValueError, match="lengths do not fit"):
        unpack(bytes([1, 0]) + zlib.compress(wrong))
