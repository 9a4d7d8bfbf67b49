"""The section `alerts`: what is accepted, what is named when wrong, what is never shown."""

import traceback
from pathlib import Path

import pytest

from rag_assets.config import ConfigError, Email, Webhook, load

SECRET = "T0-secret-token"
MAIL = "{type: email, host: mail, from: a@b.org, to: [c@d.org]"


@pytest.fixture
def channels(tmp_path):
    def loaded(*entries: str):
        file = Path(tmp_path, "rag_assets.yaml")
        lines = "".join(f"    - {entry}\n" for entry in entries)
        file.write_text(f"sources: {{documents: docs}}\nalerts:\n  channels:\n{lines}")
        return load(file).alerts

    return loaded


def test_a_channel_has_the_name_of_its_type_and_takes_all_kinds(channels, monkeypatch):
    monkeypatch.setenv("HOOK", f"https://hooks.example.com/{SECRET}")

    alerts = channels("{type: slack, url: '${HOOK}'}", f"{MAIL}}}", "{type: ping, url: '${HOOK}'}")

    assert [one.name for one in alerts.channels] == ["slack", "email", "ping"]
    [slack, email], [ping] = alerts.messages, alerts.pings
    assert isinstance(slack, Webhook)
    assert isinstance(email, Email)
    assert (email.port_or_default, email.security) == (587, "starttls")
    assert "run_failed" in slack.kinds
    assert slack.url.get_secret_value().endswith(SECRET)
    assert SECRET not in f"{alerts!r} {alerts} {ping!r}"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{url: 'https://x.org'}", "type: slack, teams, json, email, custom or ping"),
        ("{type: pager, url: 'https://x.org'}", "alerts.channels.0"),
        ("{type: slack}", "alerts.channels.0.url is missing"),
        ("{type: slack, url: hooks.example.com}", "https://"),
        ("{type: slack, url: 'https://x.org', kinds: [fire]}", "alerts.channels.0.kinds.0"),
        (
            "{type: slack, url: 'https://x.org', kind: [x]}",
            "known here: kinds, name, notices, type",
        ),
        ("{type: ping, url: 'https://x.org', starturl: x}", "fail_url, name, start_url, type, url"),
        (f"{MAIL}, user: me}}", "both user and password"),
        (f"{MAIL}, user: me, password: x, security: none}}", "starttls or tls"),
        (f"{MAIL}, port: 99999}}", "alerts.channels.0.port"),
        ('{type: email, host: mail, from: "a@b.org\\nBcc: x@y", to: [c@d.org]}', "one line"),
        ("{type: email, host: mail, from: a@b.org, to: []}", "alerts.channels.0.to"),
    ],
)
def test_what_is_wrong_is_named_with_its_key(channels, entry, said):
    with pytest.raises(ConfigError, match=r"rag_assets\.yaml") as raised:
        channels(entry)

    assert said in str(raised.value)


def test_two_channels_of_one_name_are_refused(channels):
    with pytest.raises(ConfigError, match="two channels are named slack"):
        channels(*["{type: slack, url: 'https://x.org'}"] * 2)


@pytest.mark.parametrize(
    "entry",
    [
        f"{{type: slack, url: {SECRET}}}",
        f"{{type: ping, url: 'https://x.org', fail_url: {SECRET}}}",
        f"{MAIL}, user: me, password: 8731874921, port: {SECRET}}}",
        f"{MAIL}, user: me, password: [{SECRET}]}}",
        f"{MAIL}, password: {SECRET}}}",
    ],
)
def test_no_error_shows_a_secret(channels, entry):
    with pytest.raises(ConfigError) as raised:
        channels(entry)

    shown = "".join(traceback.format_exception(raised.value))
    assert "8731874921" not in shown
    assert shown.count(SECRET) == shown.count(f"port = '{SECRET}'")
