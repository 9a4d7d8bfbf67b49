"""Searches while everything moves: backfills, edits of the config, promotions, rollbacks, kills.

usage: serving.py [--seconds 120] [--clients 4]

Some documents and a table of the demo data are indexed in a temporary folder. Clients, a process
each, search what serves, as a new process would open it: first while nothing else goes on, then
while the command line refreshes, builds another variant, edits the config, promotes and rolls back,
and while a document is half copied over. Each answer is held against the tables that its pointer
pins. Then the pointer is moved alone: how long that takes, by processes that are killed on the way,
and by two at once. At last, in a project of its own, what searches need is taken away: a model is
trained again in its place, alike and spoiled, files of indexes are overwritten, and a folder takes
the place of a record. Whether searches answer, and what `status` says of it, must agree each time,
and what is said to help must help.
"""

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from bounds import REPOSITORY, Bound, at_least, at_most, equal, finish, rag_assets

sys.path.insert(0, str(REPOSITORY))

from rag_assets.store.atomic import write_atomically
from rag_assets_testing.derived_models import save_static

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex
    from rag_assets.store import Store
    from rag_assets.store.complete_sets import CompleteSet

FOLDERS = ("guides", "memos", "suppliers", "specifications")
CONFIG = """\
state_dir: state
sources:
  documents: documents
  tables:
    - {name: laboratory, url: sqlite:///materials.sqlite, tables: [suppliers]}
variants:
  default: {chunking: fixed_256, model: minilm}
  json_rows: {chunking: fixed_256, serializer: json, model: minilm}
retrieval:
  retriever: hybrid
gate: {queries: 50}
"""
QUERIES = (
    "zinc coating on steel sheet",
    "supplier of aluminium plate",
    "how to read a data sheet",
    "byte av zinkskikt på hyttplåt",
    "delivery time and certificates",
)
EDITED = "guides/reading_data_sheets.md"
QUERIES_AN_OPENING = 5
MOVES, KILLS, RIVAL_MOVES = 30, 30, 20
HALF = b"%PDF-1.7\nhalf a file"
OVERRIDE = ("--override", "the benchmark swaps whatever the gate says")


@dataclass(frozen=True, slots=True)
class Running:
    """Clients that are searching."""

    until: float
    """Seconds since the epoch."""
    files: Sequence[Path]
    """What each of them writes."""


def client(config_file: str, starts: str, answers: str) -> None:
    """Search until a time; writes a line for each answer: seconds, and what was wrong with it.

    It is ready once it has loaded its model, which its file of answers says; `starts` then says
    until when it searches.
    """
    from rag_assets import config as configuration
    from rag_assets.retrieval.serving import open_serving
    from rag_assets.store import Store

    pinned: dict[tuple[str, int], dict[str, str]] = {}
    index: VariantIndex | None = None
    config = configuration.load(Path(config_file))
    encoder = open_serving(Store.of(config), config).encoder
    encoder.embed_queries(QUERIES[:1])
    Path(answers).touch()
    until = float(_written(Path(starts)))
    with Path(answers).open("w", encoding="utf-8") as file:
        for number, query in enumerate(cycle(QUERIES)):
            if time.time() >= until:
                break
            started = time.perf_counter()
            wrong = ""
            try:
                if index is None or number % QUERIES_AN_OPENING == 0:
                    config = configuration.load(Path(config_file))
                    store = Store.of(config)
                    index = open_serving(store, config, encoder=encoder)
                hits = index.search(query)
                seconds = time.perf_counter() - started
                wrong = "" if len(hits) else "empty"
                held = index.complete_set
                known = pinned.setdefault((held.joint.table, held.joint.version), {})
                if not known:
                    known.update(_texts(Store.of(config), held))
                if any(known.get(hit.unit_id) != hit.text for hit in hits):
                    wrong = "mixed"
            except Exception as error:  # whatever it is: a person would see it
                seconds, index = time.perf_counter() - started, None
                wrong = f"failed: {type(error).__name__}: {error}"
            file.write(json.dumps([number, seconds, wrong]) + "\n")


def _written(file: Path) -> str:
    """What a file says, once it is there."""
    while not file.exists():
        time.sleep(0.02)
    return file.read_text("utf-8")


def _texts(store: "Store", held: "CompleteSet") -> dict[str, str]:
    """The text of each unit that a complete set pins; none where its tables do not agree."""
    joint, *parts = (
        store.read(pin.table, columns=["unit_id", "text"], version=pin.version)
        for pin in held.unit_pins
    )
    texts = dict(zip(joint["unit_id"].to_pylist(), joint["text"].to_pylist(), strict=True))
    apart = {unit for part in parts for unit in part["unit_id"].to_pylist()}
    return texts if apart == texts.keys() else {}


@contextmanager
def clients(home: Path, *, count: int, seconds: float, phase: str) -> Generator[Running]:
    """Run clients; yields the time at which they end, and waits for them."""
    starts = home / f"{phase}.starts"
    files = [home / f"{phase}{number}.jsonl" for number in range(count)]
    running = [
        subprocess.Popen(
            [sys.executable, __file__, "--client", str(home / "rag_assets.yaml"), starts, file]
        )
        for file in files
    ]
    for file in files:
        _written(file)
    until = time.time() + seconds
    write_atomically(starts, str(until))
    yield Running(until, files)
    for process in running:
        process.wait()


def answers_of(files: Sequence[Path]) -> list[tuple[int, float, str]]:
    return [tuple(json.loads(line)) for file in files for line in file.read_text().splitlines()]


def p95(answers: Sequence[tuple[int, float, str]]) -> float:
    """Of searches, the first of each client apart: it warms caches up."""
    times = [seconds for number, seconds, _ in answers if number]
    return float(np.quantile(times, 0.95)) if times else float("nan")


def make(home: Path) -> Path:
    for folder in FOLDERS:
        shutil.copytree(REPOSITORY / "data" / "documents" / folder, home / "documents" / folder)
    shutil.copy(REPOSITORY / "data" / "materials.sqlite", home)
    file = home / "rag_assets.yaml"
    file.write_text(CONFIG, "utf-8")
    return file


def move_everything(home: Path, file: Path, *, until: float) -> list[str]:
    """Do what moves what serves, again and again; returns what failed that must not."""
    edited, failed = home / "documents" / EDITED, []
    for turn in range(1_000):
        steps = (
            ("variants", "backfill", "json_rows"),
            ("variants", "promote", "json_rows", *OVERRIDE),
            (
                "variants",
                "rollback",
            ),
            ("refresh",),
            ("variants", "promote", "json_rows", *OVERRIDE),
            ("refresh",),
            ("variants", "promote", "default", *OVERRIDE),
        )
        for number, step in enumerate(steps):
            if time.time() >= until:
                return failed
            if number == 3:
                edited.write_text(f"{edited.read_text('utf-8')}\n\nEdition {turn}.\n", "utf-8")
            file.write_text(_edited_config(turn + number), "utf-8")
            whole = edited.read_bytes()
            if number == 5:  # its last good text is served until the next turn
                edited.write_bytes(HALF)
            done = rag_assets(*step, "--json", config=file)
            edited.write_bytes(whole)
            if done.code not in (0, 1, 3):  # 1: the gate held it back, 3: the half is named
                failed.append(f"{' '.join(step)}: exit code {done.code}")
    return failed


def _edited_config(turn: int) -> str:
    """The config with an edit that must be no outage."""
    edits = (
        CONFIG,
        CONFIG.replace("retriever: hybrid", "retriever: bm25"),
        CONFIG.replace("gate:", "  depth: 50\ngate:"),
    )
    return edits[turn % len(edits)]


def moves(file: Path) -> list[float]:
    """Seconds of each move, warm: rolling to and fro."""
    from rag_assets import config as configuration
    from rag_assets.operations.serving_index.rollback import roll_back
    from rag_assets.store import Store, serving_pointer

    config = configuration.load(file)
    store = Store.of(config)
    records = serving_pointer.history(store)
    there = [each.number for each in records if serving_pointer.is_held(store, each)]
    taken = []
    for _, to in zip(range(MOVES), cycle(there[:2]), strict=False):
        started = time.perf_counter()
        roll_back(store, config, to=to)
        taken.append(time.perf_counter() - started)
    return taken


def _keep_moving(root: Path) -> None:
    from rag_assets.store import Store, serving_pointer

    store = Store(root)
    while True:
        pointer = serving_pointer.current(store)
        assert pointer is not None
        serving_pointer.move(store, pointer, after=pointer.number)


def torn_by_kills(root: Path) -> int:
    """How many of 30 `kill -9` left a pointer that cannot be read, or went back."""
    from rag_assets.store import Store, serving_pointer

    torn, chance = 0, random.Random(20)
    for _ in range(KILLS):
        before = serving_pointer.number_now(Store(root))
        process = multiprocessing.get_context("fork").Process(target=_keep_moving, args=(root,))
        process.start()
        time.sleep(chance.uniform(0.05, 0.3))
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        try:
            now = serving_pointer.current(Store(root))
            torn += now is None or now.number < before
        except serving_pointer.ServingPointerError:
            torn += 1
    return torn


def _rival(root: Path, told: "multiprocessing.Queue[tuple[int, int]]") -> None:
    from rag_assets.store import Store, serving_pointer

    store, won, lost = Store(root), 0, 0
    while won < RIVAL_MOVES:
        pointer = serving_pointer.current(store)
        assert pointer is not None
        time.sleep(0.002)
        try:
            serving_pointer.move(store, replace(pointer, by="promote"), after=pointer.number)
            won += 1
        except serving_pointer.PointerMovedError:
            lost += 1
    told.put((won, lost))


def rivalries(root: Path) -> tuple[int, int]:
    """Moves that two processes made at once beyond what the numbers say; how often one lost."""
    from rag_assets.store import Store, serving_pointer

    context = multiprocessing.get_context("fork")
    told: multiprocessing.Queue[tuple[int, int]] = context.Queue()
    before = serving_pointer.number_now(Store(root))
    rivals = [context.Process(target=_rival, args=(root, told)) for _ in range(2)]
    for rival in rivals:
        rival.start()
    results = [told.get(timeout=600) for _ in rivals]
    for rival in rivals:
        rival.join()
    made = serving_pointer.number_now(Store(root)) - before
    return sum(won for won, _ in results) - made, sum(lost for _, lost in results)


def robbed(home: Path) -> list[Bound]:
    """Take away what searches need; whether they answer, and what is said of it, must agree."""
    file = make(home)
    own = CONFIG.replace("model: minilm}\n  json", "model: own}\n  json")
    file.write_text(f"{own}models: {{own: {{path: ./model, backend: static}}}}\n", "utf-8")
    save_static(home / "model", dimension=64, contextual=False)
    silent: list[str] = []

    def told(deed: str, *, answers: bool) -> None:
        is_answered = rag_assets("search", QUERIES[0], "--json", config=file).code == 0
        is_well = {
            name: rag_assets(name, "--json", config=file).code == 0 for name in ("status", "doctor")
        }
        if is_answered != answers or any(each != answers for each in is_well.values()):
            silent.append(f"{deed}: search answers {is_answered}, all is well by {is_well}")

    def done(*command: str, deed: str, code: int = 0) -> None:
        found = rag_assets(*command, "--json", config=file).code
        silent.extend([] if found == code else [f"{deed}: {' '.join(command)} ends with {found}"])

    done("refresh", deed="the first build")
    told("the first build", answers=True)
    weights(home, spoil=False)
    told("another model in the place of the first", answers=False)
    done("refresh", deed="another model")
    told("another model, refreshed", answers=True)
    done("variants", "rollback", deed="a rollback to what no query can be embedded for", code=1)
    told("a rollback that was refused", answers=True)
    weights(home, spoil=True)
    done("refresh", deed="a spoiled model: held", code=1)
    told("a spoiled model, refreshed", answers=False)
    weights(home, spoil=False)
    done("refresh", deed="a good model after it")
    told("a good model after it", answers=True)
    for each in (home / "state" / "lance").glob("joint__*/_indices/*/*.lance"):
        each.write_bytes(os.urandom(each.stat().st_size))
    told("overwritten indexes", answers=False)
    done("doctor", "--repair", deed="overwritten indexes")
    told("overwritten indexes, repaired", answers=True)
    for name in ("tables.json", "throughput.json"):
        (home / "state" / name).unlink()
        (home / "state" / name).mkdir()
    done("refresh", deed="folders in the place of records")
    told("folders in the place of records, refreshed", answers=True)
    for line in silent:
        print(f"silent: {line}")
    return [equal("robbed of model, indexes and records: silent or not mended", len(silent), 0)]


def weights(home: Path, *, spoil: bool) -> None:
    """Train the model again in its place: as good as before, or so that all texts are alike."""
    from safetensors.numpy import load_file, save_file

    file = home / "model" / "model.safetensors"
    [(name, table)] = load_file(file).items()
    kept = home / "weights.npy"
    if not kept.exists():
        np.save(kept, table)
    good = np.roll(np.load(kept), int(np.random.default_rng().integers(1, 60)), axis=1)
    save_file({name: np.ones_like(good) if spoil else np.ascontiguousarray(good)}, file)


def bounds_of(
    answers: Sequence[tuple[int, float, str]], *, idle: float, failed: Sequence[str]
) -> list[Bound]:
    def count(kind: str) -> int:
        return sum(wrong.startswith(kind) for _, _, wrong in answers)

    for wrong in {wrong for _, _, wrong in answers if wrong.startswith("failed")}:
        print(wrong)
    print(f"{len(answers):,} answers; p95 {p95(answers):.3f} s, idle {idle:.3f} s")
    return [
        at_least("answers", len(answers), 100),
        equal("failed answers", count("failed"), 0),
        equal("empty answers", count("empty"), 0),
        equal("mixed answers", count("mixed"), 0),
        at_most("p95 against idle", p95(answers) / idle, 3),
        equal("commands that failed", len(failed), 0),
    ]


def main() -> None:
    command = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    command.add_argument("--seconds", type=float, default=120)
    command.add_argument("--clients", type=int, default=4)
    options = command.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        file = make(home)
        rag_assets("refresh", "--json", config=file)
        count, seconds = options.clients, options.seconds
        with clients(home, count=count, seconds=seconds / 3, phase="idle") as idling:
            pass
        with clients(home, count=count, seconds=seconds, phase="busy") as busy:
            failed = move_everything(home, file, until=busy.until)
        file.write_text(CONFIG, "utf-8")
        bounds = bounds_of(
            answers_of(busy.files), idle=p95(answers_of(idling.files)), failed=failed
        )
        root = home / "state"
        beyond, lost = rivalries(root)
        torn = torn_by_kills(root)
        taken = moves(file)  # the last: it loads Lance, which no fork survives
        bounds += robbed(home / "robbed")
        bounds += [
            at_most("move of the pointer, seconds, p95", float(np.quantile(taken, 0.95)), 0.1),
            equal(f"torn by {KILLS} kills", torn, 0),
            equal("moves at once that both won", beyond, 0),
            at_least("moves at once that one lost, and said so", lost, 1),
        ]
    finish("serving", bounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        client(*sys.argv[2:5])
    else:
        main()
