"""Real files for the tests, and the manifest that the sources room would write of them."""

import hashlib
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from rag_assets import schemas
from rag_assets.config import Config, ParserSettings, addresses
from rag_assets.documents.elements.parse_report_rows import Accounts
from rag_assets.identity import document_id, fingerprint
from rag_assets.media.media_types import SUFFIXES
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


STEELS = (
    ("Steel", "Yield strength", "Elongation"),
    ("S355", "355 MPa", "22 %"),
    ("S690", "690 MPa", "14 %"),
    ("S960", "960 MPa", "10 %"),
)


def report(path):
    """A PDF of two pages: a title, sections, a table without vertical rules and a plot."""
    import pymupdf

    body = f"<p>{SENTENCE * 4}</p>"
    head = 'style="font-size:{}pt;font-family:sans-serif"'
    pdf(
        path,
        [
            f"<h1 {head.format(24)}>Bending of Plates</h1>{body}"
            f"<h2 {head.format(16)}>1 Samples</h2>{body}{body}",
            f"<h2 {head.format(16)}>2 Results</h2>{body}"
            f"<h3 {head.format(13)}>2.1 Cracks</h3>{body}",
        ],
    )
    document = pymupdf.open(path)
    page = document[0]
    for down, row in enumerate(STEELS):
        for across, cell in enumerate(row):
            page.insert_text((90 + 150 * across, 516 + 20 * down), cell, fontsize=10)
    for y in (500, 522, 584):
        page.draw_line((80, y), (500, y))
    page = document[1]
    page.draw_rect((150, 500, 450, 700), width=1)
    for step in range(6):
        x = 170 + 45 * step
        page.draw_rect((x, 690 - 25 * step, x + 25, 690), fill=(0.2, 0.4, 0.7))
    page.insert_text((220, 720), "Figure 1: Crack length after each step", fontsize=10)
    document.saveIncr()
    return path


def add_footnote(path, text):
    """Put a footnote into a DOCX, which python-docx cannot."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    office, main = "http://schemas.openxmlformats.org/officeDocument/2006", "wordprocessingml"
    members["[Content_Types].xml"] = members["[Content_Types].xml"].replace(
        b"</Types>",
        b'<Override PartName="/word/footnotes.xml" ContentType="application/vnd.openxmlformats-'
        b'officedocument.wordprocessingml.footnotes+xml"/></Types>',
    )
    members["word/_rels/document.xml.rels"] = members["word/_rels/document.xml.rels"].replace(
        b"</Relationships>",
        f'<Relationship Id="rId99" Type="{office}/relationships/footnotes" '
        'Target="footnotes.xml"/></Relationships>'.encode(),
    )
    members["word/footnotes.xml"] = (
        f'<w:footnotes xmlns:w="http://schemas.openxmlformats.org/{main}/2006/main">'
        f'<w:footnote w:id="2"><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:footnote></w:footnotes>'
    ).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def claims_pages(path, *, pages):
    """A PDF of a few bytes that says it has so many pages."""
    path.write_bytes(
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count " + str(pages).encode() + b">>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\n"
        b"trailer<</Size 4/Root 1 0 R>>\n%%EOF\n"
    )
    return path


def without_pages(path):
    """A PDF that holds no page."""
    import pypdfium2

    pypdfium2.PdfDocument.new().save(path)
    return path


def partly_readable(path, words):
    """A PDF of two pages whose first says `words` and whose second is not there."""
    content = b"BT /F1 12 Tf 20 200 Td (%s) Tj ET" % words.encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R 9 0 R] /Count 2 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    written, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"xref\n0 6\n0000000000 65535 f \n" + b"".join(places)
    end = b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(written)
    path.write_bytes(written + table + end)
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
        self.execution = {}
        self.lines = []

    @property
    def config(self):
        return Config(
            state_dir=self.store.root,
            sources={"documents": str(self.folder)},
            parsers={"plain": ParserSettings(**self.settings)},
            execution=self.execution,
        )

    @property
    def elements_table(self):
        """Name of the table of elements under the settings as they are."""
        return addresses.elements_table(self.config, "plain")

    @property
    def accounts(self):
        """What became of each document under the settings as they are."""
        return Accounts(self.store, addresses.accounts_table(self.config, "plain"))

    def chunks_table(self, chunking="fixed_256", *, config=None):
        """The same for the table of chunks."""
        return addresses.chunks_table(config or self.config, "plain", chunking)

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
        from rag_assets.documents.elements.parse import refresh_elements

        return refresh_elements(
            self.store, self.config, parser="plain", log=self.lines.append, **options
        )

    def chunk(self, *, chunking="fixed_256", config=None, **options):
        from rag_assets.documents.chunks.chunk import refresh_chunks

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
        return self._rows(self.elements_table, uri, order="index")

    def chunks(self, uri=None, *, chunking="fixed_256", config=None):
        return self._rows(self.chunks_table(chunking, config=config), uri, order="index")

    def _rows(self, table, uri, *, order):
        where = f"document_id = '{self.id_of(uri)}'" if uri else None
        keys = [("document_id", "ascending"), (order, "ascending")]
        return self.store.read(table, where=where).sort_by(keys).to_pylist()


def _row(path, uri, status, reason):
    content = path.read_bytes()
    types = {suffix: media_type for media_type, suffix in SUFFIXES.items()}
    types[".png"] = "image/png"
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
