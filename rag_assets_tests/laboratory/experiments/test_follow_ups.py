"""The experiment `condensation`: one arm for each reading of the same follow-ups."""

import json
from pathlib import Path

import pytest
import yaml

from rag_assets import config as configuration
from rag_assets.evaluation.experiment_runs import runs_of
from rag_assets.serving import cli
from rag_assets.store import Store
from rag_assets_testing import small_project
from rag_assets_testing.scripted_language_model import ScriptedServer, status
from rag_assets_tests.answering.language_models import entry, replies

LINES = [
    {
        "id": "f1",
        "lang": "en",
        "history": [{"question": "What is the density of Invar?", "answer": "8.05"}],
        "follow_up": "and AlMg3?",
        "full": "What is the density of AlMg3?",
        "gold": ["row:alloys:1"],
        "split": "dev",
    },
    {
        "id": "f2",
        "history": [{"question": "What is the density of AlMg3?", "answer": "2.66"}],
        "follow_up": "and Invar?",
        "full": "What is the density of Invar?",
        "gold": ["row:alloys:2"],
    },
    {
        "id": "f3",
        "history": [{"question": "Which alloy bears salt?", "answer": "AlMg3"}],
        "follow_up": "for how many hours?",
        "full": "For how many hours does AlMg3 bear salt?",
        "gold": ["doc:salt.md"],
    },
]


def reading(body: dict):
    """What the scripted model makes of a follow-up; it fails at one."""
    asked = json.loads(body["messages"][1]["content"])["question"]
    if asked.startswith("for how many"):
        return status(400)
    return replies(is_follow_up=True, question=f"density {asked.split()[-1]}")


@pytest.fixture(scope="module")
def server():
    with ScriptedServer(reading) as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, server: ScriptedServer) -> Path:
    home = small_project.make(tmp_path_factory.mktemp("project"))
    (home / "talk.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in LINES))
    said = yaml.safe_load((home / "rag_assets.yaml").read_text())
    said["evaluation"]["bootstrap_samples"] = 200
    said["language_models"] = {"writer": entry(server.url, local=True)}
    said["experiments"] = {
        "condensation": {
            "follow_ups": "talk.jsonl",
            "readings": ["typed", "rules", "model", "full"],
            "retriever": "hybrid",
        },
        "broken": {"design": "condensation", "follow_ups": "broken.jsonl"},
    }
    (home / "rag_assets.yaml").write_text(yaml.safe_dump(said, sort_keys=False))
    return home


@pytest.fixture(autouse=True)
def here(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "rag_assets.yaml"))


def test_each_reading_is_an_arm_on_the_same_questions(home, server, capsys):
    assert cli.main(["experiment", "condensation", "--json"]) == 0
    capsys.readouterr()
    [one] = runs_of(Store.of(configuration.load()), "condensation")
    assert [*one.record.arms] == ["typed", "rules", "model", "full"]
    assert one.record.questions == {"dev": 1, "test": 2}
    assert one.record.reference == "typed"
    notes = " ".join(one.record.notes)
    assert "The rules stood in for the language model for 1 of 3." in notes
    calls = server.calls
    assert cli.main(["experiment", "condensation", "--replay", one.record.id]) == 0
    assert "same score as before" in capsys.readouterr().out
    assert server.calls == calls + 1, "only the call that failed is made again"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot be read"),
        ('{"id": "f1", "full": "x", "gold": ["doc:salt.md"]}\n', "history"),
        ('{"id": "f1", "question": "x", "gold": ["doc:salt.md"]}\n', "full = None"),
        ("nonsense\n", "line 1"),
    ],
)
def test_a_file_that_is_not_of_the_form_is_named(home, content, says, capsys):
    file = home / "broken.jsonl"
    file.unlink(missing_ok=True)
    if content is not None:
        file.write_text(content)
    assert cli.main(["experiment", "broken"]) != 0
    shown = "".join(capsys.readouterr())
    assert says in shown
    assert "broken.jsonl" in shown
