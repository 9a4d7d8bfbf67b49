"""How checks stand, as `rag-assets refresh` and `rag-assets status` tell it."""

from dataclasses import replace

from rag_assets import quality
from rag_assets.config import Config
from rag_assets.serving.check_summary import check_summary
from rag_assets.store import Store
from rag_assets_tests.quality.subject import PROFILE, Table, subject_of

REMEDY = "--accept-drift"


def test_drift_is_told_with_how_to_accept_it(tmp_path):
    store, table = Store(tmp_path), Table()

    def judge() -> None:
        subject = subject_of(table, drift={"severity": "error", "rows": 0.3})
        quality.result_of(subject, store=store, log=print)

    judge()
    assert REMEDY not in check_summary(store, Config()).text
    table.profile, table.version = replace(PROFILE, rows=2_000), "2"
    judge()
    text = check_summary(store, Config()).text
    assert "  error: drift, " in text
    assert ": clearly more than is allowed since the last accepted run: relative change of" in text
    assert "1 (1000 -> 2000, 0.3 allowed) in chunks" in text
    assert REMEDY in text


def test_a_failed_expectation_is_told_with_files_and_remedy(tmp_path):
    store, table = Store(tmp_path), Table()
    table.totals["oversized_chunks"] = 3
    quality.result_of(subject_of(table), store=store, log=print)
    found = check_summary(store, Config())

    (failed,) = found.record["failed"]
    assert failed["examples"] == ["a.md: tokens 300"]
    assert "checks.chunks.tokens_fit" in failed["remedy"]
    head, first, example, remedy = found.text.splitlines()
    assert head.startswith("Checks: ")
    assert first == "  error: chunks: tokens_fit: observed 3"
    assert example == "    a.md: tokens 300"
    assert remedy == f"    what to do: {failed['remedy']}"
