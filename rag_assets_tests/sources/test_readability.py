"""How sources were read, since when they cannot be, and how that is told: with a real Dagster."""

import asyncio
import json
import logging
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.freshness import FreshnessState
from dagster._core.definitions.freshness_evaluator import TimeWindowFreshnessPolicyEvaluator
from dagster._core.loader import LoadingContextForTest
from dagster._core.test_utils import freeze_time

from rag_assets.config import Config, TableSource
from rag_assets.findings.finding import Finding
from rag_assets.graph import STEPS
from rag_assets.operations.problems.current import state_problems
from rag_assets.resources import resources_of
from rag_assets.sources import assets, readability
from rag_assets.sources.exports import refresh_exports
from rag_assets.sources.files.manifest import refresh_document_files
from rag_assets.sources.readability import Look, Readability
from rag_assets.store import Store, exports
from rag_assets.tables import assets as table_assets
from rag_assets.tables.table_rows import refresh_rows
from rag_assets_testing.faults import damaging
from rag_assets_tests.sources.conftest import Sandbox, settle

ALLOYS = dg.AssetKey(["exports", "laboratory", "alloys"])
PRICES = dg.AssetKey(["exports", "shop"])
FILES = dg.AssetKey("document_files")
ROWS = dg.AssetKey("table_rows")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    settle(path)


class Lab:
    """Documents, a database and a folder of CSV files, refreshed by Dagster."""

    def __init__(self, home: Path, instance: dg.DagsterInstance) -> None:
        self.home, self.instance = home, instance
        self.database = home / "laboratory.sqlite"
        with sqlite3.connect(self.database) as database:
            database.execute("CREATE TABLE alloys (id INTEGER PRIMARY KEY, name TEXT)")
            database.execute("INSERT INTO alloys VALUES (1, 'Invar')")
        settle(self.database)
        write(home / "shop" / "prices.csv", "id,euro\n1,20\n")
        write(home / "documents" / "a.md", "# a")
        self.settings = {
            "state_dir": str(home / "state"),
            "sources": {
                "documents": str(home / "documents"),
                "tables": [
                    {
                        "name": "laboratory",
                        "url": f"sqlite:///{self.database}",
                        "tables": ["alloys"],
                    },
                    {"name": "shop", "url": str(home / "shop")},
                ],
            },
        }
        self.config = Config.model_validate(self.settings)
        self.store = Store.of(self.config)
        self.said: list[tuple[int, str]] = []

    def refresh(self) -> dg.ExecuteInProcessResult:
        """One run of the sources, the rows made from them, and the checks of the sources."""
        rooms = dg.Definitions.merge(
            assets.definitions(self.config, STEPS),
            dg.Definitions(
                assets=[
                    each
                    for each in table_assets.definitions(self.config, STEPS).assets or ()
                    if isinstance(each, dg.AssetsDefinition) and each.key == ROWS
                ],
                loggers={"heard": heard_by(self.said)},
                resources=resources_of(self.config),
            ),
        )
        job = rooms.resolve_implicit_global_asset_job_def()
        result = job.execute_in_process(
            instance=self.instance, run_config={"loggers": {"heard": {}}}
        )
        assert result.success
        return result

    def read(self) -> None:
        """The sources and the rows made from them, without a run."""
        documents = self.config.sources.documents
        refresh_document_files(self.store, documents, allow_shrink=False, log=print)
        for source in self.config.sources.tables:
            exported(self.store, source)
        refresh_rows(self.store, sources=self.config.table_sources, log=print)

    def renewed(self, key: dg.AssetKey) -> float:
        """When the asset was last materialised, which is all that a freshness policy looks at."""
        event = self.instance.get_latest_materialization_event(key)
        return event.timestamp if event else 0.0

    def freshness(self, key: dg.AssetKey, *, seconds: int) -> FreshnessState:
        """What Dagster's daemon would say of an asset that has to be so fresh."""
        policy = dg.FreshnessPolicy.time_window(fail_window=timedelta(seconds=seconds))
        spec = dg.AssetSpec(key, freshness_policy=policy)
        graph = dg.Definitions(assets=[spec]).resolve_asset_graph()
        evaluated = TimeWindowFreshnessPolicyEvaluator().evaluate_freshness(
            LoadingContextForTest(self.instance), graph.get(key)
        )
        return asyncio.run(evaluated)

    def problems(self) -> list[Finding]:
        return state_problems(self.store, self.config)


def heard_by(said: list[tuple[int, str]]) -> dg.LoggerDefinition:
    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append((record.levelno, record.getMessage()))

    def made(_: dg.InitLoggerContext) -> logging.Logger:
        logger = logging.getLogger("heard by a test")
        logger.handlers = [Listener()]
        logger.setLevel(logging.DEBUG)
        return logger

    return dg.LoggerDefinition(made)


@pytest.fixture
def lab(tmp_path):
    with dg.instance_for_test() as instance:
        yield Lab(tmp_path, instance)


def judged(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    return {
        each.asset_key.to_user_string(): each
        for each in result.get_asset_check_evaluations()
        if each.check_name == "source_readable"
    }


def test_a_source_is_judged_before_the_next_one_is_read(lab):
    """A run that is killed while it reads the next one leaves the check of this one as it is."""
    order = [event.step_key for event in lab.refresh().all_events if event.is_step_start]
    assert order.index("source_readable_document_files") < order.index("exports_laboratory")


def test_what_cannot_be_read_keeps_its_age_and_the_others_are_refreshed(lab):
    first = lab.refresh()
    assert all(each.passed for each in judged(first).values())
    assert set(judged(first)) == {each.to_user_string() for each in (ALLOYS, PRICES, FILES)}
    before = {key: lab.renewed(key) for key in (ALLOYS, PRICES, FILES, ROWS)}

    lab.database.rename(lab.home / "away.sqlite")
    (lab.home / "documents").rename(lab.home / "unmounted")
    write(lab.home / "shop" / "prices.csv", "id,euro\n1,20\n2,30\n")
    result = lab.refresh()

    after = {key: lab.renewed(key) for key in before}
    assert {key for key in before if after[key] == before[key]} == {ALLOYS, FILES}
    window = 3_600
    with freeze_time(max(before.values()) + window):
        assert lab.freshness(ALLOYS, seconds=window) is FreshnessState.FAIL
        assert lab.freshness(FILES, seconds=window) is FreshnessState.FAIL
        assert lab.freshness(PRICES, seconds=window) is FreshnessState.PASS
    rows = lab.store.read("table_rows", columns=["table", "row_key"]).to_pylist()
    assert sorted(row["table"] for row in rows) == ["alloys", "prices", "prices"]
    observed = {event.asset_key: event for event in result.all_events if event.is_asset_observation}
    assert set(observed) == {ALLOYS, FILES}
    told = observed[ALLOYS].asset_observation_data.asset_observation.metadata["unreadable"]
    assert "there is no database file" in str(told.records[0].data["reason"])
    warned = [text for level, text in lab.said if level == logging.WARNING]
    assert sum("there is no database file" in text for text in warned) == 1
    assert sum("there is no folder" in text for text in warned) == 1

    (lab.home / "away.sqlite").rename(lab.database)
    lab.refresh()
    assert lab.renewed(ALLOYS) > before[ALLOYS]
    assert lab.renewed(FILES) == before[FILES]


def test_the_check_warns_then_fails_and_never_blocks(lab):
    lab.refresh()
    lab.database.rename(lab.home / "away.sqlite")

    severities = []
    for _ in range(3):
        result = judged(lab.refresh())[ALLOYS.to_user_string()]
        assert not result.passed
        severities.append(result.severity.value)
    assert severities == ["WARN", "WARN", "ERROR"]
    assert "laboratory cannot be read since " in result.description
    assert "(tried 3 times in a row): " in result.description
    assert "refresh" in result.metadata["what to do"].value
    (lab.home / "away.sqlite").rename(lab.database)
    assert judged(lab.refresh())[ALLOYS.to_user_string()].passed


def test_a_problem_lasts_from_the_first_miss_to_the_cure(lab):
    lab.read()
    assert lab.problems() == []
    read_before = readability.readability(lab.store, "laboratory").whole.last_read
    lab.database.rename(lab.home / "away.sqlite")

    lab.read()
    [first] = lab.problems()
    lab.read()
    [second] = lab.problems()

    assert first == second
    assert (first.kind, first.subject) == ("source_unreadable", "laboratory")
    assert first.assets == (ALLOYS.to_user_string(),)
    assert "there is no database file" in first.reason
    assert first.since.tzinfo is not None
    known = readability.readability(lab.store, "laboratory").whole
    assert (known.last_read, known.misses) == (read_before, 2)

    (lab.home / "away.sqlite").rename(lab.database)
    lab.read()
    assert lab.problems() == []


def test_a_source_that_was_removed_from_the_config_is_no_problem_and_is_forgotten(lab):
    lab.database.rename(lab.home / "away.sqlite")
    lab.refresh()
    assert [each.subject for each in lab.problems()] == ["laboratory"]
    assert lab.renewed(ALLOYS) == 0.0, "it was never read"

    sources = lab.config.sources
    left = sources.model_copy(update={"tables": sources.tables[1:]})
    lab.config = lab.config.model_copy(update={"sources": left})
    assert lab.problems() == []
    lab.refresh()
    assert not (lab.store.root / "sources" / "laboratory.json").exists()


def exported(store: Store, source: TableSource, *, allow_shrink: bool = False) -> None:
    refresh_exports(store, source, allow_shrink=allow_shrink, log=lambda _: None)


def outages(store: Store, source: str) -> list[tuple[str, list[str]]]:
    found = readability.readability(store, source).outages()
    return [(each.subject, list(each.parts)) for each in found]


def test_a_right_revoked_for_one_table_is_told_of_that_table(store, sandbox: Sandbox):
    sandbox.execute(
        "CREATE TABLE a (id int PRIMARY KEY)",
        "CREATE TABLE b (id int PRIMARY KEY)",
        "CREATE ROLE reader LOGIN",
        f"GRANT USAGE ON SCHEMA {sandbox.schema} TO reader",
        "GRANT SELECT ON a, b TO reader",
    )
    try:
        source = TableSource(
            name="erp", url=str(sandbox.engine.url.set(username="reader")), schema=sandbox.schema
        )
        exported(store, source)
        assert outages(store, "erp") == []

        sandbox.execute("REVOKE SELECT ON b FROM reader", "INSERT INTO a VALUES (1)")
        exported(store, source)
        assert outages(store, "erp") == [("erp/b", ["b"])]
        read = readability.readability(store, "erp")
        assert read.part("a").last_changed == read.whole.last_read
        assert "b" in str(read.part("b").reason)

        sandbox.execute("GRANT SELECT ON b TO reader")
        exported(store, source)
        assert outages(store, "erp") == []
    finally:
        sandbox.execute("DROP OWNED BY reader", "DROP ROLE reader")


def test_tables_that_fail_together_are_one_outage_until_the_last_is_back(store, sandbox: Sandbox):
    names = [f"t{number}" for number in range(5)]
    sandbox.execute(*(f"CREATE TABLE {name} (id int PRIMARY KEY)" for name in names))
    source = TableSource(name="erp", url=sandbox.url, schema=sandbox.schema, tables=names)
    exported(store, source)

    sandbox.execute("DROP TABLE t1, t2, t3")
    exported(store, source)
    assert outages(store, "erp") == [("erp/t1 and 2 more", ["t1", "t2", "t3"])]
    sandbox.execute("CREATE TABLE t1 (id int PRIMARY KEY)")
    exported(store, source)
    assert outages(store, "erp") == [("erp/t1 and 2 more", ["t2", "t3"])]
    sandbox.execute("DROP TABLE t4")
    exported(store, source)
    assert outages(store, "erp") == [("erp/t1 and 2 more", ["t2", "t3"]), ("erp/t4", ["t4"])]


def test_a_wrong_password_is_one_outage_of_the_whole_source(store, sandbox: Sandbox):
    sandbox.execute("CREATE TABLE a (id int)", "CREATE TABLE b (id int)")
    source = TableSource(name="erp", url=sandbox.url, schema=sandbox.schema)
    exported(store, source)
    url = sandbox.engine.url.set(username="nobody-of-that-name", password="secret")
    wrong = source.model_copy(
        update={"url": type(source.url)(url.render_as_string(hide_password=False))}
    )

    exported(store, wrong)

    assert outages(store, "erp") == [("erp", [])]
    assert "secret" not in (store.root / "sources" / "erp.json").read_text()
    parts = readability.readability(store, "erp").parts
    assert set(parts) == {"a", "b"}
    assert all(each.is_readable for each in parts.values())


def test_an_empty_mount_point_is_an_outage_and_no_deletion(store, tmp_path):
    for name in ("a", "b", "c"):
        write(tmp_path / "share" / f"{name}.csv", "id\n1\n")
    source = TableSource(name="share", url=str(tmp_path / "share"))
    exported(store, source)
    (tmp_path / "share").rename(tmp_path / "unmounted")
    (tmp_path / "share").mkdir()

    exported(store, source)

    [outage] = readability.readability(store, "share").outages()
    assert "3 cannot be read (a, b, c)" in outage.reason
    assert "--allow-shrink" in outage.reason


def test_a_table_that_is_unfinished_damaged_and_gone_leaves_nothing_behind(store, tmp_path):
    for name in ("a", "b", "c"):
        write(tmp_path / "share" / f"{name}.csv", "id\n1\n")
    source = TableSource(name="share", url=str(tmp_path / "share"))
    exported(store, source)
    refresh_rows(store, sources={"share"}, log=lambda _: None)
    name = exports.table_name("share", "b")
    damaging.damage(damaging.folder_of(store, name), files="_versions/*.manifest", how="half")
    store.reopen(name)
    (tmp_path / "share" / "b.csv").unlink()

    exported(Store(store.root), source, allow_shrink=True)
    refresh_rows(Store(store.root), sources={"share"}, log=lambda _: None)

    assert not Store(store.root).exists(name)
    left = Store(store.root).read("table_rows", columns=["table"])["table"].to_pylist()
    assert sorted(left) == ["a", "c"]
    assert set(readability.readability(store, "share").parts) == {"a", "c"}


def test_a_pass_over_some_tables_leaves_what_is_known_of_the_others(store, tmp_path):
    for name in ("a", "b"):
        write(tmp_path / "share" / f"{name}.csv", "id\n1\n")
    source = TableSource(name="share", url=str(tmp_path / "share"), tables=["a", "b", "c"])
    exported(store, source)
    before = readability.readability(store, "share").parts
    refresh_exports(store, source, only=["a"], allow_shrink=False, log=lambda _: None)
    after = readability.readability(store, "share").parts
    assert set(after) == {"a", "b", "c"}
    assert (after["b"], after["c"]) == (before["b"], before["c"])
    assert after["c"].misses == 1

    fewer = source.model_copy(update={"tables": source.tables[:2]})
    exported(store, fewer)
    assert set(readability.readability(store, "share").parts) == {"a", "b"}


def test_a_clock_that_was_set_back_gives_no_time_to_come(store):
    ahead = datetime.now(UTC) + timedelta(days=400)
    readability.note(store, "erp", whole=Look("is down"), parts={})
    file = store.root / "sources" / "erp.json"
    record = json.loads(file.read_text())
    record["whole"]["unreadable_since"] = ahead.isoformat()
    file.write_text(json.dumps(record))

    [outage] = readability.readability(store, "erp").outages()

    assert outage.since <= datetime.now(UTC)


def test_a_damaged_record_counts_as_none(store):
    readability.note(store, "erp", whole=Look("is down"), parts={})
    (store.root / "sources" / "erp.json").write_text('{"whole": 3}')
    assert readability.readability(store, "erp").whole == Readability()
