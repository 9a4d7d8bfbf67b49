"""What a refresh would do is told beforehand, and nothing is written for it."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.change.data_versions import data_version_of
from rag_assets.change.deciding import OTHER_COLUMNS, decide
from rag_assets.store import Store
from rag_assets_testing import effort

WORDS = sync.Target(
    name="words",
    schema=schemas.derived(
        pa.field("word_id", pa.string(), nullable=False),
        pa.field("document", pa.string(), nullable=False),
    ),
    key="word_id",
    group="document",
)
NARROW = sync.Target("words", schemas.derived(WORDS.schema.field(0)), "word_id", "word_id")
BROKEN = "BROKEN"
DOCUMENTS = st.dictionaries(st.sampled_from("abcde"), st.sampled_from(["one", "two", BROKEN]))


def work_on(store: Store, documents: dict[str, str], **options) -> sync.Work:
    contents = pa.table(
        {
            "key": pa.array(list(documents), pa.string()),
            "content": pa.array(list(documents.values()), pa.string()),
        }
    )
    inputs = sync.with_recipe(contents, key="key", content="content", recipe="1")

    def transform(changed: pa.Table):
        for key in changed["key"].to_pylist():
            is_broken = documents[key] == BROKEN
            failed = [sync.Failure(key, "it is broken", key)] if is_broken else []
            rows = [] if is_broken else [{"word_id": f"{key}/0", "document": key}]
            table = pa.Table.from_pylist(rows, schema=pa.schema(list(WORDS.schema)[:2]))
            yield sync.Batch(table, done=[] if is_broken else [key], failed=failed)

    return sync.Work(
        store=store,
        target=options.get("target", WORDS),
        made_from=lambda: {"documents": data_version_of(inputs), "recipe": "1"},
        inputs=lambda: inputs,
        transform=transform,
        lost=options.get("lost"),
    )


def files_of(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file()
    }


@effort.examples(8, at_night=200)
@given(before=DOCUMENTS, after=DOCUMENTS, retry=st.booleans())
def test_a_plan_says_what_the_refresh_then_does_and_writes_nothing(
    before, after, retry, tmp_path_factory
):
    store = Store(tmp_path_factory.mktemp("state"))
    sync.refresh(work_on(store, before), log=lambda _: None)
    files = files_of(store.root)

    plan = decide(work_on(store, after), retry=retry)

    assert files_of(store.root) == files
    pending = plan.pending.num_rows if plan.pending is not None else 0
    report = sync.refresh(work_on(store, after), log=lambda _: None, retry=retry)
    assert len(plan.removed) + plan.unchanged == report.removed + report.unchanged
    assert (report.added + report.changed == 0) or not plan.is_up_to_date
    assert report.added + report.changed <= pending
    assert plan.is_up_to_date or plan.inputs == len(after)


def test_a_plan_names_what_differs_from_the_last_complete_pass(tmp_path):
    store = Store(tmp_path)
    assert decide(work_on(store, {"a": "one"})).differs == ["documents", "recipe"]
    sync.refresh(work_on(store, {"a": "one"}), log=lambda _: None)
    assert decide(work_on(store, {"a": "one"})).differs == []
    assert decide(work_on(store, {"a": "two"})).differs == ["documents"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"lost": lambda: "its pictures are gone"}, "its pictures are gone"),
        (
            {
                "target": sync.Target(
                    "words", schemas.derived(WORDS.schema[0]), "word_id", "word_id"
                )
            },
            OTHER_COLUMNS,
        ),
    ],
)
def test_a_table_that_has_to_be_begun_anew_stays_until_the_refresh(tmp_path, options, reason):
    store = Store(tmp_path)
    sync.refresh(work_on(store, {"a": "one"}), log=lambda _: None)
    files = files_of(store.root)

    plan = decide(work_on(store, {"a": "two"}, **options))

    assert (plan.rebuild_reason, plan.added, files_of(store.root)) == (reason, 1, files)
    assert store.count("words") == 1
