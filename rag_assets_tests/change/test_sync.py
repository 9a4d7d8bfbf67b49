"""The rule of change: a refresh after any sequence of edits equals a rebuild, and does no more."""

import shutil
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets import schemas
from rag_assets.change import data_versions, sync
from rag_assets.change.data_versions import current_version, data_version_of
from rag_assets.identity import fingerprint
from rag_assets.process import clock
from rag_assets.store import Store
from rag_assets_testing import effort

WORDS = sync.Target(
    name="words",
    schema=schemas.derived(
        pa.field("word_id", pa.string(), nullable=False),
        pa.field("document", pa.string(), nullable=False),
        pa.field("word", pa.string(), nullable=False),
    ),
    key="word_id",
    group="document",
)


class Words:
    """Splits documents into words and remembers which documents it was asked to split."""

    def __init__(self, documents: dict[str, str], *, kind: str = "input") -> None:
        self.documents = documents
        self.kind = kind
        self.asked: list[str] = []

    def __call__(self, changed: pa.Table):
        for key in changed["key"].to_pylist():
            self.asked.append(key)
            words = self.documents[key].split()
            broken = "BROKEN" in words
            rows = [
                {"word_id": f"{key}/{index}", "document": key, "word": word}
                for index, word in enumerate(words)
                if word != "BROKEN"
            ]
            failure = sync.Failure(key=key, reason="broken", label=key, kind=self.kind)
            yield sync.Batch(
                rows=pa.Table.from_pylist(rows, schema=pa.schema(list(WORDS.schema)[:3])),
                done=[key] if rows else [],
                failed=[failure] if broken or not rows else [],
            )


def refresh(
    store: Store, documents: dict[str, str], *, recipe: str = "1", log=lambda line: None, **options
):
    transform = Words(documents, **({"kind": options.pop("kind")} if "kind" in options else {}))
    contents = pa.table(
        {
            "key": pa.array(list(documents), pa.string()),
            "content": pa.array(list(documents.values()), pa.string()),
        }
    )
    inputs = sync.with_recipe(contents, key="key", content="content", recipe=recipe)
    report = sync.refresh(
        sync.Work(
            store=store,
            target=WORDS,
            made_from=lambda: {"all": fingerprint(data_version_of(inputs), recipe)},
            inputs=lambda: inputs,
            transform=transform,
        ),
        log=log,
        **options,
    )
    return report, transform.asked


def content(store: Store) -> list[dict]:
    return store.read(WORDS.name).sort_by("word_id").to_pylist()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_a_pass_that_is_done_at_once_tells_no_progress(store):
    lines = []
    refresh(store, {"a": "one two"}, log=lines.append)
    assert not lines


def test_progress_counts_what_gave_nothing_apart(store):
    lines = []
    refresh(store, {"a": "BROKEN", "b": "one BROKEN", "c": "BROKEN"}, log=lines.append)
    assert lines[-1] == "documents: 1 of 3 done, 2 failed"


def test_only_changed_inputs_are_transformed(store):
    refresh(store, {"a": "one two", "b": "three"})

    report, asked = refresh(store, {"a": "one two", "b": "four five", "c": "six"})

    assert sorted(asked) == ["b", "c"]
    assert (report.added, report.changed, report.removed, report.unchanged) == (1, 1, 0, 1)
    assert [row["word"] for row in content(store)] == ["one", "two", "four", "five", "six"]


def test_unchanged_inputs_are_not_even_read(store):
    first, _ = refresh(store, {"a": "one"})
    version = store.version(WORDS.name)

    def unread():
        raise AssertionError("the inputs were read")

    inputs = sync.with_recipe(
        pa.table({"key": ["a"], "content": ["one"]}), key="key", content="content", recipe="1"
    )
    again = sync.refresh(
        sync.Work(
            store=store,
            target=WORDS,
            made_from=lambda: {"all": fingerprint(data_version_of(inputs), "1")},
            inputs=unread,
            transform=Words({}),
        ),
        log=lambda line: None,
    )

    assert again.data_version == first.data_version
    assert (again.unchanged, again.added, again.rows) == (1, 0, 1)
    assert store.version(WORDS.name) == version


def test_a_new_recipe_changes_everything(store):
    refresh(store, {"a": "one", "b": "two"})

    report, asked = refresh(store, {"a": "one", "b": "two"}, recipe="2")

    assert (sorted(asked), report.changed) == (["a", "b"], 2)


def test_an_input_failure_waits_for_a_change_or_a_request(store):
    report, _ = refresh(store, {"a": "one", "b": "BROKEN"})
    assert [(failure.key, failure.reason) for failure in report.failures] == [("b", "broken")]

    again, asked = refresh(store, {"a": "one", "b": "BROKEN"})
    assert (asked, again.failed) == ([], 1)
    _, asked = refresh(store, {"a": "one", "b": "BROKEN"}, retry=True)
    assert asked == ["b"]
    mended, asked = refresh(store, {"a": "one", "b": "two"})
    assert (asked, mended.failed, sync.quarantined(store)) == (["b"], 0, [])


def test_what_failed_in_part_waits_for_a_change_or_a_request_as_well(store):
    refresh(store, {"a": "one BROKEN", "b": "two"})

    assert refresh(store, {"a": "one BROKEN", "b": "two"})[1] == []
    again, asked = refresh(store, {"a": "one BROKEN", "b": "two"}, retry=True)

    assert (asked, again.changed, again.unchanged, again.failed) == (["a"], 1, 1, 1)


@pytest.mark.parametrize("lost", ["deleted by hand", "written with other columns"])
def test_a_table_that_is_built_again_lacks_nothing_of_what_failed_in_part(store, lost):
    documents = {"a": "one", "b": "two BROKEN", "c": "BROKEN"}
    refresh(store, documents)
    built = content(store)
    if lost == "deleted by hand":
        shutil.rmtree(store.root / "lance" / f"{WORDS.name}.lance")
    else:
        table = store.read(WORDS.name).append_column("other", pa.array(["x"] * len(built)))
        store.drop(WORDS.name)
        store.append(WORDS.name, table, schema=table.schema)

    report, _ = refresh(store, documents)

    assert content(store) == built
    assert report.failed == 2
    assert refresh(store, documents)[1] == []


def test_an_environment_failure_is_tried_at_every_refresh(store):
    refresh(store, {"a": "one", "b": "BROKEN"}, kind="environment")

    assert store.completion(WORDS.name) is None
    _, asked = refresh(store, {"a": "one", "b": "BROKEN"}, kind="environment")

    assert asked == ["b"]


def test_partial_output_is_kept_and_completed_when_the_environment_recovers(store):
    refresh(store, {"a": "one BROKEN"}, kind="environment")
    assert [row["word"] for row in content(store)] == ["one"]

    _, asked = refresh(store, {"a": "one BROKEN"}, kind="environment")

    assert asked == ["a"]


def entry(store: Store) -> tuple[int | None, date | None]:
    (failure,) = sync.quarantined(store, WORDS.name)
    return failure.attempts, failure.tried_again


NIGHT = date(2026, 11, 24)


@pytest.fixture
def on(monkeypatch):
    """Sets the day, as a number of nights after the first one."""

    def at(nights: int) -> None:
        monkeypatch.setattr(clock, "today", lambda: NIGHT + timedelta(days=nights))

    at(0)
    return at


def test_what_ran_into_a_limit_waits_longer_each_time_and_says_until_when(store, on):
    documents = {"a": "one", "b": "BROKEN"}
    nights = []
    for night in range(260):
        on(night)
        if refresh(store, documents, kind="limit")[1]:
            nights.append(night)

    assert nights == [0, 1, 3, 7, 15, 31, 63, 127, 191, 255]
    report, _ = refresh(store, documents, kind="limit")
    assert entry(store) == (10, NIGHT + timedelta(days=255 + 64))
    assert report.failures[0].reason == (
        "broken; tried again on 2027-10-09, or at once with --retry-failed"
    )


def test_a_pass_is_finished_until_the_day_on_which_something_is_tried_again(store, on):
    refresh(store, {"a": "one", "b": "BROKEN"}, kind="limit")

    assert store.completion(WORDS.name) is not None
    on(1)
    assert store.completion(WORDS.name) is None
    assert store.ended(WORDS.name) is not None


def test_what_waits_for_a_day_is_tried_at_once_on_request_and_when_it_changes(store, on):
    refresh(store, {"a": "one", "b": "BROKEN"}, kind="limit")
    on(1)
    refresh(store, {"a": "one", "b": "BROKEN"}, kind="limit")

    _, asked = refresh(store, {"a": "one", "b": "BROKEN"}, kind="limit", retry=True)
    assert (asked, entry(store)) == (["b"], (3, NIGHT + timedelta(days=5)))
    _, asked = refresh(store, {"a": "one", "b": "other BROKEN"}, kind="limit")
    assert (asked, entry(store)) == (["b"], (1, NIGHT + timedelta(days=2)))
    report, _ = refresh(store, {"a": "one", "b": "two"}, kind="limit")
    assert (report.failed, sync.quarantined(store)) == (0, [])


@pytest.mark.parametrize("broken", ["BROKEN", "one BROKEN"])
def test_other_inputs_go_on_while_one_waits(store, on, broken):
    refresh(store, {"a": "one", "b": broken}, kind="limit")

    report, asked = refresh(store, {"a": "two", "b": broken, "c": "three"}, kind="limit")

    assert (sorted(asked), report.failed, entry(store)[0]) == (["a", "c"], 1, 1)
    on(1)
    assert refresh(store, {"a": "two", "b": broken, "c": "three"}, kind="limit")[1] == ["b"]


@pytest.mark.parametrize("step", ["upsert", "append", "delete", "complete"])
@pytest.mark.parametrize("broken", ["BROKEN", "one BROKEN"])
def test_attempts_outlive_whoever_is_killed(store, on, monkeypatch, step, broken):
    documents = {"a": "one", "b": broken}
    refresh(store, documents, kind="limit")
    on(1)
    refresh(store, documents, kind="limit")
    on(3)
    with monkeypatch.context() as patch:
        kept = getattr(Store, step)

        def killed(self, name, *arguments, **options):
            if name == sync.QUARANTINE or step == "complete":
                raise KeyboardInterrupt
            return kept(self, name, *arguments, **options)

        patch.setattr(Store, step, killed)
        with suppress(KeyboardInterrupt):
            refresh(store, documents, kind="limit")
    on(7)
    refresh(store, documents, kind="limit")

    attempts, day = entry(store)
    assert attempts in (3, 4)
    assert day > NIGHT + timedelta(days=7 + 3)


@given(st.lists(st.sampled_from(["night", "edit", "mend", "add", "request"]), max_size=8))
@effort.examples(8, at_night=100)
def test_a_refresh_equals_a_rebuild_whatever_waits(steps):
    documents = {"a": "one", "b": "two BROKEN", "c": "BROKEN"}
    day = NIGHT
    with TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "today", lambda: day)
        kept = Store(Path(home) / "kept")
        refresh(kept, documents, kind="limit")
        for step in steps:
            day += timedelta(days=step == "night")
            if step == "edit":
                documents["c"] += " BROKEN"
            elif step == "mend":
                documents["b"] = "two three"
            elif step == "add":
                documents["d"] = "four BROKEN"
            refresh(kept, documents, kind="limit", retry=step == "request")
        fresh = Store(Path(home) / "fresh")
        refresh(fresh, documents, kind="limit")
        assert content(kept) == content(fresh)
        failed = [{item.key for item in sync.quarantined(each)} for each in (kept, fresh)]
        assert failed[0] == failed[1]


@pytest.mark.parametrize("kind", ["input", "environment"])
def test_who_is_killed_before_the_quarantine_is_written_forgets_nothing(store, monkeypatch, kind):
    documents = {"a": "one BROKEN", "b": "two"}

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sync, "record_failures", killed)
        with pytest.raises(KeyboardInterrupt):
            refresh(store, documents, kind=kind)
    assert sync.quarantined(store) == []

    again, asked = refresh(store, documents, kind=kind)

    assert (asked, [failure.key for failure in again.failures]) == (["a"], ["a"])


def test_what_lacks_another_part_than_before_has_another_version(store):
    """A table made from it would take it for the same, and keep the part that is now lacking."""
    inputs = pa.table({"key": ["a"], "fingerprint": ["1"]})

    def version(*, read: str, lost: str) -> str:
        rows = [{"word_id": "a/0", "document": "a", "word": read}]
        failure = sync.Failure("a", f"{lost} timed out", "a", "environment")
        batch = sync.Batch(
            pa.Table.from_pylist(rows, schema=pa.schema(list(WORDS.schema)[:3])), ["a"], [failure]
        )
        report = sync.refresh(
            sync.Work(
                store=store,
                target=WORDS,
                made_from=lambda: {"all": "1"},
                inputs=lambda: inputs,
                transform=lambda changed: [batch],
            ),
            log=print,
        )
        assert current_version(store, WORDS.name, key=WORDS.key) == report.data_version
        return report.data_version

    first = version(read="one", lost="two")

    assert version(read="two", lost="one") != first
    assert version(read="one", lost="two") == first


def test_a_document_that_fails_after_an_edit_leaves_the_table(store):
    refresh(store, {"a": "one two"})

    report, _ = refresh(store, {"a": "BROKEN"})

    assert (report.failed, report.rows, content(store)) == (1, 0, [])


def test_the_targets_in_quarantine_are_known_without_opening_it(store):
    for target in ("exports/erp/a b", "exports/erp/ö"):
        sync.record(store, target=target, failures=[sync.Failure("", "down", target)])
    assert sync.quarantined_targets(store) == ["exports/erp/a b", "exports/erp/ö"]
    sync.record(store, target="exports/erp/ö", failures=[])
    assert sync.quarantined_targets(store) == ["exports/erp/a b"]


def test_the_targets_in_quarantine_are_read_from_it_where_an_older_release_left_it(store):
    sync.record(store, target="words", failures=[sync.Failure("", "down", "words")])
    shutil.rmtree(store.root / "quarantined")
    assert sync.quarantined_targets(store) == ["words"]
    sync.record(store, target="other", failures=[sync.Failure("", "down", "other")])
    assert sync.quarantined_targets(store) == ["other", "words"]


@pytest.mark.parametrize("edited", ["one", "two"])
def test_a_quarantine_that_was_lost_is_filled_anew(store, edited):
    refresh(store, {"a": "one", "b": "BROKEN"})
    store.drop(sync.QUARANTINE)

    report, _ = refresh(store, {"a": edited, "b": "BROKEN"})

    assert (report.failed, [failure.key for failure in report.failures]) == (1, ["b"])


def test_the_quarantine_forgets_removed_inputs(store):
    refresh(store, {"a": "one", "b": "BROKEN"})

    refresh(store, {"a": "one"})

    assert sync.quarantined(store) == []


def test_a_table_written_with_other_columns_is_built_again(store):
    old = pa.schema([*WORDS.schema][1:])
    store.append(WORDS.name, old.empty_table(), schema=old)

    report, _ = refresh(store, {"a": "one"})

    assert (report.added, store.schema(WORDS.name)) == (1, WORDS.schema)


def test_a_transform_must_account_for_every_input(store):
    inputs = pa.table({"key": ["a"], "fingerprint": ["f"]})
    empty = pa.schema(list(WORDS.schema)[:3]).empty_table()

    with pytest.raises(ValueError, match="no output and no failure"):
        sync.refresh(
            sync.Work(
                store=store,
                target=WORDS,
                made_from=lambda: {"all": "x"},
                inputs=lambda: inputs,
                transform=lambda changed: [sync.Batch(rows=empty, done=["a"])],
            ),
            log=lambda line: None,
        )


def test_data_version_ignores_order_and_sees_content():
    rows = pa.table({"key": ["a", "b"], "fingerprint": ["1", "2"]})
    turned = pa.table({"key": ["b", "a"], "fingerprint": ["2", "1"]})
    swapped = pa.table({"key": ["a", "b"], "fingerprint": ["2", "1"]})

    assert data_version_of(rows) == data_version_of(turned)
    assert data_version_of(rows) != data_version_of(swapped)


def test_losing_most_of_a_source_asks_first():
    with pytest.raises(sync.ShrinkError, match="--allow-shrink"):
        sync.guard_shrink("handbook", held=10, removed=6, allow_shrink=False)
    sync.guard_shrink("handbook", held=10, removed=5, allow_shrink=False)
    sync.guard_shrink("handbook", held=10, removed=10, allow_shrink=True)


texts = st.lists(st.sampled_from(["one", "two", "three", "BROKEN"]), max_size=3).map(" ".join)
corpora = st.dictionaries(st.sampled_from("abcde"), texts, max_size=5)


@pytest.mark.parametrize("named_up_to", [0, 100])
@effort.examples(8, at_night=150)
@given(steps=st.lists(corpora, min_size=1, max_size=4))
def test_a_refresh_after_any_edits_equals_a_rebuild(tmp_path_factory, named_up_to, steps):
    """Whether what went and came is read by itself or with all of the table."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(data_versions, "NAMED_UP_TO_SHARE", named_up_to)
        check_refresh_against_rebuild(tmp_path_factory, steps)


def check_refresh_against_rebuild(tmp_path_factory, steps):
    edited = Store(tmp_path_factory.mktemp("edited"))
    for documents in steps:
        report, _ = refresh(edited, documents)
    rebuilt = Store(tmp_path_factory.mktemp("rebuilt"))
    fresh, _ = refresh(rebuilt, steps[-1])

    assert content(edited) == content(rebuilt)
    assert report.data_version == fresh.data_version
    assert report.failures == fresh.failures


def test_a_data_version_is_not_taken_further_from_a_record_of_another_table(store):
    documents = {name: f"{name} x" for name in "abcdef"}
    refresh(store, documents)
    held = store.completion(WORDS.name)
    store.complete(WORDS.name, replace(held, bits=held.bits ^ 1, rows=held.rows - 1))

    report, _ = refresh(store, documents | {"f": "other"})

    again, _ = refresh(Store(store.root / "again"), documents | {"f": "other"})
    assert report.data_version == again.data_version


KILLED = """
import os, signal, sys
from pathlib import Path
from rag_assets.store import Store
from rag_assets_tests.change.test_sync import Words, refresh

class Dies(Words):
    def __call__(self, changed):
        for number, batch in enumerate(super().__call__(changed)):
            if number == 4:
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

import rag_assets_tests.change.test_sync as here
here.Words = Dies
refresh(Store(Path(sys.argv[1])), {name: f"{name} x" for name in "abcdef"})
"""


def test_a_killed_run_keeps_its_batches_and_the_next_goes_on(tmp_path):
    documents = {name: f"{name} x" for name in "abcdef"}
    killed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path)],
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert killed.returncode == -signal.SIGKILL

    store = Store(tmp_path)
    report, asked = refresh(store, documents)

    lost_in_commit = ["d"] if "d" in asked else []
    assert asked == [*lost_in_commit, "e", "f"]
    assert (report.unchanged, report.rows) == (6 - len(asked), 12)


@pytest.mark.parametrize(
    ("row", "other"),
    [
        ({"text": "one", "text_hash": "1", "page": "3"}, {"page": "4"}),
        ({"text": "one", "text_hash": "1", "page": "3"}, {"text": "two", "text_hash": "2"}),
        ({"text": "one", "page": "3"}, {"text": "two"}),
    ],
)
def test_rows_that_say_something_else_have_other_fingerprints(tmp_path, row, other):
    def said(row: dict[str, str]) -> str:
        columns = [pa.field(name, pa.string(), nullable=False) for name in row]
        inputs = pa.table({"key": ["a"], "fingerprint": ["1"]}, schema=sync.INPUTS)
        batch = sync.Batch(pa.Table.from_pylist([row], schema=pa.schema(columns)), done=["a"])
        store = Store(tmp_path / fingerprint(row))
        sync.refresh(
            sync.Work(
                store=store,
                target=sync.Target("rows", schemas.derived(*columns), key="key", group="key"),
                made_from=lambda: {"all": "1"},
                inputs=lambda: inputs,
                transform=lambda _: [batch],
            ),
            log=lambda line: None,
        )
        return store.read("rows")["row_fingerprint"][0].as_py()

    row = {"key": "a", **row}
    assert said(row) != said(row | other)


def test_a_failure_whose_mark_was_lost_is_not_entered_twice(store):
    refresh(store, {"a": "BROKEN", "b": "BROKEN"})
    (store.root / "quarantined" / WORDS.name).unlink()

    report, _ = refresh(store, {"a": "BROKEN", "b": "BROKEN", "c": "one"})

    assert (report.failed, store.count(sync.QUARANTINE)) == (2, 2)


def test_a_table_that_a_killed_run_named_for_nothing_is_not_named_for_long(store):
    refresh(store, {"a": "BROKEN", "b": "one"})
    refresh(store, {"b": "one"})
    assert sync.quarantined_targets(store) == []
    (store.root / "quarantined" / "words").touch()
    refresh(store, {"b": "two"})
    assert sync.quarantined_targets(store) == []
