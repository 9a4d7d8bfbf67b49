"""Questions from documents: what is made of each by a model that plays a script, or without one."""

from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.identity import document_id
from rag_assets.models.language.opening import open_language_model
from rag_assets.questions import from_documents
from rag_assets.questions.indexed_passages import IndexedPassages
from rag_assets.store import Store
from rag_assets.store.pins import pin_of
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults.project import Project
from rag_assets_testing.scripted_language_model import (
    ScriptedServer,
    cut,
    ends_by,
    status,
)
from rag_assets_tests.questions import coatings
from rag_assets_tests.questions.coatings import build, config_of, good, model, text_of, write


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A project whose index is built: nobody writes to it."""
    made = tmp_path_factory.mktemp("coatings")
    for place, name in enumerate(coatings.NAMES):
        write(made, name, text_of(name, hours=100 * (place + 1)))
    build(made)
    return made


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    coatings.short_windows(monkeypatch)
    monkeypatch.setattr("rag_assets.models.hosted.FIRST_PAUSE", 0.01)


@contextmanager
def asking(home, script, calls, **settings):
    """The inputs, and a function that makes questions of documents with a scripted model."""
    with ScriptedServer(script) as server:
        config = config_of(home, url=server.url, **settings)
        store = Store.of(config)

        def made(keys):
            with open_language_model(config, state=calls) as writer:
                yield from from_documents.documents_made(store, config, keys, writer)

        yield from_documents.document_inputs(store, config)["key"].to_pylist(), made, server


def id_of(name):
    return document_id("handbooks", f"{name}.md")


def drafts_of(home, script, calls, **settings):
    """The drafts of each document, by its name."""
    with asking(home, script, calls, **settings) as (keys, made, _):
        found = {each.key: each for each in made(keys)}
        assert not any(each.failure for each in found.values())
    return {name: found[id_of(name)].drafts for name in coatings.NAMES if id_of(name) in found}


def reasons(drafts):
    return {draft.left_out for draft in drafts}


def test_good_questions_of_each_document_are_kept_with_their_gold(home, tmp_path):
    found = drafts_of(home, model(), tmp_path)

    assert found.keys() == set(coatings.NAMES)
    for name, drafts in found.items():
        assert [draft.left_out for draft in drafts] == ["", ""]
        assert {draft.kind for draft in drafts} == {"from_fact", "from_question"}, "they alternate"
        for draft in drafts:
            [gold] = draft.gold
            assert gold.uri == f"handbooks/{name}.md"
            assert gold.quote in text_of(name, hours=100 * (1 + coatings.NAMES.index(name)))
            assert (draft.origin, draft.language) == ("from_documents", "en")
            assert draft.answer.split()[0] in gold.quote


def faulty(**changes):
    """A model that answers well, but for some fields; `{coating}` is that of the passage."""

    def make(given):
        if "passages" in given:
            return good(given)
        [coating, _], *_ = coatings.SALT.findall(given["passage"])
        changed = {key: value.format(coating=coating) for key, value in changes.items()}
        return good(given) | changed

    return make


def first_call(behaviour):
    """A model whose first call goes wrong."""
    return lambda given: good(given) if "passages" in given else behaviour


def second_call(made):
    """A model whose second call goes wrong."""
    return lambda given: made if "passages" in given else good(given)


def test_each_question_that_is_none_is_kept_with_its_reason(home, tmp_path):
    script = model(
        zinc=faulty(question="How long does this coating {coating} bear salt spray?"),
        nickel=faulty(span="Bolts with the coating {coating} bear anything for ever."),
        wax=faulty(question="Do bolts of coating {coating} bear it 1 hours?", answer="1 hours"),
        chrome=faulty(question="How long do bolts with the coating x resist salt spray?"),
        lacquer=second_call({"passage": 0}),
        paint=faulty(question="Hur länge ska bultar med coating {coating} tåla saltspray och det?"),
    )

    found = drafts_of(home, script, tmp_path)

    assert reasons(found["zinc"]) == {"it makes sense only beside its text: 'this'"}
    assert reasons(found["nickel"]) == {"its span does not stand in one chunk, letter by letter"}
    assert reasons(found["wax"]) == {"it gives its answer away"}
    assert reasons(found["chrome"]) == {"a second reading finds its answer in no chunk"}
    assert reasons(found["lacquer"]) == {"a second reading finds its answer in no chunk"}
    assert reasons(found["paint"]) == {"it is in sv, not in en"}


def test_answers_that_are_none_are_kept_with_what_came_of_the_call(home, tmp_path):
    script = model(
        zinc=first_call(ends_by("stop", "no JSON")),
        nickel=first_call(cut('{"question": "How lo')),
        wax=first_call(ends_by("content_filter")),
        chrome=first_call({"question": "Only this?"}),
        lacquer=second_call(ends_by("stop", "the second")),
        paint=faulty(question="", span="", answer=""),
    )

    found = drafts_of(home, script, tmp_path)

    begins = {name: {reason.split(":")[0] for reason in reasons(found[name])} for name in found}
    assert begins == {
        "zinc": {"malformed"},
        "nickel": {"cut"},
        "wax": {"refused"},
        "chrome": {"malformed"},
        "lacquer": {"second reading"},
        "paint": {"the model finds nothing to ask"},
    }
    assert len({draft.question for draft in found["zinc"]}) == 2, "each has a name of its own"
    assert not any(draft.gold for draft in found["zinc"])


def test_a_chunk_that_is_picked_must_be_the_one_of_the_span(home, tmp_path):
    def other(given):
        if "passages" not in given:
            return good(given)
        return {"passage": 3 - coatings.picked(given)}

    found = drafts_of(home, model(wax=other), tmp_path)

    assert reasons(found["wax"]) == {"a second reading finds its answer in another chunk"}
    assert reasons(found["zinc"]) == {""}


def test_the_number_of_a_chunk_may_be_written_as_a_decimal(home, tmp_path):
    def decimal(given):
        said = coatings.good(given)
        return {"passage": float(said["passage"])} if "passages" in given else said

    made = drafts_of(home, model(zinc=decimal), tmp_path)

    assert reasons(made["zinc"]) == {""}


def test_a_question_is_asked_once_of_a_document(home, tmp_path):
    def same(given):
        if "passages" not in given:
            return good(given) | {"question": "How long do bolts in the Handbook of wax bear salt?"}
        first = min(coatings.SALT.search(text)[1] for text in given["passages"].values())
        return good({**given, "question": f"coating {first}"})

    found = drafts_of(home, model(wax=same), tmp_path)

    assert [draft.left_out for draft in found["wax"]] == [
        "",
        "it asks what another one of its document asks",
    ]


def test_the_second_call_sees_no_order_and_no_span(home, tmp_path):
    with asking(home, model(), tmp_path) as (keys, made, server):
        list(made(keys))
    given = [coatings.asked_of(body) for body in server.requests]
    picks = [each for each in given if "passages" in each]

    assert len(picks) == len(given) / 2 == 2 * len(coatings.NAMES)
    assert all(each.keys() == {"question", "passages"} for each in picks)
    assert len({coatings.picked(each) for each in picks}) > 1


def test_what_a_killed_run_asked_is_not_asked_again(home, tmp_path):
    with asking(home, model(), tmp_path) as (keys, made, server):
        begun = made(keys)
        first = list(islice(begun, 2))
        begun.close()
        asked = server.calls
        again = list(made(keys))
        bodies = [str(body["messages"]) for body in server.requests]

    assert [each.key for each in again] == keys
    assert again[:2] == first
    assert asked > 0
    assert len(set(bodies)) == len(bodies) == 4 * len(keys)


def test_a_model_that_is_away_is_asked_no_more_and_later_again(home, tmp_path, monkeypatch):
    monkeypatch.setattr("rag_assets.questions.indexed_passages.DOCUMENTS_AT_ONCE", 1)
    monkeypatch.setattr("rag_assets.questions.from_documents.WINDOWS_AT_ONCE", 1)
    away = []

    def script(body):
        return status(500) if away else model()(body)

    with asking(home, script, tmp_path) as (keys, made, server):
        begun = made(keys)
        done = [next(begun)]
        away.append(True)
        done += list(begun)
        calls = server.calls
        away.clear()
        again = list(made(keys))

    assert not done[0].failure
    assert all("unavailable" in each.failure and not each.drafts for each in done[1:])
    assert {each.key for each in done} == set(keys), "each document has an account"
    assert calls <= 4 + 2 * 2, "two attempts for each window of a document, and no further one"
    assert not any(each.failure for each in again)


def test_without_a_model_sentences_are_asked_for(home, tmp_path):
    config = config_of(home)
    store = Store.of(config)
    keys = from_documents.document_inputs(store, config)["key"].to_pylist()

    found = list(from_documents.documents_made(store, config, keys, None))

    assert [each.key for each in found] == keys
    for draft in (draft for each in found for draft in each.drafts):
        assert (draft.origin, draft.kind, draft.left_out) == ("known_items", "sentence", "")
        assert draft.gold[0].quote == draft.question


PHONE = "0046-21-12 34 56-9931"


def test_rows_of_tables_and_numbers_are_not_asked_for(changing):
    row = "| Bolt quarantined | spectroscopic adjudication | before any shipment |"
    table = f"| Item | Reason | Time |\n|---|---|---|\n{row}"
    write(
        changing,
        "zinc",
        f"# Zinc\n\n{table}\n\n{PHONE}\n\nNo bolt of zinc may be bent when cold.\n",
    )
    build(changing)

    config = config_of(changing)
    made = from_documents.documents_made(Store.of(config), config, [id_of("zinc")], None)
    asked = [draft.question for each in made for draft in each.drafts]

    assert asked == ["No bolt of zinc may be bent when cold."]


def test_a_sentence_that_stands_elsewhere_as_well_is_not_asked_for(changing):
    sentence = "Quarantined bolts await spectroscopic adjudication before shipment."
    for name in ("zinc", "wax"):
        write(changing, name, text_of(name, sections=2, more=f" {sentence}"))
    config = config_of(changing)
    store = Store.of(config)

    def asked():
        build(changing)
        made = from_documents.documents_made(store, config, [id_of("zinc")], None)
        return [draft.question for each in made for draft in each.drafts]

    shared = asked()
    write(changing, "wax", text_of("wax", sections=2))
    write(changing, "zinc", text_of("zinc", sections=2).strip() + f" {sentence}\n")
    alone = asked()

    assert shared
    assert sentence not in shared
    assert sentence in alone


def test_of_a_source_that_the_model_may_not_see_nothing_is_sent(home, tmp_path):
    with ScriptedServer(model()) as server:
        config = config_of(home, url=server.url)
        config.language_models["writer"].sources.clear()
        store = Store.of(config)
        keys = from_documents.document_inputs(store, config)["key"].to_pylist()
        with open_language_model(config, state=tmp_path) as writer:
            made = list(from_documents.documents_made(store, config, keys, writer))

    assert server.calls == 0
    assert {draft.origin for each in made for draft in each.drafts} == {"known_items"}


def test_gold_is_found_in_the_index(home, tmp_path):
    drafts = [each for found in drafts_of(home, model(), tmp_path).values() for each in found]
    config = config_of(home)
    store = Store.of(config)
    joint = pin_of(store, config.tables_of("default").joint)
    gold = [each.gold[0] for each in drafts]

    indexed = read_indexed_gold(store, config, variant="default", joint=joint, gold=gold)

    assert all(len(units) == 1 for units in indexed.quotes.values())
    assert len(indexed.quotes) == len(gold)


def inputs_of(home, **settings):
    config = config_of(home, **settings)
    table = from_documents.document_inputs(Store.of(config), config)
    return dict(zip(*table.to_pydict().values(), strict=True))


def test_as_many_documents_are_asked_of_as_the_config_says(home):
    assert len(inputs_of(home)) == len(coatings.NAMES)
    assert len(inputs_of(home, most=6)) == 3
    assert len(inputs_of(home, most=1)) == 1
    assert inputs_of(home, most=0) == {}
    assert set(inputs_of(home, most=4)) <= set(inputs_of(home, most=6))


def test_before_the_first_index_there_is_nothing_to_ask(tmp_path):
    assert inputs_of(tmp_path) == {}


@built_once
def two_documents(home: Path) -> Project:
    for name in ("zinc", "wax"):
        write(home, name, text_of(name))
    build(home)
    return Project(home)


@pytest.fixture
def changing(tmp_path):
    """A project of two documents that a test may change."""
    return two_documents(tmp_path).home


def test_only_an_edited_document_is_another_input(changing):
    before = inputs_of(changing)
    write(changing, "wax", text_of("wax", hours=700))
    build(changing)
    after = inputs_of(changing)

    assert before.keys() == after.keys()
    assert {key for key in before if before[key] != after[key]} == {id_of("wax")}


def test_another_chunking_is_no_other_input(changing):
    other = {"state": "other", "size": "128", "header": "none"}
    build(changing, **other)

    assert inputs_of(changing, **other) == inputs_of(changing)


def test_of_copies_one_is_asked_of(changing):
    write(changing, "copy", text_of("wax"))
    build(changing)

    assert len(inputs_of(changing)) == 2


def test_while_the_index_is_behind_the_sources_nothing_is_made(changing):
    from rag_assets.sources.files.manifest import refresh_document_files

    write(changing, "wax", text_of("wax", hours=700))
    config = config_of(changing)
    store = Store.of(config)
    sources = config.sources.documents
    refresh_document_files(store, sources, allow_shrink=False, log=print)

    made = list(from_documents.documents_made(store, config, [id_of("wax")], None))

    assert [each.failure for each in made] == [from_documents.BEHIND]


def test_a_fact_that_another_document_states_as_well_is_no_question(changing, tmp_path):
    write(changing, "twin", text_of("wax", more=" So does the other one."))
    build(changing)

    with asking(changing, model(), tmp_path / "calls") as (_, made, _server):
        [zinc, wax] = made([id_of("zinc"), id_of("wax")])

    assert reasons(zinc.drafts) == {""}
    assert reasons(wax.drafts) == {"another chunk of the index answers it as well"}


def test_texts_that_many_documents_share_are_passed_over(changing):
    notice = "## Notice\n\nAll rights are reserved by the maker of the bolts, who may be asked.\n"
    for name in ("zinc", "wax", "paint"):
        write(changing, name, f"{text_of(name, sections=2)}\n{notice}")
    write(changing, "notice", notice)
    build(changing)
    config = config_of(changing)
    store = Store.of(config)
    keys = [id_of(name) for name in ("zinc", "notice")]

    indexed = IndexedPassages.of(store, config)
    assert indexed is not None
    [[zinc, empty]] = indexed.passages(keys, most=3)
    made = list(from_documents.documents_made(store, config, keys, None))

    texts = [chunk.text for window in zinc.windows for chunk in window]
    assert texts
    assert not any("reserved" in text for text in texts)
    assert empty.windows == []
    [nothing] = made[1].drafts
    assert nothing.left_out
    assert not nothing.gold
