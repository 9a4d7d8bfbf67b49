"""The serving pointer: which tables, with which recipe and query side, answer queries.

It is one record, `serving/current.json` in the state folder, replaced in one act. Every record
that it ever had is kept beside it under its number (`serving/000007.json`), for `history` and
`rollback`. A move writes the numbered record first and `current.json` last: a process that is
killed between the two has not moved the pointer, and the next move takes the number again. Of two
moves at once one wins, since each says which record it means to follow.

Readers open exactly what the pointer pins, with the model settings and the retriever that it
records, so that no edit of the config is an outage. A state without a pointer (no refresh of this
release has completed yet) is answered by the last complete set of `serving.variant`.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal, Self, TypeAlias

from pydantic import TypeAdapter, ValidationError

from rag_assets.config import AnnSearch, Config, ConfigError, Retrieval, Retriever
from rag_assets.config.rerankers import RerankerSettings
from rag_assets.identity import fingerprint
from rag_assets.process.errors import ExplainedError
from rag_assets.store.atomic import write_atomically
from rag_assets.store.catalog import name_of
from rag_assets.store.complete_sets import CompleteSet, with_moved
from rag_assets.store.locks import locked
from rag_assets.store.pins import Pin, is_whole
from rag_assets.store.store import LOCKS, Store

FOLDER = "serving"
CURRENT = "current.json"
LOCK = "serving_pointer"
ERASED = "(erased)"

MovedBy: TypeAlias = Literal["first build", "refresh", "promote", "override", "rollback"]


class ServingPointerError(ExplainedError, LookupError):
    """What serves cannot be told, opened or moved; the message says what to do."""


class DamagedPointerError(ServingPointerError):
    """A record of the serving pointer cannot be read."""

    def __init__(self, file: Path, *, why: str) -> None:
        super().__init__(
            f"{file} says what serves and cannot be read ({why}): run `rag-assets variants "
            "rollback` to serve what served last, or `rag-assets variants promote VARIANT`; "
            "`--variant NAME` searches a variant meanwhile"
        )


class PointerMovedError(ServingPointerError):
    """Another process moved the pointer first."""

    def __init__(self, *, expected: int, found: int) -> None:
        super().__init__(
            f"the pointer moved while this was decided (from {expected} to {found}): run it again"
        )


class GonePinsError(ServingPointerError):
    """The tables that a pointer pins are no longer there."""

    def __init__(self, number: int, *, variant: str, is_serving: bool = True) -> None:
        again = "`rag-assets refresh`, which builds them again and serves them, or "
        super().__init__(
            f"the tables that serving pointer {number} (variant {variant}) pins are gone: run "
            f"{again if is_serving else ''}`rag-assets variants rollback --to N` to one of "
            "`rag-assets variants history` whose tables are there"
        )


@dataclass(frozen=True, slots=True)
class QuerySide:
    """What is done with a query; prefix and normalisation stand in the settings of the model."""

    retriever: str
    """The name of the retriever when the pointer moved."""
    settings: Mapping[str, object]
    """The settings of the retriever."""
    rerankers: Mapping[str, Mapping[str, object]]
    """Settings of each reranker that it uses, by name."""
    depth: int
    """Units that each arm of a fusion contributes."""
    rrf_k: int
    ann: Mapping[str, object] = field(default_factory=dict)
    """How an ANN index is searched, where it is other than by default."""

    @classmethod
    def of(cls, retrieval: Retrieval) -> Self:
        """The query side of the retriever that answers unless another one is named."""
        retriever = retrieval.retrievers[retrieval.retriever]
        rerankers = {name: retrieval.rerankers[name] for name in retriever.rerankers}
        return cls(
            retriever=retrieval.retriever,
            settings=retriever.model_dump(mode="json"),
            rerankers={name: each.model_dump(mode="json") for name, each in rerankers.items()},
            depth=retrieval.depth,
            rrf_k=retrieval.rrf_k,
            ann=retrieval.ann.model_dump(mode="json", exclude_defaults=True),
        )

    def within(self, retrieval: Retrieval) -> Retrieval:
        """`retrieval` with this one as what answers; its other retrievers stay to be named.

        Raises:
            ServingPointerError: Its retriever uses settings that this release has no more.
        """
        try:
            chosen = Retriever.from_record(self.settings)
        except ConfigError as error:
            why = f"what serves cannot search ({error})"
            raise ServingPointerError(f"{why}: run `rag-assets refresh`, to serve anew") from error
        rerankers = {key: RerankerSettings.from_record(one) for key, one in self.rerankers.items()}
        return retrieval.model_copy(
            update={
                "retriever": self.retriever,
                "retrievers": {**retrieval.retrievers, self.retriever: chosen},
                "rerankers": {**retrieval.rerankers, **rerankers},
                "depth": self.depth,
                "rrf_k": self.rrf_k,
                "ann": AnnSearch.model_validate(self.ann),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingPointer:
    """What answers queries, from when on, and why."""

    number: int
    """The number of the move: they are counted from 1."""
    moved_at: str
    """The time of the move: ISO 8601, UTC."""
    by: MovedBy
    reason: str | None = None
    """Why the gate was overridden, in the words of who asked for it."""
    restores: int | None = None
    """The record that a rollback went back to."""
    complete_set: CompleteSet
    """The tables that are searched, and the settings of the models that embed queries for them."""
    elements: Pin | None
    """What the chunks were cut from; None where only the newest version is left."""
    chunks: Pin | None
    """The chunks that the units were made of; None where only the newest version is left."""
    recipe: Mapping[str, object]
    """The variant's choice, and the settings of each step that made the tables, by its asset."""
    encoder_ids: Sequence[str]
    """What computed the vectors."""
    query_side: QuerySide
    verdict: Mapping[str, object] | None
    """What allowed it, or was overridden, as `operations.verdicts` writes it; a rollback has that
    of the record that it restored. None once a document was erased."""

    @property
    def variant(self) -> str:
        """The name that its variant had."""
        return self.complete_set.variant

    @property
    def pins(self) -> tuple[Pin, ...]:
        """All that it pins, the joint table first."""
        others = (pin for pin in (self.elements, self.chunks) if pin is not None)
        return (*self.complete_set.pins, *others)

    @property
    def content(self) -> str:
        """What is searched and how, whatever the files and the variant are called.

        Equal for two pointers that answer every query alike.
        """
        return content_of(self.complete_set, self.query_side)

    def variant_in(self, store: Store, config: Config) -> str | None:
        """The variant of `config` that has its recipe, else its name; None if there is none."""
        same = [
            name
            for name in config.variants
            if self.complete_set.is_of(store, config.tables_of(name))
        ]
        if self.variant in same or not same:
            return self.variant if self.variant in config.variants else None
        return same[0]

    def as_json(self) -> str:
        """The pointer as its file records it."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)


def content_of(complete_set: CompleteSet, query_side: QuerySide) -> str:
    """A hash of what the tables of a set hold: see `ServingPointer.content`."""
    tables = [[name_of(pin.table), pin.data_version] for pin in complete_set.pins]
    indexes = [*complete_set.indexes] if complete_set.indexes else []
    searched = json.dumps(asdict(query_side), sort_keys=True)
    return fingerprint(tables, searched, *([indexes] if indexes else []))


def current(store: Store) -> ServingPointer | None:
    """What serves; None in a state where nothing was promoted yet.

    Raises:
        DamagedPointerError: Its record is damaged, or was lost.
    """
    file = store.root / FOLDER / CURRENT
    try:
        return _read(file)
    except FileNotFoundError:
        if len(_numbers(store)) < 2:  # one alone may be of a first move that was killed
            return None
    try:  # it may have been written for the first time since
        return _read(file)
    except FileNotFoundError:
        raise DamagedPointerError(file, why="it is gone") from None


def serving_variant(store: Store, config: Config) -> str:
    """The variant that a refresh brings up to date for those who search.

    It is that of the pointer, under the name that its recipe has now. Without a pointer, and where
    the config has neither, it is `serving.variant`, else the first one. Where the pointer is
    damaged, which readers say, it is that of what served last.
    """
    try:
        pointer = current(store)
    except DamagedPointerError:
        pointer = previous(store)
    found = pointer.variant_in(store, config) if pointer else None
    return found or config.serving_variant


def recorded(store: Store, number: int) -> ServingPointer:
    """The pointer as it was under a number.

    Raises:
        ServingPointerError: It never had that number, or the record is damaged.
    """
    try:
        if number > number_now(store):
            raise FileNotFoundError
        return _read(_file(store, number))
    except FileNotFoundError:
        raise ServingPointerError(
            f"the serving pointer has no record {number}: see `rag-assets variants history`"
        ) from None


def history(store: Store) -> list[ServingPointer]:
    """All records that can be read, the newest first."""
    return [*_newest_first(store)]


def number_of(store: Store, complete_set: CompleteSet) -> int | None:
    """The last number under which a complete set served; None if it never did."""
    records = _newest_first(store)
    return next((each.number for each in records if each.complete_set == complete_set), None)


def _newest_first(store: Store) -> Iterator[ServingPointer]:
    last = number_now(store)
    for number in reversed(_numbers(store)):
        with suppress(DamagedPointerError):
            if number <= last:
                yield _read(_file(store, number))


def previous(store: Store) -> ServingPointer | None:
    """What a rollback would go back to, if its tables are there: the first of `earlier`."""
    return next(earlier(store), None)


def earlier(store: Store) -> Iterator[ServingPointer]:
    """The earlier records that answer otherwise, the newest first.

    After a rollback, earlier is what stood before the record that it restored. Where the pointer
    itself is damaged, it is all records.
    """
    records = history(store)
    try:
        pointer = current(store)
    except DamagedPointerError:
        yield from records
        return
    if pointer is None:
        return
    before = pointer.restores or pointer.number
    for each in records:
        if each.number < before and each.content != pointer.content:
            yield each


def left_behind(store: Store, pointer: ServingPointer) -> list[ServingPointer]:
    """What a standing rollback went back from, the newest first; nothing for another pointer."""
    if pointer.restores is None:
        return []
    return [each for each in history(store) if pointer.restores < each.number < pointer.number]


def kept(
    store: Store, *, can_serve: Callable[[ServingPointer], bool] = lambda _: True
) -> list[ServingPointer]:
    """The pointers whose tables a clean-up spares: this one, and those next to it in rollbacks.

    A rollback passes over those of which `can_serve` is false; where it is of all, the nearest one
    is spared, whose model may come back.
    """
    try:
        pointer = current(store)
    except DamagedPointerError:
        return history(store)  # any of them may be restored
    if pointer is None:
        return []
    beside = next(filter(can_serve, earlier(store)), None) or previous(store)
    return [pointer, *([beside] if beside else []), *left_behind(store, pointer)[:1]]


def number_now(store: Store) -> int:
    """The number of what serves, 0 if nothing does; of a damaged pointer, the highest recorded."""
    try:
        pointer = current(store)
    except DamagedPointerError:
        return max(_numbers(store), default=0)
    return pointer.number if pointer else 0


def move(store: Store, pointer: ServingPointer, *, after: int) -> ServingPointer:
    """Let `pointer` be what serves, in one act, if `after` is what serves now.

    Returns:
        The pointer with its number.

    Raises:
        PointerMovedError: Another process was faster: nothing was done.
    """
    return _written(store, replace(pointer, number=after + 1), after=after)


def renew(store: Store, pointer: ServingPointer) -> None:
    """Record `pointer` anew under its number: the same content lies in other files by now.

    Raises:
        PointerMovedError: Another record serves meanwhile: nothing was done.
    """
    _written(store, pointer, after=pointer.number)


def forget_purged(store: Store, moved: Mapping[Pin, Pin | None]) -> None:
    """Let what serves name what took the place of its pins when rows were erased.

    Elements and chunks are erased in all versions: the newest is what is left of them. What the
    records say in words may name what was erased, so that goes.
    """
    for pointer in history(store):
        purged = replace(
            pointer,
            complete_set=with_moved(pointer.complete_set, moved),
            elements=None,
            chunks=None,
            reason=pointer.reason and ERASED,
            verdict=None,
        )
        if pointer.number == number_now(store):
            renew(store, purged)
        else:
            write_atomically(_file(store, pointer.number), purged.as_json())


def is_held(store: Store, pointer: ServingPointer) -> bool:
    """Whether all tables that it searches can still be read as they were, by their indexes.

    This release also has to have all settings that its retriever uses.
    """
    try:
        Retriever.from_record(pointer.query_side.settings)
    except ConfigError:
        return False
    return all(is_whole(store, pin) for pin in pointer.complete_set.pins)


def _written(store: Store, pointer: ServingPointer, *, after: int) -> ServingPointer:
    with locked(store.root / LOCKS / f"{LOCK}.lock", log=lambda _: None):
        found = number_now(store)
        if found != after:
            raise PointerMovedError(expected=after, found=found)
        text = pointer.as_json()
        write_atomically(_file(store, pointer.number), text)
        # After its record: a run that is killed between the two leaves a number that never served.
        write_atomically(store.root / FOLDER / CURRENT, text)
    return pointer


def _read(file: Path) -> ServingPointer:
    try:
        return _adapter().validate_json(file.read_bytes())
    except FileNotFoundError:
        raise
    except ValidationError as error:
        raise DamagedPointerError(file, why=error.errors()[0]["msg"]) from error
    except OSError as error:
        raise DamagedPointerError(file, why=str(error.strerror)) from error


@cache
def _adapter() -> TypeAdapter[ServingPointer]:
    return TypeAdapter(ServingPointer)


def _file(store: Store, number: int) -> Path:
    return store.root / FOLDER / f"{number:06}.json"


def _numbers(store: Store) -> list[int]:
    """The numbers of all records that were written, in order; the last may not have served."""
    files = (store.root / FOLDER).glob("*.json")
    return sorted(int(file.stem) for file in files if file.stem.isdecimal())
