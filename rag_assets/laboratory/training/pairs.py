"""Training pairs: questions of the split `train`, with units to find and units not to find.

Gold is projected on the units of one variant, as its retrievers see them: header, serialization and
all. Wrong units are those that the index itself takes for right (hard negatives): the best ones
below a margin (Moreira et al. 2024, NV-Retriever), without any unit of a gold document, of another
version of it or of bridging evidence, and without copies of what is right: right for any question
in the same words, as a line of a file may name one answer of several. They are of the domain of the
right unit: a model that sees rows as wrong ones of documents learns that rows are wrong.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import pyarrow as pa

from rag_assets import schemas
from rag_assets.change.data_versions import current_version
from rag_assets.change.sync import INPUTS, Batch, Report, Target, Work, refresh
from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.config import Config
from rag_assets.config.training import HARD_NEGATIVES
from rag_assets.evaluation.gold import DocumentGold, DocumentKey, Gold, from_json
from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.evaluation.questions import TRAIN, question_rows, read_questions
from rag_assets.evaluation.smoke_tests import smoke_tests
from rag_assets.identity import chance, fingerprint
from rag_assets.laboratory.training.leakage import (
    NEAR,
    Footing,
    counted,
    leaks_of,
    likeness,
    refuse,
    runs_of,
    words_of,
)
from rag_assets.process.errors import ExplainedError
from rag_assets.retrieval.encoders import TwoModelsError
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.opening import open_index
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet, set_of_recipe

REVISION = 3
"""Raise it when the same questions and units should give other pairs."""
DEPTH = 200
"""Units of each domain among which wrong ones are looked for."""
MARGIN = 0.05
"""A wrong unit scores lower than the right one by this share of what that one scores above the last
of the ranking. Closer ones may be right and unmarked."""
MOST_POSITIVES = 3
"""Units of one question that are trained on: one with many should not count for many."""
FEWEST_QUESTIONS = 20
VALIDATION_SHARE = 0.1
UNIT_COLUMNS = ("unit_id", "domain", "source", "uri", "text", "text_hash")


class PairsError(ExplainedError):
    """There is nothing to train on; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Mined:
    """The pairs of a project, and what was left out."""

    rows: pa.Table
    """Content columns of `schemas.TRAINING_PAIRS`, sorted by `pair_id`."""
    left_out: Mapping[str, int]
    """Questions by the reason."""


@dataclass(frozen=True, slots=True)
class _Learned:
    """A question with its evidence."""

    question_id: str
    text: str
    is_divided: bool
    """Whether a program gave it its split: it is left out where it gives away another one."""
    gold: tuple[Gold, ...]
    support: tuple[Gold, ...]


def refresh_pairs(
    store: Store, config: Config, *, log: Callable[[str], None]
) -> tuple[Report, Mapping[str, int]]:
    """Bring the table of pairs up to the questions and the index; also what was left out, if new.

    Raises:
        PairsError: There are no questions to train on, or too few.
        LeakageError: Some give away questions that are tested.
        MissingIndexError: The variant was not built yet.
    """
    variant = config.training.variant or config.serving_variant
    complete_set = set_of_recipe(store, config, variant)
    fields = [field for field in schemas.TRAINING_PAIRS if field.name not in schemas.SYSTEM_COLUMNS]

    @cache
    def mined() -> Mined:
        return _Mining(store, config, variant, complete_set, log).mined(pa.schema(fields))

    def inputs() -> pa.Table:
        rows = mined().rows
        prints = [fingerprint(REVISION, row) for row in rows.to_pylist()]
        return pa.table({"key": rows["pair_id"], "fingerprint": prints}, schema=INPUTS)

    def transform(changed: pa.Table) -> Iterator[Batch]:
        rows, wanted = mined().rows, set(changed["key"].to_pylist())
        kept = rows.filter(pa.array([each in wanted for each in rows["pair_id"].to_pylist()]))
        yield Batch(kept, done=kept["pair_id"].to_pylist())

    work = Work(
        store=store,
        target=Target(schemas.TRAINING_PAIRS_TABLE, schemas.TRAINING_PAIRS, "pair_id", "pair_id"),
        made_from=lambda: {
            "questions": current_version(store, schemas.QUESTIONS_TABLE, key="question_id"),
            "index": complete_set.joint.data_version,
            "families": complete_set.families.data_version if complete_set.families else "none",
            "recipe": fingerprint(
                REVISION,
                config.training.questions,
                variant,
                sorted(config.generated_sets),
                smoke_tests(store, config, read_questions(store)),
            ),
        },
        inputs=inputs,
        transform=transform,
    )
    report = refresh(work, log=log)
    return report, mined().left_out if mined.cache_info().currsize else {}


class _Mining:
    """Questions, gold and rankings, while pairs are made of them."""

    def __init__(
        self,
        store: Store,
        config: Config,
        variant: str,
        complete_set: CompleteSet,
        log: Callable[[str], None],
    ) -> None:
        self._store, self._config, self._variant = store, config, variant
        self._set, self._log = complete_set, log
        self._train, self._tested = _questions(store, config)
        every = [*self._train, *self._tested]
        self._indexed = read_indexed_gold(
            store,
            config,
            variant=variant,
            joint=complete_set.joint,
            gold=[piece for each in every for piece in (*each.gold, *each.support)],
        )
        self._units: dict[str, dict] = {}

    def mined(self, schema: pa.Schema) -> Mined:
        """The pairs, with columns as in `schema`."""
        left_out: Counter[str] = Counter()
        self._read({unit for each in (*self._train, *self._tested) for unit in self._right(each)})
        self._log(f"looking for wrong units of {len(self._train):,} questions")
        found = [
            *zip(self._train, self._rankings([each.text for each in self._train]), strict=True)
        ]
        train = [self._footing(each, self._best(each, ranking)) for each, ranking in found]
        tested = [self._footing(each, sorted(self._right(each))) for each in self._tested]
        leaks = {leak.question_id: leak for leak in leaks_of(train, tested)}
        divided = {each.question_id for each in self._train if each.is_divided}
        refuse(leak for leak in leaks.values() if leak.question_id not in divided)
        left_out.update(counted(leaks.values()))
        asked = [(each, ranking) for each, ranking in found if each.question_id not in leaks]
        self._read({unit for _, ranking in asked for unit in ranking})
        rows: list[dict[str, object]] = []
        for each, ranking in asked:
            pairs = list(self._pairs(each, ranking))
            left_out["their gold is not in the index"] += not pairs
            rows += pairs
        questions = len({row["question_id"] for row in rows})
        if questions < FEWEST_QUESTIONS:
            raise PairsError(
                f"{questions} questions of the split {TRAIN} are left to train on, and "
                f"{FEWEST_QUESTIONS} are the least. {_told(+left_out)}Give questions to more "
                f"documents and tables the split {TRAIN}: in their files, or by `train: 0.3` at "
                "their entry of evaluation.questions, which is a share of these. Or set "
                "questions.train: 1 and run `rag-assets questions make`, which makes some where no "
                "measured question has its gold"
            )
        divide(rows)
        table = pa.Table.from_pylist(rows, schema=schema).sort_by("pair_id")
        return Mined(table, dict(+left_out))

    def _footing(self, asked: _Learned, units: Sequence[str]) -> Footing:
        """What a question rests on; of the texts of its gold those of `units` count."""
        right = [self._units[unit] for unit in self._right(asked)]
        found = self._documents(asked.gold)
        documents = {f"{source}/{uri}" for source, uri in found}
        versions = {name for each in found if (name := self._versions.get(each))}
        places = (documents | versions).union(map(_place, right))  # a quote may be in no unit
        texts = [self._units[unit]["text"] for unit in units]
        return Footing(asked.question_id, frozenset(places), asked.text, texts)

    def _right(self, asked: _Learned) -> set[str]:
        """The units that hold the gold of a question."""
        return {unit for piece in asked.gold for unit in self._indexed.units_with(piece)[0]}

    def _read(self, units: set[str]) -> None:
        """Hold the columns of these units."""
        joint = self._set.joint
        for part in parts_of(sorted(units - self._units.keys())):
            where = is_one_of("unit_id", part)
            found = self._store.read(
                joint.table, columns=UNIT_COLUMNS, where=where, version=joint.version
            )
            self._units |= {row["unit_id"]: row for row in found.to_pylist()}

    def _rankings(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """The units of each domain that are found for each text, best first, with their cosines."""
        index = open_index(self._store, self._config, self._variant, complete_set=self._set)
        rankings: list[dict[str, float]] = [{} for _ in texts]
        for domain in schemas.DOMAINS:
            within = Filters(domain=domain)
            try:
                found = index.search_many(texts, retriever="baseline", length=DEPTH, filters=within)
            except TwoModelsError as error:
                raise PairsError(
                    f"{error}. Or name a variant with one model in training.variant"
                ) from error
            columns = (found[name].to_pylist() for name in ("query_index", "unit_id", "score"))
            for query, unit, score in zip(*columns, strict=True):
                rankings[query][unit] = score
        return rankings

    def _best(self, asked: _Learned, ranking: Mapping[str, float]) -> list[str]:
        """What is learned from: of each piece of the gold the unit that is found best."""

        def order(unit: str) -> tuple[float, str]:
            return -ranking.get(unit, -1.0), unit

        pieces = [self._indexed.units_with(piece)[0] for piece in asked.gold]
        best = {min(units, key=order) for units in pieces if units}
        return sorted(best, key=order)[:MOST_POSITIVES]

    def _pairs(self, asked: _Learned, ranking: Mapping[str, float]) -> Iterator[dict[str, object]]:
        """The pairs of a question, with wrong units of the same domain below the margin."""
        best = self._best(asked, ranking)
        every = list(self._wrong(asked, ranking)) if best else []
        for unit in best:
            domain = self._units[unit]["domain"]
            own = [each for each in ranking if self._units[each]["domain"] == domain]
            last = min((ranking[each] for each in own), default=0.0)
            limit = last + (1 - MARGIN) * (ranking.get(unit, last) - last)
            wrong = [each for each in every if self._units[each]["domain"] == domain]
            below = [each for each in wrong if ranking[each] < limit]
            # where the right one ranks below all others, the last of them are the safest
            negatives = (below or wrong[::-1])[:HARD_NEGATIVES]
            yield {
                "pair_id": fingerprint(asked.question_id, unit)[:32],
                "question_id": asked.question_id,
                "question": asked.text,
                "domain": domain,
                "unit_id": unit,
                "text": self._units[unit]["text"],
                "negative_ids": negatives,
                "negatives": [self._units[each]["text"] for each in negatives],
                "part": _place(self._units[unit]),
            }

    def _wrong(self, asked: _Learned, ranking: Mapping[str, float]) -> Iterator[str]:
        """The units of a ranking that nothing speaks for, best first; each text once."""
        alike = self._asking[words_of(asked.text)]
        right = {unit for each in alike for unit in self._right(each)}
        evidence = [piece for each in alike for piece in (*each.gold, *each.support)]
        known = {unit for piece in evidence for unit in self._indexed.units_with(piece)[0]}
        documents = self._documents(evidence)
        families = {family for each in documents if (family := self._families.get(each))}
        hashes = {self._units[unit]["text_hash"] for unit in right}
        runs = [runs_of(self._units[unit]["text"]) for unit in right]
        for unit in ranking:
            row = self._units[unit]
            place = row["source"], row["uri"]
            if unit in known or place in documents or row["text_hash"] in hashes:
                continue
            if self._families.get(place) in families:
                continue
            own = runs_of(row["text"])
            if any(likeness(own, each) >= NEAR for each in runs):
                continue
            hashes.add(row["text_hash"])
            yield unit

    def _documents(self, evidence: Sequence[Gold]) -> set[DocumentKey]:
        found = self._indexed.documents
        named = [piece for piece in evidence if isinstance(piece, DocumentGold)]
        return {document for piece in named for document in found.get(piece.uri, ())}

    @cached_property
    def _asking(self) -> Mapping[tuple[str, ...], Sequence[_Learned]]:
        """The questions to train on by their words."""
        found: defaultdict[tuple[str, ...], list[_Learned]] = defaultdict(list)
        for each in self._train:
            found[words_of(each.text)].append(each)
        return found

    @cached_property
    def _versions(self) -> Mapping[DocumentKey, str]:
        """What the family of each document is called: all of its versions are one place."""
        names: dict[str, str] = {}
        for (source, uri), family in sorted(self._families.items()):
            names.setdefault(family, f"a version of {source}/{uri}")
        return {each: names[family] for each, family in self._families.items()}

    @cached_property
    def _families(self) -> Mapping[DocumentKey, str]:
        """The family of each document that has other versions."""
        pin = self._set.families
        if pin is None:
            return {}
        rows = self._store.read(
            pin.table,
            columns=["source", "uri", "family"],
            where="family IS NOT NULL",
            version=pin.version,
        ).to_pylist()
        return {(row["source"], row["uri"]): row["family"] for row in rows}


def _questions(store: Store, config: Config) -> tuple[list[_Learned], list[_Learned]]:
    """The questions to train on, and those that decide something."""
    made, wanted = config.generated_sets, config.training.questions
    divided = {each.name for each in config.question_files if each.train} | made
    decide_nothing = smoke_tests(store, config, read_questions(store))
    train, tested = [], []
    for row in question_rows(store).sort_by("question_id").to_pylist():
        is_made, is_divided = (row["question_set"] in each for each in (made, divided))
        gold, support = from_json(row["gold"]), from_json(row["support"])
        asked = _Learned(row["question_id"], row["question"], is_divided, gold, support)
        if row["split"] != TRAIN:
            tested += [asked] * (row["question_set"] not in decide_nothing)
        elif wanted in ("both", "made" if is_made else "people"):
            train.append(asked)
    return train, tested


def _told(left_out: Mapping[str, int]) -> str:
    """A sentence on the questions that were left out; empty if none was."""
    counted = "; ".join(f"{count:,} ({why})" for why, count in sorted(left_out.items()))
    return f"Left out: {counted}. " if counted else ""


def _place(unit: Mapping[str, str]) -> str:
    """The document or table of a unit: the URI of a row begins with its source already."""
    is_row = unit["domain"] == "table"
    return unit["uri"] if is_row else f"{unit['source']}/{unit['uri']}"


def divide(rows: Sequence[dict[str, object]]) -> None:
    """Replace the document or table in `part` of each row by the part that it belongs to.

    The pairs of one document or table stay together, and where they belong follows from a hash; one
    with twice as many pairs as are held out is learned from.

    Raises:
        PairsError: All pairs are of one document or table.
    """
    sizes = Counter(str(row["part"]) for row in rows)
    if len(sizes) == 1:
        raise PairsError(
            f"all questions of the split {TRAIN} are to {next(iter(sizes))}: ask about another "
            "document or table as well, to validate with"
        )
    at = {place: chance("validation", place) for place in sizes}
    most = 2 * VALIDATION_SHARE * len(rows)
    held = {place for place in at if at[place] < VALIDATION_SHARE and sizes[place] <= most}
    held = held or {min(at, key=lambda place: (sizes[place] > most, at[place]))}
    for row in rows:
        row["part"] = "validation" if row["part"] in held else "train"
