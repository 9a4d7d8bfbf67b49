"""A model takes a prompt apart; where its answer cannot be used the prompt's own list does."""

import json

import pytest

from rag_assets.answering.reporting.decomposition import ModelDecomposer, as_listed
from rag_assets.config import Config
from rag_assets.models.language.opening import open_language_model
from rag_assets_testing import scripted_language_model as scripted

PROMPT = "Write a report on steel covering corrosion, welding and $5 fatigue."
TOLD = {
    "topic": "steel",
    "parts": [
        {"title": "corrosion", "question": "How does steel corrode?"},
        {"title": "welding", "question": "How is steel welded?"},
        {"title": "again", "question": "How is steel welded?"},
    ],
}


def decompose(tmp_path, behaviour):
    with scripted.ScriptedServer(behaviour) as server:
        entry = {"base_url": server.url, "model": "scripted", "attempts": 1}
        config = Config.model_validate(
            {"state_dir": str(tmp_path), "language_models": {"writer": entry}}
        )
        with open_language_model(config) as model:
            return ModelDecomposer(model)(PROMPT), server


def test_the_parts_that_a_model_names_each_once(tmp_path):
    found, server = decompose(tmp_path, scripted.answers(json.dumps(TOLD)))
    assert (found.title, found.by, found.note) == ("Steel", "model", "")
    assert [(part.title, part.question) for part in found.parts] == [
        ("Corrosion", "How does steel corrode?"),
        ("Again", "How is steel welded?"),
    ]
    assert PROMPT in server.requests[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    "behaviour",
    [
        scripted.answers("steel, corrosion"),
        scripted.answers('{"topic": "steel", "parts": []}'),
        scripted.answers('{"topic": " ", "parts": [{"title": " ", "question": " "}]}'),
        scripted.cut(),
        scripted.empty(),
        scripted.status(400),
        scripted.half(json.dumps(TOLD)),
    ],
    ids=["no json", "no part", "blank", "cut", "empty", "refused", "broken off"],
)
def test_the_list_of_the_prompt_counts_and_the_report_says_why(tmp_path, behaviour):
    found, _ = decompose(tmp_path, behaviour)
    assert (found.by, found.parts) == ("rules", as_listed(PROMPT).parts)
    assert found.note.startswith("not taken apart by writer, which gave no answer that can be used")


def test_more_parts_than_allowed_are_no_answer(tmp_path):
    many = [{"title": f"part {one}", "question": f"What of {one}?"} for one in range(6)]
    found, _ = decompose(tmp_path, scripted.answers(json.dumps(TOLD | {"parts": many})))
    assert found.by == "rules"
