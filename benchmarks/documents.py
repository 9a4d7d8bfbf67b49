"""Documents through each parser: nothing lost, the evidence on its page, every format answerable.

usage: documents.py [--parsers pymupdf pdfium ...] [--state FOLDER]

Parses, chunks and embeds the 307 documents of the shared dataset materials_demo with each parser
that can be used here. Every document has to be there or in quarantine with a reason; the quotes of
the questions have to be on the page that the question names, and whole in a chunk; questions on the
scan, the bilingual pages, the slides and the Word files have to be answerable: their gold page is
in the top 10 of hybrid. With --state the tables are kept and found again.
"""

import argparse
import json
import sys
import tempfile
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bounds import Bound, at_least, dataset, equal, finish, interpreter_of

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.config.addresses import accounts_table, chunks_table, elements_table
from rag_assets.documents.elements import parse
from rag_assets.documents.elements.parse_report_rows import Accounts
from rag_assets.documents.parsers.description import ParserUnavailableError
from rag_assets.retrieval.opening import open_index
from rag_assets.sources.files.manifest import refresh_document_files
from rag_assets.store import Store
from rag_assets_testing.faults import pipeline

FORMATS = {
    "scan": ["freefem_manual_scan.pdf"],
    "bilingual": ["epd_material_properties_en_sv.pdf"],
    "slides": ["mpea_dataset_slides.pptx"],
    "word": ["epd_format_technical_details.docx", "epd_format_quick_start.docx"],
}
"""Documents whose questions have to be answerable."""
TOP = 10


@dataclass(frozen=True, slots=True)
class Quote:
    """Evidence as a question quotes it."""

    uri: str
    page: int | None
    text: str


def letters(text: str) -> str:
    """What the dataset compares: letters and digits, since line breaks and ligatures differ."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).lower()))


def quotes_of(data: Path) -> list[Quote]:
    documents = map(json.loads, (data / "documents.jsonl").open(encoding="utf-8"))
    uris = {row["doc_id"]: row["path"].removeprefix("docs/") for row in documents}
    return [
        Quote(
            uris[quote["doc_id"]],
            quote.get("page") if uris[quote["doc_id"]].endswith((".pdf", ".pptx")) else None,
            quote["text"],
        )
        for question in map(json.loads, (data / "questions.jsonl").open(encoding="utf-8"))
        for quote in question.get("evidence") or []
        if quote.get("text")
    ]


def questions_on(data: Path, uris: Sequence[str]) -> list[tuple[str, str, int | None]]:
    """Questions with a gold place in `uris`: what is asked, the document and its page."""
    documents = map(json.loads, (data / "documents.jsonl").open(encoding="utf-8"))
    paths = {row["doc_id"]: row["path"].removeprefix("docs/") for row in documents}
    found: list[tuple[str, str, int | None]] = []
    for question in map(json.loads, (data / "questions.jsonl").open(encoding="utf-8")):
        for gold in question["gold"]:
            document, _, page = gold.removeprefix("doc:").partition("#page=")
            uri = str(paths.get(document))
            if uri in uris:
                found.append(
                    (str(question["question"]), uri, int(page) if page.isdigit() else None)
                )
    return found


def config_for(data: Path, *, state: Path, parsers: Sequence[str]) -> Config:
    state.mkdir(parents=True, exist_ok=True)
    file = state / "rag_assets.yaml"
    variants = {name: {"parser": name} for name in parsers}
    found = {name: interpreter_of(name) for name in parsers}
    settings = {
        "state_dir": str(state / "state"),
        "sources": {"documents": str(data / "docs")},
        "parsers": {
            name: {"engine": name, **({"python": str(python)} if python else {})}
            for name, python in found.items()
        },
        "variants": variants,
        "serving": {"variant": parsers[0]},
    }
    file.write_text(json.dumps(settings))
    return configuration.load(file)


def on_page(store: Store, *, elements: str, quotes: Sequence[Quote]) -> list[bool]:
    pages: dict[tuple[str, int | None], str] = defaultdict(str)
    uris = uris_of(store)
    rows = store.read(elements, columns=["document_id", "index", "page", "text"])
    for row in rows.sort_by([("document_id", "ascending"), ("index", "ascending")]).to_pylist():
        pages[uris[row["document_id"]], row["page"]] += letters(row["text"])
    return [letters(quote.text) in pages[quote.uri, quote.page] for quote in quotes]


def in_a_chunk(store: Store, *, table: str, quotes: Sequence[Quote]) -> list[bool]:
    """Whether each quote is whole in a chunk of its page."""
    held: dict[str, list[tuple[list[int], str]]] = defaultdict(list)
    rows = store.read(table, columns=["uri", "index", "pages", "text"])
    for row in rows.sort_by([("uri", "ascending"), ("index", "ascending")]).to_pylist():
        held[row["uri"]].append((row["pages"], letters(row["text"])))
    return [
        any(
            letters(quote.text) in text and (quote.page is None or quote.page in pages)
            for pages, text in held[quote.uri]
        )
        for quote in quotes
    ]


def uris_of(store: Store) -> dict[str, str]:
    rows = store.read("document_files", columns=["document_id", "uri"])
    return dict(zip(rows["document_id"].to_pylist(), rows["uri"].to_pylist(), strict=True))


def answerable(
    config: Config,
    store: Store,
    *,
    variant: str,
    questions: Sequence[tuple[str, str, int | None]],
) -> float:
    """Share of the questions whose gold page is among the first ten of hybrid."""
    index = open_index(store, config, variant)
    hits = 0
    for question, uri, page in questions:
        found = index.search(question, retriever="hybrid", top_k=TOP)
        is_hit = any(hit.uri == uri and (page is None or page in hit.pages) for hit in found)
        hits += is_hit
        if not is_hit:
            print(f"  not in the top {TOP}: {uri} page {page}: {question}")
    return hits / len(questions)


def measured(config: Config, store: Store, *, parser: str, data: Path) -> Iterator[Bound]:
    report = parse.refresh_elements(store, config, parser=parser, log=print)
    print(f"{parser}: {report.pages} pages of {report.contents} files in {report.seconds:.0f} s")
    accounts = {
        row["document_id"]: row for row in Accounts(store, accounts_table(config, parser)).rows()
    }
    failed = {failure.key: failure.reason for failure in report.failures}
    for reason in failed.values():
        print(f"  {reason}")
    elements = elements_table(config, parser)
    held = set(store.read(elements, columns=["document_id"])["document_id"].to_pylist())
    documents = uris_of(store)
    lost = [uri for key, uri in documents.items() if key not in held and not failed.get(key)]
    yield equal(f"{parser}: documents", len(documents), 307)
    yield equal(f"{parser}: documents neither parsed nor quarantined", len(lost), 0)
    yield equal(f"{parser}: documents without an account", len(documents.keys() - accounts), 0)
    yield equal(f"{parser}: parsed again", again(config, store, parser=parser), 0)

    quotes = quotes_of(data)
    scans = FORMATS["scan"]
    layered = [quote for quote in quotes if quote.uri not in scans]
    there = on_page(store, elements=elements, quotes=layered)
    for quote, is_there in zip(layered, there, strict=True):
        if not is_there:
            print(f"  not on its page: {quote.uri} page {quote.page}: {quote.text}")
    yield at_least(f"{parser}: evidence on its page ({len(there)})", sum(there) / len(there), 0.98)

    pipeline.refresh(config, variant=parser, log=print)
    chunks = chunks_table(config, parser, config.variant(parser).chunking)
    whole = in_a_chunk(store, table=chunks, quotes=layered)
    yield at_least(f"{parser}: evidence whole in a chunk", sum(whole) / len(whole), 0.97)

    for name, uris in FORMATS.items():
        asked = questions_on(data, uris)
        found = answerable(config, store, variant=parser, questions=asked)
        yield equal(f"{parser}: {name}, {len(asked)} questions answerable", found, 1)


def again(config: Config, store: Store, *, parser: str) -> int:
    return parse.refresh_elements(store, config, parser=parser, log=print).contents


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--parsers", nargs="+", default=["pymupdf", "docling", "marker", "pdfium"])
    options.add_argument("--state", type=Path, help="folder to keep the tables in")
    arguments = options.parse_args()
    data = dataset("materials_demo")
    with tempfile.TemporaryDirectory() as temporary:
        state = (arguments.state or Path(temporary)).absolute()
        config = config_for(data, state=state, parsers=arguments.parsers)
        store = Store.of(config)
        sources = config.sources.documents
        refresh_document_files(store, sources, allow_shrink=False, log=print)
        bounds: list[Bound] = []
        for parser in arguments.parsers:
            try:
                bounds.extend(measured(config, store, parser=parser, data=data))
            except ParserUnavailableError as error:
                print(f"{parser} is left out: {error}")
    finish("documents", bounds)


if __name__ == "__main__":
    main()
