"""How much and how often: buckets, sizes, times, and what a request over a limit hears."""

from __future__ import annotations

import asyncio
import threading

import pytest
from refusals import refused

from dpfda.errors import UsageError
from dpfda.service import Limits, limits, make_app
from dpfda.service.limits import Bucket, Buckets, neighbourhood


def test_a_bucket_gives_so_many_a_second_and_two_seconds_worth_at_once():
    bucket = Bucket(rate=10.0, now=0.0)
    assert [bucket.take(1.0, 0.0) for _ in range(20)] == [0.0] * 20
    assert bucket.take(1.0, 0.0) == pytest.approx(0.1)
    assert bucket.take(1.0, 0.1) == 0.0
    assert bucket.take(1.0, 0.1) == pytest.approx(0.1)
    assert [bucket.take(1.0, 100.0) for _ in range(21)].count(0.0) == 20


def test_whoever_is_refused_pays_nothing():
    bucket = Bucket(rate=1.0, now=0.0)
    assert bucket.take(2.0, 0.0) == 0.0
    assert [bucket.take(1.0, 0.5) for _ in range(50)] == [pytest.approx(0.5)] * 50
    assert bucket.take(1.0, 1.0) == 0.0


def test_more_than_a_bucket_holds_is_paid_for_afterwards():
    bucket = Bucket(rate=10.0, now=0.0)
    assert bucket.take(100.0, 0.0) == 0.0
    assert bucket.take(1.0, 0.0) == pytest.approx(8.1)
    assert bucket.take(1.0, 8.2) == 0.0


def test_slow_rates_let_one_through():
    bucket = Bucket(rate=0.1, now=0.0)
    assert bucket.take(1.0, 0.0) == 0.0
    assert bucket.take(1.0, 0.0) == pytest.approx(10.0)
    assert bucket.take(1.0, 10.0) == 0.0


def test_addresses_have_buckets_of_their_own_and_one_together():
    buckets = Buckets(rate=1.0, overall=2.0)
    assert [buckets.take("a", 1.0, 0.0) for _ in range(3)] == [0.0, 0.0, 1.0]
    assert [buckets.take("b", 1.0, 0.0) for _ in range(3)] == [0.0, 0.0, 1.0]
    assert buckets.take("c", 1.0, 0.0) == pytest.approx(0.5)  # all together had four


def test_so_many_addresses_are_remembered_and_no_more(monkeypatch):
    monkeypatch.setattr(limits, "ADDRESSES", 3)
    buckets = Buckets(rate=1.0, overall=1000.0)
    for address in "abcad":
        buckets.take(address, 1.0, 0.0)
    assert list(buckets.each) == ["c", "a", "d"]


@pytest.mark.parametrize(
    ("host", "stands_for"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::"),
        ("2001:db8:0:0:ffff::1", "2001:db8::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::"),
        ("a:b:no", "a:b:no"),
        ("testclient", "testclient"),
    ],
)
def test_an_address_stands_for_whoever_has_it(host, stands_for):
    assert neighbourhood(host) == stands_for


@pytest.mark.parametrize("name", ["max_points", "max_body", "rate", "overall_rate", "online_rate", "concurrency"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_limit_is_a_positive_number(name, value):
    with refused(UsageError, name, value):
        Limits(**{name: value})


@pytest.mark.parametrize("value", [0.5, 60_001])
def test_a_deadline_is_within_reason(value):
    with refused(UsageError, "deadline_ms", value):
        Limits(deadline_ms=value)


def test_an_address_that_asks_too_often_is_told_when_to_come_back(service, folder):
    client = service(folder=folder, limits=Limits(rate=2.0))
    responses = [client.get("/health") for _ in range(6)]
    assert [response.status_code for response in responses[:4]] == [200] * 4
    assert responses[-1].status_code == 429
    assert responses[-1].headers["retry-after"] == "1"
    assert responses[-1].json()["error"]["code"] == "too-many"


class Slow:
    """An oracle that waits to be let go."""

    def __init__(self):
        self.go = threading.Event()

    def describe(self):
        return {"domain": [[0, 1]]}

    def evaluate(self, points):
        assert self.go.wait(30)
        return points[:, 0]


def test_too_many_at_a_time_are_turned_away_and_the_others_answered(service):
    oracle = Slow()
    client = service({"slow": oracle}, limits=Limits(concurrency=2, deadline_ms=1))

    async def crowd():
        asked = [client.http.post("/releases/slow/evaluate", json={"points": [0.5]}) for _ in range(2)]
        waiting = [asyncio.ensure_future(one) for one in asked]
        while client.app.inside < 2:
            await asyncio.sleep(0.001)
        away = await client.http.get("/health")
        oracle.go.set()
        return away, await asyncio.gather(*waiting)

    away, answered = client.wait(crowd())
    assert (away.status_code, away.headers["retry-after"]) == (503, "1")
    assert away.json()["error"]["code"] == "busy"
    assert [response.json() for response in answered] == [{"values": [0.5]}] * 2
    assert client.get("/health").status_code == 200


def test_points_of_online_oracles_are_counted_for_each_address(service):
    oracle = Slow()
    oracle.go.set()
    client = service({"slow": oracle}, limits=Limits(online_rate=10, deadline_ms=1))
    statuses = [client.post("/releases/slow/evaluate", json={"points": [0.5] * 10}).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_a_body_that_does_not_come_is_not_waited_for(folder):
    app = make_app(folder=folder, limits=Limits(body_seconds=0.05))
    sent = []

    async def receive():
        await asyncio.sleep(60)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/releases/mean/evaluate",
        "headers": [(b"content-type", b"application/json")],
        "query_string": b"",
        "client": None,
    }
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
    assert b"too-slow" in sent[1]["body"]


def test_whoever_leaves_before_the_body_is_whole_gets_no_answer(folder):
    app, sent = make_app(folder=folder), []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/releases/mean/evaluate",
        "headers": [(b"content-type", b"application/json")],
        "query_string": b"",
        "client": ("192.0.2.1", 5),
    }
    asyncio.run(app(scope, receive, send))
    assert sent == []
    assert app.inside == 0


def test_a_web_socket_is_closed(folder):
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(make_app(folder=folder)({"type": "websocket"}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]
