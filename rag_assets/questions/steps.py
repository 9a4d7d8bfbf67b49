"""The step of the room: questions that are made from one's own documents and tables."""

from collections.abc import Mapping, Sequence

from rag_assets.change.steps import ShownContent, StepContext, StepKind, StepResult, StepTable
from rag_assets.config import Config, Variant
from rag_assets.index.steps import JOINT_INDEX
from rag_assets.questions.draft import Maker
from rag_assets.questions.step_tables import GENERATED
from rag_assets.reports.metadata_values import ShownRows, Value
from rag_assets.store import Store
from rag_assets.tables.steps import TABLE_ROWS

SHOWN = ("question", "origin", "kind", "language", "split", "left_out", "gold")
BY_SORT, LEFT_OUT = "questions by sort", "left out"


class GeneratedQuestions(StepKind):
    """The questions that were made, of which there is one table for all variants."""

    name = GENERATED.asset
    room = "questions"
    about = "Questions with gold evidence, made from the project's own documents and tables."
    counts = "documents and tables"
    holds = "questions"
    has_variants = False
    is_planned = False
    is_optional = True
    is_retried = True
    fails_beyond_input = True

    def table(self, config: Config, recipe: Variant) -> StepTable:  # noqa: ARG002 - one for all variants
        """The table of the questions that were made."""
        return GENERATED

    def refresh(self, work: StepContext) -> StepResult:
        """Make the questions of what changed."""
        from rag_assets.questions import making

        store = work.store
        report = making.refresh_generated(
            store, work.config, makers(), log=work.log, retry=work.retry
        )
        return StepResult(
            report=report,
            schema=GENERATED.schema,
            columns=SHOWN,
            content=ShownContent(
                (BY_SORT, LEFT_OUT), lambda: _counts(store) if report.rows else {}
            ),
            about=report.spending,
        )

    def derivation(self, work: StepContext) -> None:
        """No refresh makes them: they stay as they are until a person asks for more."""

    def reads(self, config: Config) -> Sequence[Sequence[str]]:  # noqa: ARG002 - the same for all
        """The index, whose vectors choose passages, and the rows."""
        return [[JOINT_INDEX.name], [TABLE_ROWS.name]]

    def traced(self, trace: object) -> None:
        """No unit comes from a question."""


GENERATED_QUESTIONS = GeneratedQuestions()


def makers() -> Sequence[Maker]:
    """What makes questions: of documents, and of tables."""
    from rag_assets.questions.from_documents import document_inputs, documents_made
    from rag_assets.questions.from_tables import table_inputs, tables_made

    return [
        Maker(document_inputs, lambda key: "/" not in key, documents_made),
        Maker(table_inputs, lambda key: "/" in key, tables_made),
    ]


def _counts(store: Store) -> Mapping[str, Value]:
    """How many questions there are of each sort, and why others were left out."""
    from rag_assets.questions import counts

    return {BY_SORT: ShownRows(counts.counted(store)), LEFT_OUT: ShownRows(counts.left_out(store))}
