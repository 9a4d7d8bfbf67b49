"""Collections of documents that a file lists."""

import json
from pathlib import Path

import pytest

from rag_assets.config import Config
from rag_assets.laboratory.experiments.design import Design
from rag_assets.laboratory.experiments.designs import filled_in
from rag_assets.laboratory.experiments.index_size import Corpus, nested
from rag_assets.media.json_lines import QuestionsError

HELD = ("a.md", "b.md")
CORPUS = Corpus(
    questions=[],
    documents=[("handbook", uri) for uri in HELD],
    find=lambda name: [("handbook", name)] if name in HELD else [],
)


def design_of(folder: Path, collections: object) -> Design:
    path = folder / "subsets.json"
    path.write_text(json.dumps({"collections": collections}))
    config = Config.model_validate({"experiments": {"index_size": {"collections": path}}})
    return filled_in(
        config.experiments["index_size"],
        nested(CORPUS, listed=path, sizes=5),
        config=config,
        base="default",
    )


def test_a_listed_document_that_no_source_holds_is_left_out_and_named(tmp_path):
    design = design_of(tmp_path, {"1": ["a.md"], "3": ["a.md", "b.md", "gone.md"]})
    assert [arm.name for arm in design.arms[:2]] == [
        "Baseline, 1 documents",
        "Baseline, 2 documents",
    ]
    assert "without 1 documents that are in no source, such as gone.md" in design.notes[0]


def test_all_listed_documents_are_there(tmp_path):
    assert design_of(tmp_path, {"1": ["a.md"]}).notes[0] == "Collections: as given."


@pytest.mark.parametrize("collections", [{"1": ["a.md"], "2": ["b.md"]}, {"1": ["gone.md"]}, ["a"]])
def test_collections_that_are_not_nested_are_refused(tmp_path, collections):
    with pytest.raises(QuestionsError, match=r"subsets\.json"):
        design_of(tmp_path, collections)
