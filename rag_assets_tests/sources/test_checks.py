import hashlib

import pyarrow as pa
import pytest

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.config import Config
from rag_assets.sources import checks
from rag_assets.store import Store
from rag_assets_tests.quality.judging import failures, judged, tamper


@pytest.fixture
def config(tmp_path):
    return Config(state_dir=tmp_path)


def judge(config, *statuses: str, **changes):
    rows = []
    for number, status in enumerate(statuses):
        row = {
            "document_id": f"id {number}",
            "source": "documents",
            "uri": f"{number}.pdf",
            "media_type": "application/pdf" if status == "ok" else None,
            "size": 1,
            "sha256": hashlib.sha256(bytes(number)).hexdigest(),
            "modified": 0,
            "status": status,
            "reason": None if status == "ok" else f"it is {status}",
        } | changes
        rows.append(row | {"fingerprint": str(row), "row_fingerprint": str(row)})
    store = Store(config.state_dir)
    files = pa.Table.from_pylist(rows, schema=schemas.DOCUMENT_FILES)
    tamper(store, schemas.DOCUMENT_FILES_TABLE, files)
    return judged(checks.subjects(config), store, asset="document_files")


def test_files_that_cannot_be_used_are_named_and_warn(config):
    one_of_ten = judge(config, *["ok"] * 9, "encrypted")
    assert failures(one_of_ten).keys() == {"no_file_unusable"}
    assert not one_of_ten.blocks

    result = judge(config, "ok", "ok", "encrypted")

    assert failures(result).keys() == {"few_files_unusable", "no_file_unusable"}
    outcome = failures(result)["few_files_unusable"]
    assert outcome.observed == pytest.approx(1 / 3)
    assert outcome.examples == [
        {"uri": "2.pdf", "status": "encrypted", "reason": "it is encrypted"}
    ]
    assert not result.blocks


def test_a_file_that_cannot_be_read_now_and_keeps_its_last_text_warns(config):
    assert failures(judge(config, "ok", "ok")) == {}
    failure = sync.Failure(f"id 0{schemas.UNREAD}", "no right to read it", "0.pdf", "environment")
    sync.record(Store(config.state_dir), target=schemas.DOCUMENT_FILES_TABLE, failures=[failure])

    found = failures(judge(config, "ok", "ok"))
    assert found["no_file_unusable"].examples == [
        {"uri": "0.pdf", "status": "stale", "reason": "no right to read it"}
    ]


def test_files_that_share_an_id_block(config):
    result = judge(config, "ok", "ok", document_id="same")

    assert result.blocks
    assert failures(result)["ids_unique"].examples == [{"id": "same", "times": 2}]


def test_no_files_at_all_is_no_failure(config):
    assert failures(judge(config)) == {}


def test_hashes_that_are_missing_all_at_once_are_drift(config):
    judge(config, *["ok"] * 60)

    result = judge(config, *["ok"] * 60, sha256=None)

    assert failures(result)["drift_nulls"].examples == [{"of": "sha256", "before": 0, "now": 1}]
