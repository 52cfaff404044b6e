"""Under which host names the service answers."""

from __future__ import annotations

import pytest
from refusals import refused

from dpfda.errors import UsageError
from dpfda.service.limits import Hosts


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "[::1]:8000", "192.0.2.7", "localhost."])
def test_its_own_names_and_numeric_addresses_are_answered(client, host):
    assert client.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:x", ""]
)
def test_another_name_is_refused(client, host):
    response = client.get("/health", headers={"Host": host})
    assert response.status_code == 421
    assert response.json()["error"]["code"] == "wrong-host"


def test_a_stated_name_is_answered(service, folder):
    client = service(folder=folder, hosts=["functions.example.org"])
    assert client.get("/health", headers={"Host": "Functions.Example.org:443"}).status_code == 200
    assert client.get("/health", headers={"Host": "example.org"}).status_code == 421


def test_two_names_in_one_request_are_refused():
    assert not Hosts.of([]).allow([(b"host", b"localhost"), (b"host", b"localhost")])


@pytest.mark.parametrize("name", ["http://x", "x:80", "a b", "", "-x", None, "a" * 300])
def test_a_host_name_has_no_scheme_and_no_port(name):
    with refused(UsageError, "names", name):
        Hosts.of([name])
