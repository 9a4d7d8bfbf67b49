"""The assets `serving_index`, with its gate, and `recall_notices`; the jobs that people start."""

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

import dagster as dg

from rag_assets import lineage, resources
from rag_assets.answering.record.recalling import Recalled, recall
from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.config.naming import PROMOTE_JOB, ROLLBACK_JOB
from rag_assets.graph import STEPS
from rag_assets.index.steps import JOINT_INDEX
from rag_assets.operations.gate import blocked_candidate
from rag_assets.operations.gate.blocked_candidate import HeldBack
from rag_assets.operations.gate.verdict_wording import in_short, verdict_markdown, verdict_plot
from rag_assets.operations.gate.verdicts import Verdict
from rag_assets.operations.jobs import doctor_job, explain_job, plan_job
from rag_assets.operations.problems.current import RECALL_NOTICES, SERVING_INDEX
from rag_assets.operations.problems.runs import CONCLUSION
from rag_assets.operations.serving_index import promotion, rollback
from rag_assets.operations.serving_index.candidates import NotReadyError
from rag_assets.operations.serving_index.promotion import PromotionResult
from rag_assets.operations.serving_index.status import recorded_verdict, words_of
from rag_assets.process.interrupts import stoppable
from rag_assets.store import Store, serving_pointer
from rag_assets.store.serving_pointer import ServingPointer, ServingPointerError

GATE = "gate"
REVISION = 1
"""Raised when the same index and verdict should move the pointer otherwise."""
RECALL_REVISION = 1
"""Raised when the same change of sources should be told otherwise."""


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """What moves the serving pointer, and the jobs that look after a state."""
    jobs = (_promote_job, _rollback_job, doctor_job, plan_job, explain_job)
    assets = [_serving_index(config, steps), _recall_notices(config)]
    return dg.Definitions(assets=assets, jobs=[job(config) for job in jobs])


def _serving_index(project: Config, steps: StepList) -> dg.AssetsDefinition:
    serving = serving_pointer.serving_variant(Store.of(project), project)
    of_serving = dg.SpecificPartitionsPartitionMapping([serving])
    names, key = project.dagster, lineage.key_of(project, SERVING_INDEX)

    @dg.asset(
        key=key,
        group_name=names.name("serving"),
        deps=[  # another variant that is built anew does not make it older
            dg.AssetDep(lineage.key_of(project, name), partition_mapping=of_serving)
            for name in (JOINT_INDEX.name, "retrieval_evaluation")
        ],
        kinds={"lancedb"},
        code_version=str(REVISION),
        owners=[project.owner],
        check_specs=[
            dg.AssetCheckSpec(
                GATE,
                asset=key,
                description="- gate: The newest index of the variant that serves may take its "
                "place: it is complete, its tables agree, and it answers questions no worse.",
                blocking=True,
            )
        ],
        pool=names.name(lineage.GPU_POOL),
        required_resource_keys=resources.keys_of(project),
    )
    @stoppable()
    def serving_index(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        """What answers queries: the serving pointer. It moves only if its gate lets it."""
        started = time.monotonic()
        of_run = resources.of_run(context.resources, project)
        store = lineage.open_for_writing(of_run, steps)
        variant = context.partition_key if context.has_partition_key else None
        if variant is not None and not _may_serve(store, of_run, variant):
            return _judged(context, store, of_run, variant)
        done = promotion.promote_refreshed(store, of_run, log=context.log.info)
        context.log.info(done.conclusion)
        return dg.MaterializeResult(
            metadata=_of_result(done) | _metadata(done.pointer) | _seconds_since(started),
            data_version=_data_version(done.pointer),
            check_results=[_check(store, of_run, done)],
        )

    return serving_index


def _may_serve(store: Store, config: Config, variant: str) -> bool:
    """Whether a run for `variant` may have written the index that is to serve."""
    serving = serving_pointer.serving_variant(store, config)
    return config.tables_of(variant).joint == config.tables_of(serving).joint


def _judged(
    context: dg.AssetExecutionContext, store: Store, config: Config, variant: str
) -> dg.MaterializeResult[None]:
    """After a run for another variant, which only a person promotes: what the gate says of it.

    What is held back stays so, and stops no run of another variant.
    """
    done = promotion.judge_beside(store, config, variant, log=context.log.info)
    context.log.info(done.conclusion)
    return dg.MaterializeResult(
        metadata=_of_result(done) | _metadata(done.pointer) | _of_verdict(done.verdict),
        data_version=_data_version(done.pointer),
        check_results=[_check(store, config, done)],
    )


def _data_version(pointer: ServingPointer | None) -> dg.DataVersion:
    return dg.DataVersion(pointer.content if pointer else "")


def _of_verdict(verdict: Verdict | None) -> dict[str, dg.MetadataValue]:
    if verdict is None:
        return {}
    plot = verdict_plot(verdict)
    return {
        "verdict": dg.MetadataValue.text(verdict.words),
        "why": dg.MetadataValue.md(verdict_markdown(verdict)),
        **({"plot": lineage.svg_of(plot)} if plot else {}),
    }


def _check(store: Store, config: Config, done: PromotionResult) -> dg.AssetCheckResult:
    """The check `gate` after a run or a promotion: what is held, else why what serves may.

    It stops a run only where the newest index of what serves is held.
    """
    is_blocking = done.status == "held"
    both = (blocked_candidate.read(store), blocked_candidate.read(store, is_beside=True))
    held = [each for each in both if each and each.variant in config.variants]
    held.sort(key=lambda each: each.variant != done.variant)
    verdict = done.verdict or (recorded_verdict(done.pointer) if done.pointer else None)
    lines = [line for each in held for line in _held_lines(each)] or done.reasons
    return dg.AssetCheckResult(
        asset_key=lineage.key_of(config, SERVING_INDEX),
        check_name=GATE,
        passed=not (held or is_blocking),
        severity=dg.AssetCheckSeverity.ERROR if is_blocking else dg.AssetCheckSeverity.WARN,
        metadata=_of_held(held) | _of_verdict(held[0].verdict if held else verdict),
        description=lineage.lines_in_markdown(lines) or None,
    )


def _of_held(held: Sequence[HeldBack]) -> dict[str, dg.MetadataValue]:
    return {"held": dg.MetadataValue.text(", ".join(each.variant for each in held))} if held else {}


def _held_lines(held: HeldBack) -> list[str]:
    """Lines that say that a variant is held, since when, by which numbers, why, and what to do."""
    numbers = in_short(held.verdict) if held.verdict else ""
    return [
        f"{held.outcome} for variant {held.variant} since {held.since}: what served before still "
        f"serves{f' ({numbers})' if numbers else ''}.",
        *held.reasons,
        f"What to do: {held.remedy}",
    ]


def _metadata(pointer: ServingPointer | None) -> dict[str, dg.MetadataValue]:
    if pointer is None:
        return {"serves": dg.MetadataValue.text("nothing was promoted yet")}
    verdict = words_of(pointer)
    return {
        "serves": dg.MetadataValue.text(pointer.variant),
        "number": dg.MetadataValue.int(pointer.number),
        "since": dg.MetadataValue.timestamp(datetime.fromisoformat(pointer.moved_at)),
        "moved by": dg.MetadataValue.text(pointer.by),
        "retriever": dg.MetadataValue.text(pointer.query_side.retriever),
        "joint table": dg.MetadataValue.text(
            f"{pointer.complete_set.joint.table}, version {pointer.complete_set.joint.version}"
        ),
        **({"verdict": dg.MetadataValue.text(verdict)} if verdict else {}),
        **({"reason": dg.MetadataValue.text(pointer.reason)} if pointer.reason else {}),
    }


def _seconds_since(started: float) -> dict[str, dg.MetadataValue]:
    return {"seconds": dg.MetadataValue.float(round(time.monotonic() - started, 3))}


def _of_result(done: PromotionResult) -> dict[str, dg.MetadataValue]:
    shown: dict[str, dg.MetadataValue] = {
        CONCLUSION: dg.MetadataValue.text(done.conclusion),
        "promotion": dg.MetadataValue.text(done.status),
    }
    if done.reasons:
        shown["why"] = dg.MetadataValue.md(lineage.lines_in_markdown(done.reasons))
    return shown


def _recall_notices(project: Config) -> dg.AssetsDefinition:
    """The asset that tells people which of their answers changed."""
    names = project.dagster

    @dg.asset(
        key=lineage.key_of(project, RECALL_NOTICES),
        group_name=names.name("serving"),
        deps=[lineage.key_of(project, SERVING_INDEX)],
        kinds={"sqlite"},
        code_version=str(RECALL_REVISION),
        owners=[project.owner],
        pool=names.name(lineage.GPU_POOL),
        required_resource_keys=resources.keys_of(project),
    )
    @stoppable()
    def recall_notices(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        """Notices: kept answers that what serves now contradicts, each told once to who asked."""
        of_run = resources.of_run(context.resources, project)
        store = Store.of(of_run)
        done = recall(store, of_run, log=context.log.info)
        return dg.MaterializeResult(metadata=_of_recall(done))

    return recall_notices


def _of_recall(done: Recalled) -> lineage.Metadata:
    shown: dict[str, dg.MetadataValue] = {
        "outcome": dg.MetadataValue.text(done.in_words),
        **{
            name: dg.MetadataValue.int(getattr(done, name))
            for name in ("compared", "touched", "told", "left")
        },
        "seconds": dg.MetadataValue.float(round(done.seconds, 3)),
    }
    if done.told:
        rows = [{"question": question, "why": why} for question, why in done.examples]
        shown |= {
            CONCLUSION: dg.MetadataValue.text(done.news),
            "changed answers": lineage.records_of(rows),
        }
    return shown


def _promote_job(project: Config) -> dg.JobDefinition:
    @lineage.one_op_job(
        project,
        PROMOTE_JOB,
        description="Lets a variant serve. The same as `rag-assets variants promote VARIANT`.",
        op="Lets a variant serve, if the gate lets it pass.",
        opens_with={"variant": _next_variant(project)},
        schema={
            "variant": dg.Field(str, description="The variant that is to serve."),
            "override": dg.Field(
                str,
                is_required=False,
                description="Why it is to serve whatever the gate says; recorded.",
            ),
            "accept_dense": dg.Field(
                str,
                is_required=False,
                description="Why it is to serve although dense search alone finds less, if nothing "
                "else speaks against it; recorded.",
            ),
        },
    )
    def promote_variant(context: dg.OpExecutionContext) -> None:
        options, store = context.op_config, lineage.open_for_writing(project, STEPS)
        with _refusals():
            done = promotion.promote(
                store,
                project,
                options["variant"],
                override=options.get("override") or None,
                accept_dense=options.get("accept_dense"),
                log=context.log.info,
            )
        _tell_check(context, project, _check(store, project, replace(done, status="judged")))
        if done.status == "held":
            outcome = done.verdict.outcome if done.verdict else "HOLD"
            raise dg.Failure(
                description=" ".join([f"{outcome}:", *done.reasons, done.remedy]),
                metadata=_of_verdict(done.verdict),
                allow_retries=False,
            )
        _tell(context, project, done.pointer, _of_result(done) | _of_verdict(done.verdict))
        recall(store, project, log=context.log.info)

    return promote_variant


def _next_variant(config: Config) -> str:
    """The variant that most likely is to serve next: the first that was added."""
    others = [name for name in config.variants if name != config.serving_variant]
    return next(iter(others), config.serving_variant)


def _rollback_job(project: Config) -> dg.JobDefinition:
    @lineage.one_op_job(
        project,
        ROLLBACK_JOB,
        description="Serves again what served before. The same as `rag-assets variants rollback`.",
        op="Serves again what served before.",
        opens_with={"to": 0},
        schema={
            "to": dg.Field(
                int, default_value=0, description="Number to serve again; 0: the previous one."
            )
        },
    )
    def roll_serving_back(context: dg.OpExecutionContext) -> None:
        store = lineage.open_for_writing(project, STEPS)
        with _refusals():
            pointer = rollback.roll_back(store, project, to=context.op_config["to"] or None)
        _tell(context, project, pointer, {})

    return roll_serving_back


@contextmanager
def _refusals() -> Generator[None]:
    """What the command line would refuse is refused here, too: it is no run that broke.

    Raises:
        dagster.Failure: By which `problems.runs` knows it.
    """
    try:
        yield
    except (NotReadyError, ServingPointerError) as error:
        raise dg.Failure(str(error), allow_retries=False) from error


def _tell_check(
    context: dg.OpExecutionContext, project: Config, found: dg.AssetCheckResult
) -> None:
    """Show the check `gate` as it stands now, whether the run that asks ends well or not."""
    judged = dg.AssetCheckEvaluation(
        asset_key=lineage.key_of(project, SERVING_INDEX),
        check_name=GATE,
        passed=found.passed,
        severity=found.severity,
        metadata=found.metadata,
        description=found.description,
    )
    context.log_event(judged)  # ty: ignore[invalid-argument-type] - its type lacks what it takes


def _tell(
    context: dg.OpExecutionContext,
    project: Config,
    pointer: ServingPointer | None,
    shown: lineage.Metadata,
) -> None:
    """Show on the page of `serving_index` what serves now, and in the run."""
    metadata = {**shown, **_metadata(pointer)}
    context.log_event(
        dg.AssetMaterialization(
            lineage.key_of(project, SERVING_INDEX),
            metadata=metadata,
            tags={"dagster/data_version": pointer.content if pointer else ""},
        )
    )
    context.add_output_metadata(metadata)
