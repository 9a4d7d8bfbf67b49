"""A question answered by a language model: what was found is shown, what lacks is searched for.

What lacks are words of the question that nothing shown covers (P4, section 6). What the model wrote
without a source is never searched for: a search for its own invention finds a text that has the
words, and the invention then cites it. Where it says so again with a source of the second search,
it is not believed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag_assets.answering.answer import Generation
from rag_assets.answering.condensation.conversation import Turn
from rag_assets.answering.generation.from_tables import FromTables
from rag_assets.answering.generation.writing import Writer, Written
from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.row_cells import RowCells
from rag_assets.terms.coverage import HeldTerms, SoughtTerm, terms_of
from rag_assets.terms.words import folded

FURTHER_HITS = 5
"""Hits of each further query that are shown, at most."""

Search = Callable[[str], Sequence[Hit]]
"""The hits of a further query, best first."""
ReadRows = Callable[[Sequence[Hit]], Mapping[str, RowCells]]
"""The cells of those hits that are rows."""


@dataclass(frozen=True, slots=True)
class Generated:
    """What a model made of a question."""

    written: Written
    hits: tuple[Hit, ...]
    """All that it was shown or might have been, those of further queries last."""
    record: Generation


def generate(
    question: str,
    hits: Sequence[Hit],
    writer: Writer,
    *,
    search: Search,
    read_rows: ReadRows,
    tables: FromTables | None = None,
    said: Sequence[Turn] = (),
) -> Generated:
    """The answer of `writer` to `question` from `hits`, and from what else it needs.

    Where words of the question are covered by nothing, they are searched for. If that finds units
    that were not there, the model writes once more, and the answer is taken of which more holds.

    Args:
        question: As it was asked, with what it takes from a conversation.
        hits: What was found, best first.
        writer: Who writes.
        search: Finds more.
        read_rows: Reads the cells of rows among hits.
        tables: The tables behind the question; None where none may be asked.
        said: The conversation so far.
    """
    written = writer.write(question, hits, read_rows(hits), tables=tables, said=said)
    record = _record(writer, written)
    shown = tuple(hits)
    queries = _further_queries(question, written.absent, hits, most=writer.further_queries)
    if not queries or not written.is_written:
        return Generated(written, shown, record)
    known = {hit.unit_id for hit in hits}
    found: dict[str, Hit] = {}
    for query in queries:
        for hit in search(query)[:FURTHER_HITS]:
            if hit.unit_id not in known:
                found.setdefault(hit.unit_id, hit)
    if not found:
        return Generated(written, shown, record)
    more = [*found.values()]
    every = [*more, *hits]
    second = writer.write(
        question,
        every,
        read_rows(every),
        tables=tables,
        said=said,
        invented=written.invented,
    )
    record = _record(writer, written, second, queries=tuple(queries))
    chosen = second if _is_better(second, written) else written
    return Generated(chosen, (*shown, *more), record)


def _is_better(second: Written, first: Written) -> bool:
    """Whether more of it holds; if equal, whether less of it does not, or less is lacking.

    A call that failed is no better than any answer.
    """

    def worth(written: Written) -> tuple[int, int, int]:
        failing = [each for each in written.sentences if each.judged is False]
        holding = len(written.sentences) - len(failing)
        return holding, -len(failing) - len(written.left_out), -len(written.absent)

    return second.is_written and worth(second) > worth(first)


def _record(writer: Writer, *written: Written, queries: tuple[str, ...] = ()) -> Generation:
    calls = [completion for each in written for completion in each.completions]
    sent = [call for call in calls if not call.is_kept]
    costs = [call.cost for call in sent if call.cost is not None]
    return Generation(
        model=writer.model.name,
        identity=writer.model.identity if calls else "",
        prompts={name: prompt.hash for name, prompt in writer.prompts.items()},
        calls=len(calls),
        kept_calls=len(calls) - len(sent),
        prompt_tokens=sum(call.prompt_tokens for call in sent),
        completion_tokens=sum(call.completion_tokens for call in sent),
        cost=sum(costs) if costs else None,
        asked_again=any(each.is_second for each in written),
        further_queries=queries,
        is_written=any(each.is_written for each in written),
        may_pass=any(each.may_pass for each in written),
    )


def _further_queries(
    question: str, absent: Sequence[str], hits: Sequence[Hit], *, most: int
) -> list[str]:
    """At most `most` queries of words of `question`, all different from one another and from it.

    Args:
        question: As it was asked.
        absent: What the model says that its sources leave open.
        hits: What it was shown.
        most: Queries, at most.
    """
    terms = terms_of(question)
    found = dict[str, str]()
    for missing in _missing(terms, absent, hits):
        named = [term for term in terms if term.kind != "word" or term in missing]
        if missing and len(named) < len(terms):
            query = " ".join(term.text for term in named)
            found.setdefault(folded(query), query)
    return list(found.values())[:most]


def _missing(
    terms: Sequence[SoughtTerm], absent: Sequence[str], hits: Sequence[Hit]
) -> Iterator[list[SoughtTerm]]:
    """The terms that nothing shown has, and those that the model says are left open."""
    shown = [HeldTerms(f"{hit.title} {hit.section} {hit.context}") for hit in hits]
    yield [term for term in terms if not any(text.has(term) for text in shown)]
    for said in map(HeldTerms, absent):
        yield [term for term in terms if said.has(term)]
