"""An address moves with what a table holds, and with nothing else."""

from dataclasses import asdict

import pytest
from pydantic import JsonValue

from rag_assets.config import Config
from rag_assets.identity import fingerprint

ALL = {
    "elements",
    "accounts",
    "families",
    "descriptions",
    "chunks",
    "serialized_rows",
    "documents",
    "rows",
    "joint",
    "unit_links",
}
OF_UNITS = {"documents", "rows", "joint", "unit_links"}
OF_TEXTS = {"chunks", "documents", "joint", "unit_links"}
OF_ELEMENTS = OF_TEXTS | {"elements", "accounts", "families", "descriptions"}
OF_ROWS = {"serialized_rows", "rows", "joint", "unit_links"}
SEEING = {"base_url": "http://here:1/v1", "model": "m", "sources": "all"}
HOSTED = {
    "backend": "embeddings_api",
    "path": "bge",
    "max_tokens": 512,
    "endpoint": {"url": "http://here/v1"},
}
BASE = {
    "parsers": {"p": {"ocr": "tesseract"}},
    "chunkings": {"c": {}},
    "models": {"m": {"path": "org/model"}},
    "documents": {"header_fields": {"fields": {"number": "No. (.*)"}}},
    "language_models": {"seeing": SEEING},
    "figures": {"language_model": "seeing"},
    "variants": {"v": {"parser": "p", "chunking": "c", "model": "m"}},
}

MOVES = {
    "engine": ({"parsers": {"p": {"ocr": "tesseract", "engine": "pdfium"}}}, OF_ELEMENTS),
    "interpreter": (
        {"parsers": {"p": {"ocr": "tesseract", "python": "/venv/python"}}},
        OF_ELEMENTS,
    ),
    "program": ({"parsers": {"p": {"ocr": "tesseract", "tesseract": "/opt/t5"}}}, OF_ELEMENTS),
    "language": ({"parsers": {"p": {"ocr": "tesseract", "ocr_languages": ["sv"]}}}, OF_ELEMENTS),
    "ocr": ({"parsers": {"p": {"ocr": "none"}}}, OF_ELEMENTS),
    "size": ({"chunkings": {"c": {"size": 100}}}, OF_TEXTS),
    "header": ({"chunkings": {"c": {"header": "title"}}}, OF_TEXTS),
    "rules": ({"documents": {"header_fields": {"presets": ["report"]}}}, OF_TEXTS),
    "prompt": (
        {"figures": {"language_model": "seeing", "prompt": "?"}},
        OF_TEXTS | {"descriptions"},
    ),
    "cells": ({"tables": {"empty_cells": "keep"}}, OF_ROWS),
    "revision": (
        {"models": {"m": {"path": "org/model", "revision": "b"}}},
        OF_UNITS,
    ),
    "query_prefix": (
        {"models": {"m": {"path": "org/model", "query_prefix": "q: "}}},
        OF_UNITS,
    ),
}

MOVES["long texts"] = (
    {"models": {"m": {"path": "org/model", "long_texts": "cut"}}},
    OF_UNITS,
)

MOVES["identifiers"] = ({"links": {"identifiers": {"order": "PO-[0-9]+"}}}, {"unit_links"})

STAYS = {
    "limits": {"parsers": {"p": {"ocr": "tesseract", "max_pages": 9, "seconds_per_page": 1}}},
    "own engine as help": {
        "parsers": {"p": {"ocr": "tesseract", "fallback": ["pymupdf", "pdfium"]}}
    },
    "endpoint": {
        "language_models": {"seeing": SEEING | {"base_url": "http://there:2/v1", "seconds": 9}}
    },
    "batch": {"models": {"m": {"path": "org/model", "batch_tokens": 512}}},
    "place of work": {"execution": {"parsing": "in_process", "workers": 2}},
    "index": {"index": {"ann_from_rows": 9}},
    "retrieval": {"retrieval": {"top_k": 3, "versions": "all"}},
    "decisions on versions": {
        "documents": {
            "header_fields": {"fields": {"number": "No. (.*)"}},
            "families": "decided.csv",
        }
    },
    "source": {"sources": {"documents": "elsewhere"}},
}


def tables(edit: dict[str, JsonValue]) -> dict[str, str]:
    return asdict(Config.model_validate(BASE | edit).tables_of("v"))


@pytest.mark.parametrize(("edit", "moved"), MOVES.values(), ids=MOVES)
def test_what_changes_a_table_moves_it_and_those_made_from_it(edit, moved):
    before, after = tables({}), tables(edit)
    assert before.keys() == ALL
    assert {kind for kind in ALL if before[kind] != after[kind]} == moved


@pytest.mark.parametrize("edit", STAYS.values(), ids=STAYS)
def test_what_changes_no_row_moves_no_table(edit):
    assert tables(edit) == tables({})


def of_a_server(**edit: JsonValue) -> dict[str, str]:
    endpoint = HOSTED["endpoint"] | edit.pop("endpoint", {})
    return tables({"models": {"m": HOSTED | {"endpoint": endpoint} | edit}})


@pytest.mark.parametrize(
    "edit", [{"revision": "2"}, {"max_tokens": 256}, {"endpoint": {"dimensions": 64}}], ids=str
)
def test_the_vectors_of_a_server_move_with_its_model(edit):
    before, after = of_a_server(), of_a_server(**edit)
    assert {kind for kind in ALL if before[kind] != after[kind]} == OF_UNITS


def test_the_vectors_of_a_server_stay_where_it_moves():
    moved = {"url": "https://there:2/v1", "seconds": 9, "key_variable": "OURS", "attempts": 1}
    assert of_a_server(endpoint=moved, batch_tokens=512) == of_a_server()


def test_keys_that_came_later_move_nothing_while_they_are_not_used():
    """Names of tables, and fingerprints that results are kept under, as of before those keys."""
    of_then = {"chunking": "fixed_256", "model": "minilm"}
    config = Config.model_validate({"variants": {"default": of_then}})
    names = config.tables_of("default")
    kept = {
        names.documents: "documents__pymupdf__fixed_256__minilm-bbca6e73fe5f",
        names.rows: "rows__full_semantic__minilm-391224785185",
        names.joint: "joint__pymupdf__fixed_256__full_semantic__minilm-2054de974307",
    }
    assert list(kept) == list(kept.values())

    sections = (
        config.models["minilm"],
        config.retrieval.rerankers["flashrank"],
        config.variants["default"],
    )
    marks = [fingerprint(section.model_dump(mode="json"))[:12] for section in sections]
    assert marks == ["84868492d29b", "a53be0c548b8", "e65eec761762"]
