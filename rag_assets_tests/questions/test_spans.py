"""Questions from real documents: their spans stand in the source, and in every chunking of it."""

import json
import os
import re
import shutil
import zipfile
from pathlib import Path

import pypdfium2
import pytest

from rag_assets import config as configuration
from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.models.language.opening import open_language_model
from rag_assets.questions.from_documents import document_inputs, documents_made
from rag_assets.questions.known_items import sentences_to_ask
from rag_assets.store import Store
from rag_assets.store.pins import pin_of
from rag_assets.terms.words import normalized, terms
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.scripted_language_model import ScriptedServer, answers
from rag_assets_tests.questions.coatings import asked_of

DATA = Path(
    os.environ.get("RAG_ASSETS_SHARED_DATA") or Path(__file__).parents[2].parent / "shared" / "data"
)
DEMO = DATA / "materials_demo" / "docs"
READ = (
    "*_programmers_guide_*.pdf",
    "*_en_sv.pdf",
    "*.docx",
    "*.md",
    "fluids/*.md",
    "articles/*.md",
)
CHUNKINGS = ("sentences_256", "fixed_256", "fixed_512", "content_256")
CONFIG = """\
state_dir: state
sources: {{documents: documents}}
variants: {variants}
language_models: {{writer: {{base_url: "{url}", model: scripted, local: true}}}}
questions: {{from_documents: 400, per_document: 7, model: writer}}
"""
QUESTIONS = 100
OF_A_PATTERN = 16
"""Files of each pattern that are read."""

pytestmark = pytest.mark.skipif(
    not DEMO.is_dir(), reason=f"there is no {DEMO}: point RAG_ASSETS_SHARED_DATA at the data"
)


class Reader:
    """A model that asks for a sentence of the passage, and remembers which one it was."""

    def __init__(self):
        self.spans = {}

    def __call__(self, body):
        given = asked_of(body)
        return answers(json.dumps(self.picked(given) if "passages" in given else self.made(given)))

    def made(self, given):
        sentences = sentences_to_ask(given["passage"]) or [given["passage"]]
        span = max(sentences, key=lambda each: len(set(terms(each))))
        words = terms(span)
        asked = ", ".join(words[: len(words) // 2])
        question = f"What does {given['document']} tell of {asked}?"
        self.spans[question] = span
        return {"question": question, "answer": " ".join(words[len(words) // 2 :]), "span": span}

    def picked(self, given):
        span = self.spans[given["question"]]
        found = [number for number, text in given["passages"].items() if span in text]
        return {"passage": int(found[0]) if found else 0}


@pytest.fixture
def home(tmp_path):
    """A folder with some of the documents."""
    (tmp_path / "documents").mkdir()
    for pattern in READ:
        for path in sorted(DEMO.glob(pattern))[:OF_A_PATTERN]:
            shutil.copy(path, tmp_path / "documents" / path.name)
    return tmp_path


def built(home, url):
    """The config of the project, which is indexed under each chunking."""
    variants = {each: {"parser": "pdfium", "chunking": each} for each in CHUNKINGS}
    file = home / "rag_assets.yaml"
    file.write_text(CONFIG.format(variants=json.dumps(variants), url=url))
    config = configuration.load(file)
    with hashing():
        for variant in CHUNKINGS:
            refresh(config, variant=variant)
    return config


def source_of(home, gold):
    """Letters and digits of the file, or of the page, that gold names, as another reader has it."""
    path = home / gold.uri
    if path.suffix == ".pdf":
        page = pypdfium2.PdfDocument(path)[gold.page - 1]
        return normalized(page.get_textpage().get_text_range())
    if path.suffix == ".docx":
        parts = zipfile.ZipFile(path).read("word/document.xml").decode()
        return normalized(re.sub(r"<[^>]+>", "", parts))
    return normalized(path.read_text("utf-8"))


def test_the_spans_of_a_hundred_questions_stand_in_the_source_and_in_each_chunking(home):
    with ScriptedServer(Reader()) as server:
        config = built(home, server.url)
        store = Store.of(config)
        keys = document_inputs(store, config)["key"].to_pylist()
        with open_language_model(config, state=store.root) as model:
            made = list(documents_made(store, config, keys, model))

    gold = [draft.gold[0] for each in made for draft in each.drafts if not draft.left_out]
    assert len(gold) >= QUESTIONS
    assert [each for each in gold if normalized(each.quote) not in source_of(home, each)] == []
    for variant in CHUNKINGS:
        joint = pin_of(store, config.tables_of(variant).joint)
        indexed = read_indexed_gold(store, config, variant=variant, joint=joint, gold=gold)
        assert len(indexed.quotes) == len({(each.uri, each.quote) for each in gold})
        assert all(indexed.quotes.values()), variant
