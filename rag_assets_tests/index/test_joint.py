import pytest

from rag_assets.change.completing import joint_made_from
from rag_assets.graph import STEPS
from rag_assets.index.joint import refresh_joint
from rag_assets.models.embedding import ModelEncoder
from rag_assets.store import MissingTableError, Store
from rag_assets_testing.embedding import refresh_documents, refresh_rows
from rag_assets_tests.index.corpus import VARIANT, config_at, put_chunks, put_rows, texts


def quiet(_: str) -> None:
    pass


@pytest.fixture
def config(tmp_path):
    return config_at(tmp_path)


@pytest.fixture
def store(config) -> Store:
    store = Store(config.state_dir)
    put_chunks(store, config, texts(5))
    put_rows(store, config, ["grade is 316L", "grade is S355"])
    refresh_documents(store, config, variant=VARIANT, log=quiet)
    refresh_rows(store, config, variant=VARIANT, log=quiet)
    return store


def contents(store, name: str) -> list[dict]:
    rows = store.read(name).drop_columns("fingerprint").to_pylist()
    return sorted(rows, key=lambda row: row["unit_id"])


def test_it_holds_both_tables_and_embeds_nothing(store, config, monkeypatch):
    monkeypatch.delattr(ModelEncoder, "embed")
    report = refresh_joint(store, config, variant=VARIANT, log=quiet)
    tables = config.tables_of(VARIANT)
    assert (report.added, report.rows) == (7, 7)
    expected = contents(store, tables.documents) + contents(store, tables.rows)
    assert contents(store, tables.joint) == sorted(expected, key=lambda row: row["unit_id"])


def test_it_follows_its_parts_and_knows_whether_it_belongs_to_them(store, config):
    refresh_joint(store, config, variant=VARIANT, log=quiet)
    tables = config.tables_of(VARIANT)
    step = STEPS.of_variant(config, VARIANT)["joint_index"]
    assert store.completion(tables.joint).made_from == joint_made_from(store, step)

    put_chunks(store, config, [*texts(5)[1:], "a new text"], page=3)
    refresh_documents(store, config, variant=VARIANT, log=quiet)
    assert store.completion(tables.joint).made_from != joint_made_from(store, step)

    report = refresh_joint(store, config, variant=VARIANT, log=quiet)
    assert (report.added, report.changed, report.removed, report.unchanged) == (1, 4, 1, 2)
    assert store.completion(tables.joint).made_from == joint_made_from(store, step)
    expected = contents(store, tables.documents) + contents(store, tables.rows)
    assert contents(store, tables.joint) == sorted(expected, key=lambda row: row["unit_id"])


def test_a_second_pass_writes_nothing(store, config):
    refresh_joint(store, config, variant=VARIANT, log=quiet)
    version = store.version(config.tables_of(VARIANT).joint)
    report = refresh_joint(store, config, variant=VARIANT, log=quiet)
    assert not report.touched
    assert store.version(config.tables_of(VARIANT).joint) == version


def test_a_part_that_was_never_built_is_named(tmp_path):
    config = config_at(tmp_path)
    with pytest.raises(MissingTableError, match=config.tables_of(VARIANT).documents):
        refresh_joint(Store(config.state_dir), config, variant=VARIANT, log=quiet)
