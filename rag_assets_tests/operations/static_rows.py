"""Rows under a static model, with questions that its vectors answer: nothing needs weights."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

import yaml

from rag_assets.config import Config
from rag_assets.evaluation.questions import refresh_questions
from rag_assets.store import Store
from rag_assets_testing.derived_models import save_static
from rag_assets_testing.faults.pipeline import build_index
from rag_assets_tests.index.corpus import put_chunks, put_rows

ROWS, QUESTIONS = 400, 150
VOCABULARY = """\
steel copper zinc nickel fatigue creep strain bridge ship turbine valve bearing gear engine salt
corrosion water heat cold pressure vacuum weld rivet screw polish grain phase crystal tensile shear
torsion bending impact hardness density melting boiling oxide carbide nitride"""
WORDS = VOCABULARY.split()


@dataclass(frozen=True)
class Made:
    home: Path
    rows: list[str]

    def config(self, **retrieval: object) -> Config:
        given = yaml.safe_load((self.home / "rag_assets.yaml").read_text())
        return Config.model_validate(given | {"retrieval": retrieval or {"retriever": "baseline"}})

    @property
    def store(self) -> Store:
        return Store(self.home / "state")


def make(home: Path) -> Made:
    """An index of rows under a static model, and variants with ever fewer of its dimensions."""
    folder = str(save_static(home / "model", contextual=False))
    drawn = random.Random(1)
    rows = [f"Item {n} of {' and '.join(drawn.sample(WORDS, 6))}." for n in range(ROWS)]
    asked = [
        {
            "id": f"q{n}",
            "question": " ".join(
                drawn.sample(rows[n].rstrip(".").split(" of ")[1].split(" and "), 4)
            ),
            "domain": "table",
            "gold": [f"row:steel:{n}"],
        }
        for n in range(QUESTIONS)
    ]
    (home / "questions.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in asked))
    static = {"path": folder, "backend": "static"}
    sizes = {"alike": 200, "half": 24, "worse": 4, "worst": 2}
    settings = {
        "state_dir": str(home / "state"),
        "models": {
            "static": static,
            **{name: static | {"dimensions": size} for name, size in sizes.items()},
        },
        "variants": {
            "default": {"model": "static"},
            **{name: {"model": name} for name in sizes},
            "json_rows": {"model": "alike", "serializer": "json"},
            "both": {"model": {"document": "alike", "table": "half"}},
        },
        "evaluation": {"questions": [{"path": str(home / "questions.jsonl")}]},
        "retrieval": {"retriever": "baseline"},
        "index": {"ann_from_rows": 100_000},
    }
    (home / "rag_assets.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))
    found = Made(home, rows)
    put_chunks(found.store, found.config(), ["A document that no question is about."])
    put_rows(found.store, found.config(), rows)
    build_index(found.config())
    refresh_questions(found.store, found.config(), log=lambda _: None)
    return found
