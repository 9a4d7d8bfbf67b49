"""The doctor over a large index: what it costs, and each kind of fault found and mended.

usage: doctor.py [--documents 9600] [--rows 20000]

A project of synthetic documents and a table goes through all stages, with a hash in place of the
model. It is examined as it stands; then one fault of each kind is done to it, found and repaired,
and it is examined again.
"""

import argparse
import json
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bounds import Bound, at_least, at_most, equal, finish
from scale import texts

CPU_SECONDS = 20
MEMORY = 2e9
"""Bytes: columns and batches of some tables, whatever their number of rows."""
CONFIG = """\
state_dir: state
sources:
  documents: documents
  tables: {name: laboratory, url: "sqlite:///laboratory.sqlite"}
chunkings:
  small: {strategy: fixed, size: 64, overlap: 0}
variants:
  default: {parser: pdfium, chunking: small, model: minilm}
"""


def write(home: Path, *, documents: int, rows: int) -> None:
    """Write the sources of the project."""
    folder = home / "documents"
    folder.mkdir(parents=True)
    for number, text in enumerate(texts(documents)):
        (folder / f"{number:07d}.txt").write_text(text, "utf-8")
    with sqlite3.connect(home / "laboratory.sqlite") as database:
        database.execute("CREATE TABLE tests (id INTEGER PRIMARY KEY, name TEXT, load REAL)")
        database.executemany(
            "INSERT INTO tests VALUES (?, ?, ?)",
            ((number, f"steel {number}", number / 4) for number in range(rows)),
        )
    (home / "rag_assets.yaml").write_text(CONFIG)


def cpu_seconds() -> float:
    """Of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def in_process(what: str, home: Path) -> dict:
    """One piece of work in a process of its own: the last line that it prints."""
    command = [sys.executable, __file__, "--work", what, "--home", str(home)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def work(what: str, home: Path) -> dict[str, object]:
    """Build, examine or repair the project at `home`, or do it some harm."""
    import lance  # noqa: F401 - imports are not measured
    import lancedb  # noqa: F401 - likewise

    from rag_assets import config as configuration
    from rag_assets.operations.doctor.examined_tables import Practice
    from rag_assets.operations.doctor.examining import examine
    from rag_assets.operations.doctor.repairing import repair
    from rag_assets.store import Store
    from rag_assets_testing.faults.harming import HARMS, Built
    from rag_assets_testing.faults.hashing import hashing
    from rag_assets_testing.faults.pipeline import refresh

    config = configuration.load(home / "rag_assets.yaml")
    store = Store.of(config)
    practice = Practice(store, config, ["default"], lambda _: None)
    ledger, found, rows = home / "ledger", [], 0
    ledger.unlink(missing_ok=True)
    before = cpu_seconds()
    with hashing(ledger):
        if what == "build":
            refresh(config)
            rows = store.count(config.tables_of("default").joint)
        elif what == "examine":
            done = examine(practice)
            rows, found = done.rows, [fault.code for fault in done.found]
        elif what == "repair":
            mended = repair(practice)
            rows, found = len(mended.mended), [fault.code for fault in mended.left.found]
        else:
            HARMS[what][1](Built(store, config))
    return {
        "found": sorted(set(found)),
        "rows": rows,
        "cpu": cpu_seconds() - before,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024,
        "embedded": len(ledger.read_text().split()) if ledger.exists() else 0,
    }


def each_harm(home: Path, *, most: int | None) -> list[Bound]:
    """Every kind of fault, done to a copy of the project at `home`, found and repaired."""
    from rag_assets_testing.faults.harming import HARMS

    found: list[str] = []
    mended: list[str] = []
    done = dict(islice(HARMS.items(), most))
    for number, (harm, (expected, _)) in enumerate(done.items()):
        copy = home.with_name(f"{home.name}-{number}")
        shutil.copytree(home, copy)
        in_process(harm, copy)
        codes = in_process("examine", copy)["found"]
        left = in_process("repair", copy)["found"] + in_process("examine", copy)["found"]
        print(f"{harm}: {' '.join(codes)}; left: {' '.join(left) or 'nothing'}", flush=True)
        found += [harm] if codes == expected.split() else []
        mended += [] if left else [harm]
        shutil.rmtree(copy)
    kinds = {code for codes, _ in done.values() for code in codes.split()}
    return [
        at_least("kinds of faults that were done", len(kinds), 25),
        equal("faults found under their codes and no other", len(found), len(done)),
        equal("faults repaired, and clean at the second look", len(mended), len(done)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=9_600)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--harmed-documents", type=int, default=24)
    parser.add_argument("--harms", type=int, help="do the first so many alone (default: all)")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(json.dumps(work(options.work, options.home)))
        return
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large", Path(folder) / "small"
        write(large, documents=options.documents, rows=options.rows)
        units = in_process("build", large)["rows"]
        done = in_process("examine", large)
        print(
            f"{units:,} units, {done['rows']:,} rows of all tables: {done['cpu']:.1f} CPU s, "
            f"{done['peak'] / 1e6:,.0f} MB; found: {' '.join(done['found']) or 'nothing'}",
            flush=True,
        )
        write(small, documents=options.harmed_documents, rows=40)
        in_process("build", small)
        bounds = [
            at_least("units", units, 31 * options.documents + options.rows),
            equal("faults found in a sound project", len(done["found"]), 0),
            at_most("examination, CPU seconds", done["cpu"], CPU_SECONDS),
            at_most("examination, peak memory, bytes", done["peak"], MEMORY),
            *each_harm(small, most=options.harms),
        ]
    finish("doctor", bounds)


if __name__ == "__main__":
    main()
