"""What is kept of an answer: the answer itself, and everything that is needed to run it again."""

import json
import secrets
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from pydantic import JsonValue, TypeAdapter

from rag_assets.answering.answer import Answer, to_json
from rag_assets.citations.kinds import Cell, Citation, Rows, Span
from rag_assets.config import Config, RetrieverName, Versions
from rag_assets.config.answering import Answering
from rag_assets.identity import canonical_json, fingerprint
from rag_assets.retrieval.access import EVERYTHING, Access
from rag_assets.retrieval.filters import Filters
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.serving_pointer import QuerySide

if TYPE_CHECKING:
    from rag_assets.retrieval.access import Sight
    from rag_assets.retrieval.search import VariantIndex
    from rag_assets.table_lookup.tables.catalogue import Catalogue

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOT_COMPARED = ("seconds", "generation")
SHOWN_NOT_COMPARED = ("score",)
"""Parts of an answer, and of a unit it shows, that may differ each time it is made. The last digits
of a reranker's score depend on the texts that were scored together with one, which a cache decides
(1e-4 was seen). What they decide is compared: the ranks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What answers were made with: the same for all until the index or the config changes."""

    complete_set: CompleteSet
    """The tables that were searched, with their versions."""
    query_side: QuerySide
    """The retriever that searched them, with its settings."""
    versions: Versions
    """The versions of documents that are searched where no filter says otherwise."""
    answering: Mapping[str, JsonValue]
    """The section `answering` of the config."""
    program: str
    """Version of this program."""

    def within(self, config: Config) -> Config:
        """`config` with the retriever and the settings of then."""
        retrieval = self.query_side.within(config.retrieval)
        return config.model_copy(
            update={
                "retrieval": retrieval.model_copy(update={"versions": self.versions}),
                "answering": Answering.from_record(self.answering),
            }
        )

    @property
    def key(self) -> str:
        """A hash that equal conditions share."""
        return fingerprint(conditions_json(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerContext:
    """How an answer came about."""

    conditions: Conditions
    retriever: RetrieverName | None = None
    """The retriever that the caller named; None: the one that answers unless another is named."""
    filters: Filters | None = None
    history: tuple[str, ...] = ()
    """Earlier questions of the conversation, the oldest first."""
    user: str | None = None
    """The user who asked, as the caller says."""
    groups: tuple[str, ...] | None = None
    """The groups by which it was seen what to answer from; None: everything was."""
    recalls: str | None = None
    """The id of the answer whose question was asked again because its sources changed: nobody was
    shown this one, but as what is new in a notice."""
    plan: Mapping[str, JsonValue] | None = None
    """The lookup plan of an answer that lists rows and cites their cells alone."""
    plan_units: tuple[str, ...] = ()
    """The unit of the column of each of its conditions: see `Rows.condition_units`."""
    checks: Mapping[str, JsonValue] = field(default_factory=dict)
    """What checks found, by their names."""
    cost: Mapping[str, float] = field(default_factory=dict)
    """The cost by its kind, such as `tokens`."""


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer as it was kept."""

    answer_id: str
    """The id of the answer, a UUIDv7: see `new_id`."""
    kept_at: datetime
    """The time when it was kept, in UTC."""
    answer: Answer
    context: AnswerContext


def context_of(
    index: "VariantIndex",
    config: Config,
    *,
    retriever: RetrieverName | None = None,
    filters: Filters | None = None,
    user: str | None = None,
    access: Access = EVERYTHING,
    history: tuple[str, ...] = (),
    listed: Rows | None = None,
    checks: Mapping[str, JsonValue] | None = None,
    cost: Mapping[str, float] | None = None,
) -> AnswerContext:
    """The context of an answer that `index` gave under `config`.

    `retriever` and `filters` are those that were passed to `ask`; `listed` are the rows that it
    lists: see `keeping.rows_listed_by`.
    """
    settings = index.settings
    searched_by = {"retriever": retriever or settings.retriever}
    conditions = Conditions(
        complete_set=index.complete_set,
        query_side=QuerySide.of(settings.model_copy(update=searched_by)),
        versions=settings.versions,
        answering=config.answering.model_dump(mode="json", exclude={"report"}),
        program=program_version(),
    )
    return AnswerContext(
        conditions=conditions,
        retriever=retriever,
        filters=filters,
        user=user,
        groups=None if access.groups is None else tuple(sorted(access.groups)),
        history=history,
        plan=listed.plan if listed else None,
        plan_units=listed.condition_units if listed else (),
        checks=checks or {},
        cost=cost or {},
    )


def is_seen_by(
    sight: "Sight", kept: KeptAnswer, *, index: "VariantIndex", catalogue: "Catalogue"
) -> bool:
    """Whether an answer holds nothing but what `sight` sees of what serves now.

    It was asked by no other groups, all that it cites and shows may be seen still, and what was
    computed from a table of which some rows are hidden is computed again from the others; where
    that takes too long it is not seen.

    Args:
        sight: What may be seen.
        kept: The answer.
        index: The view of the index for `sight`.
        catalogue: The tables that it sees.
    """
    if kept.context.groups is None or not sight.groups.issuperset(kept.context.groups):
        return False
    units = {each.cited_unit for each in kept.answer.citations} - {None}
    named = sorted({*filter(None, units), *(each.unit_id for each in kept.answer.shown)})
    there = (index.whole or index).read(named, []).num_rows
    is_hidden = there > index.read(named, []).num_rows
    return not is_hidden and all(_is_seen(each, sight, catalogue) for each in kept.answer.citations)


def _is_seen(citation: Citation, sight: "Sight", catalogue: "Catalogue") -> bool:
    from rag_assets.table_lookup.plans.sandbox import SandboxError
    from rag_assets.table_lookup.verifying import verify_again

    if isinstance(citation, Span):
        return sight.sees_document(citation.source, citation.uri)
    if isinstance(citation, Cell):
        place = citation.source, citation.table
    elif citation.plan is None:
        return True  # it says how much was searched of what was seen then
    else:
        place = str(citation.plan["source"]), str(citation.plan["table"])
    rows = sight.rows_of(place[0], sight.rules.name_of(*place))
    if rows is None:
        return True
    if isinstance(citation, Cell):
        return citation.unit_id in rows
    with suppress(SandboxError):
        return bool(rows) and verify_again(citation, catalogue) == "same"
    return False


def cost_of(answer: Answer) -> dict[str, float]:
    """What the language model behind `answer` took, by kind; nothing without one."""
    made = answer.generation
    if made is None:
        return {}
    cost = {} if made.cost is None else {"cost": made.cost}
    return {
        "calls": made.calls - made.kept_calls,
        "tokens read": made.prompt_tokens,
        "tokens written": made.completion_tokens,
        **cost,
    }


def canonical(answer: Answer) -> str:
    """`answer` as JSON in which equal answers are equal byte for byte.

    Keys are sorted. Times and scores are left out: see `NOT_COMPARED`.
    """
    record = to_json(answer)
    shown = [
        {name: value for name, value in asdict(each).items() if name not in SHOWN_NOT_COMPARED}
        for each in answer.shown
    ]
    compared = {name: record[name] for name in record if name not in NOT_COMPARED}
    return canonical_json({**compared, "shown": shown})


def new_id(at: datetime) -> str:
    """An id for an answer that is kept now: UUIDv7 (RFC 9562), a time and 62 random bits.

    Ids of this project are UUIDv5 of what they name. An answer is an event: the same question may
    get the same answer twice, and both are kept. Ids that begin with the time sort as the answers
    came, so that pages of a list need no other key. Answers of one millisecond do too: the twelve
    bits after it hold its microseconds (section 6.2, method 3).
    """
    microseconds = (at.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)
    milliseconds, rest = divmod(microseconds, 1_000)
    time = milliseconds & (2**48 - 1)
    number = time << 80 | 7 << 76 | (rest * 2**12 // 1_000) << 64 | 2 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=number))


def conditions_json(conditions: Conditions) -> str:
    """`conditions` as canonical JSON."""
    return canonical_json(json.loads(_conditions().dump_json(conditions)))


def conditions_from(text: str) -> Conditions:
    """The conditions that `conditions_json` wrote.

    Raises:
        ValueError: It is none, or not of this release.
    """
    return _conditions().validate_json(text)


def context_json(context: AnswerContext) -> str:
    """`context` without its conditions, as JSON."""
    record = json.loads(_contexts().dump_json(context))
    return json.dumps({**record, "conditions": None}, ensure_ascii=False)


def context_from(text: str, conditions: Conditions) -> AnswerContext:
    """The context that `context_json` wrote.

    Raises:
        ValueError: It is none, or not of this release.
    """
    return _contexts().validate_python({**json.loads(text), "conditions": conditions})


@cache
def program_version() -> str:
    """Version of this program; `unknown` where it is not installed as a package."""
    try:
        return version("rag-assets")
    except PackageNotFoundError:
        return "unknown"


@cache
def _conditions() -> TypeAdapter[Conditions]:
    return TypeAdapter(Conditions)


@cache
def _contexts() -> TypeAdapter[AnswerContext]:
    return TypeAdapter(AnswerContext)
