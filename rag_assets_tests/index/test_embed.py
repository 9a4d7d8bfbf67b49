import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pytest

from rag_assets.config import EmbeddingModel
from rag_assets.identity import text_hash
from rag_assets.index import parts
from rag_assets.index.indexes import maintain
from rag_assets.index.joint import refresh_joint
from rag_assets.models.embedding import ModelEncoder
from rag_assets.models.replicas import EncoderError
from rag_assets.models.weights import model_id
from rag_assets.store import Store
from rag_assets_testing.embedding import refresh_documents, refresh_rows
from rag_assets_testing.faults.hashing import hashing
from rag_assets_tests.index.corpus import VARIANT, config_at, put_chunks, put_rows, texts
from rag_assets_tests.models.tiny import save_tiny_model


@pytest.fixture
def config(tmp_path):
    return config_at(tmp_path)


@pytest.fixture
def store(config) -> Store:
    return Store(config.state_dir)


@pytest.fixture
def seen(monkeypatch) -> list[str]:
    """Every text that went through the model."""
    passed: list[str] = []
    tokenize = ModelEncoder.tokenize

    def recorded(self, texts, /):
        passed.extend(texts)
        return tokenize(self, texts)

    monkeypatch.setattr(ModelEncoder, "tokenize", recorded)
    return passed


def refresh(store, config, **options):
    return refresh_documents(store, config, variant=VARIANT, log=lambda _: None, **options)


def units(store, config) -> dict[str, dict]:
    rows = store.read(config.tables_of(VARIANT).documents).to_pylist()
    return {row["unit_id"]: row for row in rows}


def vector_of(store, table: str, text: str) -> np.ndarray:
    rows = store.read(table, columns=["text_hash", "vector"]).to_pylist()
    return np.array(next(row["vector"] for row in rows if row["text_hash"] == text_hash(text)))


def test_each_text_is_embedded_once_and_a_second_run_embeds_nothing(store, config, seen):
    contents = texts(12)
    put_chunks(store, config, [*contents, contents[0], contents[0], contents[5]])
    first = refresh(store, config)
    assert (first.embedded, first.reused, first.report.added) == (12, 3, 15)
    assert sorted(seen) == sorted(contents)

    again = refresh(store, config)
    assert (again.embedded, again.report.touched, again.report.unchanged) == (0, False, 15)
    assert again.report.data_version == first.report.data_version
    assert len(seen) == 12


def test_a_unit_says_where_it_comes_from(store, config):
    put_chunks(store, config, texts(1), page=7)
    put_rows(store, config, ["Item in Steel grades where grade is 316L."])
    outcome = refresh(store, config)
    refresh_rows(store, config, variant=VARIANT, log=lambda _: None)

    [unit] = units(store, config).values()
    vector = unit.pop("vector")
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert (
        unit
        | {
            "domain": "document",
            "source": "documents",
            "uri": "reports/fatigue.md",
            "table": None,
            "row_key": None,
            "title": "fatigue.md",
            "section": "Results > Fatigue",
            "pages": [7],
            "index": 0,
            "text": texts(1)[0],
            "text_hash": text_hash(texts(1)[0]),
            "encoder_id": outcome.encoder_id,
            "windows": 1,
        }
        == unit
    )

    [row] = store.read(config.tables_of(VARIANT).rows).drop_columns("vector").to_pylist()
    assert (
        row
        | {
            "domain": "table",
            "source": "plant",
            "uri": "plant/steel",
            "document_id": None,
            "table": "steel",
            "row_key": "0",
            "title": "Steel grades",
            "section": "",
            "pages": [],
            "index": None,
            "char_start": None,
        }
        == row
    )


def test_a_shifted_page_updates_the_row_and_keeps_the_vector(store, config, seen):
    put_chunks(store, config, texts(6), page=1)
    refresh(store, config)
    before = units(store, config)
    put_chunks(store, config, texts(6), page=2)
    outcome = refresh(store, config)
    after = units(store, config)

    assert (outcome.embedded, outcome.reused, outcome.report.changed) == (0, 6, 6)
    assert len(seen) == 6
    assert all(row["pages"] == [2] for row in after.values())
    assert {key: row["vector"] for key, row in after.items()} == {
        key: row["vector"] for key, row in before.items()
    }


def test_a_rename_embeds_nothing(store, config, seen):
    put_chunks(store, config, texts(6))
    refresh(store, config)
    put_chunks(store, config, texts(6), uri="archive/fatigue-2019.md")
    outcome = refresh(store, config)
    assert (outcome.embedded, outcome.report.added, outcome.report.removed) == (0, 6, 6)
    assert len(seen) == 6
    assert {row["title"] for row in units(store, config).values()} == {"fatigue-2019.md"}


def test_an_edit_embeds_the_new_texts_only(store, config, seen):
    put_chunks(store, config, texts(10))
    refresh(store, config)
    put_chunks(store, config, [*texts(10)[2:], "one new text", "another new text"])
    outcome = refresh(store, config)
    assert (outcome.embedded, outcome.report.added, outcome.report.removed) == (2, 2, 2)
    assert sorted(seen[10:]) == ["another new text", "one new text"]


def test_a_text_that_another_table_holds_is_not_embedded_again(store, config, seen):
    shared = texts(4)
    put_chunks(store, config, [*shared, "only in the document"])
    put_rows(store, config, [*shared, "only in the table"])
    refresh(store, config)
    rows = refresh_rows(store, config, variant=VARIANT, log=lambda _: None)
    assert (rows.embedded, rows.reused) == (1, 4)
    assert seen[5:] == ["only in the table"]
    tables = config.tables_of(VARIANT)
    for text in shared:
        np.testing.assert_array_equal(
            vector_of(store, tables.rows, text), vector_of(store, tables.documents, text)
        )


def test_units_that_swap_their_texts_swap_their_vectors(store, config, seen):
    """The old row of each is what the other one's vector is taken from."""
    put_rows(store, config, ["first text", "second text"])
    refresh_rows(store, config, variant=VARIANT, log=lambda _: None)
    table = config.tables_of(VARIANT).serialized_rows
    rows = store.read(table).to_pylist()
    texts_now = [(row["text"], row["text_hash"]) for row in rows]
    for row, (text, hashed) in zip(rows, reversed(texts_now), strict=True):
        row |= {"text": text, "text_hash": hashed}
        row |= {"fingerprint": f"swapped {hashed}", "row_fingerprint": f"swapped {hashed}"}
    schema = store.schema(table)
    store.drop(table)  # and with it the record of its last pass
    store.append(table, pa.Table.from_pylist(rows, schema=schema), schema=schema)

    outcome = refresh_rows(store, config, variant=VARIANT, log=lambda _: None)
    assert (outcome.embedded, outcome.report.changed, len(seen)) == (0, 2, 2)


def test_a_long_text_is_pooled_counted_and_flagged(store, config):
    put_chunks(store, config, ["corrosion " * 600, "short"])
    outcome = refresh(store, config)
    assert outcome.windowed == 1
    windows = {row["text"][:5]: row["windows"] for row in units(store, config).values()}
    assert windows == {"corro": 3, "short": 1}


def test_another_model_under_the_same_name_embeds_everything_again(store, config, tmp_path, seen):
    put_chunks(store, config, texts(5))
    first = refresh(store, config)
    folder = save_tiny_model(tmp_path / "tiny")
    model = EmbeddingModel(
        path=str(folder), query_prefix="query: ", engine="torch", precision="fp32"
    )
    swapped = config.model_copy(update={"models": {"minilm": model}})
    outcome = refresh(store, swapped)
    assert (outcome.embedded, outcome.reused) == (5, 0)
    assert {row["encoder_id"] for row in units(store, swapped).values()} == {outcome.encoder_id}
    assert {len(row["vector"]) for row in units(store, swapped).values()} == {32}
    assert first.encoder_id.split("/")[0] != outcome.encoder_id.split("/")[0] == model_id(model)


def test_the_recorded_path_is_kept_and_the_config_overrides_it(store, config):
    put_chunks(store, config, texts(3))
    first = refresh(store, config)
    record = store.encoders / "minilm.json"
    kept = json.loads(record.read_text("utf-8"))
    assert f"{kept['model_id']}/{kept['path']}" == first.encoder_id

    record.write_text(json.dumps(kept | {"path": "cuda/torch/fp32"}), "utf-8")
    put_chunks(store, config, texts(4))
    with pytest.raises(EncoderError, match="on cuda/torch/fp32, as its index was"):
        refresh(store, config)

    half = config.models["minilm"].model_copy(update={"precision": "bf16"})
    outcome = refresh(store, config.model_copy(update={"models": {"minilm": half}}))
    assert outcome.encoder_id.endswith("/cpu/torch/bf16")
    assert outcome.embedded == 4


def test_a_text_that_the_model_rejects_is_quarantined_alone(store, config, monkeypatch):
    embed = ModelEncoder.embed

    def rejecting(self, tokenized, /):
        embedded = embed(self, tokenized)
        lengths = {window.text: len(window.ids) for window in tokenized.windows}
        bad = {text: "the model rejects the text: too odd" for text, n in lengths.items() if n == 4}
        return replace(embedded, failed=bad)

    monkeypatch.setattr(ModelEncoder, "embed", rejecting)
    put_chunks(store, config, [*texts(4), "bad apple"])
    outcome = refresh(store, config)
    assert (outcome.embedded, outcome.report.added, outcome.report.failed) == (4, 4, 1)
    [failure] = outcome.report.failures
    assert (failure.label, failure.kind) == ("reports/fatigue.md, chunk 4", "input")
    assert "too odd" in failure.reason

    monkeypatch.setattr(ModelEncoder, "embed", embed)
    assert refresh(store, config).embedded == 0, "it waits for a change"
    assert refresh(store, config, retry=True).embedded == 1


KILLED = """
import sys, time
from pathlib import Path
from rag_assets.index import parts
from rag_assets_testing.embedding import refresh_documents
from rag_assets.store import Store
from rag_assets_testing.faults.hashing import hashing
from rag_assets_tests.index.corpus import VARIANT, config_at

parts.UNITS_PER_PART, parts.SECONDS_BETWEEN_LINES = 4, 0.0
config = config_at(Path(sys.argv[1]))
with hashing():
    refresh_documents(
        Store(config.state_dir), config, variant=VARIANT, log=lambda line: time.sleep(0.3)
    )
"""


def test_a_killed_run_resumes_and_embeds_no_committed_text_again(store, config, tmp_path):
    put_chunks(store, config, texts(60))
    table = config.tables_of(VARIANT).documents
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)])
    deadline = time.monotonic() + 240
    while store.count(table) < 9:
        assert process.poll() is None, "the run ended before it was killed"
        assert time.monotonic() < deadline, "the run committed nothing"
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()

    committed = set(store.read(table, columns=["text"])["text"].to_pylist())
    assert 0 < len(committed) < 60
    ledger = tmp_path / "ledger"
    with hashing(ledger):
        outcome = refresh(store, config)
    assert outcome.embedded == 60 - len(committed) == outcome.report.added
    embedded = ledger.read_text().split()
    assert len(embedded) == outcome.embedded
    assert {sha256(text.encode()).hexdigest() for text in committed}.isdisjoint(embedded)
    assert store.count(table) == 60
    assert len({row["text"] for row in units(store, config).values()}) == 60


def test_progress_tells_rate_and_remaining_time(store, config, monkeypatch):
    monkeypatch.setattr(parts, "SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(parts, "UNITS_PER_PART", 4)
    put_chunks(store, config, texts(9))
    lines: list[str] = []
    refresh_documents(store, config, variant=VARIANT, log=lines.append)
    told = [line for line in lines if "texts embedded" in line]
    assert len(told) == 3
    assert "4 of 9 texts embedded" in told[0]
    assert "texts/s" in told[0]
    assert "s left" in told[0]
    assert "9 of 9 texts embedded" in told[2]
    assert "left" not in told[2]


UNCHANGED = """
import sys
from pathlib import Path
from rag_assets_testing.embedding import refresh_documents, refresh_rows
from rag_assets.index.indexes import maintain
from rag_assets.index.joint import refresh_joint
from rag_assets.store import Store
from rag_assets_tests.index.corpus import VARIANT, config_at

config = config_at(Path(sys.argv[1]))
store = Store(config.state_dir)
options = {"variant": VARIANT, "log": print}
reports = [
    refresh_documents(store, config, **options).report,
    refresh_rows(store, config, **options).report,
    refresh_joint(store, config, **options),
]
for report in reports:
    maintain(
        store,
        report.target,
        settings=config.index,
        data_version=report.data_version,
        log=print,
    )
heavy = {"torch", "transformers", "lancedb", "lance", "duckdb", "tokenizers"} & set(sys.modules)
print(*sorted(heavy), sum(report.touched for report in reports))
"""


def test_a_second_run_imports_nothing_heavy(store, config, tmp_path):
    put_chunks(store, config, texts(3))
    put_rows(store, config, texts(2))
    quiet = {"variant": VARIANT, "log": lambda _: None}
    reports = [
        refresh(store, config).report,
        refresh_rows(store, config, **quiet).report,
        refresh_joint(store, config, **quiet),
    ]
    for report in reports:
        maintain(
            store,
            report.target,
            settings=config.index,
            data_version=report.data_version,
            log=lambda _: None,
        )
    process = subprocess.run(
        [sys.executable, "-c", UNCHANGED, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert process.stdout.split() == ["0"], "no heavy module, no table touched, not a line logged"
