"""Whether the chunks of the default are whole sentences of one section, and are found as well.

usage: unit_quality.py [--corpora demo materials_demo ottqa] [--split test] [--state FOLDER]
                       [--chunkings fixed_256 sentences_256] [--without-search]

Each corpus is cut by the former default and by the new one. Shares are of the chunks of prose;
those of mostly lists, code or captions are counted apart. A chunk begins inside a sentence unless a
sentence, a heading, an item or a block ends before it. A block does not, if its sentence goes on
after it: the next one of prose begins in lower case. What the chunker believes plays no part here.

Then `baseline`, `bm25` and `hybrid` search both indexes. A loss of more than 0.02 of MRR@10 or
hit@10 against the first chunking has to be ruled out, by the lower end of the paired 95 % interval
(cluster bootstrap). With --state the indexes are kept and found again.
"""

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml
from bounds import REPOSITORY, Bound, at_most, dataset, finish, not_worse, rag_assets
from retrieval import MARGIN, RETRIEVERS, SAMPLES, write_config

from rag_assets.config import Config, load
from rag_assets.documents.chunks.regions import Block, DocumentText
from rag_assets.evaluation.intervals import DIFFERENCES, cluster_bootstrap, clusters_of
from rag_assets.schemas import HEADINGS, slice_of
from rag_assets.store import Store

CORPORA = ("demo", "materials_demo", "ottqa")
FORMER, NEW = "fixed_256", "sentences_256"
METRICS = ("mrr@10", "hit_rate@10")
MOST_INSIDE = 0.1
SENTENCE_END = re.compile(
    "[.!?\u2026\u3002\uff01\uff1f\uff61][\"'\u201d\u2019\u00bb)\\]}*_`\u300d]*"
    "(?:\\[[\\d,\u2013-]+\\])?$"
)
ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]|approx|ca|cf|vs|figs?|eqs?|refs?|nos?|nr|vol"
    r"|pp|al|dr|prof|mrs?|st)\.$",
    re.IGNORECASE,
)
ITEM = re.compile(r"\s*(?:[-*+•●▪◦\u2013\u2014]|\(?\w{1,3}[.)])\s")
WORD = re.compile(r"[^\W\d_]{2,}")
BLOCK_COLUMNS = ["index", "type", "text", "page", "section_path"]
APART = ("list", "code", "caption")
BETWEEN = ("table", "figure", "caption", "footnote")
"""What may stand inside a sentence of prose."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one chunk looks like."""

    kind: str
    """`prose`, or what else it is."""
    begins_inside: bool
    ends_inside: bool
    crosses: bool
    """Whether it holds text of several sections."""
    is_silent: bool
    names_section: bool
    tokens: int


def looks(document: DocumentText, chunks: Sequence[Mapping]) -> Iterator[Look]:
    """The looks of the chunks of one document."""
    for chunk in chunks:
        start, end = chunk["char_start"], chunk["char_end"]
        first, last = document.place(start), document.place(end - 1)
        touched = document.blocks[first : last + 1]
        paths = {block.section_path for block in touched if block.type not in HEADINGS}
        path = document.blocks[first].section_path
        text = slice_of(chunk["text"], start, end)
        yield Look(
            kind=kind_of(document, start, end) if chunk["type"] == "text" else chunk["type"],
            begins_inside=is_inside(document, start),
            ends_inside=is_inside(document, end),
            crosses=len(paths) > 1,
            is_silent=len(WORD.findall(text)) < 2 and not re.search(r"\w\d|\d\s*\w", text),
            names_section=not path or path[-1] in " ".join(chunk["text"].split()),
            tokens=chunk["tokens"],
        )


def kind_of(document: DocumentText, start: int, end: int) -> str:
    """`prose`, or the type of the blocks that most of its characters are of."""
    held: Counter[str] = Counter()
    for place in range(document.place(start), document.place(end - 1) + 1):
        of_block = min(end, document.end(place)) - max(start, document.starts[place])
        kind = document.blocks[place].type
        held[kind if kind in APART else "prose"] += of_block
    return held.most_common(1)[0][0]


def is_inside(document: DocumentText, at: int) -> bool:
    """Whether the place `at`, where a chunk begins or ends, is inside a sentence."""
    if at <= 0 or at >= len(document.text.rstrip()):
        return False
    place = document.place(at)
    block, start = document.blocks[place], document.starts[place]
    before, after = block.text[: at - start], block.text[at - start :]
    if not before.strip():
        return goes_on(document.blocks[:place], document.blocks[place:])
    if not after.strip():
        return goes_on(document.blocks[: place + 1], document.blocks[place + 1 :])
    line, _, rest = after.lstrip(" \t").partition("\n")
    breaks_line = before.endswith("\n") or not line
    shown = line or rest
    if breaks_line and (block.type in APART or ITEM.match(shown)):
        return False
    return not ends_sentence(before) or after.lstrip()[:1].islower()


def goes_on(before: Sequence[Block], after: Sequence[Block]) -> bool:
    """Whether the prose before goes on after: tables and figures may stand between."""
    last = next((block for block in reversed(before) if block.type not in BETWEEN), None)
    following = next((block for block in after if block.type not in BETWEEN), None)
    if last is None or following is None or last.type != "text" or following.type != "text":
        return False
    return not ends_sentence(last.text) and following.text[:1].islower()


def ends_sentence(text: str) -> bool:
    tail = text[-200:].rstrip()
    return bool(SENTENCE_END.search(tail)) and not ABBREVIATION.search(tail)


def all_looks(config: Config, variant: str) -> list[Look]:
    """The looks of all chunks of a variant that is built."""
    store, tables = Store.of(config), config.tables_of(variant)
    elements = by_document(store.read(tables.elements, columns=["document_id", *BLOCK_COLUMNS]))
    columns = ["document_id", "index", "text", "type", "tokens", "char_start", "char_end"]
    found: list[Look] = []
    for document, chunks in by_document(store.read(tables.chunks, columns=columns)).items():
        blocks = [
            Block(**entry)._replace(section_path=tuple(entry["section_path"]))
            for entry in elements[document]
        ]
        found += looks(DocumentText.of(blocks), chunks)
    return found


def by_document(table: pa.Table) -> dict[str, list[dict]]:
    """The rows of each document in their order, without its id."""
    found: dict[str, list[dict]] = {}
    ordered = table.sort_by([("document_id", "ascending"), ("index", "ascending")])
    for row in ordered.to_pylist():
        found.setdefault(row.pop("document_id"), []).append(row)
    return found


def show(corpus: str, chunking: str, found: Sequence[Look]) -> tuple[float, float]:
    """Print the shares, and return those of prose that begins and ends inside a sentence."""
    prose = [look for look in found if look.kind == "prose"]
    others = Counter(look.kind for look in found if look.kind != "prose")
    p10, p50, p90 = np.quantile([look.tokens for look in prose], [0.1, 0.5, 0.9])

    def share(name: str, among: Sequence[Look] = prose) -> float:
        return float(np.mean([getattr(look, name) for look in among]))

    print(
        f"{corpus:15} {chunking:14} {len(prose):7,}  {share('begins_inside'):7.1%}  "
        f"{share('ends_inside'):7.1%}  {share('crosses'):7.1%}  {share('names_section'):7.1%}  "
        f"{share('is_silent', found):7.1%}  {p10:4.0f} {p50:4.0f} {p90:4.0f}  "
        + ", ".join(f"{count:,} {kind}" for kind, count in sorted(others.items())),
        flush=True,
    )
    return share("begins_inside"), share("ends_inside")


def configured(corpus: str, chunkings: Sequence[str], *, state: Path) -> Path:
    """A config for a corpus with a variant for each chunking, named as it is."""
    state.mkdir(parents=True, exist_ok=True)
    if corpus == "demo":
        path = state / "rag_assets.yaml"
        shipped = (REPOSITORY / path.name).read_text("utf-8")
        config = yaml.safe_load(shipped.replace("data/", f"{REPOSITORY}/data/"))
        config = {name: config[name] for name in ("sources", "evaluation")}
        config["state_dir"] = str(state / "state")
    else:
        path = write_config(dataset(corpus), state=state)
        config = yaml.safe_load(path.read_text("utf-8"))
    config["variants"] = {name: {"chunking": name} for name in chunkings}
    path.write_text(yaml.safe_dump(config, sort_keys=False), "utf-8")
    return path


def questions_of(config: Config, variant: str, *, split: str) -> pa.Table:
    file = config.state_dir / "reports" / variant / "questions.parquet"
    return pq.read_table(file, filters=[("split", "=", split)])


def lost(table: pa.Table) -> int:
    """Pieces of gold that the index does not hold: pages, rows and quotes."""
    rows = table.filter(
        (pc.field("retriever") == RETRIEVERS[0]) & pc.field("level").isin(["gold", "quote"])
    )
    return sum(map(len, rows["missing"].to_pylist()))


def compared(corpus: str, name: str, first: pa.Table, second: pa.Table) -> Iterator[Bound]:
    """The paired differences of one chunking to the first, for documents and for all questions."""
    for retriever in RETRIEVERS:
        former, new = (
            table.filter(
                (pc.field("retriever") == retriever) & (pc.field("level") == "gold")
            ).sort_by("question_id")
            for table in (first, second)
        )
        assert former["question_id"] == new["question_id"], "the same questions"
        for domain in ("document", "all"):
            chosen = pc.equal(former["domain"], domain) if domain != "all" else None
            pair = [one.filter(chosen) if chosen is not None else one for one in (former, new)]
            clusters = clusters_of(
                pair[0]["source_cluster"].to_pylist(), pair[0]["gold_cluster"].to_pylist()
            )
            for metric in METRICS:
                values = np.stack([one[metric].to_numpy() for one in pair], axis=1)
                values = np.column_stack([values, values[:, 1] - values[:, 0]])
                result = cluster_bootstrap(values, clusters, samples=SAMPLES, limits=DIFFERENCES)
                low, high = float(result.low[2]), float(result.high[2])
                print(
                    f"{corpus:15} {domain:9} {retriever:9} {metric:12} {len(values):4}  "
                    f"{result.means[0]:.3f}  {result.means[1]:.3f}  {result.means[2]:+.3f} "
                    f"({low:+.3f} to {high:+.3f})",
                    flush=True,
                )
                what = f"{corpus}, {domain}, {retriever}, {metric} of {name} - {FORMER}"
                yield not_worse(what, low, high, margin=MARGIN)


def measure(
    corpus: str, chunkings: Sequence[str], *, split: str, state: Path, searched: bool
) -> Iterator[Bound]:
    path = configured(corpus, chunkings, state=state)
    for name in chunkings:
        done = rag_assets("refresh", "--json", "--variant", name, config=path)
        if done.code not in (0, 3):
            raise SystemExit(f"the refresh failed: {done.output}")
    config = load(path)
    print(
        f"\n{'corpus':15} {'chunking':14} {'prose':>7}  {'begins':>7}  {'ends':>7}  "
        f"{'crosses':>7}  {'section':>7}  {'silent':>7}  tokens p10 p50 p90; others"
    )
    for name in chunkings:
        begins, ends = show(corpus, name, all_looks(config, name))
        if name != FORMER:
            yield at_most(f"{corpus}, {name}: begins inside a sentence", begins, MOST_INSIDE)
            yield at_most(f"{corpus}, {name}: ends inside a sentence", ends, MOST_INSIDE)
    if not searched:
        return
    print(f"\n{split} questions: {FORMER}, other, difference with its 95 % interval")
    tables = {name: questions_of(config, name, split=split) for name in chunkings}
    for name in chunkings:
        if name != FORMER:
            print(f"{name}:")
            gone = lost(tables[name]) - lost(tables[FORMER])
            yield at_most(f"{corpus}, {name}: more gold lost than by {FORMER}", gone, 0)
            yield from compared(corpus, name, tables[FORMER], tables[name])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=CORPORA)
    parser.add_argument("--split", choices=["dev", "test"], default="test")
    parser.add_argument("--state", type=Path, help="folder to keep indexes in")
    parser.add_argument("--chunkings", nargs="+", default=[FORMER, NEW])
    parser.add_argument("--without-search", action="store_true", help="look at the chunks only")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        bounds = [
            bound
            for corpus in arguments.corpora
            for bound in measure(
                corpus,
                arguments.chunkings,
                split=arguments.split,
                state=root / corpus,
                searched=not arguments.without_search,
            )
        ]
    finish("unit_quality", bounds)


if __name__ == "__main__":
    main()
