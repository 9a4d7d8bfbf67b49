"""A project with questions to train on: forty to documents, eight to others that are measured."""

import json
from pathlib import Path

import yaml

from rag_assets_tests.models.tiny import save_tiny_model

PLACES = ("Arvika", "Boden", "Eslöv", "Falun", "Gävle", "Kiruna", "Lund", "Motala")
METALS = ("brass", "copper", "invar", "nickel", "steel", "tin")
COUNT = len(PLACES) * len(METALS)
COPY = "copy.md"
"""Says what the first document says."""
NOTICE = (
    "\n# Legal notice\n\n"
    "No part of this may be copied or passed on without the consent of the owner of the works.\n"
)
"""Ends a document to train on and one to measure with; a chunk of its own."""
TRAIN = 40
"""So many of the documents are asked about to train on, the others to measure."""
CONFIG = {
    "state_dir": "state",
    "sources": {"documents": "documents"},
    "variants": {
        "default": {"parser": "pdfium", "model": "minilm", "chunking": "headers_800"},
        "tuned": {"model": "tuned"},
    },
    "evaluation": {"questions": [{"path": "questions.jsonl"}], "retrievers": ["baseline"]},
    "training": {
        "retrievers": {"tuned": {"model": "minilm", "batch_size": 8, "epochs": 2, "max_tokens": 48}}
    },
}


def facts() -> list[tuple[str, str, str]]:
    """Name, text and question of each document."""
    return [
        (
            f"{place}_{metal}.md",
            f"# Works of {place}\n\nThe {metal} from {place} is rolled at {300 + 7 * number} "
            f"degrees and leaves the mill as strip number {number}.\n",
            f"How hot is {metal} rolled in {place}?",
        )
        for number, (place, metal) in enumerate((p, m) for p in PLACES for m in METALS)
    ]


def questions() -> list[dict[str, object]]:
    """The lines of the question file."""
    return [
        {
            "id": f"q{number}",
            "question": question,
            "gold": [f"doc:{name}"],
            "split": "train" if number < TRAIN else "test",
        }
        for number, (name, _, question) in enumerate(facts())
    ]


TINY = "tiny"


def with_tiny_model(home: Path) -> dict[str, object]:
    """The config of a project in `home` that starts from a tiny model there."""
    if not (home / TINY).is_dir():
        save_tiny_model(home / TINY, window=256)
    plain = {"path": str(home / TINY), "engine": "torch", "precision": "fp32"}
    variants = {**CONFIG["variants"], "default": {**CONFIG["variants"]["default"], "model": TINY}}
    recipe = {**CONFIG["training"]["retrievers"]["tuned"], "model": TINY}
    training = {"retrievers": {"tuned": recipe}}
    return {**CONFIG, "models": {TINY: plain}, "variants": variants, "training": training}


def write(
    home: Path,
    *,
    asked: list[dict[str, object]] | None = None,
    config: dict[str, object] = CONFIG,
) -> Path:
    """Write the project into `home`; `asked` are its questions."""
    folder = home / "documents"
    folder.mkdir(exist_ok=True)
    for number, (name, text, _) in enumerate(facts()):
        (folder / name).write_text(text + NOTICE * (number in (1, COUNT - 1)), "utf-8")
    (folder / COPY).write_text(facts()[0][1], "utf-8")
    lines = "".join(f"{json.dumps(one)}\n" for one in (asked or questions()))
    (home / "questions.jsonl").write_text(lines, "utf-8")
    file = home / "rag_assets.yaml"
    file.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), "utf-8")
    return file
