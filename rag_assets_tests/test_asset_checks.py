"""Suites as asset checks: what blocks, what shows, and what a person reads."""

from dataclasses import replace

import dagster as dg
import pytest

from rag_assets import asset_checks, lineage, quality
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.quality import Profile
from rag_assets.resources import resources_of
from rag_assets.serving import job_runs
from rag_assets_tests.quality.subject import Table, subject_of

pytestmark = pytest.mark.filterwarnings(
    "ignore::dagster.BetaWarning", "ignore::dagster.PreviewWarning"
)


@pytest.fixture
def config(tmp_path):
    return Config(state_dir=tmp_path, variants={"default": {}, "other": {}})


@pytest.fixture
def table():
    return Table()


def run(config, subject, *, accept_drift=False):
    """`chunks`, checked, and `vectors` after it, for the variant `other`."""
    variants = dg.StaticPartitionsDefinition(list(config.variants))

    @dg.asset(partitions_def=variants)
    def chunks() -> None: ...

    @dg.asset(partitions_def=variants, deps=[chunks])
    def vectors() -> None: ...

    checks = asset_checks.definitions(config, subject).asset_checks or ()
    asked = {"ops": {check.op.name: {"config": {"accept_drift": True}} for check in checks}}
    return dg.materialize(
        [chunks, vectors, *checks],
        partition_key="other",
        raise_on_error=False,
        run_config=asked if accept_drift else None,
        resources=resources_of(config),
    )


def evaluations(result) -> dict[str, dg.AssetCheckEvaluation]:
    return {check.check_name: check for check in result.get_asset_check_evaluations()}


def ran(result) -> set[str]:
    events = result.get_asset_materialization_events()
    return {event.asset_key.to_user_string() for event in events}


@pytest.mark.parametrize(
    ("severity", "failed", "is_built"),
    [("error", "must_hold", False), ("warning", "should_hold", True)],
)
def test_a_failed_error_blocks_downstream_and_a_warning_only_shows(
    config, table, severity, failed, is_built
):
    table.totals["oversized_chunks"] = 3
    result = run(config, subject_of(table, tokens_fit=severity))

    found = evaluations(result)
    assert {name for name, check in found.items() if not check.passed} == {failed}
    assert found[failed].partition == "other"
    assert ("vectors" in ran(result)) is is_built
    assert result.success is is_built


def test_what_is_kept_of_a_table_that_no_variant_uses_any_more_goes(config, table):
    store, subject = lineage.open_for_writing(config, STEPS), subject_of(table)
    for variant in ("default", "abandoned"):
        quality.result_of(subject, store=store, log=print, partition=variant)
    elsewhere = replace(subject, asset="vectors")
    quality.result_of(elsewhere, store=store, log=print, partition="abandoned")
    page = quality.page_file(store)
    assert "chunks: chunks__abandoned" in page.read_text("utf-8")
    quality.result_of(subject, store=store, log=print, partition="other")

    run(config, subject)

    kept = {(result.asset, result.table) for result in quality.results_in(store)}
    assert kept == {
        ("chunks", "chunks__default"),
        ("chunks", "chunks__other"),
        ("vectors", "chunks__abandoned"),
    }
    assert {file.name for file in (store.root / "checks" / "chunks").iterdir()} == {
        f"chunks__{variant}{suffix}"
        for variant in ("default", "other")
        for suffix in (".json", ".profile.json")
    }
    assert "chunks: chunks__abandoned" not in page.read_text("utf-8")


def test_the_metadata_name_what_failed_with_examples_and_the_page(config, table):
    table.totals["oversized_chunks"] = 3
    metadata = evaluations(run(config, subject_of(table)))["must_hold"].metadata

    table = metadata["expectations"].value
    assert "ids_unique | yes | observed 0 | duplicate_ids at most 0" in table
    assert "tokens_fit | **no** | observed 3 | oversized_chunks at most 0" in table
    (failed,) = (record.data for record in metadata["failed"].records)
    assert (failed["expectation"], failed["found"]) == ("tokens_fit", "observed 3")
    assert failed["examples"] == "a.md: tokens 300"
    assert failed["what to do"].endswith("what is allowed: checks.chunks.tokens_fit in the config")
    assert metadata["report"].value == str(config.state_dir / "reports/checks.html")
    assert (config.state_dir / "reports/checks.html").is_file()


def test_the_description_says_which_file_what_is_wrong_and_what_to_do(config, table):
    assert evaluations(run(config, subject_of(table)))["must_hold"].description is None
    table.version, table.totals["oversized_chunks"] = "2", 3
    found = evaluations(run(config, subject_of(table)))

    first, example, remedy = found["must_hold"].description.split("  \n")
    assert first == "tokens_fit: observed 3"
    assert example == "  a.md: tokens 300"
    assert remedy.startswith("  what to do: ")
    assert found["should_hold"].description is None


def test_a_text_of_several_lines_is_an_example_in_one(config, table, monkeypatch):
    """Else the UI would take lines of a chunk for a table, and a terminal for other examples."""
    text = "Table 1\n\n| Part | Share |\n| --- | --- |\n| Zinc | 4 % |"
    table.totals["oversized_chunks"] = 3
    shown = {"oversized_chunks": [{"text": text, "chunk_id": "a"}]}
    measures = quality.TableMeasures(table.totals, shown, table.profile)
    monkeypatch.setattr(table, "measure", lambda *_: measures)
    found = evaluations(run(config, subject_of(table)))

    _, example, _ = found["must_hold"].description.split("  \n")
    assert example.startswith("  Table 1 | Part | Share |")
    assert example.endswith("chunk_id a")


def test_a_run_says_of_a_failed_check_what_was_found(config, table, tmp_path):
    table.totals["oversized_chunks"] = 3
    result = run(config, subject_of(table))

    (reason,) = job_runs.errors_of(result, state_dir=tmp_path).values()
    assert reason.startswith("nothing after it was built: tokens_fit: observed 3\n")
    assert "a.md: tokens 300" in reason


def test_the_stored_result_is_given_again(config, table):
    first, second = (evaluations(run(config, subject_of(table))) for _ in range(2))

    assert table.measured == 1
    assert first.keys() == second.keys() == {"must_hold", "should_hold"}
    assert first["must_hold"].metadata == second["must_hold"].metadata


def test_what_is_off_is_not_there(config, table):
    without_warnings = subject_of(table, drift="off")
    nothing = subject_of(table, drift="off", tokens_fit="off", ids_unique="off")

    assert evaluations(run(config, without_warnings)).keys() == {"must_hold"}
    assert not asset_checks.definitions(config, nothing).asset_checks


def test_drift_that_blocks_is_accepted_by_asking_for_it(config, table):
    subject = subject_of(table, drift={"severity": "error"})
    run(config, subject)
    table.version, table.profile = "2", replace(table.profile, rows=9_000)
    assert not run(config, subject).success

    assert run(config, subject, accept_drift=True).success
    assert run(config, subject).success


def test_an_expectation_that_cannot_be_judged_blocks_if_it_is_an_error(config, table):
    table.profile = Profile(rows=1)
    unknown = quality.at_most("tokens_fit", of="nothing", description="")
    result = run(config, subject_of(table, expectations=[unknown]))

    assert not result.success
    (failed,) = evaluations(result)["must_hold"].metadata["failed"].records
    assert failed.data["expectation"] == "tokens_fit"
    assert failed.data["found"] == "nothing measures nothing"
