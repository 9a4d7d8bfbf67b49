"""The component `rag_assets.RetrievalIndex`, and what `dg` does with it and with this repository.

`dg` and `create-dagster` are no packages of the locks: where they are missing, these tests say so.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import dagster as dg
import pytest
import yaml

import rag_assets
from rag_assets import RetrievalIndex
from rag_assets import config as configuration
from rag_assets.component import IndexAttributes, IndexScaffoldParams

REPOSITORY = Path(__file__).parents[1]
TOOLS = Path(sys.executable).parent
needs_dg = pytest.mark.skipif(
    not all((TOOLS / tool).exists() for tool in ("dg", "create-dagster")),
    reason="pip install dagster-dg-cli create-dagster, of the release of dagster that is installed",
)
MINIMAL = {"sources": {"documents": "papers"}, "state_dir": "state"}
CHUNKS = """\
import dagster as dg


@dg.asset
def chunks() -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata={"whose": "theirs"})
"""
IN_PROCESS = """\
import dagster as dg

defs = dg.Definitions(executor=dg.in_process_executor)
"""


def run(*command: str, cwd: Path, **environment: str) -> str:
    """What a command says; it must end well."""
    done = subprocess.run(
        [str(TOOLS / command[0]), *command[1:]],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": "src", "DAGSTER_DISABLE_TELEMETRY": "1", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


def keys(defs: dg.Definitions) -> set[str]:
    return {spec.key.to_user_string() for spec in defs.resolve_all_asset_specs()}


def built(folder: Path, attributes: dict[str, object]) -> dg.Definitions:
    """The definitions of a `defs.yaml` with these attributes, in a folder."""
    context = dg.ComponentTree.for_test().load_context.for_path(folder)
    return RetrievalIndex.from_attributes_dict(attributes=attributes, context=context).build_defs(
        context
    )


def test_attributes_hold_a_config_or_name_its_file(tmp_path, monkeypatch):
    named = MINIMAL | {"dagster": {"key_prefix": "ours"}}
    (tmp_path / "ours.yaml").write_text(yaml.safe_dump(named))
    of_file = built(tmp_path, {"key_prefix": "ours", "file": "ours.yaml"})
    here = built(tmp_path, {"key_prefix": "ours", "config": MINIMAL})
    assert keys(of_file) == keys(here)
    assert "ours/chunks" in keys(here)
    assert here.executor is None
    assert built(tmp_path, {"executor": True, "config": MINIMAL}).executor is dg.in_process_executor

    monkeypatch.setenv("PAPERS", "elsewhere")
    secret = {"sources": {"documents": "${PAPERS}"}}
    made = configuration.made_of(secret, path=tmp_path / "defs.yaml")
    assert made.sources.documents[0].url == str(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({}, "give either file or config"),
        ({"file": "a.yaml", "config": MINIMAL}, "give either file or config"),
        ({"config": {"source": {}}}, "unknown key source; known here: .*did you mean sources"),
        ({"file": "none.yaml"}, "there is no config file"),
        ({"file": "a.yaml", "key_prefix": "x"}, "write `dagster: {key_prefix: x}` there"),
        ({"prefix": "x", "config": MINIMAL}, "prefix"),
    ],
)
def test_attributes_that_cannot_be_used_are_refused_with_what_is_wrong(tmp_path, attributes, said):
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(MINIMAL))
    with pytest.raises(Exception, match=said):
        built(tmp_path, attributes)


def test_the_schema_of_the_attributes_has_that_of_the_config():
    from jsonschema import Draft202012Validator

    schema = Draft202012Validator(IndexAttributes.model_json_schema())
    whole = yaml.safe_load((REPOSITORY / "rag_assets.yaml").read_text("utf-8"))
    schema.validate({"key_prefix": "x", "config": whole})
    assert [*schema.iter_errors({"config": {"sources": {"document": "x"}}})]
    assert [*schema.iter_errors({"files": "x.yaml"})]


def test_without_a_terminal_nothing_is_asked_and_what_is_missing_is_told(monkeypatch):
    with pytest.raises(ValueError, match="--documents FOLDER, --database URL, or both"):
        IndexScaffoldParams()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    answers = iter(["", "sqlite:///shop.sqlite"])
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    assert IndexScaffoldParams().database == "sqlite:///shop.sqlite"


def test_the_package_alone_imports_no_dagster_and_knows_its_component():
    code = "import sys, rag_assets; print('dagster' in sys.modules, dir(rag_assets))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("False")
    assert "RetrievalIndex" in said.stdout
    with pytest.raises(AttributeError, match="has no Index"):
        _ = rag_assets.Index


def test_a_package_outside_of_the_tree_has_two_indexes_and_assets_of_its_own(tmp_path):
    """The example of docs/dagster-project.md."""
    page = (REPOSITORY / "docs" / "dagster-project.md").read_text("utf-8")
    module = page.partition("```python\n")[2].partition("```")[0]
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "definitions.py").write_text(module)
    for name in ("handbook", "catalogue"):
        (tmp_path / f"{name}.yaml").write_text(
            yaml.safe_dump({"state_dir": f"state/{name}", "sources": {"documents": name}})
        )
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"# {name}\n\nA text.\n")
    code = textwrap.dedent("""
        import json
        from dagster import AssetSelection, DagsterInstance
        from shop.definitions import defs as made
        defs = made().get_repository_def()
        with DagsterInstance.ephemeral() as instance:
            for name in ("handbook", "catalogue"):
                only = AssetSelection.assets([name, "document_files"])
                job = defs.get_implicit_global_asset_job_def()
                keys = only.resolve(defs.asset_graph)
                job.execute_in_process(instance=instance, asset_selection=[*keys])
            print(json.dumps([key.to_user_string() for key in instance.all_asset_keys()]))
    """)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert {"handbook/document_files", "catalogue/document_files"} <= set(found)
    assert all((tmp_path / "state" / name / "lance").is_dir() for name in ("handbook", "catalogue"))


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Path:
    """A project as `create-dagster` makes it, with documents and a database."""
    home = tmp_path_factory.mktemp("fresh")
    run("create-dagster", "project", "ours", "--no-uv-sync", cwd=home)
    ours = home / "ours"
    (ours / "handbook").mkdir()
    (ours / "handbook" / "a.md").write_text("# A\n\nThe first page.\n")
    with sqlite3.connect(ours / "shop.sqlite") as database:
        database.execute("CREATE TABLE articles (id INTEGER PRIMARY KEY, name TEXT)")
        database.execute("INSERT INTO articles VALUES (1, 'bolt')")
    folder = ours / "src" / "ours" / "defs"
    (folder / "theirs.py").write_text(CHUNKS)
    (folder / "executor.py").write_text(IN_PROCESS)
    asked = ("--documents", "handbook", "--database", "sqlite:///shop.sqlite")
    for name in ("handbook", "manuals"):
        run("dg", "scaffold", "defs", "rag_assets.RetrievalIndex", name, *asked, cwd=ours)
    return ours


@needs_dg
def test_dg_lists_scaffolds_and_checks_two_indexes_in_a_fresh_project(fresh):
    assert "rag_assets.RetrievalIndex" in run("dg", "list", "components", "--json", cwd=fresh)
    tree = run("dg", "list", "component-tree", cwd=fresh)
    assert tree.count("(RetrievalIndex)") == 2
    run("dg", "check", "yaml", cwd=fresh)
    run("dg", "check", "defs", cwd=fresh)
    found = json.loads(run("dg", "list", "defs", "--json", cwd=fresh))
    assets = {each["asset_key"] for each in found["assets"]}
    assert {"chunks", "handbook/chunks", "manuals/chunks"} <= assets
    file = fresh / "src" / "ours" / "defs" / "handbook" / configuration.DEFAULT_FILE
    config = configuration.load(file)
    assert config.state_dir.resolve() == fresh / "data" / "handbook"
    assert config.dagster.code_location == "ours"


@needs_dg
def test_dg_launches_an_asset_of_one_index_and_leaves_the_other(fresh, tmp_path):
    selection = "handbook/document_files,chunks"
    run("dg", "launch", "--assets", selection, cwd=fresh, DAGSTER_HOME=str(tmp_path))
    assert (fresh / "data" / "handbook" / "lance").is_dir()
    assert not (fresh / "data" / "manuals").exists()
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        made = {key.to_user_string() for key in instance.all_asset_keys()}
    assert made == {"handbook/document_files", "chunks"}


@needs_dg
def test_dg_works_in_this_repository(tmp_path):
    """On a copy, as it writes what it scaffolds."""
    for name in ("pyproject.toml", "rag_assets.yaml"):
        shutil.copy(REPOSITORY / name, tmp_path)
    shutil.copytree(
        REPOSITORY / "rag_assets", tmp_path / "rag_assets", ignore=shutil.ignore_patterns("*.pyc")
    )
    here = {"cwd": tmp_path, "PYTHONPATH": str(tmp_path), "RAG_ASSETS__STATE_DIR": "state"}
    assert "rag_assets.RetrievalIndex" in run("dg", "list", "components", "--json", **here)
    run("dg", "check", "defs", **here)
    assert "joint_index" in run("dg", "list", "defs", "--json", **here)
    run("dg", "scaffold", "defs", "rag_assets.RetrievalIndex", "x", "--documents", "y", **here)
    assert "RetrievalIndex" in run("dg", "list", "component-tree", **here)
    run("dg", "launch", "--assets", "document_files", **here, DAGSTER_HOME=str(tmp_path))
