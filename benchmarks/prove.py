"""Five promises, shown on a small project: an edit, a deletion, a kill, a lost source, a swap.

usage: prove.py

Some documents and a table of the demo data are copied into a temporary folder and indexed. Copies
of that project are then treated side by side as the world treats sources: one has a file edited and
a run killed, one a file deleted and a source lost, one its model swapped. Each line says what
happened, from what the commands answered; below a promise that was not kept stands what was found
and what was promised. The exit code is 0 where all were kept. `make prove` runs it.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from bounds import REPOSITORY, Bound, Finished, at_least, at_most, equal, rag_assets

FOLDERS = ("guides", "memos", "suppliers", "specifications")
CONFIG = """\
state_dir: state
sources:
  documents: documents
  tables:
    - {name: laboratory, url: sqlite:///materials.sqlite, tables: [suppliers]}
variants:
  default: {model: minilm}
  e5: {model: e5}
retrieval: {retriever: fast}
gate: {queries: 50}
"""
EDITED, DELETED = "guides/reading_data_sheets.md", "memos/pm_byte_av_zinkskikt_2024.txt"
OF_THE_DELETED = "byte av zinkskikt på hyttplåt"
OF_THE_LOST = "zinc flake coating"
OVERRIDE = "the demonstration swaps whatever the gate says"
ADDED_SENTENCE = "The quarantine shelf of the laboratory is painted lime green."
FINISHED, LEFT_OUT = 0, 3
"""Exit codes: all is well; done, but something could not be read."""
GREEN, RED, PLAIN = "\033[32m", "\033[31m", "\033[0m"


class Project:
    """A small project in a folder of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.documents = home / "documents"
        self.config = home / "rag_assets.yaml"

    @classmethod
    def begun(cls, home: Path) -> Self:
        """A project that has sources and a config, and no index."""
        for folder in FOLDERS:
            shutil.copytree(REPOSITORY / "data" / "documents" / folder, home / "documents" / folder)
        shutil.copy(REPOSITORY / "data" / "materials.sqlite", home)
        project = cls(home)
        project.config.write_text(CONFIG, "utf-8")
        return project

    def copy(self, home: Path) -> Self:
        """The same project with its index in another folder, as a restored backup has it."""
        shutil.copytree(self.home, home)
        return type(self)(home)

    def copy_of_sources(self, home: Path) -> Self:
        """The same project in another folder, without its index."""
        shutil.copytree(self.home, home, ignore=shutil.ignore_patterns("state"))
        return type(self)(home)

    def refresh(self) -> Finished:
        return rag_assets("refresh", "--json", config=self.config)

    def hits(self, query: str) -> list[dict]:
        """What a search by words finds; none if it fails."""
        return self.found(query).get("hits", [])

    def found(self, query: str) -> dict:
        """What a search by words, which loads no model, says; nothing if it fails."""
        done = rag_assets("search", query, "--retriever", "bm25", "--json", config=self.config)
        return done.json if done.code == FINISHED else {}

    def data_version(self) -> str:
        """Of the joint index: the same content has the same one."""
        done = rag_assets("status", "--json", config=self.config)
        return done.json["variants"]["default"]["joint_index"]["data_version"]

    def killed_while(self, step: str) -> bool:
        """Kill a refresh with SIGKILL once it has begun `step`; whether it got there."""
        command = [Path(sys.executable).with_name("rag-assets"), "refresh"]
        environment = {**os.environ, "RAG_ASSETS_CONFIG": str(self.config)}
        print("$ rag-assets refresh, and kill -9", flush=True)
        run = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
        )
        assert run.stderr is not None
        for line in run.stderr:
            if step in line:
                break
        run.send_signal(signal.SIGKILL)
        return run.wait() == -signal.SIGKILL


def work(done: Finished, *, count: str) -> int:
    """The sum of a number over all assets of a refresh."""
    return sum(int(counts.get(count, 0)) for counts in done.json["assets"].values())


def parsed(done: Finished) -> int:
    counts = done.json["assets"]["parsed_documents"]
    return counts["added"] + counts["changed"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What happened, in a sentence, and what it is held to."""

    promise: str
    sentence: str
    bounds: Sequence[Bound]


def edit_a_file(project: Project, *, before: int) -> Shown:
    """One of `before` texts or so changes."""
    path = project.documents / EDITED
    path.write_text(f"{path.read_text('utf-8')}\n\n{ADDED_SENTENCE}\n", "utf-8")
    done = project.refresh()
    embedded = work(done, count="embedded")
    found = [hit for hit in project.hits(ADDED_SENTENCE) if ADDED_SENTENCE in hit["text"]]
    return Shown(
        "edit a file",
        f"{parsed(done)} document is parsed again, {embedded} of {before:,} texts are embedded "
        "again, and a search finds the new sentence",
        [
            equal("edit a file: documents parsed again", parsed(done), 1),
            at_most("edit a file: texts embedded again, share", embedded / before, 0.02),
            at_least("edit a file: hits with the new sentence", len(found), 1),
        ],
    )


def delete_a_file(project: Project) -> Shown:
    before = [hit for hit in project.hits(OF_THE_DELETED) if hit["uri"] == DELETED]
    (project.documents / DELETED).unlink()
    done = project.refresh()
    after = [hit for hit in project.hits(OF_THE_DELETED) if hit["uri"] == DELETED]
    embedded = work(done, count="embedded")
    return Shown(
        "delete a file",
        f"{len(before)} of its units were among ten hits, now {len(after)} are; "
        f"{embedded} texts are embedded",
        [
            at_least("delete a file: its units found before", len(before), 1),
            equal("delete a file: its units found afterwards", len(after), 0),
            equal("delete a file: texts embedded", embedded, 0),
        ],
    )


def kill_a_run(project: Project, *, scratch: Path) -> Shown:
    for path in sorted(project.documents.glob("guides/*.md")):
        copy = path.with_name(f"draft_{path.name}")
        copy.write_text(f"Draft for comment.\n\n{path.read_text('utf-8')}", "utf-8")
    was_killed = project.killed_while("Cutting documents")
    served = len(project.hits(ADDED_SENTENCE))
    rebuilt = project.copy_of_sources(scratch)
    with ThreadPoolExecutor() as pool:
        from_scratch = pool.submit(rebuilt.refresh)
        done = project.refresh()
        from_scratch.result()
        versions = pool.map(Project.data_version, (project, rebuilt))
        is_same = len({*versions}) == 1
    return Shown(
        "kill a run",
        f"searches go on ({served} hits), the next refresh finishes the work, and the index "
        f"{'equals' if is_same else 'differs from'} one that is built from scratch",
        [
            equal("kill a run: it was killed", was_killed, True),
            at_least("kill a run: hits meanwhile", served, 1),
            equal("kill a run: exit code of the next refresh", done.code, FINISHED),
            equal("kill a run: the index equals one built from scratch", is_same, True),
        ],
    )


def lose_a_source(project: Project) -> Shown:
    away = project.documents.with_name("unmounted")
    project.documents.rename(away)
    lost = project.refresh()
    served = len(project.hits(OF_THE_LOST))
    away.rename(project.documents)
    embedded = work(project.refresh(), count="embedded")
    return Shown(
        "lose a source",
        f"the refresh says so (exit code {lost.code}), nothing is deleted, searches go on "
        f"({served} hits); once it is back, {embedded} texts are embedded",
        [
            equal("lose a source: exit code", lost.code, LEFT_OUT),
            equal("lose a source: units removed", work(lost, count="removed"), 0),
            at_least("lose a source: hits meanwhile", served, 1),
            equal("lose a source: texts embedded once it is back", embedded, 0),
        ],
    )


def swap_and_roll_back(project: Project) -> Shown:
    before = project.found(OF_THE_LOST)
    built = rag_assets("variants", "backfill", "e5", "--json", config=project.config)
    done = rag_assets(
        *("variants", "promote", "e5", "--override", OVERRIDE, "--json"), config=project.config
    )
    swapped = project.found(OF_THE_LOST)
    rag_assets("variants", "rollback", "--json", config=project.config)
    after = project.found(OF_THE_LOST)
    return Shown(
        "swap and roll back",
        f"another model is built beside what serves, {parsed(built)} documents are parsed again, "
        f"the gate says {done.json['verdict']}; one command serves it, one more goes back",
        [
            equal("swap: documents parsed again", parsed(built), 0),
            equal("swap: the other model answers", swapped.get("variant") == "e5", True),
            at_least("swap: hits", len(swapped.get("hits", [])), 1),
            equal("roll back: the former one answers", after.get("variant") == "default", True),
            equal("roll back: the hits are those of before", _hits(after) == _hits(before), True),
        ],
    )


def _hits(found: dict) -> list[tuple[str, float]]:
    return [(hit["unit_id"], hit["score"]) for hit in found["hits"]]


def said(shown: Shown) -> Iterator[str]:
    """A line, in colour where it is read on a terminal; what was not kept below it."""
    missed = [bound for bound in shown.bounds if not bound.ok]
    mark = "FAIL" if missed else "ok  "
    if sys.stdout.isatty():
        mark = f"{RED if missed else GREEN}{mark}{PLAIN}"
    yield f"{mark} {shown.promise}: {shown.sentence}"
    for bound in missed:
        yield f"       {bound.what}: {bound.value} (promised {bound.bound})"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        edited = Project.begun(home / "edited")
        before = work(edited.refresh(), count="embedded")
        deleted, swapped = (edited.copy(home / name) for name in ("deleted", "swapped"))
        with ThreadPoolExecutor() as pool:
            of_deleted = pool.submit(lambda: [delete_a_file(deleted), lose_a_source(deleted)])
            of_swapped = pool.submit(swap_and_roll_back, swapped)
            all_shown = [
                edit_a_file(edited, before=before),
                kill_a_run(edited, scratch=home / "scratch"),
            ]
            all_shown += [*of_deleted.result(), of_swapped.result()]
    lines = [line for shown in all_shown for line in said(shown)]
    print("", *lines, "", sep="\n", flush=True)
    sys.exit(0 if all(bound.ok for shown in all_shown for bound in shown.bounds) else 1)


if __name__ == "__main__":
    main()
