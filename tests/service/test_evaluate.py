"""Values at points: what the command line says of the same release, and every wrong way to ask."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda.errors import UsageError
from dpfda.page.base import Asked, page_of
from dpfda.releases.documents import with_digest
from dpfda.service import Limits, endpoints, make_app

JSON = {"Content-Type": "application/json"}
POINTS = [0.0, 0.125, 0.5, 1.0]


def ask(client, name, points):
    return client.post(f"/releases/{name}/evaluate", json={"points": points})


def table(folder, name, at):
    release = dpfda.load(folder / f"{name}.json")
    return page_of(release).table(release, Asked(at, 0, None, None))


def test_a_mean_has_the_values_that_the_command_prints(client, folder):
    expected = table(folder, "mean", "0,0.125,0.5,1")["value"]
    np.testing.assert_allclose(ask(client, "mean", POINTS).json()["values"], expected, rtol=1e-12)


def test_components_come_side_by_side(client, folder):
    columns = table(folder, "components", "0,0.125,0.5,1")
    names = client.get("/releases/components").json()["names"]
    assert names == ["component_1", "component_2"]
    expected = np.stack([columns[name] for name in names], axis=1)
    np.testing.assert_allclose(ask(client, "components", POINTS).json()["values"], expected, rtol=1e-12)


def test_coefficients_of_a_regression_come_side_by_side_by_name(client, folder):
    columns = table(folder, "regression", "0,0.125,0.5,1")
    names = client.get("/releases/regression").json()["names"]
    assert names == list(dict.fromkeys(columns["coefficient"]))
    expected = np.reshape(columns["value"], (len(names), len(POINTS))).T
    np.testing.assert_allclose(ask(client, "regression", POINTS).json()["values"], expected, rtol=1e-12)


def test_a_covariance_is_asked_by_pairs(client, folder):
    rng = np.random.default_rng(0)
    pairs = rng.uniform(0, 1, (70, 2))  # more than are computed together
    expected = table(folder, "covariance", ",".join(f"{s!r}:{t!r}" for s, t in pairs.tolist()))["value"]
    values = ask(client, "covariance", pairs.tolist()).json()["values"]
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-15)
    assert len(set(values)) == 70


def test_a_function_on_a_box_is_asked_by_rows(client, folder):
    rows = [[0.0, 0.0], [0.5, 3.0], [1.0, 4.0]]
    expected = dpfda.load(folder / "surface.json")(rows)
    np.testing.assert_allclose(ask(client, "surface", rows).json()["values"], expected, rtol=1e-12)


def test_a_density_has_its_values_in_the_units_of_its_domain(client, folder):
    release = dpfda.load(folder / "density.json")
    values = ask(client, "density", [20, 40, 60]).json()["values"]
    np.testing.assert_allclose(values, release([20.0, 40.0, 60.0]), rtol=1e-12)
    assert 0.005 < values[1] < 0.1


def test_points_of_an_interval_may_stand_alone_or_in_rows(client):
    assert ask(client, "mean", [0.25, 1]).json() == ask(client, "mean", [[0.25], [1]]).json()


@pytest.mark.parametrize("count", [1, 31, 32, 33, 1000])
def test_few_points_and_many_get_the_same_values(client, folder, count):
    points = np.linspace(0, 1, count)
    expected = dpfda.load(folder / "mean.json")(points)
    np.testing.assert_allclose(ask(client, "mean", points.tolist()).json()["values"], expected, rtol=1e-9, atol=1e-15)


def test_a_value_that_is_not_finite_is_null(client, monkeypatch):
    monkeypatch.setattr(endpoints, "_quietly", lambda evaluate, points: np.array([np.inf, 0.5, np.nan]))
    assert ask(client, "mean", [0.0, 0.5, 1.0]).json() == {"values": [None, 0.5, None]}


def test_a_file_whose_numbers_cannot_be_computed_with_is_not_served(service, folder):
    data = json.loads((folder / "mean.json").read_text())
    del data["digest"]
    data["noisy"] = [1.7e308] * len(data["noisy"])
    (folder / "huge.json").write_text(with_digest(json.dumps(data)))
    found = service(folder=folder)
    assert ask(found, "huge", [0.0]).status_code == 404
    assert "huge.json" in found.app.endpoints.served.refused


BODIES = {
    "nothing": (b"", 400, "bad-json"),
    "no JSON": (b"points", 400, "bad-json"),
    "half of it": (b'{"points": [0.5', 400, "bad-json"),
    "NaN": (b'{"points": [NaN]}', 400, "bad-json"),
    "Infinity": (b'{"points": [-Infinity]}', 400, "bad-json"),
    "bad UTF-8": (b'{"points": [0.5], "\xff": 1}', 400, "bad-json"),
    "UTF-16": ('{"points": [0.5]}'.encode("utf-16"), 400, "bad-json"),
    "byte order mark": (b'\xef\xbb\xbf{"points": [0.5]}', 400, "bad-json"),
    "a name twice": (b'{"points": [0.5], "points": [0.1]}', 400, "bad-json"),
    "deep nesting": (b'{"points": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, "bad-json"),
    "trailing": (b'{"points": [0.5]} x', 400, "bad-json"),
    "a list": (b"[0.5]", 422, "bad-points"),
    "null": (b"null", 422, "bad-points"),
    "an empty object": (b"{}", 422, "bad-points"),
    "something more": (b'{"points": [0.5], "seed": 1}', 422, "bad-points"),
    "no points": (b'{"points": []}', 422, "bad-points"),
    "one number": (b'{"points": 0.5}', 422, "bad-points"),
    "text": (b'{"points": ["0.5"]}', 422, "bad-points"),
    "true": (b'{"points": [true]}', 422, "bad-points"),
    "null point": (b'{"points": [null]}', 422, "bad-points"),
    "an object": (b'{"points": [{"x": 0.5}]}', 422, "bad-points"),
    "an empty row": (b'{"points": [[]]}', 422, "bad-points"),
    "rows of rows": (b'{"points": [[[0.5]]]}', 422, "bad-points"),
    "numbers and rows": (b'{"points": [0.5, [0.5]]}', 422, "bad-points"),
    "rows and numbers": (b'{"points": [[0.5], 0.5]}', 422, "bad-points"),
    "65 coordinates": (json.dumps({"points": [[0.5] * 65]}).encode(), 422, "bad-points"),
    "1001 points": (json.dumps({"points": [0.5] * 1001}).encode(), 422, "bad-points"),
    "outside": (b'{"points": [0.5, 1.0000001]}', 409, "points-misfit"),
    "below": (b'{"points": [-1e-300]}', 409, "points-misfit"),
    "two coordinates": (b'{"points": [[0.5, 0.5]]}', 409, "points-misfit"),
    "ragged rows": (b'{"points": [[0.5], [0.5, 0.5]]}', 409, "points-misfit"),
    "beyond doubles": (b'{"points": [1e999]}', 409, "points-misfit"),
    "a huge integer": (b'{"points": [1' + b"0" * 5000 + b"]}", 409, "points-misfit"),
}


@pytest.mark.parametrize("case", BODIES)
def test_a_wrong_body_is_refused_in_constant_words(client, case):
    body, status, code = BODIES[case]
    response = client.post("/releases/mean/evaluate", content=body, headers=JSON)
    assert response.status_code == status
    error = response.json()["error"]
    assert error["code"] == code
    assert set(error) == {"code", "message", "way_out"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/jsonp"},
        {**JSON, "Content-Encoding": "gzip"},
    ],
    ids=str,
)
def test_a_body_that_does_not_say_it_is_json_is_refused(client, headers):
    response = client.post("/releases/mean/evaluate", content=b'{"points": [0.5]}', headers=headers)
    assert response.status_code == 415
    assert response.json()["error"]["code"] == "not-json"


def test_json_may_come_with_a_charset(client):
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert client.post("/releases/mean/evaluate", content=b'{"points": [0.5]}', headers=headers).status_code == 200


@pytest.mark.parametrize("more", [1, 100_000, 3_000_000])
def test_a_body_that_is_too_large_is_refused_and_the_connection_closed(client, more):
    response = client.post("/releases/mean/evaluate", content=b" " * (262_144 + more), headers=JSON)
    assert response.status_code == 413
    assert response.json()["error"]["code"] == "too-large"
    assert response.headers["connection"] == "close"


def test_limits_on_points_are_the_service_s(service, folder):
    client = service(folder=folder, limits=Limits(max_points=2))
    assert ask(client, "mean", [0, 1]).status_code == 200
    assert ask(client, "mean", [0, 0.5, 1]).status_code == 422
    request = client.get("/openapi.json").json()["components"]["schemas"]["EvaluateRequest"]
    assert {form["maxItems"] for form in request["properties"]["points"]["oneOf"]} == {2}


def test_what_has_no_card_cannot_be_served():
    with refused(UsageError, "thing"):
        make_app({"one": 1})


@pytest.mark.parametrize("name", ["", "../x", "a b", "-a", "a" * 101, "a/b"])
def test_an_id_that_is_none_is_refused(name):
    with pytest.raises(UsageError, match="An id has 1 to 100 letters"):
        make_app({name: None})


def test_what_a_seeded_source_drew_is_not_served(kinds):
    release = dpfda.load(kinds / "mean.json")
    seeded = replace(release, certificate=replace(release.certificate, randomness="seeded"))
    with pytest.raises(UsageError, match="came from a seeded source: it is not private and is not served"):
        make_app({"mean": seeded})


def test_releases_can_be_served_from_python_without_a_folder(service, kinds):
    release = dpfda.load(kinds / "mean.json")
    client = service({"mean": release})
    assert ask(client, "mean", [0.5]).json()["values"] == release([0.5]).tolist()
    assert client.get("/releases/mean/file").content == (kinds / "mean.json").read_bytes()
