"""An answer is run again on what it used, byte for byte, or it is said what is gone."""

from dataclasses import replace

import pytest

from rag_assets.answering.record.database import answers_of
from rag_assets.answering.record.differing import difference_of
from rag_assets.answering.record.kept import canonical
from rag_assets.answering.record.listing import one
from rag_assets.answering.record.replaying import ReplayError, replay
from rag_assets.retrieval.filters import Filters
from rag_assets_testing.faults import project
from rag_assets_testing.faults.pipeline import clean_up_at_once
from rag_assets_testing.recorded_answers import asked, build, built, quoting_again

QUESTION = "specimen 0 of series"
ONE_REPORT = Filters(domain="document", documents=frozenset({"series0/report0.md"}))


@pytest.fixture
def made(tmp_path):
    return built(tmp_path / "project")


def replayed(made, answer_id, **options):
    kept = one(answers_of(made.store), answer_id)
    return replay(kept, config=made.config, ask=quoting_again, **options)


def edit(made, uri, edition=2):
    number = int(uri.partition("report")[2].partition(".")[0])
    made.write(uri, project.report(number, edition=edition))
    build(made)


OPTIONS = {
    "as configured": {},
    "filtered": {
        "filters": Filters(domain="document", documents=frozenset({"series0/report0.md"}))
    },
    "with a retriever that was named": {
        "retriever": "bm25",
        "filters": Filters(domain="table"),
    },
}


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    """A project that was edited after some answers, and their ids."""
    made = built(tmp_path_factory.mktemp("edited") / "project")
    ids = {name: asked(made, QUESTION, **options) for name, options in OPTIONS.items()}
    edit(made, "series0/report0.md")
    return made, ids


@pytest.mark.parametrize("options", OPTIONS)
def test_the_same_versions_give_the_same_bytes(edited, options):
    made, ids = edited

    done = replayed(made, ids[options])

    assert canonical(done.answer) == canonical(done.kept.answer)
    assert done.difference.is_equal
    assert done.difference.units == ()
    assert done.answer.sentences


def test_scores_and_times_are_no_part_of_what_is_compared_and_ranks_are(made):
    kept = one(answers_of(made.store), asked(made, QUESTION)).answer
    first, second, *others = kept.shown
    scored = replace(kept, shown=(replace(first, score=first.score + 1e-5), second, *others))
    ranked = replace(
        kept, shown=(replace(second, rank=1), replace(first, rank=2), *others), seconds={}
    )

    found = difference_of(kept, replace(scored, seconds={"search": 9.0}))
    assert found.is_equal
    assert found.score == pytest.approx(1e-5)
    assert not difference_of(kept, ranked).is_equal


def test_settings_of_then_are_used_whatever_the_config_says_now(made):
    answer_id = asked(made, QUESTION)
    made.file.write_text(made.file.read_text() + "answering: {hits: 1}\n")

    assert replayed(made, answer_id).difference.is_equal
    assert len(replayed(made, answer_id, on="current").answer.shown) == 1


def test_settings_that_are_gone_change_nothing(made):
    kept = one(answers_of(made.store), asked(made, QUESTION))
    settings = {**kept.context.conditions.answering, "risk": 0.1, "sentences": 4}
    conditions = replace(kept.context.conditions, answering=settings)

    assert conditions.within(made.config).answering == made.config.answering


def test_a_retriever_is_that_of_then_whatever_its_name_means_now(made):
    answer_id = asked(made, QUESTION, retriever="bm25")
    edited = "retrieval: {retriever: bm25, retrievers: {bm25: {signals: [dense]}}}"
    text = made.file.read_text()
    made.file.write_text(text.replace("retrieval: {retriever: bm25}", edited))

    assert replayed(made, answer_id).difference.is_equal


def test_what_differs_on_todays_index_is_shown(made):
    answer_id = asked(made, QUESTION)
    kept = one(answers_of(made.store), answer_id)
    uri = kept.answer.shown[0].uri
    edit(made, uri)

    found = replayed(made, answer_id, on="current").difference

    assert not found.is_equal
    assert {uri} == {each.uri for each in found.units if each.before is None}
    assert any(line.startswith(f"{uri}: “") for line in found.citations_new)
    assert all(line not in found.citations_new for line in found.citations_gone)
    assert {line[0] for line in found.sentences} <= {" ", "-", "+"}
    assert found.record["equal"] is False


def test_versions_that_were_cleaned_up_are_named(made):
    answer_id = asked(made, QUESTION)
    edit(made, "series0/report0.md")
    edit(made, "series0/report0.md", edition=3)  # what served before stays for a rollback
    clean_up_at_once(made.config)
    clean_up_at_once(made.config)

    with pytest.raises(ReplayError, match=r"joint__.* \(version \d+\).* is gone"):
        replayed(made, answer_id)
    assert replayed(made, answer_id, on="current").answer.sentences


def test_a_reranker_that_is_missing_is_named(made):
    answer_id = asked(made, QUESTION)
    kept = one(answers_of(made.store), answer_id)
    side = kept.context.conditions.query_side
    settings = {**side.settings, "reranker": "gone"}
    lost = {"gone": {"backend": "sentence_transformers", "path": "nowhere/at_all"}}
    conditions = replace(
        kept.context.conditions,
        query_side=replace(side, settings=settings, rerankers=lost),
    )
    kept = replace(kept, context=replace(kept.context, conditions=conditions))

    with pytest.raises(ReplayError, match="cannot be run again with what it used"):
        replay(kept, config=made.config, ask=quoting_again)
