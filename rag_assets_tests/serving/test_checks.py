"""How checks stand, as `rag-assets refresh` and `rag-assets status` tell it."""

from dataclasses import replace

from rag_assets import quality
from rag_assets.serving.checks import standing
from rag_assets.store import Store
from rag_assets_tests.quality.subject import PROFILE, Table, subject_of

REMEDY = "--accept-drift"


def test_drift_is_told_with_how_to_accept_it(tmp_path):
    store, table = Store(tmp_path), Table()

    def judge() -> None:
        subject = subject_of(table, drift={"severity": "error", "rows": 0.3})
        quality.outcomes_of(subject, store=store, log=print)

    judge()
    assert REMEDY not in standing(store).text
    table.profile, table.version = replace(PROFILE, rows=2_000), "2"
    judge()
    assert "error: chunks: drift_rows" in standing(store).text
    assert REMEDY in standing(store).text
