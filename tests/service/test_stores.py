"""Oracles of this package behind the service: live ones with records, and stores that lie in the folder."""

from __future__ import annotations

import asyncio
import sqlite3

import numpy as np
import pytest

import dpfda
from dpfda.bases.domain import as_domain
from dpfda.kernels import Matern
from dpfda.mechanisms import SeededRandomness
from dpfda.online import Facts, Sections, calibrated, open_finite, open_online, open_store
from dpfda.privacy import Budget
from dpfda.service import Limits

KERNEL = Matern(1.5, rho=0.3)
AT_ONCE = Limits(deadline_ms=1)
TOKEN = "a-token-of-the-owner-2026"


def oracle(store=None, **more):
    """A private density on the unit interval, of 400 people."""
    people = np.round(np.random.default_rng(5).uniform(0, 1, 400), 2)
    law = calibrated(
        KERNEL,
        as_domain((0.0, 1.0)),
        sensitivity=np.sqrt(2.0) / 400,
        moved=2 / 400,
        budget=Budget(epsilon=1.0, delta=1e-6),
        answers=more.pop("answers", None),
    )
    facts = Facts(
        what="density",
        dataset="ages",
        unit="person",
        unit_was_assumed=False,
        neighbours="replace-one",
        n=400,
        because="two sections of a kernel without negative values differ by sqrt(2) at most",
    )
    return open_online(Sections.counted(people, 1 / 400, KERNEL), law, store, facts=facts, **more)


def ask(client, name, *points):
    return client.post(f"/releases/{name}/evaluate", json={"points": list(points)})


def test_a_live_oracle_answers_the_same_for_ever(service, tmp_path):
    store = tmp_path / "ages.db"
    client = service({"ages": oracle(store)}, limits=AT_ONCE)
    first = ask(client, "ages", 0.5, 0.25, 0.5).json()["values"]
    assert first[0] == first[2] != first[1]
    assert ask(client, "ages", 0.25).json()["values"] == [first[1]]
    with oracle(store) as again:
        assert again([0.5, 0.25]).tolist() == first[:2]
    card = client.get("/releases/ages").json()
    assert (card["kind"], card["what"], card["epsilon"]) == ("online", "density", 1.0)
    assert (card["answers"], card["lower"], card["upper"]) == ("at the deadline", [0.0], [1.0])
    assert "file" not in card["links"]
    assert "Release card: density of 'ages'" in client.get("/releases/ages/card").text


def test_many_who_ask_a_new_point_at_once_get_one_answer(service, tmp_path):
    client = service({"ages": oracle(tmp_path / "ages.db")}, limits=AT_ONCE)

    async def crowd():
        asked = [client.http.post("/releases/ages/evaluate", json={"points": [0.125]}) for _ in range(50)]
        return await asyncio.gather(*asked)

    assert len({response.content for response in client.wait(crowd())}) == 1


def test_an_answer_is_durable_before_it_leaves(service, tmp_path):
    client = service({"ages": oracle(tmp_path / "ages.db")}, limits=AT_ONCE)
    (said,) = ask(client, "ages", 0.75).json()["values"]
    with open_store(tmp_path / "ages.db") as kept:
        assert kept([0.75]).tolist() == [said]


def test_a_store_in_the_folder_answers_what_was_answered_and_nothing_new(service, tmp_path):
    with oracle(tmp_path / "ages.db") as live:
        values = live([0.25, 0.5]).tolist()
    client = service(folder=tmp_path, limits=AT_ONCE)
    assert [entry["id"] for entry in client.get("/releases").json()["releases"]] == ["ages"]
    assert ask(client, "ages", 0.25, 0.5).json()["values"] == values
    refused = ask(client, "ages", 0.25, 0.3)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "no-answer")
    assert client.get("/releases/ages/file").status_code == 404


def test_answers_that_another_process_adds_are_seen(service, tmp_path):
    with oracle(tmp_path / "ages.db") as live:
        live([0.25])
        client = service(folder=tmp_path, limits=AT_ONCE)
        assert ask(client, "ages", 0.5).status_code == 409
        said = live([0.5]).tolist()
        assert ask(client, "ages", 0.5).json()["values"] == said


def test_no_more_is_answered_than_the_guarantee_covers(service, tmp_path):
    client = service({"ages": oracle(tmp_path / "ages.db", answers=2)}, limits=AT_ONCE)
    said = ask(client, "ages", 0.1, 0.2)
    assert said.status_code == 200
    refused = ask(client, "ages", 0.3)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "no-answer")
    assert ask(client, "ages", 0.1, 0.2).json() == said.json()


def test_a_finite_release_in_a_store_is_the_release(service, kinds, tmp_path):
    release = dpfda.load(kinds / "mean.json")
    open_finite(release, tmp_path / "mean.db").close()
    client = service(folder=tmp_path)
    assert client.get("/releases/mean").json()["answers"] == "at once"
    assert ask(client, "mean", 0.5).json()["values"] == release([0.5]).tolist()


def test_what_is_no_store_is_left_as_it_is(service, folder):
    with sqlite3.connect(folder / "other.db") as connection:
        connection.execute("CREATE TABLE people (name TEXT)")
    connection.close()
    (folder / "text.db").write_text("no database")
    (folder / "empty.db").touch()
    with oracle(folder / "mean.db") as live:  # there is a release file of this id
        live([0.5])
    before = {file.name: file.read_bytes() for file in folder.glob("*.db")}
    client = service(folder=folder)
    assert client.app.endpoints.served.refused == ("empty.db", "mean.db", "other.db", "text.db")
    assert {file.name: file.read_bytes() for file in folder.glob("*.db")} == before
    assert client.get("/releases/mean").json()["kind"] == "mean"


def test_what_a_seeded_oracle_drew_is_not_served(service, tmp_path):
    with oracle(tmp_path / "seeded.db", randomness=SeededRandomness(1)) as live:
        live([0.5])
        with pytest.raises(dpfda.errors.UsageError, match="came from a seeded source"):
            service({"seeded": live})
    assert service(folder=tmp_path).app.endpoints.served.refused == ("seeded.db",)


def test_a_store_that_is_withdrawn_stays_where_it_is(service, tmp_path, owner):
    """Under another name it would be a second release, should some process still write to it."""
    with oracle(tmp_path / "ages.db") as live:
        live([0.5])
    client = service(folder=tmp_path, token=TOKEN, limits=AT_ONCE)
    assert ask(client, "ages", 0.5).status_code == 200
    assert client.delete("/releases/ages", headers=owner).status_code == 204
    assert (tmp_path / "ages.db").exists()
    assert (tmp_path / "ages.db.withdrawn").exists()
    assert client.post("/reload", headers=owner).json() == {"releases": [], "refused": []}
    (tmp_path / "ages.db.withdrawn").unlink()
    assert len(client.post("/reload", headers=owner).json()["releases"]) == 1
    assert ask(client, "ages", 0.5).status_code == 200


def test_reloading_keeps_an_open_store_open(service, tmp_path, owner):
    with oracle(tmp_path / "ages.db") as live:
        live([0.5])
        client = service(folder=tmp_path, token=TOKEN, limits=AT_ONCE)
        before = client.app.endpoints.served.get("ages")
        live([0.25])
        client.post("/reload", headers=owner)
        assert client.app.endpoints.served.get("ages") is before
        assert ask(client, "ages", 0.25).status_code == 200


def test_whoever_waits_while_an_oracle_is_withdrawn_gets_an_answer(service, tmp_path, owner):
    """Every request ends: with values, or with words that there are none any more."""

    class Slow:
        def describe(self):
            return {"domain": [[0, 1]]}

        def evaluate(self, points):
            import time

            time.sleep(0.2)
            return points[:, 0]

    client = service({"slow": Slow()}, token=TOKEN, limits=Limits(deadline_ms=1, max_points=1))

    async def crowd():
        asked = [client.http.post("/releases/slow/evaluate", json={"points": [0.5]}) for _ in range(5)]
        waiting = [asyncio.ensure_future(one) for one in asked]
        await asyncio.sleep(0.1)
        gone = await client.http.delete("/releases/slow", headers=owner)
        return gone.status_code, [(await one).status_code for one in waiting]

    gone, statuses = client.wait(crowd())
    assert gone == 204
    assert statuses[0] == 200
    assert set(statuses) <= {200, 409}
