"""What is judged, when, and against what."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest

from rag_assets import quality
from rag_assets.config.checks import stage_checks
from rag_assets.quality import Profile
from rag_assets.quality.results import ResultFiles
from rag_assets.store import Store
from rag_assets_tests.quality.subject import PROFILE, Table, subject_of


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


@pytest.fixture
def table():
    return Table()


def judge(table, store, **options):
    asked = {key: options.pop(key) for key in ("partition", "accept_drift") if key in options}
    return quality.result_of(subject_of(table, **options), store=store, log=print, **asked)


def test_a_table_that_is_being_written_is_waited_for_and_judged_once(store, table):
    said: list[str] = []
    subject = subject_of(table)
    with ThreadPoolExecutor() as pool:
        with store.lock(subject.table("default"), log=print):
            judging = [
                pool.submit(
                    quality.result_of,
                    subject,
                    store=store,
                    log=said.append,
                    partition="default",
                )
                for _ in range(2)
            ]
            with pytest.raises(TimeoutError):
                judging[0].result(timeout=0.5)
            assert not table.measured
        first, second = (each.result(timeout=10) for each in judging)
    assert first == second
    assert table.measured == 1
    assert "waiting" in said[0]


def failed(result) -> list[str]:
    return [item.name for item in result.failed]


def test_an_unchanged_table_keeps_its_result_and_is_not_measured_again(store, table):
    first = judge(table, store)

    assert judge(table, store) == first
    assert table.measured == 1

    table.version, table.totals = "2", {"duplicate_ids": 3, "oversized_chunks": 0}
    second = judge(table, store)
    assert table.measured == 2
    assert failed(second) == ["ids_unique"]
    assert second.outcomes["ids_unique"].examples == [{"uri": "a.md", "tokens": 300}]
    assert second.blocks


def test_a_changed_suite_is_judged_again(store, table):
    table.totals["oversized_chunks"] = 2

    assert judge(table, store).blocks
    assert not judge(table, store, tokens_fit="warning").blocks
    assert failed(judge(table, store, tokens_fit="off")) == []


def test_each_table_has_a_result_of_its_own(store, table):
    judge(table, store, partition="default")
    table.totals["duplicate_ids"] = 1

    assert judge(table, store, partition="other").blocks
    assert not judge(table, store, partition="default").blocks
    assert {result.table for result in quality.results_in(store)} == {
        "chunks__default",
        "chunks__other",
    }


@pytest.mark.parametrize(
    "left", [b'{"state": "', b"\0" * 64, b"\xff\xfe\x00", b"5", b"[]", b'{"outcomes": {}}']
)
def test_a_damaged_result_is_judged_again(store, table, left):
    first = judge(table, store)
    for file in (store.root / "checks").glob("*/*.json"):
        file.write_bytes(left)
    assert not quality.results_in(store)

    assert judge(table, store).outcomes == first.outcomes
    assert table.measured == 2


@pytest.mark.parametrize(
    ("profile", "drifts"),
    [
        (PROFILE, []),
        (replace(PROFILE, rows=1_290, mean_length=120.0), []),
        (replace(PROFILE, rows=1_310), ["drift_rows"]),
        (replace(PROFILE, rows=690), ["drift_rows"]),
        (replace(PROFILE, mean_length=60.0), ["drift_lengths"]),
        (replace(PROFILE, languages={"en": 0.7, "sv": 0.3}), ["drift_languages"]),
        (Profile(rows=0), ["drift_rows"]),
    ],
)
def test_a_table_is_held_against_the_run_before(store, table, profile, drifts):
    judge(table, store)
    table.version, table.profile = "2", profile

    result = judge(table, store)

    assert failed(result) == drifts
    assert not result.blocks


def test_drift_says_what_there_was_and_what_there_is(store, table):
    judge(table, store)
    table.version, table.profile = "2", replace(PROFILE, rows=2_000)

    outcome = judge(table, store).outcomes["drift_rows"]

    assert outcome.observed == 1.0
    assert outcome.examples == [{"before": 1_000, "now": 2_000}]


def test_the_first_run_and_small_tables_are_not_called_drift(store, table):
    table.profile = Profile(rows=3)
    assert "no run was accepted before" in judge(table, store).outcomes["drift_rows"].note
    table.version, table.profile = "2", Profile(rows=9)

    result = judge(table, store)

    assert failed(result) == []
    assert "fewer than 50 rows" in result.outcomes["drift_rows"].note


def test_a_warning_is_accepted_and_stays_until_the_data_moves(store, table):
    judge(table, store)
    table.version, table.profile = "2", replace(PROFILE, rows=2_000)
    assert failed(judge(table, store)) == ["drift_rows"]
    assert failed(judge(table, store)) == ["drift_rows"], "the stored result"

    assert failed(judge(table, store, tokens_fit="warning")) == ["drift_rows"], (
        "the same data is held against what it was held against before"
    )
    table.version = "3"
    assert failed(judge(table, store)) == []


def test_an_error_is_not_accepted_so_that_drift_cannot_creep_in_behind_it(store, table):
    drift = {"severity": "error", "rows": 0.3}
    judge(table, store, drift=drift)
    table.profile = replace(PROFILE, rows=2_000)
    for version in ("2", "3"):
        table.version = version
        result = judge(table, store, drift=drift)
        assert failed(result) == ["drift_rows"]
        assert result.blocks

    assert failed(judge(table, store, drift=drift, accept_drift=True)) == []
    assert failed(judge(table, store, drift=drift)) == [], "the stored result"
    table.version = "4"
    assert failed(judge(table, store, drift=drift)) == []


def test_accepting_drift_measures_nothing_where_there_is_none(store, table):
    judge(table, store)
    judge(table, store, accept_drift=True)

    assert table.measured == 1


def test_a_threshold_that_is_null_is_not_looked_at(store, table):
    judge(table, store)
    table.version, table.profile = "2", replace(PROFILE, rows=2_000, mean_length=1.0)

    assert failed(judge(table, store, drift={"rows": None})) == ["drift_lengths"]


def test_the_history_grows_with_the_data_and_is_bounded(store, table):
    for version in range(40):
        table.version = str(version)
        judge(table, store)
        judge(table, store, tokens_fit="warning" if version % 2 else "error")

    history = ResultFiles(store, asset="chunks", table="chunks__None").accepted().history
    assert len(history) == 30
    assert {entry["rows"] for entry in history} == {1_000}


def test_what_a_user_declares_is_judged_on_the_columns_with_the_rest(store, table):
    declared = [
        {"expect": "ExpectColumnValuesToNotMatchRegex", "column": "text"}
        | {"arguments": {"regex": "tw"}, "severity": "error", "name": "no_tw"},
        {"expect": "ExpectTableRowCountToBeBetween", "arguments": {"min_value": 3}},
        {"expect": "ExpectColumnValuesToBeUnique", "column": "text", "severity": "off"},
    ]
    result = judge(table, store, expectations=subject_of(table).expectations)
    assert failed(result) == []

    subject = subject_of(table)
    settings = subject.settings.model_validate(
        {**subject.settings.model_dump(), "expectations": declared}
    )
    result = quality.result_of(replace(subject, settings=settings), store=store, log=print)

    assert failed(result) == ["no_tw", "table_row_count_to_be_between"]
    assert result.blocks
    assert result.outcomes["no_tw"].examples == [{"text": "two", "chunk_id": "b"}]
    assert result.outcomes["table_row_count_to_be_between"].observed == 2


@pytest.mark.parametrize(
    "condition",
    [
        {"row_condition": "uri == 'a.md'", "condition_parser": "pandas"},
        {"row_condition": 'col("uri") == "a.md"', "condition_parser": "great_expectations"},
    ],
)
def test_a_condition_on_the_rows_may_name_any_column_of_the_stage(store, table, condition):
    table.rows = pa.table({"chunk_id": ["a", "b"], "text": ["one", "two"], "uri": ["a.md", "b.md"]})
    declared = {
        "expect": "ExpectColumnValuesToMatchRegex",
        "column": "text",
        "arguments": {"regex": "^t", **condition},
        "name": "begins_with_t",
    }
    settings = stage_checks("chunks").model_validate({"expectations": [declared]})
    subject = replace(subject_of(table), settings=settings, expectations=[])

    outcome = quality.result_of(subject, store=store, log=print).outcomes["begins_with_t"]

    assert (outcome.unexpected, outcome.measured, outcome.note) == (1, 1, None)
