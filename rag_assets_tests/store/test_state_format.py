"""`format.json`: a state says in which form it lies, and one of another form is refused."""

import json

import pytest

from rag_assets import config as configuration
from rag_assets.config import ConfigError, Variant
from rag_assets.serving import cli
from rag_assets.serving.replies import FAILED, OK, USAGE
from rag_assets.store import Store, state_format
from rag_assets.store.state_format import StateFormatError
from rag_assets_testing.faults import pipeline, previous_release, project
from rag_assets_testing.faults.hashing import hashing

READERS = (["status"], ["search", "steel"], ["answers"], ["variants", "history"], ["serve"])


@pytest.fixture
def made(tmp_path, monkeypatch):
    made = project.make(tmp_path / "project")
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.file))
    return made


def built(made, text: str):
    """The project, whose file says `text`, refreshed."""
    made.file.write_text(text)
    with hashing():
        pipeline.refresh(made.config)
        cli.main(["variants", "promote", "default", "--override", "a test"])


def of_before(made):
    """Let the state be as a release left it that wrote no `format.json`."""
    (made.home / "state" / state_format.FILE).unlink()


def test_a_state_says_its_form_once_something_is_written(made):
    assert not (made.home / "state").exists()
    assert cli.main(["status"]) == OK
    assert not (made.home / "state" / state_format.FILE).exists(), "nothing was written"
    with Store.of(made.config).lock("words", log=print):
        pass
    assert json.loads((made.home / "state" / state_format.FILE).read_text()) == {"format": 1}


def test_a_state_of_before_is_taken_over_by_the_next_write(tmp_path):
    held = previous_release.unpacked(tmp_path)
    file = held.home / "state" / state_format.FILE
    assert not file.exists()
    store = Store.of(held.config)
    assert not file.exists(), "reading writes nothing"
    with store.lock("words", log=print):
        assert json.loads(file.read_text()) == {"format": 1}


def test_a_file_that_was_cut_short_is_written_again(made):
    file = made.home / "state" / state_format.FILE
    file.parent.mkdir()
    file.write_text('{"form')
    with Store.of(made.config).lock("words", log=print):
        assert json.loads(file.read_text()) == {"format": 1}


@pytest.mark.parametrize("said", ['{"format": 2}', '{"format": "1"}', "{}", "[1]"])
def test_another_form_is_refused_by_readers_and_writers(made, said):
    file = made.home / "state" / state_format.FILE
    file.parent.mkdir()
    file.write_text(said)
    with pytest.raises(StateFormatError, match="go on with the release that wrote it"):
        Store.of(made.config)
    with (
        pytest.raises(StateFormatError),
        Store(made.home / "state").lock("words", log=print),
    ):
        pass
    assert file.read_text() == said


@pytest.mark.parametrize("command", [*READERS, ["refresh"], ["clean-up"]], ids=" ".join)
def test_a_command_says_what_to_do_with_a_state_of_another_form(made, capsys, command):
    file = made.home / "state" / state_format.FILE
    file.parent.mkdir()
    file.write_text('{"format": 2}')

    assert cli.main(command) == FAILED

    said = capsys.readouterr().err
    assert f'{file} says {{"format": 2}}, and this release knows format 1 alone: go on' in said
    assert "first run `rag-assets answers --export` of that release: it copies" in said
    assert "name another folder as `state_dir`" in said
    assert [each.name for each in file.parent.iterdir()] == [state_format.FILE]


WORDS = "index: {text: {stop_words: english_and_swedish}}\n"
OF_THEN = project.CONFIG.replace("}\nretrieval", ", model: minilm}\nretrieval")
OF_THEN = OF_THEN.replace("chunking: small}", "chunking: small, model: minilm}") + WORDS
"""The file of the project as it has to be to build what the first edition did."""
SILENT = project.CONFIG
"""The same file, of which the first edition built that: it names neither model nor stop words."""


def refusal(made) -> str:
    with pytest.raises(ConfigError) as error:
        Store.of(made.config)
    return str(error.value)


def test_a_file_that_names_no_defaults_is_refused_beside_a_state_of_the_first(made, capsys):
    built(made, OF_THEN)
    of_before(made)
    made.file.write_text(SILENT)

    said = refusal(made)

    root = made.config.state_dir
    assert said.startswith(f"{made.file}: it names no `defaults`, and {root} was built by others: ")
    assert "others: the tables of variant default. Write `defaults: 3`" in said
    assert "model: minilm" in said
    for command in (["status"], ["search", "steel"], ["refresh"]):
        assert cli.main(command) == USAGE
        assert "add the lines below" in capsys.readouterr().err
    made.file.write_text(f"defaults: 3\n{SILENT}")
    assert Store.of(made.config).root == made.config.state_dir, "it has chosen"


def test_a_full_text_index_of_the_first_edition_is_not_built_anew_by_itself(made):
    built(made, OF_THEN)
    of_before(made)
    made.file.write_text(OF_THEN.replace(WORDS, ""))
    assert "the tables of variant default" in refusal(made)
    made.file.write_text(OF_THEN)
    assert Store.of(made.config)


def test_what_answers_by_the_first_edition_does_not_change_by_itself(made):
    fused = "{signal_fusion: {mode: max_norm, weights: {dense: 0.2, bm25: 0.8}}}"
    plain = OF_THEN.replace("{retriever: bm25}", "{retriever: fast}")
    former = plain.replace("fast}", f"fast, retrievers: {{fast: {fused}}}}}")
    built(made, former)
    of_before(made)
    made.file.write_text(plain)
    assert "was built by others: the retriever fast." in refusal(made)
    made.file.write_text(former)
    assert Store.of(made.config)


def test_a_state_that_the_present_defaults_built_is_opened_whatever_its_file_names(made):
    built(made, f"defaults: 3\n{SILENT}")
    of_before(made)
    made.file.write_text(SILENT)
    assert Store.of(made.config)


def test_a_variant_that_was_tried_beside_the_first_edition_does_not_hide_it(made):
    """Its tables are those that the other variant would have now."""
    tried = "variants:\n  tried: {parser: pdfium, chunking: small, model: e5}\n"
    built(made, OF_THEN.replace("variants:\n", tried))
    with hashing():
        pipeline.refresh(made.config, variant="tried")
    of_before(made)
    made.file.write_text(SILENT.replace("variants:\n", tried) + WORDS)
    assert made.config.tables_of("default") == made.config.tables_of("tried")
    assert "the tables of variant default" in refusal(made)


def test_a_state_that_says_its_form_knew_no_other_defaults(made):
    built(made, OF_THEN)
    made.file.write_text(SILENT)
    assert made.config.variants["default"] == Variant(parser="pdfium", chunking="small")
    assert Store.of(made.config)
