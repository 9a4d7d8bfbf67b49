"""The list of steps is one list: what stands in it is built, planned, shown and examined."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

import rag_assets
from rag_assets import definitions, schemas
from rag_assets.change import sync
from rag_assets.change.row_inputs import RowInputs
from rag_assets.change.steps import (
    Input,
    StepContext,
    StepKind,
    StepResult,
    StepTable,
    made_from,
)
from rag_assets.config import Config, Variant
from rag_assets.config.addresses import tables_of
from rag_assets.evaluation.step_tables import QUESTIONS
from rag_assets.graph import STEPS
from rag_assets.operations.doctor.examined_tables import Practice
from rag_assets.operations.doctor.examining import examine
from rag_assets.operations.explain.explaining import explain
from rag_assets.operations.plan.planning import plan_of
from rag_assets.retrieval.opening import set_of
from rag_assets.serving.state_status import state_status
from rag_assets_testing.faults import built, project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.project import Project

SEEING = {"seeing": {"base_url": "http://localhost:1/v1", "model": "m", "sources": "all"}}
DESCRIBED = {"language_models": SEEING, "figures": {"language_model": "seeing"}}
PACKAGE = Path(rag_assets.__file__).parent
ROOMS = ("sources", "documents", "tables", "index", "knowledge", "evaluation")
"""They own the kinds of steps, and may name their own and those that they read."""
TABLE_NAMES = ("schemas.py", "config/addresses.py")
"""Where the names of tables come from; some are called like their step."""
RECORDS = ("store/complete_sets.py",)
"""They name the fields of a record, one of which is `table_rows`."""
SECTIONS = ("config/checks.py", "quality/page.py")
"""They name the sections of `checks:` in the config, one of which is `chunks`."""


def config_of(**settings) -> Config:
    return Config.model_validate({"variants": {"default": {}}, **settings})


@pytest.mark.parametrize("figures", [{}, DESCRIBED])
def test_each_step_comes_after_those_that_it_is_made_from(figures):
    seen: set[str] = set()
    for asset, step in STEPS.in_order(config_of(**figures), "default").items():
        assert {each.asset for each in step.inputs} <= seen
        seen.add(asset)


def test_inputs_are_the_tables_of_the_steps_that_they_name():
    steps = STEPS.in_order(config_of(**DESCRIBED), "default")
    for step in steps.values():
        for each in step.inputs:
            assert each == steps[each.asset].as_input


def test_all_assets_with_tables_of_a_variant_are_steps():
    config = config_of()
    graph = definitions.definitions(config).resolve_asset_graph()
    declared = STEPS.in_order(config, "default")
    partitioned = {
        key.to_user_string()
        for key in graph.get_all_asset_keys()
        if graph.get(key).is_partitioned and graph.get(key).group_name != "evaluation"
    }
    assert partitioned == {asset for asset, step in declared.items() if step.kind.has_variants}
    for asset, step in declared.items():
        node = graph.get(dg.AssetKey(asset))
        assert node.group_name == step.kind.room
        assert node.description == step.kind.about
        if step.kind.has_variants:
            above = {key.to_user_string() for key in node.parent_keys}
            assert above == set(STEPS.upstream(config, step.kind))


@pytest.mark.parametrize(
    ("settings", "others"),
    [
        ({}, set()),
        (
            {"tables": {"empty_cells": "keep"}},
            {"serialized_rows", "row_vectors", "unit_links", "joint_index"},
        ),
        ({"links": {"kinds": ["name"]}}, {"unit_links"}),
        (
            {"parsers": {"pymupdf": {"engine": "pdfium"}}},
            {"parsed_documents", "chunks", "chunk_vectors", "unit_links", "joint_index"},
        ),
    ],
)
def test_a_setting_addresses_the_tables_that_depend_on_it_and_no_others(settings, others):
    plain, edited = (
        STEPS.of_variant(config, "default") for config in (config_of(), config_of(**settings))
    )
    assert {asset for asset in plain if plain[asset].table != edited[asset].table} == others
    own = {asset for asset in plain if plain[asset].recipe != edited[asset].recipe}
    above = {asset for asset in others if {each.asset for each in plain[asset].inputs} & others}
    assert own | above == others


def test_no_table_belongs_to_two_steps():
    tables = sorted(step.table for step in STEPS.all_of(config_of(**DESCRIBED), "default"))
    assert all(one != other for one, other in pairwise(tables))


LENGTHS = pa.schema(
    [
        pa.field("chunk_id", pa.string(), nullable=False),
        pa.field("characters", pa.int64(), nullable=False),
        *[field for field in schemas.CHUNKS if field.name in schemas.SYSTEM_COLUMNS],
    ]
)


class LettersOfChunks(StepKind):
    """A step that nobody but this test knows: how long each chunk is."""

    name = "letters_of_chunks"
    room = "documents"
    about = "How many letters each chunk has."
    counts = "chunks"
    domain = "document"

    def table(self, config: Config, recipe: Variant) -> StepTable:
        chunks = tables_of(config, recipe).chunks
        return StepTable(
            asset=self.name,
            table=f"letters_of_{chunks}",
            key="chunk_id",
            group="chunk_id",
            schema=LENGTHS,
            revision=1,
            inputs=(Input("chunks", chunks, "chunk_id"),),
        )

    def refresh(self, work: StepContext) -> StepResult:
        of_chunks = self.derivation(work)
        [chunks] = self.table(work.config, work.recipe).inputs

        def transform(changed: pa.Table) -> Iterator[sync.Batch]:
            keys = changed["key"].to_pylist()
            found = work.store.read_keys(
                chunks.table, column="chunk_id", keys=keys, columns=["chunk_id", "text"]
            )
            rows = found.drop(["text"]).append_column(
                "characters", pa.array([len(text) for text in found["text"].to_pylist()])
            )
            yield sync.Batch(rows=rows, done=keys)

        passed = sync.Work(
            store=work.store,
            target=of_chunks.target,
            made_from=of_chunks.made_from,
            inputs=of_chunks.inputs,
            transform=transform,
        )
        report = sync.refresh(passed, log=work.log, retry=work.retry)
        return StepResult(report=report, schema=LENGTHS, columns=["characters"])

    def derivation(self, work: StepContext) -> sync.Derivation:
        step = self.table(work.config, work.recipe)
        [chunks] = step.inputs
        return sync.Derivation(
            store=work.store,
            target=step.target(),
            made_from=made_from(work.store, step.inputs, recipe="1"),
            inputs=lambda: RowInputs.of(work.store, chunks.table, key="chunk_id", recipe="1"),
        )


@pytest.fixture
def known(monkeypatch) -> StepKind:
    """The step, named in the list and nowhere else."""
    kind = LettersOfChunks()
    monkeypatch.setattr(STEPS, "kinds", (*STEPS.kinds, kind))
    return kind


def materialized(made: Project) -> dict[str, dict[str, object]]:
    job = definitions.definitions(made.config).resolve_job_def("nightly_refresh")
    with dg.instance_for_test() as instance:
        done = job.execute_in_process(
            partition_key="default", instance=instance, raise_on_error=False
        )
    return {
        event.asset_key.to_user_string(): event.materialization.metadata
        for event in done.get_asset_materialization_events()
    }


def test_a_step_that_is_named_in_the_list_alone_is_everywhere(tmp_path, known):
    made = built.small(tmp_path / "project")
    with hashing():
        planned = plan_of(made.store, made.config, variant="default").of(known.name)
        assert planned.changes.added.high > 0

        shown = materialized(made)[known.name]
        chunks = made.store.count(made.config.tables_of("default").chunks)
        assert shown["added"].value == chunks > 0
        assert shown["preview"].value.records

        again = plan_of(made.store, made.config, variant="default").of(known.name)
        assert again.changes.is_nothing

        made.write("series0/report0.md", project.report(0, edition=2))
        edited = plan_of(made.store, made.config, variant="default").of(known.name)
        assert not edited.changes.is_nothing
    step = STEPS.of_variant(made.config, "default")[known.name]

    status = state_status(made.store, made.config, variants=["default"])
    assert status.variants["default"][known.name]["rows"] == chunks

    units = set_of(made.store, made.config, "default").documents
    assert units
    unit = made.store.read(units.table, columns=["unit_id"])["unit_id"][0].as_py()
    way = explain(made.store, made.config, unit_id=unit)
    assert known.name in [each.asset for each in way.steps]
    [traced] = [each for each in way.steps if each.asset == known.name]
    assert traced.made

    def faults() -> list[str]:
        with hashing():
            found = examine(Practice(made.store, made.config, ["default"], lambda _: None)).found
        return [each.subject for each in found]

    assert faults() == []
    made.store.delete(step.table, column="chunk_id", keys=[unit])
    assert faults() == [step.table]


class LettersOfQuestions(LettersOfChunks):
    """Beside chunks it reads questions, of which no plan of a variant tells."""

    name = "letters_of_questions"

    def table(self, config: Config, recipe: Variant) -> StepTable:
        own = super().table(config, recipe)
        return replace(own, asset=self.name, inputs=(*own.inputs, QUESTIONS.as_input))


def test_a_step_that_reads_questions_is_planned(tmp_path, monkeypatch):
    made = project.make(tmp_path / "project")
    monkeypatch.setattr(STEPS, "kinds", (*STEPS.kinds, LettersOfQuestions()))
    with hashing():
        planned = plan_of(made.store, made.config, variant="default")
    assert planned.of("letters_of_questions").changes.added.high > 0


def test_no_module_outside_the_rooms_names_a_step_by_string():
    names = {kind.name for kind in STEPS.kinds}
    named = {
        str(path.relative_to(PACKAGE)): sorted(found)
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in ROOMS
        and not str(path).endswith((*TABLE_NAMES, *RECORDS, *SECTIONS))
        and (found := names & strings_of(path))
    }
    assert named == {}


def strings_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
