"""`rag-assets search`: search the index with one or more queries."""

import argparse
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING

from rag_assets.findings.telling import MOST_SHOWN, more
from rag_assets.identity import SHOWN_START
from rag_assets.reports.text_tables import table
from rag_assets.serving.language_model_costs import of_searches, say_expected
from rag_assets.serving.replies import CommandError, Json, Reply, positive, project_of
from rag_assets.serving.searching import (
    STDIN,
    add_search_options,
    check_names,
    filters_of,
    texts_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_assets.answering.assistant import Assistant
    from rag_assets.retrieval.filters import Filters
    from rag_assets.retrieval.hits import Hit, Results
    from rag_assets.retrieval.search import VariantIndex

SUMMARY = "find passages and rows"
EXAMPLES = """\
  rag-assets search "yield strength of hot rolled steel"
  rag-assets search "density of aluminium" --domain table --top-k 3
  rag-assets search "surface treatment" --retriever bm25 --source documents --json
  rag-assets search "specimen dimensions" --field "number: ISO 527-2:2012" --type table
  rag-assets search "creep from the scribe" --as-of 2020-01-01
  rag-assets search "yield strength" --retriever hybrid_late_fusion --explain
  rag-assets search "salt spray" --count   how many documents and rows mention it, exactly
  rag-assets search - < queries.txt        one query a line"""

SNIPPET_CHARACTERS = 320


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("query", help="the query; - reads queries from stdin, one a line")
    command.add_argument("--top-k", type=positive, help="how many hits (default: retrieval.top_k)")
    add_search_options(command)
    command.add_argument("--explain", action="store_true", help="show rank and score in each stage")
    command.add_argument(
        "--count", action="store_true", help="count the documents and rows that mention the query"
    )


def run(options: argparse.Namespace) -> Reply:
    """Search once, or once for each line of stdin."""
    from rag_assets.answering.assistant import Assistant

    if options.count and (options.explain or options.retriever or options.top_k):
        raise CommandError("--count ranks nothing: leave out --explain, --retriever and --top-k.")
    config, store = project_of(options)

    queries = texts_of(options.query, what="query")
    filters = filters_of(options)
    assistant = Assistant(store, config, options.variant)
    index = assistant.index
    check_names(assistant, filters)
    if options.count:
        return _counted(queries, assistant, filters)
    searched = options.retriever or config.retrieval.retriever
    say_expected(config, of_searches(config, [searched], len(queries)))
    found = [
        assistant.search(query, retriever=options.retriever, top_k=options.top_k, filters=filters)
        for query in queries
    ]
    origins = _origins(index, found) if options.json else {}
    if options.query == STDIN:
        return _several(found, variant=index.variant, explain=options.explain, origins=origins)
    return _one(found[0], variant=index.variant, explain=options.explain, origins=origins)


def _counted(queries: "Sequence[str]", assistant: "Assistant", filters: "Filters") -> Reply:
    """How many documents and rows mention each query, word for word: exact, with their list."""
    from rag_assets.retrieval.mentions import SoughtText

    counts, texts = [], []
    for query in queries:
        found = [*assistant.mentions(SoughtText(query, whole_words=True), filters=filters)]
        documents = sum(each.domain == "document" for each in found)
        rows = [
            {
                "times": len(each.places),
                "place": f"{each.source}/{each.uri}" if each.row_key is None else each.uri,
                "row": each.row_key,
                "unit_id": each.places[0].unit_id,
            }
            for each in found
        ]
        count = {"documents": documents, "rows": len(found) - documents}
        counts.append({"query": query, **count, "mentioning": rows})
        said = f"Mentions of {query}: documents {documents:,}, rows {count['rows']:,}."
        listed = table(rows[:MOST_SHOWN], columns=["times", "place", "row"])
        texts.append("\n".join([said, *([listed] if rows else []), *more(rows)]))
    return Reply({"counts": counts}, "\n\n".join(texts))


def _origins(index: "VariantIndex", found: "Sequence[Results]") -> "Mapping[str, Json]":
    """The origin of each hit, in short, by its id; `rag-assets show --lineage` says all of it."""
    from rag_assets.operations.explain.explaining import lineage_in_short

    units = sorted({hit.unit_id for results in found for hit in results})
    return lineage_in_short(index, units)


def _one(
    results: "Results", *, variant: str, explain: bool, origins: "Mapping[str, Json]"
) -> Reply:
    record = {
        "query": results.query,
        "variant": variant,
        "retriever": results.retriever,
        "versions": results.versions,
        "other_versions_left_out": results.left_out,
        "seconds": dict(results.seconds),
        **_rewrites(results),
        "hits": [_record(hit) | _lineage(hit, origins) for hit in results],
    }
    shown = [*map(_shown, results)] or ["Nothing was found."]
    text = "\n\n".join([*shown, *_versions(results), *_searched_too(results)])
    if not explain:
        return Reply(record, text)
    explanation = results.explain().to_pylist()
    return Reply(record | {"explanation": explanation}, f"{text}\n\n{_explained(results)}")


def _lineage(hit: "Hit", origins: "Mapping[str, Json]") -> dict[str, Json]:
    return {"lineage": origins[hit.unit_id]} if hit.unit_id in origins else {}


def _rewrites(results: "Results") -> dict[str, Json]:
    """What was searched besides the query, by a retriever that does so."""
    if results.rewritten is None:
        return {}
    why = {"not_rewritten": results.rewritten.failure} if results.rewritten.failure else {}
    return {"rewrites": [*results.rewritten.texts], **why}


def _searched_too(results: "Results") -> list[str]:
    """What was searched besides the query, in words."""
    if results.rewritten is None:
        return []
    if results.rewritten.failure:
        return [f"Only the query itself was searched: {results.rewritten.failure}."]
    texts = "; ".join(results.rewritten.texts)
    return [f"Searched too: {texts}"] if texts else []


def _versions(results: "Results") -> list[str]:
    """The versions of documents that were searched, if that made a difference."""
    if not results.left_out:
        return []
    count = f"{results.left_out:,} documents are" if results.left_out > 1 else "1 document is"
    return [f"Versions: {results.versions}; {count} another version (see --versions all)."]


def _record(hit: "Hit") -> dict:
    """The hit as JSON; without its context if that equals its text."""
    record = asdict(hit)
    return {name: value for name, value in record.items() if (name, value) != ("context", hit.text)}


def _several(
    found: "Sequence[Results]", *, variant: str, explain: bool, origins: "Mapping[str, Json]"
) -> Reply:
    replies = [
        _one(results, variant=variant, explain=explain, origins=origins) for results in found
    ]
    sections = (
        f"> {results.query}\n\n{reply.text}" for results, reply in zip(found, replies, strict=True)
    )
    return Reply({"searches": [reply.record for reply in replies]}, "\n\n\n".join(sections))


def _explained(results: "Results") -> str:
    """Rank and score of the best units in each stage, the result first, and the times."""
    places: dict[str, dict[str, str]] = {}
    lines = results.explain().to_pylist()
    wanted = {line["unit_id"] for line in lines if line["rank"] <= len(results)}
    for line in lines:
        if line["unit_id"] in wanted:
            stages = places.setdefault(line["unit_id"], {})
            stages[line["stage"]] = f"{line['rank']} ({line['score']:.4g})"
    rows = [{"unit": unit[:SHOWN_START], **stages} for unit, stages in places.items()]
    stages = dict.fromkeys(line["stage"] for line in lines)
    times = ", ".join(
        f"{stage} {1_000 * seconds:.1f}" for stage, seconds in results.seconds.items()
    )
    return f"{table(rows, columns=['unit', *stages])}\nMilliseconds: {times}"


def _shown(hit: "Hit") -> str:
    snippet = textwrap.shorten(hit.text, SNIPPET_CHARACTERS, placeholder=" …")
    body = textwrap.fill(snippet, 96, initial_indent="   ", subsequent_indent="   ")
    way = f"\n   linked: {hit.linked.words}" if hit.linked else ""
    return f"{hit.rank}. {_place(hit)}  [{hit.unit_id[:SHOWN_START]}]{way}\n{body}"


def _place(hit: "Hit") -> str:
    """The place that the hit comes from, in the form of a citation."""
    if hit.domain == "table":
        return f"{hit.uri}, row {hit.row_key}: {hit.title}"
    pages = ", ".join(map(str, hit.pages))
    shown = hit.type if hit.type not in (None, "text") else ""
    replaced = "superseded" if hit.is_superseded else ""
    stale = f"stale since {hit.stale_since[:10]}" if hit.stale_since else ""
    parts = [hit.uri, f"page {pages}" if pages else "", hit.section, shown, replaced, stale]
    return ", ".join(part for part in parts if part)
