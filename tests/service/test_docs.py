"""The guide to the service: its commands and code run as they stand, and its table of limits is true."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from dpfda.cli.serve import serve
from dpfda.service import Limits, refusals

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "service.md").read_text()
TOKEN = "a-token-of-the-owner-2026"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, flags=re.DOTALL)


COMMANDS = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
CURLS = [command for command in COMMANDS if command.startswith("curl ")]


def as_request(command, port, folder):
    """What a curl command of the guide would send."""
    words = shlex.split(command.replace("$(cat token)", TOKEN))[1:]
    method, headers, content, target, url = None, {}, None, None, ""
    while words:
        word = words.pop(0)
        if word == "-H":
            name, _, value = words.pop(0).partition(": ")
            headers[name] = value
        elif word == "-d":
            content, method = words.pop(0).encode(), method or "POST"
        elif word == "--data-binary":
            content, method = (folder / words.pop(0).removeprefix("@")).read_bytes(), method or "POST"
        elif word == "-X":
            method = words.pop(0)
        elif word == "-o":
            target = words.pop(0)
        else:
            assert not word.startswith("-"), word
            url = word.replace(":8000", f":{port}")
    return httpx.Request(method or "GET", url, headers=headers, content=content), target


def test_the_curl_commands_work_one_after_the_other(folder, tmp_path):
    (tmp_path / "new.json").write_bytes((folder / "mean.json").read_bytes())
    command = [sys.executable, "-c", "from dpfda.cli.serve import serve; serve()", str(folder)]
    process = subprocess.Popen(
        [*command, "--port", "0", "--quiet"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "DPFDA_TOKEN": TOKEN},
    )
    try:
        port = re.search(r":(\d+)/", process.stdout.readline())[1]
        assert len(CURLS) == 10
        with httpx.Client() as client:
            for curl in CURLS:
                request, _ = as_request(curl, port, tmp_path)
                response = client.send(request)
                assert response.status_code in (200, 201, 204), f"{curl}: {response.text}"
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("dpfda serve")])
def test_the_options_in_the_guide_exist(command, tmp_path):
    words = shlex.split(command)[2:]
    context = serve.make_context("serve", words, resilient_parsing=False)
    assert context.params["folder"] == Path("releases")


def test_the_python_of_the_guide_makes_a_service(folder, monkeypatch, service):
    monkeypatch.chdir(folder.parent)  # where the folder is called releases
    names = {}
    (code,) = blocks("python")
    exec(code, names)
    listed = [entry.id for entry in names["app"].endpoints.served]
    assert listed == ["ages", "components", "covariance", "density", "mean", "regression", "surface"]
    names["app"].endpoints.close()


def test_every_status_of_an_error_is_in_the_table():
    rows = [line for line in GUIDE.splitlines() if re.match(r"\| \d{3}", line)]
    listed = {int(status) for row in rows for status in re.findall(r"\d{3}", row.split("|")[1])}
    assert listed == {reason.status for reason in refusals.ALL} - {431, 500}


def test_the_table_of_limits_has_the_defaults():
    limits, options = Limits(), {option.opts[0]: option.name for option in serve.params}
    rows = re.findall(r"^\|.*\| ([\d,]+) \| `(--[\w-]+)` \|$", GUIDE, flags=re.MULTILINE)
    assert len(rows) == 6
    for value, option in rows:
        assert float(value.replace(",", "")) == getattr(limits, options[option])


def test_help_names_every_option():
    text = CliRunner().invoke(serve, ["--help"]).output
    for option in re.findall(r"`(--[\w-]+)`", GUIDE):
        assert option in text
