"""What the transports do: who is let in, older clients, and calls that are given up."""

import json
import re
import time
from functools import partial

import anyio
import httpx2
import pytest
import yaml

from rag_assets import config as configuration
from rag_assets.serving import cli
from rag_assets.serving.mcp import server
from rag_assets.serving.replies import FAILED, OK
from rag_assets.workers import raise_if_abandoned
from rag_assets_testing.faults.kills import until
from rag_assets_testing.scripted_language_model import ScriptedServer, answers, slow
from rag_assets_tests.answering.language_models import entry
from rag_assets_tests.serving.mcp.conftest import PARTS, RODS, TRANSPORTS, on_http

STIFFNESS = "How stiff is the spring?"
PAGE = "https://search.example.com/rag"
OLDER = "2025-11-25"


@pytest.fixture
def with_writer(home):
    """A config with a language model that writes, and the address of a page."""

    def write(url):
        settings = yaml.safe_load((home / "rag_assets.yaml").read_text("utf-8"))
        model = entry(url, local=True, seconds=60)
        settings |= {"language_models": {"w": model}, "answering": {"writer": "w"}}
        file = home / "with_writer.yaml"
        file.write_text(yaml.safe_dump(settings | {"serving": {"public_url": PAGE}}), "utf-8")
        return file

    return write


@pytest.mark.parametrize("transport", TRANSPORTS.values(), ids=TRANSPORTS)
def test_an_answer_is_offered_where_a_model_writes(with_writer, transport):
    with (
        ScriptedServer(answers("Its stiffness is 12 N/mm [1].")) as model,
        transport(with_writer(model.url)) as call,
    ):
        tools = {each.name: each for each in call.ask("list_tools").tools}
        assert tools["answer"].annotations.read_only_hint is False  # it is kept
        told = call("answer", question=STIFFNESS, domain="document")
        [sentence] = told["sentences"]
        assert "12 N/mm" in sentence["text"]
        assert sentence["urls"][0].startswith(f"{PAGE}/u/")


@pytest.mark.parametrize("transport", TRANSPORTS.values(), ids=TRANSPORTS)
def test_a_call_that_is_cancelled_holds_up_no_other(with_writer, transport):
    """Its language model would write for twenty seconds."""
    with ScriptedServer(slow(20)) as model, transport(with_writer(model.url)) as call:

        async def give_up():
            asked = {"question": "Which colour has the paint?", "domain": "document"}
            async with anyio.create_task_group() as group:
                group.start_soon(partial(call.client.call_tool, "answer", asked))
                await anyio.to_thread.run_sync(lambda: until(lambda: model.calls))
                group.cancel_scope.cancel()

        began = time.monotonic()
        call.portal.call(give_up)
        for _ in range(5):
            assert call("count", text="needle")["documents"] == 1
        assert time.monotonic() - began < 18


def test_a_thread_whose_call_was_cancelled_ends_before_the_call_does():
    ended = []

    def work():
        try:
            while True:
                time.sleep(0.01)
                raise_if_abandoned()
        finally:
            ended.append(True)

    async def call():
        with anyio.move_on_after(0.1):
            await server._in_thread(work)

    anyio.run(call)
    assert ended == [True]


def test_the_command_line_counts_alike(home, monkeypatch, capsys):
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "rag_assets.yaml"))
    assert cli.main(["search", "rod", "--count", "--json"]) == OK
    [counted] = json.loads(capsys.readouterr().out)["counts"]
    assert (counted["documents"], counted["rows"]) == (0, RODS - 1)
    assert counted["mentioning"][0]["place"] == "laboratory/test_rods"
    assert cli.main(["search", "needle", "--count"]) == OK
    told = capsys.readouterr().out
    assert "Mentions of needle: documents 1, rows 0." in told
    assert re.search(rf"{PARTS} +documents/needles.md", told)
    assert cli.main(["search", " ", "--count"]) == FAILED
    capsys.readouterr()
    for option in (["--top-k", "3"], ["--retriever", "bm25"], ["--explain"]):
        assert cli.main(["search", "rod", "--count", *option]) == FAILED
        assert "--count ranks nothing" in capsys.readouterr().err


@pytest.mark.parametrize("transport", TRANSPORTS.values(), ids=TRANSPORTS)
def test_a_client_of_an_older_protocol_is_served(home, transport):
    with transport(home / "rag_assets.yaml", mode="legacy") as call:
        assert call.client.protocol_version == OLDER
        assert call("search", query=STIFFNESS, k=1)["results"][0]["title"] == "spring.md"
        assert "it has query, k" in call.refused("search", query="x", limit=3)


def test_pages_of_other_sites_are_kept_out_and_only_post_is_answered(home):
    with on_http(home / "rag_assets.yaml") as call:
        url = call.client.server
        headers = {"Accept": "application/json, text/event-stream"}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        foreign = {**headers, "Origin": "https://evil.example"}
        assert httpx2.post(url, json=message, headers=foreign).status_code == 403
        elsewhere = {**headers, "Host": "evil.example"}
        assert httpx2.post(url, json=message, headers=elsewhere).status_code == 421
        assert httpx2.get(url, headers=headers).status_code == 405
        assert httpx2.post(url, json=message, headers=headers).json()["result"]["tools"]
