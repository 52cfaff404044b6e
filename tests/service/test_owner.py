"""The owner's actions: who may, what is refused, and that nothing is half done."""

from __future__ import annotations

import json

import pytest
from refusals import refused

import dpfda
from dpfda.errors import DataError, UsageError
from dpfda.releases.documents import with_digest
from dpfda.service import make_app
from dpfda.service.served import ServedReleases

ACTIONS = [("POST", "/releases?id=new"), ("DELETE", "/releases/mean"), ("POST", "/reload")]


def publish(client, owner, name, content):
    headers = {**owner, "Content-Type": "application/json"}
    return client.post("/releases", params={"id": name}, content=content, headers=headers)


@pytest.mark.parametrize(("method", "path"), ACTIONS)
@pytest.mark.parametrize(
    "said",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic a-token-of-the-owner-2026",
        "a-token-of-the-owner-2026",
        "Bearer a-token-of-the-owner-202",
        "Bearer a-token-of-the-owner-20266",
        "Bearer A-TOKEN-OF-THE-OWNER-2026",
    ],
)
def test_nobody_but_the_owner_changes_what_is_served(client, folder, method, path, said):
    before = sorted(file.name for file in folder.iterdir())
    response = client.request(method, path, headers={"Authorization": said} if said else {})
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["error"]["code"] == "token-needed"
    assert sorted(file.name for file in folder.iterdir()) == before


@pytest.mark.parametrize(("method", "path"), ACTIONS)
def test_without_a_token_there_is_no_owner(service, folder, owner, method, path):
    client = service(folder=folder)
    for headers in (owner, {"Authorization": "Bearer "}, {"Authorization": "Bearer None"}):
        response = client.request(method, path, headers=headers)
        assert response.status_code == 403
        assert response.json()["error"]["code"] == "no-owner"
    assert client.request(method, path).status_code == 401


@pytest.mark.parametrize("token", ["", "short", "with a space in it", "nicht-für-alle-Leute"])
def test_a_token_that_can_be_guessed_or_not_sent_is_refused(token):
    with refused(UsageError, "token"):
        make_app(token=token)


def test_what_is_published_is_served_from_then_on(client, service, folder, owner, tmp_path):
    content = (folder / "mean.json").read_bytes()
    response = publish(client, owner, "mean-2026.v2", content)
    assert response.status_code == 201
    assert response.headers["location"] == "/releases/mean-2026.v2"
    assert response.json()["id"] == "mean-2026.v2"
    assert client.get(response.headers["location"]).content == response.content
    asked = {"points": [0.5]}
    values = client.post("/releases/mean-2026.v2/evaluate", json=asked).json()
    assert values == client.post("/releases/mean/evaluate", json=asked).json()
    assert (folder / "mean-2026.v2.json").read_bytes() == content
    # And by the next service too.
    assert service(folder=folder).get("/releases/mean-2026.v2").status_code == 200
    assert not list(folder.glob("*.part"))


def test_an_id_that_is_served_is_not_published_again(client, folder, owner):
    before = (folder / "mean.json").read_bytes()
    response = publish(client, owner, "mean", (folder / "covariance.json").read_bytes())
    assert (response.status_code, response.json()["error"]["code"]) == (409, "id-taken")
    assert (folder / "mean.json").read_bytes() == before


def test_a_file_that_is_there_but_not_served_is_not_written_over(client, folder, owner):
    (folder / "broken.json").write_text("{")
    response = publish(client, owner, "broken", (folder / "mean.json").read_bytes())
    assert (response.status_code, response.json()["error"]["code"]) == (409, "id-taken")
    assert (folder / "broken.json").read_text() == "{"


@pytest.mark.parametrize("name", ["", "../mean", "a/b", "a b", ".hidden", "x" * 101, "é"])
def test_an_id_that_is_none_is_refused(client, folder, owner, name):
    before = sorted(file.name for file in folder.parent.rglob("*"))
    response = publish(client, owner, name, (folder / "mean.json").read_bytes())
    assert (response.status_code, response.json()["error"]["code"]) == (422, "bad-id")
    assert sorted(file.name for file in folder.parent.rglob("*")) == before


@pytest.mark.parametrize("query", ["/releases", "/releases?id=a&id=b", "/releases?name=a"])
def test_an_id_is_said_once(client, folder, owner, query):
    headers = {**owner, "Content-Type": "application/json"}
    response = client.post(query, content=(folder / "mean.json").read_bytes(), headers=headers)
    assert (response.status_code, response.json()["error"]["code"]) == (422, "bad-id")


def changed(folder, **changes):
    data = json.loads((folder / "mean.json").read_text())
    for path, value in changes.items():
        *parents, last = path.split("__")
        part = data
        for parent in parents:
            part = part[parent]
        part[last] = value
    del data["digest"]
    return with_digest(json.dumps(data)).encode()


UNFIT = {
    "another format": {"format": "dpfda-release-9"},
    "an unknown kind": {"kind": "spell"},
    "a kind that is no text": {"kind": ["mean"]},
    "an unknown basis": {"basis": {"family": "spells"}},
    "too few coordinates": {"noisy": [0.5]},
    "an empty card": {"certificate": {}},
    "seeded": {"certificate__randomness": "seeded with 1"},
    "a card that is no JSON again": {"certificate__noise_rms": 10**400},
}


def test_a_release_that_was_edited_is_not_published(client, folder, owner):
    content = (folder / "mean.json").read_bytes()
    assert b'"n_is_noisy": false' in content
    response = publish(client, owner, "new", content.replace(b'"n_is_noisy": false', b'"n_is_noisy": true'))
    assert (response.status_code, response.json()["error"]["code"]) == (409, "cannot-publish")
    assert client.get("/releases/new").status_code == 404


@pytest.mark.parametrize("case", UNFIT)
def test_what_cannot_be_served_is_not_published(client, folder, owner, case):
    before = sorted(file.name for file in folder.iterdir())
    response = publish(client, owner, "new", changed(folder, **UNFIT[case]))
    assert (response.status_code, response.json()["error"]["code"]) == (409, "cannot-publish")
    assert sorted(file.name for file in folder.iterdir()) == before
    assert client.get("/releases/new").status_code == 404


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"{", 400, "bad-json"),
        (b'{"format": NaN}', 400, "bad-json"),
        (b"[]", 422, "bad-release"),
        (b'{"format": "dpfda-release-1"}', 422, "bad-release"),
        (b'{"format": 1, "certificate": {}, "basis": {}}', 422, "bad-release"),
        (b'{"format": "dpfda-release-1", "certificate": [], "basis": {}}', 422, "bad-release"),
    ],
)
def test_what_is_no_release_at_all_is_refused(client, folder, owner, content, status, code):
    response = publish(client, owner, "new", content)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert not (folder / "new.json").exists()


def test_a_release_that_is_withdrawn_is_served_no_more_and_kept(client, folder, owner):
    content = (folder / "mean.json").read_bytes()
    response = client.delete("/releases/mean", headers=owner)
    assert (response.status_code, response.content) == (204, b"")
    assert client.get("/releases/mean").status_code == 404
    assert client.post("/releases/mean/evaluate", json={"points": [0.5]}).status_code == 404
    assert client.delete("/releases/mean", headers=owner).status_code == 404
    assert not (folder / "mean.json").exists()
    assert (folder / "mean.json.withdrawn").read_bytes() == content
    client.post("/reload", headers=owner)
    assert client.get("/releases/mean").status_code == 404


def test_withdrawing_again_loses_nothing(client, folder, owner):
    mean, covariance = (folder / "mean.json").read_bytes(), (folder / "covariance.json").read_bytes()
    for content in (None, mean, covariance):
        if content is not None:
            assert publish(client, owner, "mean", content).status_code == 201
        assert client.delete("/releases/mean", headers=owner).status_code == 204
    assert (folder / "mean.json.withdrawn").read_bytes() == mean
    assert (folder / "mean.json.withdrawn-2").read_bytes() == covariance
    assert not (folder / "mean.json.withdrawn-3").exists()


def test_a_file_that_went_by_itself_can_be_withdrawn(client, folder, owner):
    (folder / "mean.json").unlink()
    assert client.delete("/releases/mean", headers=owner).status_code == 204
    assert client.get("/releases/mean").status_code == 404


def test_reloading_sees_what_came_went_and_changed(client, folder, owner):
    values = client.post("/releases/mean/evaluate", json={"points": [0.5]}).json()
    (folder / "more.json").write_bytes((folder / "mean.json").read_bytes())
    (folder / "covariance.json").unlink()
    (folder / "mean.json").write_bytes(changed(folder, noisy=[0.0] * len(json.loads(changed(folder))["noisy"])))
    (folder / "bad.json").write_text("no")
    assert client.get("/releases/more").status_code == 404  # not before the owner says so
    said = client.post("/reload", headers=owner).json()
    assert [entry["id"] for entry in said["releases"]] == [
        "components",
        "density",
        "mean",
        "more",
        "regression",
        "surface",
    ]
    assert said["refused"] == ["bad.json"]
    assert client.post("/releases/more/evaluate", json={"points": [0.5]}).json() == values
    assert client.post("/releases/mean/evaluate", json={"points": [0.5]}).json() == {"values": [0.0]}


def test_a_file_that_has_not_changed_is_not_read_again(folder, monkeypatch):
    served = ServedReleases({}, folder)
    before = {entry.id: entry for entry in served}
    served.reload()
    assert {entry.id: entry for entry in served} == before


def test_a_service_without_a_folder_publishes_nothing(service, kinds, owner):
    client = service({"mean": dpfda.load(kinds / "mean.json")}, token="a-token-of-the-owner-2026")
    response = publish(client, owner, "new", (kinds / "mean.json").read_bytes())
    assert (response.status_code, response.json()["error"]["code"]) == (409, "no-folder")
    assert client.post("/reload", headers=owner).json()["error"]["code"] == "no-folder"
    assert client.delete("/releases/mean", headers=owner).status_code == 204
    assert client.get("/releases").json() == {"releases": []}


def test_an_oracle_stands_before_a_file_of_its_id(service, folder, kinds):
    client = service({"mean": dpfda.load(kinds / "covariance.json")}, folder=folder)
    assert client.get("/releases/mean").json()["kind"] == "covariance"
    assert client.app.endpoints.served.refused == ("mean.json",)


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"No folder '.*nowhere'\. Name the folder that holds the release files\."):
        make_app(folder=tmp_path / "nowhere")


def test_a_write_that_fails_leaves_nothing_and_says_nothing(client, folder, owner, monkeypatch):
    import os

    def full(handle):
        raise OSError(28, "No space left on device")

    content = (folder / "mean.json").read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    response = publish(client, owner, "new", content)
    monkeypatch.undo()
    assert response.status_code == 500
    assert "space" not in response.text
    assert not list(folder.glob("new*"))
    assert client.get("/releases/new").status_code == 404
