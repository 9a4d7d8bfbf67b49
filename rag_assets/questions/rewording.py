"""Questions to tables in the words of a language model, which decides nothing of what they ask.

Each new wording is read by the rules that read users' questions, on the one table. Only where the
plan that they find gives the same rows, result and cells does it take the place of the template's.
What the rules cannot read stays as it was: the rows are right in any case.
"""

from collections.abc import Sequence
from dataclasses import replace

from rag_assets.models.language.calls import LanguageModel, Message, Request
from rag_assets.models.language.prompts import Prompt, read_prompt
from rag_assets.questions.draft import QuestionDraft
from rag_assets.retrieval.glossary import Glossary
from rag_assets.table_lookup.plans.plan import LookupPlan, PlanError
from rag_assets.table_lookup.plans.running import run_plan
from rag_assets.table_lookup.plans.sandbox import SandboxError
from rag_assets.table_lookup.question.understanding import Understood, understand
from rag_assets.table_lookup.tables.catalogue import Catalogue, TableContents
from rag_assets.table_lookup.words.phrases import language_of

OUTPUT_TOKENS = 200
SCHEMA = {
    "type": "object",
    "properties": {"question": {"type": "string"}},
    "required": ["question"],
    "additionalProperties": False,
}


def prompt() -> Prompt:
    """What the model is told."""
    return read_prompt(__package__ or "", "reword")


def reworded(
    drafts: Sequence[QuestionDraft],
    contents: TableContents,
    model: LanguageModel,
    *,
    glossary: Glossary | None,
) -> list[QuestionDraft] | str:
    """`drafts` in other words where these ask the same; why not, if the model did not answer.

    A model that may not see the source of the table is asked nothing.
    """
    info = contents.info
    if not model.may_see([info.source]):
        return [*drafts]
    held = {(info.source, info.table): contents}
    catalogue = Catalogue(data_version="", load=lambda: (held, ()), glossary=glossary)
    instruction = Message("system", prompt().text)
    answers = model.complete_all(
        [
            Request(
                (instruction, Message("user", each.question)),
                max_tokens=OUTPUT_TOKENS,
                schema=SCHEMA,
                sources=frozenset({info.source}),
            )
            for each in drafts
        ]
    )
    missing = next(
        (each for each in answers if each.outcome in ("unavailable", "over_budget")), None
    )
    if missing is not None:
        return f"{missing.outcome}: {missing.reason}"
    said = [
        " ".join(str(each.parsed["question"]).split()) if isinstance(each.parsed, dict) else ""
        for each in answers
    ]
    return [
        replace(draft, question=text, maker=model.name)
        if _is_same(text, draft, catalogue)
        else draft
        for draft, text in zip(drafts, said, strict=True)
    ]


def _is_same(text: str, draft: QuestionDraft, catalogue: Catalogue) -> bool:
    assert draft.plan is not None, "a question to a table has a plan"
    if not text or language_of(text) != draft.language:
        return False
    read = understand(text, catalogue)
    return isinstance(read, Understood) and gives_the_same(read.plan, draft.plan, catalogue)


def gives_the_same(read: LookupPlan, meant: LookupPlan, catalogue: Catalogue) -> bool:
    """Whether a plan as it was read selects the rows of the one that was meant, and shows as much.

    Their order is not compared, nor what is shown beside what is asked for: that is the last column.
    """
    if read.operation in ("max", "min"):
        is_max, by = read.operation == "max", read.column
        read = replace(read, operation="rows", column=None, order_by=by, descending=is_max, limit=1)
    try:
        first, second = run_plan(read, catalogue), run_plan(meant, catalogue)
    except (PlanError, SandboxError):
        return False
    shown = {*read.columns, *(each.column for each in read.where), read.order_by, read.column}
    return (
        (read.source, read.table) == (meant.source, meant.table)
        and set(first.row_keys) == set(second.row_keys)
        and first.value == second.value
        and set(meant.columns[-1:]) <= shown
    )
