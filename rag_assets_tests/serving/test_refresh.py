"""What a refresh says at its end."""

from rag_assets import sync
from rag_assets.serving import refresh
from rag_assets.store import Store


def outcome(*tables: str) -> refresh.Outcome:
    return refresh.Outcome(
        variant="default",
        assets={name: {"failed": 1} for name in tables},
        tables=tables,
        errors={},
        warnings=[],
    )


def test_what_failed_of_a_source_is_named_whether_its_tables_are_or_a_pattern(tmp_path):
    store = Store(tmp_path)
    for target in ("exports/erp/orders", "exports/erp/*", "exports/erp2/orders", "exports/lab/x"):
        failure = sync.Failure("*", f"{target} is down", target, "environment")
        sync.record(store, target=target, failures=[failure])

    named = refresh.quarantine_of(store, outcome("exports/erp", "exports/lab/x"))

    assert [entry["what"] for entry in named] == [
        "exports/erp/*",
        "exports/erp/orders",
        "exports/lab/x",
    ]
