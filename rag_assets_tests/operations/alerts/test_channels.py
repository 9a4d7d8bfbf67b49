"""Messages arrive at real servers, in the form that each of them takes, and secrets stay secret."""

import re
import socket
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

import pytest

from rag_assets.config import Email, Ping, Webhook
from rag_assets.config.alerts import ALL_KINDS
from rag_assets.findings.finding import Finding
from rag_assets.operations.alerts import channels, messages
from rag_assets.operations.alerts.record import Change
from rag_assets_testing.alert_servers import certificate, mail_server, web_server

BEGAN = datetime(2026, 11, 23, 2, 0, tzinfo=UTC)
DOWN = Finding(
    "source_unreadable",
    "plant",
    since=BEGAN,
    reason="postgresql://reader:geheim@db/plant: <connection> refused & gone",
    remedy="start the server",
    assets=("exports/plant/parts",),
)
FAILED = Finding(
    "run_failed",
    "nightly_refresh of variant default",
    since=BEGAN,
    reason="chunks: it broke",
    remedy="open the run",
    run_id="1f3a",
)
MESSAGE = messages.message_of(
    [Change(DOWN), Change(FAILED, ended=BEGAN + timedelta(days=3, hours=2))],
    ui_url="https://dagster.example.com/",
)


@pytest.fixture
def web():
    with web_server() as server:
        yield server


def webhook(web, kind: str, path: str = "/hook") -> Webhook:
    return Webhook.model_validate({"name": "team", "type": kind, "url": f"{web.url}{path}"})


def mailbox(port: int, **settings: object) -> Email:
    return Email.model_validate(
        {
            "name": "mail",
            "type": "email",
            "host": "127.0.0.1",
            "port": port,
            "from": "index@example.com",
            "to": ["ann@example.com", "bo@example.com"],
            **settings,
        }
    )


def test_a_message_says_what_since_when_why_what_to_do_and_where():
    text = MESSAGE.text

    assert MESSAGE.title.endswith(": 1 problem, 1 resolved")
    assert "Problem: a source cannot be read: plant" in text
    assert "Since 2026-11-23 02:00 UTC." in text
    assert "What to do: start the server." in text
    assert "https://dagster.example.com/assets/exports/plant/parts" in text
    assert "Resolved: a run failed: nightly_refresh of variant default" in text
    assert "It lasted 3 days 2 hours" in text
    assert "https://dagster.example.com/runs/1f3a" in text
    assert "geheim" not in text


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_there_are_words_for_each_kind_of_problem(kind):
    problem = Finding(kind, "plant", since=BEGAN, reason="it broke", remedy="mend it")

    text = messages.message_of([Change(problem)], ui_url="https://d.example.com").text

    assert re.search(r"Problem: \w+ [\w ]+: plant", text)


def test_many_changes_are_one_message_that_is_not_endless():
    problems = [
        Finding("asset_overdue", f"asset {number}", since=BEGAN, reason="x" * 5_000, remedy="wait")
        for number in range(100)
    ]

    message = messages.message_of([Change(one) for one in problems], ui_url=None)

    assert message.title.endswith(": 100 problems")
    assert "and 80 more" in message.text
    assert len(message.text) < 20_000
    assert "http" not in message.text


@pytest.mark.parametrize("letter", ["x", "ü", "材", "\N{ROCKET}", "y\n"])
def test_teams_never_gets_more_than_it_takes(web, letter):
    """It refuses more than 28 KB, and what it refuses would be tried again for ever."""
    long = {"reason": letter * 600, "remedy": letter * 600, "assets": ("exports/plant/parts",)}
    problems = [
        Finding("check_failed", f"{number} {letter * 5_000}", since=BEGAN, **long)
        for number in range(100)
    ]
    message = messages.message_of([Change(one) for one in problems], ui_url="https://d.example.com")

    assert channels.deliver(message, webhook(web, "teams")).accepted
    [request] = web.at("/hook")
    assert len(request.body) < 28_000
    assert "Problem: a check failed: 0" in request.body.decode()
    assert "more: `rag-assets alerts` shows what is open" in request.body.decode()


def test_slack_gets_text_with_its_signs_escaped(web):
    assert channels.deliver(MESSAGE, webhook(web, "slack")).accepted

    [request] = web.at("/hook")
    text = request.json["text"]
    assert "&lt;connection&gt; refused &amp; gone" in text
    assert "<" not in text
    assert request.json["mrkdwn"] is False, "chunk_vectors and *.csv are names"


def test_teams_gets_an_adaptive_card_that_leads_to_the_ui(web):
    assert channels.deliver(MESSAGE, webhook(web, "teams")).accepted

    [request] = web.at("/hook")
    [attachment] = request.json["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    texts = [run["text"] for block in card["body"] for run in block.get("inlines", ())]
    assert "Problem: a source cannot be read: plant" in texts
    urls = [action["url"] for block in card["body"] for action in block.get("actions", ())]
    assert "https://dagster.example.com/runs/1f3a" in urls


def test_a_program_gets_every_fact(web):
    assert channels.deliver(MESSAGE, webhook(web, "json")).accepted

    [request] = web.at("/hook")
    [problem], [resolved] = request.json["problems"], request.json["resolved"]
    assert (problem["kind"], problem["subject"]) == ("source_unreadable", "plant")
    assert problem["since"] == "2026-11-23T02:00:00+00:00"
    assert problem["assets"] == ["exports/plant/parts"]
    assert resolved["seconds"] == 3 * 86_400 + 7_200
    assert "geheim" not in request.body.decode()


def test_what_a_server_answers_is_told_without_the_url(web):
    web.status, web.text = 404, f"no_service at {web.url}/T01/secret-token"
    answer = channels.deliver(MESSAGE, webhook(web, "slack", path="/T01/secret-token"))

    assert not answer.accepted
    assert answer.answer.startswith("404 Not Found no_service")
    assert "secret-token" not in answer.answer


@pytest.mark.parametrize("said", ["invalid_token secret-token", "no key=sEcReT123 here"])
def test_no_part_of_the_url_is_shown(web, said):
    web.status, web.text = 403, said
    path = "/T01/secret-token?key=sEcReT123"
    answer = channels.deliver(MESSAGE, webhook(web, "slack", path=path))

    assert answer.answer.startswith("403 Forbidden")
    assert "secret-token" not in answer.answer
    assert "sEcReT123" not in answer.answer


@pytest.mark.parametrize("status", [301, 302, 307])
def test_a_message_that_is_sent_elsewhere_has_not_arrived(web, status):
    """As after a log-in page was put before the server: it answers 200 to everything."""
    web.status, web.location = status, "/login"
    answer = channels.deliver(MESSAGE, webhook(web, "json"))

    assert not answer.accepted
    assert answer.answer.startswith(str(status))
    assert "another address" in answer.answer
    assert [one.path for one in web.requests] == ["/hook"]


@pytest.mark.parametrize("url", ["https://[bad/secret-token", "http://127.0.0.1:port/secret-token"])
def test_a_url_that_is_none_is_an_answer_too(url):
    wrong = Webhook.model_validate({"name": "wrong", "type": "json", "url": url})
    answer = channels.deliver(MESSAGE, wrong)

    assert not answer.accepted
    assert "secret-token" not in answer.answer


def test_a_server_that_is_not_there_is_told_without_the_url():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url = f"http://127.0.0.1:{port}/T01/secret-token"
    gone = Webhook.model_validate({"name": "gone", "type": "json", "url": url})

    answer = channels.deliver(MESSAGE, gone)

    assert not answer.accepted
    assert "refused" in answer.answer
    assert "secret-token" not in answer.answer


def test_a_server_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(channels, "SECONDS_TO_ANSWER", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        url = f"http://127.0.0.1:{port}/secret-token"
        slow = Webhook.model_validate({"name": "slow", "type": "json", "url": url})
        answers = [channels.deliver(MESSAGE, slow), channels.deliver(MESSAGE, mailbox(port))]

    assert [one.accepted for one in answers] == [False, False]
    assert all("timed out" in one.answer for one in answers)
    assert "secret-token" not in answers[0].answer


@pytest.mark.parametrize("part", ["headers", "body"])
def test_a_server_that_sends_byte_by_byte_is_given_up(monkeypatch, part):
    """Each byte comes in time, and the whole never does."""
    monkeypatch.setattr(channels, "SECONDS_TO_ANSWER", 1.0)
    monkeypatch.setattr(channels, "SECONDS_TO_READ", 0.3)
    given_up = Event()
    head = b"HTTP/1.1 200 OK\r\n" if part == "headers" else b"HTTP/1.1 200 OK\r\n\r\n"

    def trickle(server: socket.socket) -> None:
        client, _ = server.accept()
        with client, suppress(OSError):
            client.recv(65_536)
            client.sendall(head)
            while not given_up.wait(0.05):
                client.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=trickle, args=(server,))
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/secret-token"
        slow = Webhook.model_validate({"name": "slow", "type": "json", "url": url})
        answer = channels.deliver(MESSAGE, slow)
        given_up.set()
        thread.join()

    assert answer.accepted == (part == "body"), "a status that came tells what became of it"
    assert answer.is_unanswered == (part == "headers")
    assert "secret-token" not in answer.answer


def test_an_answer_is_shown_without_what_a_terminal_obeys(web):
    web.text = "ok \x1b[31mred\x07"
    hook = Webhook.model_validate({"name": "hook", "type": "json", "url": f"{web.url}/hook"})

    assert channels.deliver(MESSAGE, hook).answer.endswith("ok [31mred")


def test_a_mail_goes_to_all_receivers():
    with mail_server() as mail:
        answer = channels.deliver(MESSAGE, mailbox(mail.port, security="none"))

    assert answer.accepted
    [received] = mail.received
    assert received["Subject"] == MESSAGE.title
    assert received["To"] == "ann@example.com, bo@example.com"
    assert mail.receivers == ["ann@example.com", "bo@example.com"]
    assert "What to do: start the server." in received.get_content()
    assert received["Date"]
    assert received["Message-ID"]


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_password_travels_encrypted(tmp_path, monkeypatch, security):
    signed = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(signed))
    with mail_server(certificate=signed, tls=security == "tls") as mail:
        mail.login = ("index", "pass-word")
        login = {"security": security, "user": "index"}
        good = channels.deliver(MESSAGE, mailbox(mail.port, password="pass-word", **login))
        bad = channels.deliver(MESSAGE, mailbox(mail.port, password="other-word", **login))

    assert good.accepted
    assert len(mail.received) == 1
    assert not bad.accepted
    assert "wrong user or password" in bad.answer
    assert "other-word" not in bad.answer


def test_a_password_may_have_any_letters(tmp_path, monkeypatch):
    signed = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(signed))
    with mail_server(certificate=signed) as mail:
        mail.login = ("jörg", "größer")
        good = channels.deliver(MESSAGE, mailbox(mail.port, user="jörg", password="größer"))
        bad = channels.deliver(MESSAGE, mailbox(mail.port, user="jörg", password="kürzer"))

    assert good.accepted, good.answer
    assert len(mail.received) == 1
    assert not bad.accepted
    assert "kürzer" not in bad.answer


def test_a_mail_server_with_a_certificate_that_nobody_signed_gets_no_password(tmp_path):
    with mail_server(certificate=certificate(tmp_path)) as mail:
        answer = channels.deliver(MESSAGE, mailbox(mail.port, user="index", password="pass-word"))

    assert not answer.accepted
    assert "certificate" in answer.answer
    assert not mail.received


def test_a_mail_that_is_refused_says_so():
    with mail_server() as mail:
        mail.accepts = False
        answer = channels.deliver(MESSAGE, mailbox(mail.port, security="none"))

    assert not answer.accepted
    assert "no such user" in answer.answer


def test_a_mail_that_one_of_the_receivers_gets_is_taken():
    """Else the others would get it again with each attempt."""
    with mail_server() as mail:
        mail.unknown = "bo@example.com"
        answer = channels.deliver(MESSAGE, mailbox(mail.port, security="none"))

    assert answer.accepted
    assert answer.answer == "taken for ann@example.com"
    assert answer.lacking == "refused for bo@example.com: 550 no such user"
    assert mail.receivers == ["ann@example.com"]


def test_a_ping_calls_the_url_of_what_happened(web):
    ping = Ping.model_validate(
        {
            "name": "night",
            "type": "ping",
            "url": f"{web.url}/7c1",
            "start_url": f"{web.url}/7c1/start",
        }
    )

    answers = [channels.call(ping, signal) for signal in ("started", "good", "failed")]

    assert [one.path for one in web.requests] == ["/7c1/start", "/7c1"]
    assert [bool(one) for one in answers] == [True, True, False]
