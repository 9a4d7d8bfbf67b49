"""Known-item queries: what to ask of two indexes where nobody has written questions.

A query is cut from a unit that both indexes hold: a sentence of a document, or some values of a
row. Whoever asks it knows what must be found, so that a ranking can be scored without a judgement.
It is an easy test, which only shows that something is badly wrong. Azzopardi, de Rijke and Balog
2007, Building Simulated Queries for Known-Item Topics.

The sample is the same for the same index: unit ids are hashes, and the smallest come first.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.evaluation.gold import DocumentGold, Gold, RowGold
from rag_assets.evaluation.gold_changes import WORDS
from rag_assets.evaluation.non_inferiority import LARGEST_MARGIN, questions_needed
from rag_assets.evaluation.projection import IndexedGold
from rag_assets.operations.gate.sides import Side
from rag_assets.operations.gate.verdicts import KnownItems
from rag_assets.store import Store
from rag_assets.store.pins import Pin

SEEN = 10
"""Units of a ranking among which the known item must be."""
ONE_IN = 5
"""Where one side alone is asked by vectors, no more than one unit in so many counts: among the
first ten of a dozen, a model that was spoiled finds nearly all."""
FEW = questions_needed(LARGEST_MARGIN)
"""With fewer questions known items are asked as well: so few show little."""
ASKED_ONE_IN, FEWEST = 20, 50
"""One query for so many units, and at least so many."""
DRAWN_FOR_ONE = 3
"""Units that are drawn for each query: some have no sentence, some only one index holds."""
FEWEST_WORDS, MOST_WORDS = 5, 40
VALUES = 3
"""Values of a row that its query names."""
SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True)
class _Query:
    """A query, and the unit that it was cut from."""

    text: str
    gold: Gold
    document: tuple[str, str] | None
    """Source and URI; None for a row."""
    text_hash: str
    """Of the unit."""

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
    """How many queries an index of so many units is asked with everything that answers.

    A reranker reads some twenty texts for each query, which soon are all that a small index has:
    500 queries cost an index of 832 units 2.5 times its build.
    """
    return min(most, max(FEWEST, units // ASKED_ONE_IN))


def ask_known_items(
    sides: Sequence[tuple[Side, Side]],
    *,
    queries: int,
    by_words: bool = False,
    log: Callable[[str], None],
) -> list[KnownItems]:
    """Ask both sides for units that both hold; none if they share none.

    Args:
        sides: What serves and the candidate, and, where their models differ, both by their vectors
            alone: these are asked more, as that costs little.
        queries: The most that are asked; see `asked_of`.
        by_words: What serves is asked by words alone, and the candidate by vectors.
        log: Told about progress.
    """
    serving, candidate = sides[0]
    joint, seen = candidate.complete_set.joint, SEEN
    units = candidate.store.open(joint.table, version=joint.version).count_rows()
    fewer = asked_of(units, most=queries)
    known = _shared(serving, candidate, queries=queries if len(sides) > 1 else fewer)
    if not known:
        return []
    some = known[:: math.ceil(len(known) / fewer)]
    log(f"{candidate.complete_set.variant}: asking both for {len(some):,} units that both hold")
    if by_words:
        seen = max(1, min(SEEN, units // ONE_IN))
    asked = (some, *([known] * (len(sides) - 1)))
    return [
        _compared(of_pair, pair, seen=seen, by_words=by_words, log=log)
        for of_pair, pair in zip(asked, sides, strict=True)
    ]


def _compared(
    known: Sequence[_SharedItem],
    pair: tuple[Side, Side],
    *,
    seen: int,
    by_words: bool,
    log: Callable[[str], None],
) -> KnownItems:
    hashes = _text_hashes(pair[1], {unit for each in known for unit in each.candidate})
    unchanged = [
        place
        for place, each in enumerate(known)
        if each.query.text_hash in {hashes[unit] for unit in each.candidate}
    ]
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


def known_item_texts(serving: Side, candidate: Side, *, queries: int) -> list[str]:
    """The texts of at most so many of those queries."""
    return [each.query.text for each in _shared(serving, candidate, queries=queries)]


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
    half = max(queries // 2, queries - min(map(len, by_domain)))
    return [each for part in by_domain for each in part[:half]][:queries]


def _cut(store: Store, joint: Pin, *, queries: int) -> Iterator[_Query]:
    """Queries for units of the table, each text once."""
    units = store.read(joint.table, columns=["unit_id", "domain"], version=joint.version)
    seen: set[str] = set()
    for domain, cut in (("document", _of_documents), ("table", _of_rows)):
        ids = units.filter(pc.equal(units["domain"], domain))["unit_id"].to_pylist()
        for query in cut(store, joint, sorted(ids)[: DRAWN_FOR_ONE * queries]):
            if query.text not in seen:
                seen.add(query.text)
                yield query


def _of_documents(store: Store, joint: Pin, unit_ids: Sequence[str]) -> Iterator[_Query]:
    """For each unit that has a sentence: its most distinctive one."""
    columns = ["unit_id", "source", "uri", "char_start", "char_end", "text", "text_hash"]
    units = _named(store, joint.table, unit_ids, key="unit_id", columns=columns, pin=joint)
    texts = [schemas.slice_of(one["text"], one["char_start"], one["char_end"]) for one in units]
    rarity = _Rarity(texts)
    for unit, text in zip(units, texts, strict=True):
        if sentence := max(_sentences(text), key=rarity.of, default=None):
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
    rarity = _Rarity(pair["value"] for of_row in pairs for pair in of_row)
    for row, of_row in zip(rows, pairs, strict=True):
        rarest = sorted(of_row, key=lambda pair: -rarity.of(pair["value"]))[:VALUES]
        if rarest:
            said = [f"{pair['heading']} {pair['value']}" for pair in rarest]
            gold = RowGold(f"{row['source']}/{row['table']}", row["row_key"])
            yield _Query(" ".join([row["title"], *said]), gold, None, hashes[row["row_id"]])


def _sentences(text: str) -> list[str]:
    parts = [part.strip() for part in SENTENCE_ENDS.split(text)]
    return [part for part in parts if FEWEST_WORDS <= len(WORDS.findall(part)) <= MOST_WORDS]


class _Rarity:
    """How rare the words of a text are among the texts of a sample."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Count in how many of `texts` each word stands."""
        counted = [_words(text) for text in texts]
        self._texts = len(counted)
        self._with: Counter[str] = Counter(word for words in counted for word in words)

    def of(self, text: str) -> float:
        """Mean inverse document frequency of its distinct words."""
        words = _words(text)
        rare = sum(math.log((1 + self._texts) / (1 + self._with[word])) for word in words)
        return rare / max(len(words), 1)


def _words(text: str) -> set[str]:
    return {word.lower() for word in WORDS.findall(text)}


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
