"""A project of short documents about coatings, and a model that plays a script about them."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.questions import windows
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.scripted_language_model import Behaviour, answers

CONFIG = """\
state_dir: {state}
sources:
  documents: {{name: handbooks, url: documents}}
chunkings:
  short: {{strategy: sentences, size: {size}, overlap: 0, header: {header}}}
variants:
  default: {{parser: pdfium, chunking: short}}
retrieval: {{retriever: bm25}}
gate: {{queries: 50}}
language_models:
  writer: {{base_url: "{url}", model: scripted, seconds: 5, attempts: 2, sources: [handbooks]}}
questions: {{from_documents: {most}, per_document: 2, model: {model}}}
"""
WINDOW_TOKENS = 128
"""Two chunks of 64 tokens: short documents have several windows."""
FACT = "Bolts with the coating {0} bear salt spray for {1} hours without red rust."
SALT = re.compile(
    r"Bolts with the coating (\S+) bear salt spray for (\d+) hours without red rust\."
)
NAMES = ("zinc", "nickel", "wax", "chrome", "lacquer", "paint")


def text_of(name: str, *, sections: int = 6, hours: int = 100, more: str = "") -> str:
    """A document with a fact in each section."""
    parts = [
        f"## Coating {name}{number}\n\n{FACT.format(f'{name}{number}', hours + number)} "
        f"It is {number + 3} µm thick on the head of the bolt, as batch {number} showed.{more}"
        for number in range(sections)
    ]
    return "\n\n".join([f"# Handbook of {name}", *parts]) + "\n"


def write(home: Path, name: str, text: str) -> None:
    folder = home / "documents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text)


def config_of(
    home: Path, *, url: str = "http://127.0.0.1:9/v1", most: int = 60, **settings: str
) -> Config:
    """The project's config, whose model is at `url`."""
    given = {"state": "state", "size": "64", "header": "section", "model": "writer"} | settings
    file = home / "rag_assets.yaml"
    file.write_text(CONFIG.format(url=url, most=most, **given))
    return configuration.load(file)


def build(home: Path, **settings: str) -> None:
    """Bring the index up to the documents."""
    with hashing():
        refresh(config_of(home, **settings))


def short_windows(monkeypatch) -> None:
    monkeypatch.setattr(windows, "WINDOW_TOKENS", WINDOW_TOKENS)


def asked_of(body: dict) -> dict:
    """What a request asks, as the JSON that it holds."""
    return json.loads(body["messages"][-1]["content"])


def good(given: dict) -> dict:
    """A question to the first fact of a passage, or the chunk that holds the fact of a question."""
    if "passages" in given:
        return {"passage": picked(given)}
    coating, hours = SALT.findall(given["passage"])[0]
    return {
        "question": f"How long do bolts with the coating {coating} resist salt spray?",
        "answer": f"{hours} hours without red rust",
        "span": FACT.format(coating, hours),
    }


def picked(given: dict) -> int:
    """The number of the passage about the coating that a question names."""
    wanted = given["question"].split("coating ")[1].split()[0].rstrip("?")
    found = [number for number, text in given["passages"].items() if f"coating {wanted} " in text]
    return int(found[0]) if found else 0


def model(**others: Callable[[dict], dict | Behaviour]) -> Callable[[dict], Behaviour]:
    """A script: what is asked about a document `others` answer by its name, `good` else."""

    def answer(body: dict) -> Behaviour:
        given = asked_of(body)
        about = json.dumps(given, ensure_ascii=False)
        chosen = next((make for name, make in others.items() if f"coating {name}" in about), good)
        made = chosen(given)
        return made if isinstance(made, Behaviour) else answers(json.dumps(made))

    return answer
