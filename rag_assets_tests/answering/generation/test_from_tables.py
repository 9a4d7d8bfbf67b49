"""What a language model is told of the tables, and what it may have computed."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rag_assets.answering.condensation.conversation import Turn
from rag_assets.answering.generation.from_tables import FromTables
from rag_assets.answering.generation.writing import Written
from rag_assets.citations.kinds import Computed
from rag_assets.table_lookup.looking_up import look_up
from rag_assets_testing.scripted_language_model import Behaviour, Script, answers
from rag_assets_tests.answering.generation.shown import chunk
from rag_assets_tests.answering.generation.test_generated import told, writing
from rag_assets_tests.table_lookup.beams import SOURCE, catalogue, contents

TABLES = catalogue(contents())
HIT = chunk(
    "guide",
    "Beams are stored under a roof.",
    context="Dry air. Beams are stored under a roof. It rains.",
)
PLAN = {
    "answerable": True,
    "table": f"{SOURCE}/beams",
    "where": [],
    "operation": "mean",
    "column": "mass",
    "columns": [],
    "order_by": None,
    "descending": False,
    "limit": None,
}


def written(
    script: Script,
    state: Path,
    *,
    question: str = "What do steel beams weigh typically?",
    said: Sequence[Turn] = (),
    sources: Sequence[str] = (SOURCE, "handbook"),
) -> tuple[Written, list[dict]]:
    settings = {"local": False, "sources": [*sources]}
    with writing(script, state, tables=[SOURCE], **settings) as (writer, server):
        tables = FromTables(question, TABLES, look_up(question, TABLES), writer.model)
        return writer.write(question, [HIT], {}, tables=tables, said=said), server.requests


def computing(then: str, plan: object) -> Callable[[dict], Behaviour]:
    """Asks for a mean, gives `plan` where the schema asks for one, and then says `then`."""

    def script(body: dict) -> Behaviour:
        if "response_format" in body:
            return answers(plan if isinstance(plan, str) else json.dumps(plan))
        if "computed from a table" in told(body) or "Not computed" in told(body):
            return answers(then)
        return answers("COMPUTE: the mean mass per metre of the steel beams")

    return script


def test_the_columns_and_the_refusal_of_the_lookup_are_told_and_what_stands_around_a_hit(tmp_path):
    question = "Which steel beams have a good mass for a roof?"
    _, requests = written(answers("Dry [1]."), tmp_path, question=question)
    shown = told(requests[0])
    assert "Tables:\n<source-" in shown
    assert "Steel beams, Mass per metre in kg/m: numbers" in shown
    assert "The question was not looked up: " in shown
    assert "Dry air. Beams are stored under a roof. It rains." in shown


def test_what_the_lookup_says_is_a_source(tmp_path):
    question = "What is the mass of IPE 220?"
    found, requests = written(answers("IPE 220 has 26.2 kg/m [2]."), tmp_path, question=question)
    assert "[2]\n<source-" in told(requests[0])
    [sentence] = found.sentences
    assert {each.kind for each in sentence.citations} == {"cell"}


def test_a_computation_that_is_asked_for_is_planned_run_and_cited(tmp_path):
    found, requests = written(computing("They weigh 17.2 kg/m on average [2].", PLAN), tmp_path)
    assert len(requests) == 3
    [sentence] = found.sentences
    [computed] = [each for each in sentence.citations if isinstance(each, Computed)]
    assert (computed.operation, round(float(computed.result or 0), 1)) == ("mean", 17.2)


@pytest.mark.parametrize(
    "plan",
    [
        {**PLAN, "table": "shop/secrets"},
        {**PLAN, "column": "name"},
        {**PLAN, "answerable": False},
        {"sql": "DROP TABLE beams"},
        '{"answerable": tr',
        "",
    ],
)
def test_a_plan_that_cannot_be_run_is_told_and_a_value_without_it_is_left_out(tmp_path, plan):
    found, requests = written(computing("They weigh 18.3 kg/m on average [2].", plan), tmp_path)
    assert "Not computed (the mean mass per metre of the steel beams): " in told(requests[2])
    assert (found.sentences, len(found.left_out)) == ((), 1)


def test_computations_without_end_are_not_made(tmp_path):
    def script(body: dict) -> Behaviour:
        if "response_format" in body:
            return answers(json.dumps(PLAN))
        return answers(f"COMPUTE: the mean mass per metre of the steel beams {len(told(body))}")

    found, requests = written(script, tmp_path)
    assert found.sentences == ()
    assert sum("response_format" in each for each in requests) <= 2


def test_tables_that_the_model_may_not_see_are_not_told(tmp_path):
    question = "What is the mass of IPE 220?"
    _, requests = written(
        answers("NOT IN THE SOURCES: it"), tmp_path, question=question, sources=["handbook"]
    )
    assert "Tables:" not in told(requests[0])
    assert "26.2" not in told(requests[0])


def test_the_conversation_is_shown_as_far_as_the_model_may_see_it(tmp_path):
    said = [
        Turn("How are beams stored?", "Under a roof.", frozenset({"handbook"})),
        Turn("What do they cost?", "They cost 5 EUR.", frozenset({"secrets"})),
        Turn("And steel?", "It costs 7 EUR.", None),
    ]
    _, requests = written(answers("Dry [1]."), tmp_path, said=said)
    shown = told(requests[0])
    assert "Question: How are beams stored?\nAnswer: Under a roof." in shown
    assert "Question: What do they cost?\nAnswer: \n" in shown
    assert "EUR" not in shown
