"""From a question to an answer, on a real index."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from rag_assets.answering.answer import Answer, from_json, to_json
from rag_assets.answering.asking import AnswerSources, answer_of, stream
from rag_assets.citations.kinds import Absence, Cell, Span
from rag_assets.config import Config
from rag_assets.evaluation.questions import refresh_questions
from rag_assets.laboratory.answer_evaluation.evaluating import evaluate_answers, file_of
from rag_assets.laboratory.answer_evaluation.report import report_of
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.search import EmptyQueryError, VariantIndex
from rag_assets.store import Store
from rag_assets.table_lookup.tables.catalogue import catalogue_of
from rag_assets_testing.scripted_language_model import answers
from rag_assets_tests.answering import project
from rag_assets_tests.answering.generation.test_generated import writing

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
        store = Store.of(config)
        tables = catalogue_of(store, index.complete_set)
        helpers = {name: wishes.pop(name) for name in ("writer", "planner") if name in wishes}
        sources = AnswerSources(index, store, config, tables, **helpers)
        return answer_of(stream(sources, question, **wishes))

    return answer


def test_a_question_to_documents_finds_their_words(asked: Asked):
    answer = asked("What is the stiffness of the spring?")
    assert answer.outcome == "found"
    stating = [each for each in answer.sentences if "12 N/mm" in each.text]
    assert [each.compared for each in stating] == ["verbatim"]
    [citation] = stating[0].citations
    assert isinstance(citation, Span)
    assert citation.uri == "spring.md"
    assert "stores energy" in stating[0].before
    assert "paint is red" in stating[0].after


def test_all_cited_units_were_shown(asked: Asked):
    for question in ("What is the stiffness of the spring?", "What is the density of Invar?"):
        answer = asked(question)
        shown = {each.unit_id for each in answer.shown}
        assert {getattr(each, "unit_id", None) for each in answer.citations} <= {*shown, None}


def test_a_question_to_a_table_is_computed(asked: Asked):
    answer = asked("What is the density of Invar?")
    assert answer.outcome == "computed"
    values = {str(each.value) for each in answer.citations if isinstance(each, Cell)}
    assert "8.05" in values
    assert all(each.is_supported for each in answer.sentences)


def test_filters_hold_for_the_answer_and_stand_in_its_scope(asked: Asked):
    answer = asked("What is the density of Invar?", filters=Filters(domain="document"))
    assert {each.domain for each in answer.shown} == {"document"}
    assert not any(isinstance(each, Cell) for each in answer.citations)
    assert answer.scope.filters == {"domain": "document"}


@pytest.mark.parametrize(
    ("within", "outcome"),
    [
        (("laboratory/alloys",), "computed"),
        (("laboratory/",), "computed"),
        (("laboratory/test_salt", "documents/"), "found"),
        (("documents/heat.md",), "found"),
    ],
)
def test_a_scope_holds_for_what_is_found_and_for_what_is_looked_up(asked: Asked, within, outcome):
    scope = Filters(within=within)
    answer = asked("What is the density of Invar?", filters=scope)
    assert answer.outcome == outcome
    assert answer.scope.filters == {"within": sorted(within)}
    sources = {"document": "documents/{}", "table": "{}"}
    places = [sources[each.domain].format(each.uri) for each in answer.shown]
    assert places
    assert all(scope.covers(*place.split("/", 1)) for place in places), places


def test_what_is_nowhere_within_a_scope_may_be_elsewhere(asked: Asked):
    scope = Filters(within=("documents/heat.md",))
    answer = asked("What is the stiffness of the spring XR-7160?", filters=scope)
    assert answer.outcome == "nothing"
    assert answer.reason == "'XR-7160' is nowhere in what was searched"
    answer = asked("Is the paint of Greenland red?", filters=scope)
    assert answer.reason == "nothing in what was searched holds 'Greenland'"


def test_where_nothing_may_be_found_nothing_is_said(asked: Asked):
    answer = asked("stiffness", filters=Filters(source="laboratory", domain="document"))
    assert (answer.outcome, answer.sentences) == ("nothing", ())
    assert answer.reason


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What is the stiffness of the spring XR-7160?", "XR-7160"),
        ("How long does salt spray last on RTX 5090?", "RTX 5090"),
    ],
)
def test_a_code_that_is_nowhere_leaves_nothing(asked: Asked, question: str, name: str):
    answer = asked(question)
    assert answer.outcome == "nothing"
    [sentence] = answer.sentences
    [absent] = sentence.citations
    assert isinstance(absent, Absence)
    assert absent.looked_for == name
    assert absent.searched > 0
    assert answer.missing == (name,)
    assert name in answer.reason


def test_a_name_in_letters_that_is_nowhere_is_told_above_what_fits_best(asked: Asked):
    answer = asked("Is the paint of Greenland red?")
    assert answer.outcome == "found"
    assert answer.missing == ("Greenland",)
    assert answer.reason == "nothing in the index holds 'Greenland'"


def test_a_name_that_is_missing_beside_others_is_told(asked: Asked):
    answer = asked("Do Invar and Kovar differ in heat?", filters=Filters(domain="document"))
    assert answer.outcome == "found"
    assert answer.reason == "nothing in what was searched holds 'Kovar'"


@pytest.mark.parametrize(
    "question",
    [
        "What is the highest price of the alloys?",
        "How many alloys are cheaper than 3 EUR?",
        "Which alloy has the third highest density?",
    ],
)
def test_an_operation_that_no_lookup_does_is_no_answer(asked: Asked, question: str):
    answer = asked(question)
    assert answer.outcome != "computed"
    assert answer.reason


def test_the_same_question_has_the_same_answer_but_for_its_times(asked: Asked):
    first, second = asked("spring stiffness"), asked("spring stiffness")
    assert replace(first, seconds={}) == replace(second, seconds={})


def test_an_answer_survives_its_json(asked: Asked):
    answer = asked("What is the density of Invar?")
    assert from_json(to_json(answer)) == answer


def test_a_row_that_is_left_out_is_not_looked_up(asked: Asked):
    answer = asked("What is the density of Invar?")
    assert answer.outcome == "computed"
    rows = frozenset(each.unit_id for each in answer.shown if each.domain == "table")
    found = asked("What is the density of Invar?", filters=Filters(without=rows))
    cited = {each.unit_id for each in found.citations if isinstance(each, Cell | Span)}
    assert cited.isdisjoint(rows)


def test_what_a_model_adds_stands_below_what_was_computed(asked: Asked, tmp_path):
    added = "Invar has a density of 8.05 and a curl of 7 [1]. Invar is an alloy [1]."
    with writing(answers(added), tmp_path) as (writer, _):
        answer = asked("What is the density of Invar?", writer=writer)
    assert answer.outcome == "computed"
    assert [each.is_written for each in answer.sentences] == [False, True]
    assert "8.05" in answer.sentences[0].text
    assert answer.sentences[1].text == "Invar is an alloy."


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("Its stiffness is 12 N/mm at room temperature [1].", "written"),
        ("Its stiffness is 13 N/mm at room temperature [1].", "found"),
        ("NOT IN THE SOURCES: all of it", "found"),
    ],
)
def test_what_a_model_writes_is_the_answer_only_if_something_of_it_holds(
    asked: Asked, tmp_path, reply: str, outcome: str
):
    with writing(answers(reply), tmp_path) as (writer, _):
        answer = asked("What is the stiffness of the spring?", writer=writer)
    assert answer.outcome == outcome
    assert all(each.is_written == (outcome == "written") for each in answer.sentences)
    assert outcome == "written" or "the language model w" in answer.reason


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
    fewer = config.model_copy(update={"answering": config.answering.model_copy(update={"hits": 5})})
    first = evaluate_answers(store, config, variant="default", log=lambda _: None)
    second = evaluate_answers(store, fewer, variant="default", log=lambda _: None)
    assert first is not None
    assert second is not None
    assert first.made_from != second.made_from
