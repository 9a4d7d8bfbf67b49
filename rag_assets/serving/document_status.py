"""How each document was parsed, for `rag-assets status --documents`."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.config import Config
from rag_assets.config.addresses import accounts_table, elements_table
from rag_assets.documents.elements.parse_report_rows import Accounts
from rag_assets.documents.steps import PARSED_DOCUMENTS
from rag_assets.operations.problems.skipped_inputs import is_retry_useful, refused_files
from rag_assets.reports.text_tables import table
from rag_assets.serving.replies import Reply
from rag_assets.store import Store

COLUMNS = ("document", "pages", "parsed", "read_by", "empty", "tables", "figures", "language")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentStatus:
    """The result of one parser for one document."""

    source: str
    document: str
    """The URI of the document."""
    pages: int | None
    """Pages of the file; None for a file without pages."""
    parsed: int
    engines: Sequence[Mapping[str, str]]
    """The engines that read the document, each with its pages."""
    failed: Sequence[Mapping[str, str]]
    """Pages that no engine could read, and why."""
    replaced: Sequence[Mapping[str, str]]
    """Pages that the next parser of the chain read, and why."""
    scanned: str
    empty: str
    tables: tuple[int, int]
    """Number of sound tables, and of all tables."""
    figures: tuple[int, int]
    """Number of kept figures, and of all figures."""
    letters: int
    layer_letters: int
    lost_letters: int
    garbled: int
    language: str | None
    words: int | None
    """The number of words that the parts of a Word file or of slides show."""
    lost_words: int | None
    """The number of these words that are not in its text."""
    hidden: str | None
    """How much of it is hidden and left out."""
    doubts: Sequence[str]
    """What may be wrong with its text."""
    reason: str | None
    """Why it is in quarantine."""
    stale_since: str | None
    """Since when (ISO 8601, UTC) an earlier version of it is served instead of the present one."""
    is_tried_again: bool
    """Whether it is tried again without a request: at each refresh, or from a day on."""
    is_retry_useful: bool
    """Whether a request may help though the file is the same."""
    tried_again: str | None
    """The day from which it is tried again (ISO 8601, UTC)."""
    attempts: int | None
    """The number of times that it ran into a limit."""

    @property
    def read_by(self) -> str:
        """The engine that read it; with their pages if there were several."""
        if len(self.engines) < 2:
            return "".join(part["engine"] for part in self.engines)
        return "; ".join(f"{part['engine']} {part['pages']}" for part in self.engines)

    @property
    def row(self) -> Mapping[str, object]:
        """The document as a row of the table of text."""
        kept = {"tables": _of(self.tables), "figures": _of(self.figures)}
        return {**asdict(self), "read_by": self.read_by, **kept}


def answer(store: Store, config: Config, *, parsers: Sequence[str]) -> Reply:
    """The documents of each of `parsers` (names in the config), those with problems first."""
    found = {parser: statuses_of(store, config, parser=parser) for parser in parsers}
    parts = [part for parser, documents in found.items() for part in _text(parser, documents)]
    record = {parser: [asdict(each) for each in documents] for parser, documents in found.items()}
    return Reply(record={"parsers": record}, text="\n\n".join(parts))


def statuses_of(store: Store, config: Config, *, parser: str) -> list[DocumentStatus]:
    """The documents as `parser` (a name in the config) read them, those with problems first."""
    if not store.exists(schemas.DOCUMENT_FILES_TABLE):
        return []
    unread = sync.quarantined(store, schemas.DOCUMENT_FILES_TABLE)
    failures = [*unread, *sync.quarantined(store, elements_table(config, parser))]
    reasons = {failure.key.removesuffix(schemas.UNREAD): failure for failure in failures}
    accounts = {
        row["document_id"]: row for row in Accounts(store, accounts_table(config, parser)).rows()
    }
    if not accounts and not failures:
        return []
    files = store.read(schemas.DOCUMENT_FILES_TABLE, columns=["document_id", "source", "uri"])
    refused = refused_files(store)
    documents = [
        _document(
            file["source"],
            file["uri"],
            account=accounts.get(file["document_id"], {}),
            failure=reasons.get(file["document_id"]),
            refused=refused,
        )
        for file in files.sort_by("uri").to_pylist()
    ]
    return sorted(documents, key=lambda each: not (each.reason or each.replaced))


def _document(
    source: str,
    uri: str,
    *,
    account: Mapping,
    failure: sync.Failure | None,
    refused: Collection[str],
) -> DocumentStatus:
    return DocumentStatus(
        source=source,
        document=uri,
        pages=account.get("pages"),
        parsed=account.get("parsed", 0),
        engines=json.loads(account.get("engines", "[]")),
        failed=json.loads(account.get("failed", "[]")),
        replaced=json.loads(account.get("replaced", "[]")),
        scanned=account.get("scanned", ""),
        empty=account.get("empty", ""),
        tables=(account.get("sound_tables", 0), account.get("tables", 0)),
        figures=(account.get("kept_figures", 0), account.get("figures", 0)),
        letters=account.get("letters", 0),
        layer_letters=account.get("layer_letters", 0),
        lost_letters=account.get("lost_letters", 0),
        garbled=account.get("garbled", 0),
        language=account.get("language"),
        words=account.get("words"),
        lost_words=account.get("lost_words"),
        hidden=account.get("hidden"),
        doubts=json.loads(account.get("doubts") or "[]"),
        reason=failure.reason if failure else None,
        stale_since=failure.stale_since.isoformat(timespec="seconds")
        if failure and failure.stale_since
        else None,
        is_tried_again=failure is not None and failure.kind != "input",
        is_retry_useful=failure is not None
        and is_retry_useful(PARSED_DOCUMENTS.name, failure, refused=refused),
        tried_again=str(failure.tried_again) if failure and failure.tried_again else None,
        attempts=failure.attempts if failure else None,
    )


def _text(parser: str, documents: Sequence[DocumentStatus]) -> Iterator[str]:
    if not documents:
        yield f"Nothing was parsed by the parser {parser} yet: refresh a variant that uses it"
        return
    lines = table([document.row for document in documents], columns=COLUMNS)
    counts = "tables: well formed / found; figures: kept / found"
    yield f"Documents as read by the parser {parser} ({counts})\n{lines}"
    yield from _told(
        "In quarantine",
        (f"{each.reason}{_waits(each)}" for each in documents if each.reason),
    )
    yield from _told(
        "In doubt",
        (f"{each.document}: {doubt}" for each in documents for doubt in each.doubts),
    )
    yield from _told(
        "Hidden and left out (parsers.NAME.hidden: keep keeps it)",
        (f"{each.document}: {each.hidden}" for each in documents if each.hidden),
    )
    yield from _told(
        "Pages read by the next parser of the chain",
        (
            f"{each.document}: pages {part['pages']}: {part['reason']}"
            for each in documents
            for part in each.replaced
        ),
    )


def _told(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A part of the text, unless it is empty."""
    if found := [f"  {line}" for line in lines]:
        yield "\n".join([title, *found])


def _waits(document: DocumentStatus) -> str:
    """Words that say that a document in quarantine is stale, and what it waits for."""
    stale = f" (served as it was before {document.stale_since})" if document.stale_since else ""
    if document.is_tried_again:
        return stale
    retry = ", or rag-assets refresh --retry-failed" if document.is_retry_useful else ""
    return f"{stale} (waits for a change of the file{retry})"


def _of(counts: tuple[int, int]) -> str:
    sound, seen = counts
    return f"{sound}/{seen}" if seen else ""
