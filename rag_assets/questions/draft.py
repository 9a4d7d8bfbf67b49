"""A question that a program made, with its gold, and why it was left out if it was."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pyarrow as pa

from rag_assets.config import Config
from rag_assets.evaluation import gold as golds
from rag_assets.evaluation.gold import Gold
from rag_assets.identity import fingerprint
from rag_assets.models.language.calls import LanguageModel
from rag_assets.models.language.prompts import read_prompt
from rag_assets.store import Store
from rag_assets.table_lookup.plans.plan import LookupPlan, plan_to_json
from rag_assets.terms.words import folded

PACKAGE = "rag_assets.questions"
"""The package of the prompts."""
ID_DIGITS = 12
"""Hexadecimal digits of a question's id."""

Origin: TypeAlias = Literal["from_documents", "known_items", "from_tables"]
"""The origin of a made question: a model that read a document, a sentence cut from one, or a plan
over a table. It is the name of its question set."""
Split: TypeAlias = Literal["dev", "test"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionDraft:
    """A question as it was made."""

    origin: Origin
    kind: str
    """What sort of question of that origin, such as `list` or `count`."""
    question: str
    language: str
    gold: tuple[Gold, ...]
    """What must be found: anchored to the source."""
    answer: str | None = None
    plan: LookupPlan | None = None
    """The lookup plan that it asks of a table."""
    maker: str
    """What worded it: the name of a template, or of a language model."""
    left_out: str = ""
    """Why it is no question of the set, for people; empty if it is one."""


@dataclass(frozen=True, slots=True)
class MadeQuestions:
    """What became of one document or table."""

    key: str
    """Id of the document, or `source/table`."""
    drafts: Sequence[QuestionDraft] = ()
    """The questions, at least one unless there is a `failure`; one of them may be left out."""
    failure: str = ""
    """Why nothing could be made now, and what to do; empty if it could."""


@dataclass(frozen=True, slots=True)
class Maker:
    """What makes questions of inputs of one sort: of documents, or of tables."""

    inputs: Callable[[Store, Config], pa.Table]
    """Key of each input, and a fingerprint of all that its questions are made from: schema
    `INPUTS`."""
    is_own: Callable[[str], bool]
    """Whether a key is that of such an input: ids of documents have no slash, tables have one."""
    made: Callable[[Store, Config, Sequence[str], LanguageModel | None], Iterator[MadeQuestions]]
    """What becomes of the inputs with these keys, one by one and in this order. The model is that
    of `questions.model`; None without one."""


def reader_of(config: Config, source: str, *, prompts: Iterable[str]) -> list[str]:
    """The language model that is sent texts of a source, and its prompts; empty without one."""
    if not config.questions.model:
        return []
    _, settings = config.language_model(config.questions.model)
    hashes = [read_prompt(PACKAGE, each).hash for each in prompts]
    is_allowed = settings.allowed_sources is None or source in settings.allowed_sources
    return [settings.backend, settings.model, *hashes] if is_allowed else []


def split_of(key: str) -> Split:
    """The split of all questions that are made from one document or table, by a hash of its key."""
    return "dev" if int(fingerprint("split", key)[:8], 16) % 2 else "test"


def row_of(draft: QuestionDraft, *, input_id: str) -> dict[str, str | None]:
    """The row of a draft in `schemas.GENERATED_QUESTIONS`, without `index` and those of the system.

    The same question of the same document or table has the same id whenever it is made.
    """
    digits = fingerprint(input_id, folded(draft.question))[:ID_DIGITS]
    is_document = draft.origin != "from_tables"
    return {
        "question_id": f"{draft.origin}/{digits}",
        "input_id": input_id,
        "document_id": input_id if is_document else None,
        "origin": draft.origin,
        "kind": draft.kind,
        "question": draft.question,
        "language": draft.language,
        "split": split_of(input_id),
        "gold": golds.to_json(draft.gold),
        "answer": draft.answer,
        "plan": json.dumps(plan_to_json(draft.plan), ensure_ascii=False) if draft.plan else None,
        "maker": draft.maker,
        "left_out": draft.left_out,
    }
