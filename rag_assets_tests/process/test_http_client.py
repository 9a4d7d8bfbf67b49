"""Requests go as the environment says, and no log shows where they go."""

import logging
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx2
import pytest

from rag_assets.process.http_client import http_client, user_of_host

PLACES_OF_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


class Listening(ThreadingHTTPServer):
    """Takes all requests, to whatever host, as a proxy does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.asked: list[str] = []
        self.users: list[str] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"


class Answering(BaseHTTPRequestHandler):
    """Answers `204 No Content`."""

    server: Listening

    def do_GET(self) -> None:
        """Note what was asked for, and by whom."""
        self.server.asked.append(self.path)
        scheme, _, secret = self.headers.get("Authorization", "").partition(" ")
        self.server.users.append(b64decode(secret).decode() if scheme == "Basic" else scheme)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def listening() -> Iterator[Listening]:
    with Listening() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    for name in PLACES_OF_PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.delenv("NETRC", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def asked(address: str) -> None:
    with http_client() as client:
        client.get(address, auth=user_of_host(address) or httpx2.USE_CLIENT_DEFAULT)


def test_a_proxy_is_gone_through_but_for_the_hosts_that_need_none(monkeypatch):
    with listening() as proxy, listening() as inside:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        asked("http://models.test/v1")
        assert proxy.asked == ["http://models.test/v1"]

        monkeypatch.setenv("NO_PROXY", "127.0.0.0/8")
        asked(f"{inside.url}/v1")
        assert inside.asked == ["/v1"]
        assert len(proxy.asked) == 1


def netrc(home: Path, text: str) -> Path:
    file = home / ".netrc"
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_netrc_names_the_user_of_a_host(tmp_path):
    netrc(tmp_path, "machine 127.0.0.1 login ann password pass-word\n")
    with listening() as server:
        asked(server.url)
        assert server.users == ["ann:pass-word"]
    assert user_of_host("http://other.test/") is None


def test_an_address_that_names_a_user_keeps_it(tmp_path):
    netrc(tmp_path, "default login ann password pass-word\n")
    with listening() as server:
        asked(server.url.replace("//", "//bo:secret@"))
        assert server.users == ["bo:secret"]


def test_netrc_may_lie_elsewhere_and_one_that_cannot_be_read_names_nobody(tmp_path, monkeypatch):
    elsewhere = netrc(tmp_path, "machine models.test login ann password pass-word\n")
    monkeypatch.setenv("NETRC", str(elsewhere.rename(tmp_path / "users")))
    assert user_of_host("https://models.test/v1") == ("ann", "pass-word")

    elsewhere.with_name("users").write_text("machine models.test whoever ann\n")
    assert user_of_host("https://models.test/v1") is None


def test_no_log_shows_an_address(caplog):
    caplog.set_level(logging.DEBUG)
    with listening() as server:
        asked(f"{server.url}/hooks/secret-token")
        assert server.asked == ["/hooks/secret-token"]
    assert "secret-token" not in caplog.text
