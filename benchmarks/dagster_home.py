"""Two indexes and foreign assets of the same names in one Dagster code location: what mixes?

usage: dagster_home.py [--keep FOLDER]

A project is written as somebody might have it: an index `handbook`, an index `team/manuals`, and
beside them an asset `chunks`, an asset `document_files` and a job `promote` of its own, in one
instance. Both indexes are refreshed by their schedules, one is backfilled with a second variant,
which is promoted; then a source of one breaks, and the foreign job fails. Names, records of runs,
alerts (to a real web server) and the files of the states are held apart. Vectors come from an
embedding model of the project's own, which needs no weights.
"""

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bounds import REPOSITORY, Bound, equal, finish

sys.path.insert(0, str(REPOSITORY))

import dagster as dg

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.definitions import definitions
from rag_assets.operations.alerts.dispatch import Teller
from rag_assets.operations.problems import own_runs
from rag_assets.store import Store, serving_pointer
from rag_assets_testing.alert_servers import Web, web_server

PREFIXES = ("handbook", "team/manuals")
OWN_PARTS = '''\
"""An embedding model: the letters of a text, counted."""

import numpy as np


class Letters:
    revision = 1
    dimension = 128
    max_tokens = 512

    def embed_passages(self, texts):
        vectors = np.ones((len(texts), self.dimension), np.float32)
        for row, text in zip(vectors, texts):
            for letter in text:
                row[ord(letter) % self.dimension] += 1
        return vectors

    embed_queries = embed_passages
'''
CONFIG = """\
state_dir: state
sources:
  documents: documents
  tables: [{name: plates, url: plates}]
models: {letters: {backend: custom, path: "letters_of_texts:Letters"}}
variants:
  default: {parser: pdfium, chunking: fixed_256, model: letters}
  other: {parser: pdfium, chunking: fixed_256, serializer: json, model: letters}
retrieval: {retriever: bm25}
execution: {parsing: in_process}
"""


@dg.asset
def chunks() -> None:
    """An asset of the project that is called like one of an index."""


@dg.asset
def document_files() -> None:
    """Another."""


@dg.op
def breaking() -> None:
    raise ValueError("something of the project broke")


@dg.job
def promote() -> None:
    """A job of the project that is called like one of an index, and fails."""
    breaking()


@dataclass(frozen=True, slots=True)
class Home:
    """The code location, its instance, and the run of each thing that was done."""

    configs: Mapping[str, Config]
    defs: dg.Definitions
    instance: dg.DagsterInstance

    def run(
        self, prefix: str, job: str, *, variant: str | None = None, options: Mapping[str, str] = {}
    ) -> str:
        """Run a job of an index to its end; its id."""
        name = self.configs[prefix].dagster.name(job)
        made = self.defs.resolve_job_def(name)
        ops = {made.nodes[0].name: {"config": dict(options)}} if options else {}
        done = made.execute_in_process(
            instance=self.instance,
            partition_key=variant,
            run_config={"ops": ops},
            raise_on_error=False,
        )
        print(f"{name}{f' of {variant}' if variant else ''}: {done.dagster_run.status.value}")
        return done.run_id


def written(root: Path, url: str) -> dict[str, Config]:
    """The two indexes in `root`, whose alerts go to `url`."""
    (root / "letters_of_texts.py").write_text(OWN_PARTS)
    sys.path.insert(0, str(root))
    found = {}
    for number, prefix in enumerate(PREFIXES):
        folder = root / prefix
        for name in ("documents", "plates"):
            (folder / name).mkdir(parents=True)
        for report in range(3 + number):
            text = f"# Report {report} of {prefix}\n\nPlate {report} bore {report * 50} MPa.\n"
            (folder / "documents" / f"report{report}.md").write_text(text)
        (folder / "plates" / "plates.csv").write_text(f"id,steel\n1,S355\n2,S690\n3,{number}\n")
        names = {"key_prefix": prefix, "executor": False, "code_location": "home"}
        channel = {"name": "hook", "type": "json", "url": f"{url}/{prefix}"}
        added = {"dagster": names, "alerts": {"channels": [channel]}}
        lines = [f"{key}: {json.dumps(value)}\n" for key, value in added.items()]
        file = folder / "rag_assets.yaml"
        file.write_text(CONFIG + "".join(lines))
        found[prefix] = configuration.load(file)
    return found


def code_location(configs: Iterable[Config]) -> dg.Definitions:
    own = dg.Definitions(
        assets=[chunks, document_files], jobs=[promote], executor=dg.in_process_executor
    )
    return dg.Definitions.merge(*(definitions(config) for config in configs), own)


def names_of(defs: dg.Definitions) -> dict[str, str]:
    """All names by which Dagster knows something of `defs`, with what it is."""
    repository = defs.get_repository_def()
    found = {spec.key.to_user_string(): "asset" for spec in defs.resolve_all_asset_specs()}
    named = (
        ("job", [job for job in repository.get_all_jobs() if not job.name.startswith("__")]),
        ("schedule", repository.schedule_defs),
        ("sensor", repository.sensor_defs),
    )
    found |= {f"{kind} {each.name}": kind for kind, all_of in named for each in all_of}
    return found | {f"resource {name}": "resource" for name in repository.get_top_level_resources()}


def mixed_names(home: Home) -> int:
    """Names of the whole that are not exactly those of its parts, each once."""
    parts = [names_of(definitions(config)) for config in home.configs.values()]
    parts.append(names_of(dg.Definitions(assets=[chunks, document_files], jobs=[promote])))
    twice = sum(map(len, parts)) - len({name for part in parts for name in part})
    whole = names_of(home.defs)
    return twice + len(whole.keys() ^ {name for part in parts for name in part})


def content(folder: Path) -> str:
    """Hash of all files of a state, records of looks left out."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return digest.hexdigest()


def scheduled(home: Home, prefix: str) -> str:
    """Do what the nightly schedule of an index asks for; the id of the run."""
    config = home.configs[prefix]
    schedule = home.defs.resolve_schedule_def(config.dagster.name("nightly"))
    now = datetime.now(UTC)
    context = dg.build_schedule_context(
        instance=home.instance,
        scheduled_execution_time=now,
        repository_def=home.defs.get_repository_def(),
    )
    [request] = list(schedule.evaluate_tick(context).run_requests or ())
    assert schedule.job_name == config.dagster.name("nightly_refresh")
    return home.run(prefix, "nightly_refresh", variant=str(request.partition_key))


def mixed_runs(home: Home, done: Mapping[str, str]) -> int:
    """Runs that an index takes for its own and are not, or the other way round; and their events.

    `done` has the prefix of each run, by its id; an empty one of those of the project.
    """
    wrong = 0
    for prefix, config in home.configs.items():
        runs = home.instance.get_runs()
        own = {run.run_id for run in runs if own_runs.is_own_run(run, config, home.instance)}
        wrong += len(own ^ {run for run, of in done.items() if of == prefix})
    for key in home.instance.all_asset_keys():
        event = home.instance.get_latest_materialization_event(key)
        of = next((each for each in PREFIXES if key.to_user_string().startswith(f"{each}/")), "")
        wrong += event is not None and done[event.run_id] != of
    return wrong


def mixed_alerts(web: Web) -> int:
    """Messages that went to one index and tell of anything else."""
    wrong = 0
    for prefix, other in zip(PREFIXES, reversed(PREFIXES), strict=True):
        for request in web.at(f"/{prefix}"):
            said = json.dumps(request.json)
            wrong += other in said or "something of the project" in said
            wrong += request.json["rag_assets/index"] != prefix
    return wrong


def looked_after(home: Home, web: Web) -> Iterable[Bound]:
    """Everything that is done to the code location, with its bounds."""
    yield equal("names that collide, or are another's", mixed_names(home), 0)
    states = {prefix: config.state_dir for prefix, config in home.configs.items()}
    first, second = PREFIXES
    done: dict[str, str] = {}
    mixed_states = 0

    def alone(prefix: str, action: str) -> None:
        """Count the states of others that an action on one index changed."""
        nonlocal mixed_states
        changed = {each for each in PREFIXES if content(states[each]) != before[each]}
        print(f"{action} of {prefix}: changed the state of {', '.join(sorted(changed)) or 'none'}")
        mixed_states += len(changed - {prefix})

    def contents() -> dict[str, str]:
        return {each: content(folder) for each, folder in states.items()}

    before = contents()
    for prefix in PREFIXES:
        done[scheduled(home, prefix)] = prefix
        alone(prefix, "nightly refresh")
        before = contents()
    theirs = [
        dg.materialize([chunks, document_files], instance=home.instance).run_id,
        home.defs.resolve_job_def("promote")
        .execute_in_process(instance=home.instance, raise_on_error=False)
        .run_id,
    ]
    done |= dict.fromkeys(theirs, "")
    alone("", "the project's own work")
    done[home.run(first, "backfill_variant", variant="other")] = first
    alone(first, "backfill")
    before = contents()
    done[home.run(first, "promote", options={"variant": "other"})] = first
    alone(first, "promotion")
    serve = {
        each: pointer.variant if (pointer := serving_pointer.current(Store.of(config))) else None
        for each, config in home.configs.items()
    }
    print(f"serving: {serve}")
    yield equal(
        "indexes that serve what was promoted", sum(v == "other" for v in serve.values()), 1
    )
    before = contents()
    shutil.rmtree(home.configs[second].state_dir.parent / "plates")
    done[scheduled(home, second)] = second
    alone(second, "refresh without a source")
    for config in home.configs.values():
        Teller(config, log=print).tell(home.instance)
    told = [len(web.at(f"/{prefix}")) for prefix in PREFIXES]
    print(f"alerts: {dict(zip(PREFIXES, told, strict=True))}")
    yield equal("states that another's work changed", mixed_states, 0)
    yield equal("runs and events that are taken for another's", mixed_runs(home, done), 0)
    yield equal("alerts that tell of another's", mixed_alerts(web), 0)
    yield equal("indexes that are told of their broken source", sum(map(bool, told)), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="folder to write the project into, for a look")
    keep = parser.parse_args().keep
    with tempfile.TemporaryDirectory() as folder, web_server() as web:
        root = keep or Path(folder)
        (root / "home").mkdir(parents=True)
        os.environ["DAGSTER_HOME"] = str(root / "home")
        configs = written(root, web.url)
        with dg.DagsterInstance.get() as instance:
            home = Home(configs, code_location(configs.values()), instance)
            bounds = [*looked_after(home, web)]
    finish("dagster_home", bounds)


if __name__ == "__main__":
    main()
