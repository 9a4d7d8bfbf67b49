"""Real files for the tests, and the manifest that the sources room would write of them."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from rag_assets import schemas
from rag_assets.config import Config, Parser
from rag_assets.documents.parsers.media_types import SUFFIXES
from rag_assets.identity import document_id, fingerprint
from rag_assets.store import Store

SENTENCE = (
    "The plate was loaded in four-point bending until the crack had grown through half of the "
    "thickness. "
)


def pdf(path, pages, *, width=595, height=842, **saving):
    """A PDF with one page for each text (HTML)."""
    import pymupdf

    document = pymupdf.open()
    for html in pages:
        page = document.new_page(width=width, height=height)
        page.insert_htmlbox((60, 60, 540, 780), html)
    document.save(path, **saving)
    return path


def without_pages(path):
    """A PDF that holds no page."""
    import pypdfium2

    pypdfium2.PdfDocument.new().save(path)
    return path


def scan(path):
    """A PDF whose only page is a picture."""
    import pymupdf

    source = pymupdf.open()
    page = source.new_page()
    page.insert_text((72, 72), "Seen but not written")
    picture = page.get_pixmap(dpi=50)
    document = pymupdf.open()
    page = document.new_page()
    page.insert_image(page.rect, pixmap=picture)
    document.save(path)
    return path


class Project:
    """A folder of documents, its config and its state."""

    def __init__(self, root: Path, **settings):
        self.folder = root / "documents"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.store = Store(root / "state")
        self.settings = {"engine": "pdfium", "ocr": "none", **settings}
        self.lines = []

    @property
    def config(self):
        return Config(
            state_dir=self.store.root,
            sources={"documents": str(self.folder)},
            parsers={"plain": Parser(**self.settings)},
        )

    def write(self, uri, content):
        path = self.folder / uri
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def list_files(self, **statuses):
        """Write the manifest; `statuses` are uri=(status, reason) of files not to be parsed."""
        rows = []
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                uri = str(path.relative_to(self.folder))
                rows.append(_row(path, uri, *statuses.get(uri, ("ok", None))))
        table = pa.Table.from_pylist(rows, schema=schemas.DOCUMENT_FILES)
        self.store.drop(schemas.DOCUMENT_FILES_TABLE)
        self.store.append(schemas.DOCUMENT_FILES_TABLE, table, schema=schemas.DOCUMENT_FILES)

    def parse(self, **options):
        from rag_assets.documents.parse import refresh_elements

        return refresh_elements(
            self.store, self.config, parser="plain", log=self.lines.append, **options
        )

    def chunk(self, *, chunking="fixed_256", config=None, **options):
        from rag_assets.documents.chunk import refresh_chunks

        return refresh_chunks(
            self.store,
            config or self.config,
            parser="plain",
            chunking=chunking,
            log=self.lines.append,
            **options,
        )

    def id_of(self, uri):
        return document_id("documents", uri)

    def elements(self, uri=None):
        return self._rows("elements__plain", uri, order="index")

    def chunks(self, uri=None, *, chunking="fixed_256"):
        return self._rows(f"chunks__plain__{chunking}", uri, order="index")

    def _rows(self, table, uri, *, order):
        where = f"document_id = '{self.id_of(uri)}'" if uri else None
        keys = [("document_id", "ascending"), (order, "ascending")]
        return self.store.read(table, where=where).sort_by(keys).to_pylist()


def _row(path, uri, status, reason):
    content = path.read_bytes()
    types = {suffix: media_type for media_type, suffix in SUFFIXES.items()}
    sha256 = hashlib.sha256(content).hexdigest()
    return {
        "document_id": document_id("documents", uri),
        "source": "documents",
        "uri": uri,
        "media_type": types.get(path.suffix, "application/octet-stream"),
        "size": len(content),
        "sha256": sha256,
        "modified": datetime(2026, 1, 1, tzinfo=UTC),
        "status": status,
        "reason": reason,
        "fingerprint": fingerprint(uri, sha256, status, reason),
        "row_fingerprint": fingerprint(uri, sha256, status, reason),
    }
