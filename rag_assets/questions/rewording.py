"""Questions to tables in the words of a language model, which decides nothing of what they ask.

Each new wording is read by the rules that read users' questions, on the one table. Only where the
plan that they find gives the same rows, result and cells does it take the place of the template's.
What the rules cannot read stays as it was: the rows are right in any case.
"""

from collections.abc import Sequence
from dataclasses import replace

from rag_assets.models.language.calls import LanguageModel, Message, Request
from rag_assets.models.language.prompts import read_prompt
from rag_assets.questions.draft import PACKAGE, QuestionDraft
from rag_assets.table_lookup.plans.plan import LookupPlan, PlanError
from rag_assets.table_lookup.plans.running import run_plan
from rag_assets.table_lookup.plans.sandbox import SandboxError
from rag_assets.table_lookup.question.understanding import Understood, understand
from rag_assets.table_lookup.tables.catalogue import Catalogue
from rag_assets.table_lookup.words.phrases import language_of

REWORD = "reword"
"""The prompt."""
OUTPUT_TOKENS = 200
SCHEMA = {
    "type": "object",
    "properties": {"question": {"type": "string"}},
    "required": ["question"],
    "additionalProperties": False,
}


def reworded(
    drafts: Sequence[QuestionDraft], catalogue: Catalogue, model: LanguageModel
) -> list[QuestionDraft] | str:
    """Questions to the one table of `catalogue` in other words, where these ask the same.

    If the model did not answer, why.

    A model that may not see the source of the table is asked nothing.
    """
    sources = frozenset(each.source for each in catalogue.tables)
    if not model.may_see(sources):
        return [*drafts]
    instruction = Message("system", read_prompt(PACKAGE, REWORD).text)
    requests = [
        Request((instruction, Message("user", each.question)), OUTPUT_TOKENS, SCHEMA, sources)
        for each in drafts
    ]
    answers = model.complete_all(requests)
    failed = [each for each in answers if each.outcome in ("unavailable", "over_budget")]
    if failed:
        return f"{failed[0].outcome}: {failed[0].reason}"
    made = []
    for draft, each in zip(drafts, answers, strict=True):
        text = str(each.parsed["question"]) if isinstance(each.parsed, dict) else ""
        read = understand(text, catalogue) if language_of(text) == draft.language else None
        plans = (read.plan, draft.plan) if isinstance(read, Understood) and draft.plan else ()
        is_same = bool(plans) and gives_the_same(*plans, catalogue)
        made.append(replace(draft, question=text, maker=model.name) if is_same else draft)
    return made


def gives_the_same(read: LookupPlan, meant: LookupPlan, catalogue: Catalogue) -> bool:
    """Whether a plan as it was read selects the rows of the one that was meant, and shows as much.

    Their order is not compared, nor what is shown beside the last column, which is asked for.
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
