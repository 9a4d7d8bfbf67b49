"""An open Dagster UI beside ten edits of files, a database and the config, with three variants.

usage: open_ui.py

A project of a few files is built by the real command: one variant serves, another was tried, a
third was built and rejected. Then `rag-assets ui` is started, web server and daemon, and after each
edit everything is read by GraphQL as the browser does: the runs that the daemon launched, what they
touched, whether each asset says of itself what is true, and whether the graph follows the config.
It takes a quarter of an hour: the sensor looks at the sources every 30 s, which is the least.
"""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.error import URLError

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bounds import Bound, at_most, equal, finish, rag_assets

from rag_assets_testing.ports import free_port

say = partial(print, flush=True)
CONFIG = """\
state_dir: state
sources:
  documents: documents
  tables:
    - {name: plant, url: "sqlite:///plant.sqlite", tables: [parts]}
variants:
  default: {parser: pdfium, chunking: fixed_256, model: minilm}
  tried: {parser: pdfium, chunking: fixed_256, serializer: json, model: minilm}
  rejected: {parser: pdfium, chunking: fixed_256, serializer: markdown, model: minilm}
retrieval: {retriever: bm25}
evaluation: {questions: [{path: questions.jsonl}], retrievers: [baseline]}
schedule: {cron: "0 3 1 1 *", sensor_seconds: 30}
"""
SERVES = "default"
OTHERS = ("tried", "rejected")
QUESTION = '{"id": "salt", "question": "How long does AlMg3 bear salt?", "gold": ["doc:salt.md"]}\n'
PATIENCE = 420
"""Seconds that something of the UI may take on a busy machine."""
SETTLED = 3
"""Seconds after which a file counts as written."""
NOTHING_TO_DO = re.compile("source changed|would fail")
"""What the sensor says then: also while the config has an error."""
RUNS = """{ runsOrError { ... on Runs { results {
  runId status jobName creationTime tags { key value } } } } }"""
TICK = """{ sensorOrError(sensorSelector: {sensorName: "source_changes",
  repositoryName: "__repository__", repositoryLocationName: "rag_assets"}) { ... on Sensor {
  sensorState { ticks(limit: 1) { timestamp status skipReason error { message } } } } } }"""
SENSORS = """{ sensorsOrError(repositorySelector: {repositoryName: "__repository__",
  repositoryLocationName: "rag_assets"}) { ... on Sensors { results { name } } } }"""
READ = """{ assetNodes(assetKeys: [{path: ["document_files"]}]) {
  assetMaterializations(limit: 1) { runId } } }"""
ASSETS = """{ assetNodes { assetKey { path } partitionKeys staleStatus
  staleCauses { reason dependency { path } } } }"""
PARTITIONS = """query ($keys: [AssetKeyInput!]!, $variants: [String!]!) {
  assetNodes(assetKeys: $keys) { assetKey { path }
    staleStatusByPartition(partitions: $variants)
    assetMaterializations(limit: 100) { partition timestamp } } }"""


@dataclass
class Ui:
    """The UI that is open, and what was counted."""

    home: Path
    url: str
    output: Path
    """What the command prints."""
    bounds: list[Bound] = field(default_factory=list)
    counted: set[str] = field(default_factory=set)
    """Runs that an earlier edit answers for."""

    def answer(self, query: str, **variables: object) -> dict:
        request = urllib.request.Request(
            f"{self.url}/graphql",
            data=json.dumps({"query": query, "variables": variables}).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=120) as response:
            found = json.load(response)
        if "errors" in found:
            sys.exit(f"the UI does not answer: {found['errors']}")
        return found["data"]

    def runs(self) -> list[dict]:
        """All runs, the newest first."""
        return self.answer(RUNS)["runsOrError"]["results"]

    def going(self) -> list[dict]:
        return [
            run for run in self.runs() if run["status"] not in ("SUCCESS", "FAILURE", "CANCELED")
        ]

    def has_read(self, run: dict) -> bool:
        """Whether a run is done with the documents at their source."""
        [node] = self.answer(READ)["assetNodes"]
        return [run["runId"]] == [made["runId"] for made in node["assetMaterializations"]]

    def is_quiet(self, *, since: float) -> bool:
        """Whether the sensor has looked since, found nothing to do, and no run is going on."""
        [tick] = self.answer(TICK)["sensorOrError"]["sensorState"]["ticks"] or [None]
        if tick is None or tick["timestamp"] < since + SETTLED or self.going():
            return False
        return tick["status"] == "SKIPPED" and NOTHING_TO_DO.search(tick["skipReason"]) is not None

    def partitions(self) -> list[str]:
        nodes = self.answer(ASSETS)["assetNodes"]
        return next(node["partitionKeys"] for node in nodes if node["partitionKeys"])

    def sensors(self) -> list[str]:
        return [each["name"] for each in self.answer(SENSORS)["sensorsOrError"]["results"]]

    def assets(self) -> list[str]:
        return [_name(node) for node in self.answer(ASSETS)["assetNodes"]]

    def stale(self, variant: str) -> list[str]:
        """Assets that call themselves older than what they are made from."""
        nodes = self.answer(ASSETS)["assetNodes"]
        keys = [node["assetKey"] for node in nodes if node["partitionKeys"]]
        found = self.answer(PARTITIONS, keys=keys, variants=[variant])["assetNodes"]
        return [
            *(f"{_name(node)}: {node['staleCauses']}" for node in nodes if _is_stale(node)),
            *(f"{_name(node)} of {variant}" for node in found if _is_stale(node)),
        ]

    def newest(self, variant: str) -> Mapping[str, str]:
        """When each asset of a variant was last materialized."""
        nodes = self.answer(ASSETS)["assetNodes"]
        keys = [node["assetKey"] for node in nodes if node["partitionKeys"]]
        found: dict[str, str] = {}
        for node in self.answer(PARTITIONS, keys=keys, variants=[SERVES])["assetNodes"]:
            for made in node["assetMaterializations"]:
                if made["partition"] == variant:
                    found.setdefault(_name(node), made["timestamp"])
        return found


def _name(node: dict) -> str:
    return "/".join(node["assetKey"]["path"])


def _is_stale(node: dict) -> bool:
    return "STALE" in (node.get("staleStatus"), *node.get("staleStatusByPartition", ()))


def tags(run: dict) -> dict[str, str]:
    return {tag["key"]: tag["value"] for tag in run["tags"]}


def wait(what: str, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if holds():
                return True
        except (URLError, ConnectionError):
            pass
        time.sleep(1)
    say(f"  waited in vain: {what}")
    return False


def scene(
    ui: Ui,
    name: str,
    edit: Callable[[], object],
    *,
    runs: int,
    shown: Callable[[], bool] = lambda: True,
) -> None:
    """One edit: the runs that it leads to, and what the UI shows once they have ended."""
    before = {variant: ui.newest(variant) for variant in OTHERS}
    began = time.time()
    edit()
    is_shown = wait(f"{name} is shown", shown)
    edited = time.time()
    is_quiet = wait(f"{name} is worked in", lambda: ui.is_quiet(since=edited))
    new = [run for run in ui.runs() if run["runId"] not in ui.counted]
    ui.counted |= {run["runId"] for run in new}
    automatic = [run for run in new if "dagster/sensor_name" in tags(run)]
    wrong = [
        *(f"{line} is stale" for line in ui.stale(SERVES)),
        *(f"run {run['runId']} ended with {run['status']}" for run in new if _failed(run)),
    ]
    touched = [variant for variant in OTHERS if ui.newest(variant) != before[variant]]
    for line in (*wrong, *(f"{variant} was touched" for variant in touched)):
        say(f"  {line}")
    say(f"{name}: {len(automatic)} automatic runs, {time.time() - began:.0f} s")
    ui.bounds += [
        equal(f"{name}: automatic runs", len(automatic), runs),
        equal(f"{name}: other variants touched", len(touched), 0),
        equal(f"{name}: states that are not true", len(wrong), 0),
        equal(f"{name}: shown, and quiet in the end", is_shown and is_quiet, True),
    ]


def _failed(run: dict) -> bool:
    return run["status"] != "SUCCESS"


def ten_edits(ui: Ui) -> None:
    """Files, a database, the config, and the command line beside the daemon."""
    documents, file = ui.home / "documents", ui.home / "rag_assets.yaml"
    heat = documents / "heat.md"

    def config(old: str, new: str) -> None:
        file.write_text(file.read_text().replace(old, new))

    def twice() -> None:
        heat.write_text("# Heat\n\nInvar hardly expands up to 210 degrees.\n")
        wait("a run has read it", lambda: any(map(ui.has_read, ui.going())))
        heat.write_text("# Heat\n\nInvar hardly expands up to 220 degrees.\n")

    def by_hand() -> None:
        (documents / "cold.md").write_text("# Cold\n\nSteel is brittle below zero.\n")
        rag_assets("refresh", config=file)

    def beside_a_run() -> None:
        (documents / "rust.md").write_text("# Rust\n\nZinc protects steel.\n")
        wait("its run has begun", lambda: bool(ui.going()))
        config("fourth:", "fifth:")

    def broken() -> None:
        config("variants:", "variants: [")
        wait("the message", lambda: "The UI keeps" in ui.output.read_text())

    scene(ui, "the UI is opened", lambda: None, runs=0)
    scene(ui, "1 a new document", lambda: (documents / "creep.md").write_text(CREEP), runs=1)
    scene(ui, "2 a changed document, twice", twice, runs=2)
    scene(ui, "3 a renamed document", lambda: heat.rename(documents / "warmth.md"), runs=1)
    scene(ui, "4 a deleted document", (documents / "creep.md").unlink, runs=1)
    scene(ui, "5 a changed row", lambda: execute(ui, "UPDATE parts SET mass = 3"), runs=1)
    scene(ui, "6 a document, and a refresh by hand", by_hand, runs=0)
    scene(
        ui,
        "7 a new variant",
        lambda: config("variants:\n", "variants:\n  fourth: {parser: pdfium, serializer: yaml}\n"),
        runs=0,
        shown=lambda: "fourth" in ui.partitions(),
    )
    scene(ui, "8 a broken config", broken, runs=0, shown=lambda: "fourth" in ui.partitions())
    scene(
        ui,
        "9 the config mended, with an alert",
        lambda: (
            config("variants: [", "variants:"),
            config("schedule:", f"{ALERTS}schedule:"),
        ),
        runs=0,
        shown=lambda: "alerts" in ui.sensors(),
    )
    scene(
        ui,
        "10 a document, and a variant renamed during its run",
        beside_a_run,
        runs=1,
        shown=lambda: "fifth" in ui.partitions(),
    )
    scene(
        ui,
        "11 a new source",
        lambda: config("  tables:\n", f"  tables:\n{FOLDER}"),
        runs=1,
        shown=lambda: "exports/lists/stock" in ui.assets(),
    )
    waiting = [variant for variant in OTHERS if ui.stale(variant)]
    ui.bounds.append(equal("variants that say that they wait", len(waiting), len(OTHERS)))


CREEP = "# Creep\n\nP91 creeps above 600 degrees.\n"
ALERTS = 'alerts: {channels: [{type: json, url: "http://127.0.0.1:9/hook"}]}\n'
FOLDER = "    - {name: lists, url: lists, tables: [stock]}\n"


def execute(ui: Ui, statement: str) -> None:
    with closing(sqlite3.connect(ui.home / "plant.sqlite")) as database, database:
        database.execute(statement)


def make(home: Path) -> None:
    """The project, built by the real command."""
    (home / "rag_assets.yaml").write_text(CONFIG)
    (home / "questions.jsonl").write_text(QUESTION)
    (home / "documents").mkdir()
    (home / "documents" / "salt.md").write_text("# Salt\n\nAlMg3 bears salt for 500 hours.\n")
    (home / "documents" / "heat.md").write_text("# Heat\n\nInvar hardly expands.\n")
    (home / "lists").mkdir()
    (home / "lists" / "stock.csv").write_text("id,name\n1,bolt\n2,nut\n")
    with closing(sqlite3.connect(home / "plant.sqlite")) as database, database:
        database.execute("CREATE TABLE parts (id INTEGER PRIMARY KEY, name TEXT, mass REAL)")
        database.execute("INSERT INTO parts VALUES (1, 'bolt', 1), (2, 'nut', 2)")
    time.sleep(SETTLED)
    for command in (["refresh"], *(["variants", "backfill", variant] for variant in OTHERS)):
        done = rag_assets(*command, config=home / "rag_assets.yaml")
        if done.code:
            sys.exit(f"{command} ended with exit code {done.code}: {done.output}")


@contextmanager
def opened(home: Path) -> Generator[Ui]:
    """The UI, until the block ends."""
    port, output = free_port(), home / "ui.log"
    command = [Path(sys.executable).with_name("rag-assets"), "ui", "--port", str(port)]
    environment = {**os.environ, "RAG_ASSETS_CONFIG": str(home / "rag_assets.yaml")}
    with output.open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    ui = Ui(home, f"http://127.0.0.1:{port}", output)
    try:
        if not wait("the UI is up", lambda: bool(ui.runs())):
            sys.exit(f"the UI did not start: {output.read_text()}")
        ui.counted |= {run["runId"] for run in ui.runs()}
        yield ui
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(PATIENCE)


def main() -> None:
    home = Path(tempfile.mkdtemp(prefix="open_ui_"))
    make(home)
    began = time.monotonic()
    with opened(home) as ui:
        ten_edits(ui)
    minutes = (time.monotonic() - began) / 60
    say(f"{minutes:.0f} minutes; what the command said:")
    say("\n".join(f"  {line}" for line in ui.output.read_text().splitlines() if "UI" in line))
    shutil.rmtree(home)
    finish("open_ui", [*ui.bounds, at_most("minutes", minutes, 60)])


if __name__ == "__main__":
    main()
