"""Follow-ups that are made whole: do they find what the full question finds?

usage: follow_ups.py [FILE] [--state FOLDER]

FILE (`other_hand/follow_ups.jsonl`) has a conversation a line: `history` (questions with their
answers), `follow_up`, `full` (the same as a question that needs no history), `gold` and `lang`.
Each is searched three times in the index of materials_demo: as the full question, as the rules
complete it, and as it was typed. With a server at RAG_ASSETS_TEST_ENDPOINT (base URL of an
OpenAI-compatible API, model RAG_ASSETS_TEST_MODEL) it is searched as that model completes it, too.
"""

import argparse
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml
from bounds import Bound, at_least, dataset, finish, rag_assets
from retrieval import write_config

from rag_assets import config as configuration
from rag_assets.answering.assistant import open_assistant
from rag_assets.answering.condensation.by_model import condense
from rag_assets.answering.condensation.by_rules import condensed
from rag_assets.answering.condensation.conversation import Turn
from rag_assets.config import Config
from rag_assets.models.language.calls import LanguageModel
from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.search import VariantIndex
from rag_assets.table_lookup.tables.catalogue import Catalogue

DATASET = "materials_demo"
FILE = Path(__file__).parent / "other_hand" / "follow_ups.jsonl"
LEAST_SHARE = 0.9
TOP_K = 10
ALL = "all"


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
    """hit@10 and MRR@10 of each reading of the follow-ups, by language."""
    config_file = _with_model(write_config(dataset(DATASET), state=home))
    os.environ["RAG_ASSETS_CONFIG"] = str(config_file)
    rag_assets("refresh", config=config_file)
    config = configuration.load()
    paths = _paths()
    found: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with open_assistant(config, config.serving_variant) as assistant:
        index, condenser = assistant.index, assistant.models.condenser
        for case in cases:
            read = _readings(case, config, assistant.catalogue, condenser)
            ranks = {name: _rank(index, text, case["gold"], paths) for name, text in read.items()}
            for name, rank in ranks.items():
                for language in (case["lang"], ALL):
                    found[language][name].append(rank)
            for name in read.keys() - {"full", "typed"}:
                if ranks["full"] and not ranks[name]:
                    print(f"missed: {case['follow_up']!r} was read by {name} as {read[name]!r}")
        if condenser is not None:
            print("spent:", condenser.spending.record())
    for language, readings in sorted(found.items()):
        for name, reciprocal in readings.items():
            print(f"{language} {name}: {_shown(reciprocal)}")
    of_all = found[ALL]
    for name in of_all.keys() - {"full", "typed"}:
        share = _hits(of_all[name]) / _hits(of_all["full"])
        what = f"hit@10 of follow-ups completed by {name} over that of full questions"
        yield at_least(what, share, LEAST_SHARE)


def _with_model(config_file: Path) -> Path:
    """The config with the model of the environment as its condenser, if one is given."""
    url = os.environ.get("RAG_ASSETS_TEST_ENDPOINT")
    if url:
        config = yaml.safe_load(config_file.read_text())
        model = os.environ["RAG_ASSETS_TEST_MODEL"]
        config["language_models"] = {"test": {"base_url": url, "model": model, "local": True}}
        config["answering"] = {"condenser": "test"}
        config_file.write_text(yaml.safe_dump(config, sort_keys=False))
    return config_file


def _readings(
    case: Mapping, config: Config, catalogue: Catalogue, model: LanguageModel | None
) -> dict[str, str]:
    """What is searched for a follow-up, by who made it."""
    said = [Turn(turn["question"], turn["answer"]) for turn in case["history"]]
    asked = case["follow_up"]
    read = {
        "full": case["full"],
        "rules": condensed(asked, said, catalogue=catalogue).question,
        "typed": asked,
    }
    if model is not None:
        every = config.source_names
        whole = condense(asked, said, model, every_source=every, catalogue=catalogue)
        if whole.note:
            print(f"{asked!r}: {whole.note}")
        read["the model"] = whole.question
    return read


def _rank(index: VariantIndex, text: str, gold: Iterable[str], paths: Mapping[str, str]) -> float:
    """1 / rank of the first gold among the first ten; 0 if there is none."""
    for rank, hit in enumerate(index.search(text, top_k=TOP_K), start=1):
        if any(label in gold for label in _labels(hit, paths)):
            return 1 / rank
    return 0.0


def _hits(reciprocal: Sequence[float]) -> int:
    return sum(value > 0 for value in reciprocal)


def _shown(reciprocal: Sequence[float]) -> str:
    count, hits = len(reciprocal), _hits(reciprocal)
    return f"hit@10 {hits} of {count} ({hits / count:.3f}), MRR@10 {sum(reciprocal) / count:.3f}"


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
