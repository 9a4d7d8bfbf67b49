"""An exported table after any sequence of edits equals one made from scratch."""

import datetime
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from rag_assets.change import sync
from rag_assets.change.sync import ShrinkError
from rag_assets.sources import exporting, landed_rows
from rag_assets.sources.column_types import by_position, rows_by_position
from rag_assets.sources.exporting import ExportRequest, ExportResult, export_table
from rag_assets.sources.landed import Landed, StaleKeysError
from rag_assets.store import Store
from rag_assets.store.exports import About, ExportedTable
from rag_assets_testing import effort
from rag_assets_testing.exported import rows_of, said, table_in

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("size", pa.float64())])


class Bench:
    """Exports tables into one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store(folder / "state")
        self.passes = 0
        self.log: list[str] = []

    def land(self, table: pa.Table) -> Path:
        self.passes += 1
        path = self.folder / f"landed{self.passes}.parquet"
        pq.write_table(by_position(table), path)
        return path

    def export(
        self,
        table: pa.Table,
        *,
        key: Sequence[str] = (),
        candidates: Sequence[str] = (),
        keys: pa.Table | None = None,
        allow_shrink: bool = True,
        memory: str = "",
        **about,
    ) -> ExportResult:
        landed = Landed(
            table.schema,
            [self.land(table)],
            keys=None if keys is None else [self.land(keys)],
            memory=memory,
        )
        words = {"title": "Parts", "hidden": None, "headings": {}} | about
        return export_table(
            ExportRequest(
                self.store,
                landed=landed,
                about=About(source="source", table="parts", key=key, **words),
                key_candidates=candidates,
                look="",
                recipe="",
                work=self.folder / f"work{self.passes}",
                allow_shrink=allow_shrink,
                log=self._heard,
            )
        )

    def _heard(self, line: str) -> None:
        if not re.search(r"\d done", line):
            self.log.append(line)

    @property
    def held(self) -> ExportedTable | None:
        return table_in(self.store, "source", "parts")

    def rows(self) -> list[dict]:
        return rows_of(self.held)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def parts(*rows: tuple[int | None, str | None, float | None]) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA
    )


def counts(done: ExportResult) -> tuple[int, int, int, int]:
    report = done.report
    return (report.added, report.changed, report.removed, report.unchanged)


def test_rows_are_counted_by_key(bench):
    first = bench.export(parts((1, "a", 1.0), (2, "b", 2.0), (3, "c", 3.0)), key=["id"])
    second = bench.export(parts((4, "d", 4.0), (3, "c", 3.0), (2, "x", 2.0)), key=["id"])
    assert counts(first) == (3, 0, 0, 0)
    assert counts(second) == (1, 1, 1, 1)
    assert [row["id"] for row in bench.rows()] == [2, 3, 4]


def test_without_a_key_rows_are_counted_by_content_with_multiplicity(bench):
    bench.export(parts((1, "a", 1.0), (1, "a", 1.0), (2, "b", 2.0)))
    swapped = bench.export(parts((1, "a", 1.0), (2, "x", 2.0), (2, "x", 2.0), (2, "x", 2.0)))
    assert counts(swapped) == (3, 0, 2, 1)


def test_equal_rows_in_another_order_write_nothing(bench):
    rows = [(2, "b", 2.0), (1, None, None), (3, "", 0.1)]
    first = bench.export(parts(*rows), key=["id"])
    written = bench.store.version(first.table.name)
    second = bench.export(parts(*reversed(rows)), key=["id"])
    assert counts(second) == (0, 0, 0, 3)
    assert second.table.data_version == first.table.data_version
    assert bench.store.version(first.table.name) == written


def test_an_even_number_of_equal_rows_is_not_overlooked(bench):
    first = bench.export(parts((1, "a", 1.0), (1, "a", 1.0)))
    second = bench.export(parts((2, "b", 1.0), (2, "b", 1.0)))
    assert second.table.data_version != first.table.data_version


def test_null_is_not_an_empty_text_and_nan_is_null(bench):
    bench.export(parts((1, "", float("nan")), (2, None, 1.0)), key=["id"])
    assert bench.rows() == [
        {"id": 1, "name": "", "size": None},
        {"id": 2, "name": None, "size": 1.0},
    ]
    assert counts(bench.export(parts((1, None, None), (2, None, 1.0)), key=["id"])) == (0, 1, 0, 1)


def test_types_are_kept_and_nested_values_become_json(bench):
    day = datetime.datetime(2024, 2, 29, 12, 30, 0, 5)
    zoned = day.replace(tzinfo=datetime.UTC)
    table = pa.table(
        {
            "decimal": pa.array([Decimal("1.50")], pa.decimal128(10, 2)),
            "single": pa.array([0.1], pa.float32()),
            "flag": pa.array([True]),
            "date": pa.array([day.date()]),
            "time": pa.array([day.time()]),
            "naive": pa.array([day], pa.timestamp("ns")),
            "zoned": pa.array([zoned], pa.timestamp("us", "Europe/Stockholm")),
            "bytes": pa.array([b"\x00\xff"]),
            "list": pa.array([[1, None]]),
            "struct": pa.array([{"a": {"b": "å"}}]),
            "word": pa.array(["x"]).dictionary_encode(),
            "nothing": pa.nulls(1),
        }
    )
    bench.export(table)
    [row] = bench.rows()
    assert row == {
        "decimal": Decimal("1.50"),
        "single": 0.1,
        "flag": True,
        "date": day.date(),
        "time": day.time(),
        "naive": day,
        "zoned": zoned,
        "bytes": b"\x00\xff",
        "list": "[1,null]",
        "struct": '{"a":{"b":"å"}}',
        "word": "x",
        "nothing": None,
    }
    assert counts(bench.export(table)) == (0, 0, 0, 1)


def test_columns_that_differ_only_in_case_are_both_kept(bench):
    table = pa.table([[1], [2], [3]], names=["N", "n", 'odd " name; --'])
    bench.export(table, key=["n"])
    assert bench.rows() == [{"N": 1, "n": 2, 'odd " name; --': 3}]


def test_a_table_says_what_it_is(bench):
    bench.export(
        parts((1, "a", 1.0)), key=["id"], title="Spare parts", headings={"size": "Size [mm]"}
    )
    assert said(bench.held) == {
        "source": "source",
        "table": "parts",
        "title": "Spare parts",
        "key": ["id"],
        "hidden": ["id"],
        "headings": {"size": "Size [mm]"},
    }
    assert bench.held.commented.field("size").metadata == {b"comment": b"Size [mm]"}


def test_other_headings_are_another_version_with_the_same_rows(bench):
    first = bench.export(parts((1, "a", 1.0)), key=["id"])
    second = bench.export(parts((1, "a", 1.0)), key=["id"], headings={"size": "Size [mm]"})
    assert counts(second) == (0, 0, 0, 1)
    assert second.table.data_version != first.table.data_version
    assert said(bench.held)["headings"] == {"size": "Size [mm]"}


def test_a_unique_candidate_becomes_the_key_only_while_it_is_unique(bench):
    bench.export(parts((1, "a", 1.0), (2, "a", 1.0)), candidates=["uuid", "name", "id"])
    assert said(bench.held)["key"] == ["id"]
    assert said(bench.held)["hidden"] == ["id"]
    swapped = bench.export(parts((1, "a", 1.0), (2, "a", 1.0), (2, "b", 1.0)), candidates=["id"])
    assert said(bench.held)["key"] == []
    assert counts(swapped) == (1, 0, 0, 2)


def test_rows_that_share_a_key_are_reported_and_one_is_kept(bench):
    rows = [(1, "b", 1.0), (1, "a", 1.0), (1, "c", 1.0), (2, "d", 1.0)]
    swapped = bench.export(parts(*rows), key=["id"])
    assert swapped.table.rows == 2
    [failure] = swapped.report.failures
    assert "3 rows" in failure.reason
    assert '["1"]' in failure.reason
    kept = bench.rows()
    bench.export(parts(*reversed(rows)), key=["id"])
    assert bench.rows() == kept


def test_a_key_that_is_no_key_gives_few_failures(bench):
    rows = [(number // 2, str(number), 1.0) for number in range(1_000)]
    failures = bench.export(parts(*rows), key=["id"]).report.failures
    assert len(failures) == landed_rows.DUPLICATES_SHOWN + 1
    assert "400 more rows" in failures[-1].reason


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (parts((1, "a", 1.0)).append_column("new", [["x"]]), ["column new was added"]),
        (parts((1, "a", 1.0)).drop_columns(["size"]), ["column size was removed"]),
        (
            parts((1, "a", 1.0)).rename_columns(["id", "label", "size"]),
            ["column name was renamed to label"],
        ),
        (
            parts((1, "a", 1.0)).rename_columns(["id", "label", "size"]).slice(0, 0),
            ["column label was added", "column name was removed"],
        ),
        (
            pa.table({"id": [1], "name": ["a"], "size": ["1.0"]}),
            ["column size changed its type from double to string"],
        ),
    ],
)
def test_a_changed_schema_is_taken_over_and_reported(bench, table, said):
    bench.export(parts((1, "a", 1.0)), key=["id"])
    swapped = bench.export(table, key=["id"])
    assert list(swapped.schema_changes) == said
    assert bench.log == [f"source/parts: {change}" for change in said]
    assert bench.rows() == table.to_pylist()


def test_losing_most_rows_needs_confirmation(bench):
    rows = [(number, "a", 1.0) for number in range(10)]
    bench.export(parts(*rows), key=["id"])
    with pytest.raises(ShrinkError, match="8 of 10"):
        bench.export(parts(*rows[:2]), key=["id"], allow_shrink=False)
    assert len(bench.rows()) == 10
    assert counts(bench.export(parts(*rows[:5]), key=["id"], allow_shrink=False)) == (0, 0, 5, 5)


def test_replacing_all_rows_is_not_a_loss(bench):
    bench.export(parts((1, "a", 1.0), (2, "b", 1.0)))
    assert counts(bench.export(parts((3, "c", 1.0), (4, "d", 1.0)), allow_shrink=False)) == (
        2,
        0,
        2,
        0,
    )


def test_newest_rows_and_all_keys_make_the_whole_table(bench):
    bench.export(parts((1, "a", 1.0), (2, "b", 2.0), (3, "c", 3.0)), key=["id"])
    keys = pa.table({"id": [1, 3, 4]})
    swapped = bench.export(parts((3, "x", 3.0), (4, "d", 4.0)), key=["id"], keys=keys)
    assert counts(swapped) == (1, 1, 1, 1)
    assert [row["name"] for row in bench.rows()] == ["a", "x", "d"]


def test_a_key_without_a_row_asks_for_the_whole_table(bench):
    bench.export(parts((1, "a", 1.0)), key=["id"])
    before = bench.rows()
    with pytest.raises(StaleKeysError):
        bench.export(parts((3, "c", 3.0)), key=["id"], keys=pa.table({"id": [1, 2, 3]}))
    assert bench.rows() == before


def test_newest_is_the_greatest_number_or_time_and_never_a_text(bench):
    bench.export(parts((1, "b", 1.5), (7, "a", None)), key=["id"])
    assert exporting.newest(bench.held, column="id") == 7
    assert exporting.newest(bench.held, column="size") == 1.5
    assert exporting.newest(bench.held, column="name") is None
    assert exporting.newest(bench.held, column="other") is None


def test_what_the_source_wants_to_be_told_is_remembered_with_a_complete_pass_only(bench):
    done = bench.export(parts((1, "a", 1.0)), memory="told")
    assert done.table.completion.read_at["memory"] == "told"
    bench.store.reopen(done.table.name)
    assert bench.held is None


def test_rows_too_large_for_little_memory_get_more(bench, monkeypatch):
    monkeypatch.setattr(exporting, "MEMORY", ("16MB", "1GB"))
    rows = [(number, "x" * 2_000_000, 1.0) for number in range(8)]
    assert counts(bench.export(parts(*rows), key=["id"])) == (8, 0, 0, 0)
    assert bench.log == ["source/parts: 16MB of memory do not hold its largest rows, taking more"]


def test_a_pass_that_is_killed_leaves_a_table_that_nobody_reads_and_the_next_one_completes(
    bench, monkeypatch
):
    monkeypatch.setattr(landed_rows, "ROWS_A_COMMIT", 1)
    monkeypatch.setattr(landed_rows, "BATCH_ROWS", 1)
    bench.export(parts((1, "a", 1.0), (2, "b", 1.0)), key=["id"])
    commit, commits = sync.commit, []

    def killed(*arguments, **named):
        commits.append(1)
        if len(commits) > 1:
            raise KeyboardInterrupt
        commit(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(sync, "commit", killed)
        with pytest.raises(KeyboardInterrupt):
            bench.export(parts((1, "x", 1.0), (2, "y", 1.0)), key=["id"])
    assert bench.held is None
    with pytest.raises(StaleKeysError):
        bench.export(parts((2, "y", 1.0)), key=["id"], keys=pa.table({"id": [1, 2]}))
    done = bench.export(parts((1, "x", 1.0), (2, "y", 1.0)), key=["id"])
    assert counts(done) == (0, 1, 0, 1)
    assert [row["name"] for row in bench.rows()] == ["x", "y"]


def test_cells_that_are_empty_are_counted(bench):
    bench.export(parts((1, None, 1.0), (2, None, None)), key=["id"])
    assert bench.held.nulls == [0, 2, 1]
    bench.export(parts((2, "b", None)), key=["id"], keys=pa.table({"id": [1, 2]}))
    assert bench.held.nulls == [0, 1, 1]


ROWS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.one_of(st.none(), st.sampled_from(["", "a", "A", "é", "'"])),
        st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.0, 1e300, float("nan")])),
    ),
    max_size=8,
)


@effort.examples(8, at_night=150)
@given(tables=st.lists(ROWS, min_size=1, max_size=4), keyed=st.booleans())
def test_any_sequence_of_tables_ends_where_the_last_one_starts(tables, keyed):
    key = ["id"] if keyed else []
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        walked, fresh = Bench(Path(one)), Bench(Path(other))
        held = 0
        for table in tables:
            swapped = walked.export(parts(*table), key=key)
            assert held == sum(counts(swapped)[1:])
            assert swapped.table.rows == sum(counts(swapped)) - swapped.report.removed
            held = swapped.table.rows
        again = fresh.export(parts(*tables[-1]), key=key)
        assert swapped.table.data_version == again.table.data_version
        assert walked.rows() == fresh.rows()


TABLES = st.lists(
    st.dictionaries(st.integers(0, 9), st.sampled_from(["", "a", "b"]), min_size=1),
    min_size=2,
    max_size=6,
)


@effort.examples(
    8,
    at_night=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(tables=TABLES)
def test_any_sequence_of_differences_ends_where_the_last_table_starts(tables):
    """Only what moved lands, with some rows that did not and the keys of all."""
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        walked, fresh = Bench(Path(one)), Bench(Path(other))
        held: dict[int, str] = {}
        for table in tables:
            moved = [key for key in table if held.get(key) != table[key] or key == 3]
            rows = parts(*((key, table[key], 1.0) for key in moved))
            keys = pa.table({"id": pa.array(table, pa.int64())}) if held else None
            swapped = walked.export(rows, key=["id"], keys=keys)
            added, gone = table.keys() - held.keys(), held.keys() - table.keys()
            changed = [key for key in table.keys() & held.keys() if table[key] != held[key]]
            assert counts(swapped)[:3] == (len(added), len(changed), len(gone))
            held = dict(table)
        rows = [(key, text, 1.0) for key, text in sorted(tables[-1].items())]
        again = fresh.export(parts(*rows), key=["id"])
        assert swapped.table.data_version == again.table.data_version
        assert [tuple(row.values()) for row in walked.rows()] == rows
        assert swapped.table.rows == again.table.rows == len(rows)
        assert exporting.newest(walked.held, column="id") == rows[-1][0]


def test_a_file_of_rows_is_read_in_memory_that_does_not_grow_with_it(tmp_path):
    values = np.random.default_rng(0).integers(1 << 62, size=4_000_000)
    rows = pa.table({"c0": values})
    file = tmp_path / "landed.parquet"
    pq.write_table(rows, file, row_group_size=100_000, use_dictionary=False)
    schema = rows.schema
    del rows, values

    before = pa.total_allocated_bytes()
    read = rows_by_position([file], schema=schema, names=schema.names)
    held = [pa.total_allocated_bytes() - before for _ in read]

    assert max(held) < file.stat().st_size / 4
