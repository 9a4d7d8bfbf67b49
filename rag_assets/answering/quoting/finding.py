"""What fits a question best, where nothing was computed or written; or that nothing is there.

Names decide (see `names`): where what is shown does not hold a name of the question, that is said;
where no unit of the whole index holds the codes that a question names, there is nothing to show. A
name of letters alone may be there in other words.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_assets.answering.answer import Outcome
from rag_assets.answering.quoting.highlighting import passages_of
from rag_assets.answering.quoting.names import Name, missing_of, names_of, nearest_names
from rag_assets.citations.kinds import Absence
from rag_assets.citations.sentences import Sentence
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.hits import Hit, Results
from rag_assets.retrieval.lexical import MissingTextIndexError
from rag_assets.retrieval.row_cells import rows_among
from rag_assets.store import Store
from rag_assets.terms.formulas import formula

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex
    from rag_assets.table_lookup.looking_up import LookedUp
    from rag_assets.table_lookup.tables.catalogue import Catalogue

NOTHING = "the search found nothing"
NO_TABLE = "no table answers this: "
UNITS = 3
"""Units that are shown of what was found."""
LOOKED_THROUGH = 20
"""Units with a word of a name that are looked through for all of it."""
MOST_UNITS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Told:
    """What there is to say to a question."""

    outcome: Outcome
    sentences: tuple[Sentence, ...] = ()
    reason: str = ""
    """Why there is no answer: see `Answer.reason`."""
    missing: tuple[str, ...] = ()
    """The names that are not shown: see `Answer.missing`."""
    readings: tuple[str, ...] = ()
    planned_as: str = ""


def find(
    question: str,
    results: Results,
    looked: "LookedUp | None",
    *,
    index: "VariantIndex",
    store: Store,
    catalogue: "Catalogue",
    filters: Filters | None,
) -> Told:
    """The best of `results`, or that nothing is there.

    Args:
        question: As it was asked, with what it takes from a conversation.
        results: What was found for it.
        looked: What a lookup gave that is no sure answer; None where none was made.
        index: What was searched.
        store: Holds its tables.
        catalogue: Its tables that lookups are made in.
        filters: What may be cited.

    Raises:
        MissingTableError, DamagedTablesError: The rows among the hits cannot be read.
    """
    if not results:
        return Told("nothing", reason=NOTHING)
    best = results[:UNITS]
    rows = rows_among(best, store=store, complete_set=index.complete_set)
    names = names_of(question)
    missing = missing_of(names, best, rows)
    is_to_table = best[0].domain == "table"
    is_of_rows = all(hit.domain == "table" for hit in best)
    if (
        looked is not None
        and looked.outcome == "closest"
        and (is_of_rows or missing)
        and is_to_table
    ):
        absent = tuple(name.text for name in missing)
        return Told("nothing", looked.sentences, looked.reason, absent, looked.readings)
    nowhere = _nowhere(missing, index, filters) if missing else ()
    if nowhere and len(nowhere) == len(names) and all(name.is_code for name in names):
        return _nothing(nowhere, results, index, filters)
    passages = passages_of(question, best, rows=rows, encoder=index.encoder)
    refused = _refused(question, looked, catalogue, best)
    reasons = [refused.reason if is_to_table else f"{NO_TABLE}{refused.reason}"] if refused else []
    reasons += [_said(missing, nowhere, filters)] if missing else []
    return Told(
        "found",
        passages,
        "; ".join(reasons),
        tuple(name.text for name in missing),
        refused.readings if refused else (),
    )


def asks_operation(question: str, catalogue: "Catalogue") -> bool:
    """Whether a question asks for more than a cell: a count, an extreme, a limit, a comparison."""
    from rag_assets.table_lookup.question.linking import links_of
    from rag_assets.table_lookup.words.vocabulary import NOT_IN_A_PLAN

    links = links_of(catalogue)
    asked = links.parsed(question)
    return (
        bool(asked.marks)
        or any(each.op != "=" for each in asked.quantities)
        or any(word.folded in NOT_IN_A_PLAN for word in asked.words)
    )


def _refused(
    question: str, looked: "LookedUp | None", catalogue: "Catalogue", shown: Sequence[Hit]
) -> "LookedUp | None":
    """The lookup whose reason is told: of a question to a table, or one for an operation."""
    if looked is None or looked.outcome == "answered":
        return None
    is_question, is_to_table = looked.outcome != "none", shown[0].domain == "table"
    if looked.suggestion or (is_question and is_to_table):
        return looked
    has_row = any(hit.domain == "table" for hit in shown)
    is_near = has_row if is_question else is_to_table
    return looked if is_near and asks_operation(question, catalogue) else None


def _nowhere(
    names: Sequence[Name], index: "VariantIndex", filters: Filters | None
) -> tuple[Name, ...]:
    """The names that no unit of the index holds."""
    return tuple(name for name in names if is_nowhere(name, index, filters))


def is_nowhere(name: Name, index: "VariantIndex", filters: Filters | None) -> bool:
    """Whether no unit with a word of `name` holds all of it; False where words are not indexed.

    A chemical formula may be there in another way of writing.
    """
    if formula(name.text) is not None:
        return False
    try:
        found = index.search(name.text, retriever="bm25", top_k=LOOKED_THROUGH, filters=filters)
    except (MissingTextIndexError, ValueError):
        return False
    return bool(missing_of([name], found))


def _nothing(
    names: Sequence[Name], results: Results, index: "VariantIndex", filters: Filters | None
) -> Told:
    """An outcome that says that `names` are nowhere, what was searched, and what is near."""
    searched = index.select(filters or Filters(), ["unit_id"], most=MOST_UNITS).num_rows
    sentences = tuple(
        Sentence(
            f"None of the {searched:,} passages and rows that were searched holds '{name.text}'.",
            (Absence(f"variant {index.variant}", name.text, searched),),
            "computed again",
        )
        for name in names
    )
    near = dict.fromkeys(each for name in names for each in nearest_names(name, results))
    absent = tuple(name.text for name in names)
    reason = f"{_listed(names)} is nowhere in {_searched(filters)}"
    return Told("nothing", sentences, reason, absent, tuple(near))


def _said(missing: Sequence[Name], nowhere: Sequence[Name], filters: Filters | None) -> str:
    """A clause that says which names are not shown, and which are nowhere."""
    elsewhere = [name for name in missing if name not in nowhere]
    said = [f"nothing in {_searched(filters)} holds {_listed(nowhere)}"] if nowhere else []
    said += [f"nothing that is shown holds {_listed(elsewhere)}"] if elsewhere else []
    return "; ".join(said)


def _searched(filters: Filters | None) -> str:
    return "the index" if filters in (None, Filters()) else "what was searched"


def _listed(names: Iterable[Name]) -> str:
    return " or ".join(f"'{name.text}'" for name in names)
