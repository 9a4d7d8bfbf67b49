"""Elements to chunks: what is cut again, and what the rows say."""

import pyarrow as pa
import pytest

from rag_assets import schemas
from rag_assets.config import Chunking, Documents, Figures, HeaderRules, addresses
from rag_assets.config.language_models import LanguageModelSettings
from rag_assets.documents.chunks import chunk
from rag_assets.documents.chunks.tokens import TokenCounter
from rag_assets.identity import chunk_id, text_hash
from rag_assets_testing.documents.making import SENTENCE, pdf


@pytest.fixture
def cut(monkeypatch):
    """Documents that were cut, by the number of their blocks."""
    seen = []
    chunks_of = chunk.chunks_of

    def spy(texts, **options):
        seen.extend(len(text.document.blocks) for text in texts)
        return chunks_of(texts, **options)

    monkeypatch.setattr(chunk, "chunks_of", spy)
    return seen


@pytest.fixture
def together(monkeypatch):
    """Documents that were cut together, by the first letter of their texts."""
    found = []
    chunks_of = chunk.chunks_of

    def spy(texts, **options):
        found.append(sorted(text.document.text[0] for text in texts))
        return chunks_of(texts, **options)

    monkeypatch.setattr(chunk, "chunks_of", spy)
    return found


def refresh(project, **options):
    project.list_files()
    project.parse()
    return project.chunk(**options)


def test_chunks_know_where_they_come_from(project):
    project.write("below/a.md", f"# Title\n\n{SENTENCE * 40}\n\n# Other\n\nEnd.\n")
    report = refresh(project)
    rows = project.chunks("below/a.md")
    assert (report.added, report.rows) == (1, len(rows))
    assert len(rows) > 1
    assert [row["index"] for row in rows] == list(range(len(rows)))
    text = "\n\n".join(row["text"] for row in project.elements("below/a.md"))
    for row in rows:
        assert row["text"] == text[row["char_start"] : row["char_end"]]
        assert row["text_hash"] == text_hash(row["text"])
        assert row["tokens"] <= 256
        assert (row["source"], row["uri"], row["pages"]) == ("documents", "below/a.md", [])
        assert row["section_path"] == ["Title"]
    assert rows[0]["chunk_id"] == chunk_id(
        project.id_of("below/a.md"), "fixed_256", rows[0]["text"], 0
    )


def test_chunks_of_a_pdf_know_their_pages(project):
    pdf(project.folder / "a.pdf", [f"<p>{SENTENCE * 3}</p>", "<p>Second page.</p>"])
    refresh(project)
    (row,) = project.chunks("a.pdf")
    assert row["pages"] == [1, 2]


def test_equal_texts_of_one_document_have_their_own_ids(project):
    config = project.config.model_copy(
        update={"chunkings": {"tiny": Chunking(strategy="headers", size=16, overlap=0)}}
    )
    project.write("a.md", "# A\n\nSame.\n\n# A\n\nSame.\n")
    refresh(project, chunking="tiny", config=config)
    rows = project.chunks("a.md", chunking="tiny", config=config)
    assert [row["text"] for row in rows] == ["A\n\nSame."] * 2
    assert len({row["chunk_id"] for row in rows}) == 2


def test_a_second_pass_cuts_nothing(project, cut, monkeypatch):
    project.write("a.md", "One.")
    first = refresh(project)
    monkeypatch.setattr(TokenCounter, "from_file", lambda _: pytest.fail("read the tokenizer"))
    second = project.chunk()
    assert (second.unchanged, second.data_version) == (1, first.data_version)
    assert cut == [1]


def test_only_documents_that_say_something_new_are_cut_again(project, cut):
    for name in "abc":
        project.write(f"{name}.md", f"Text {name}.")
    refresh(project)
    cut.clear()
    project.write("a.md", "New.\n\nText.")
    (project.folder / "b.md").unlink()
    report = refresh(project)
    assert (report.changed, report.removed, report.unchanged) == (1, 1, 1)
    assert cut == [2]
    assert [row["text"] for row in project.chunks("a.md")] == ["New.\n\nText."]


def test_documents_are_cut_together_up_to_so_many_elements(project, together, monkeypatch):
    for name, elements in {"a": 2, "b": 2, "c": 5, "d": 1, "e": 1, "f": 1, "g": 1}.items():
        project.write(f"{name}.md", "\n\n".join(f"{name} {number}." for number in range(elements)))
    monkeypatch.setattr(chunk, "ELEMENTS_A_BATCH", 4)
    monkeypatch.setattr(chunk, "DOCUMENTS_A_BATCH", 3)
    assert refresh(project).added == 7
    assert sorted(name for names in together for name in names) == list("abcdefg")
    assert max(map(len, together)) <= 3
    sizes = {"a": 2, "b": 2, "c": 5}
    assert all(names == ["c"] or sum(sizes.get(n, 1) for n in names) <= 4 for names in together)


def test_documents_are_cut_together_up_to_so_many_bytes_of_their_files(
    project, together, monkeypatch
):
    sizes = {"a": 60, "b": 50, "c": 200, "d": 10, "e": 10, "f": 90}
    for name, size in sizes.items():
        project.write(f"{name}.md", name * size)
    monkeypatch.setattr(chunk, "BYTES_A_BATCH", 100)
    assert refresh(project).added == 6
    assert sorted(name for names in together for name in names) == list("abcdef")
    assert all(names == ["c"] or sum(map(sizes.get, names)) <= 100 for names in together)


def test_another_size_or_tokenizer_cuts_again(project, cut, tmp_path):
    project.write("a.md", SENTENCE * 30)
    refresh(project)

    def with_chunking(**settings):
        chunking = Chunking(**settings)
        return project.config.model_copy(update={"chunkings": {"fixed_256": chunking}})

    config = with_chunking(size=128)
    smaller = project.chunk(config=config)
    assert max(row["tokens"] for row in project.chunks("a.md", config=config)) == 128
    assert max(row["tokens"] for row in project.chunks("a.md")) == 256
    tokenizer = chunk.tokenizer_file(Chunking().tokenizer).read_text("utf-8")
    (tmp_path / "tokenizer.json").write_text(tokenizer + "\n", "utf-8")
    other = project.chunk(config=with_chunking(size=128, tokenizer=str(tmp_path)))
    assert (smaller.added, other.added) == (1, 1)
    assert len(cut) == 3


def test_a_chunking_under_another_name_is_the_same_one(project, cut):
    project.write("a.md", SENTENCE * 30)
    mine = {"mine": Chunking(size=100, overlap=5)}
    renamed = {"ours": Chunking(size=100, overlap=5)}
    first, second = (
        project.config.model_copy(update={"chunkings": each}) for each in (mine, renamed)
    )
    refresh(project, chunking="mine", config=first)
    ids = {row["chunk_id"] for row in project.chunks(chunking="mine", config=first)}

    again = project.chunk(chunking="ours", config=second)

    assert (again.unchanged, again.touched, len(cut)) == (1, False, 1)
    assert {row["chunk_id"] for row in project.chunks(chunking="ours", config=second)} == ids


def test_a_header_enters_the_model_and_moves_no_slice(project, cut):
    project.write("below/load_tests.md", f"{SENTENCE * 40}\n\n# One\n\nA.\n\n# Two\n\nB.")
    refresh(project)
    refresh(project, chunking="fixed_256_header")
    plain = project.chunks()
    rows = project.chunks(chunking="fixed_256_header")
    text = "\n\n".join(row["text"] for row in project.elements())
    for row in rows:
        part = text[row["char_start"] : row["char_end"]]
        assert row["text"] == f"load tests\n{part}"
        assert schemas.slice_of(row["text"], row["char_start"], row["char_end"]) == part
        assert row["text_hash"] == text_hash(row["text"])
        assert row["tokens"] <= 256
    assert {row["chunk_id"] for row in rows}.isdisjoint(row["chunk_id"] for row in plain)
    assert (plain[0]["char_start"], plain[-1]["char_end"]) == (0, rows[-1]["char_end"])
    assert project.chunk().unchanged == 1

    other = Chunking(header="title")
    config = project.config.model_copy(update={"chunkings": {"fixed_256": other}})
    assert project.chunk(config=config).added == 1


def test_header_fields_are_a_column_and_may_stand_before_each_chunk(project, cut):
    rules = HeaderRules(presets=["standard"], fields={"client": "for (.+)$"})
    chunkings = {"fixed_256": Chunking(), "fields": Chunking(header="fields")}
    config = project.config.model_copy(
        update={"documents": Documents(header_fields=rules), "chunkings": chunkings}
    )
    project.write("a.md", f"ISO 527-2:2012\n\nfor Steel Works\n\n{SENTENCE * 40}")
    project.write("b.md", "Nothing.")
    refresh(project, config=config)
    expected = ["number: ISO 527-2:2012", "client: Steel Works"]
    assert {tuple(row["fields"]) for row in project.chunks("a.md", config=config)} == {
        tuple(expected)
    }
    assert [row["fields"] for row in project.chunks("b.md", config=config)] == [None]
    refresh(project, chunking="fields", config=config)
    for row in project.chunks("a.md", chunking="fields", config=config):
        assert row["text"].startswith("number: ISO 527-2:2012; client: Steel Works\n")
    (nothing,) = project.chunks("b.md", chunking="fields", config=config)
    assert nothing["text"] == "b\nNothing."
    assert project.chunk().added == 2


def test_a_description_cuts_the_documents_that_show_its_picture_again(project, cut):
    for name in "ab":
        project.write(f"{name}.md", f"Figure {name}. Grip.")
    project.list_files()
    project.parse()
    table = project.store.open(project.elements_table)
    project_id = project.id_of("a.md")
    table.update(
        where=f"document_id = '{project_id}'", values={"type": "figure", "image": "aa" * 32}
    )
    seeing = LanguageModelSettings(base_url="http://127.0.0.1:9/v1", model="none", sources="all")
    config = project.config.model_copy(
        update={
            "language_models": {"seeing": seeing},
            "figures": Figures(language_model="seeing"),
        }
    )
    assert project.chunk(config=config).added == 2
    described = {"image": ["aa" * 32], "model": ["none"], "description": ["Two wedges."]}
    marks = {"fingerprint": ["1"], "row_fingerprint": ["1"]}
    project.store.append(
        addresses.descriptions_table(config, "plain"),
        pa.table(described | marks, schema=schemas.DESCRIPTIONS),
        schema=schemas.DESCRIPTIONS,
    )
    cut.clear()
    assert project.chunk(config=config).changed == 1
    (row,) = project.chunks("a.md", config=config)
    assert (row["type"], row["image"]) == ("figure", "aa" * 32)
    assert row["text"] == "Two wedges.\nFigure a. Grip."


def test_a_report_says_how_many_texts_of_edited_documents_are_new(project):
    for name in "ab":
        project.write(f"{name}.md", f"# One\n\n{name} one.\n\n# Two\n\n{name} two.\n")
    first = refresh(project, chunking="headers_800")
    assert (first.texts_new, first.texts_kept, first.share_new) == (0, 0, None)
    project.write("a.md", "# One\n\na one.\n\n# Two\n\nEdited.\n")
    project.write("c.md", "New.")
    second = refresh(project, chunking="headers_800")
    assert (second.texts_new, second.texts_kept, second.share_new) == (1, 1, 0.5)


def test_elements_that_were_parsed_again_but_say_the_same_leave_the_chunks(
    project, cut, monkeypatch
):
    project.write("a.md", "One.")
    refresh(project)
    monkeypatch.setattr("rag_assets.documents.elements.parse.REVISION", 99)
    assert project.parse().changed == 1
    report = project.chunk()
    assert (report.unchanged, cut) == (1, [1])


def taken_for(project, kind, *, where):
    """Let the parser have taken elements for page headers or footers."""
    table = project.store.open(project.elements_table)
    table.update(where=where, values={"type": kind, "row_fingerprint": "ed" * 32})


@pytest.mark.parametrize("kind", ["page_header", "page_footer"])
@pytest.mark.parametrize("chunking", ["fixed_256", "headers_800"])
def test_a_document_whose_whole_text_was_taken_for_page_headers_is_indexed(project, kind, chunking):
    project.write("a.md", f"One.\n\n{SENTENCE}")
    project.list_files()
    project.parse()
    taken_for(project, kind, where="true")
    assert project.chunk(chunking=chunking).failures == []
    (row,) = project.chunks("a.md", chunking=chunking)
    assert row["text"] == f"One.\n\n{SENTENCE.strip()}"
    assert (row["element_start"], row["element_end"]) == (0, 1)


def test_nothing_but_a_rule_beside_page_headers_is_no_text_of_its_own(project):
    project.write("a.md", f"{SENTENCE}\n\n\\* \\* \\*")
    project.list_files()
    project.parse()
    taken_for(project, "page_header", where="index = 0")
    assert project.chunk().failures == []
    assert SENTENCE.strip() in project.chunks("a.md")[0]["text"]


def test_page_headers_beside_text_are_left_out(project):
    project.write("a.md", f"Head.\n\n{SENTENCE}")
    project.list_files()
    project.parse()
    taken_for(project, "page_header", where="index = 0")
    project.chunk()
    assert [row["text"] for row in project.chunks("a.md")] == [SENTENCE.strip()]


def test_a_document_left_out_by_an_earlier_release_is_cut_now(project, monkeypatch):
    project.write("a.md", "One.")
    project.list_files()
    project.parse()
    taken_for(project, "page_header", where="true")
    with monkeypatch.context() as earlier:
        earlier.setattr(chunk, "REVISION", chunk.REVISION - 1)
        earlier.setattr(chunk, "chunks_of", lambda texts, **_: [[] for _ in texts])
        (failure,) = project.chunk().failures
        assert failure.kind == "input"
    assert project.chunk().failures == []
    assert [row["text"] for row in project.chunks("a.md")] == ["One."]


def test_headers_keep_sections_apart(project):
    project.write("a.md", f"# One\n\n{SENTENCE}\n\n# Two\n\n{SENTENCE}")
    refresh(project, chunking="headers_800")
    rows = project.chunks("a.md", chunking="headers_800")
    assert [row["section_path"] for row in rows] == [["One"], ["Two"]]
    assert project.chunk(chunking="fixed_512").rows == 1


def test_documents_come_in_bounded_batches(project, monkeypatch):
    monkeypatch.setattr(chunk, "DOCUMENTS_A_BATCH", 2)
    for number in range(5):
        project.write(f"{number}.md", f"Text {number}.")
    report = refresh(project)
    assert report.added == 5
    assert project.lines[-3:] == [f"documents: {done} of 5 done" for done in (2, 4, 5)]
