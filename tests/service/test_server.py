"""The service as a process: what it prints, how it stops, and what rude clients get."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest
from click.testing import CliRunner

from dpfda.cli import serve as serve_command
from dpfda.cli.serve import read_token, serve
from dpfda.errors import DataError, MissingExtra, UsageError
from dpfda.service import app, server

COMMAND = [sys.executable, "-c", "from dpfda.cli.serve import serve; serve(prog_name='dpfda serve')"]
TOKEN = "a-token-of-the-owner-2026"


class Process:
    """`dpfda serve` in a process of its own."""

    def __init__(self, folder, *options):
        self.process = subprocess.Popen(
            [*COMMAND, str(folder), "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "DPFDA_TOKEN": TOKEN},
        )
        self.line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", self.line)
        assert found, self.line + self.process.stderr.read()
        self.port = int(found[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self, sign=signal.SIGTERM):
        self.process.send_signal(sign)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture
def running(folder):
    started = []

    def start(*options):
        started.append(Process(folder, *options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


def exchange(port, sent, *, wait=20.0):
    """Raw bytes to the service, and all it answers until it closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as connection:
        connection.sendall(sent)
        got = b""
        while piece := connection.recv(65536):
            got += piece
    return got


def body_of(answer):
    return json.loads(answer.partition(b"\r\n\r\n")[2])


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_is_answers_and_stops_at_a_signal(running, sign):
    service = running()
    assert service.line == f"Serving 6 releases at http://127.0.0.1:{service.port}/ (Ctrl-C stops it)\n"
    response = httpx.post(f"{service.url}/releases/mean/evaluate", json={"points": [0.5]})
    assert len(response.json()["values"]) == 1
    assert "server" not in response.headers
    assert service.stop(sign)[:2] == (0, "Stopped.\n")


def test_the_log_says_address_and_status_and_nothing_that_was_asked(running):
    service = running()
    with httpx.Client(base_url=service.url) as client:
        client.post("/releases/mean/evaluate", json={"points": [0.123456789]})
        client.post("/releases/mean/evaluate", json={"points": [77.5]})
        client.get("/releases/secret-name?query=secret", headers={"Authorization": "Bearer secret-token"})
        client.get("/secret-path")
        client.delete("/releases/mean", headers={"Authorization": f"Bearer {TOKEN}"})
        client.request("SECRET", "/health")
    code, _, err = service.stop()
    lines = [line.split(" ", 2)[2] for line in err.splitlines()]
    assert lines == [
        "POST /releases/{id}/evaluate 200",
        "POST /releases/{id}/evaluate 409",
        "GET /releases/{id} 404",
        "GET - 404",
        "DELETE /releases/{id} 204",
    ]
    assert code == 0


def test_a_quiet_service_logs_nothing(running):
    service = running("--quiet")
    httpx.get(f"{service.url}/health")
    assert service.stop() == (0, "Stopped.\n", "")


def test_files_that_are_not_served_are_named_at_the_start(running, folder):
    (folder / "broken.json").write_text("{")
    service = running("--quiet")
    note = "Note: broken.json is not served: it is no private release, damaged, or its name is no id.\n"
    assert service.stop() == (0, "Stopped.\n", note)


def test_the_owner_is_known_by_the_environment_or_a_file(running, tmp_path):
    (tmp_path / "token").write_text("another-token-in-a-file\n")
    for options, token in (((), TOKEN), (("--token-file", str(tmp_path / "token")), "another-token-in-a-file")):
        service = running(*options)
        assert httpx.post(f"{service.url}/reload", headers={"Authorization": "Bearer no"}).status_code == 401
        assert httpx.post(f"{service.url}/reload", headers={"Authorization": f"Bearer {token}"}).status_code == 200
        service.stop()


class Load(asyncio.Protocol):
    """A connection that asks again as soon as it is answered, and remembers how it ended."""

    REQUEST = (
        b"POST /releases/mean/evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b'Content-Length: 17\r\n\r\n{"points": [0.5]}'
    )

    def __init__(self):
        self.answered, self.buffer, self.waiting, self.told = 0, b"", False, False
        self.ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self.transport = transport
        self.ask()

    def ask(self):
        self.waiting = True
        self.transport.write(self.REQUEST)

    def data_received(self, data):
        self.buffer += data
        head, _, body = self.buffer.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        if length is None or len(body) < int(length[1]):
            return
        assert head.startswith(b"HTTP/1.1 200"), head
        assert len(json.loads(body)["values"]) == 1
        self.answered, self.buffer, self.waiting = self.answered + 1, b"", False
        self.told = b"connection: close" in head
        if not self.told:
            self.ask()

    def connection_lost(self, exc):
        self.ended.set_result((self.buffer, self.waiting, self.told, exc))


def test_a_stop_under_load_breaks_no_answer(running):
    """Every connection ends with a whole answer that said it would be the last, and none waits in vain."""
    service = running("--quiet")

    async def load():
        loop = asyncio.get_running_loop()
        clients = [(await loop.create_connection(Load, "127.0.0.1", service.port))[1] for _ in range(16)]
        await asyncio.sleep(0.7)
        service.process.terminate()
        ends = await asyncio.wait_for(asyncio.gather(*(client.ended for client in clients)), 30)
        return sum(client.answered for client in clients), ends

    answered, ends = asyncio.run(load())
    assert answered > 50
    assert ends == [(b"", False, True, None)] * 16
    assert service.process.wait(timeout=30) == 0


def test_a_second_signal_does_not_wait_for_idle_connections(running):
    service = running("--quiet")
    with socket.create_connection(("127.0.0.1", service.port)):
        started = time.monotonic()
        service.process.terminate()
        time.sleep(0.05)
        assert service.stop()[0] == 0
    assert time.monotonic() - started < 10


@pytest.fixture
def inside(folder, monkeypatch):
    """The service in a thread of this process, so that a test may change how patient it is."""
    stops = []

    def start(**patience):
        for name, value in patience.items():
            monkeypatch.setattr(server, name, value)
        listener = server.listen("127.0.0.1", 0)
        application = app.make_app(folder=folder)
        made = []
        real = server.Server

        def remembered(*arguments):
            made.append(real(*arguments))
            return made[-1]

        monkeypatch.setattr(server, "Server", remembered)
        thread = threading.Thread(target=server.serve, args=(application, listener), kwargs={"ready": lambda: None})
        thread.start()
        while not (made and made[0].started):
            time.sleep(0.01)
        stops.append((made[0], thread))
        return listener.getsockname()[1]

    yield start
    for one, thread in stops:
        one.handle_exit(signal.SIGTERM, None)
        thread.join(timeout=30)
        assert not thread.is_alive()


@pytest.mark.parametrize("library", ["httptools", "h11"])
def test_rude_clients_get_the_one_form_of_error_with_either_parser(inside, monkeypatch, library):
    if library == "h11":
        monkeypatch.setitem(sys.modules, "uvicorn.protocols.http.httptools_impl", None)
    port = inside(HEADER_SECONDS=0.3)
    answer = exchange(port, b"this is no HTTP\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert body_of(answer)["error"]["code"] == "bad-request"
    # Headers that never end are given up, with or without a word before.
    for sent in (b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Odd: "):
        started = time.monotonic()
        assert exchange(port, sent) == b""
        assert 0.2 < time.monotonic() - started < 15
    assert httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200


def test_headers_without_end_are_refused(inside):
    port = inside()
    got = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        for number in range(33):  # the last one is one too many, and nothing is on its way when the answer comes
            connection.sendall(f"X-Odd-{number}: ".encode() + b"a" * 1984 + b"\r\n")
            time.sleep(0.02)
        while piece := connection.recv(65536):
            got += piece
    assert got.startswith(b"HTTP/1.1 431 ")
    assert body_of(got)["error"]["code"] == "headers-too-large"


def test_more_connections_than_the_service_takes_are_turned_away(inside):
    port = inside(CONNECTIONS=2)
    kept = [socket.create_connection(("127.0.0.1", port)) for _ in range(2)]
    time.sleep(0.2)
    answer = exchange(port, b"")
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"Retry-After: 1\r\n" in answer
    assert body_of(answer)["error"]["code"] == "busy"
    for connection in kept:
        connection.close()


def test_connections_leave_room_for_files(monkeypatch):
    import resource

    for soft, most in ((1024, 960), (10**6, 4096), (-1, 4096), (20, 16)):
        monkeypatch.setattr(resource, "getrlimit", lambda which, soft=soft: (soft, soft))
        assert server.room() == most
    monkeypatch.setitem(sys.modules, "resource", None)
    assert server.room() == 4096


def test_a_connection_serves_many_requests_and_a_pause_between_them(inside):
    port = inside(HEADER_SECONDS=0.3)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        for pause in (0.0, 0.0, 0.6, 0.0):
            time.sleep(pause)
            assert client.get("/health").status_code == 200


def test_an_address_that_cannot_be_listened_at_is_said(folder):
    with server.listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(serve, [str(folder), "--port", str(port)])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith(f"Cannot listen at 127.0.0.1 port {port}: it is in use, not allowed or")
    with pytest.raises(UsageError, match="Cannot listen at no address port 1"):
        server.listen("no address", 1)


def test_a_folder_that_is_not_there_is_said(tmp_path):
    result = CliRunner().invoke(serve, [str(tmp_path / "none")])
    assert isinstance(result.exception, DataError)
    assert str(result.exception).endswith("Name the folder that holds the release files.")


def test_libraries_that_are_missing_are_named_with_the_line_that_gets_them(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(serve, [str(folder)])
    assert isinstance(result.exception, MissingExtra)
    assert str(result.exception) == "The service needs starlette and uvicorn: pip install 'dpfda[serve]'."


def test_the_command_loads_no_server_before_it_is_needed():
    code = "import sys, dpfda.cli.serve, dpfda.service; print({'starlette', 'uvicorn'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_a_token_comes_from_a_file_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv(serve_command.TOKEN, "from-the-environment")
    (tmp_path / "token").write_text("  from-a-file\n")
    assert read_token(None) == "from-the-environment"
    assert read_token(tmp_path / "token") == "from-a-file"
    monkeypatch.delenv(serve_command.TOKEN)
    assert read_token(None) is None
    (tmp_path / "odd").write_bytes(b"\xff\xfe")
    for name in ("none", "odd"):
        with pytest.raises(
            UsageError, match=r"Cannot read the token in '.*'\. Name a text file that holds nothing else"
        ):
            read_token(tmp_path / name)
    with pytest.raises(UsageError):
        read_token(type(tmp_path)("/dev/zero"))


def test_the_options_of_the_command_have_the_defaults_of_the_service():
    from dpfda.service import Limits

    defaults, limits = {option.name: option.default for option in serve.params}, Limits()
    names = ("deadline_ms", "max_points", "max_body", "rate", "overall_rate", "online_rate", "concurrency")
    assert {name: defaults[name] for name in names} == {name: getattr(limits, name) for name in names}


OVER = 3_000_000  # bytes: more than a socket holds unread
HEAD = "POST /releases/mean/evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def stated(connection: socket.socket) -> None:
    connection.sendall(f"{HEAD}Content-Length: {OVER}\r\n\r\n".encode() + b" " * OVER)


def in_chunks(connection: socket.socket) -> None:
    connection.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
    for _ in range(OVER // 10_000):
        connection.sendall(b"2710\r\n" + b" " * 10_000 + b"\r\n")
    connection.sendall(b"0\r\n\r\n")


def announced(connection: socket.socket) -> None:
    connection.sendall(f"{HEAD}Content-Length: {OVER}\r\n\r\n{{".encode())


@pytest.mark.parametrize("send", [stated, in_chunks, announced])
def test_whoever_sends_too_much_hears_it_even_if_all_is_sent_before_anything_is_read(running, send):
    with socket.create_connection(("127.0.0.1", running().port), timeout=60) as connection:
        send(connection)
        with http.client.HTTPResponse(connection) as response:
            response.begin()
            assert response.status == 413
            assert response.getheader("connection") == "close"
            assert json.loads(response.read())["error"]["code"] == "too-large"


def test_a_connection_stays_usable_after_refusals_of_small_requests(running):
    with httpx.Client(base_url=running().url) as client:
        for _ in range(3):
            response = client.post("/releases/no-such/evaluate", json={"points": [0.5]})
            assert response.status_code == 404
        assert client.get("/health").status_code == 200


def test_a_foreign_host_name_is_refused_unless_it_is_stated(running):
    service = running("--host-name", "functions.example.org")
    for name, status in (("evil.example", 421), ("functions.example.org", 200), (f"127.0.0.1:{service.port}", 200)):
        assert httpx.get(f"{service.url}/health", headers={"Host": name}).status_code == status
