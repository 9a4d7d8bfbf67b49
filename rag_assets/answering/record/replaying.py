"""Running a kept answer again: on the versions that it used, or on what serves now."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rag_assets.answering.answer import Answer
from rag_assets.answering.assistant import Assistant, open_assistant
from rag_assets.answering.record.differing import AnswerDifference, difference_of
from rag_assets.answering.record.kept import KeptAnswer, program_version
from rag_assets.config import NOBODY, Config
from rag_assets.process.errors import ExplainedError, UnanswerableError
from rag_assets.retrieval.access import EVERYTHING, Access
from rag_assets.retrieval.opening import OutdatedIndexError
from rag_assets.store import Store
from rag_assets.store.catalog import folder_of
from rag_assets.store.pins import holds

ReplayIndex: TypeAlias = Literal["kept", "current"]
"""What a question is asked again on: the versions that its answer used, or what serves now."""


class ReplayError(ExplainedError, LookupError):
    """An answer cannot be run again as it was; the message says what is missing."""


Ask: TypeAlias = Callable[[Assistant, KeptAnswer], Answer]
"""A function that has an assistant answer the question of a kept answer."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """An answer that was run again."""

    kept: KeptAnswer
    answer: Answer
    """The answer that was given now."""
    difference: AnswerDifference
    notes: tuple[str, ...]
    """What else is not as it was then, in words."""


def asked_again(assistant: Assistant, kept: KeptAnswer) -> Answer:
    """What `assistant` answers to the question of a kept answer, under its filters."""
    return assistant.ask_again(
        kept.answer.question,
        read_as=kept.answer.read_as,
        filters=kept.context.filters,
        retriever=kept.context.retriever,
    )


def replay(
    kept: KeptAnswer,
    *,
    config: Config,
    on: ReplayIndex = "kept",
    ask: Ask = asked_again,
    access: Access = EVERYTHING,
) -> Replayed:
    """Ask the question of `kept` again.

    On the versions that it used, tables, retriever and settings are those of then; a glossary is
    read as it is now, and so is who may see what (`access`). What a language model wrote is written
    again by the model of that name. On what serves now, all are those of now, and the retriever is
    the one that was named, if one was.

    Raises:
        ReplayError: Tables of then were cleaned up, or a model is missing or is another one.
        ServingPointerError, MissingTableError: Nothing serves, for `current`.
        DamagedTablesError: Files of the tables cannot be read.
        MissingExtraError: A model of the config needs an extra that is not installed.
    """
    if on == "kept":
        answer = _as_it_was(kept, config, ask, access)
        return Replayed(kept, answer, difference_of(kept.answer, answer), (*_notes(kept, answer),))
    with open_assistant(config) as assistant:
        answer = ask(assistant.seen_by(access), kept)
    return Replayed(kept, answer, difference_of(kept.answer, answer), ())


def tables_gone(kept: KeptAnswer, store: Store) -> list[str]:
    """The tables of then that cannot be read any more, each with its version."""
    pins = kept.context.conditions.complete_set.pins
    return [
        f"{folder_of(pin.table)} (version {pin.version})" for pin in pins if not holds(store, pin)
    ]


def _as_it_was(kept: KeptAnswer, config: Config, ask: Ask, access: Access) -> Answer:
    conditions = kept.context.conditions
    store, complete_set = Store.of(config), conditions.complete_set
    if gone := tables_gone(kept, store):
        raise _gone(kept, gone)
    then, variant = conditions.within(config), kept.answer.scope.variant
    writer = _writer_then(kept, config)
    try:
        with open_assistant(then, variant, writer=writer, complete_set=complete_set) as assistant:
            return ask(assistant.seen_by(access), kept)
    except OutdatedIndexError as error:
        raise _gone(kept, tables_gone(kept, store) or [complete_set.joint.table]) from error
    except UnanswerableError as error:
        raise ReplayError(
            f"answer {kept.answer_id} cannot be run again with what it used: {error}"
        ) from error


def _writer_then(kept: KeptAnswer, config: Config) -> str:
    """The entry of `language_models` that wrote it, or `NOBODY`."""
    made = kept.answer.generation
    name = made.model if made else NOBODY
    if name not in (NOBODY, *config.language_models):
        raise ReplayError(
            f"answer {kept.answer_id} was written by the language model {name}, which the config "
            "does not have any more: name it under language_models, or ask what writes now by "
            "`--index current`"
        )
    return name


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
