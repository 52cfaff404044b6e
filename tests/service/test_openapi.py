"""The OpenAPI document: every address and method is in it, and every answer is as it says."""

from __future__ import annotations

import re

import pytest

from dpfda.service import refusals
from dpfda.service.limits import Limits
from dpfda.service.openapi import ID_PATTERN, document
from dpfda.service.served import ID

DOCUMENT = document(Limits())
OPERATIONS = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]


def resolve(schema):
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


KINDS = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "null": type(None),
}


def fits(value, schema):
    """Whether a value is as a schema says: as much of JSON Schema as the document uses, and no more."""
    schema = resolve(schema)
    known = {"type", "required", "properties", "additionalProperties", "items", "minItems", "maxItems", "pattern"}
    assert set(schema) <= known | {"enum", "const", "minimum", "oneOf", "description", "format"}, schema
    if "oneOf" in schema:
        return [fits(value, form) for form in schema["oneOf"]].count(True) == 1
    if "const" in schema or "enum" in schema:
        return value in schema.get("enum", [schema.get("const")])
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if isinstance(value, bool) or not isinstance(value, tuple(KINDS[name] for name in names)):  # type: ignore[arg-type]
        return False
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        extra = set(value) - set(properties)
        return (
            set(schema.get("required", ())) <= set(value)
            and not (extra and schema.get("additionalProperties") is False)
            and all(fits(value[name], properties[name]) for name in set(value) & set(properties))
        )
    if isinstance(value, list):
        return schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 10**9) and all(
            fits(item, schema["items"]) for item in value
        )
    if isinstance(value, str):
        return re.search(schema.get("pattern", ""), value) is not None
    return value is None or value >= schema.get("minimum", float("-inf"))


def test_the_checker_of_this_file_tells_good_from_bad():
    request = {"$ref": "#/components/schemas/EvaluateRequest"}
    assert fits({"points": [0.5, 1]}, request)
    assert fits({"points": [[0.5, 1]]}, request)
    for bad in ({"points": []}, {"points": [True]}, {"points": [0.5, [1]]}, {"points": [1], "more": 1}, {}, []):
        assert not fits(bad, request)


def test_every_address_and_method_of_the_service_is_documented(client):
    resources = {route.path: route.endpoint for route in client.app.router.routes}
    served = {(path, method.lower()) for path, resource in resources.items() for method in resource.methods}
    assert {(path, method) for path, method in served if method != "head"} == set(OPERATIONS)


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_operation_says_what_it_does_and_how_it_may_fail(path, method):
    operation = DOCUMENT["paths"][path][method]
    assert operation["summary"].endswith(".")
    assert {"429", "500", "503"} <= set(operation["responses"])
    assert ("401" in operation["responses"]) == bool(operation["security"])
    assert ("404" in operation["responses"]) == ("{id}" in path)
    for status, response in operation["responses"].items():
        if int(status) >= 400:
            media = response["content"]["application/json"]
            assert media["examples"]
            for example in media["examples"].values():
                assert fits(example["value"], media["schema"])


def test_operations_have_names_of_their_own():
    names = [DOCUMENT["paths"][path][method]["operationId"] for path, method in OPERATIONS]
    assert len(set(names)) == len(names)


def test_every_refusal_stands_in_the_document_but_those_of_the_wire():
    documented = {
        code
        for path, method in OPERATIONS
        for response in DOCUMENT["paths"][path][method]["responses"].values()
        for code in response.get("content", {}).get("application/json", {}).get("examples", {})
    }
    of_the_wire = {"bad-request", "wrong-method", "headers-too-large"}
    assert documented == {reason.code for reason in refusals.ALL} - of_the_wire


@pytest.mark.parametrize("reason", refusals.ALL, ids=lambda reason: reason.code)
def test_a_refusal_says_what_happened_and_the_way_out(reason):
    assert 400 <= reason.status < 600
    assert reason.message.endswith(".")
    assert reason.way_out.endswith(".")
    assert len({other.code for other in refusals.ALL}) == len(refusals.ALL)


def test_what_is_read_is_as_the_document_says(client):
    served = client.get("/openapi.json").json()
    for path, method in OPERATIONS:
        if method != "get" or path in ("/", "/openapi.json"):
            continue
        media = served["paths"][path]["get"]["responses"]["200"]["content"]
        for name in ("mean", "covariance", "components", "density", "regression", "surface"):
            response = client.get(path.replace("{id}", name))
            assert response.headers["content-type"].partition(";")[0] in media
            if "application/json" in media:
                assert fits(response.json(), media["application/json"]["schema"]), path


def test_the_example_of_the_document_works_as_it_stands(client):
    operation = client.get("/openapi.json").json()["paths"]["/releases/{id}/evaluate"]["post"]
    (parameter,) = operation["parameters"]
    body = operation["requestBody"]["content"]["application/json"]["example"]
    response = client.post(f"/releases/{parameter['example']}/evaluate", json=body)
    assert response.status_code == 200
    assert fits(response.json(), operation["responses"]["200"]["content"]["application/json"]["schema"])


def test_the_example_of_a_document_fits_releases_of_pairs(service, folder):
    for name in ("components", "density", "mean", "regression", "surface"):
        (folder / f"{name}.json").unlink()
    client = service(folder=folder)
    operation = client.get("/openapi.json").json()["paths"]["/releases/{id}/evaluate"]["post"]
    body = operation["requestBody"]["content"]["application/json"]["example"]
    assert body == {"points": [[0.25, 0.25], [0.75, 0.75]]}
    assert client.post("/releases/covariance/evaluate", json=body).status_code == 200


def test_an_id_is_the_same_in_the_document_and_on_the_disk():
    assert f"^{ID.pattern}$" == ID_PATTERN
