"""How checks stand, as `rag-assets refresh` and `rag-assets status` tell it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

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
    assert "100% (1000 -> 2000, 30% allowed) in chunks" in text
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


def test_a_refresh_tells_the_warnings_that_are_new_in_it_and_of_which_variant_they_are(tmp_path):
    variants = {"default": {}, "tiny": {"chunking": "tiny"}}
    chunkings = {"tiny": {"size": 24, "overlap": 0}}
    config = Config.model_validate({"variants": variants, "chunkings": chunkings})
    store, table, began = Store(tmp_path), Table(), datetime.now(UTC)
    table.totals["oversized_chunks"] = 3
    name = config.tables_of("default").chunks
    subject = replace(subject_of(table, tokens_fit="warning"), table=lambda _: name)
    quality.result_of(subject, store=store, log=print)
    found = check_summary(store, config)

    new = "  warning: chunks of default: tokens_fit: observed 3"
    others = "  and 1 that stood before or are of other variants: rag-assets status"
    assert new in found.text.splitlines()
    assert new in found.text_of_run("default", began=began).splitlines()
    for told in (
        found.text_of_run("tiny", began=began),
        found.text_of_run("default", began=began + timedelta(days=1)),
    ):
        assert new not in told
        assert told.endswith(others)


def test_what_a_grown_corpus_moves_is_one_line_after_what_is_really_wrong(tmp_path):
    store, table = Store(tmp_path), Table()
    drift = {"rows": 0.3, "lengths": 0.25, "languages": 0.1}

    def judge() -> str:
        quality.result_of(subject_of(table, drift=drift), store=store, log=print)
        return check_summary(store, Config()).text

    judge()
    table.totals["oversized_chunks"] = 3
    languages = {"en": 0.7, "sv": 0.3}
    table.profile = replace(PROFILE, rows=1_400, mean_length=60.0, languages=languages)
    table.version = "2"
    _, first, *_, last = judge().splitlines()

    assert first == "  error: chunks: tokens_fit: observed 3"
    assert last.startswith("  warning: drift, ")
    assert "more than is allowed since the last accepted run: " in last
    assert "40% (1000 -> 1400, 30% allowed) in chunks" in last
    assert last.count(" allowed) in chunks") == 3
