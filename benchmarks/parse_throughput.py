"""Pages a second through two workers, beside the same library called in a loop in one process.

usage: parse_throughput.py [--engine pymupdf] [--pages 120] [--rounds 3]

Both read the same parts of 10 pages of the OpenFOAM user guide (shared dataset materials_demo),
after a warm-up that is not counted, in turns; the ratio is that of the medians. The loop calls the
parser's function in a process of its own with nothing around it, on one thread and on as many as
the library takes by itself. Then the parts are refreshed twice: the second time nothing is parsed.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bounds import at_least, dataset, equal, finish

from rag_assets.config import DocumentSource
from rag_assets.documents.elements.open_files import FileContent
from rag_assets.documents.elements.parsing import Parsing
from rag_assets.documents.files import SourceFile
from rag_assets.documents.parsers.by_media_type import PDF_ENGINES, chain_of
from rag_assets.workers import Done, Pool, Task
from rag_assets_testing.documents.making import Project

PART = 10
WORKERS = 2
FIRST_PAGE = 20


def write_parts(project: Project, guide: Path, *, pages: int) -> None:
    import pypdfium2

    with pypdfium2.PdfDocument(guide) as whole:
        for number, start in enumerate(range(FIRST_PAGE, FIRST_PAGE + pages, PART)):
            part = pypdfium2.PdfDocument.new()
            part.import_pages(whole, list(range(start, start + PART)))
            part.save(project.folder / f"{number:03d}.pdf")
    project.list_files()


def contents(project: Project, *, engine: str, salt: str) -> list[FileContent]:
    rows = project.store.read("document_files").sort_by("uri").to_pylist()
    names = SourceFile.__slots__
    return [
        FileContent(f"{salt}{place}", SourceFile(**{name: row[name] for name in names}), parser)
        for place, row in enumerate(rows)
        for parser in [PDF_ENGINES[engine]]
    ]


def through_workers(
    project: Project, home: Path, *, engine: str, rounds: int
) -> Callable[[], float]:
    """What gives the pages a second of one more round through the same two workers."""
    config = project.config
    settings = config.parsers["plain"]
    pool = Pool(size=WORKERS)
    parsing = Parsing(
        settings,
        name="plain",
        chain=chain_of(settings, name="plain"),
        sources={"documents": DocumentSource(url=str(project.folder))},
        pictures={},
        scratch=home,
        executor=pool,
        log=print,
    )
    count = iter(range(rounds + 1))

    def measure() -> float:
        wanted = contents(project, engine=engine, salt=f"{next(count)} ")
        started = time.monotonic()
        pages = sum(parsed.pages for parsed in parsing.run(wanted))
        return pages / (time.monotonic() - started)

    return measure


def in_a_loop(files: Sequence[Path], *, engine: str, threads: int) -> Callable[[], float]:
    """What gives the pages a second of one process that reads one file after the other."""
    pool = Pool(size=1, threads=threads)
    function = f"{__name__}:loop" if __name__ != "__main__" else "parse_throughput:loop"

    def measure() -> float:
        arguments = {"engine": engine, "paths": [str(file) for file in files], "threads": threads}
        pool.submit(Task("loop", function, arguments, 3_600))
        ((_, outcome),) = pool.finished()
        assert isinstance(outcome, Done), outcome
        return float(str(outcome.value))

    return measure


def loop(engine: str, paths: list[str], threads: int) -> float:
    """Pages a second in this process."""
    from importlib import import_module

    module = import_module(f"rag_assets.documents.parsers.engines.{engine}")
    if threads > 1 and engine == "pymupdf":
        setattr(module, "_single_threaded", lambda options: options)  # noqa: B010 - a stand-in
    module.parse(paths[0], [1])
    started = time.monotonic()
    pages = 0
    for path in paths:
        pages += len({element["page"] for element in module.parse(path, None)})
    return pages / (time.monotonic() - started)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--engine", default="pymupdf", choices=sorted(PDF_ENGINES))
    options.add_argument("--pages", type=int, default=120)
    options.add_argument("--rounds", type=int, default=3)
    arguments = options.parse_args()
    engine = arguments.engine
    guide = dataset("materials_demo") / "docs" / "openfoam_user_guide_1_7_1.pdf"
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        project = Project(home / "project", engine=engine)
        write_parts(project, guide, pages=arguments.pages)
        files = sorted(project.folder.glob("*.pdf"))
        scratch = home / "scratch"
        scratch.mkdir()
        ways = {
            "workers": through_workers(project, scratch, engine=engine, rounds=arguments.rounds),
            "loop, one thread": in_a_loop(files, engine=engine, threads=1),
            "loop, its own threads": in_a_loop(files, engine=engine, threads=WORKERS),
        }
        ways["workers"]()
        speeds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(arguments.rounds):
            for name, measure in ways.items():
                speeds[name].append(measure())
                print(f"{name}: {speeds[name][-1]:.2f} pages/s", flush=True)
        medians = {name: statistics.median(found) for name, found in speeds.items()}
        project.parse()
        again = project.parse()
    one, own = (medians["workers"] / medians[name] for name in list(ways)[1:])
    print(f"against a loop that takes its own threads: {own:.2f} times")
    finish(
        "parse_throughput",
        [
            at_least(f"{WORKERS} workers / one process, pages a second", one, 1.8),
            equal("files parsed by a second refresh", again.contents, 0),
        ],
    )


if __name__ == "__main__":
    main()
