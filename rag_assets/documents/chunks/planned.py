"""What changed documents will become: as many as are cheap to read are cut, in memory alone.

Only files that a parser calls harmless are read, those that need no worker. Whoever wants to know
about the others has to estimate.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.keys import ABSENT, KeyIndex
from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.config import Config
from rag_assets.config.addresses import elements_table
from rag_assets.documents.chunks.chunk import cut_of
from rag_assets.documents.elements.element import Element
from rag_assets.documents.elements.languages import with_languages
from rag_assets.documents.elements.rows import CONTENT, to_arrow
from rag_assets.documents.elements.sections import with_sections
from rag_assets.documents.files import FILE_COLUMNS, FetchError, SourceFile, SourceReader
from rag_assets.documents.parsers import parsers_of, preflight
from rag_assets.documents.parsers.description import Parser
from rag_assets.documents.parsers.preflight import Inspection
from rag_assets.media.media_types import DOCX, HTML, MARKDOWN, PDF, PLAIN, PPTX, SUFFIXES
from rag_assets.store import Store
from rag_assets.workers import Done, Pool, Task

BYTES_READ = 4 << 20
"""Of files that are cut, at most: a second of work."""
BYTES_LOOKED_AT = 64 << 20
"""Of files that are only looked at."""
LOOK_SECONDS = 20.0
"""Time limit of a look at one file."""
MEMORY = 2 << 30
"""Bytes that a look may take."""
LETTERS = 0.8
"""Share of the characters of a text that are letters and digits."""
CHARACTERS_A_SCAN = 1_500
SECONDS_A_PAGE, SECONDS_A_SCAN, SECONDS_AN_OFFICE_FILE = 0.3, 10.0, 2.0
"""What parsing takes on two cores of a laptop."""
SEED = 20


@dataclass(frozen=True, slots=True)
class PlannedChunks:
    """The chunks of some documents as a refresh would cut them."""

    documents: Sequence[str]
    chunks: pa.Table
    """Rows of the table of chunks with `row_fingerprint`."""


class FileLook(NamedTuple):
    """What a quick look at a file tells."""

    characters: float
    """Of its text, about."""
    seconds: float
    """That parsing it takes, about."""


def looks_at(config: Config, files: pa.Table, *, parser: str) -> Mapping[str, FileLook]:
    """Look at documents, drawn by chance until `BYTES_LOOKED_AT` is used up; the parser is not run.

    A PDF is asked for the letters of its pages and an Office file for the texts that it shows, both
    in a worker process. Nothing is told of a file that cannot be read, or of another format.
    """
    readers = {source.name: SourceReader(source) for source in config.sources.documents}
    found: dict[str, FileLook] = {}
    with TemporaryDirectory() as folder, Pool(size=1, memory_bytes=MEMORY) as pool:
        for row in _drawn(files, most=BYTES_LOOKED_AT).select(FILE_COLUMNS).to_pylist():
            file = SourceFile(**row)
            kind = str(file.media_type)
            copy = Path(folder) / f"{file.document_id}{SUFFIXES.get(kind, '')}"
            if kind in (MARKDOWN, PLAIN):
                found[file.document_id] = FileLook(file.size, 0)
            elif kind in (PDF, DOCX, PPTX, HTML):
                with suppress(FetchError, KeyError):
                    readers[file.source].fetch(file, to=copy)
                    if kind == HTML:
                        text = _length_of_text(copy.read_bytes())
                        found[file.document_id] = FileLook(text, SECONDS_A_PAGE)
                        continue
                    asked = {"media_type": kind, "most_pages": config.parsers[parser].max_pages}
                    task = Task(file.document_id, preflight.FUNCTION, asked, LOOK_SECONDS, copy)
                    pool.submit(replace(task, offline=True))
        for task, outcome in pool.finished():
            if isinstance(outcome, Done):
                found[task.key] = _look(Inspection.of(outcome.value))
    return found


def _length_of_text(page: bytes) -> int:
    """Characters between the tags of a page of HTML, about."""
    after_tags = (part for part in page.split(b"<") if not part.startswith((b"script", b"style")))
    return sum(len(part.partition(b">")[2]) for part in after_tags)


def _look(seen: Inspection) -> FileLook:
    if not seen.letters:
        return FileLook(sum(map(len, seen.shown)), SECONDS_AN_OFFICE_FILE)
    scans = len(seen.scanned)
    return FileLook(
        sum(seen.letters) / LETTERS + scans * CHARACTERS_A_SCAN,
        seen.pages * SECONDS_A_PAGE + scans * SECONDS_A_SCAN,
    )


def planned_chunks(
    store: Store,
    config: Config,
    *,
    parser: str,
    chunking: str,
    files: pa.Table,
    changed: Sequence[str],
) -> PlannedChunks:
    """Cut documents, drawn by chance until `BYTES_READ` is used up.

    Args:
        store: Holds the elements of documents that did not change.
        config: Names the sources and settings.
        parser: Name of the parser in the config.
        chunking: Name of the chunking in the config.
        files: The documents to draw from, as the manifest will describe them (`FILE_COLUMNS`).
        changed: Those of them whose files have to be parsed; the elements of the others stay.
    """
    drawn = _drawn(files, most=BYTES_READ)
    is_changed = KeyIndex(pa.array(changed, pa.string())).places(drawn["document_id"]) != ABSENT
    kept = drawn.filter(pa.array(~is_changed))["document_id"].to_pylist()
    read = dict(_read(config, parser, drawn.filter(pa.array(is_changed))))
    elements = [_rows_of(read, engine=config.parsers[parser].engine)]
    table = elements_table(config, parser)
    for part in parts_of(kept) if store.exists(table) else ():
        where = is_one_of("document_id", part)
        elements.append(store.read(table, columns=CONTENT.names, where=where))
    cut = cut_of(store, config, parser=parser, chunking=chunking)
    return PlannedChunks([*read, *kept], cut(pa.concat_tables(elements), drawn))


def _drawn(files: pa.Table, *, most: int) -> pa.Table:
    """Documents of `most` bytes drawn by chance, the same ones whenever it is asked."""
    ordered = files.sort_by("document_id")
    places = list(range(ordered.num_rows))
    random.Random(SEED).shuffle(places)
    shuffled = ordered.take(pa.array(places, pa.int64()))
    return shuffled.filter(pc.less_equal(pc.cumulative_sum(shuffled["size"]), most))


def _read(config: Config, parser: str, files: pa.Table) -> Iterator[tuple[str, Sequence[Element]]]:
    """Documents that can be parsed in this process, with their elements."""
    parsers = parsers_of(config.parsers[parser], name=parser)
    readers = {source.name: SourceReader(source) for source in config.sources.documents}
    for row in files.select(FILE_COLUMNS).to_pylist():
        file = SourceFile(**row)
        reader, by = readers.get(file.source), parsers.get(str(file.media_type))
        if reader is None or by is None or not 0 < file.size <= by.harmless_bytes:
            continue
        found = _elements(file, by, reader)
        if found and not any(element.link for element in found):
            yield file.document_id, found


def _elements(file: SourceFile, parser: Parser, reader: SourceReader) -> Sequence[Element]:
    """The elements of a harmless file; none of any other, and of one that cannot be parsed."""
    try:
        content = reader.read(file)
        if not parser.is_harmless(content, str(file.media_type)):
            return ()
        return with_sections(parser.elements(content, str(file.media_type)))
    except Exception:  # whatever a parser raises, a refresh will say of the file
        return ()


def _rows_of(documents: Mapping[str, Sequence[Element]], *, engine: str) -> pa.Table:
    count = sum(map(len, documents.values()))
    return with_languages(to_arrow(documents, engine=engine, engines=[engine] * count))
