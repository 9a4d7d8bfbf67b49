"""A corpus in three languages: the papers of an invented maker of valves, with questions by hand.

Valmarö makes valves in Sweden, Germany and England, and each site writes in its own language:
work instructions, maintenance logs, minutes, safety sheets, supplier letters, deviations, rules for
travel and leave, and how-tos of IT; four papers mix two languages. The product pages are filled in
from one template a language, as they would be. Papers of one kind share their form, and much of
their wording.

Of the questions a third use the words of their gold, a third say it in other words, and a sixth
each ask for a paper in another language or name a code; a third of all ask for a row of a table.
What this corpus cannot show: search among many thousands of papers, scans, and long reports.
"""

import csv
import json
import re
from pathlib import Path
from string import Template

from dataset_layout import Cell, Table, read_questions, write

FOLDER = Path(__file__).with_name("mixed_languages")
DECIMAL = re.compile(r"-?\d+(\.\d+)?")


def documents(corpus: Path = FOLDER) -> dict[str, str]:
    """The texts of all documents by their paths."""
    written = corpus / "docs"
    return _product_pages(corpus / "product_pages") | {
        str(path.relative_to(written)): path.read_text("utf-8")
        for path in sorted(written.rglob("*.*"))
    }


def tables(corpus: Path = FOLDER) -> list[Table]:
    """Its tables; here lists of spare parts in Swedish, gauges in German, complaints in English."""
    found = []
    for line in (corpus / "tables" / "tables.jsonl").read_text("utf-8").splitlines():
        about = json.loads(line)
        path = corpus / "tables" / f"{about['table']}.csv"
        with path.open(newline="", encoding="utf-8") as file:
            rows = [
                [
                    (row[name] or None) if name in about.get("texts", ()) else _cell(row[name])
                    for name in about["columns"]
                ]
                for row in csv.DictReader(file)
            ]
        found.append(Table(about["table"], about["title"], about["columns"], rows))
    return found


def write_corpus(corpus: Path, folder: Path) -> None:
    """Write the dataset of the folder `corpus`, which lies here as this one does, into `folder`."""
    questions = read_questions(corpus / "questions.jsonl")
    write(folder, documents=documents(corpus), tables=tables(corpus), questions=questions)


def _product_pages(pages: Path) -> dict[str, str]:
    if not pages.is_dir():
        return {}
    with (pages / "values.csv").open(newline="", encoding="utf-8") as file:
        return {
            f"products/{product['name'].replace(' ', '_')}.html": Template(
                (pages / f"{product['lang']}.html").read_text("utf-8")
            ).substitute(product)
            for product in csv.DictReader(file)
        }


def _cell(text: str) -> Cell:
    """A number where the text is one; nothing where it is empty."""
    if not text:
        return None
    if text.isdecimal():
        return int(text)
    return float(text) if DECIMAL.fullmatch(text) else text
