"""Each hole attacked again and again: one bad thing never stops, loses or mixes the good ones.

usage: holes.py [--attacks 20] [--good 300] [--without-worst] [--seed 0]

Attacks, at random moments and with `kill -9`, a document that is readable in part, tables that are
begun anew under an open reader, indexes that are opened during a refresh, damaged files of tables,
edits of the config that serves, keys of several columns, the clean-up of what nothing names, and
documents whose new version cannot be read beside good changes. After each a plain refresh is held
against a build from scratch. Then the real command refreshes that many good files beside forty of
the worst, and a PostgreSQL with a locked table beside one that is down; rankings after random edits
are held against those of a fresh build; and a state of the previous release is refreshed. Vectors
are hashes of the texts, so that what is measured is not a model. What the tests need must be
installed. It takes about 15 minutes on two quiet cores.
"""

import argparse
import json
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bounds import Bound, at_most, equal, finish

from rag_assets.operations.problems.current import state_problems
from rag_assets_testing.documents import worst_files
from rag_assets_testing.faults import comparing, previous_release, project, reading, servers
from rag_assets_testing.faults.chaos import Chaos
from rag_assets_testing.faults.hashing import embedding_with, hashing
from rag_assets_testing.faults.holes import Edits, Holes
from rag_assets_testing.faults.kills import Tally, kill
from rag_assets_testing.faults.pipeline import Runs, refresh
from rag_assets_testing.faults.project import Project
from rag_assets_testing.faults.servers import Postgres

say = partial(print, flush=True)
TABLES = ("cables", "motors", "parts", "pumps", "valves")
LOCKED = "parts"
CONFIG = """\
state_dir: state
sources:
  documents: documents
  tables:
    - {{name: down, url: "postgresql://reader:secret@127.0.0.1:1/plant"}}
    - {{name: plant, url: {plant}, lock_timeout_seconds: 1}}
variants:
  default: {{parser: pdfium, chunking: fixed_256, model: minilm}}
"""
REMEDIES = (
    "save ",
    "restore it",
    "leave it out",
    "replace it",
    "rename it",
    "make it smaller",
    "name it",
    "export it",
    "write down",
    "raise ",
    "--retry-failed",
    "what to do: ",
)
"""How what a person can do begins, in the reasons of files."""
UNREADABLE = (b"", b"PK\x03\x04 half a file", b"%PDF-1.7\nhalf a file", b"<!-- nothing -->\n")
PARTLY = 3
QUERIES = (
    "Report specimen series tested degrees steel",
    "edition",
    "new 100 edited",
    "Supplier City",
    "bore MPa at 23 degrees",
)


def attacks(home: Path, *, runs: Runs, count: int, seed: int) -> list[Bound]:
    """The holes, one after the other."""
    bounds: list[Bound] = []
    holes = Holes(home / "holes", runs=runs, seed=seed)
    for what, attack in (
        ("partly readable", holes.partly_readable),
        ("tables begun anew", holes.begun_anew),
        ("read meanwhile", holes.read_meanwhile),
        ("tables damaged", holes.damaged),
    ):
        holes.begin()
        bounds += attacked(what, attack, tally=lambda: holes.tally, count=count)
    edits = Edits(home / "edits", runs=runs, seed=seed)
    renamed = partial(edits.edited_config, only=("name",))
    cut = partial(edits.edited_config, only=("size",))
    for what, attack in (
        ("recipes renamed", renamed),
        ("chunking edited", cut),
        ("config edited", edits.edited_config),
        ("composite keys", edits.composite_keys),
        ("cleaned up", edits.cleaned_up),
    ):
        edits.begin()
        bounds += attacked(what, attack, tally=lambda: edits.tally, count=count)
    return [
        *bounds,
        equal("recipes renamed: texts embedded", told("embedded", edits.renamed), 0),
        equal("composite keys: rows with the key of another", told("twins", edits.twins), 0),
        equal("cleaned up: tables that nothing names", told("kept", edits.kept), 0),
    ]


def attacked(
    name: str, attack: Callable[[], None], *, tally: Callable[[], Tally], count: int
) -> list[Bound]:
    """Do `attack` `count` times, and more often where a run ended before it was killed."""
    started, done = time.monotonic(), 0
    while done < count or (tally().kills < count and done < 3 * count):
        attack()
        done += 1
    found = tally()
    say(
        f"{name}: {done} attacks, {found.kills} runs killed, {found.searches} indexes opened and "
        f"searched, in {time.monotonic() - started:.0f} s"
    )
    lost = [*found.lost, *found.doubled]
    return [
        Bound(f"{name}: runs killed", found.kills, "> 0", ok=found.kills > 0),
        equal(f"{name}: lost or stale", told("lost", lost), 0),
        equal(f"{name}: mixed, of {found.searches} searches", told("mixed", found.mixed), 0),
        equal(f"{name}: damages unnamed", told("unnamed", [*found.unnamed, *found.forgotten]), 0),
        equal(f"{name}: texts embedded again", told("again", found.embedded_again), 0),
    ]


def broken(home: Path, *, runs: Runs, count: int, seed: int) -> Iterator[Bound]:
    """Documents that cannot be read any more: served as they were, told, and no others held up."""
    made, random_, tally = project.make(home), random.Random(seed), Tally()
    with hashing():
        refresh(made.config)
    silent: list[str] = []
    started = time.monotonic()
    for number in range(count):
        path = made.write("broken.md", f"# Plan\n\nIt says quagga{number} first.\n")
        with hashing():
            refresh(made.config)
        path.write_bytes(random_.choice(UNREADABLE))
        made.write(f"good{number}.md", f"# Good\n\nIt says okapi{number} alone.\n")
        made.execute(f"INSERT INTO tests (id, name) VALUES ({1_000 + number}, 'gerenuk{number}')")
        process = runs.start(made.home)
        tally.kills += kill(process, after=random_.uniform(0, 4))
        index = reading.opened(made.config)
        tally.mixed += reading.mixed(made.config, index)
        with hashing():
            refresh(made.config)
        index = reading.opened(made.config)
        for word, is_stale in (("quagga", True), ("okapi", False), ("gerenuk", False)):
            hits = index.search(f"{word}{number}", retriever="bm25", top_k=1)
            if not hits or f"{word}{number}" not in hits[0].text:
                tally.lost.append(f"{word}{number}")
            elif (hits[0].stale_since is not None) != is_stale:
                silent.append(f"{word}{number}: stale since {hits[0].stale_since}")
        kinds = {problem.kind for problem in state_problems(made.store, made.config)}
        silent += [] if "documents_stale" in kinds else [f"status after attack {number}"]
    say(
        f"documents broken: {count} attacks, {tally.kills} runs killed, in "
        f"{time.monotonic() - started:.0f} s"
    )
    yield equal("documents broken: lost", told("lost", tally.lost), 0)
    yield equal("documents broken: mixed", told("mixed", tally.mixed), 0)
    yield equal("documents broken: silent", told("silent", silent), 0)


def told(what: str, found: Sequence[str]) -> int:
    """How many there are; the first ones are shown."""
    for line in found[:5]:
        say(f"  {what}: {line[:300]}")
    return len(found)


@dataclass
class Share:
    """A project with good files among the worst, a database with a locked table, and one down."""

    project: Project
    runs: Runs
    words: Mapping[str, str]
    """The word that each good file alone says."""
    bad: Sequence[str]
    log: list[str] = field(default_factory=list)
    """What each refresh said."""

    def refresh(self) -> tuple[int | None, float]:
        """`rag-assets refresh`: its exit code and seconds."""
        (self.project.home / "run.log").unlink(missing_ok=True)
        started = time.monotonic()
        process = self.runs.start(self.project.home, kind="command", small_batches=False)
        process.join()
        seconds = time.monotonic() - started
        self.log.append((self.project.home / "run.log").read_text("utf-8", "replace"))
        say(f"rag-assets refresh: exit code {process.exitcode} after {seconds:.1f} s")
        return process.exitcode, seconds

    def missing(self, words: Mapping[str, str]) -> list[str]:
        """Good files that the search for their word does not find first."""
        index = reading.opened(self.project.config)
        wrong = []
        for name, word in words.items():
            hits = index.search(word, retriever="bm25", top_k=3)
            if not hits or hits[0].uri != name or word not in hits[0].text:
                wrong.append(name)
        return wrong

    def unnamed(self, log: str) -> list[str]:
        """Bad files that are neither read whole nor named with a remedy."""
        read = self.project.store.read(self.project.config.tables_of("default").chunks)
        indexed = set(read["uri"].to_pylist())
        lines = log.splitlines()
        wrong = []
        for name in self.bad:
            places = [place for place, line in enumerate(lines) if name in line]
            near = (lines[place : place + 4] for place in places)
            has_remedy = any(mark in line for group in near for line in group for mark in REMEDIES)
            if not (has_remedy if places else name in indexed):
                wrong.append(name)
        return wrong


def worst(home: Path, *, runs: Runs, good: int) -> Iterator[Bound]:
    """The real command on good files and bad ones, with a locked table and a server down."""
    made = Project(home)
    words = worst_files.write_good(made.documents, count=good)
    bad = worst_files.write_worst(made.documents)
    for path in made.documents.iterdir():
        project.age(path)
    say(f"{len(words)} good files and {len(bad)} of the worst")
    share = Share(made, runs, words, bad)
    with servers.running() as plant:
        fill(plant)
        made.file.write_text(CONFIG.format(plant=json.dumps(plant.url)))
        with plant.connect() as holder:
            holder.exec_driver_sql(f"LOCK TABLE {LOCKED} IN ACCESS EXCLUSIVE MODE")
            yield from refreshed(share)
        code, _ = share.refresh()
        yield equal("worst files: exit code once the lock is gone", code or 0, PARTLY)
        missing = rows_missing(share, TABLES)
        yield equal("worst files: tables missing once the lock is gone", told("table", missing), 0)


def refreshed(share: Share) -> Iterator[Bound]:
    """Two refreshes, and one after an edit, while everything bad is there."""
    code, first = share.refresh()
    again, second = share.refresh()
    said = share.log[0]
    yield equal("worst files: bad files", len(share.bad), 40)
    yield equal("worst files: exit code", code or 0, PARTLY)
    yield equal("worst files: exit code of the second refresh", again or 0, PARTLY)
    missing = share.missing(share.words)
    yield equal(f"worst files: good ones not found, of {len(share.words)}", told("no", missing), 0)
    for log in share.log:
        unnamed = share.unnamed(log)
        yield equal("worst files: bad ones without a remedy", told("unnamed", unnamed), 0)
    unlocked = [table for table in TABLES if table != LOCKED]
    missing = rows_missing(share, unlocked)
    yield equal("worst files: unlocked tables not found", told("table", missing), 0)
    names = (f"plant/{LOCKED} was locked by process", "raise sources.tables.lock_timeout_seconds")
    yield equal("worst files: locked table not named", sum(each not in said for each in names), 0)
    yield equal("worst files: server down not named", int("down: the database" not in said), 0)
    yield equal("worst files: passwords said", said.count("secret@"), 0)
    yield at_most("worst files: second refresh / first, seconds", second / first, 0.1)
    edited = {name: f"{word}new" for name, word in [*share.words.items()][:6]}
    for name, word in edited.items():
        worst_files.write_one(share.project.documents / name, word=word)
        project.age(share.project.documents / name, seconds=5)
    code, _ = share.refresh()
    yield equal("worst files: exit code after edits of good ones", code or 0, PARTLY)
    missing = share.missing(edited)
    yield equal("worst files: edited ones not found", told("edited", missing), 0)


def fill(plant: Postgres) -> None:
    for table in TABLES:
        plant.execute(
            f"CREATE TABLE {table} (id integer PRIMARY KEY, name text)",
            f"INSERT INTO {table} VALUES (1, 'first of the {table}')",
        )


def rows_missing(share: Share, tables: Sequence[str]) -> list[str]:
    index = reading.opened(share.project.config)
    found = "\n".join(hit.text for hit in index.search("first of the", top_k=50, retriever="bm25"))
    return [table for table in tables if f"first of the {table}" not in found]


def rankings(home: Path, *, runs: Runs, count: int, seed: int) -> Iterator[Bound]:
    """Lists of each retriever after random edits, to the last bit of the scores."""
    edited = Chaos(project.make(home), runs=runs, seed=seed)
    lists, differing, started = 0, [], time.monotonic()
    for _ in range(count):
        edited.edit(times=4)
        edited.look()
        delete_stale(edited.project)
        edited.look()
        fresh = edited.project.config_with(home / "fresh")
        ours, theirs = (
            reading.rankings(config, QUERIES) for config in (edited.project.config, fresh)
        )
        lists += len(theirs)
        differing += [f"{key}" for key in theirs if ours[key] != theirs[key]]
    say(f"{lists} rankings after random edits, in {time.monotonic() - started:.0f} s")
    lost = [*edited.tally.lost, *edited.tally.doubled, *edited.tally.unequal_quarantine]
    yield equal(f"rankings: lists that differ, of {lists}", told("differs", differing), 0)
    yield equal("rankings: lost, stale or blamed otherwise", told("lost", lost), 0)


def delete_stale(made: Project) -> None:
    """Delete the documents that are served as they were: a fresh build has nothing of them."""
    stale = comparing.stale(
        made.config.state_dir, elements=made.config.tables_of("default").elements
    )
    files = made.store.read("document_files", columns=["document_id", "uri"]).to_pylist()
    for file in files:
        if file["document_id"] in stale:
            (made.documents / file["uri"]).unlink()


def upgrade(home: Path) -> Iterator[Bound]:
    """A refresh of what the previous release left."""
    held = previous_release.unpacked(home)
    ledger = held.home / "ledger"
    with embedding_with(previous_release.encoder(held, ledger=ledger)):
        reports = refresh(held.config)
    say(f"the state of the previous release: {len(reports)} steps refreshed")
    yield equal("upgrade: texts embedded", len(comparing.written_down(ledger)), 0)
    yield equal("upgrade: failures", sum(report.failed for report in reports), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attacks", type=int, default=20, help="on each hole")
    parser.add_argument("--good", type=int, default=300, help="files beside the worst")
    parser.add_argument("--without-worst", action="store_true", help="leave the real command out")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    runs, count, seed = Runs(), arguments.attacks, arguments.seed
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        bounds = attacks(home, runs=runs, count=count, seed=seed)
        if not arguments.without_worst:
            bounds += worst(home / "worst", runs=runs, good=arguments.good)
        bounds += broken(home / "broken", runs=runs, count=count, seed=seed)
        bounds += rankings(home / "rankings", runs=runs, count=count, seed=seed)
        bounds += upgrade(home / "upgrade")
    finish("holes", bounds)


if __name__ == "__main__":
    main()
