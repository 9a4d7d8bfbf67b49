"""Running a kept answer again: on the versions that it used, or on what serves now."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from rag_assets.answering.answer import Answer
from rag_assets.answering.lookup.arm import arms_of
from rag_assets.answering.record.differing import AnswerDifference, difference_of
from rag_assets.answering.record.kept import KeptAnswer, program_version
from rag_assets.config import Config, RetrieverName
from rag_assets.retrieval.failing import unanswerable
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.opening import OutdatedIndexError, open_index
from rag_assets.retrieval.search import VariantIndex
from rag_assets.retrieval.serving import open_serving
from rag_assets.store import Store
from rag_assets.store.catalog import folder_of
from rag_assets.store.pins import holds

ReplayIndex: TypeAlias = Literal["kept", "current"]
"""What a question is asked again on: the versions that its answer used, or what serves now."""


class ReplayError(LookupError):
    """An answer cannot be run again as it was; the message says what is missing."""


class Ask(Protocol):
    """What answers a question: see `asking.ask`."""

    def __call__(
        self,
        index: VariantIndex,
        question: str,
        *,
        store: Store,
        config: Config,
        filters: Filters | None = None,
        retriever: RetrieverName | None = None,
        read_as: str = "",
    ) -> Answer:
        """The answer to `question` from `index`."""
        ...


@dataclass(frozen=True, slots=True)
class Replayed:
    """An answer that was run again."""

    kept: KeptAnswer
    answer: Answer
    """What was answered now."""
    difference: AnswerDifference
    notes: tuple[str, ...]
    """What else is not as it was then, in words."""


def replay(
    kept: KeptAnswer, *, store: Store, config: Config, ask: Ask, on: ReplayIndex = "kept"
) -> Replayed:
    """Ask the question of `kept` again.

    On the versions that it used, tables, retriever and settings are those of then; a glossary is
    read as it is now. On what serves now, all are those of now, and the retriever is the one that
    was named, if one was.

    Raises:
        ReplayError: Tables of then were cleaned up, or a model is missing or is another one.
        ServingPointerError, MissingTableError: Nothing serves, for `current`.
        DamagedTablesError: Files of the tables cannot be read.
    """
    answer = (_as_it_was if on == "kept" else _as_it_is)(kept, store, config, ask)
    notes = tuple(_notes(kept, answer)) if on == "kept" else ()
    return Replayed(kept, answer, difference_of(kept.answer, answer), notes)


def tables_gone(kept: KeptAnswer, store: Store) -> list[str]:
    """The tables of then that cannot be read any more, each with its version."""
    pins = kept.context.conditions.complete_set.pins
    return [
        f"{folder_of(pin.table)} (version {pin.version})" for pin in pins if not holds(store, pin)
    ]


def _as_it_was(kept: KeptAnswer, store: Store, config: Config, ask: Ask) -> Answer:
    conditions = kept.context.conditions
    complete_set = conditions.complete_set
    if gone := tables_gone(kept, store):
        raise _gone(kept, gone)
    then = conditions.within(config)
    variant = kept.answer.scope.variant
    try:
        return ask(
            open_index(
                store,
                then,
                variant,
                complete_set=complete_set,
                retrieval=then.retrieval,
                arms=arms_of(store, config),
            ),
            kept.answer.question,
            store=store,
            config=then,
            filters=kept.context.filters,
            retriever=kept.context.retriever,
            read_as=kept.answer.read_as,
        )
    except OutdatedIndexError as error:
        raise _gone(kept, tables_gone(kept, store) or [complete_set.joint.table]) from error
    except unanswerable() as error:
        raise ReplayError(
            f"answer {kept.answer_id} cannot be run again with what it used: {error}"
        ) from error


def _as_it_is(kept: KeptAnswer, store: Store, config: Config, ask: Ask) -> Answer:
    return ask(
        open_serving(store, config, arms=arms_of(store, config)),
        kept.answer.question,
        store=store,
        config=config,
        filters=kept.context.filters,
        retriever=kept.context.retriever,
        read_as=kept.answer.read_as,
    )


def _gone(kept: KeptAnswer, tables: list[str]) -> ReplayError:
    return ReplayError(
        f"answer {kept.answer_id} cannot be run on the versions it used: {', '.join(tables)} "
        "is gone. Clean-up removes versions that were replaced more than clean_up.keep_days ago, "
        "and a purge those with the document. `--index current` asks what serves now"
    )


def _notes(kept: KeptAnswer, answer: Answer) -> Iterator[str]:
    then, now = kept.context.conditions.program, program_version()
    if then != now:
        yield f"it was answered by version {then} of the program, and this is {now}"
    wrote, writes = kept.answer.generation, answer.generation
    if wrote and writes and wrote.identity != writes.identity:
        yield f"it was written by {wrote.identity}, and the server has {writes.identity} now"
