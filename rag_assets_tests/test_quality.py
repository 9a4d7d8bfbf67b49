import subprocess
import sys

import dagster as dg
import pyarrow as pa
import pytest

from rag_assets import quality
from rag_assets.quality import Measures, Outcome, Subject
from rag_assets.store import Store

ROWS = pa.table({"id": ["a", "b", "a"], "tokens": pa.array([5, 300, None], pa.int32())})
EXPECTATIONS = [
    quality.unique("id", name="ids_unique", description="ids are unique"),
    quality.within("tokens", low=1, high=256, name="tokens_fit", description="chunks fit"),
    quality.within("missing", high=0, name="complete", description="nothing is missing"),
]
VARIANTS = dg.StaticPartitionsDefinition(["default", "other"])


def subject_of(state: list[str], rows: list[pa.Table], **options) -> Subject:
    return Subject(
        asset=dg.AssetKey("chunks"),
        expectations=options.pop("expectations", EXPECTATIONS),
        state=lambda store, partition: [state[-1], partition],
        measure=lambda store, partition: Measures(rows.pop(), {"missing": 2}),
        **options,
    )


def test_each_expectation_has_its_outcome_with_examples():
    outcomes = quality.evaluate(EXPECTATIONS, measures=Measures(ROWS, {"missing": 2}))

    assert outcomes["ids_unique"] == Outcome(
        passed=False, unexpected=2, measured=3, examples=[{"id": "a"}, {"id": "a"}]
    )
    assert outcomes["tokens_fit"].examples == [{"tokens": 300, "id": "b"}]
    assert outcomes["complete"].observed == 2
    assert not outcomes["complete"].passed


def test_an_empty_table_meets_every_expectation_on_its_rows():
    outcomes = quality.evaluate(EXPECTATIONS[:2], measures=Measures(ROWS.slice(0, 0)))

    assert all(outcome.passed and outcome.measured == 0 for outcome in outcomes.values())


def test_a_check_that_cannot_be_evaluated_is_an_error_and_not_a_pass():
    misspelt = quality.within("tokenz", low=1, name="tokens_fit", description="")

    with pytest.raises(RuntimeError, match="tokens_fit"):
        quality.evaluate([misspelt], measures=Measures(ROWS))


def test_an_unchanged_table_keeps_its_last_outcome_and_is_not_measured_again(tmp_path):
    store, state, rows = Store(tmp_path), ["1"], [ROWS]
    subject = subject_of(state, rows)

    first = quality.outcomes_of(subject, store=store)
    assert quality.outcomes_of(subject, store=store) == first
    assert not rows

    state.append("2")
    rows.append(ROWS.slice(0, 1))
    assert quality.outcomes_of(subject, store=store)["ids_unique"].passed


def test_a_changed_bound_is_evaluated_again(tmp_path):
    store, state, rows = Store(tmp_path), ["1"], [ROWS, ROWS]
    strict, lax = (
        [quality.within("tokens", high=high, name="tokens_fit", description="")]
        for high in (256, 512)
    )

    before = quality.outcomes_of(subject_of(state, rows, expectations=strict), store=store)
    after = quality.outcomes_of(subject_of(state, rows, expectations=lax), store=store)

    assert not before["tokens_fit"].passed
    assert after["tokens_fit"].passed


def test_variants_keep_outcomes_of_their_own(tmp_path):
    rows = [ROWS.slice(0, 1), ROWS]
    subject = subject_of(["1"], rows, partitions=VARIANTS)

    default = quality.outcomes_of(subject, store=Store(tmp_path), partition="default")
    other = quality.outcomes_of(subject, store=Store(tmp_path), partition="other")

    assert not default["ids_unique"].passed
    assert other["ids_unique"].passed


@pytest.mark.parametrize(("blocking", "downstream_ran"), [(True, False), (False, True)])
def test_a_failed_error_blocks_downstream_and_a_warning_only_shows(
    tmp_path, blocking, downstream_ran
):
    @dg.asset(partitions_def=VARIANTS)
    def chunks() -> None: ...

    @dg.asset(partitions_def=VARIANTS, deps=[chunks])
    def vectors() -> None: ...

    fits = quality.within("tokens", high=256, name="fit", description="", blocking=blocking)
    subject = subject_of(["1"], [ROWS], partitions=VARIANTS, expectations=[fits])
    result = dg.materialize(
        [chunks, vectors, quality.checks(subject, store=Store(tmp_path))],
        partition_key="other",
        raise_on_error=False,
    )

    (evaluation,) = result.get_asset_check_evaluations()
    assert not evaluation.passed
    assert evaluation.partition == "other"
    ran = {event.asset_key for event in result.get_asset_materialization_events()}
    assert (dg.AssetKey("vectors") in ran) is downstream_ran
    assert result.success is downstream_ran


def test_defining_checks_imports_neither_great_expectations_nor_pandas():
    code = (
        "import sys, rag_assets.quality;"
        "assert not {'great_expectations', 'pandas', 'torch'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
