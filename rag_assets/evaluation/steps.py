"""The step of the room: the questions with their gold evidence."""

from collections.abc import Mapping, Sequence

from rag_assets import schemas
from rag_assets.change.steps import ShownContent, StepContext, StepKind, StepResult, StepTable
from rag_assets.config import Config, Variant
from rag_assets.evaluation.step_tables import QUESTIONS
from rag_assets.reports.metadata_values import ShownRows, Value
from rag_assets.store import Store


class QuestionSets(StepKind):
    """The questions of all sets, which serve all variants."""

    name = "question_sets"
    room = "evaluation"
    about = "Questions with gold evidence, anchored to documents, pages, quotes and rows."
    counts = "questions"
    labels = frozenset({"lancedb", "json"})
    has_variants = False
    reads_sources = True
    is_planned = False
    is_optional = True

    def table(self, config: Config, recipe: Variant) -> StepTable:  # noqa: ARG002 - one for all variants
        """The questions."""
        return QUESTIONS

    def refresh(self, work: StepContext) -> StepResult:
        """Read the question files that changed."""
        from rag_assets.evaluation import questions

        store = work.store
        report = questions.refresh_questions(store, work.config, log=work.log, retry=work.retry)
        return StepResult(
            report=report,
            schema=QUESTIONS.schema,
            columns=("question_id", "question", "domain", "split", "gold"),
            content=ShownContent(("sets",), lambda: _counts(store) if report.rows else {}),
        )

    def derivation(self, work: StepContext) -> None:
        """None: questions are read from files, not derived from a table."""

    def reads(self, config: Config) -> Sequence[Sequence[str]]:  # noqa: ARG002 - the same for all
        """The questions that were made."""
        return [[schemas.GENERATED_QUESTIONS_TABLE]]

    def traced(self, trace: object) -> None:
        """No unit comes from a question."""


QUESTION_SETS = QuestionSets()


def _counts(store: Store) -> Mapping[str, Value]:
    """How many questions each set has, by domain and split."""
    keys = ["question_set", "domain", "language", "split"]
    held = store.read(QUESTIONS.table, columns=keys)
    counted = held.group_by(keys).aggregate([([], "count_all")])
    ordered = counted.sort_by([(key, "ascending") for key in keys])
    return {"sets": ShownRows(ordered.rename_columns({"count_all": "questions"}).to_pylist())}
