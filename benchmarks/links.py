"""Links between rows and documents: what they find, where they help, and where they must not harm.

usage: links.py [--corpora ottqa dairy demo materials_demo ...] [--state FOLDER]
                [--only cases linked others] [--weight 0.5]

`cases`: the spellings of `links_cases.yaml` are linked with the documents that they name: 0.98 of
them right, and none linked to another thing. `linked`: on two corpora whose rows name documents
(ottqa, and `links_dairy.yaml`, which was written for this), `best` that follows links has to be
shown better than `best` on the test questions, in mrr@10 and in the share of questions of two hops
with both ends in the first ten: paired 95 % intervals (cluster bootstrap) above 0. `others`: on no
other corpus may it be shown worse, nor lose more than 0.02; the share of changed rankings is
printed. How many links each corpus has is printed first. The weights that ship were chosen on dev
questions: those of ottqa, and of the others so that none loses. With --state indexes are kept and
found again.
"""

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml
from best_configuration import value
from bounds import Bound, at_least, equal, finish
from dataset_layout import Question, Table, read_questions, write
from defaults import CORPORA, DEPTH, SAMPLES, TOP_K, Corpus, files_of, told_apart
from retrieval import write_config

from rag_assets import schemas
from rag_assets.config import GlossaryEntry, LinkStage, Retrieval
from rag_assets.evaluation.summary import summarize
from rag_assets.evaluation.wording import signed, with_interval
from rag_assets.knowledge.mentions import (
    RowCell,
    UnitName,
    mentions_of_chunk,
    mentions_of_row,
)
from rag_assets.retrieval.glossary import Glossary
from rag_assets.retrieval.links import synonyms_of
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.unit_links import links_of, read_links

DAIRY = "dairy"
LINKED = ("ottqa", DAIRY)
PARTS = ("cases", "linked", "others")
PLAIN = ("best", "fast", "bm25")
FOLLOWING = tuple(f"{name}_links" for name in PLAIN)
MOST_LOST = 0.02
LEAST_RIGHT = 0.98
LEAST_GAIN = 0.0001
METRICS = {"mrr": "mrr@10", "hit_rate": "hit_rate@10"}
HERE = Path(__file__).parent


class LinkedCorpus(Corpus):
    """A corpus that is searched with and without following links."""

    def __init__(self, name: str, *, folder: Path, weight: float) -> None:
        self.name, self.folder = name, folder
        folder.mkdir(parents=True, exist_ok=True)
        files = dairy(folder) if name == DAIRY else files_of(name, folder=folder)
        self._config, self._questions = files
        shipped = Retrieval().retrievers
        retrievers = {
            following: shipped[plain].model_dump(mode="json", exclude_defaults=True)
            | {"links": {"weight": weight}}
            for plain, following in zip(PLAIN, FOLLOWING, strict=True)
        }
        self._environment = {
            "RAG_ASSETS__DEFAULTS": "3",
            "RAG_ASSETS__STATE_DIR": str(self.state),
            "RAG_ASSETS__VARIANTS": json.dumps({"default": {}}),
            "RAG_ASSETS__RETRIEVAL__RETRIEVERS": json.dumps(retrievers),
            "RAG_ASSETS__EVALUATION__RETRIEVERS": json.dumps([*PLAIN, *FOLLOWING]),
            "RAG_ASSETS__EXPERIMENTS": "{}",
        }

    @property
    def questions(self) -> Sequence[Question]:
        return read_questions(self._questions)

    def rankings(self) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """For each retriever the first ten of each question: `doc:URI` or `row:TABLE:KEY`."""
        table = pq.read_table(
            self.state / "reports" / "default" / "rankings.parquet",
            filters=[("rank", "<=", TOP_K)],
            columns=["retriever", "question_id", "uri", "table", "row_key"],
        )
        found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for row in table.to_pylist():
            is_row = row["row_key"] is not None
            unit = f"row:{row['table']}:{row['row_key']}" if is_row else f"doc:{row['uri']}"
            question = row["question_id"].partition("/")[2]
            found[row["retriever"]][question].append(unit)
        return found

    def paths(self) -> Mapping[str, str]:
        """The path below the source root of each document of the gold."""
        file = self._questions.with_name("documents.jsonl")
        if not file.is_file():
            return {}
        lines = map(json.loads, file.read_text("utf-8").splitlines())
        return {line["doc_id"]: line["path"].removeprefix("docs/") for line in lines}

    def count(self) -> str:
        """How many links of each kind it has."""
        store = Store(self.state)
        complete_set = CompleteSet.read(store.root / "complete_sets" / "default.json")
        assert complete_set, "a refresh records it"
        assert complete_set.unit_links, "a refresh looks for links"
        kinds = read_links(store, complete_set.unit_links, synonyms={})["kind"].to_pylist()
        counted = ", ".join(f"{kind} {count:,}" for kind, count in Counter(kinds).most_common())
        return counted or "no links"


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


def with_both_ends(scores: pa.Table, corpus: LinkedCorpus) -> pa.Table:
    """`scores` of questions with two ends, whose hit rate is that of both in the first ten."""
    paths, rankings = corpus.paths(), corpus.rankings()

    def units(ids: Sequence[str]) -> set[str]:
        whole = [one.partition("#")[0] for one in ids]
        return {
            f"doc:{paths.get(one[4:], one[4:])}" if one.startswith("doc:") else one for one in whole
        }

    ends = {
        question["id"]: (units(question["gold"]), units(question["support"]))
        for question in corpus.questions
        if question.get("support")
    }
    names = [name.partition("/")[2] for name in scores["question_id"].to_pylist()]
    has_two = pa.array([name in ends for name in names])
    both = [
        float(all(end & set(rankings[retriever][name]) for end in ends[name]))
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


def report(corpus: LinkedCorpus, *, is_linked: bool) -> Iterator[Bound]:
    scores = corpus.scores()
    print(f"\n{corpus.name}: {corpus.count()}")
    rankings = corpus.rankings()
    own = scores.set_column(
        scores.schema.get_field_index("question_id"),
        "question_id",
        pc.utf8_slice_codeunits(scores["question_id"], len(corpus.name) + 1),
    )
    both = told_apart(with_both_ends(own, corpus), corpus=corpus.name) if is_linked else None
    for plain, following in zip(PLAIN, FOLLOWING, strict=True):
        pairs = zip(rankings[plain].items(), rankings[following].values(), strict=True)
        changed = sum(before != after for (_, before), after in pairs)
        share = changed / max(1, len(rankings[plain]))
        means, differences = compared(scores, plain, following)
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
                yield at_least(f"{label}: upper end", row["high"], 0)
                yield at_least(label, row["value"], -MOST_LOST)


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
    names = [schemas.UNIT_LINKS.field(name) for name in ("unit_id", "document_id", "mentions")]
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
    return {"unit_id": unit, "document_id": document, "mentions": [one._asdict() for one in names]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = (*LINKED, *(name for name in CORPORA if name not in LINKED))
    parser.add_argument("--corpora", nargs="+", default=known, choices=known)
    parser.add_argument("--state", type=Path, help="folder to keep indexes in")
    parser.add_argument("--only", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--weight", type=float, default=LinkStage().weight)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        bounds = [*cases()] if "cases" in arguments.only else []
        for name in arguments.corpora:
            is_linked = name in LINKED
            if ("linked" if is_linked else "others") in arguments.only:
                corpus = LinkedCorpus(name, folder=root / name, weight=arguments.weight)
                bounds += report(corpus, is_linked=is_linked)
    finish("links", bounds)


if __name__ == "__main__":
    main()
