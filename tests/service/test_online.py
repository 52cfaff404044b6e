"""Oracles that answer online: in threads, together, at the deadline, and closed at the end."""

from __future__ import annotations

import asyncio
import time

import numpy as np
import pytest

import dpfda
from dpfda.errors import UsageError
from dpfda.service import Answers, Limits, make_app
from dpfda.service.answers import leave_at

DEADLINE = Limits(deadline_ms=400)


class Oracle:
    """Answers a point by its square; each point may take its time or fail."""

    def __init__(self, seconds=0.0, fails=False):
        self.seconds, self.fails, self.asked, self.closed = seconds, fails, [], 0

    def describe(self):
        return {"what": "square", "domain": [[-1.0, 1.0]]}

    def evaluate(self, points):
        self.asked.append(len(points))
        time.sleep(self.seconds)
        if self.fails:
            raise RuntimeError("the private number is 0.123456")
        return points[:, 0] ** 2

    def close(self):
        self.closed += 1


def timed(client, **body):
    started = time.monotonic()
    response = client.post("/releases/square/evaluate", json=body or {"points": [0.5]})
    return time.monotonic() - started, response


def test_an_oracle_is_asked_and_described(service):
    oracle = Oracle()
    assert isinstance(oracle, Answers)
    client = service({"square": oracle}, limits=DEADLINE)
    card = client.get("/releases/square").json()
    assert (card["kind"], card["answers"], card["lower"], card["upper"]) == ("online", "at the deadline", [-1], [1])
    assert timed(client, points=[0.5, -1])[1].json() == {"values": [0.25, 1.0]}
    assert client.get("/releases/square/card").json() == oracle.describe()


@pytest.mark.parametrize("seconds", [0.0, 0.1])
def test_answers_leave_at_the_deadline_whatever_they_took(service, seconds):
    took, response = timed(service({"square": Oracle(seconds)}, limits=DEADLINE))
    assert response.status_code == 200
    assert 0.4 <= took < 0.79


def test_answers_that_took_longer_leave_at_the_next_one(service):
    took, response = timed(service({"square": Oracle(0.45)}, limits=DEADLINE))
    assert response.status_code == 200
    assert 0.8 <= took < 1.19


def test_a_failure_leaves_at_the_deadline_too_and_says_nothing(service):
    took, response = timed(service({"square": Oracle(fails=True)}, limits=DEADLINE))
    assert 0.4 <= took < 0.79
    assert response.status_code == 500
    assert response.json()["error"]["code"] == "failed"
    assert "0.123456" not in response.text


def test_an_answer_of_another_shape_is_a_failure(service):
    oracle = Oracle()
    oracle.evaluate = lambda points: np.zeros(7)
    assert timed(service({"square": oracle}, limits=Limits(deadline_ms=1)))[1].status_code == 500


def test_a_finite_release_answers_at_once(service, kinds):
    client = service({"mean": dpfda.load(kinds / "mean.json")}, limits=Limits(deadline_ms=5000))
    started = time.monotonic()
    assert client.post("/releases/mean/evaluate", json={"points": [0.5]}).status_code == 200
    assert time.monotonic() - started < 4


def test_a_wait_ends_at_a_whole_number_of_deadlines():
    async def ends(late):
        loop = asyncio.get_running_loop()
        arrived = loop.time() - late
        await leave_at(arrived, 0.05)
        return (loop.time() - arrived) / 0.05

    for late, turns in ((0.0, 1), (0.04, 1), (0.06, 2), (0.12, 3)):
        assert turns <= asyncio.run(ends(late)) < turns + 0.9


def crowd(client, count):
    async def ask():
        bodies = ({"points": [index / count]} for index in range(count))
        return await asyncio.gather(*(client.http.post("/releases/square/evaluate", json=body) for body in bodies))

    return client.wait(ask())


def test_those_who_wait_are_asked_together_and_each_gets_its_own(service):
    oracle = Oracle(0.05)
    client = service({"square": oracle}, limits=Limits(deadline_ms=1))
    responses = crowd(client, 40)
    assert [response.json()["values"] for response in responses] == [[(index / 40) ** 2] for index in range(40)]
    assert sum(oracle.asked) == 40
    assert len(oracle.asked) <= 5


def test_no_more_points_are_asked_together_than_in_one_request(service):
    oracle = Oracle(0.02)
    assert len(crowd(service({"square": oracle}, limits=Limits(deadline_ms=1, max_points=8)), 40)) == 40
    assert max(oracle.asked) <= 8


def test_where_one_fails_the_others_are_answered(service):
    oracle = Oracle(0.02)

    def evaluate(points):
        time.sleep(0.02)
        if (points[:, 0] == 0.5).any():
            raise RuntimeError
        return points[:, 0] ** 2

    oracle.evaluate = evaluate
    responses = crowd(service({"square": oracle}, limits=Limits(deadline_ms=1)), 10)
    assert [response.status_code for response in responses] == [200] * 5 + [500] + [200] * 4


def test_a_slow_oracle_does_not_stop_the_others(service):
    client = service({"square": Oracle(1.0)}, limits=Limits(deadline_ms=1))

    async def meanwhile():
        slow = asyncio.ensure_future(client.http.post("/releases/square/evaluate", json={"points": [0.5]}))
        await asyncio.sleep(0.05)
        started = time.monotonic()
        await client.http.get("/health")
        took = time.monotonic() - started
        return took, (await slow).status_code

    took, status = client.wait(meanwhile())
    assert took < 0.6
    assert status == 200


def test_an_oracle_by_its_certificate_is_served_too(service, kinds):
    class Certified:
        certificate = dpfda.load(kinds / "mean.json").certificate

        def __call__(self, points):
            return np.asarray(points)[:, 0] / 2

    client = service({"half": Certified()}, limits=Limits(deadline_ms=1))
    assert client.post("/releases/half/evaluate", json={"points": [0.5]}).json() == {"values": [0.25]}
    assert client.get("/releases/half").json()["epsilon"] == 2.0
    assert client.get("/releases/half/card").text == Certified.certificate.text() + "\n"


@pytest.mark.parametrize("domain", [None, 5, [[0]], [["a", "b"]]], ids=str)
def test_a_card_without_a_domain_is_refused(domain):
    oracle = Oracle()
    oracle.describe = lambda: {} if domain is None else {"domain": domain}
    with pytest.raises(UsageError, match="The card of an oracle needs the entry domain"):
        make_app({"square": oracle})


def test_a_card_that_is_no_json_is_refused():
    oracle = Oracle()
    oracle.describe = lambda: {"domain": [[0, 1]], "n": float("nan")}
    with pytest.raises(UsageError, match="The card is no JSON"):
        make_app({"square": oracle})


def test_oracles_are_closed_when_the_service_ends():
    oracle, messages, sent = Oracle(), [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}], []

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message["type"])

    asyncio.run(make_app({"square": oracle})({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert oracle.closed == 1


def test_an_oracle_that_is_withdrawn_is_closed(service, owner):
    oracle = Oracle()
    client = service({"square": oracle}, token="a-token-of-the-owner-2026", limits=Limits(deadline_ms=1))
    assert timed(client)[1].status_code == 200
    assert client.delete("/releases/square", headers=owner).status_code == 204
    assert oracle.closed == 1
    assert timed(client)[1].status_code == 404
