"""What a step would do is told by reading alone, and is what the refresh then does."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_assets import graph
from rag_assets.change import sync
from rag_assets.change.deciding import decide
from rag_assets.change.steps import StepContext
from rag_assets.documents.chunks import chunk
from rag_assets.documents.elements.parse import refresh_elements
from rag_assets.operations.doctor.differences import StepPlan
from rag_assets.sources.files.manifest import files_seen, refresh_document_files
from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project

STEPS = (
    *("parsed_documents", "chunks", "table_rows", "serialized_rows"),
    *("chunk_vectors", "row_vectors", "unit_links", "joint_index"),
)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("built") / "project"
    made = project.make(home)
    with hashing():
        refresh(made.config)
        yield home


@pytest.fixture
def made(built: Path, tmp_path: Path) -> Project:
    home = tmp_path / "project"
    shutil.copytree(built, home)
    return Project(home)


def plans(made: Project, variant: str = "default", *, afresh: bool = False) -> dict[str, StepPlan]:
    """What each step would do to its table, the tables above as they stand."""
    work = StepContext(store=made.store, config=made.config, variant=variant, steps=graph.STEPS)
    steps = graph.STEPS.in_order(made.config, variant).values()
    there = [step for step in steps if all(made.store.exists(name) for name, _ in step.sources)]
    return {
        step.asset: StepPlan(step.asset, decide(derivation, afresh=afresh))
        for step in there
        if (derivation := step.kind.derivation(work))
    }


def files_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


@pytest.mark.parametrize("afresh", [False, True])
def test_a_built_variant_has_nothing_missing_stale_or_orphaned(made, afresh):
    before = files_of(made.store.root)
    found = plans(made, afresh=afresh)
    assert tuple(found) == STEPS
    assert [(each.added, each.changed, [*each.removed]) for each in found.values()] == [
        ([], [], [])
    ] * len(STEPS)
    assert found["parsed_documents"].unchanged == 8
    assert files_of(made.store.root) == before


def test_each_step_does_what_was_decided(made):
    made.write("series0/report0.md", project.report(0, edition=2))
    made.write("new.md", project.report(9))
    (made.documents / "series1" / "report1.md").unlink()
    sources, say = made.config.sources.documents, lambda _: None
    seen = files_seen(made.store, sources, tables=made.config.sources.tables)
    files = StepPlan("document_files", decide(seen.derivation))
    assert (len(files.added), len(files.changed), len(files.removed)) == (1, 1, 1)

    report = refresh_document_files(made.store, sources, allow_shrink=False, log=say)
    assert counts(report) == (1, 1, 1)
    elements = plans(made)["parsed_documents"]
    assert elements.differs == ["document_files"]
    assert (elements.added, elements.changed) == (files.added, files.changed)
    assert elements.removed == files.removed

    refresh_elements(made.store, made.config, parser="pdfium", log=say)
    cut = plans(made)["chunks"]
    assert (cut.added, cut.changed, cut.removed) == (files.added, files.changed, files.removed)

    chunk.refresh_chunks(made.store, made.config, parser="pdfium", chunking="small", log=say)
    vectors = plans(made)["chunk_vectors"]
    with hashing():
        done = refresh(made.config)
    [_, _, joined] = done[-3:]
    assert (len(vectors.added), len(vectors.removed)) == (joined.added, joined.removed)


def test_rows_that_no_record_tells_of_are_found_afresh(made):
    table = made.config.tables_of("default").chunks
    name = made.store.known_as(table)
    lost = made.store.read(name, columns=["document_id"])["document_id"][0].as_py()
    ended = made.store.ended(name)
    made.store.delete(name, column="document_id", keys=[lost])
    made.store.complete(name, ended)

    assert plans(made, afresh=True)["chunks"].added == [lost]


def test_another_variant_shares_what_it_has_in_common(made):
    found = plans(made, "other")
    assert found["parsed_documents"].plan.is_up_to_date
    assert len(found["chunks"].added) == 8
    assert "chunk_vectors" not in found  # its chunks are not there yet


def counts(report: sync.Report) -> tuple[int, int, int]:
    return report.added, report.changed, report.removed
