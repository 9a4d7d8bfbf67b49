"""`rag-assets answers cite`: sources for what cites none, with the real reranker."""

import json

import pytest

from rag_assets.serving import cli

REPORT = """\
The rotor weighs 12 kg. The shaft is made of steel{mark}.

Sources:
[1] The mass of the rotor is 12 kg when it is dry.
[2] The shaft is made of hardened steel.
"""


@pytest.fixture
def cited(tmp_path, capsys, monkeypatch):
    """Runs the command on a text: exit code, output and errors."""
    config = tmp_path / "rag_assets.yaml"
    config.write_text(f"state_dir: {tmp_path / 'state'}\n")
    monkeypatch.setenv("RAG_ASSETS_CONFIG", str(config))

    def run(text, *options):
        file = tmp_path / "report.md"
        file.write_text(text, "utf-8")
        code = cli.main(["answers", "cite", str(file), *options])
        return code, *capsys.readouterr()

    return run


def test_each_sentence_gets_the_source_that_it_comes_from(cited):
    code, out, _ = cited(REPORT.format(mark=""))

    assert code == 0
    assert "The rotor weighs 12 kg [1].\nThe shaft is made of steel [2]." in out
    assert "2 of 2 sentences have a source" in out


def test_a_wrong_citation_stays_and_is_told(cited):
    code, out, _ = cited(REPORT.format(mark=" [1]"))

    assert code == 3
    assert "The shaft is made of steel [1].\n      [2] fits it better" in out


def test_what_no_source_says_gets_none(cited):
    code, out, _ = cited(REPORT.format(mark=". My cat likes fish on Sundays"), "--json")

    record = json.loads(out)
    assert code == 3
    assert record["without_source"] == 1
    assert record["sentences"][-1]["given"] is None
    assert [source["number"] for source in record["sources"]] == [1, 2]


def test_a_file_without_a_sentence_is_refused(cited):
    code, _, err = cited("Sources:\n[1] Nothing.\n")

    assert code == 2
    assert "it holds no sentence" in err
