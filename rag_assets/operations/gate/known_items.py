"""Known-item queries: what to ask of two indexes where nobody has written questions.

A query is cut from a unit that both indexes hold: a sentence of a document, or some values of a
row. What such queries can show, and how a sentence is chosen, stands in `questions.known_items`.

The sample is the same for the same index: unit ids are hashes, and the smallest come first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.evaluation.gold import DocumentGold, Gold, RowGold
from rag_assets.evaluation.non_inferiority import LARGEST_MARGIN, questions_needed
from rag_assets.evaluation.projection import IndexedGold
from rag_assets.operations.gate.compared_rankings import Side
from rag_assets.operations.gate.verdicts import KnownItems
from rag_assets.questions.known_items import Rarity, sentences_to_ask
from rag_assets.store import Store
from rag_assets.store.pins import Pin

SEEN = 10
"""Units of a ranking among which the known item must be."""
ONE_IN = 5
"""One unit in so many is asked for. Where one side alone is asked by vectors, no more than one in
so many counts: among the first ten of a dozen, a model that was spoiled finds nearly all."""
FEW = questions_needed(LARGEST_MARGIN)
"""With fewer questions known items are asked as well, and at least so many of them: fewer show
little."""
DRAWN_FOR_ONE = 3
"""Units that are drawn for each query: some have no sentence, some only one index holds."""
VALUES = 3
"""Values of a row that its query names."""


@dataclass(frozen=True, slots=True)
class _Query:
    """A query, and the unit that it was cut from."""

    text: str
    gold: Gold
    document: tuple[str, str] | None
    """Source and URI; None for a row."""
    text_hash: str
    """The hash of the unit's text."""

    def items(self, indexed: IndexedGold) -> frozenset[str]:
        """Ids of the units of an index that hold what it was cut from."""
        if isinstance(self.gold, RowGold):
            return frozenset(indexed.rows.get((self.gold.table, self.gold.row_key), {}))
        assert self.document is not None, "a sentence is of a document"
        return frozenset(indexed.quotes.get((self.document, self.gold.quote or ""), ()))


@dataclass(frozen=True, slots=True)
class _SharedItem:
    """A query, with the units that hold its item on either side."""

    query: _Query
    serving: frozenset[str]
    candidate: frozenset[str]


def asked_of(units: int, *, most: int) -> int:
    """How many queries are asked of an index of so many units: one in five, at least `FEW`.

    A small index is built in the time that a few hundred searches take, and `FEW` are enough to
    show a loss of the largest margin.
    """
    return min(most, max(FEW, units // ONE_IN))


def ask_known_items(
    sides: Sequence[tuple[Side, Side]],
    *,
    queries: int,
    by_words: bool = False,
    log: Callable[[str], None],
) -> list[KnownItems]:
    """Ask both sides for at most so many units that both hold; none if they share none.

    Args:
        sides: What serves and the candidate, once for each way of searching the two.
        queries: See `asked_of`.
        by_words: What serves is asked by words alone, and the candidate by vectors.
        log: Told about progress.
    """
    serving, candidate = sides[0]
    joint, seen = candidate.complete_set.joint, SEEN
    units = candidate.store.open(joint.table, version=joint.version).count_rows()
    known = _shared(serving, candidate, queries=asked_of(units, most=queries))
    if not known:
        return []
    log(f"{candidate.complete_set.variant}: asking both for {len(known):,} units that both hold")
    if by_words:
        seen = max(1, min(SEEN, units // ONE_IN))
    hashes = _text_hashes(candidate, {unit for each in known for unit in each.candidate})
    unchanged = [
        place
        for place, each in enumerate(known)
        if each.query.text_hash in {hashes[unit] for unit in each.candidate}
    ]
    return [
        _compared(known, pair, unchanged=unchanged, seen=seen, by_words=by_words, log=log)
        for pair in sides
    ]


def _compared(
    known: Sequence[_SharedItem],
    pair: tuple[Side, Side],
    *,
    unchanged: Sequence[int],
    seen: int,
    by_words: bool,
    log: Callable[[str], None],
) -> KnownItems:
    texts = [each.query.text for each in known]
    before, now = (
        _tops(side.rankings(texts, log=log), count=len(known), seen=seen) for side in pair
    )
    return KnownItems(
        queries=len(known),
        serving=_share(each.serving & {*ids} for each, (ids, _) in zip(known, before, strict=True)),
        candidate=_share(
            each.candidate & {*ids} for each, (ids, _) in zip(known, now, strict=True)
        ),
        unchanged=len(unchanged),
        moved=sum(before[place][1] != now[place][1] for place in unchanged),
        by_words=by_words,
        seen=seen,
    )


def _share(found: Iterable[object]) -> float:
    is_found = [bool(each) for each in found]
    return sum(is_found) / len(is_found)


def _tops(rankings: pa.Table, *, count: int, seen: int) -> list[tuple[list[str], str | None]]:
    """For each query the ids of its first units, and the hash of the text of the very first."""
    tops: list[tuple[list[str], str | None]] = [([], None) for _ in range(count)]
    first_ones = rankings.filter(pc.less_equal(rankings["rank"], seen)).sort_by(
        [("query_index", "ascending"), ("rank", "ascending")]
    )
    columns = (first_ones[name].to_pylist() for name in ("query_index", "unit_id", "text_hash"))
    for query, unit, text_hash in zip(*columns, strict=True):
        ids, first = tops[query]
        tops[query] = ([*ids, unit], first or text_hash)
    return tops


def _shared(serving: Side, candidate: Side, *, queries: int) -> list[_SharedItem]:
    """Queries for units of both, documents and rows in turn."""
    replaced = serving.index.families.superseded | candidate.index.families.superseded
    cut = [
        query
        for query in _cut(serving.store, serving.complete_set.joint, queries=queries)
        if query.document not in replaced
    ]
    gold = [query.gold for query in cut]
    before, now = serving.gold(gold), candidate.gold(gold)
    known = [
        _SharedItem(query, first, second)
        for query in cut
        if (first := query.items(before)) and (second := query.items(now))
    ]
    by_domain = [
        [each for each in known if (each.query.document is None) == is_row]
        for is_row in (False, True)
    ]
    # Half for each domain, and what one has too few of the other fills up.
    half = max(queries // 2, queries - min(map(len, by_domain)))
    return [each for part in by_domain for each in part[:half]][:queries]


def _cut(store: Store, joint: Pin, *, queries: int) -> Iterator[_Query]:
    """Queries for units of the table, each text once."""
    units = store.read(joint.table, columns=["unit_id", "domain"], version=joint.version)
    seen: set[str] = set()
    for domain, cut in (("document", _of_documents), ("table", _of_rows)):
        ids = units.filter(pc.equal(units["domain"], domain))["unit_id"].to_pylist()
        # By their ids, which are hashes: a fair draw, and the same one whoever asks again.
        for query in cut(store, joint, sorted(ids)[: DRAWN_FOR_ONE * queries]):
            if query.text not in seen:
                seen.add(query.text)
                yield query


def _of_documents(store: Store, joint: Pin, unit_ids: Sequence[str]) -> Iterator[_Query]:
    """For each unit that has a sentence: its most distinctive one."""
    columns = ["unit_id", "source", "uri", "char_start", "char_end", "text", "text_hash"]
    units = _named(store, joint.table, unit_ids, key="unit_id", columns=columns, pin=joint)
    texts = [schemas.slice_of(one["text"], one["char_start"], one["char_end"]) for one in units]
    rarity = Rarity(texts)
    for unit, text in zip(units, texts, strict=True):
        # The rarest: a common sentence would be found in many units, and prove little of this one.
        if sentence := max(sentences_to_ask(text), key=rarity.of, default=None):
            document = (unit["source"], unit["uri"])
            gold = DocumentGold("/".join(document), quote=sentence)
            yield _Query(sentence, gold, document, unit["text_hash"])


def _of_rows(store: Store, joint: Pin, unit_ids: Sequence[str]) -> Iterator[_Query]:
    """For each row that its table still has: its most distinctive values, with their headings."""
    columns = ["unit_id", "text_hash"]
    units = _named(store, joint.table, unit_ids, key="unit_id", columns=columns, pin=joint)
    hashes = {unit["unit_id"]: unit["text_hash"] for unit in units}
    columns = ["row_id", "source", "table", "title", "row_key", "pairs"]
    rows = _named(store, schemas.TABLE_ROWS_TABLE, unit_ids, key="row_id", columns=columns)
    pairs = [
        [pair for pair in row["pairs"] if pair["value"] and not pair["hidden"]] for row in rows
    ]
    rarity = Rarity(pair["value"] for of_row in pairs for pair in of_row)
    for row, of_row in zip(rows, pairs, strict=True):
        rarest = sorted(of_row, key=lambda pair: -rarity.of(pair["value"]))[:VALUES]
        if rarest:
            said = [f"{pair['heading']} {pair['value']}" for pair in rarest]
            gold = RowGold(f"{row['source']}/{row['table']}", row["row_key"])
            yield _Query(" ".join([row["title"], *said]), gold, None, hashes[row["row_id"]])


def _text_hashes(side: Side, unit_ids: Iterable[str]) -> Mapping[str, str]:
    joint = side.complete_set.joint
    columns = ["unit_id", "text_hash"]
    units = _named(
        side.store, joint.table, sorted(unit_ids), key="unit_id", columns=columns, pin=joint
    )
    return {unit["unit_id"]: unit["text_hash"] for unit in units}


def _named(
    store: Store,
    table: str,
    keys: Sequence[str],
    *,
    key: str,
    columns: Sequence[str],
    pin: Pin | None = None,
) -> list[dict]:
    """The rows with these `keys`, in the order of their keys; at the version of `pin`."""
    if pin is None and not store.exists(table):
        return []
    version = pin.version if pin else None
    found = [
        row
        for part in parts_of(keys)
        for row in store.read(
            table, columns=list(columns), where=is_one_of(key, part), version=version
        ).to_pylist()
    ]
    return sorted(found, key=lambda row: row[key])
