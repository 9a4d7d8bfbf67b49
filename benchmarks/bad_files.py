"""Bad files through each parser: a clear status for each, in time, and the run goes on.

usage: bad_files.py [--parsers pymupdf pdfium ...] [--pages 2000] [--files 2000] [--seed 0]

First the matrix: empty, random, renamed, locked and cut files, files without pages, with a giant
page, with very many pages or deep bookmarks, archives that are bombs, XML that declares entities;
each has to be parsed or be in quarantine with the reason that it deserves, within the time that
its pages are allowed. Then that many whole files of all formats with random damage, shared out
among the parsers: each is parsed or has a reason, the run ends well, and no worker is left behind.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bounds import Bound, equal, finish, interpreter_of

from rag_assets import config as configuration
from rag_assets.documents.elements.parse import refresh_elements
from rag_assets.documents.parsers.description import ParserUnavailableError
from rag_assets_testing.documents import bad_files
from rag_assets_testing.documents.making import Project

A_FILE = 5.0
"""Seconds that a file may take beside the time its pages are allowed: it is looked at, copied."""


def project_of(home: Path, *, parser: str, ocr: str = "none") -> Project:
    """Files for `parser`, which runs where `make parsers` has installed it, if it has."""
    return Project(home, engine=parser, ocr=ocr, python=interpreter_of(parser))


def children() -> set[int]:
    """Processes that this one has started and that are alive."""
    found: set[int] = set()
    for file in Path("/proc/self/task").glob("*/children"):
        found.update(map(int, file.read_text().split()))
    return found


def matrix(home: Path, *, parser: str, pages: int) -> Iterator[Bound]:
    """One file at a time, so that the time each takes is known."""
    wrong, late = [], []
    folder = home / "files"
    expected = bad_files.write_all(folder, many_pages=pages)
    print(f"\n{parser}\n")
    before = children()
    for name, words in expected.items():
        project = project_of(home / parser / name, parser=parser, ocr="rapidocr")
        project.write(name, (folder / name).read_bytes())
        project.list_files()
        started = time.monotonic()
        report = project.parse()
        seconds = time.monotonic() - started
        reason = "; ".join(failure.reason for failure in report.failures)
        is_right = (words in reason if words else not reason) or words == "*"
        allowed = limit(project, pages=pages if name == "long.pdf" else 1)
        wrong += [name] * (not is_right or not (report.added or reason))
        late += [name] * (seconds > allowed)
        status = reason or f"parsed, {report.rows} elements"
        print(f"{'ok  ' if is_right else 'FAIL'} {seconds:6.1f} s  {status[:110]}")
    yield equal(f"{parser}: bad files without the status they deserve", len(wrong), 0)
    yield equal(f"{parser}: bad files that took longer than allowed", len(late), 0)
    yield equal(f"{parser}: workers left behind", len(children() - before), 0)


def limit(project: Project, *, pages: int) -> float:
    """Seconds: warm-up, time of its tasks, and what a file takes otherwise."""
    settings = project.config.parsers["plain"]
    tasks = -(-pages // settings.pages_per_task)
    return 60 + A_FILE + tasks * settings.seconds_per_task + pages * settings.seconds_per_page


def fuzz(home: Path, *, parser: str, files: int, seed: int) -> Iterator[Bound]:
    """Damaged files, all in one run."""
    by = random.Random(f"{seed} {parser}")
    seeds = bad_files.seeds(home / "seeds")
    project = project_of(home / "fuzz" / parser, parser=parser)
    for number in range(files):
        chosen = seeds[number % len(seeds)]
        content = bad_files.mutated(chosen, by=by)
        project.write(f"{number:05d}{chosen.suffix}", content)
    project.list_files()
    before = children()
    started = time.monotonic()
    report = project.parse()
    seconds = time.monotonic() - started
    held = {row["document_id"] for row in project.store.read(project.elements_table).to_pylist()}
    failed = {failure.key: failure for failure in report.failures}
    documents = {project.id_of(path.name) for path in project.folder.iterdir()}
    kinds = Counter(f"{Path(failure.label).suffix} {failure.kind}" for failure in report.failures)
    print(
        f"\n{parser}: {files} damaged files in {seconds:.0f} s, {len(held)} parsed, {dict(kinds)}"
    )
    for failure in report.failures:
        if failure.kind != "input":
            print(f"  {failure.reason[:150]}")
    yield equal(
        f"{parser}: damaged files without elements and without a reason",
        len(documents - held - failed.keys()),
        0,
    )
    yield equal(f"{parser}: workers left by {files} damaged files", len(children() - before), 0)
    left = list((project.store.root / "scratch" / project.elements_table).iterdir())
    yield equal(f"{parser}: copies of damaged files left", len(left), 0)


def available(parsers: Sequence[str], home: Path) -> Iterator[str]:
    for parser in parsers:
        try:
            refresh_nothing(home / "available" / parser, parser=parser)
        except (ParserUnavailableError, configuration.ConfigError, ValueError) as error:
            print(f"{parser} is left out: {error}")
        else:
            yield parser


def refresh_nothing(home: Path, *, parser: str) -> None:
    project = project_of(home, parser=parser)
    project.write("a.md", "One.")
    project.list_files()
    refresh_elements(project.store, project.config, parser="plain", log=print)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--parsers", nargs="+", default=["pymupdf", "docling", "marker", "pdfium"])
    options.add_argument("--pages", type=int, default=2_000)
    options.add_argument("--files", type=int, default=2_000)
    options.add_argument("--seed", type=int, default=0)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        parsers = list(available(arguments.parsers, home))
        bounds: list[Bound] = []
        for parser in parsers:
            bounds += matrix(home, parser=parser, pages=arguments.pages)
        for parser in parsers:
            files = -(-arguments.files // len(parsers))
            bounds += fuzz(home, parser=parser, files=files, seed=arguments.seed)
    finish("bad_files", bounds)


if __name__ == "__main__":
    main()
