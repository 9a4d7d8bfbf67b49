"""Follow-ups that are completed by rules: do they find what the full question finds?

usage: follow_ups.py [FILE] [--state FOLDER]

FILE (`other_hand/follow_ups.jsonl`) has a conversation a line: `history` (questions with their
answers), `follow_up`, `full` (the same as a question that needs no history), `gold` and `lang`.
Each is searched three times in the index of materials_demo: as the full question, as the rules
complete it, and as it was typed.
"""

import argparse
import json
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from bounds import Bound, at_least, dataset, finish, rag_assets
from retrieval import write_config

from rag_assets import config as configuration
from rag_assets.answering.condensation.conversation import Turn
from rag_assets.answering.condensation.rules import condensed
from rag_assets.answering.lookup.arm import LookupArm
from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.search import VariantIndex
from rag_assets.store import Store

DATASET = "materials_demo"
FILE = Path(__file__).parent / "other_hand" / "follow_ups.jsonl"
LEAST_SHARE = 0.9
TOP_K = 10


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", type=Path, nargs="?", default=FILE)
    parser.add_argument("--state", type=Path, help="folder to keep the index in")
    arguments = parser.parse_args()
    cases = [json.loads(line) for line in arguments.file.read_text("utf-8").splitlines() if line]
    with tempfile.TemporaryDirectory() as temporary:
        home = (arguments.state or Path(temporary)).absolute() / DATASET
        finish("follow_ups", [*measured(cases, home=home)])


def measured(cases: Iterable[Mapping], *, home: Path) -> Iterable[Bound]:
    """hit@10 of the three readings of each follow-up, by language."""
    config_file = write_config(dataset(DATASET), state=home)
    os.environ["RAG_ASSETS_CONFIG"] = str(config_file)
    rag_assets("refresh", config=config_file)
    config = configuration.load()
    store = Store.of(config)
    tables = LookupArm(store, config)
    index = open_index(store, config, config.serving_variant, arms={"lookup": tables})
    catalogue = tables.catalogue(index.complete_set)
    paths = _paths()
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for case in cases:
        said = [Turn(turn["question"], turn["answer"]) for turn in case["history"]]
        whole = condensed(case["follow_up"], said, catalogue=catalogue).question
        asked = {"full": case["full"], "completed": whole, "typed": case["follow_up"]}
        hits = {name: _is_hit(index, text, case["gold"], paths) for name, text in asked.items()}
        counts[case["lang"]].update({"asked": 1, **hits})
        if hits["full"] and not hits["completed"]:
            print(f"missed: {case['follow_up']!r} was read as {whole!r}")
    for language, numbers in sorted(counts.items()):
        print(language, dict(numbers))
    all_of = sum(counts.values(), Counter())
    share = all_of["completed"] / all_of["full"]
    yield at_least("hit@10 of completed follow-ups over that of full questions", share, LEAST_SHARE)


def _is_hit(index: VariantIndex, text: str, gold: Iterable[str], paths: Mapping[str, str]) -> bool:
    hits = index.search(text, top_k=TOP_K)
    return any(label in gold for hit in hits for label in _labels(hit, paths))


def _labels(hit: Hit, paths: Mapping[str, str]) -> list[str]:
    """What the gold of the dataset calls a hit."""
    if hit.domain == "table":
        return [f"row:{hit.table}:{hit.row_key}"]
    document = f"doc:{paths.get(hit.uri, hit.uri)}"
    return [document, *(f"{document}#page={page}" for page in hit.pages or ())]


def _paths() -> dict[str, str]:
    lines = (dataset(DATASET) / "documents.jsonl").read_text("utf-8").splitlines()
    documents = [json.loads(line) for line in lines]
    return {each["path"].removeprefix("docs/"): each["doc_id"] for each in documents}


if __name__ == "__main__":
    main()
