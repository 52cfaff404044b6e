"""What everybody may read: the list, cards, files, the page; and what addresses and methods there are."""

from __future__ import annotations

import json

import pytest

import dpfda
from dpfda.releases.documents import with_digest

KINDS = ("components", "covariance", "density", "mean", "regression", "surface")


def test_every_file_in_the_folder_is_listed_under_its_stem(client):
    listed = client.get("/releases").json()["releases"]
    assert [entry["id"] for entry in listed] == list(KINDS)
    assert [entry["kind"] for entry in listed] == ["components", "covariance", "density", "mean", "regression", "mean"]
    for entry in listed:
        for link in entry["links"].values():
            assert client.request("POST" if link.endswith("evaluate") else "GET", link).status_code in (200, 415)


@pytest.mark.parametrize("name", KINDS)
def test_a_card_is_the_certificate_and_says_how_to_ask(client, folder, name):
    release = dpfda.load(folder / f"{name}.json")
    card = client.get(f"/releases/{name}").json()
    fields = release.certificate.to_dict() | {"what": str(release.certificate.what)}
    assert fields == {key: card[key] for key in fields}
    assert card["id"] == name
    sides = release.certificate.domain * (2 if name == "covariance" else 1)
    assert card["coordinates"] == len(sides)
    assert list(zip(card["lower"], card["upper"], strict=True)) == list(sides)
    assert card["answers"] == "at once"


def test_a_card_is_text_for_those_who_ask_for_text(client, folder):
    text = dpfda.load(folder / "mean.json").certificate.text() + "\n"
    assert client.get("/releases/mean/card").text == text
    response = client.get("/releases/mean", headers={"Accept": "text/plain, */*;q=0.1"})
    assert response.text == text
    assert response.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("accept", ["", "*/*", "application/json", "application/*, text/plain", "text/html"])
def test_a_card_is_json_for_all_others(client, accept):
    assert client.get("/releases/mean", headers={"Accept": accept}).json()["id"] == "mean"


def test_components_come_with_their_variances_as_the_command_shows_them(client, folder):
    release = dpfda.load(folder / "components.json")
    assert client.get("/releases/components").json()["explained_variance"] == release.variances.tolist()


def test_a_file_can_be_taken_home(client, folder, tmp_path):
    response = client.get("/releases/mean/file")
    assert response.content == (folder / "mean.json").read_bytes()
    assert response.headers["content-disposition"] == 'attachment; filename="mean.json"'
    (tmp_path / "home.json").write_bytes(response.content)
    assert dpfda.load(tmp_path / "home.json")(0.5) == dpfda.load(folder / "mean.json")(0.5)


def test_what_stands_in_a_file_beside_its_release_does_not_leave(service, folder):
    data = json.loads((folder / "mean.json").read_text())
    (folder / "mean.json").write_text(
        with_digest(json.dumps({name: data[name] for name in data if name != "digest"} | {"rows": ["a secret"]}))
    )
    client = service(folder=folder)
    assert client.get("/releases/mean/file").json() == data


def test_a_file_that_is_written_over_is_not_read_again_by_whoever_asks(client, folder):
    before = client.get("/releases/mean/file").content
    (folder / "mean.json").write_text("a secret")
    assert client.get("/releases/mean/file").content == before


def test_the_page_has_every_release_its_card_and_a_form_and_asks_nobody_else(client):
    response = client.get("/")
    page = response.text
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    for name in KINDS:
        assert f'<h2 id="{name}">{name}</h2>' in page
        assert f'<label for="ask-{name}">' in page
        assert f'data-address="/releases/{name}/evaluate"' in page
    assert '<html lang="en">' in page
    assert "Release card: mean function" in page
    assert "http://" not in page
    assert "https://" not in page
    assert "//" not in page.partition("<style>")[0]


def test_the_page_runs_its_own_script_and_no_other(client):
    import base64
    import hashlib
    import re

    response = client.get("/")
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    for tag in ("script", "style"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", response.text, flags=re.DOTALL)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_names_on_the_page_cannot_become_markup(service, kinds):
    class Odd:
        def describe(self):
            return {"domain": [[0, 1]], "what": "<script>alert(1)</script>", "dataset": "\"'><b>"}

        def evaluate(self, points):
            return points[:, 0]

    page = service({"odd": Odd()}).get("/").text
    assert "<script>alert" not in page
    assert "<b>" not in page


def test_a_service_without_releases_says_so(service, tmp_path):
    client = service(folder=tmp_path)
    assert client.get("/releases").json() == {"releases": []}
    assert "Nothing has been released yet" in client.get("/").text
    assert client.get("/openapi.json").json()["openapi"] == "3.1.0"


def test_health_says_how_many_releases_there_are(client):
    assert client.get("/health").json() == {"status": "ok", "releases": 6}


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/releases/", "/releases/none", "/releases/none/card", "/releases/none/file", "/releases/a%2Fb"],
)
def test_what_is_not_there_is_not_found_in_the_one_form(client, path):
    response = client.get(path)
    assert response.status_code == 404
    assert response.json() == {
        "error": {
            "code": "not-found",
            "message": "There is nothing here under this name.",
            "way_out": "GET /releases lists what there is.",
        }
    }


def test_a_path_out_of_the_folder_leads_nowhere(client, folder):
    (folder.parent / "secret.json").write_text("{}")
    for path in ("/releases/..%2Fsecret", "/releases/../secret", "/releases/%2e%2e%2fsecret/file"):
        assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", "GET, HEAD, OPTIONS"),
        ("/releases", "GET, HEAD, OPTIONS, POST"),
        ("/releases/mean", "DELETE, GET, HEAD, OPTIONS"),
        ("/releases/mean/evaluate", "OPTIONS, POST"),
        ("/reload", "OPTIONS, POST"),
    ],
)
def test_methods_are_named_and_others_refused(client, path, allowed):
    for method in ("PUT", "PATCH", "TRACE", "BREW"):
        refused = client.request(method, path)
        assert (refused.status_code, refused.headers["allow"]) == (405, allowed)
        assert refused.json()["error"]["code"] == "wrong-method"
    options = client.request("OPTIONS", path)
    assert (options.status_code, options.headers["allow"], options.content) == (204, allowed, b"")


@pytest.mark.parametrize("path", ["/", "/releases", "/releases/mean", "/health", "/openapi.json", "/nothing"])
def test_head_is_get_without_its_body(client, path):
    head, get = client.head(path), client.get(path)
    assert head.status_code == get.status_code
    assert head.content == b""
    assert head.headers["content-length"] == str(len(get.content))


@pytest.mark.parametrize("path", ["/", "/releases", "/releases/mean/card", "/nothing"])
def test_every_answer_has_the_headers_that_keep_browsers_in_check(client, path):
    headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_what_is_served_is_only_what_may_be(service, folder, caplog):
    """Files that are no release, no private release, or have a name that is no id are left out, and named."""
    (folder / "broken.json").write_text("{")
    (folder / "list.json").write_text("[1]")
    (folder / "odd name.json").write_bytes((folder / "mean.json").read_bytes())
    seeded = json.loads((folder / "mean.json").read_text())
    del seeded["digest"]
    seeded["certificate"]["randomness"] = {"code": "seeded"}
    (folder / "seeded.json").write_text(with_digest(json.dumps(seeded)))
    infinite = json.loads((folder / "mean.json").read_text())
    del infinite["digest"]
    infinite["certificate"]["noise_rms"] = float("inf")
    (folder / "infinite.json").write_text(with_digest(json.dumps(infinite)))
    client = service(folder=folder)
    assert [entry["id"] for entry in client.get("/releases").json()["releases"]] == list(KINDS)
    refused = client.app.endpoints.served.refused
    assert refused == ("broken.json", "infinite.json", "list.json", "odd name.json", "seeded.json")
