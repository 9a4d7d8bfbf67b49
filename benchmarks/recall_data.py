"""The sources of `recall.py`, changes to them, and what became of an answer by them alone.

Three corpora: the demo, the English manuals of `plain_corpora` with lists in CSV files, and sheets
of machines that are written here (Markdown, HTML and PDF, with tables), with a purchasing database
of `other_hand`. Whether an answer is affected is told by these files and databases: words are
looked for in the files, cells are read with sqlite3 and csv, and plans are run by hand.
"""

import csv
import hashlib
import html
import json
import random
import re
import shutil
import sqlite3
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, median
from typing import TypeAlias

from bounds import REPOSITORY

from rag_assets.answering.record.kept import KeptAnswer
from rag_assets.citations.kinds import Absence, Cell, Citation, Computed, Rows, Span
from rag_assets_testing.documents.making import pdf
from rag_assets_testing.faults.project import age

CONFIG = """\
state_dir: state
groups: [staff, board]
sources:
  documents:
    - {name: demo, url: demo}
    - {name: manuals, url: manuals}
    - {name: plant, url: plant, groups: {"board/**": [board], "**": [staff, board]}}
  tables:
    - {name: materials, url: "sqlite:///materials.sqlite", headings_file: materials.csv}
    - {name: lists, url: lists}
    - name: purchasing
      url: sqlite:///purchasing.sqlite
      headings_file: purchasing.csv
      tables: [supp, item, scar]
chunkings: {other: {size: 96, overlap: 16}}
variants:
  default: {model: minilm}
  parsed: {parser: pdfium, model: minilm}
  chunked: {chunking: other, model: minilm}
  as_json: {serializer: json, model: minilm}
  embedded: {model: e5}
gate: {queries: 50}
"""
DATA, HERE = REPOSITORY / "data", Path(__file__).parent
MANUALS, PURCHASING = (
    HERE / "plain_corpora" / "english_manual",
    HERE / "other_hand" / "databases" / "kestrel_purchasing",
)
DEMO = ("guides", "memos", "reports", "specifications", "standards", "suppliers")
PURCHASED = ("supp", "item", "scar")
MACHINES = tuple(
    f"{how} {what}"
    for how in ("hydraulic", "vertical", "pneumatic", "rotary", "twin", "portable")
    for what in ("press", "lathe", "grinder", "conveyor", "mixer", "saw", "furnace")
)
PROPERTIES = (
    ("maximum pressure", "bar", "psi"),
    ("torque of the cover bolts", "Nm", "lbf ft"),
    ("temperature of the coolant", "°C", "°F"),
    ("oil change interval", "hours", "days"),
)
EVERYWHERE = "Only trained staff may work on this machine."
SECRET = 6
"""Every so many sheets are for the board alone."""
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|[<>≤≥±](?=\s?\d)")

Sees: TypeAlias = Callable[[str, str], bool]
"""Whether who asked sees a document, by its source and URI."""
Record: TypeAlias = dict[str, str | int | float | None]


def said(text: str) -> str:
    """The words of a text, in whatever markup, with blanks around each."""
    plain = html.unescape(re.sub(r"</?[a-zA-Z!][^>]*>", " ", text))
    return f" {' '.join(_WORD.findall(unicodedata.normalize('NFKC', plain).casefold()))} "


@dataclass(frozen=True)
class Sheet:
    """A sheet of a machine, in one revision."""

    number: int
    machine: str
    folder: str
    suffix: str
    sentences: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    """The header first."""
    revision: int = 0
    is_loose: bool = False
    """Whether it is set with other white space."""

    @property
    def uri(self) -> str:
        return f"{self.folder}/WS-{self.number}_rev_{self.letter}{self.suffix}"

    @property
    def letter(self) -> str:
        return chr(ord("A") + self.revision)

    @property
    def heads(self) -> tuple[str, ...]:
        number = f"WS-{self.number}"
        return (
            f"{number} Rev {self.letter}: {self.machine}",
            f"Document number: {number}",
            f"Revision: {self.letter}",
        )

    @property
    def text(self) -> str:
        return "\n".join((*self.heads, *self.sentences, *map(" ".join, self.table)))

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.suffix == ".md":
            path.write_text(self._markdown(), "utf-8")
        elif self.suffix == ".html":
            path.write_text(f"<!DOCTYPE html><html><body>{self._html()}</body></html>", "utf-8")
        else:
            pdf(path, [self._html()])
        age(path)

    def _paragraphs(self, gap: str) -> Iterator[str]:
        at_once = 3 if self.is_loose else 2
        for start in range(0, len(self.sentences), at_once):
            yield gap.join(self.sentences[start : start + at_once])

    def _markdown(self) -> str:
        title, *heads = self.heads
        rows = ["| " + " | ".join(row) + " |" for row in self.table]
        rows.insert(1, "|" + " --- |" * len(self.table[0]))
        gap = "\n" if self.is_loose else " "
        parts = [f"# {title}", *heads, "## Limits", *self._paragraphs(gap), "## Parts"]
        return "\n\n".join([*parts, "\n".join(rows)]) + "\n"

    def _html(self) -> str:
        title, *heads = self.heads
        gap = "\n   " if self.is_loose else " "
        rows = "".join(
            "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in self.table
        )
        parts = [f"<p>{each}</p>" for each in (*heads, *self._paragraphs(gap))]
        parts.insert(len(heads), "<h2>Limits</h2>")
        return f"<h1>{title}</h1>{''.join(parts)}<h2>Parts</h2><table border=1>{rows}</table>"


def sheets() -> Iterator[Sheet]:
    """The sheets as they are first, of machines that each have their own values."""
    for place, machine in enumerate(MACHINES):
        number = 101 + place
        values = [(place * 7 + 11 * each) % 90 + 10 for each in range(len(PROPERTIES))]
        facts = [
            f"The {name} of the {machine} is {value} {unit}."
            for (name, unit, _), value in zip(PROPERTIES, values, strict=True)
        ]
        yield Sheet(
            number=number,
            machine=machine,
            folder="board" if place % SECRET == 0 else f"hall{place % 3}",
            suffix=(".md", ".html", ".md", ".pdf")[place % 4],
            sentences=(
                *facts,
                f"The guard of the {machine} must not be opened while the spindle turns.",
                EVERYWHERE,
                f"This sheet is valid from 2024-03-{place % 28 + 1:02}.",
            ),
            table=(
                ("Part", "Torque [Nm]", "Mass [kg]"),
                (f"flange bolt {number}", str(20 + place), f"0.{place + 10}"),
                (f"hinge pin {number}", str(70 + place), f"1.{place + 10}"),
                (f"drive shaft {number}", str(170 + place), f"9.{place + 10}"),
            ),
        )


@dataclass(frozen=True)
class Raw:
    """What all sources say at one time."""

    texts: Mapping[tuple[str, str], str]
    """The words of each document; none of a PDF of the demo, which nobody edits."""
    hashes: Mapping[tuple[str, str], str]
    tables: Mapping[tuple[str, str], Sequence[Record]]
    units: Mapping[tuple[str, str, str], str]
    sheets: Mapping[str, Sheet]

    def newest(self, uri: str, sees: Sees) -> str | None:
        """The newest revision of a sheet that is seen; None where it is no sheet."""
        if uri not in self.sheets:
            return None
        number = self.sheets[uri].number
        versions = [each for each in self.sheets.values() if each.number == number]
        seen = [each for each in versions if sees("plant", each.uri)]
        return max(seen, key=lambda each: each.revision).uri if seen else None

    def holds(self, name: str, sees: Sees, *, source: str | None) -> bool:
        """Whether a document that is seen, or a row, holds a name."""
        wanted = said(name)
        sources = {source} if source else {place for place, _ in (*self.texts, *self.tables)}
        seen = [text for place, text in self.texts.items() if sees(*place) and place[0] in sources]
        rows = (row for place, own in self.tables.items() if place[0] in sources for row in own)
        cells = (said(str(cell)) for row in rows for cell in row.values())
        return any(wanted in text for text in (*seen, *cells))


@dataclass
class World:
    """The sources in a folder."""

    home: Path
    random: random.Random
    sheets: dict[str, Sheet] = field(default_factory=dict)
    keys: dict[tuple[str, str], str] = field(default_factory=dict)
    """The key column of each table that has one."""
    edits: list[tuple[str, str, str]] = field(default_factory=list)
    """Source, URI and the words of before, of each edit of a text of the last batch."""
    absent: list[str] = field(default_factory=list)
    """Codes that were asked for and are nowhere yet."""

    @property
    def file(self) -> Path:
        return self.home / "rag_assets.yaml"

    def write(self) -> None:
        """Lay all sources down."""
        self.file.write_text(CONFIG)
        for name in DEMO:
            shutil.copytree(DATA / "documents" / name, self.home / "demo" / name)
        shutil.copytree(MANUALS / "docs", self.home / "manuals")
        shutil.copy(DATA / "materials.sqlite", self.home)
        lines = (DATA / "headings.csv").read_text("utf-8")
        (self.home / "materials.csv").write_text(lines, "utf-8")
        shutil.copy(PURCHASING / "kestrel_purchasing.sqlite", self.home / "purchasing.sqlite")
        columns = json.loads((PURCHASING / "columns.json").read_text("utf-8"))
        rows = [
            [table, name, each.get("description") or name, each.get("unit") or ""]
            for table in PURCHASED
            for name, each in columns[table]["columns"].items()
        ]
        self._write_csv(self.home / "purchasing.csv", [HEADINGS, *rows])
        lists = self.home / "lists"
        lists.mkdir()
        shutil.copy(MANUALS / "tables" / "cars.csv", lists)
        prices = [["article", "price [EUR]", "mass [kg]", "checked on", "remark"]]
        for place, machine in enumerate(MACHINES):
            price, mass = 100 + 13 * place, "" if place % 7 == 3 else f"{place}.5"
            day = f"2025-0{place % 9 + 1}-1{place % 9}"
            prices.append(
                [f"spare kit {machine}", str(price), mass, day, "" if place % 5 else "old"]
            )
        self._write_csv(lists / "prices.csv", [*prices, prices[4], prices[9]])  # some stand twice
        for each in sheets():
            self.put(each)
        for path in self.home.rglob("*"):
            if path.is_file():
                age(path)

    def remember(self) -> None:
        """Know the sources that `write` laid down."""
        self.sheets = {each.uri: each for each in sheets()}
        for source in ("materials", "purchasing"):
            with closing(sqlite3.connect(self.home / f"{source}.sqlite")) as database:
                for table in _names_of(database, source):
                    columns = database.execute(f'PRAGMA table_info("{table}")').fetchall()
                    [self.keys[source, table]] = [each[1] for each in columns if each[5]]

    def put(self, sheet: Sheet) -> None:
        self.sheets[sheet.uri] = sheet
        sheet.write(self.home / "plant" / sheet.uri)

    def raw(self) -> Raw:
        """What all sources say now."""
        texts, hashes = {}, {}
        for source in ("demo", "manuals", "plant"):
            folder = self.home / source
            for path in sorted(filter(Path.is_file, folder.rglob("*"))):
                place = (source, path.relative_to(folder).as_posix())
                hashes[place] = hashlib.sha256(path.read_bytes()).hexdigest()
                is_text = path.suffix in (".md", ".html", ".txt")
                texts[place] = said(path.read_text("utf-8")) if is_text else ""
        texts |= {("plant", uri): said(each.text) for uri, each in self.sheets.items()}
        tables: dict[tuple[str, str], Sequence[Record]] = {}
        for source in ("materials", "purchasing"):
            with closing(sqlite3.connect(self.home / f"{source}.sqlite")) as database:
                database.row_factory = sqlite3.Row
                for table in _names_of(database, source):
                    rows = database.execute(f'SELECT * FROM "{table}"').fetchall()
                    tables[source, table] = [dict(row) for row in rows]
        units = {
            (source, row[0], row[1]): row[3]
            for source in ("materials", "purchasing")
            for row in self._read_csv(self.home / f"{source}.csv")[1:]
        }
        for path in (self.home / "lists").iterdir():
            header, *rows = self._read_csv(path)
            tables["lists", path.stem] = [
                {_plain(name): cell for name, cell in zip(header, row, strict=True)} for row in rows
            ]
            units |= {("lists", path.stem, _plain(name)): name for name in header}
        return Raw(texts, hashes, tables, units, dict(self.sheets))

    # Changes: each returns whether it was made.

    def edit_sheet(self, uri: str, change: Callable[[str], str], *, about: str) -> bool:
        """Change the first sentence of a sheet that `change` changes and whose words are cited."""
        sheet = self.sheets[uri]
        for place, sentence in enumerate(sheet.sentences):
            if said(sentence) in said(about) and change(sentence) != sentence:
                new = list(sheet.sentences)
                new[place] = change(sentence)
                self.edits.append(("plant", uri, sentence))
                self.put(replace(sheet, sentences=tuple(new)))
                return True
        return False

    def edit_part(self, uri: str) -> bool:
        """Change a cell of the table inside a sheet."""
        sheet = self.sheets[uri]
        rows = [list(row) for row in sheet.table]
        row, column = self.random.randrange(1, len(rows)), self.random.randrange(1, 3)
        self.edits.append(("plant", uri, " ".join(rows[row])))
        rows[row][column] = _moved(rows[row][column])
        self.put(replace(sheet, table=tuple(map(tuple, rows))))
        return True

    def edit_file(self, source: str, uri: str, about: str) -> bool:
        """Reverse some cited words of a text file, or change a number in them."""
        path = self.home / source / uri
        if path.suffix not in (".md", ".html", ".txt"):
            return False
        text, words = path.read_text("utf-8"), about.split()
        for start in range(max(1, len(words) - 4)):
            part = " ".join(words[start : start + 5])
            if len(part) > 15 and text.count(part) == 1 and not re.search(r"[<>&|]", part):
                number = re.search(r"\d+", part)
                first, _, rest = part.partition(" ")
                new = (
                    part.replace(number[0], _moved(number[0]), 1)
                    if number
                    else f"{first} not {rest}"
                )
                path.write_text(text.replace(part, new), "utf-8")
                age(path)
                self.edits.append((source, uri, part))
                return True
        return False

    def say_absent(self, uri: str) -> bool:
        """Let a sheet name a code that was nowhere."""
        if not self.absent:
            return False
        sheet = self.sheets[uri]
        words = f"It takes the seal {self.absent.pop()}."
        self.put(replace(sheet, sentences=(*sheet.sentences, words)))
        return True

    def edit_cell(self, source: str, table: str, row_key: str, column: str) -> bool:
        if column == self.keys.get((source, table)):
            return False
        if source == "lists":
            path = self.home / "lists" / f"{table}.csv"
            rows = self._read_csv(path)
            place = [_plain(name) for name in rows[0]].index(_plain(column))
            rows[int(row_key)][place] = _moved(rows[int(row_key)][place])
            self._write_csv(path, rows)
            return True
        key = self.keys[source, table]
        with self._database(source) as database:
            where = f'FROM "{table}" WHERE "{key}" = ?'
            found = database.execute(f'SELECT "{column}" {where}', [row_key]).fetchone()
            if found is None:
                return False
            new = _moved(str(found[0])) if found[0] is not None else "1"
            new = type(found[0])(new) if isinstance(found[0], int | float) else new
            set_ = f'UPDATE "{table}" SET "{column}" = ? WHERE "{key}" = ?'
            database.execute(set_, [new, row_key])
        return True

    def delete_row(self, source: str, table: str, row_key: str) -> bool:
        if source == "lists":
            path = self.home / "lists" / f"{table}.csv"
            rows = self._read_csv(path)
            del rows[int(row_key)]
            self._write_csv(path, rows)
            return True
        with self._database(source) as database:
            key = self.keys[source, table]
            gone = database.execute(f'DELETE FROM "{table}" WHERE "{key}" = ?', [row_key])
            return gone.rowcount == 1

    def rename_unit(self, source: str, table: str, column: str) -> bool:
        path = self.home / (f"lists/{table}.csv" if source == "lists" else f"{source}.csv")
        rows = self._read_csv(path)
        if source == "lists":
            places = [place for place, name in enumerate(rows[0]) if _plain(name) == column]
            if not places or "[" not in rows[0][places[0]]:
                return False
            name = rows[0][places[0]]
            rows[0][places[0]] = name.replace("[EUR]", "[SEK]").replace("[kg]", "[lb]")
            if rows[0][places[0]] == name:
                return False
        else:
            found = next((row for row in rows if row[:2] == [table, column] and row[3]), None)
            if found is None or found[3] not in OTHER_UNITS:
                return False
            found[3] = OTHER_UNITS[found[3]]
        self._write_csv(path, rows)
        return True

    def supersede(self, uri: str) -> bool:
        """Write the next revision of a sheet: half of its facts are others, and a part."""
        sheet = self.sheets[uri]
        if self.raw_newest(sheet) != uri:
            return False
        new = [
            _renumbered(sentence) if place % 2 == 0 and " is " in sentence else sentence
            for place, sentence in enumerate(sheet.sentences)
        ]
        header, first, *rows = sheet.table
        table = (header, (first[0], _moved(first[1]), first[2]), *rows)
        self.put(replace(sheet, sentences=tuple(new), table=table, revision=sheet.revision + 1))
        return True

    def raw_newest(self, sheet: Sheet) -> str:
        own = [each for each in self.sheets.values() if each.number == sheet.number]
        return max(own, key=lambda each: each.revision).uri

    # Changes that change nothing of what is said.

    def places_of(self, source: str, uri: str) -> list[str]:
        """The documents that have to move with one: its versions, or all of its folder."""
        if sheet := self.sheets.get(uri):
            return [each.uri for each in self.sheets.values() if each.number == sheet.number]
        path = self.home / source / uri
        if source != "demo":
            return [uri] if path.exists() else []
        files = path.parent.glob("*") if path.exists() else ()
        return [each.relative_to(self.home / source).as_posix() for each in files if each.is_file()]

    def replaced_sheets(self) -> list[str]:
        """Revisions of sheets that have a newer one beside them."""
        return [
            uri
            for uri, sheet in self.sheets.items()
            if "archive" not in sheet.folder and uri != self.raw_newest(sheet)
        ]

    def move(self, source: str, uri: str, to: str) -> None:
        path = self.home / source / to
        path.parent.mkdir(parents=True, exist_ok=True)
        (self.home / source / uri).rename(path)
        if sheet := self.sheets.pop(uri, None):
            self.sheets[to] = replace(sheet, folder=Path(to).parent.as_posix())

    def set_otherwise(self, source: str, uri: str) -> None:
        """Set a text with other white space."""
        if uri in self.sheets:
            self.put(replace(self.sheets[uri], is_loose=not self.sheets[uri].is_loose))
            return
        path = self.home / source / uri
        lines = path.read_text("utf-8").splitlines()
        if path.suffix == ".html":
            text = "\n".join(f"  {line}" for line in lines).replace("</p>", "</p>\n\n")
        else:
            text = "\n".join(
                line.replace(". ", ".  ") if line[:1].isalpha() else line for line in lines
            )
        path.write_text(f"{text}\n\n", "utf-8")
        age(path)

    def reorder(self, source: str, table: str) -> None:
        if source == "lists":
            path = self.home / "lists" / f"{table}.csv"
            header, *rows = self._read_csv(path)
            self.random.shuffle(rows)
            self._write_csv(path, [header, *rows])
            return
        with self._database(source) as database:
            rows = database.execute(f'SELECT * FROM "{table}"').fetchall()
            self.random.shuffle(rows)
            database.execute(f'DELETE FROM "{table}"')
            marks = ", ".join("?" * len(rows[0]))
            database.executemany(f'INSERT INTO "{table}" VALUES ({marks})', rows)

    def _database(self, source: str) -> "_Changing":
        return _Changing(self.home / f"{source}.sqlite")

    def _read_csv(self, path: Path) -> list[list[str]]:
        with path.open(newline="", encoding="utf-8") as file:
            return [*csv.reader(file)]

    def _write_csv(self, path: Path, rows: Sequence[Sequence[str]]) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
        age(path)


HEADINGS = ["table", "column", "heading", "unit"]
OTHER_UNITS = {
    "MPa": "ksi", "°C": "°F", "mm": "in", "%": "‰", "h": "min", "weeks": "days", "t": "lb",
    "g/cm³": "kg/m³", "GPa": "Mpsi", "µm": "mil", "kJ/m²": "J/m²", "J": "ft lbf", "g/m²": "oz/ft²",
    "EUR": "SEK", "d": "weeks", "g": "kg", "min": "s", "V": "kV", "kg CO2e": "t CO2e",
}  # fmt: skip


class _Changing:
    """A database whose changes are committed, and seen as a change of a while ago."""

    def __init__(self, path: Path) -> None:
        self._path, self._open = path, sqlite3.connect(path)

    def __enter__(self) -> sqlite3.Connection:
        return self._open

    def __exit__(self, *_: object) -> None:
        self._open.commit()
        self._open.close()
        age(self._path)


def _names_of(database: sqlite3.Connection, source: str) -> list[str]:
    named = "SELECT name FROM sqlite_master WHERE type = 'table'"
    names = [name for (name,) in database.execute(named)]
    return [name for name in names if source == "materials" or name in PURCHASED]


def _plain(name: str) -> str:
    return re.sub(r"\s*\[.*\]$", "", name)


def _moved(value: str) -> str:
    """Another value of the same kind."""
    try:
        number = float(value)
    except ValueError:
        return f"{value} B"
    return (
        str(int(number) + 7) if number == int(number) and "." not in value else f"{number + 7:.2f}"
    )


def _renumbered(sentence: str) -> str:
    return re.sub(r"\d+", lambda found: str(int(found[0]) + 7), sentence, count=1)


def renumbered(sentence: str) -> str:
    """A fact with another value."""
    return _renumbered(sentence) if re.search(r" is \d", sentence) else sentence


def reversed_(sentence: str) -> str:
    """What must not be is allowed, what may be is not."""
    if " must not " in sentence:
        return sentence.replace(" must not ", " may ")
    return sentence.replace(" may ", " must not ").replace(" is valid", " is not valid")


def with_other_unit(sentence: str) -> str:
    """A fact in another unit."""
    for _, unit, other in PROPERTIES:
        if sentence.endswith(f" {unit}."):
            return f"{sentence.removesuffix(f'{unit}.')}{other}."
    return sentence


@dataclass(frozen=True)
class Truth:
    """What a batch of changes did to answers, by the sources before and after it."""

    before: Raw
    after: Raw
    keys: Mapping[tuple[str, str], str]
    edits: Sequence[tuple[str, str, str]]
    plans: Mapping[str, Mapping]
    """The plan of each question that was made of one."""

    def affects(self, kept: KeptAnswer, sees: Sees) -> bool:
        """Whether something that an answer says is no longer so."""
        filters = kept.context.filters
        asks_all = filters is not None and filters.versions == "all"
        plan = self.plans.get(kept.answer.question)
        told = plan if plan is not None and self._is_told(plan, kept) else None
        if told and self._result(told, self.before) != self._result(told, self.after):
            return True
        for sentence in kept.answer.sentences:
            is_computed = any(isinstance(each, Computed) for each in sentence.citations)
            for each in sentence.citations:
                if isinstance(each, Rows) and is_computed:
                    continue
                if self._changed(each, sees, asks_all=asks_all, kept=kept):
                    return True
        return False

    def _is_told(self, plan: Mapping, kept: KeptAnswer) -> bool:
        """Whether an answer tells exactly the rows of a plan, one by one."""
        key = self.keys.get((plan["source"], plan["table"]))
        cited = {each.row_key for each in kept.answer.citations if isinstance(each, Cell)}
        if key is None or kept.answer.outcome != "computed" or plan["operation"] != "rows":
            return False
        return cited == {str(row[key]) for row in self._rows_of(plan, self.before)}

    def _changed(self, cited: Citation, sees: Sees, *, asks_all: bool, kept: KeptAnswer) -> bool:
        match cited:
            case Span():
                return self._span(cited, sees, asks_all=asks_all)
            case Cell():
                return self._cell(cited, sees, asks_all=asks_all, kept=kept)
            case Absence(plan=None):
                source = kept.context.filters.source if kept.context.filters else None
                return self.after.holds(cited.looked_for, sees, source=source)
        plan = cited.plan
        assert plan is not None, "an absence without a plan came before"
        was, now = self._as_seen(plan, sees, asks_all=asks_all)
        return self._result(plan, was) != self._result(plan, now)

    def _span(self, cited: Span, sees: Sees, *, asks_all: bool) -> bool:
        words, own = said(cited.text), (cited.source, cited.uri)
        newest = self._places(*own, sees, asks_all=asks_all)
        return self._are_lost(words, own, own) or self._are_lost(words, *newest)

    def _are_lost(self, words: str, was: tuple[str, str], now: tuple[str, str]) -> bool:
        """Whether a document does not say any more what another one, or it, said before."""
        if now not in self.after.hashes:
            return True
        if was == now and self.before.hashes[was] == self.after.hashes[now]:
            return False
        if words in self.before.texts[was]:  # else a parser made something else of it
            return words not in self.after.texts[now]
        return any(each[:2] in (was, now) and said(each[2]) in words for each in self.edits)

    def _places(
        self, source: str, uri: str, sees: Sees, *, asks_all: bool
    ) -> tuple[tuple[str, str], tuple[str, str]]:
        """The document whose words count for one that is cited, before the batch and after it.

        Of a sheet it is the newest revision, unless all revisions were asked for.
        """
        if source != "plant" or asks_all:
            return (source, uri), (source, uri)
        was, now = (raw.newest(uri, sees) or uri for raw in (self.before, self.after))
        return (source, was), (source, now)

    def _as_seen(self, plan: Mapping, sees: Sees, *, asks_all: bool) -> list[Raw]:
        """The sources of before and after, in which a sheet is as its newest revision."""
        source, uri = str(plan["source"]), str(plan["table"]).partition("#")[0]
        places = self._places(source, uri, sees, asks_all=asks_all)
        return [
            replace(raw, sheets={**raw.sheets, uri: raw.sheets[newest]})
            if newest in raw.sheets
            else raw
            for raw, (_, newest) in zip((self.before, self.after), places, strict=True)
        ]

    def _cell(self, cited: Cell, sees: Sees, *, asks_all: bool, kept: KeptAnswer) -> bool:
        key = (cited.source, cited.table)
        if "#" in cited.table:
            uri = cited.table.partition("#")[0]
            places = self._places(cited.source, uri, sees, asks_all=asks_all)
            was, now = (
                _part(raw.sheets.get(place), cited)
                for raw, (_, place) in zip((self.before, self.after), places, strict=True)
            )
            return was != now
        column = _plain(cited.column)
        units = [raw.units.get((*key, column)) for raw in (self.before, self.after)]
        if units[0] != units[1]:
            return True
        if key not in self.keys:
            was_row = described(kept, cited, self.before)
            named = {
                each.row_key
                for each in kept.answer.citations
                if isinstance(each, Cell)
                and (each.source, each.table) == key
                and described(kept, each, self.before) == was_row
            }
            # Rows that stand twice are told apart by nothing: as many as are cited have to stay.
            return sum(_are_equal(was_row, row) for row in self.after.tables[key]) < len(named)
        was, now = (self._row(raw, key, cited.row_key) for raw in (self.before, self.after))
        return was is None or now is None or was[column] != now[column]

    def _row(self, raw: Raw, key: tuple[str, str], row_key: str) -> Record | None:
        return next((row for row in raw.tables[key] if str(row[self.keys[key]]) == row_key), None)

    def _rows_of(self, plan: Mapping, raw: Raw) -> list[Record]:
        rows = raw.tables[plan["source"], plan["table"]]
        return _ordered(plan, [row for row in rows if all(_meets(row, e) for e in plan["where"])])

    def _result(self, plan: Mapping, raw: Raw) -> object:
        """What a plan gives, computed by hand."""
        source, table = str(plan["source"]), str(plan["table"])
        units: Mapping[str, str | None] = {}
        if "#" in table:
            sheet = raw.sheets.get(table.partition("#")[0])
            header, *body = sheet.table if sheet else ((),)
            rows: Sequence[Record] = [
                defaultdict(
                    str, {_plain(name): cell for name, cell in zip(header, row, strict=True)}
                )
                for row in body
            ]
            units = {_plain(name): name for name in header}
        else:
            rows = raw.tables[source, table]
            units = {
                each[2]: unit for each, unit in raw.units.items() if each[:2] == (source, table)
            }
        chosen = [row for row in rows if all(_meets(row, each) for each in plan["where"])]
        key = self.keys.get((source, table))
        names = [plan.get("column"), *(each["column"] for each in plan["where"])]
        measured = [units.get(_plain(name)) for name in names if name]
        if plan.get("group_by"):
            groups = {row[_plain(plan["group_by"])] for row in chosen}
            of = {
                str(each): _aggregate(
                    plan, [row for row in chosen if row[_plain(plan["group_by"])] == each]
                )
                for each in groups
            }
            return sorted(of.items()), measured
        if plan["operation"] != "rows":
            return _aggregate(plan, chosen), measured
        chosen = _ordered(plan, chosen)
        named = [_plain(each) for each in plan["columns"]] + ([key] if key else [])
        shown = Counter(tuple(str(row[name]) for name in named) for row in chosen)
        units_shown = [*measured, *(units.get(name) for name in named)]
        return len(chosen), sorted(shown.items()), units_shown


def _ordered(plan: Mapping, chosen: list[Record]) -> list[Record]:
    """The rows that a plan takes of those that meet its conditions."""
    if order := plan.get("order_by"):
        order = _plain(order)
        chosen = [row for row in chosen if _number(row[order]) is not None]
        chosen.sort(key=lambda row: _number(row[order]) or 0, reverse=plan["descending"])
        if (limit := plan.get("limit")) and len(chosen) > limit:
            last = chosen[limit - 1][order]
            chosen = [*chosen[:limit], *(row for row in chosen[limit:] if row[order] == last)]
    return chosen


def described(kept: KeptAnswer, cited: Cell, raw: Raw) -> Record:
    """What an answer says of the row of a cell, whose table has no key: its cells and its name."""
    cells = [
        each
        for each in kept.answer.citations
        if isinstance(each, Cell) and each.row_key == cited.row_key
    ]
    found: Record = {_plain(each.column): str(each.value) for each in cells}
    about = said(" ".join([kept.answer.question, *(each.text for each in kept.answer.sentences)]))
    for row in raw.tables[cited.source, cited.table]:
        name, value = next(iter(row.items()))
        if _are_equal(found, row) and said(str(value)) in about:
            return {name: value, **found}
    return found


def place_of(kept: KeptAnswer, cited: Cell, raw: Raw) -> int | None:
    """The place of such a row, from 1."""
    wanted = described(kept, cited, raw)
    rows = enumerate(raw.tables[cited.source, cited.table], start=1)
    return next((place for place, row in rows if _are_equal(wanted, row)), None)


def _are_equal(wanted: Record, row: Record) -> bool:
    """Whether a row has all the cells that are wanted."""
    return all(_plainly(value) == _plainly(row.get(column, "")) for column, value in wanted.items())


def _plainly(value: object) -> float | str:
    number = _number(value)
    return said(str(value)) if number is None else number


def _part(sheet: Sheet | None, cited: Cell) -> tuple[str, str] | None:
    """A cell of the table inside a sheet, with the heading that has its unit."""
    if sheet is None or int(cited.row_key) >= len(sheet.table):
        return None
    header = sheet.table[0]
    plain = [_plain(each) for each in header]
    if _plain(cited.column) not in plain:  # a parser read the heading otherwise: all of the row
        return " ".join(sheet.table[int(cited.row_key)]), ""
    place = plain.index(_plain(cited.column))
    return sheet.table[int(cited.row_key)][place], header[place]


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def _meets(row: Record, condition: Mapping) -> bool:
    value, op, wanted = row[_plain(condition["column"])], condition["op"], condition["values"]
    is_empty = value is None or not str(value).strip()
    if op in ("empty", "not_empty") or is_empty:
        return is_empty == (op == "empty") if op in ("empty", "not_empty") else False
    number, others = _number(value), [_number(each) for each in wanted]
    if number is not None and None not in others:
        here, there = number, [each for each in others if each is not None]
    else:
        here, there = (
            str(value).strip().casefold(),
            [str(each).strip().casefold() for each in wanted],
        )
    match op:
        case "=":
            return here == there[0]
        case "!=":
            return here != there[0]
        case "in":
            return here in there
        case "contains":
            return str(there[0]) in str(here)
        case "between":
            return there[0] <= here <= there[1]  # ty: ignore[unsupported-operator]
        case "<":
            return here < there[0]  # ty: ignore[unsupported-operator]
        case "<=":
            return here <= there[0]  # ty: ignore[unsupported-operator]
        case ">":
            return here > there[0]  # ty: ignore[unsupported-operator]
    return here >= there[0]  # ty: ignore[unsupported-operator]


def _aggregate(plan: Mapping, rows: Sequence[Record]) -> object:
    operation = plan["operation"]
    column = _plain(plan["column"]) if plan.get("column") else None
    if column is None:
        return len(rows)
    filled = (row[column] for row in rows if row[column] is not None)
    cells = [each for each in filled if str(each).strip()]
    if operation == "count":
        return len(cells)
    if operation == "distinct":
        return len({str(each).casefold() for each in cells})
    numbers = [number for each in cells if (number := _number(each)) is not None]
    others = [_number(row[_plain(plan["other"])]) for row in rows] if plan.get("other") else []
    if not numbers:
        return None
    match operation:
        case "max":
            return max(numbers)
        case "min":
            return min(numbers)
        case "mean":
            return round(fmean(numbers), 9)
        case "median":
            return median(numbers)
        case "sum":
            return round(sum(numbers), 9)
    return sorted(numbers), others
