"""Erasing kept calls of language models for good: those with traces of a document or of a user.

A call holds what was asked and answered word by word, so that it is found by its texts.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from rag_assets.config import Config
from rag_assets.config.running import MOST_DAYS
from rag_assets.models.language import kept_calls
from rag_assets.models.language.kept_calls import CallsFile, CallsFileError, calls_file
from rag_assets.operations.erasure.traces import Traces
from rag_assets.process import clock
from rag_assets.store import Store
from rag_assets.store.records_file import is_damage

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class AffectedCalls:
    """Kept calls that a purge erases."""

    call_ids: Sequence[str]
    damaged: Sequence[Path]
    """Files that were set aside as damaged: what is in them cannot be told, so they go as a
    whole."""


def affected_calls(store: Store, traces: Traces) -> AffectedCalls:
    """The kept calls that quote or name a document.

    Raises:
        CallsFileError: The file is of another release, or others keep it busy.
    """
    file = _file(store)
    found: list[str] = []
    try:
        found = [call for call, texts in kept_calls.texts(file) if traces.are_in(*texts)]
    except CallsFileError as error:
        if not is_damage(error):
            raise
        file.set_aside_if_damaged()
    return AffectedCalls(sorted(found), file.damaged_files())


def erase_affected(store: Store, found: AffectedCalls) -> None:
    """Erase what `affected_calls` found."""
    for damaged in found.damaged:
        damaged.unlink(missing_ok=True)
    kept_calls.erase(_file(store), found.call_ids)


def erase_asking(store: Store, questions: Collection[str]) -> int:
    """Erase the calls in which one of `questions` stands; returns how many.

    Raises:
        CallsFileError: The file cannot be used.
    """
    file = _file(store)
    asked = [question for question in questions if question.strip()]
    found = [
        call
        for call, texts in kept_calls.texts(file)
        if any(question in text for question in asked for text in texts)
    ]
    kept_calls.erase(file, found)
    return len(found)


def remove_old(store: Store, config: Config, *, log: Log) -> int:
    """Erase calls older than `clean_up.keep_records_days`; returns how many.

    Where `answering.keep_days` is shorter, that counts: a call tells what an answer tells. A file
    that cannot be used is told, and stops nothing.
    """
    days = min(config.clean_up.keep_records_days, config.answering.keep_days or MOST_DAYS)
    file = _file(store)
    try:
        found = kept_calls.older_than(file, clock.now() - timedelta(days=days))
        kept_calls.erase(file, found)
    except CallsFileError as error:
        log(f"kept calls of language models are left as they are: {error}")
        return 0
    return len(found)


def _file(store: Store) -> CallsFile:
    return calls_file(store.root.absolute())
