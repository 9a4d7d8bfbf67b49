"""A trial of other search indexes: the rows that serve, indexed otherwise, under the gate.

The indexes are built on a branch of each table that is searched (see `store.branches`): no row is
copied, nothing is embedded, and the tables that serve stay as they are. The gate judges the two
sides as it judges any candidate, by the retriever that answers queries.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from rag_assets.config import Config
from rag_assets.evaluation.latency import QUESTIONS, Latency, latencies_of
from rag_assets.evaluation.questions import read_questions
from rag_assets.identity import fingerprint
from rag_assets.index.building import build_text_index, build_vector_index
from rag_assets.operations.gate.judging import judge_sides
from rag_assets.operations.gate.known_items import known_item_texts
from rag_assets.operations.gate.sides import Side, serving_side
from rag_assets.operations.gate.verdicts import Verdict
from rag_assets.operations.index_trial.settings import (
    TrialSettings,
    UnfitSettingsError,
    fitted,
    searched_pins,
)
from rag_assets.store import MissingIndexError, Store
from rag_assets.store.ann import is_searched_exactly
from rag_assets.store.branches import PREFIX, drop_branch, open_branch, trial_lock
from rag_assets.store.catalog import folder_of
from rag_assets.store.complete_sets import is_kept
from rag_assets.store.pins import Pin, opened
from rag_assets.store.search_indexes import (
    VECTOR,
    index_names,
    text_index_name,
    uncommon,
    vector_index_name,
)
from rag_assets.store.text_parts import TEXT

if TYPE_CHECKING:
    from lance import LanceDataset
    from lancedb.table import Table as LanceTable

Log = Callable[[str], None]
SERVING, TRIED = "serving", "tried"
DIGITS = 12
SECONDS_TIMED = 15.0
"""So long is each side timed: a ratio needs more questions than a single number."""


@dataclass(frozen=True, slots=True)
class TriedIndex:
    """One search index that was built for a trial."""

    table: str
    """Its folder."""
    column: str
    name: str
    seconds: float
    """0 where an earlier trial had left it."""
    bytes: int
    bytes_serving: int
    """Of the index in whose place it would come; 0 if there is none."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came out."""

    verdict: Verdict
    built: Sequence[TriedIndex]
    latency: Mapping[str, Latency]
    """Of a question asked alone, by side: `SERVING` and `TRIED`; empty if there was none to ask."""
    settings: TrialSettings
    is_kept: bool

    @property
    def latency_ratio(self) -> float | None:
        """The median time of a question, divided by that of what serves."""
        if not self.latency:
            return None
        return self.latency[TRIED].p50 / self.latency[SERVING].p50


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The indexes that a table lacks."""

    pin: Pin
    columns: Sequence[str]
    names: Mapping[str, str]
    """By column."""

    @property
    def branch(self) -> str:
        wanted = {column: self.names[column] for column in self.columns}
        return f"{PREFIX}{fingerprint(self.pin.version, self.pin.files, wanted)[:DIGITS]}"


def try_index(
    store: Store, config: Config, settings: TrialSettings, *, keep: bool, log: Log
) -> Trial:
    """Build the indexes of `settings` beside those that serve, and let the gate compare.

    Args:
        store: Holds what serves.
        config: As it is now.
        settings: What to try.
        keep: Leave the branches until the next clean-up, so that another trial of the same indexes
            need not build them.
        log: Told about progress.

    Raises:
        UnfitSettingsError: The settings make no sense, or change nothing.
        ServingPointerError, MissingIndexError: Nothing serves, or its tables are gone.
        DamagedTablesError: Files of a table cannot be read.
    """
    serving = serving_side(store, config)
    if not is_kept(store, serving.complete_set):
        raise MissingIndexError(serving.complete_set.variant)
    settings = fitted(config, settings, serving)
    wanted = [_wanted(serving, pin, settings) for pin in searched_pins(serving)]
    _require_change(serving, settings, wanted)
    with ExitStack() as stack:
        stack.enter_context(trial_lock(store, log=log))
        built: list[TriedIndex] = []
        branches: dict[Pin, str] = {}
        for one in wanted:
            if one.columns:
                branches[one.pin] = one.branch
                if not keep:
                    stack.callback(drop_branch, store, one.pin.table, one.branch)
                built += _built(store, one, settings, log=log)
        tried = _tried_side(serving, settings, branches)
        verdict = judge_sides(serving, tried, log=log)
        latency = _latency(serving, tried, log=log)
    return Trial(
        verdict=_worded(verdict, settings),
        built=built,
        latency=latency,
        settings=settings,
        is_kept=keep and bool(branches),
    )


def _wanted(serving: Side, pin: Pin, settings: TrialSettings) -> _Wanted:
    """What has to be built for a table to be searched as `settings` say."""
    signals = serving.config.retrieval.retrievers[serving.retriever].signals
    there = index_names(serving.store, pin)
    names = {
        TEXT: text_index_name(settings.index.text),
        VECTOR: vector_index_name(settings.index.vectors),
    }
    is_needed = {
        TEXT: "bm25" in signals,
        VECTOR: "dense" in signals and not _is_exact(serving, pin, settings.index.ann_from_rows),
    }
    lacking = [column for column in names if is_needed[column] and names[column] not in there]
    return _Wanted(pin, lacking, names)


def _is_exact(serving: Side, pin: Pin, ann_from_rows: int | None) -> bool:
    return is_searched_exactly(opened(serving.store, pin), ann_from_rows=ann_from_rows)


def _require_change(serving: Side, settings: TrialSettings, wanted: Sequence[_Wanted]) -> None:
    """Refuse to compare what serves with itself."""
    from_rows = serving.config.index.ann_from_rows, settings.index.ann_from_rows
    exact = [[_is_exact(serving, one.pin, rows) for one in wanted] for rows in from_rows]
    is_searched_alike = exact[0] == exact[1] and (
        all(exact[1]) or settings.ann == serving.config.retrieval.ann
    )
    if is_searched_alike and not any(one.columns for one in wanted):
        keys = ", ".join(settings.given)
        raise UnfitSettingsError(f"{keys}: what serves is indexed and searched like that already")


def _built(store: Store, wanted: _Wanted, settings: TrialSettings, *, log: Log) -> list[TriedIndex]:
    """Build what a table lacks on its branch, unless an earlier trial left it there."""
    table = open_branch(store, wanted.pin, wanted.branch)
    before = store.dataset(wanted.pin.table, version=wanted.pin.version)
    folder = folder_of(wanted.pin.table)
    builders: Mapping[str, Callable[[LanceTable], None]] = {
        TEXT: partial(build_text_index, settings=settings.index.text),
        VECTOR: partial(build_vector_index, settings=settings.index.vectors),
    }
    done = []
    for column in wanted.columns:
        name, started = wanted.names[column], time.monotonic()
        indexes = [each for each in table.list_indices() if [*each.columns] == [column]]
        is_there = any(each.name == name for each in indexes)
        if not is_there:
            log(f"{folder}: building the index {name} on a branch")
            for other in indexes:
                table.drop_index(other.name)
            builders[column](table)
            table.checkout_latest()
        done.append(
            TriedIndex(
                table=folder,
                column=column,
                name=name,
                seconds=0.0 if is_there else time.monotonic() - started,
                bytes=_bytes_of(table.to_lance(), column),
                bytes_serving=_bytes_of(before, column),
            )
        )
    return done


def _bytes_of(dataset: "LanceDataset", column: str) -> int:
    """Size of the indexes of a column."""
    return sum(
        segment.size_bytes or 0
        for index in dataset.describe_indices()
        if index.field_names == [column]
        for segment in index.segments
    )


def _tried_side(serving: Side, settings: TrialSettings, branches: Mapping[Pin, str]) -> Side:
    """What serves, with other indexes."""
    config = serving.config.model_copy(
        update={
            "index": settings.index,
            "retrieval": serving.config.retrieval.model_copy(update={"ann": settings.ann}),
        }
    )
    units = serving.complete_set.unit_pins
    has_ann = any(not _is_exact(serving, pin, settings.index.ann_from_rows) for pin in units)
    names = [
        text_index_name(settings.index.text),
        *([vector_index_name(settings.index.vectors)] if has_ann else []),
    ]

    def open_table(store: Store, pin: Pin) -> "LanceTable":
        if pin in branches:
            return open_branch(store, pin, branches[pin])
        return opened(store, pin)

    return Side.of(
        serving.store,
        config,
        replace(serving.complete_set, indexes=uncommon(names) or None),
        retriever=serving.retriever,
        open_table=open_table,
    )


def _latency(serving: Side, tried: Side, *, log: Log) -> Mapping[str, Latency]:
    """How long either side takes for a question, asked in shuffled turns."""
    asked = [question.text for question in read_questions(serving.store)]
    texts = asked or known_item_texts(serving, tried, queries=QUESTIONS)
    if not texts:
        return {}
    log("timing both sides")
    retriever = serving.config.retrieval.retrievers[serving.retriever]
    arms = {SERVING: (serving.index, retriever), TRIED: (tried.index, retriever)}
    top_k = serving.config.retrieval.top_k
    return latencies_of(arms, texts, top_k=top_k, seconds=SECONDS_TIMED)


def _worded(verdict: Verdict, settings: TrialSettings) -> Verdict:
    """The verdict, which is of settings and not of a variant."""
    steps = ["look at the questions that were lost"] if verdict.lost else []
    if verdict.more_questions:
        steps.append("add questions")
    remedy = "" if verdict.allows else "; ".join([*steps, "try other settings"])
    return replace(
        verdict, compared=replace(verdict.compared, candidate=settings.said), remedy=remedy
    )
