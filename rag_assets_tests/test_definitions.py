"""The asset graph as Dagster loads it, and a tiny project built with it twice."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from rag_assets import config as configuration
from rag_assets.definitions import definitions

HEAVY = (
    "torch",
    "transformers",
    "sentence_transformers",
    "great_expectations",
    "pandas",
    "lancedb",
    "lance",
    "dlt",
    "docling",
    "pymupdf",
    "pypdfium2",
)

CONFIG = """\
state_dir: state
owner: team:materials
sources:
  documents: documents
  tables:
    - name: laboratory
      url: sqlite:///laboratory.sqlite
      tables: [alloys, "test_*"]
variants:
  default: {parser: pdfium}
  json_rows: {parser: pdfium, serializer: json}
evaluation:
  questions:
    - path: questions.jsonl
"""

QUESTIONS = [
    {"id": "q1", "question": "Which alloy bears salt?", "domain": "doc", "gold": ["doc:salt.md"]},
    {"id": "q2", "question": "density of invar", "domain": "table", "gold": ["row:alloys:2"]},
]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with two documents, a database of two tables and two questions."""
    home = tmp_path_factory.mktemp("project")
    (home / "rag_assets.yaml").write_text(CONFIG)
    documents = home / "documents"
    documents.mkdir()
    (documents / "salt.md").write_text(
        "# Salt spray\n\nThe alloy AlMg3 bears salt for 500 hours.\n"
    )
    (documents / "heat.md").write_text("# Heat\n\nInvar hardly expands up to 200 degrees.\n")
    with sqlite3.connect(home / "laboratory.sqlite") as database:
        database.execute("CREATE TABLE alloys (id INTEGER PRIMARY KEY, name TEXT, density REAL)")
        database.executemany(
            "INSERT INTO alloys VALUES (?, ?, ?)",
            [(1, "AlMg3", 2.66), (2, "Invar", 8.05), (3, "Brass", None)],
        )
        database.execute("CREATE TABLE test_salt (id INTEGER PRIMARY KEY, hours INTEGER)")
        database.execute("INSERT INTO test_salt VALUES (1, 500)")
    lines = [json.dumps({**question, "split": "test"}) for question in QUESTIONS]
    (home / "questions.jsonl").write_text("\n".join(lines) + "\n")
    return home


@pytest.fixture(scope="module")
def defs(project):
    return definitions(configuration.load(project / "rag_assets.yaml"))


def run_python(code: str, *, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_graph_has_these_assets_groups_and_partitions(defs):
    variants = ["default", "json_rows"]
    assert {
        spec.key.to_user_string(): (
            spec.group_name,
            spec.partitions_def.get_partition_keys() if spec.partitions_def else None,
        )
        for spec in defs.resolve_all_asset_specs()
    } == {
        "source/document_files": ("sources", None),
        "source/exports/laboratory": ("sources", None),
        "source/exports/laboratory/alloys": ("sources", None),
        "document_files": ("sources", None),
        "exports/laboratory": ("sources", None),
        "exports/laboratory/alloys": ("sources", None),
        "parsed_documents": ("documents", variants),
        "chunks": ("documents", variants),
        "table_rows": ("tables", None),
        "serialized_rows": ("tables", variants),
        "chunk_vectors": ("index", variants),
        "row_vectors": ("index", variants),
        "joint_index": ("index", variants),
        "question_sets": ("evaluation", None),
        "retrieval_evaluation": ("evaluation", variants),
    }


def test_every_step_depends_on_what_it_is_made_of(defs):
    deps = {
        spec.key.to_user_string(): {dep.asset_key.to_user_string() for dep in spec.deps}
        for spec in defs.resolve_all_asset_specs()
    }
    assert deps["document_files"] == {"source/document_files"}
    assert deps["exports/laboratory/alloys"] == {"source/exports/laboratory/alloys"}
    assert deps["parsed_documents"] == {"document_files"}
    assert deps["chunks"] == {"parsed_documents", "document_files"} or deps["chunks"] == {
        "parsed_documents"
    }
    assert deps["table_rows"] == {"exports/laboratory", "exports/laboratory/alloys"}
    assert deps["serialized_rows"] == {"table_rows"}
    assert deps["chunk_vectors"] == {"chunks"}
    assert deps["row_vectors"] == {"serialized_rows"}
    assert deps["joint_index"] == {"chunk_vectors", "row_vectors"}
    assert {"joint_index", "question_sets"} <= deps["retrieval_evaluation"]


def test_every_asset_says_what_it_is_and_who_owns_it(defs):
    for spec in defs.resolve_all_asset_specs():
        assert spec.description, spec.key
        assert spec.owners == ["team:materials"], spec.key
        assert spec.kinds, spec.key
        if spec.key.path[0] != "source":
            assert spec.code_version, spec.key


def test_these_checks_guard_the_tables(defs):
    keys = defs.resolve_asset_graph().asset_check_keys
    by_asset: dict[str, set[str]] = {}
    for key in keys:
        by_asset.setdefault(key.asset_key.to_user_string(), set()).add(key.name)
    assert by_asset == {
        "document_files": {"ids_unique", "few_files_unusable"},
        "parsed_documents": {"ids_unique", "documents_complete", "few_documents_failed"},
        "chunks": {"ids_unique", "text_present", "tokens_fit", "documents_complete"},
        "table_rows": {"ids_unique", "rows_complete", "few_cells_empty"},
        "serialized_rows": {"ids_unique", "text_present", "rows_complete"},
        "chunk_vectors": {"ids_unique", "vectors_normalised", "units_complete", "one_encoder"},
        "row_vectors": {"ids_unique", "vectors_normalised", "units_complete", "one_encoder"},
        "joint_index": {"ids_unique", "vectors_normalised", "units_complete", "one_encoder"},
    }


def test_the_definitions_load_without_warnings_and_without_anything_heavy(project):
    code = (
        "import sys; from rag_assets.definitions import defs\n"
        "defs().get_repository_def()\n"
        f"print(sorted({set(HEAVY)!r} & sys.modules.keys()))"
    )
    done = run_python(code, cwd=project, PYTHONWARNINGS="default::FutureWarning")

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
    assert "Preview" not in done.stderr
    assert "Beta" not in done.stderr


def test_a_config_that_cannot_be_used_stops_the_loading_with_its_reason(tmp_path):
    (tmp_path / "rag_assets.yaml").write_text("retrieval: {top: 3}\n")
    command = ["dagster", "definitions", "validate", "-m", "rag_assets.definitions"]
    done = subprocess.run(
        [Path(sys.executable).parent / command[0], *command[1:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert "unknown key retrieval.top; known here: depth, retriever" in done.stdout + done.stderr


REFRESH = (
    "import json, sys; from rag_assets.serving import cli\n"
    "code = cli.main(['refresh', '--json'])\n"
    f"print(json.dumps({{'code': code, 'heavy': sorted({set(HEAVY)!r} & sys.modules.keys())}}))"
)


@pytest.fixture(scope="module")
def refreshed(project):
    """The answers and data versions of two refreshes, one after the other."""
    answers = []
    for _ in range(2):
        done = run_python(REFRESH, cwd=project, RAG_ASSETS_CONFIG=str(project / "rag_assets.yaml"))
        answer, facts = done.stdout.strip().splitlines()
        answers.append((json.loads(answer), json.loads(facts), versions_of(project), done.stderr))
    return answers


def versions_of(project: Path) -> dict[str, str]:
    home = project / "state/dagster"
    with dg.DagsterInstance.from_config(str(home)) as instance:
        return {
            key.to_user_string(): event.asset_materialization.tags["dagster/data_version"]
            for key in instance.all_asset_keys()
            if (event := instance.get_latest_materialization_event(key))
            and event.asset_materialization
        }


def test_the_first_refresh_builds_everything_and_says_how_much(refreshed):
    answer, facts, versions, progress = refreshed[0]

    assert facts["code"] == 0, (answer, progress)
    assert answer["variant"] == "default"
    assert answer["quarantine"] == []
    assert answer["errors"] == {}
    assert answer["warnings"] == []
    counts = answer["assets"]
    assert counts["document_files"]["added"] == 2
    assert counts["parsed_documents"]["added"] == 2
    assert counts["table_rows"]["added"] == 4
    assert counts["row_vectors"]["embedded"] == 4
    assert counts["joint_index"]["added"] == counts["chunk_vectors"]["added"] + 4
    assert set(versions) == set(counts)


def test_the_second_refresh_does_nothing_and_imports_nothing_heavy(refreshed):
    answer, facts, versions, _ = refreshed[1]

    for key, counts in answer["assets"].items():
        work = {name: counts.get(name, 0) for name in ("added", "changed", "removed", "embedded")}
        assert not any(work.values()), (key, work)
    assert facts == {"code": 0, "heavy": []}
    assert versions == refreshed[0][2]


def test_the_runs_of_the_command_line_stand_in_the_instance_with_their_checks(refreshed, project):
    with dg.DagsterInstance.from_config(str(project / "state/dagster")) as instance:
        runs = instance.get_runs()
        assert [run.is_success for run in runs] == [True, True]
        chunks = dg.AssetKey("chunks")
        checked = instance.event_log_storage.get_latest_asset_check_execution_by_key(
            [dg.AssetCheckKey(chunks, "tokens_fit")]
        )
        assert all(record.status.value == "SUCCEEDED" for record in checked.values())
        assert checked
