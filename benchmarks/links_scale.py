"""300,000 units with links: what a refresh of their names costs, and what following them costs.

usage: links_scale.py [--units 300000] [--searches 300]

A quarter of the units are chunks, five a document; the others are rows of parts, each of which
names a standard that is a document, and one of 500 suppliers; every chunk has the name of a part in
its text, which a column that names things has. The names of all are read; then
nothing changes, then one unit in a hundred. Nothing to do has to take less than half a second, and
one per cent less than a twentieth of all, in CPU seconds: what else the machine does counts for
nothing. The stage of a search that follows links is timed over
rankings of a hundred units that are drawn at random: its median has to stay under 15 ms. What it
takes to load the links, once for an open index, is printed.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pyarrow as pa
from bounds import at_most, finish

from rag_assets import identity, schemas
from rag_assets.config import Config, LinkSettings, LinkStage
from rag_assets.knowledge.unit_links import refresh_unit_links
from rag_assets.retrieval.following import with_links
from rag_assets.retrieval.links import LinksInMemory
from rag_assets.retrieval.rankings import Ranking
from rag_assets.retrieval.text_names import NamesInText
from rag_assets.retrieval.units import UnitTable
from rag_assets.store import Store
from rag_assets.store.pins import pin_of
from rag_assets.store.unit_links import names_of, read_links, read_names_in_units

if TYPE_CHECKING:
    from rag_assets.retrieval.search_context import SearchCall

VARIANT = "default"
CHUNKS_A_DOCUMENT = 5
ROWS_A_TABLE = 10_000
SUPPLIERS = 500
WRITTEN_AT_ONCE = 50_000
LENGTH = 100
NO_OP_SECONDS, SHARE_OF_COLD, STAGE_MS = 0.5, 0.05, 15


class Corpus:
    """The tables of units and of rows that names are read from, in a state of their own."""

    def __init__(self, folder: Path, *, units: int) -> None:
        rows = units - units // 4
        tables = (f"lab/parts_{place}" for place in range(1 + rows // ROWS_A_TABLE))
        entities = {table: ["part"] for table in tables}
        self.config = Config(state_dir=folder, links=LinkSettings(entities=entities))
        self.store = Store(folder)
        self.tables = self.config.tables_of(VARIANT)
        self.chunks, self.rows = units // 4, units - units // 4
        for start in range(0, self.chunks, WRITTEN_AT_ONCE):
            self._write_chunks(range(start, min(start + WRITTEN_AT_ONCE, self.chunks)))
        for start in range(0, self.rows, WRITTEN_AT_ONCE):
            self._write_rows(range(start, min(start + WRITTEN_AT_ONCE, self.rows)))

    def edit(self) -> None:
        """Give one unit in a hundred another text."""
        for places, id_of, write in (
            (range(7, self.chunks, 100), self.chunk_id, self._write_chunks),
            (range(7, self.rows, 100), self.row_id, self._write_rows),
        ):
            ids = [id_of(place, 1) for place in places]
            for name in (self.tables.documents, self.tables.rows):
                self.store.delete(name, column="unit_id", keys=ids)
            self.store.delete(schemas.TABLE_ROWS_TABLE, column="row_id", keys=ids)
            write(places, edition=2)

    def chunk_id(self, place: int, edition: int) -> str:
        return identity.document_id("chunks", f"{place} {edition}")

    def row_id(self, place: int, edition: int) -> str:
        return identity.document_id("rows", f"{place} {edition}")

    def _write_chunks(self, places: Sequence[int], *, edition: int = 1) -> None:
        listed = []
        for place in places:
            document, index = divmod(place, CHUNKS_A_DOCUMENT)
            text = f"Edition {edition}: rinse part AB-{place % self.rows} for {place % 60} minutes."
            listed.append(
                _unit(
                    self.chunk_id(place, edition),
                    domain="document",
                    uri=f"standards/NHS_{100_000 + document}.md",
                    document_id=identity.document_id("documents", str(document)),
                    section=f"NHS {100_000 + document} Surface {document}",
                    index=index,
                    text=text,
                )
            )
        self._append(self.tables.documents, listed)

    def _write_rows(self, places: Sequence[int], *, edition: int = 1) -> None:
        documents = max(1, self.chunks // CHUNKS_A_DOCUMENT)
        units, rows = [], []
        for place in places:
            values = {
                "part": f"AB-{place}",
                "what": f"washer number {place % 977} of edition {edition}",
                "standard": f"NHS {100_000 + place % documents}",
                "supplier": f"Supplier {place % SUPPLIERS}",
                "mass": str(place % 331),
            }
            name, table = self.row_id(place, edition), f"parts_{place // ROWS_A_TABLE}"
            text = " ".join(values.values())
            units.append(
                _unit(name, domain="table", uri=f"lab/{table}", row_key=str(place), text=text)
            )
            rows.append(
                {
                    "row_id": name,
                    "source": "lab",
                    "table": table,
                    "title": table,
                    "row_key": str(place),
                    "pairs": [
                        {
                            "column": column,
                            "heading": column,
                            "value": value,
                            "numeric": column == "mass",
                            "hidden": False,
                        }
                        for column, value in values.items()
                    ],
                    "fingerprint": f"{place} {edition}",
                    "row_fingerprint": identity.fingerprint(text),
                }
            )
        self._append(self.tables.rows, units)
        schema = schemas.TABLE_ROWS
        table = pa.Table.from_pylist(rows, schema=schema)
        self.store.append(schemas.TABLE_ROWS_TABLE, table, schema=schema)

    def _append(self, name: str, listed: Sequence[dict]) -> None:
        schema = schemas.units(None)
        rows = pa.Table.from_pylist(listed, schema=schema)
        for table in (name, self.tables.joint):
            self.store.append(table, rows, schema=schema)


def _unit(name: str, *, text: str, **values: object) -> dict:
    given = {"unit_id": name, "text": text, "title": "", "source": "lab", "section": "", **values}
    empty = {"pages": [], "text_hash": name, "encoder_id": "", "windows": 1}
    marks = {"fingerprint": name, "row_fingerprint": identity.fingerprint(text)}
    return {**empty, **given, **marks}


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of all threads."""
    started = time.process_time()
    work()
    return time.process_time() - started


def stage_ms(corpus: Corpus, links: LinksInMemory, *, searches: int) -> list[float]:
    """The time of the stage in each of so many searches."""
    units = UnitTable(corpus.store.open(corpus.tables.joint))
    ids = sorted(units.names.values())
    draw = random.Random(0)

    def read(named: Sequence[str], columns: Sequence[str]) -> pa.Table:
        return units.read(named, columns=columns)

    asked = SimpleNamespace(
        links=lambda: links,
        read=read,
        permitted=lambda named: units.permitted(named, where=None),
        timed=lambda _: nullcontext(),
        followed={},
    )
    call = cast("SearchCall", asked)
    scores = tuple(float(LENGTH - place) for place in range(LENGTH))
    times = []
    for number in range(searches + 2):  # the first two load what later ones find in memory
        ranking = Ranking(tuple(draw.sample(ids, LENGTH)), scores)
        started = time.perf_counter()
        with_links(call, ["q"], [ranking], settings=LinkStage())
        if number > 1:
            times.append(1000 * (time.perf_counter() - started))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=300_000)
    parser.add_argument("--searches", type=int, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus(Path(folder), units=arguments.units)

        def refresh() -> None:
            report = refresh_unit_links(
                corpus.store, corpus.config, variant=VARIANT, log=lambda _: None
            )
            print(f"  {report.added:,} added, {report.removed:,} removed", flush=True)

        cold = seconds(refresh)
        print(f"names of {arguments.units:,} units: {cold:.1f} CPU s", flush=True)
        no_op = seconds(refresh)
        corpus.edit()
        edited = seconds(refresh)
        print(f"nothing changed {no_op:.3f} CPU s, 1 % changed {edited:.2f}", flush=True)
        pin = pin_of(corpus.store, corpus.tables.unit_links)
        started = time.process_time()

        def load_names(kinds: Sequence[str]) -> NamesInText:
            found = names_of(read_names_in_units(corpus.store, pin), kinds=kinds, synonyms={})
            return NamesInText(found, synonyms={})

        links = LinksInMemory(read_links(corpus.store, pin, synonyms={}), load_names=load_names)
        took = time.process_time() - started
        print(f"{len(links):,} links loaded in {took:.1f} CPU s", flush=True)
        started = time.process_time()
        named = len(links.names(LinkStage().in_text) or ())
        took = time.process_time() - started
        print(f"{named:,} names to be found in texts loaded in {took:.1f} CPU s", flush=True)
        times = stage_ms(corpus, links, searches=arguments.searches)
    median = statistics.median(times)
    print(f"the stage: {median:.2f} ms at the median, {max(times):.1f} ms at most")
    bounds = [
        at_most("nothing changed: CPU seconds", no_op, NO_OP_SECONDS),
        at_most("1 % changed: share of reading all", edited / cold, SHARE_OF_COLD),
        at_most("the stage of a search: ms at the median", median, STAGE_MS),
    ]
    finish("links_scale", bounds)


if __name__ == "__main__":
    main()
