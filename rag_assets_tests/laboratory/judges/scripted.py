"""Judges behind a real server that plays a script."""

import json
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rag_assets.config import LanguageModelSettings, RubricName
from rag_assets.laboratory.judges.asking import RubricJudge
from rag_assets.models.language.opening import open_entry
from rag_assets.questions.judging.rubrics import read_rubric
from rag_assets.questions.judging.verdicts import JudgedItem
from rag_assets_testing.scripted_language_model import Behaviour, Script, ScriptedServer, answers

ANSWER = JudgedItem(
    "answer",
    {
        "question": "How stiff is the spring?",
        "reference": "12 N/mm",
        "context": "[1] The spring has a stiffness of 12 N/mm.",
        "answer": "It is 12 N/mm. [1]",
    },
    frozenset({"docs"}),
)
CONTEXT = JudgedItem("context", {name: ANSWER.parts[name] for name in ("question", "context")})


@contextmanager
def judging(
    script: Script, state: Path, *rubrics: RubricName, most: int = 100, **entry: object
) -> Generator[tuple[RubricJudge, ScriptedServer]]:
    """A scripted judge, whose calls are kept in `state`."""
    with ScriptedServer(script) as server:
        given = {"base_url": server.url, "model": "scripted", "local": True, "attempts": 1, **entry}
        settings = LanguageModelSettings.model_validate(given)
        with open_entry("strict", settings, state=state) as model:
            yield RubricJudge(model, [read_rubric(name) for name in rubrics], most), server


def scored(**scores: int | str) -> Behaviour:
    """A reply with these scores."""
    said = {name: {"evidence": "12 N/mm", "score": score} for name, score in scores.items()}
    return answers(json.dumps(said))


def ranked(**ranks: int) -> Behaviour:
    """A reply with these ranks."""
    return answers(json.dumps({"evidence": "12 N/mm", "ranks": ranks}))


def shown_answers(body: Mapping) -> dict[str, str]:
    """The answers of a request to rank, by their letters."""
    text = body["messages"][1]["content"]
    found = re.findall(r"<answer_([A-Z])-[0-9a-f]+>\n(.*?)\n</answer", text, re.DOTALL)
    return dict(found)
