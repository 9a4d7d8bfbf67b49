"""Tables with totals, units, notes and the like beside their records, and honest ones like them.

usage: table_reading.py [--split dev|test|both] [--show]

150 odd tables and 150 honest ones in CSV, XLSX and DOCX, in five languages, were written by
someone who had not read the code (`table_reading/README.md`). Each is written to a file and read as
the product reads it: CSV and XLSX are exported, the table of a document is asked. Right are the
records that stand in the file, with their headings and units, and nothing else; a wrong table
counts as told where what is said of it names the line or the mark that was taken for something
else.
"""

import argparse
import gzip
import json
import re
import sys
import tempfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bounds import Bound, at_least, at_most, equal, finish
from written_tables import write

from rag_assets.columns import numerals
from rag_assets.config import TableSource
from rag_assets.sources.exports import refresh_exports
from rag_assets.store import Store
from rag_assets.table_lookup.tables.document_tables import grid_of
from rag_assets.table_lookup.tables.headings import words_and_unit

DATA = Path(__file__).resolve().parent / "table_reading" / "tables.jsonl.gz"
LEAST_RIGHT = 0.95
MOST_UNTOLD = 2
_DAY_FIRST = re.compile(r"(\d{1,2})[./-](\d{1,2})[./-](\d{4})(.*)")


@dataclass(frozen=True, slots=True)
class Found:
    """What was read of a table."""

    headings: Sequence[str] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    records: Sequence[Sequence[str | None]] = ()
    told: str = ""


def tables(split: str) -> list[dict]:
    """The tables of the set."""
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [each for each in found if each["split"] == split]


def read_files(chosen: Sequence[dict], home: Path) -> Mapping[str, Found]:
    """What the exports hold of the CSV and XLSX files."""
    folder = home / "lists"
    names = {_written(each, folder).stem: each["name"] for each in chosen}
    log: list[str] = []
    done = refresh_exports(
        Store(home / "state"),
        TableSource(url=str(folder), name="lists"),
        allow_shrink=False,
        log=log.append,
    )
    found = {}
    for item in done:
        name = names[item.table]
        reasons = " ".join(failure.reason for failure in item.report.failures)
        if item.exported is None:
            found[name] = Found(told=reasons)
            continue
        about, rows = item.exported.about, item.exported.first_rows(10_000)
        shown = {beside for beside in about.shown.values() if beside}
        kept = [
            each
            for each in rows.column_names
            if each not in shown and about.headings.get(each) != "unit"
        ]
        headed = [words_and_unit(about.headings.get(each, each), is_numeric=True) for each in kept]
        beside = [about.shown.get(each) or each for each in kept]
        plain = [rows[each].to_pylist() for each in kept]
        texts = [rows[each].to_pylist() for each in beside]
        said = [line for line in log if f"/{item.table}" in line or f"{item.table}." in line]
        found[name] = Found(
            headings=kept,
            units={each: unit for each, (_, unit) in zip(kept, headed, strict=True) if unit},
            records=[
                [_both(one, other) for one, other in zip(row, more, strict=True)]
                for row, more in zip(
                    zip(*plain, strict=True), zip(*texts, strict=True), strict=True
                )
            ],
            told=" ".join([*about.read.values(), *said, reasons]),
        )
    return found


def _written(table: Mapping, folder: Path) -> Path:
    """The file of a table, its formulas with results that need not be computed again."""
    path = write(table, folder)
    if path.suffix == ".xlsx":  # openpyxl asks for that; a spreadsheet program has computed them
        with zipfile.ZipFile(path) as book:
            parts = {name: book.read(name) for name in book.namelist()}
        name = "xl/workbook.xml"
        parts[name] = parts[name].replace(b' fullCalcOnLoad="1"', b"")
        with zipfile.ZipFile(path, "w") as book:
            for part, content in parts.items():
                book.writestr(part, content)
    return path


def _both(value: object, shown: object) -> str | None:
    if value is None:
        return None
    text = str(value)
    return text if shown is None or str(shown) == text else f"{text}\t{shown}"


def read_documents(chosen: Sequence[dict], home: Path) -> Mapping[str, Found]:
    """What lookups hold of the tables inside documents."""
    from rag_assets.documents.elements.element import from_json
    from rag_assets.documents.parsers.office import docling_office

    found = {}
    for each in chosen:
        path = write(each, home / "documents")
        elements = from_json(docling_office.parse(str(path), None))
        grids = [
            grid
            for element in elements
            if element.type == "table"
            if (grid := grid_of(element.text))
        ]
        if not grids:
            found[each["name"]] = Found(told="no sound table")
            continue
        [grid] = grids
        headed = [words_and_unit(heading, is_numeric=True) for heading in grid.header]
        found[each["name"]] = Found(
            headings=[
                words if heading.endswith("]") else heading
                for heading, (words, _) in zip(grid.header, headed, strict=True)
            ],
            units={
                (words if heading.endswith("]") else heading): unit
                for heading, (words, unit) in zip(grid.header, headed, strict=True)
                if unit
            },
            records=[[cell or None for cell in row] for row in grid.rows],
            told=grid.told,
        )
    return found


def _folded(text: str) -> str:
    return " ".join(text.split())


def _is_equal(found: str | None, expected: str | None) -> bool:
    if found is None or not expected:
        return not found and not expected
    return any(_is_same(_folded(each), _folded(expected)) for each in found.split("\t"))


def _is_same(found: str, expected: str) -> bool:
    if found == expected or found.casefold() == expected.casefold():
        return True
    numbers = {
        Decimal(plain) for mark in numerals.PATTERNS if (plain := numerals.plain(expected, mark))
    }
    try:
        if Decimal(found) in numbers:
            return True
    except ArithmeticError:
        pass
    if dated := _DAY_FIRST.fullmatch(expected):
        day, month, year, rest = dated.groups()
        iso = {f"{year}-{month:>02}-{day:>02}", f"{year}-{day:>02}-{month:>02}"}
        return found[:10] in iso and (bool(rest) or found[10:] in ("", " 00:00:00"))
    return found.removesuffix(" 00:00:00") == expected or found.removesuffix(":00") == expected


def differences(table: Mapping, found: Found) -> Iterator[str]:
    """What is other than it should be."""
    headings = [_folded(each) for each in found.headings]
    columns = list(table["headings"])
    places = []
    for heading in columns:
        if heading not in headings:
            yield f"the heading {heading!r} is not among {headings}"
            return
        places.append(headings.index(heading))
    if extra := len(headings) - len(columns):
        yield f"{extra} columns too many: {headings}"
    left = [[row[place] for place in places] for row in found.records]
    for record in table["records"]:
        match = next((row for row in left if all(map(_is_equal, row, record))), None)
        if match is None:
            yield f"no record {record}"
        else:
            left.remove(match)
    yield from (f"no record is {row}" for row in left)
    units = {_folded(name): unit for name, unit in found.units.items()}
    for name, unit in table.get("units", {}).items():
        if table["kind"] == "line of units" and units.get(name) != unit:
            yield f"the unit of {name} is {units.get(name)}, not {unit}"


def is_told(table: Mapping, found: Found) -> bool:
    """Whether what is said of a wrong table names a line or a mark that was mistaken."""
    marks = [mark for each in table["beside"] for mark in each.get("marks", ())]
    lines = [line for each in table["beside"] for line in each.get("lines", ())]
    named = {int(number) for number in re.findall(r"\d+", found.told)}
    return (
        any(repr(mark) in found.told for mark in marks)
        or (bool(lines) and bool(named & set(lines)))
        or "no sound table" in found.told
        or "left out" in found.told
    )


def measured(split: str, *, shows: bool) -> Iterator[Bound]:
    """The bounds of one part of the set."""
    chosen = tables(split)
    with tempfile.TemporaryDirectory(prefix="table_reading") as folder:
        home = Path(folder)
        found = {
            **read_files([each for each in chosen if each["format"] != "docx"], home),
            **read_documents([each for each in chosen if each["format"] == "docx"], home),
        }
    right: Counter[str] = Counter()
    wrong: dict[str, list[str]] = defaultdict(list)
    untold = 0
    for table in chosen:
        amiss = [*differences(table, found[table["name"]])]
        if not amiss:
            right[table["kind"]] += 1
            continue
        told = is_told(table, found[table["name"]])
        untold += not told
        wrong[table["kind"]].append(
            f"{table['name']}.{table['format']}{'' if told else ' (untold)'}"
        )
        if shows:
            print(f"  {wrong[table['kind']][-1]}: {'; '.join(amiss[:3])[:300]}")
            print(f"     {found[table['name']].told[:400]}")
    for kind in sorted({table["kind"] for table in chosen}):
        names = f"  wrong: {', '.join(wrong[kind])}" if wrong[kind] and shows else ""
        print(f"{right[kind]:4} of {right[kind] + len(wrong[kind]):4} {kind}{names}")
    odd = [table for table in chosen if table["kind"] != "honest"]
    yield at_least(
        f"odd tables whose records are right ({split})",
        1 - sum(len(each) for kind, each in wrong.items() if kind != "honest") / len(odd),
        LEAST_RIGHT,
    )
    yield at_most(f"wrong tables of which nothing is told ({split})", untold, MOST_UNTOLD)
    yield equal(f"honest tables that were touched ({split})", len(wrong["honest"]), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--split", choices=("dev", "test", "both"), default="both")
    parser.add_argument("--show", action="store_true", help="name what is wrong, of dev alone")
    options = parser.parse_args()
    splits = ("dev", "test") if options.split == "both" else (options.split,)
    finish(
        "table_reading",
        [
            bound
            for split in splits
            for bound in measured(split, shows=options.show and split == "dev")
        ],
    )


if __name__ == "__main__":
    main()
