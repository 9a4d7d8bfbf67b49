"""Vectors of all kinds, written by hand: what is judged does not depend on who computed them."""

import numpy as np
import pyarrow as pa
import pytest

from rag_assets import schemas
from rag_assets.index import checks
from rag_assets.index.units import chunk_source, row_source
from rag_assets.store import PassRecord, Store
from rag_assets_tests.index.corpus import VARIANT, config_at, put_chunks, put_rows, texts
from rag_assets_tests.quality.judging import failures, judged, tamper

DIMENSION = 8
COUNT = 80


@pytest.fixture
def config(tmp_path):
    return config_at(tmp_path)


@pytest.fixture
def store(config):
    store = Store(config.state_dir)
    put_chunks(store, config, texts(COUNT))
    put_rows(store, config, texts(3))
    return store


def directions(count=COUNT, *, seed=0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSION)) + 1
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def put(store, config, vectors, *, encoders=("e",), asset="chunk_vectors"):
    """Let the units table of a domain hold its texts with these vectors, as many as there are."""
    tables = config.tables_of(VARIANT)
    of_chunks = asset == "chunk_vectors"
    source = chunk_source(tables.chunks) if of_chunks else row_source(tables.serialized_rows)
    units = source.units(store.read(source.name, columns=source.columns)).slice(0, len(vectors))
    schema = schemas.units(DIMENSION)
    flat = pa.array(np.ravel(vectors), pa.float32())
    columns = {name: units[name] for name in units.column_names} | {
        "encoder_id": pa.array([encoders[n % len(encoders)] for n in range(len(vectors))]),
        "windows": pa.array([1] * len(vectors), pa.int32()),
        "vector": pa.FixedSizeListArray.from_arrays(flat, DIMENSION),
        "fingerprint": pa.array([str(vector) for vector in vectors], pa.string()),
        "row_fingerprint": units["text_hash"],
    }
    table = tables.documents if of_chunks else tables.rows
    held = pa.table([columns[name] for name in schema.names], schema=schema)
    tamper(store, table, held)
    return held


def judge(store, config, asset="chunk_vectors"):
    return judged(checks.subjects(config), store, asset=asset, variant=VARIANT)


def test_sound_vectors_hold_in_all_tables(store, config):
    documents = put(store, config, directions())
    rows = put(store, config, directions(3), asset="row_vectors")
    tamper(store, config.tables_of(VARIANT).joint, pa.concat_tables([documents, rows]))

    for asset in ("chunk_vectors", "row_vectors", "joint_index"):
        assert failures(judge(store, config, asset)) == {}


@pytest.mark.parametrize("broken", [0.5, 1.5, 0.0])
def test_a_vector_of_another_length_blocks_and_the_worst_are_named(store, config, broken):
    vectors = directions()
    vectors[7] *= broken
    held = put(store, config, vectors)

    result = judge(store, config)

    assert result.blocks
    outcome = failures(result)["vectors_normalised"]
    assert outcome.observed == pytest.approx(0.5 if broken > 0 else 1.0, abs=1e-5)
    assert outcome.examples[0]["unit_id"] == held["unit_id"][7].as_py()


def test_a_unit_without_a_vector_is_named(store, config):
    put(store, config, directions(COUNT - 1))
    missing = store.read(config.tables_of(VARIANT).chunks)["chunk_id"][COUNT - 1].as_py()

    outcome = failures(judge(store, config))["units_complete"]

    assert outcome.observed == 1
    (example,) = outcome.examples
    assert (example["missing"], example["uri"]) == (missing, "reports/fatigue.md")


def test_a_unit_that_nobody_asked_for_is_named(store, config):
    put(store, config, directions())
    left_over = store.read(config.tables_of(VARIANT).chunks)["chunk_id"]
    put_chunks(store, config, texts(COUNT - 1))

    outcome = failures(judge(store, config))["units_complete"]

    (example,) = outcome.examples
    assert example["not asked for"] == left_over[COUNT - 1].as_py()
    assert example["uri"] == "reports/fatigue.md"


def test_units_are_held_against_what_the_last_pass_covered(store, config):
    put(store, config, directions())
    table = config.tables_of(VARIANT).documents
    finished = PassRecord(
        made_from="m", data_version="v", inputs=COUNT, rows=COUNT, failed=0, bits=0
    )
    store.complete(table, finished)
    put_chunks(store, config, texts(COUNT + 5))
    assert failures(judge(store, config)) == {}, "another run brought five chunks"

    unit = store.read(table)["unit_id"][0].as_py()
    store.delete(table, column="unit_id", keys=[unit])
    put_chunks(store, config, texts(COUNT))
    outcome = failures(judge(store, config))["units_complete"]
    assert [example["missing"] for example in outcome.examples] == [unit]


def test_vectors_of_two_encoders_are_not_to_be_compared(store, config):
    put(store, config, directions(), encoders=("a", "a", "a", "b"))

    outcome = failures(judge(store, config))["one_encoder"]

    assert outcome.examples == [
        {"encoder": "a", "vectors": COUNT * 3 // 4},
        {"encoder": "b", "vectors": COUNT // 4},
    ]


def test_vectors_that_point_elsewhere_are_drift_and_other_samples_are_not(store, config):
    put(store, config, directions(seed=0))
    assert failures(judge(store, config)) == {}

    put(store, config, directions(seed=1))
    assert failures(judge(store, config)) == {}

    put(store, config, -directions(seed=1))
    result = judge(store, config)
    assert failures(result).keys() == {"drift_centroid"}
    assert failures(result)["drift_centroid"].observed == pytest.approx(2, abs=0.1)
    assert not result.blocks
