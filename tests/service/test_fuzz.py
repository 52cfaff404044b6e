"""Random requests: whatever is sent, there is an answer, it is no failure, and errors have one form."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpfda.service import refusals

TEXTS = {reason.code: json.loads(reason.body) for reason in refusals.ALL}
MILD = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
NUMBERS = st.floats(-0.5, 1.5) | st.integers(-1, 2) | st.just(10**400)
POINTS = st.lists(NUMBERS, max_size=5) | st.lists(st.lists(NUMBERS, max_size=3), max_size=4) | VALUES
BODIES = (
    st.binary(max_size=60)
    | VALUES.map(lambda value: json.dumps(value).encode())
    | POINTS.map(lambda points: json.dumps({"points": points}).encode())
)
KINDS = ("mean", "covariance", "components", "density", "regression", "surface")


def check(response):
    """Good answers are JSON, bad ones constant."""
    assert response.status_code < 500
    if response.status_code >= 400 and response.request.method != "HEAD":
        error = response.json()
        assert error == TEXTS[error["error"]["code"]]


@MILD
@given(body=BODIES, name=st.sampled_from(KINDS))
def test_any_body_is_answered_or_refused_in_constant_words(client, body, name):
    response = client.post(f"/releases/{name}/evaluate", content=body, headers={"Content-Type": "application/json"})
    check(response)
    if response.status_code == 200:
        points = json.loads(body)["points"]
        assert len(response.json()["values"]) == len(points)


@MILD
@given(
    method=st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"]),
    words=st.lists(st.sampled_from(["releases", "mean", "evaluate", "card", "file"]) | st.text(max_size=8), max_size=4),
    query=st.text(max_size=10),
)
def test_any_address_is_answered_or_refused_in_constant_words(client, method, words, query):
    from urllib.parse import quote

    path = "/" + "/".join(quote(word, safe="") for word in words if word not in (".", ".."))
    check(client.request(method, f"http://localhost{path}", params={"q": query}))


@MILD
@given(
    changes=st.lists(
        st.tuples(st.sampled_from(["delete", "replace"]), st.integers(0, 10**6), VALUES), min_size=1, max_size=3
    ),
    kind=st.sampled_from(KINDS),
)
def test_a_release_that_was_tampered_with_is_published_whole_or_not_at_all(client, kinds, owner, changes, kind):
    data = json.loads((kinds / f"{kind}.json").read_text())
    for what, where, value in changes:
        parent, key = places(data)[where % len(places(data))]
        if what == "replace":
            parent[key] = value
        elif isinstance(parent, dict):
            del parent[key]
        else:
            parent.pop(key)
    headers = {**owner, "Content-Type": "application/json"}
    response = client.post("/releases", params={"id": "fuzzed"}, content=json.dumps(data), headers=headers)
    check(response)
    found = client.get("/releases/fuzzed")
    assert (found.status_code == 200) == (response.status_code == 201)
    if response.status_code == 201:
        card = found.json()
        middle = [low + (high - low) / 2 for low, high in zip(card["lower"], card["upper"], strict=True)]
        check(client.post("/releases/fuzzed/evaluate", json={"points": [middle]}))
        check(client.get("/"))
        assert client.delete("/releases/fuzzed", headers=owner).status_code == 204


def places(data):
    """Every place in plain data that holds something, as its parent and key."""
    found = []
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found.append((data, key))
        found += places(value)
    return found or [({"x": 1}, "x")]


@pytest.mark.parametrize("name", ["X-Odd", "Accept", "Authorization", "Content-Type", "Content-Length-Odd"])
@pytest.mark.parametrize("value", ["", "\x7f", ";;;,,,", "é", "a" * 20_000, "text/plain;q=x"])
def test_odd_headers_do_no_harm(client, name, value):
    headers = {name.encode(): value.encode()}
    check(client.get("/releases/mean", headers=headers))
    check(client.delete("/releases/mean", headers=headers))
