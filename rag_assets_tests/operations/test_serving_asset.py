"""The asset `serving_index` and the jobs `promote` and `rollback`, as Dagster runs them."""

import shutil
import uuid
from unittest.mock import patch

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest
from dagster._core.storage.tags import PARTITION_NAME_TAG

from rag_assets import lineage
from rag_assets.graph import STEPS
from rag_assets.operations import assets
from rag_assets.operations.problems.current import state_problems
from rag_assets.operations.problems.runs import run_problems
from rag_assets.operations.variants import variants_of
from rag_assets.resources import resources_of
from rag_assets.store import serving_pointer
from rag_assets_testing.faults.built import small, small_of_two_variants
from rag_assets_testing.faults.hashing import hashing
from rag_assets_tests.operations.serving_index.test_promotion import reconfigure


@pytest.fixture
def made(tmp_path):
    """A project of two variants, of which `default` serves; a refresh promotes nothing."""
    found = small_of_two_variants(tmp_path)
    with hashing(), patch("rag_assets_testing.faults.pipeline.promote_refreshed"):
        yield found


def materialize(made, *, partition: str | None = None) -> dg.ExecuteInProcessResult:
    asset, _ = assets.definitions(made.config, STEPS).assets or ()
    assert isinstance(asset, dg.AssetsDefinition)
    tags = {PARTITION_NAME_TAG: partition} if partition else None
    return dg.materialize(
        [asset], tags=tags, raise_on_error=False, resources=resources_of(made.config)
    )


def run(
    made, name: str, options: dict, *, instance: dg.DagsterInstance | None = None
) -> dg.ExecuteInProcessResult:
    (job,) = [job for job in assets.definitions(made.config, STEPS).jobs or () if job.name == name]
    (op,) = job.nodes
    return job.execute_in_process(
        run_config={"ops": {op.name: {"config": options}}},
        raise_on_error=False,
        instance=instance,
    )


def serves(made) -> list[str]:
    return [each.variant for each in serving_pointer.history(made.store)]


def test_the_asset_moves_the_pointer_and_its_check_holds_back_what_is_worse(made):
    shutil.rmtree(made.store.root / serving_pointer.FOLDER)
    first = materialize(made)
    assert first.success
    (event,) = first.get_asset_materialization_events()
    assert event.materialization.metadata["serves"].value == "default"
    assert serves(made) == ["default"]

    reconfigure(made, "retriever: bm25", "retriever: baseline")  # vectors of chance
    second = materialize(made)
    assert not second.success
    (check,) = second.get_asset_check_evaluations()
    assert check.blocking
    assert not check.passed
    assert "what served before still serves" in (check.description or "")
    assert serves(made) == ["default"]


def test_only_what_serves_makes_it_older_when_it_is_built_anew(made):
    def new() -> dg.MaterializeResult:
        return dg.MaterializeResult(data_version=dg.DataVersion(str(uuid.uuid4())))

    variants = lineage.variants(made.config)
    serving, _ = assets.definitions(made.config, STEPS).assets or ()
    names = ("joint_index", "retrieval_evaluation")
    built = [dg.asset(name=name, partitions_def=variants, code_version="1")(new) for name in names]
    graph = dg.Definitions(
        assets=[serving, *built], resources=resources_of(made.config)
    ).resolve_asset_graph()

    with dg.DagsterInstance.ephemeral() as instance:
        assert dg.materialize(
            [*built, serving],
            partition_key="default",
            instance=instance,
            resources=resources_of(made.config),
        ).success
        for variant, state in (("other", StaleStatus.FRESH), ("default", StaleStatus.STALE)):
            dg.materialize(built, partition_key=variant, instance=instance)
            found = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
            assert found.get_status(dg.AssetKey("serving_index")) == state, variant


def test_a_run_for_another_variant_neither_hides_what_is_held_nor_fails_by_it(made):
    reconfigure(made, "retriever: bm25", "retriever: baseline")  # vectors of chance
    materialize(made)

    done = materialize(made, partition="other")
    assert done.success
    (check,) = done.get_asset_check_evaluations()
    assert not check.passed
    assert "what served before still serves" in (check.description or "")


def test_the_check_names_a_variant_that_is_held_until_it_may_serve(made):
    reconfigure(made, "retriever: bm25", "retriever: baseline")  # vectors of chance
    assert materialize(made, partition="other").success
    reconfigure(made, "retriever: baseline", "retriever: bm25")

    done = materialize(made, partition="default")
    assert done.success
    (check,) = done.get_asset_check_evaluations()
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert check.metadata["held"].value == "other"
    assert check.metadata["verdict"].value in ("HOLD", "FAIL")
    assert "known items" in str(check.metadata["why"].value), "the numbers"
    assert "for variant other since" in (check.description or "")
    assert "What to do:" in (check.description or "")
    assert state_problems(made.store, made.config) == [], "it is no problem: what serves is good"

    materialize(made, partition="other")  # by words it is as good
    (check,) = materialize(made).get_asset_check_evaluations()
    assert check.passed
    assert check.metadata["verdict"].value == "PASS"
    assert str(check.metadata["why"].value), "what serves keeps its evidence though nothing moves"


def test_the_check_tells_a_refused_promotion_and_one_that_was_forced(made):
    reconfigure(made, "variants:\n", "variants:\n  never: {parser: pymupdf}\n")
    reconfigure(made, "retriever: bm25", "retriever: baseline")  # vectors of chance
    with dg.DagsterInstance.ephemeral() as instance:
        assert not run(made, "promote", {"variant": "other"}, instance=instance).success
        refused = gate_of(instance)
        assert not refused.passed
        assert refused.metadata["held"].value == "other"
        assert variants_of(made.store, made.config)["other"]["verdict"] in ("HOLD", "FAIL")

        assert not run(made, "promote", {"variant": "never"}, instance=instance).success
        assert not run(made, "rollback", {"to": 17}, instance=instance).success
        assert run_problems(instance, made.config) == [], "they are no runs that broke"

        forced = {"variant": "other", "override": "a test"}
        assert run(made, "promote", forced, instance=instance).success
        assert gate_of(instance).passed


def gate_of(instance: dg.DagsterInstance) -> dg.AssetCheckEvaluation:
    """The check `gate` as the UI shows it."""
    key = dg.AssetCheckKey(dg.AssetKey("serving_index"), "gate")
    record = instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key]
    return record.event.dagster_event.asset_check_evaluation_data


def test_a_run_for_another_variant_ends_with_the_verdict_on_it_and_moves_nothing(made):
    done = materialize(made, partition="other")
    (event,) = done.get_asset_materialization_events()
    shown = event.materialization.metadata
    assert shown["serves"].value == "default"
    verdict = "PASS on known items only: other against default"
    assert str(shown["why"].value).startswith(f"**{verdict}**")
    assert "Next: `rag-assets variants promote other`" in str(shown["conclusion"].value)
    assert str(shown["conclusion"].value).startswith(verdict)
    assert serves(made) == ["default"]


def test_the_verdict_that_is_shown_after_such_a_run_is_that_on_the_other_variant(made):
    reconfigure(made, "retriever: bm25", "retriever: baseline")  # vectors of chance

    done = materialize(made, partition="other")
    (event,) = done.get_asset_materialization_events()
    shown = event.materialization.metadata
    outcome = str(shown["conclusion"].value).split(":")[0]
    assert outcome in ("HOLD", "FAIL")
    assert shown["verdict"].value == outcome
    assert shown["serves"].value == "default"


def test_what_is_not_complete_ends_with_what_is_missing(tmp_path):
    made = small(tmp_path)
    done = materialize(made, partition="other")
    (event,) = done.get_asset_materialization_events()
    said = str(event.materialization.metadata["conclusion"].value)
    assert "Variant other is not complete" in said
    assert "Next: `rag-assets variants backfill other`" in said


def test_the_launchpad_of_a_job_opens_with_a_config_that_runs(made):
    jobs = {job.name: job for job in assets.definitions(made.config, STEPS).jobs or ()}

    promoted = jobs["promote"].execute_in_process(raise_on_error=False)
    assert promoted.success
    (event,) = promoted.get_asset_materialization_events()
    assert event.materialization.metadata["conclusion"].value
    assert serves(made) == ["other", "default"]
    assert jobs["rollback"].execute_in_process(raise_on_error=False).success
    assert serves(made) == ["default", "other", "default"]


def test_the_jobs_move_it_by_hand(made):
    assert run(made, "promote", {"variant": "other", "override": "a test"}).success
    assert serves(made) == ["other", "default"]
    done = run(made, "rollback", {})
    assert done.success
    (event,) = done.get_asset_materialization_events()
    assert event.asset_key == dg.AssetKey("serving_index")
    assert serves(made) == ["default", "other", "default"]
    assert not run(made, "rollback", {"to": 17}).success
