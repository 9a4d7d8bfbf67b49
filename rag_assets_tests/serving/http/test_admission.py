"""Who is let in: keys and their ends, logins on the page, proxies, and wrong keys."""

import json
import logging
import re
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import anyio
import pytest
from mcp import Client
from starlette.testclient import TestClient

from rag_assets import config as configuration
from rag_assets.answering.assistant import AnswerModels
from rag_assets.config import Config
from rag_assets.serving import cli
from rag_assets.serving.callers import CALLER, SCOPES, Caller
from rag_assets.serving.http import admission
from rag_assets.serving.http.admission import MOST_WRONG_KEYS, SESSION
from rag_assets.serving.http.app import app_of
from rag_assets.serving.http.limits import InWork
from rag_assets.serving.http.service import Service
from rag_assets.serving.http.streams import Event
from rag_assets.serving.keys import KeysFile
from rag_assets.serving.mcp.server import server_of

REPOSITORY = Path(__file__).parents[3]
NEEDS_NO_KEY = {
    "GET /healthz",
    "GET /readyz",
    "GET /openapi.json",
    "GET /static/card.css",
    "GET /login",
    "POST /login",
    "POST /logout",
}
"""What tells nothing of the index."""
PROXY = {
    "addresses": ["10.1.0.0/16"],
    "user_header": "X-Forwarded-User",
    "groups_header": "X-Forwarded-Groups",
}
ANYWHERE = "https://search.example.com"


class Served:
    """A server beyond this machine without an index, its keys, and who connects to it."""

    def __init__(self, folder, **settings):
        self.config = Config.model_validate({"state_dir": folder, **settings})
        self.keys = KeysFile(folder)
        self.app = app_of(self.config, AnswerModels(), user="anna", is_loopback=False)

    def client(self, address="192.0.2.7", **headers):
        return TestClient(
            self.app,
            base_url=ANYWHERE,
            client=(address, 50_000),
            headers={name.replace("_", "-"): value for name, value in headers.items()},
            raise_server_exceptions=False,
        )

    def key(self, name="anna", *scopes, groups=(), expires=None):
        return self.keys.create(name, scopes or ["read"], groups, expires)[1]

    def with_key(self, given, **sent):
        return self.client(Authorization=f"Bearer {given}", **sent)

    @property
    def who(self):
        """Who asked last, as the routes know it."""
        return self._seen[-1]

    def watch(self, monkeypatch):
        """Note who is let in."""
        self._seen = []
        found = self.app.state.admission.caller_of

        def noted(asked):
            self._seen.append(found(asked))
            return self._seen[-1]

        monkeypatch.setattr(self.app.state.admission, "caller_of", noted)
        return self


@pytest.fixture
def served(tmp_path, monkeypatch):
    return Served(tmp_path).watch(monkeypatch)


@pytest.fixture
def behind_proxy(tmp_path, monkeypatch):
    return Served(tmp_path, serving={"proxy": PROXY}).watch(monkeypatch)


def routes(app):
    """Method and path of each route, an id in the place of its name."""
    included = (getattr(each, "original_router", None) for each in app.routes)
    inner = (route for router in included if router for route in router.routes)
    for route in (*app.routes, *inner):
        path = re.sub(
            r"\{\w+\}", "00000000-0000-0000-0000-000000000000", getattr(route, "path", "")
        )
        for method in sorted(getattr(route, "methods", None) or ()):
            if method != "HEAD":
                yield method, path


def test_every_route_needs_a_key_and_states_one_scope(served):
    """What is refused without a key, and with one that may do everything but what it needs."""
    found = [*routes(served.app)]
    assert len(found) > 35
    without, by_scope = served.client(), {}
    for scope in SCOPES[:-1]:
        others = [each for each in SCOPES[:-1] if each != scope]
        by_scope[scope] = served.with_key(served.key("anna", *others))
    for method, path in found:
        told = f"{method} {path}"
        if told in NEEDS_NO_KEY:
            assert without.request(method, path, follow_redirects=False).status_code != 403
            continue
        assert without.request(method, path).status_code == 401, told
        if path == "/mcp":  # each tool states its own
            continue
        refused = [
            scope
            for scope, client in by_scope.items()
            if client.request(method, path).status_code == 403
        ]
        assert len(refused) == 1, f"{told} states no scope, or several: {refused}"
        expected = {"feedback": "feedback", "study": "feedback", "label": "label"}.get(
            path.rpartition("/")[2], "read"
        )
        assert refused == [expected], told


def test_why_nothing_is_ready_is_told_to_who_is_known_alone(served):
    clients = served.client(), served.with_key(served.key())
    unknown, known = (client.get("/readyz") for client in clients)
    assert unknown.status_code == known.status_code == 503
    assert "rag-assets refresh" in known.json()["detail"]
    assert "send a key" in unknown.json()["detail"]


def test_little_is_read_of_who_is_not_known(served):
    sent = [b"x" * 100_000] * 20
    assert served.client().post("/v1/verify", content=iter(sent[:1])).status_code == 401
    assert served.client().post("/v1/verify", content=iter(sent)).status_code == 401
    assert served.with_key(served.key()).post("/v1/verify", content=iter(sent)).status_code == 413


@pytest.mark.parametrize("path", ["/metrics", "/v1/feedback", "/label", "/", "/search"])
def test_an_admin_may_do_everything(served, path):
    client = served.with_key(served.key("root", "admin"))
    assert client.get(path).status_code not in (401, 403)


def test_a_key_says_who_asks_and_a_refusal_says_what_to_do(served, tmp_path):
    given = served.key("anna", "read", groups=["laboratory"])
    assert served.with_key(given).get("/metrics").status_code == 200
    assert (served.who.name, served.who.groups) == ("anna", {"laboratory"})
    without = served.client().get("/metrics")
    assert without.headers["content-type"] == "application/problem+json"
    assert without.headers["www-authenticate"] == "Bearer"
    assert "rag-assets keys create" in without.json()["detail"]
    wrong_scope = served.with_key(given).post("/v1/feedback", json={})
    assert (wrong_scope.status_code, "scope feedback" in wrong_scope.text) == (403, True)
    assert "anna" in wrong_scope.json()["detail"]


def test_a_key_that_ended_is_refused_at_once_and_told_why(served):
    today = datetime.now(UTC).date()
    for name, expires in (("today", today), ("yesterday", today - timedelta(days=1))):
        reply = served.with_key(served.key(name, expires=expires)).get("/metrics")
        assert (reply.status_code == 200) == (name == "today")
    assert f"expired after {today - timedelta(days=1)}" in reply.json()["detail"]
    given = served.key("bob")
    client = served.with_key(given)
    assert client.get("/metrics").status_code == 200
    KeysFile(served.keys.path.parents[1]).revoke("bob")  # as another process does
    reply = client.get("/metrics")
    assert (reply.status_code, "was revoked on" in reply.text) == (401, True)
    guessed = given[:13] + "x" * 43
    assert "not known here" in served.with_key(guessed).get("/metrics").json()["detail"]


def test_wrong_keys_are_told_to_wait_and_logged_without_the_key(served, caplog, monkeypatch):
    given = served.key("anna")
    guess = f"{given[:13]}{'x' * 43}"
    caplog.set_level(logging.WARNING)
    for _ in range(MOST_WRONG_KEYS):
        assert served.with_key(guess).get("/metrics").status_code == 401
    refused = served.with_key(guess).get("/metrics")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
    assert served.with_key(given).get("/metrics").status_code == 429, "a guess that fits is no way"
    assert served.with_key(given, address="192.0.2.8").get("/metrics").status_code == 200
    for number in range(100):
        other = f"rag_{number:08x}_{'x' * 43}"
        status = served.with_key(other).get("/metrics").status_code
    assert status == 429, "nor are other ids"
    assert given[4:12] in caplog.text
    assert "192.0.2.7" in caplog.text
    assert "x" * 43 not in caplog.text
    assert given[13:] not in caplog.text
    monkeypatch.setattr(admission, "SECONDS_OF_WRONG_KEYS", 0.0)
    assert served.with_key(given).get("/metrics").status_code == 200


def test_a_request_that_names_no_server_is_refused(served):
    reply = served.with_key(served.key()).get("/metrics", headers={"Host": ""})
    assert reply.status_code == 421


def test_a_file_of_keys_that_cannot_be_read_lets_nobody_in(served, caplog):
    given = served.key("anna")
    served.keys.path.write_text("[{}]", "utf-8")
    reply = served.with_key(given).get("/metrics")
    assert (reply.status_code, str(served.keys.path) in reply.text) == (503, False)
    assert str(served.keys.path) in caplog.text


def test_the_first_key_ends_the_time_without_keys(tmp_path):
    app = app_of(Config(state_dir=tmp_path), AnswerModels(), user="anna")
    client = TestClient(app, base_url="http://localhost")
    assert client.get("/metrics").status_code == 200
    assert client.get("/login", follow_redirects=False).headers["location"] == "/"
    _, given = KeysFile(tmp_path).create("bob", ["read"], [], None)
    assert client.get("/metrics").status_code == 401
    KeysFile(tmp_path).revoke("bob")
    assert client.get("/metrics").status_code == 401, "else the last revoked key opens all"
    assert given


def test_a_file_of_keys_that_goes_away_opens_nothing(tmp_path):
    """As it does while a backup is brought back, or a volume is gone for a while."""
    client = TestClient(
        app_of(Config(state_dir=tmp_path), AnswerModels(), user="anna"),
        base_url="http://localhost",
    )
    KeysFile(tmp_path).create("bob", ["read"], [], None)
    assert client.get("/metrics").status_code == 401
    KeysFile(tmp_path).path.unlink()
    assert client.get("/metrics").status_code == 401


def test_a_login_on_the_page_lasts_until_its_key_ends_or_one_logs_out(served):
    page = served.client()
    asked = page.get("/search?query=hot+steel")
    assert (asked.status_code, "Your key" in asked.text) == (401, True)
    back_to = re.search(r'name="to" value="([^"]+)"', asked.text)[1]
    given = served.key("anna", "read", "feedback")
    sent = {"key": f" {given}\n", "to": back_to}
    begun = page.post("/login", data=sent, follow_redirects=False)
    assert begun.headers["location"] == "/search?query=hot+steel"
    cookie = begun.headers["set-cookie"]
    assert all(each in cookie for each in ("HttpOnly", "SameSite=lax", "Secure", "Path=/"))
    assert given[13:] not in cookie
    page.get("/metrics")
    assert (served.who.name, served.who.is_logged_in) == ("anna", True)
    shown = page.get("/history").text
    assert "Log out" in shown
    assert given not in shown
    assert '"/label"' not in shown, "a key without that scope is not led there"
    assert page.get("/login", follow_redirects=False).headers["location"] == "/"
    old = page.cookies[SESSION]
    page.post("/logout")
    page.cookies.set(SESSION, old)
    assert page.get("/metrics").status_code == 401
    page.post("/login", data=sent)
    assert page.get("/metrics").status_code == 200
    served.keys.revoke("anna")
    assert page.get("/metrics").status_code == 401


@pytest.mark.parametrize(
    "to", ["//evil.example", "https://evil.example", r"/\evil.example", "javascript:alert(1)", ""]
)
def test_a_login_leads_to_no_other_site(served, to):
    sent = {"key": served.key(), "to": to}
    reply = served.client().post("/login", data=sent, follow_redirects=False)
    assert reply.headers["location"] == "/"


def test_a_wrong_key_is_told_on_the_page_and_a_page_of_another_site_cannot_log_in(served):
    wrong = served.client().post("/login", data={"key": "hunter2"})
    assert wrong.status_code == 401
    assert 'role="alert"' in wrong.text
    assert "this is no key" in wrong.text
    assert "hunter2" not in wrong.text
    given = {"key": served.key()}
    foreign = served.client(Origin="https://evil.example").post("/login", data=given)
    assert foreign.status_code == 403
    plain = served.client(Origin="http://search.example.com").post("/login", data=given)
    assert (plain.status_code, "open it over https" in plain.text) == (403, True)
    own = served.client(Origin=ANYWHERE).post("/login", data=given, follow_redirects=False)
    assert own.status_code == 303


def test_the_login_of_a_proxy_counts_from_its_addresses_alone(behind_proxy):
    told = {"X_Forwarded_User": "Åsa".encode(), "X_Forwarded_Groups": "sales, laboratory"}
    proxy = behind_proxy.client("10.1.2.3", **told)
    assert proxy.get("/metrics").status_code == 200
    who = behind_proxy.who
    assert (who.name, who.groups) == ("Åsa", {"sales", "laboratory"})
    assert not who.may("admin")
    assert behind_proxy.client("::ffff:10.1.2.3", **told).get("/metrics").status_code == 200
    for address in ("192.0.2.7", "10.2.0.1", "::1"):
        reply = behind_proxy.client(address, **told, X_Forwarded_For="10.1.2.3").get("/metrics")
        assert reply.status_code == 401, address
    assert behind_proxy.client("10.1.2.3").get("/metrics").status_code == 401
    twice = [("X-Forwarded-User", "root"), ("X-Forwarded-User", "anna")]
    assert behind_proxy.client("10.1.2.3").get("/metrics", headers=twice).status_code == 401
    given = behind_proxy.key("crawler")
    assert behind_proxy.with_key(given).get("/metrics").status_code == 200


def test_a_token_of_the_proxy_is_no_wrong_key(behind_proxy):
    """Proxies of companies hand on the token of their own login where keys of ours stand."""
    told = {"X_Forwarded_User": "anna", "Authorization": "Bearer eyJhbGciOi.eyJzdWIi.c2lnbmVk"}
    for _ in range(MOST_WRONG_KEYS + 1):
        assert behind_proxy.client("10.1.2.3", **told).get("/metrics").status_code == 200
    assert behind_proxy.who.name == "anna"
    assert behind_proxy.client("192.0.2.7", **told).get("/metrics").status_code == 401
    wrong = told | {"Authorization": f"Bearer rag_00000000_{'x' * 43}"}
    assert behind_proxy.client("10.1.2.3", **wrong).get("/metrics").status_code == 401


def test_wrong_keys_through_a_proxy_are_counted_by_where_they_come_from(behind_proxy):
    guess = f"rag_00000000_{'x' * 43}"
    for _ in range(MOST_WRONG_KEYS + 1):
        sent = {"X_Forwarded_For": "10.1.9.9, 192.0.2.7"}
        reply = behind_proxy.with_key(guess, address="10.1.2.3", **sent).get("/metrics")
    assert reply.status_code == 429
    sent = {"X_Forwarded_For": "10.1.9.9, 192.0.2.8"}
    reply = behind_proxy.with_key(guess, address="10.1.2.3", **sent).get("/metrics")
    assert reply.status_code == 401


def test_what_is_on_its_way_is_read_by_who_asked_alone(served):
    """A key of the same name that sees other groups is somebody else."""
    given = {"anna": served.key("anna"), "bob": served.key("bob")}
    given["anna of sales"] = served.key("anna", groups=["sales"])
    anna, *others = map(served.with_key, given.values())
    streams = served.app.state.service.streams
    with served.client() as running:

        async def begin():
            caller = served.keys.of(given["anna"]).caller
            in_work = InWork(lambda: None)
            return streams.start(lambda tell: tell(Event("done", "{}")), in_work, caller).id

        path = f"/v1/streams/{running.portal.call(begin)}"
        page = path.replace("/v1/streams", "/ask")
        for other in others:
            assert other.get(path).status_code == other.delete(path).status_code == 404
            assert "not on its way any more" in other.get(page).text
            other.delete(page)
        assert "event: done" in anna.get(path).text


def test_every_tool_and_resource_for_agents_states_its_scope(served):
    """Over HTTP, each with a key that may do everything but read."""
    server = server_of(Service(served.config, None, None), has_writer=True)
    tools = {each.name: each.input_schema for each in anyio.run(server.list_tools)}
    calls = [
        (
            "tools/call",
            {"name": name, "arguments": dict.fromkeys(schema.get("required", ()), "abcd")},
        )
        for name, schema in tools.items()
        if name != "answer"  # this server has no language model
    ]
    found = [str(each.uri) for each in anyio.run(server.list_resources)]
    calls += [("resources/read", {"uri": uri}) for uri in (*found, "rag://u/abcd?v=1")]
    assert len(calls) == 11

    def told(client, method, parameters):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        accepted = {"Accept": "application/json, text/event-stream"}
        return client.post("/mcp", json=message, headers=accepted)

    others = served.with_key(served.key("anna", "feedback", "label"))
    with served.client() as without:
        for call in calls:
            assert told(without, *call).status_code == 401
            assert "this needs the scope read" in told(others, *call).text, call
        reader = served.with_key(served.key("anna"))
        assert "this needs the scope" not in told(reader, *calls[0]).text


def test_a_tool_that_is_offered_with_a_language_model_states_its_scope():
    async def refused():
        server = server_of(Service(Config(), None, None), has_writer=True)
        CALLER.set(Caller("anna", frozenset({"label"})))
        async with Client(server) as client:
            return await client.call_tool("answer", {"question": "Why?"})

    [content] = anyio.run(refused).content
    assert "this needs the scope read" in content.text


def test_the_entry_for_the_registry_names_this_release_and_a_command():
    told = json.loads((REPOSITORY / "server.json").read_text("utf-8"))
    [package] = told["packages"]
    assert told["version"] == package["version"] == version("rag-assets")
    assert package["identifier"] == "rag-assets"
    [command] = (each["value"] for each in package["packageArguments"])
    assert command in " ".join(cli.COMMANDS.values()).split()
    [given] = (each["name"] for each in package["environmentVariables"])
    assert given == configuration.PATH_VARIABLE
