"""A model swap: another variant is built beside the one that serves, and no text is made again.

usage: swap.py [--documents 1000] [--swaps 3]

Text files of some thirty chunks each are built with a static model. Then `rag-assets variants
backfill` builds variants with other dimensions of it, each of which is another model. Each command
is a process of its own, and its CPU time, threads included, is split into these parts:

- vectors: the model is loaded and embeds, the tables of both domains and the joint table are
  created, and rows with vectors are written and committed to them;
- indexes: vector, full-text and scalar indexes of the new tables are built;
- checks: the new tables are measured, and the index is judged beside the one that serves;
- the rest: start-up, definitions, Dagster's records, sources, parsing, chunking, rows,
  serialization, comparing what is to be done, completing.

The rest is what a swap may cost beyond embedding: it is held against all that a refresh with
nothing to do takes. Indexes and checks of new tables are no part of either, and are shown apart.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import yaml
from bounds import at_least, at_most, equal, finish
from clocks import Clocks
from scale import texts

VECTORS, INDEXES, CHECKS, REST = PARTS = ("vectors", "indexes", "checks", "the rest")
MORE_THAN_NO_OP = 1.1
UNITS = 30_000
SIZE = 64
"""Tokens of a chunk."""
DONE = (0, 3)
DIMENSIONS = (192, 128, 96, 64, 48)


def run_with_clocks(arguments: list[str]) -> None:
    """Run a command of `rag-assets` in this process; the last line says where its CPU time went."""
    # what was used before, to start Python, counts as the rest
    clocks = Clocks(time.process_time, rest=REST, since=0.0)

    from rag_assets import asset_checks
    from rag_assets.change import sync
    from rag_assets.index import encoders, indexes, joint
    from rag_assets.operations.serving_index import promotion
    from rag_assets.serving import cli

    for written in ("_made_ready", "_written"):
        clocks.watch(sync, written, name=VECTORS)
    for module in (encoders, joint):
        clocks.watch(module, "encoder_of", name=VECTORS)
    clocks.watch(indexes, "maintain", name=INDEXES)
    clocks.watch(asset_checks, "result_of", name=CHECKS)
    clocks.watch(promotion, "judge_beside", name=CHECKS)
    code = cli.main([*arguments, "--json"])
    clocks.stop()
    print(json.dumps({name: clocks.seconds[name] for name in PARTS}))
    sys.exit(code)


class Finished:
    """A command that ran."""

    def __init__(self, home: Path, *arguments: str) -> None:
        print("$ rag-assets", *arguments, flush=True)
        environment = {**os.environ, "RAG_ASSETS_CONFIG": str(home / "rag_assets.yaml")}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, str(Path(__file__).resolve()), "--command", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in DONE:
            sys.exit(f"it ended with exit code {done.returncode}: {done.stderr[-2_000:]}")
        answer, parts = done.stdout.strip().splitlines()[-2:]
        self.assets: Mapping[str, Mapping[str, float]] = json.loads(answer)["assets"]
        self.parts: Mapping[str, float] = json.loads(parts)
        self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        """Of all its processes."""

    def made(self, asset: str, *counts: str) -> int:
        """What an asset counts, all that was made unless named."""
        found = self.assets.get(asset, {})
        return int(sum(found.get(name, 0) for name in counts or ("added", "changed", "failed")))

    @property
    def line(self) -> str:
        split = ", ".join(f"{name} {seconds:.2f}" for name, seconds in self.parts.items())
        return f"  {self.cpu:.2f} CPU s: {split}"


def write_project(home: Path, *, documents: int, variants: Mapping[str, int]) -> None:
    """Documents, a static model, and a variant for each number of its dimensions."""
    from rag_assets_testing.derived_models import save_static

    folder = home / "documents"
    folder.mkdir()
    for number, text in enumerate(texts(documents)):
        (folder / f"{number:07d}.txt").write_text(text, "utf-8")
    model = {"path": str(save_static(home / "model", contextual=False)), "backend": "static"}
    config = {
        "state_dir": str(home / "state"),
        "sources": {"documents": str(folder)},
        "models": {name: model | {"dimensions": size} for name, size in variants.items()},
        "chunkings": {"small": {"strategy": "fixed", "size": SIZE, "overlap": 0}},
        "variants": {name: {"chunking": "small", "model": name} for name in variants},
    }
    (home / "rag_assets.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def main() -> None:
    if sys.argv[1:2] == ["--command"]:
        run_with_clocks(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000)
    parser.add_argument("--swaps", type=int, default=3, choices=range(1, len(DIMENSIONS) + 1))
    options = parser.parse_args()
    swaps = {f"short_{size}": size for size in DIMENSIONS[: options.swaps]}
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        write_project(home, documents=options.documents, variants={"default": 256, **swaps})
        build = Finished(home, "refresh")
        units = build.made("joint_index")
        print(f"{units:,} units\n{build.line}", flush=True)
        idle, swapped = [], []
        for variant in swaps:
            for found, arguments in (
                (idle, ["refresh"]),
                (swapped, ["variants", "backfill", variant]),
            ):
                found.append(Finished(home, *arguments))
                print(found[-1].line, flush=True)
    no_op = median(sum(one.parts.values()) for one in idle)
    rest = median(one.parts[REST] for one in swapped)
    for part in PARTS:
        print(f"swap, {part}: {median(one.parts[part] for one in swapped):.2f} CPU s")
    print(f"refresh with nothing to do: {no_op:.2f} CPU s")
    finish(
        "swap",
        [
            at_least("units", units, UNITS),
            equal("units embedded", min(one.made("joint_index") for one in swapped), units),
            equal("documents parsed", sum(one.made("parsed_documents") for one in swapped), 0),
            equal("documents cut", sum(one.made("chunks") for one in swapped), 0),
            at_most(
                "CPU beyond embedding, times a refresh with nothing to do",
                rest / no_op,
                MORE_THAN_NO_OP,
            ),
        ],
    )


if __name__ == "__main__":
    main()
