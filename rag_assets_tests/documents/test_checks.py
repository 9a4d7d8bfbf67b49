import pyarrow as pa
import pyarrow.compute as pc
import pytest

from rag_assets.change import sync
from rag_assets.config import Config, Variant
from rag_assets.config.indexes import IndexSettings, TextIndexSettings
from rag_assets.documents import checks
from rag_assets_testing.documents.making import SENTENCE
from rag_assets_tests.quality.judging import failures, judged, tamper

FAILED = {"few_documents_failed", "no_document_failed"}
LOCKED = {"locked.pdf": ("encrypted", "it asks for a password")}


@pytest.fixture
def built(project):
    project.write("a.md", f"# Title\n\n{SENTENCE}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    project.write("b.md", f"# Other\n\n{SENTENCE * 40}")
    project.write("c.md", "<!-- -->")
    project.write("locked.pdf", "%PDF")
    project.list_files(**LOCKED)
    project.parse()
    project.chunk()
    return project


def judge(project, asset, **sections):
    config = project.config.model_copy(
        update={"variants": {"default": Variant(parser="plain", chunking="fixed_256")}}
    )
    assert isinstance(config, Config)
    config = config.model_copy(update=sections)
    return judged(checks.subjects(config), project.store, asset=asset)


def rows_of(project, name):
    return project.store.read(name)


def edited(table: pa.Table, column: str, values: list) -> pa.Table:
    place = table.column_names.index(column)
    field = table.schema.field(place)
    return table.set_column(place, field, pa.array(values, field.type))


def test_a_sound_build_holds_and_failed_documents_are_named(built):
    assert failures(judge(built, "chunks")) == {}

    found = failures(judge(built, "parsed_documents"))

    assert found.keys() == FAILED, "one of three readable documents"
    for name in FAILED:
        (example,) = found[name].examples
        assert example["document"] == "c.md"
        assert "holds no text" in example["reason"]
    assert not judge(built, "parsed_documents").blocks


def test_one_failed_document_of_many_is_a_warning(built):
    for number in range(20):
        built.write(f"more{number}.md", f"# More {number}\n\n{SENTENCE}")
    built.list_files(**LOCKED)
    built.parse()
    built.chunk()

    result = judge(built, "parsed_documents")
    assert failures(result).keys() == {"no_document_failed"}, "c.md is less than a tenth of them"
    assert {item.severity for item in result.failed} == {"warning"}

    failure = sync.Failure(built.id_of("a.md"), "a.md: took too long", "a.md", "environment")
    sync.record(built.store, target=built.chunks_table(), failures=[failure])
    found = failures(judge(built, "chunks"))["no_document_failed"]
    assert found.examples == [{"document": "a.md", "reason": "took too long"}]


def test_a_document_that_got_lost_is_named(built):
    table = built.elements_table
    held = rows_of(built, table)
    tamper(built.store, table, held.filter(pc.not_equal(held["document_id"], built.id_of("b.md"))))

    result = judge(built, "parsed_documents")

    assert result.blocks
    assert failures(result)["documents_complete"].examples == [{"document": "b.md"}]


def test_an_unknown_type_of_element_is_named(built):
    table = built.elements_table
    held = rows_of(built, table)
    tamper(built.store, table, edited(held, "type", ["poem"] * held.num_rows))

    outcome = failures(judge(built, "parsed_documents"))["types_known"]

    assert outcome.observed == held.num_rows
    assert outcome.examples[0]["type"] == "poem"


@pytest.mark.parametrize(
    ("column", "value", "check"),
    [
        ("text", " \n\t", "text_present"),
        ("tokens", 257, "tokens_fit"),
        ("char_end", 0, "spans_valid"),
        ("element_end", -1, "spans_valid"),
        ("chunk_id", "the same", "ids_unique"),
    ],
)
def test_a_broken_chunk_is_found_and_shown(built, column, value, check):
    table = built.chunks_table()
    held = rows_of(built, table)
    assert held.num_rows > 2
    tamper(built.store, table, edited(held, column, [value] * held.num_rows))

    result = judge(built, "chunks")

    assert check in failures(result)
    outcome = failures(result)[check]
    assert outcome.observed == held.num_rows - (check == "ids_unique")
    assert len(outcome.examples) == (1 if check == "ids_unique" else min(5, held.num_rows))
    assert result.blocks


def test_a_parsed_document_without_chunks_is_named(built):
    table = built.chunks_table()
    held = rows_of(built, table)
    tamper(built.store, table, held.filter(pc.equal(held["uri"], "b.md")))

    outcome = failures(judge(built, "chunks"))["documents_complete"]

    assert outcome.examples == [{"document": "a.md"}]


def test_what_another_run_has_moved_since_is_not_lost(built):
    built.write("new.md", f"# New\n\n{SENTENCE}")
    built.list_files(**LOCKED)
    assert failures(judge(built, "parsed_documents")).keys() == FAILED

    built.parse()
    assert failures(judge(built, "chunks")) == {}

    (built.folder / "a.md").unlink()
    built.list_files(**LOCKED)
    built.chunk()
    assert failures(judge(built, "chunks")) == {}


def test_a_document_that_a_complete_pass_covered_and_the_table_lacks_is_lost(built):
    table = built.chunks_table()
    built.store.delete(table, column="document_id", keys=[built.id_of("a.md")])

    outcome = failures(judge(built, "chunks"))["documents_complete"]

    assert outcome.examples == [{"document": "a.md"}]


def test_chunks_in_another_language_are_drift(project):
    for number in range(60):
        project.write(f"{number}.md", f"# {number}\n\n{SENTENCE}")
    project.list_files()
    project.parse()
    project.chunk()
    assert failures(judge(project, "chunks")) == {}
    swedish = "Provet visar att ytan ska kontrolleras och att det inte är klart efter steget. "
    for number in range(20):
        project.write(f"{number}.md", f"# {number}\n\n{swedish}")
    project.list_files()
    project.parse()
    project.chunk()

    result = judge(project, "chunks")

    assert failures(result).keys() == {"drift_languages"}
    assert not result.blocks
    shares = {
        row["of"]: (row["before"], row["now"])
        for row in failures(result)["drift_languages"].examples
    }
    assert shares["en"] == (1.0, pytest.approx(2 / 3, abs=1e-3))
    assert shares["sv"] == (0.0, pytest.approx(1 / 3, abs=1e-3))


def test_text_without_blanks_asks_for_a_tokenizer_that_cuts_it(project):
    project.write("pump.md", "# ポンプ\n\nこのポンプは毎分四十リットルの水を送ります。\n")
    project.write("other.md", f"# Other\n\n{SENTENCE}")
    project.list_files()
    project.parse()
    found = failures(judge(project, "parsed_documents"))["words_searchable"]
    words = IndexSettings(text=TextIndexSettings(tokenizer="icu"))

    assert [example["document"] for example in found.examples] == ["pump.md"]
    assert "words_searchable" not in failures(judge(project, "parsed_documents", index=words))
