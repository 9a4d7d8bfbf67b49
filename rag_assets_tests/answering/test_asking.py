"""From a question to an answer, on a real index."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from rag_assets.answering.refusal.curve import Curve
from rag_assets.answering.refusal.deciding import RefusalRule
from rag_assets.answering.refusal.deciding import file_of as refusal_file
from rag_assets.answering.refusal.promise import Promise

from rag_assets.answering.answer import Answer, from_json, to_json
from rag_assets.answering.asking import ask
from rag_assets.answering.citations import Cell, Span
from rag_assets.answering.evaluating import evaluate_answers, file_of
from rag_assets.answering.report import report_of
from rag_assets.config import Config
from rag_assets.evaluation.questions import refresh_questions
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.search import EmptyQueryError, VariantIndex
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically
from rag_assets_tests.answering import project

Asked = Callable[..., Answer]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    return project.built(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def index(config: Config) -> VariantIndex:
    return open_index(Store.of(config), config, "default")


@pytest.fixture(scope="module")
def asked(config: Config, index: VariantIndex) -> Asked:
    def answer(question: str, **wishes) -> Answer:
        return ask(index, question, store=Store.of(config), config=config, **wishes)

    return answer


def test_a_question_to_documents_is_answered_in_their_words(asked: Asked):
    answer = asked("What is the stiffness of the spring?")
    assert (answer.outcome, answer.mode) == ("answered", "extractive")
    stating = [each for each in answer.sentences if "12 N/mm" in each.text]
    assert [each.support for each in stating] == ["full"]
    [citation] = stating[0].citations
    assert isinstance(citation, Span)
    assert citation.uri == "spring.md"


def test_all_cited_units_were_shown(asked: Asked):
    for question in ("What is the stiffness of the spring?", "What is the density of Invar?"):
        answer = asked(question)
        shown = {each.unit_id for each in answer.shown}
        assert {getattr(each, "unit_id", None) for each in answer.citations} <= {*shown, None}


def test_a_question_to_a_table_is_answered_by_its_cells(asked: Asked):
    answer = asked("What is the density of Invar?")
    assert answer.outcome == "answered"
    values = {each.value for each in answer.citations if isinstance(each, Cell)}
    assert Decimal("8.05") in values
    assert {each.support for each in answer.sentences} == {"full"}


def test_filters_hold_for_the_answer_and_stand_in_its_scope(asked: Asked):
    answer = asked("What is the density of Invar?", filters=Filters(domain="document"))
    assert {each.domain for each in answer.shown} == {"document"}
    assert not any(isinstance(each, Cell) for each in answer.citations)
    assert answer.scope.filters == {"domain": "document"}


def test_where_nothing_may_be_found_nothing_is_said(asked: Asked):
    answer = asked("stiffness", filters=Filters(source="laboratory", domain="document"))
    assert (answer.outcome, answer.sentences, answer.mode) == ("nothing", (), None)
    assert answer.reason


def test_no_more_sentences_than_the_config_allows(config: Config, index: VariantIndex):
    few = config.model_copy(
        update={"answering": config.answering.model_copy(update={"sentences": 1})}
    )
    answer = ask(index, "spring energy stiffness paint", store=Store.of(config), config=few)
    assert len(answer.sentences) == 1


def test_the_same_question_has_the_same_answer_but_for_its_times(asked: Asked):
    first, second = asked("spring stiffness"), asked("spring stiffness")
    assert replace(first, seconds={}) == replace(second, seconds={})


def test_an_answer_survives_its_json(asked: Asked):
    answer = asked("What is the density of Invar?")
    assert from_json(to_json(answer)) == answer


def test_a_row_that_is_left_out_is_not_looked_up(asked: Asked):
    answer = asked("What is the density of Invar?")
    assert answer.mode == "lookup"
    rows = frozenset(each.unit_id for each in answer.shown if each.domain == "table")
    found = asked("What is the density of Invar?", filters=Filters(without=rows))
    cited = {each.unit_id for each in found.citations if isinstance(each, Cell | Span)}
    assert cited.isdisjoint(rows)


@pytest.mark.parametrize("question", ["What is the density of Invar?", "spring stiffness"])
def test_a_doubtful_answer_is_withheld_however_it_was_made(
    asked: Asked, config: Config, index: VariantIndex, question: str
):
    curve = Curve(names=("lead",), means=(0.0,), scales=(1.0,), weights=(0.0,), intercept=0.0)
    promise = Promise(0.1, 0.95, 0.9, questions=100, needed=None)
    rule = RefusalRule("by hand", curve, 0.2, promise, None)
    retriever = index.settings.retrievers[config.retrieval.retriever]
    file = refusal_file(Store.of(config), index.complete_set, retriever, within=index.settings)
    write_atomically(file, rule.to_json())
    try:
        answer = asked(question)
    finally:
        file.unlink()
    assert (answer.outcome, answer.mode, answer.confidence) == ("closest", None, 0.5)
    assert answer.sentences
    assert answer.reason
    assert asked(question).outcome == "answered"


def test_a_blank_question_is_refused(asked: Asked):
    with pytest.raises(EmptyQueryError, match=r"^the query is empty"):
        asked(" ")


def test_answers_to_the_questions_are_measured_once(config: Config):
    store, said = Store.of(config), []
    refresh_questions(store, config, log=said.append)
    first = evaluate_answers(store, config, variant="default", log=said.append)
    assert first is not None
    assert {domain.domain: domain.questions for domain in first.domains} == {
        "document": 1,
        "table": 1,
    }
    assert all(domain.numbers["completeness"].mean == 1 for domain in first.domains)
    assert "completeness" in report_of(first)
    assert file_of(store, "default").is_file()
    said.clear()
    assert evaluate_answers(store, config, variant="default", log=said.append) == first
    assert said == []


def test_other_settings_are_measured_anew(config: Config):
    store = Store.of(config)
    fewer = config.model_copy(
        update={"answering": config.answering.model_copy(update={"sentences": 1})}
    )
    first = evaluate_answers(store, config, variant="default", log=lambda _: None)
    second = evaluate_answers(store, fewer, variant="default", log=lambda _: None)
    assert first is not None
    assert second is not None
    assert first.made_from != second.made_from
