"""The corpora that the benchmarks make are what they say: gold, quotes, languages and splits."""

import importlib
import json
import sqlite3
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from rag_assets.quality.languages import language_of_each
from rag_assets.terms.words import normalized

REPOSITORY = Path(__file__).parents[1]
SITES = {"valmaro": "sv", "luedenhagen": "de", "group": "en"}


@pytest.fixture(scope="module")
def benchmark():
    """Imports a module of `benchmarks/`, whose folder is on the path where one runs."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(REPOSITORY / "benchmarks")
        yield importlib.import_module


@pytest.fixture(scope="module")
def corpora(benchmark, tmp_path_factory):
    """The folder of each corpus by its name."""
    root = tmp_path_factory.mktemp("corpora")
    writers = benchmark("generated_corpora").WRITERS
    for name, write in writers.items():
        write(root / name)
    return {name: root / name for name in writers}


@pytest.fixture(scope="module")
def mixed(corpora):
    return corpora["mixed_languages"]


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def rows_of(folder):
    """The cells of each row by its gold id."""
    found = {}
    database = sqlite3.connect(folder / "tables.sqlite")
    for table in lines(folder / "tables.jsonl"):
        for key, *cells in database.execute(f'SELECT * FROM "{table["table"]}"'):
            found[f"row:{table['table']}:{key}"] = [str(cell) for cell in cells]
    database.close()
    return found


def is_in_row(answer, cells):
    """Whether the answer is a cell, or a sentence of one."""
    return answer in cells or (answer.endswith(".") and any(answer in cell for cell in cells))


def flaws(folder, *, answers_are_cells=True):
    """What does not hold of a dataset: gold that is not there, quotes, answers, questions twice."""
    paths = {line["doc_id"]: folder / line["path"] for line in lines(folder / "documents.jsonl")}
    rows = rows_of(folder)
    questions = lines(folder / "questions.jsonl")
    for question in questions:
        for gold in question["gold"]:
            domain, _, name = gold.partition(":")
            is_told = gold in rows and (
                not answers_are_cells or is_in_row(question["answer"], rows[gold])
            )
            if domain == "row" and not is_told:
                yield f"{question['id']}: {gold} does not say {question['answer']!r}"
            if domain == "doc" and name not in paths:
                yield f"{question['id']}: there is no document {name}"
        for evidence in question.get("evidence", ()):
            text = paths[evidence["doc_id"]].read_text("utf-8")
            if normalized(evidence["text"]) not in normalized(text):
                yield f"{question['id']}: {evidence['text']!r} is not in {evidence['doc_id']}"
    for name in ("id", "question"):
        counts = Counter(question[name] for question in questions)
        yield from (f"twice: {value}" for value, count in counts.items() if count > 1)


CORPORA = ("mixed_languages", "reference_manual", "product_pages", "ticket_log")


@pytest.mark.parametrize("name", CORPORA)
def test_gold_quotes_and_answers_are_there(corpora, name):
    assert not list(flaws(corpora[name]))


@pytest.mark.parametrize(
    ("name", "language"),
    [("english_manual", "en"), ("german_manual", "de"), ("swedish_manual", "sv")],
)
def test_plain_corpora_have_their_gold_and_sixty_questions(corpora, name, language):
    """As they answer in plain words, an answer need be no cell."""
    assert not list(flaws(corpora[name], answers_are_cells=False))
    questions = lines(corpora[name] / "questions.jsonl")
    assert Counter(each["domain"] for each in questions) == {"doc": 38, "table": 22}
    assert {each["lang"] for each in questions} == {language}


def test_the_corpus_of_data_tables_has_its_gold(corpora):
    folder = corpora["data_tables"]
    assert not list(flaws(folder, answers_are_cells=False))
    found = Counter(each["domain"] for each in lines(folder / "questions.jsonl"))
    assert found == {"doc": 20, "table": 40}


def test_a_wrong_quote_row_and_question_are_found(mixed, benchmark, tmp_path):
    corpus, layout = benchmark("mixed_corpus"), benchmark("dataset_layout")
    questions = lines(mixed / "questions.jsonl")
    of_row = next(each for each in questions if each["domain"] == "table")
    of_document = next(each for each in questions if each["domain"] == "doc")
    of_row["answer"] = "never said"
    of_document["evidence"][0]["text"] = "never said"
    questions.append({**questions[-1], "id": "another"})
    layout.write(
        tmp_path, documents=corpus.documents(), tables=corpus.tables(), questions=questions
    )
    assert len(list(flaws(tmp_path))) == 3


def test_the_mixed_corpus_has_questions_in_three_languages(mixed):
    questions = lines(mixed / "questions.jsonl")
    assert Counter(each["lang"] for each in questions) == {"sv": 40, "de": 40, "en": 25}
    found = language_of_each(pa.array([each["question"] for each in questions])).to_pylist()
    wrong = [
        each["question"]
        for each, language in zip(questions, found, strict=True)
        if language not in (None, each["lang"])
    ]
    assert not wrong


def test_each_site_writes_in_its_language(mixed):
    for site, language in SITES.items():
        texts = [path.read_text("utf-8") for path in (mixed / "docs" / site).rglob("*.*")]
        assert set(language_of_each(pa.array(texts)).to_pylist()) == {language}


@pytest.mark.parametrize("name", CORPORA)
def test_half_of_the_questions_of_each_language_and_domain_are_for_tuning(corpora, name):
    questions = lines(corpora[name] / "questions.jsonl")
    counts = Counter((each["lang"], each["domain"], each["split"]) for each in questions)
    for language, domain in {(language, domain) for language, domain, _ in counts}:
        dev, test = (counts[language, domain, split] for split in ("dev", "test"))
        assert abs(dev - test) <= 1


def test_generated_corpora_are_the_same_each_time(corpora, benchmark, tmp_path):
    for name in ("product_pages", "ticket_log"):
        benchmark("generated_corpora").WRITERS[name](tmp_path / name)
        for path in sorted((tmp_path / name).rglob("*.[mj]*")):
            assert (
                path.read_bytes()
                == (corpora[name] / path.relative_to(tmp_path / name)).read_bytes()
            )


def test_generated_corpora_are_as_large_as_they_say(corpora):
    sizes = {
        name: tuple(
            len(found)
            for found in (
                lines(corpora[name] / "documents.jsonl"),
                rows_of(corpora[name]),
                lines(corpora[name] / "questions.jsonl"),
            )
        )
        for name in CORPORA
    }
    assert sizes == {
        "mixed_languages": (74, 157, 105),
        "reference_manual": (400, 0, 120),
        "product_pages": (300, 300, 80),
        "ticket_log": (0, 500, 60),
    }


def test_a_page_of_the_manual_does_not_hold_its_question(corpora):
    for question in lines(corpora["reference_manual"] / "questions.jsonl"):
        page = corpora["reference_manual"] / "docs" / question["gold"][0].removeprefix("doc:")
        assert normalized(question["question"]) not in normalized(page.read_text("utf-8"))


@pytest.mark.parametrize("name", ["mixed_languages", "product_pages", "ticket_log"])
def test_paraphrases_do_not_use_the_words_of_their_gold(corpora, benchmark, name):
    shared_words = benchmark("shared_words").shared_words
    rows = rows_of(corpora[name])
    for question in lines(corpora[name] / "questions.jsonl"):
        if question.get("kind", "paraphrase") == "paraphrase":
            [gold] = question["gold"]
            quotes = [each["text"] for each in question.get("evidence", ())]
            page = corpora[name] / "docs" / gold.removeprefix("doc:")
            passages = quotes or rows.get(gold) or [page.read_text("utf-8")]
            found = shared_words(
                question["question"], " ".join(passages), language=question["lang"]
            )
            assert not found, question["question"]


@pytest.mark.parametrize("dataset", ["materials_demo", "ottqa", "mixed_languages"])
def test_paraphrased_questions_share_no_content_word_with_their_gold(corpora, benchmark, dataset):
    paraphrases, shared = benchmark("paraphrases"), benchmark("shared_words").shared_words
    folder = corpora.get(dataset) or benchmark("bounds").SHARED_DATA / dataset
    if not folder.is_dir():
        pytest.skip(f"the dataset {dataset} is not at {folder} (set RAG_ASSETS_SHARED_DATA)")
    questions = paraphrases.paraphrases(dataset)
    assert len(questions) == {"mixed_languages": 10}.get(dataset, 25)
    for question in questions:
        passage = paraphrases.gold_passage(question, folder=folder)
        assert not shared(question["question"], passage, language=question["lang"]), question


@pytest.mark.parametrize(
    ("question", "passage", "language", "shared"),
    [
        ("Who paints the houses?", "A painter and a house.", "en", ["houses", "paints"]),
        ("Hur monteras husen?", "Montering av ett hus", "sv", ["husen", "monteras"]),
        ("Wie alt sind die Häuser?", "Das Haus ist neu.", "de", ["häuser"]),
        ("What could it be?", "It could be that.", "en", []),
    ],
)
def test_inflected_words_are_shared_and_grammar_is_not(
    benchmark, question, passage, language, shared
):
    assert benchmark("shared_words").shared_words(question, passage, language=language) == shared
