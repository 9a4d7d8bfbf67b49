"""The asset graph as Dagster loads it."""

import os
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

from rag_assets import config as configuration
from rag_assets import schemas
from rag_assets.definitions import definitions
from rag_assets_testing import small_project


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return small_project.make(tmp_path_factory.mktemp("project"))


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
        "source/document_files_source": ("sources", None),
        "source/exports/laboratory_source": ("sources", None),
        "source/exports/laboratory/alloys_source": ("sources", None),
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
        "unit_links": ("knowledge", variants),
        "serving_index": ("serving", None),
        "recall_notices": ("serving", None),
        "generated_questions": ("questions", None),
        "question_sets": ("evaluation", None),
        "retrieval_evaluation": ("evaluation", variants),
        "answer_evaluation": ("evaluation", variants),
    }


def test_every_step_depends_on_what_it_is_made_of(defs):
    deps = {
        spec.key.to_user_string(): {dep.asset_key.to_user_string() for dep in spec.deps}
        for spec in defs.resolve_all_asset_specs()
    }
    assert deps["document_files"] == {"source/document_files_source"}
    assert deps["exports/laboratory/alloys"] == {"source/exports/laboratory/alloys_source"}
    assert deps["parsed_documents"] == {"document_files"}
    assert deps["chunks"] == {"parsed_documents"}
    assert deps["table_rows"] == {"exports/laboratory", "exports/laboratory/alloys"}
    assert deps["serialized_rows"] == {"table_rows"}
    assert deps["chunk_vectors"] == {"chunks"}
    assert deps["row_vectors"] == {"serialized_rows"}
    assert deps["unit_links"] == {"chunk_vectors", "row_vectors"}
    assert deps["joint_index"] == {"chunk_vectors", "row_vectors"}
    assert deps["generated_questions"] == {"joint_index", "table_rows"}
    assert deps["question_sets"] == {"generated_questions"}
    assert {"joint_index", "question_sets"} <= deps["retrieval_evaluation"]
    assert deps["serving_index"] == {"joint_index", "retrieval_evaluation"}


def test_no_two_nodes_are_called_alike_and_no_group_comes_back_to_one_before_it(defs):
    specs = {spec.key: spec for spec in defs.resolve_all_asset_specs()}
    assert len({key.path[-1] for key in specs}) == len(specs)
    above: dict[str, set[str]] = {}
    for spec in specs.values():
        groups = {specs[dep.asset_key].group_name for dep in spec.deps}
        above.setdefault(spec.group_name, set()).update(groups - {spec.group_name})
    TopologicalSorter(above).prepare()  # CycleError


def test_columns_are_told_in_words_not_by_constants_of_the_code():
    known = (schemas.units(3), *vars(schemas).values())
    tables = [each for each in known if isinstance(each, pa.Schema)]
    told = [field.metadata[b"comment"].decode() for table in tables for field in table]
    assert len(told) > 100
    assert not [text for text in told if re.search("[A-Z_]{5,}", text)]


def test_every_asset_says_what_it_is_and_who_owns_it(defs):
    for spec in defs.resolve_all_asset_specs():
        assert spec.description, spec.key
        assert spec.owners == ["team:materials"], spec.key
        assert spec.kinds, spec.key
        if spec.key.path[0] != "source":
            assert spec.code_version, spec.key


def test_every_asset_says_where_its_code_stands_and_of_which_domain_its_rows_are(defs):
    domains = {}
    for spec in defs.resolve_all_asset_specs():
        domains.setdefault(spec.tags.get("domain"), set()).add(spec.key.to_user_string())
        if spec.key.path[0] != "source":
            (code,) = spec.metadata["dagster/code_references"].code_references
            line = Path(code.file_path).read_text("utf-8").splitlines()[code.line_number - 1]
            assert line.strip().startswith(("@", "def refresh")), (spec.key, line)
    assert {"document_files", "source/document_files_source", "chunks"} <= domains["document"]
    assert {"table_rows", "exports/laboratory/alloys", "row_vectors"} <= domains["table"]
    assert domains[None] == {
        "unit_links",
        "joint_index",
        "serving_index",
        "recall_notices",
        "generated_questions",
        "question_sets",
        "retrieval_evaluation",
        "answer_evaluation",
    }


def test_every_job_opens_with_a_config_that_dagster_accepts(defs):
    jobs = list(defs.resolve_all_job_defs())
    assert {"explain", "promote"} <= {job.name for job in jobs}
    for job in jobs:
        dg.validate_run_config(job)  # raises


def test_a_database_of_which_no_table_is_wanted_is_no_obstacle(tmp_path):
    url = f"sqlite:///{tmp_path / 'empty.sqlite'}"
    config = configuration.Config.model_validate(
        {"state_dir": tmp_path / "state", "sources": {"tables": {"url": url, "tables": []}}}
    )
    assert definitions(config).resolve_job_def("nightly_refresh")


def test_one_job_builds_a_variant_also_where_experiments_compare_them(project):
    file = project / "compared.yaml"
    file.write_text(f"{small_project.CONFIG}experiments:\n  serializers:\n")
    jobs = {job.name for job in definitions(configuration.load(file)).resolve_all_job_defs()}
    assert {name for name in jobs if not name.startswith("__")} == {
        "nightly_refresh",
        "backfill_variant",
        "clean_up",
        "doctor",
        "experiments",
        "make_questions",
        "promote",
        "rollback",
        "explain",
        "plan",
        "evaluate_answers",
    }


def test_these_checks_guard_the_tables(defs):
    keys = defs.resolve_asset_graph().asset_check_keys
    by_asset: dict[str, set[str]] = {}
    for key in keys:
        by_asset.setdefault(key.asset_key.to_user_string(), set()).add(key.name)
    tables = ("document_files", "parsed_documents", "chunks", "table_rows", "serialized_rows")
    indexes = ("chunk_vectors", "row_vectors", "unit_links", "joint_index", "retrieval_evaluation")
    readers = ("document_files", "exports/laboratory", "exports/laboratory/alloys")
    expected = {name: {"must_hold", "should_hold"} for name in (*tables, *indexes)}
    for name in readers:
        expected.setdefault(name, set()).add("source_readable")
    expected["serving_index"] = {"gate"}
    assert by_asset == expected


def test_only_errors_block_and_each_check_says_what_it_stands_for(defs):
    graph = defs.resolve_asset_graph()
    for key in graph.asset_check_keys:
        spec = graph.get_check_spec(key)
        assert spec.blocking is (key.name in ("must_hold", "gate")), key
        assert spec.description.startswith("- "), key
        assert spec.partitions_def is None or spec.partitions_def.get_partition_keys() == [
            "default",
            "json_rows",
        ]


TRAINING = '{"retrievers": {"tuned": {}}, "rerankers": {"order": {"retriever": "tuned"}}}'


@pytest.mark.parametrize("given", [{}, {"RAG_ASSETS__TRAINING": TRAINING}], ids=["plain", "train"])
def test_the_definitions_load_without_warnings_and_without_anything_heavy(project, given):
    code = (
        "import sys; from rag_assets.definitions import defs\n"
        "defs().get_repository_def()\n"
        f"print(sorted({set(small_project.HEAVY)!r} & sys.modules.keys()))"
    )
    done = run_python(code, cwd=project, PYTHONWARNINGS="default::FutureWarning", **given)

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
    said = done.stdout + done.stderr
    assert "unknown key retrieval.top; known here: ann, depth, rerankers" in said
