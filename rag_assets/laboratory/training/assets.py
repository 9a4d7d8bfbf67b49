"""The assets of the room, one for each model that is trained, and the job that trains them all.

No refresh and no schedule trains: a person runs the job `training`, materializes an asset, or has
the command do it.
"""

from collections.abc import Mapping

import dagster as dg

from rag_assets import lineage, resources
from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.config.training import Kind
from rag_assets.evaluation.steps import QUESTION_SETS
from rag_assets.laboratory.training import weights
from rag_assets.laboratory.training.steps import PAIRS
from rag_assets.process.interrupts import stoppable
from rag_assets.reports import plots

GROUP = "training"
JOB = "training"
ALWAYS = (QUESTION_SETS.name, PAIRS.asset)
"""What is brought up to date before anything learns from questions."""


def weights_key(config: Config, kind: Kind, name: str) -> dg.AssetKey:
    """Key of some trained weights."""
    return lineage.key_of(config, f"{kind}_weights", name)


def keys_of(config: Config, name: str) -> list[dg.AssetKey]:
    """What has to be materialized to train `name`: it, and what it is made from."""
    kind = config.training.names[name]
    keys = [weights_key(config, kind, name)]
    if kind == "reranker":
        keys.append(weights_key(config, "retriever", config.training.rerankers[name].retriever))
    return [*(lineage.key_of(config, each) for each in ALWAYS), *keys]


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """The training pairs, and the weights of all models that the config trains."""
    assets = [
        *lineage.step_assets(config, steps, room=GROUP),
        *(_weights(config, steps, kind, name) for name, kind in config.training.names.items()),
    ]
    if not assets:
        return dg.Definitions()
    job = dg.define_asset_job(
        config.dagster.name(JOB),
        selection=[
            *(lineage.key_of(config, name) for name in ALWAYS if config.training.needs_pairs),
            *(weights_key(config, kind, name) for name, kind in config.training.names.items()),
        ],
        description="Makes the training pairs, and trains every model of the section training. "
        "What was trained from the same stays as it is. The same as `rag-assets training run`.",
        executor_def=lineage.in_process(config),
        tags=lineage.run_tags(config),
    )
    return dg.Definitions(assets=assets, jobs=[job])


def _weights(config: Config, steps: StepList, kind: Kind, name: str) -> dg.AssetsDefinition:
    """The asset of some trained weights: what it shows is the same for both kinds."""
    about = (
        f"Weights of the embedding model `{name}`, fine-tuned on questions: the entry of that name "
        "in models. Refresh a variant with it, and promote that."
    )
    deps = [lineage.key_of(config, PAIRS.asset)]
    if kind == "reranker":
        about = (
            f"Weights of the reranker `{name}`, a cross-encoder that starts from a trained "
            f"retriever. Name trained:{name} as the path of an entry of retrieval.rerankers."
        )
        deps.append(weights_key(config, "retriever", config.training.rerankers[name].retriever))

    @dg.asset(
        key=weights_key(config, kind, name),
        group_name=config.dagster.name(GROUP),
        description=about,
        deps=deps,
        required_resource_keys=resources.keys_of(config),
        kinds={"pytorch"},
        owners=[config.owner],  # and no pool: a refresh need not wait for hours of training
    )
    @stoppable()
    def trained_weights(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from rag_assets.laboratory.training.trainers import WEIGHTS_OF

        of_run = resources.of_run(context.resources, config)
        store = lineage.open_for_writing(of_run, steps)
        done = WEIGHTS_OF[kind](store, of_run, name, log=context.log.info)
        if not done.is_new:
            context.log.info("nothing changed: these weights were trained already")
        return dg.MaterializeResult(
            metadata=metadata_of(done), data_version=dg.DataVersion(done.hash)
        )

    return trained_weights


def metadata_of(done: weights.Trained) -> Mapping[str, dg.MetadataValue]:
    """What a training did: its numbers first, then its curves and all that it was made from."""
    progress = done.progress
    metric = progress.metric.rpartition("_")[2]
    curves = {"loss": ("mean loss", progress.loss), metric: (metric, progress.validation)}
    return {
        f"{metric} before": dg.MetadataValue.float(round(progress.before, 4)),
        f"{metric} after": dg.MetadataValue.float(round(progress.best, 4)),
        **{
            f"plot of {name}": lineage.svg_of(
                plots.line({name: points}, title=name, x_label="step", y_label=label)
            )
            for name, (label, points) in curves.items()
        },
        "validation by step": lineage.records_of(
            {"step": step, metric: round(value, 4)} for step, value in progress.validation
        ),
        "weights": dg.MetadataValue.path(str(done.folder)),
        "made from": dg.MetadataValue.json(dict(done.made_from)),
        "steps": dg.MetadataValue.int(progress.steps),
        "went on from step": dg.MetadataValue.int(progress.resumed_at),
        "pairs per second": dg.MetadataValue.float(progress.examples_per_second),
        "hardware": dg.MetadataValue.text(progress.hardware),
        "trained at": dg.MetadataValue.text(done.trained_at),
        "seconds": dg.MetadataValue.float(progress.seconds),
    }
