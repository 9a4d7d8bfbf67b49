"""A question answered by a language model: what was found is shown, what lacks is searched for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rag_assets.answering.answer import Generation
from rag_assets.answering.generation.further import further_queries
from rag_assets.answering.generation.writing import Writer, Written
from rag_assets.answering.row_cells import RowCells
from rag_assets.retrieval.hits import Hit

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
) -> Generated:
    """The answer of `writer` to `question` from `hits`, and from what else it needs.

    Where the first answer lacks something, further queries are made of that. If they find units
    that were not there, the model writes once more, and the answer is taken of which more is
    supported.
    """
    written = writer.write(question, hits, read_rows(hits))
    record = _record(writer, written)
    shown = tuple(hits)
    queries = further_queries(question, written, hits, most=writer.further_queries)
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
    second = writer.write(question, [*more, *hits], read_rows([*more, *hits]))
    record = _record(writer, written, second, queries=tuple(queries))
    chosen = second if _is_better(second, written) else written
    return Generated(chosen, (*shown, *more), record)


def _is_better(second: Written, first: Written) -> bool:
    """Whether more of it is supported; if equal, whether less of it is not, or less is lacking.

    A call that failed is no better than any answer.
    """

    def worth(written: Written) -> tuple[int, int, int]:
        supported = sum(each.compared != "nothing" for each in written.sentences)
        return supported, -len(written.unsupported), -len(written.absent)

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
