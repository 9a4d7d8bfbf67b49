"""The embedded model: one process for all threads, begun on demand, gone with its parent."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from rag_assets.config import Config
from rag_assets.models.language import embedded
from rag_assets.models.language.opening import open_language_model
from rag_assets_tests.models.language.conftest import request

SCHEMA = {
    "type": "object",
    "properties": {"yes": {"type": "boolean"}},
    "required": ["yes"],
    "additionalProperties": False,
}


def is_running(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_embedded_model_answers_through_the_same_client(tmp_path):
    with open_language_model(Config(), state=tmp_path) as model:
        assert model.name == "embedded"
        assert "smollm2" in model.identity
        assert embedded._shared[0].process_id is None, "nothing was asked yet"
        asked = [request(f"Is {number} even?", schema=SCHEMA) for number in range(3)]
        found = model.complete_all(asked)
        process = embedded._shared[0].process_id
        assert process is not None
        assert [one.outcome for one in found] == ["done"] * 3
        assert all(isinstance(one.parsed["yes"], bool) for one in found)
        pieces = list(model.stream(request("Say something.", max_tokens=8)))
        assert len(pieces) > 1
        address = embedded._shared[0].address()
        assert address.url.startswith("http://127.0.0.1:")
        with pytest.raises(HTTPError) as refused:
            urlopen(f"{address.url}/chat/completions", data=b"{}")
        assert refused.value.code == 401
        os.kill(process, signal.SIGKILL)
        while is_running(process):
            time.sleep(0.01)
        assert model.complete(request("Are you back?", max_tokens=4)).outcome in ("done", "cut")
        last = embedded._shared[0].process_id
    assert last is not None
    assert not is_running(last)
    with open_language_model(Config(), state=tmp_path) as model:
        assert all(one.is_kept for one in model.complete_all(asked))
        assert embedded._shared[0].process_id is None, "what is kept needs no process"


def test_the_process_ends_with_a_parent_that_is_killed():
    script = textwrap.dedent("""
        import time
        from rag_assets.models.language import embedded
        with embedded.shared_server() as server:
            server.address()
            print(server.process_id, flush=True)
            time.sleep(60)
    """)
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    process = int(parent.stdout.readline())
    assert is_running(process)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    ends = time.monotonic() + 10
    while is_running(process) and time.monotonic() < ends:
        time.sleep(0.1)
    assert not is_running(process)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(embedded, "WEIGHTS", "not-installed-weights")
    with (
        pytest.raises(embedded.MissingExtraError, match=r"rag-assets\[language-model\]"),
        embedded.shared_server(),
    ):
        pass
