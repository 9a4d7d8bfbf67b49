"""The step of the room: pairs of questions and units, which models learn from."""

from collections.abc import Mapping, Sequence

from rag_assets import schemas
from rag_assets.change.steps import ShownContent, StepContext, StepKind, StepResult, StepTable
from rag_assets.config import Config, Variant
from rag_assets.evaluation.steps import QUESTION_SETS
from rag_assets.index.steps import JOINT_INDEX
from rag_assets.reports.metadata_values import ShownRows, Value
from rag_assets.store import Store

PAIRS = StepTable(
    asset=schemas.TRAINING_PAIRS_TABLE,
    table=schemas.TRAINING_PAIRS_TABLE,
    key="pair_id",
    group="pair_id",
    schema=schemas.TRAINING_PAIRS,
    revision=1,
)
"""The training pairs."""


class TrainingPairs(StepKind):
    """The pairs of the variant that is trained on."""

    name = PAIRS.asset
    room = "training"
    about = "Questions of the split train with the units that they should and should not find."
    counts = "pairs"
    holds = "pairs"
    has_variants = False
    is_planned = False
    is_optional = True
    uses_gpu = True

    def is_made(self, config: Config) -> bool:
        """Whether anything is trained on questions."""
        return config.training.needs_pairs

    def table(self, config: Config, recipe: Variant) -> StepTable:  # noqa: ARG002 - one for all variants
        """The pairs."""
        return PAIRS

    def refresh(self, work: StepContext) -> StepResult:
        """Make the pairs anew, where questions or index changed."""
        from rag_assets.laboratory.training.pairs import refresh_pairs

        store = work.store
        report, left_out = refresh_pairs(store, work.config, log=work.log)
        return StepResult(
            report=report,
            schema=PAIRS.schema,
            columns=("question", "domain", "text", "negatives", "part"),
            content=ShownContent(("pairs by part",), lambda: _counts(store)),
            about={f"left out: {why}": count for why, count in left_out.items()},
        )

    def derivation(self, work: StepContext) -> None:
        """No refresh makes them: they stay as they are until a person trains."""

    def reads(self, config: Config) -> Sequence[Sequence[str]]:  # noqa: ARG002 - the same for all
        """The index, which finds wrong units, and the questions."""
        return [[JOINT_INDEX.name], [QUESTION_SETS.name]]

    def traced(self, trace: object) -> None:
        """No unit comes from a pair."""


TRAINING_PAIRS = TrainingPairs()


def _counts(store: Store) -> Mapping[str, Value]:
    keys = ["part", "domain"]
    held = store.read(PAIRS.table, columns=[*keys, "question_id"])
    counted = held.group_by(keys).aggregate([([], "count_all"), ("question_id", "count_distinct")])
    names = {"count_all": "pairs", "question_id_count_distinct": "questions"}
    ordered = counted.sort_by([(key, "ascending") for key in keys]).rename_columns(names)
    return {"pairs by part": ShownRows(ordered.to_pylist())}
