"""Links between rows and documents: what they find, where they help, and where they must not harm.

usage: links.py [--corpora ottqa dairy demo materials_demo ...] [--state FOLDER]
                [--only cases linked others]

`cases`: the spellings of `links_cases.yaml` are linked with the documents that they name: 0.98 of
them right, and none linked to another thing. `linked`: on two corpora whose rows name documents
(ottqa, and `links_dairy.yaml`, which was written for this), `best` that follows links has to be
shown better than `best` on the test questions, in mrr@10 and in the share of questions of two hops
with both ends in the first ten: paired 95 % intervals (cluster bootstrap) above 0. `others`: on the
other corpora a loss of more than 0.02 has to be ruled out, by the lower end; the share of changed
rankings is printed. How many links each corpus has is printed first.

Whether another weight is better is asked of dev questions: one corpus after the other is held out,
that one of `SETTINGS` is chosen which gains most on the others in the mean, and loses more than
0.02 on none of them, and what it does on the test questions of the corpus that was held out is
shown. The dairy has no dev questions.

The index of each corpus is built without an evaluation. All retrievers are asked in one process, so
that the lookup, which takes a second on ottqa, reads each question once. With --state indexes, and
what the lookup found in them, are kept and found again.
"""

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import yaml
from best_configuration import value
from bounds import Bound, at_least, equal, finish, not_worse
from dataset_layout import Question, Table, read_questions, write
from measured_corpora import (
    CORPORA,
    DEPTH,
    SAMPLES,
    TOP_K,
    Corpus,
    mean,
    measured,
    of_split,
)
from retrieval import write_config

from rag_assets import schemas
from rag_assets.config import GlossaryEntry, LinkStage, Retrieval, Retriever
from rag_assets.evaluation.scores import units_of
from rag_assets.evaluation.summary import summarize
from rag_assets.knowledge.mentions import (
    RowCell,
    UnitName,
    mentions_of_chunk,
    mentions_of_row,
)
from rag_assets.reports.text_tables import signed, with_interval
from rag_assets.retrieval.glossary import Glossary, glossary_of
from rag_assets.retrieval.links import synonyms_of
from rag_assets.store.unit_links import NAMED, links_of, read_links

DAIRY = "dairy"
LINKED = ("ottqa", DAIRY)
PARTS = ("cases", "linked", "others")
PLAIN = ("best", "fast", "bm25")
FOLLOWING = tuple(f"{name}_links" for name in PLAIN)
SETTINGS = {f"weight {weight}": LinkStage(weight=weight) for weight in (0.2, 0.5, 1.0)}
"""Rivals of what ships, for `best`: it follows links, and is measured without them too."""
MOST_LOST = 0.02
LEAST_RIGHT = 0.98
LEAST_GAIN = 0.0001
METRICS = {"mrr": "mrr@10", "hit_rate": "hit_rate@10"}
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Measured:
    """The rankings of all questions of a corpus, and what they are worth."""

    scores: pa.Table
    """One row for each question and retriever, at the gold's own level."""
    first: Mapping[str, Mapping[str, Sequence[str]]]
    """For each retriever the first ten of each question: `doc:URI` or `row:TABLE:KEY`."""
    links: str
    """How many of each kind there are."""


class LinkedCorpus(Corpus):
    """A corpus that is searched with and without following links."""

    def files(self) -> tuple[Path, Path]:
        return dairy(self.folder) if self.name == DAIRY else super().files()

    def measured(self, retrievers: Mapping[str, Retriever]) -> Measured:
        """Build the index where that is not done yet, and ask it all questions."""
        opened = self.opened()
        links = opened.index.complete_set.unit_links
        assert links, "a refresh looks for links"
        parts: list[pa.Table] = []
        first: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for name, table in measured(opened, retrievers, needed="best").items():
            parts.append(opened.scores(name, table))
            ranked = units_of(table, count=len(opened.questions))
            for question, units in zip(opened.questions, ranked, strict=True):
                first[name][question.question_id.partition("/")[2]] = [
                    f"doc:{unit.uri}"
                    if unit.row_key is None
                    else f"row:{unit.table}:{unit.row_key}"
                    for unit in units[:TOP_K]
                ]
        synonyms = synonyms_of(glossary_of(opened.config))
        kinds = read_links(opened.store, links, synonyms=synonyms)["kind"].to_pylist()
        counted = ", ".join(f"{kind} {count:,}" for kind, count in Counter(kinds).most_common())
        return Measured(pa.concat_tables(parts), first, counted or "no links")

    def paths(self) -> Mapping[str, str]:
        """The path below the source root of each document of the gold."""
        file = self.questions.with_name("documents.jsonl")
        if not file.is_file():
            return {}
        lines = map(json.loads, file.read_text("utf-8").splitlines())
        return {line["doc_id"]: line["path"].removeprefix("docs/") for line in lines}


def dairy(folder: Path) -> tuple[Path, Path]:
    """The config and the questions of the corpus that was made for this."""
    made = yaml.safe_load((HERE / "links_dairy.yaml").read_text("utf-8"))
    tables = [
        Table(
            name,
            title=each["title"],
            headings={column.replace(" ", "_"): column for column in each["columns"]},
            rows=[[str(cell) for cell in row] for row in each["rows"]],
        )
        for name, each in made["tables"].items()
    ]
    keys = {
        f"row:{table.name}:{row[0]}": f"row:{table.name}:{place}"
        for table in tables
        for place, row in enumerate(table.rows, start=1)
    }

    def named(unit: str) -> str:
        return keys.get(unit, f"{unit}.md")

    questions = [
        Question(
            id=f"dairy-{place:02}",
            question=question,
            domain="table" if gold.startswith("row:") else "doc",
            gold=[named(gold)],
            support=[named(support)],
            split="test",
        )
        for place, (question, gold, support) in enumerate(made["questions"], start=1)
    ]
    data = folder / "data"
    documents = {f"{name}.md": text for name, text in made["documents"].items()}
    write(data, documents=documents, tables=tables, questions=questions)
    return write_config(data, state=folder), data / "questions.jsonl"


def with_both_ends(measured: Measured, corpus: LinkedCorpus) -> pa.Table:
    """The scores of questions with two ends; their hit rate is that of both in the first ten."""
    paths, scores = corpus.paths(), measured.scores

    def units(ids: Sequence[str]) -> set[str]:
        whole = [one.partition("#")[0] for one in ids]
        return {
            f"doc:{paths.get(one[4:], one[4:])}" if one.startswith("doc:") else one for one in whole
        }

    ends = {
        question["id"]: (units(question["gold"]), units(question["support"]))
        for question in read_questions(corpus.questions)
        if question.get("support")
    }
    names = [name.partition("/")[2] for name in scores["question_id"].to_pylist()]
    has_two = pa.array([name in ends for name in names])
    both = [
        float(all(end & set(measured.first[retriever][name]) for end in ends[name]))
        for name, retriever in zip(names, scores["retriever"].to_pylist(), strict=True)
        if name in ends
    ]
    kept = scores.filter(has_two)
    place = kept.schema.get_field_index("hit_rate@10")
    return kept.set_column(place, "hit_rate@10", pa.array(both, pa.float64()))


def compared(scores: pa.Table, plain: str, following: str) -> tuple[Mapping, Mapping]:
    """Means of both retrievers on test by metric, and the paired differences."""
    ordered = pa.concat_tables(
        scores.filter(pc.equal(scores["retriever"], name)) for name in (plain, following)
    )
    means, differences = summarize(
        ordered, cutoffs=[TOP_K], depth=DEPTH, samples=SAMPLES, levels=["gold"], splits=["test"]
    )
    shown = {
        metric: [value(means, name, metric, "combined") for name in (plain, following)]
        for metric in METRICS
    }
    return shown, {metric: value(differences, following, metric, "combined") for metric in METRICS}


def report(corpus: LinkedCorpus, measured: Measured, *, is_linked: bool) -> Iterator[Bound]:
    """What links do to each retriever."""
    print(f"\n{corpus.name}: {measured.links}")
    both = with_both_ends(measured, corpus) if is_linked else None
    for plain, following in zip(PLAIN, FOLLOWING, strict=True):
        pairs = zip(measured.first[plain].values(), measured.first[following].values(), strict=True)
        share = sum(before != after for before, after in pairs) / len(measured.first[plain])
        means, differences = compared(measured.scores, plain, following)
        print(f"  {following}: {share:.0%} of the rankings change in the first ten")
        rows = [(f"{metric}@10", means[metric], differences[metric]) for metric in METRICS]
        if both is not None:
            means, differences = compared(both, plain, following)
            rows.append(("both ends in 10", means["hit_rate"], differences["hit_rate"]))
        for metric, (before, after), row in rows:
            shown = f"{with_interval(before)} -> {with_interval(after)}"
            print(f"    {metric:16} {shown}: {signed(row)}")
            label = f"{corpus.name}, {following} - {plain}, {metric}"
            if is_linked and metric != "hit_rate@10" and plain == "best":
                yield at_least(f"{label}: lower end", row["low"], LEAST_GAIN)
            elif not is_linked and plain != "bm25":
                yield not_worse(label, row["low"], row["high"], margin=MOST_LOST)


def choose(scores: Mapping[str, pa.Table]) -> None:
    """What other settings of `best` would do: chosen on dev of the others, shown on test of one."""
    gains = {
        name: {
            corpus: mean(of_split(each, "dev"), name) - mean(of_split(each, "dev"), "best")
            for corpus, each in scores.items()
            if of_split(each, "dev").num_rows
        }
        for name in SETTINGS
    }
    print("\nmrr@10 of best with links - best, dev questions\n")
    for name, found in gains.items():
        shown = ", ".join(f"{corpus} {gain:+.3f}" for corpus, gain in found.items())
        print(f"  {name:32} {shown}")
    print("\nchosen on dev questions of the other corpora, shown on test questions\n")
    for held_out, each in scores.items():
        others = {
            name: [gain for corpus, gain in found.items() if corpus != held_out]
            for name, found in gains.items()
        }
        harmless = [name for name, found in others.items() if min(found, default=0.0) >= -MOST_LOST]
        if not harmless:
            print(f"  {held_out}: without links, for each setting loses too much somewhere")
            continue
        chosen = max(harmless, key=lambda name: sum(others[name]))
        _, differences = compared(each, "best", chosen)
        print(f"  {held_out}: {chosen}: {signed(differences['mrr'])}")


def cases() -> Iterator[Bound]:
    """Each spelling leads to the document of its group, or to none."""
    listed = yaml.safe_load((HERE / "links_cases.yaml").read_text("utf-8"))
    entries = [
        GlossaryEntry(term=term, synonyms=others) for term, *others in listed.pop("glossary")
    ]
    units: list[Mapping[str, object]] = []
    wanted: dict[str, tuple[str, str | None]] = {}
    for kind, groups in listed.items():
        for place, group in enumerate(groups):
            document = f"{kind}-{place}"
            title = str(group["is"])
            about = mentions_of_chunk("", title=title, uri=f"{document}.md", is_first=True)
            units.append(_unit(document, document, about))
            for text, expected in [
                *((str(text), document) for text in group["same"]),
                *((str(text), None) for text in group["not"]),
            ]:
                unit = f"row-{len(wanted)}"
                wanted[unit] = (text, expected)
                cell = RowCell("name", text, numeric=False, hidden=False)
                units.append(_unit(unit, None, mentions_of_row([cell], table="cases", key="1")))
    names = [schemas.UNIT_LINKS.field(name) for name in NAMED]
    synonyms = synonyms_of(Glossary(weight=1, entries=entries))
    links = links_of(pa.Table.from_pylist(units, schema=pa.schema(names)), synonyms=synonyms)
    found: dict[str, set[str]] = defaultdict(set)
    for link in links.filter(links["is_document"]).to_pylist():
        found[link["unit_id"]].add(link["thing"])
    right = merged = 0
    for unit, (text, expected) in wanted.items():
        is_right = found[unit] == ({expected} if expected else set())
        is_merged = bool(found[unit] - {expected})
        right, merged = right + is_right, merged + is_merged
        if not is_right:
            print(f"  {text!r} is {'merged' if is_merged else 'not linked'}: {sorted(found[unit])}")
    print(f"{right} of {len(wanted)} cases of linking are right, {merged} silently merged")
    yield at_least("cases of linking that are right", right / len(wanted), LEAST_RIGHT)
    yield equal("cases of linking that are silently merged", merged, 0)


def _unit(unit: str, document: str | None, names: Sequence[UnitName]) -> Mapping[str, object]:
    mentions = [one._asdict() for one in names]
    return {"unit_id": unit, "document_id": document, "uri": unit, "mentions": mentions}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = (*LINKED, *(name for name in CORPORA if name not in LINKED))
    parser.add_argument("--corpora", nargs="+", default=known, choices=known)
    parser.add_argument("--state", type=Path, help="folder to keep indexes in")
    parser.add_argument("--only", nargs="+", default=PARTS, choices=PARTS)
    arguments = parser.parse_args()
    shipped = Retrieval().retrievers
    retrievers = {name: shipped[name].model_copy(update={"links": None}) for name in PLAIN}
    following = [(name, "best", each) for name, each in SETTINGS.items()]
    following += [(name, plain, LinkStage()) for name, plain in zip(FOLLOWING, PLAIN, strict=True)]
    for name, plain, links in following:
        retrievers[name] = shipped[plain].model_copy(update={"links": links})
    scores: dict[str, pa.Table] = {}
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        bounds = [*cases()] if "cases" in arguments.only else []
        for name in arguments.corpora:
            is_linked = name in LINKED
            if ("linked" if is_linked else "others") in arguments.only:
                corpus = LinkedCorpus(name, folder=root / name)
                measured = corpus.measured(retrievers)
                bounds += report(corpus, measured, is_linked=is_linked)
                scores[name] = measured.scores
    if len(scores) > 1:
        choose(scores)
    finish("links", bounds)


if __name__ == "__main__":
    main()
