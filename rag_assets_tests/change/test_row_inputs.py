"""Inputs that are rows of other tables: only what moved is read, and nothing is overlooked."""

import warnings
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets import schemas
from rag_assets.change import data_versions, row_inputs, sync
from rag_assets.change.data_versions import current_version, data_version_of
from rag_assets.change.row_inputs import RowInputs
from rag_assets.identity import fingerprint
from rag_assets.store import Store
from rag_assets.store.clean_up import merge
from rag_assets_testing import effort

SOURCES = ("left", "right")
CONTENT = pa.schema([pa.field(name, pa.string(), nullable=False) for name in ("name", "text")])
SCHEMA = schemas.derived(*CONTENT)
BROKEN = "broken"


def target(name: str) -> sync.Target:
    return sync.Target(name=name, schema=SCHEMA, key="name", group="name")


def rows_of(texts: Mapping[str, str]) -> pa.Table:
    return pa.table({"name": list(texts), "text": list(texts.values())}, schema=CONTENT)


def put(store: Store, source: str, texts: Mapping[str, str]) -> None:
    """Let a source hold exactly `texts`, touching only the rows that changed."""
    contents = pa.table(
        {
            "key": pa.array(list(texts), pa.string()),
            "content": pa.array(list(texts.values()), pa.string()),
        }
    )

    def transform(changed: pa.Table):
        keys = changed["key"].to_pylist()
        yield sync.Batch(rows_of({key: texts[key] for key in keys}), done=keys)

    sync.refresh(
        sync.Work(
            store=store,
            target=target(source),
            made_from=lambda: {"all": fingerprint(dict(texts))},
            inputs=lambda: sync.with_recipe(contents, key="key", content="content", recipe=""),
            transform=transform,
        ),
        log=lambda _: None,
    )


def refresh(store: Store, *, recipe: str = "1", retry: bool = False) -> sync.Report:
    """Bring the table `loud` up to the rows of both sources, in capitals."""

    def transform(changed: pa.Table):
        keys = changed["key"].to_pylist()
        held = {
            row["name"]: row["text"] for source in SOURCES for row in store.read(source).to_pylist()
        }
        good = {key: held[key].upper() + recipe for key in keys if held[key] != BROKEN}
        bad = [sync.Failure(key, "broken", key) for key in keys if held[key] == BROKEN]
        yield sync.Batch(rows_of(good), done=list(good), failed=bad)

    def made_from() -> str:
        versions = [current_version(store, source, key="name") for source in SOURCES]
        return fingerprint(*versions, recipe)

    return sync.refresh(
        sync.Work(
            store=store,
            target=target("loud"),
            made_from=lambda: {"all": made_from()},
            inputs=lambda: RowInputs.of(store, *SOURCES, key="name", recipe=recipe),
            transform=transform,
        ),
        log=lambda _: None,
        retry=retry,
    )


def content(store: Store) -> list[dict]:
    return store.read("loud").sort_by("name").to_pylist()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def all_read(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """One entry for each pass that went through all inputs."""
    found: list[bool] = []
    every = RowInputs.__iter__

    def watched(inputs: RowInputs):
        found.append(True)
        return every(inputs)

    monkeypatch.setattr(row_inputs.RowInputs, "__iter__", watched)
    return found


MANY = {f"a{number}": f"text {number}" for number in range(100)}
FEWER = dict(list(MANY.items())[:-1])


def built(store: Store) -> None:
    put(store, "left", MANY)
    put(store, "right", {"b": "other"})
    refresh(store)


def test_only_rows_that_moved_are_read(store, all_read):
    built(store)
    assert len(all_read) == 1
    put(store, "left", FEWER | {"a7": "edited", "new": "added"})

    report = refresh(store)

    assert len(all_read) == 1
    assert (report.added, report.changed, report.removed, report.unchanged) == (1, 1, 1, 99)
    held = {row["name"]: row["text"] for row in content(store)}
    assert (held["a7"], held["new"], len(held)) == ("EDITED1", "ADDED1", 101)
    assert "a99" not in held


def clean_up(store: Store) -> None:
    for source in SOURCES:
        with warnings.catch_warnings(category=UserWarning, action="ignore"):  # nobody reads
            store.open(source).optimize(cleanup_older_than=timedelta(0), delete_unverified=True)


def rebuild(store: Store) -> None:
    """Build a source anew, until its newest version has the number that it had."""
    version = store.version("left")
    store.drop("left")
    put(store, "left", {"a1": "of another time"} | {f"c{number}": "x" for number in range(99)})
    for number in range(version - store.version("left")):
        put(store, "left", MANY | {"a2": f"turn {number}"})


def edit_and_clean_up(store: Store) -> None:
    put(store, "left", MANY | {"a7": "edited"})
    clean_up(store)


def files_of(store: Store) -> set[Path]:
    """What the rows of a source lie in."""
    folder = store.root / "lance" / "left.lance" / "data"
    fragments = store.open("left").to_lance().get_fragments()
    return {folder / file.path for fragment in fragments for file in fragment.data_files()}


def kill_clean_up(store: Store) -> None:
    """Remove the files of an old version and not yet the version, as a clean-up begins."""
    put(store, "left", MANY | {"a7": "one"})
    refresh(store)
    before = files_of(store)
    put(store, "left", MANY | {"a7": "two"})
    for file in before - files_of(store):
        file.unlink()


@pytest.mark.parametrize(
    "disturb",
    [
        edit_and_clean_up,
        kill_clean_up,
        rebuild,
        partial(put, source="left", texts=dict.fromkeys(MANY, "all new")),
        lambda store: store.reopen("loud"),
    ],
    ids=["cleaned up", "clean-up killed", "built anew", "much changed", "killed"],
)
def test_everything_is_read_where_what_moved_cannot_be_told(
    store, all_read, disturb: Callable[[Store], None]
):
    built(store)
    disturb(store)
    texts = {row["name"]: row["text"] for row in store.read("left").to_pylist()} | {"a9": "again"}
    put(store, "left", texts)

    refresh(Store(store.root))

    assert len(all_read) == 2
    wanted = {name: f"{text.upper()}1" for name, text in (texts | {"b": "other"}).items()}
    assert {row["name"]: row["text"] for row in content(store)} == wanted


def test_a_target_that_was_merged_is_still_as_it_was_left(store, all_read):
    built(store)
    put(store, "left", MANY | {"a7": "edited"})
    refresh(store)
    assert merge(store, "loud")
    put(store, "left", MANY | {"a7": "edited", "a8": "edited"})

    assert refresh(store).changed == 1
    assert len(all_read) == 1


def restore(store: Store) -> None:
    """Put the target itself back to what it was before its last pass."""
    version = store.version("loud")
    put(store, "left", MANY | {"a7": "edited"})
    refresh(store)
    store.open("loud").restore(version)


def forget_failure(store: Store) -> None:
    """Lose what the quarantine says."""
    store.delete(sync.QUARANTINE, column="key", keys=["a5"])


@pytest.mark.parametrize("disturb", [restore, forget_failure])
def test_a_target_that_is_not_as_it_was_left_is_held_against_everything(
    store, disturb: Callable[[Store], None]
):
    put(store, "left", MANY | {"a5": BROKEN})
    put(store, "right", {"b": "other"})
    refresh(store)
    disturb(store)
    put(store, "left", MANY | {"a5": BROKEN, "a7": "edited", "a8": "edited"})

    report = refresh(store)

    held = {row["name"]: row["text"] for row in content(store)}
    assert (held["a7"], held["a8"], len(held)) == ("EDITED1", "EDITED1", 100)
    assert [failure.key for failure in report.failures] == ["a5"]
    assert report.data_version == data_version_of(
        store.read("loud", columns=["name", schemas.FINGERPRINT.name])
    )


def test_what_was_read_may_be_cleaned_up_before_the_pass_ends(store):
    built(store)
    rows = RowInputs.of(store, *SOURCES, key="name", recipe="1")
    put(store, "left", MANY | {"a7": "edited"})
    clean_up(store)

    assert RowInputs.of(store, *SOURCES, key="name", recipe="1").since(rows.read_at()) is None


def test_a_source_that_is_built_anew_during_a_pass_is_not_taken_for_what_was_read(store):
    put(store, "left", {"a": "one"})

    def refresh_left(while_read: Callable[[], None] = lambda: None) -> None:
        def transform(changed: pa.Table):
            keys = changed["key"].to_pylist()
            held = {row["name"]: row["text"] for row in store.read("left").to_pylist()}
            yield sync.Batch(rows_of({key: held[key] for key in keys}), done=keys)
            while_read()

        sync.refresh(
            sync.Work(
                store=store,
                target=target("loud"),
                made_from=lambda: {"all": current_version(store, "left", key="name")},
                inputs=lambda: RowInputs.of(store, "left", key="name", recipe="1"),
                transform=transform,
            ),
            log=lambda _: None,
        )

    def build_left_anew() -> None:
        store.drop("left")
        put(store, "left", {"a": "two"})

    refresh_left(build_left_anew)
    refresh_left()

    assert [row["text"] for row in content(store)] == ["two"]


def test_an_input_that_a_transform_left_out_is_asked_for_again(store):
    put(store, "left", {"a": "one", "b": "two"})
    asked: list[list[str]] = []

    def transform(changed: pa.Table):
        asked.append(changed["key"].to_pylist())
        first = asked[-1][0]
        yield sync.Batch(rows_of({first: first.upper()}), done=[first])

    for _ in range(2):
        sync.refresh(
            sync.Work(
                store=store,
                target=target("loud"),
                made_from=lambda: {"all": "the same"},
                inputs=lambda: RowInputs.of(store, "left", key="name", recipe="1"),
                transform=transform,
            ),
            log=lambda _: None,
        )

    assert asked == [["a", "b"], ["b"]]


def test_a_source_that_moves_while_a_refresh_begins_is_looked_at_again(store):
    """Undone later, it would look as if nothing had happened since."""
    put(store, "left", {"a": "one"})
    put(store, "right", {})

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(RowInputs, "of", partial(_moving, store, RowInputs.of))
        refresh(store)
    put(store, "left", {"a": "one"})
    refresh(store)

    assert [row["text"] for row in content(store)] == ["ONE1"]


def _moving(store: Store, of: Callable[..., RowInputs], *args: object, **named: str) -> RowInputs:
    put(store, "left", {"a": "two"})
    return of(*args, **named)


def test_another_recipe_reads_everything(store, all_read):
    built(store)

    assert refresh(store, recipe="2").changed == 101
    assert len(all_read) == 2


def test_what_failed_waits_for_a_change_or_a_request(store):
    put(store, "left", MANY | {"a5": BROKEN})
    put(store, "right", {})
    assert refresh(store).failed == 1

    put(store, "left", MANY | {"a5": BROKEN, "a6": "edited"})
    report = refresh(store)
    assert (report.changed, report.unchanged, report.failed) == (1, 98, 1)

    assert refresh(store, retry=True).failed == 1
    put(store, "left", MANY)
    assert refresh(store).failed == 0
    assert {row["name"] for row in content(store)} == set(MANY)


names = st.sampled_from([f"n{number}" for number in range(6)])
corpora = st.dictionaries(names, st.sampled_from(["one", "two", BROKEN]), max_size=6)
steps = st.lists(
    st.tuples(corpora, st.sampled_from(["1", "1", "1", "2"]), st.booleans(), st.booleans()),
    min_size=1,
    max_size=4,
)


@effort.examples(10, at_night=150)
@given(steps=steps)
def test_a_refresh_after_any_edits_equals_a_rebuild(tmp_path_factory, steps):
    """However the sources were edited, merged or built anew, and the recipe changed, in between."""
    edited, rebuilt = (Store(tmp_path_factory.mktemp(name)) for name in ("edited", "rebuilt"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(data_versions, "NAMED_UP_TO_SHARE", 100)
        for texts, recipe, is_merged, is_new in steps:
            if is_new and edited.exists("left"):
                edited.drop("left")
            put_halves(edited, texts)
            if is_merged:
                edited.open("left").to_lance().optimize.compact_files()
            report = refresh(edited, recipe=recipe)
    put_halves(rebuilt, steps[-1][0])
    fresh = refresh(rebuilt, recipe=steps[-1][1])

    assert content(edited) == content(rebuilt)
    assert report.data_version == fresh.data_version
    assert (report.failures, report.rows) == (fresh.failures, fresh.rows)


def put_halves(store: Store, texts: Mapping[str, str]) -> None:
    put(store, "left", {name: text for name, text in texts.items() if name < "n3"})
    put(store, "right", {name: text for name, text in texts.items() if name >= "n3"})
