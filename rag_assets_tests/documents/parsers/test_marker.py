"""The engine Marker: on what it gave once, and on real files where `make parsers` installed it."""

import json
import os
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from rag_assets import config
from rag_assets.config import addresses
from rag_assets.documents.elements.element import from_json
from rag_assets.documents.elements.parsing import Parsing
from rag_assets.documents.elements.sections import with_sections
from rag_assets.documents.parsers.by_media_type import Chain, pdf_parser, unavailable
from rag_assets.documents.parsers.engines import marker
from rag_assets.documents.parsers.engines.page_view import PageView
from rag_assets.workers import Done, Pool, Task
from rag_assets.workers.executors import OFFLINE
from rag_assets_testing.documents.making import SENTENCE, STEELS, report

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PYTHON = ROOT / ".venv-marker" / "bin" / "python"

installed = pytest.mark.skipif(
    not PYTHON.exists(), reason="Marker is not installed: run `make parsers`"
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return report(tmp_path_factory.mktemp("marker") / "report.pdf")


def of(elements, kind):
    return [element for element in elements if element.type == kind]


def blocks(values):
    return [SimpleNamespace(**{**value, "children": blocks(value["children"])}) for value in values]


def read(values, path, levels=None):
    with PageView(str(path)) as view:
        return list(marker.elements(blocks(values), view, levels or {}))


def block(kind, html="", *children, page=0):
    box = [60, 500, 500, 590]
    name = f"/page/{page}/{kind}/7"
    return {"id": name, "block_type": kind, "html": html, "bbox": box, "children": children}


# --- recorded


def check_report(elements):
    elements = with_sections(elements)
    assert [(item.text, item.page) for item in of(elements, "heading")] == [
        ("Bending of Plates", 1),
        ("1 Samples", 1),
        ("2 Results", 2),
        ("2.1 Cracks", 2),
    ]
    (table,) = of(elements, "table")
    assert table.cells == STEELS
    (figure,) = of(elements, "figure")
    assert figure.page == 2
    assert figure.image.media_type == "image/png"
    (caption,) = of(elements, "caption")
    assert caption.section_path[-2:] == ("2 Results", "2.1 Cracks")
    assert SENTENCE.strip() in of(elements, "text")[0].text
    assert all(0 <= item.box[0] < item.box[2] <= 595 for item in elements)


def test_recorded_blocks_are_the_report(path):
    check_report(read(json.loads((HERE / "recorded" / "marker_blocks.json").read_text()), path))


def test_a_list_in_a_list_is_said_once_and_a_minus_is_no_bullet(path):
    html = "<ul><li>• steels<ul><li>S355</li><li>S690</li></ul></li><li>-5 °C</li></ul>"
    (found,) = read([block("ListGroup", html)], path)
    assert found.text == "- steels\n  - S355\n  - S690\n- -5 °C"


def test_what_looks_like_a_bullet_within_an_item_stays(path):
    (found,) = read([block("ListGroup", "<ul><li>• 5 - 10 mm • drilled</li></ul>")], path)
    assert found.text == "- 5 - 10 mm • drilled"


def test_groups_are_taken_apart_and_cells_keep_their_spans(path):
    table = "<table><tr><th rowspan=2>Steel</th><th colspan=2>MPa</th></tr>"
    table += "<tr><td>Re</td><td>Rm</td></tr><tr><td>S355</td><td>355</td><td>510</td></tr></table>"
    group = block("TableGroup", "", block("Caption", "<p>Table 1</p>"), block("Table", table))
    caption, found = read([block("Page", "", group)], path)
    assert (caption.type, caption.text) == ("caption", "Table 1")
    assert found.cells == (("Steel", "MPa", ""), ("", "Re", "Rm"), ("S355", "355", "510"))
    assert found.spans == ((0, 0, 2, 1), (0, 1, 1, 2))


def test_lists_formulas_and_code(path):
    items = [block("ListItem", f"<ul><li>• {text}</li></ul>") for text in ("one", "two")]
    found = read(
        [
            block("ListGroup", "", *items),
            block("Equation", '<p><math display="block">\\frac{a}{b}</math></p>'),
            block("Equation", ""),
            block("Code", "<pre>if x:\n    y</pre>"),
            block("Text", "<p>where <math>\\alpha</math> is</p>"),
        ],
        path,
    )
    assert [(item.type, item.text) for item in found[:2]] == [
        ("list", "- one\n- two"),
        ("formula", "$$\\frac{a}{b}$$"),
    ]
    assert found[1].image is None
    assert found[2].image is not None
    assert found[2].text.startswith("Steel Yield strength")
    assert found[3].text == "if x:\n    y"
    assert found[4].text == "where $\\alpha$ is"


def test_levels_are_given_only_where_the_config_maps_them(path):
    heading = block("SectionHeader", "<h3>Samples</h3>", page=1)
    assert read([heading], path)[0].level is None
    (found,) = read([heading], path, {"3": 1})
    assert (found.level, found.page) == (1, 2)


# --- settings


def test_without_servers_nothing_is_read_from_images():
    plain = marker.configuration(config.Marker().model_dump())
    assert plain["mode"] == "fast"
    assert plain["disable_ocr"] is True
    served = config.Marker(
        inference_url="http://gpu:8000/v1",
        mode="balanced",
        ocr_inline_math=True,
        redo_inline_math=True,
        llm=config.MarkerModel(base_url="http://gpu:9000/v1", model="qwen"),
    )
    wanted = marker.configuration(served.model_dump())
    assert wanted["disable_ocr"] is False
    assert wanted["ocr_inline_math"] is True
    assert wanted["use_llm"] is True
    assert wanted["redo_inline_math"] is True
    assert wanted["openai_base_url"] == "http://gpu:9000/v1"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"redo_inline_math": True}, "needs language_model"),
        ({"ocr_inline_math": True}, "needs inference_url"),
        ({"mode": "balanced"}, "needs inference_url"),
    ],
)
def test_settings_that_need_a_model_say_so(settings, said):
    with pytest.raises(ValueError, match=said):
        config.Marker(**settings)


def test_a_server_that_does_not_answer_is_named_at_once():
    started = time.monotonic()
    with pytest.raises(ConnectionError, match=r"marker\.layout_url"):
        marker._made({"layout_url": "http://127.0.0.1:9"})
    assert time.monotonic() - started < 5


def test_what_is_missing_is_said_at_once_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    started = time.monotonic()
    nowhere = config.ParserSettings(engine="marker", python=tmp_path / "python")
    assert "make parsers" in unavailable(nowhere, name="marker")
    assert "there is no interpreter" in unavailable(nowhere, name="marker")
    assert "holds no models--datalab-to" in marker.missing_weights(
        {"settings": {"local_models": True}}
    )
    assert marker.missing_weights({"settings": {}}) is None
    assert time.monotonic() - started < 5


# --- installed


@installed
def test_its_own_interpreter_gives_the_report(path):
    settings = config.ParserSettings(engine="marker", python=PYTHON)
    assert unavailable(settings, name="marker") is None
    parser = pdf_parser(settings)
    assert parser.version.startswith(f"marker r{parser.revision} marker-pdf 2.")
    arguments = {"pages": [1, 2], **parser.options}
    task = Task("x", parser.function, arguments, 90, file=path, python=PYTHON)
    with Pool(size=1, environment=OFFLINE, memory_bytes=4 << 30) as pool:
        pool.submit(task)
        ((_, outcome),) = pool.finished()
    assert isinstance(outcome, Done), outcome
    check_report(from_json(outcome.value))


@installed
def test_a_vision_model_gives_latex_and_no_picture(path):
    done = subprocess.run(
        [PYTHON, HERE / "marker_with_vision.py", path],
        capture_output=True,
        check=True,
        env={**os.environ, **OFFLINE, "PYTHONPATH": str(ROOT)},
    )
    formulas = of(from_json(json.loads(done.stdout)), "formula")
    assert formulas
    assert {item.text for item in formulas} == {"$$\\frac{a}{b}$$"}
    assert all(item.image is None for item in formulas)


def test_pages_of_a_source_that_the_language_model_may_not_see_stay_here(tmp_path):
    entry = {"base_url": "http://gpu:9000/v1", "model": "qwen", "sources": ["documents"]}
    both = [{"name": name, "url": "."} for name in ("documents", "secret")]
    settings = config.Config.model_validate(
        {
            "sources": {"documents": both},
            "language_models": {"correcting": entry},
            "parsers": {"m": {"engine": "marker", "marker": {"language_model": "correcting"}}},
        }
    ).parsers["m"]
    parsing = Parsing(
        settings,
        name="m",
        chain=Chain((), None, "", ""),
        sources={},
        pictures={},
        scratch=tmp_path,
        executor=None,
        log=print,
    )
    parser = pdf_parser(settings)
    allowed = parsing._options(parser, source="documents")["settings"]
    assert allowed["llm"]["base_url"] == "http://gpu:9000/v1"
    assert marker.configuration(allowed)["use_llm"] is True
    refused = parsing._options(parser, source="secret")["settings"]
    assert "use_llm" not in marker.configuration(refused) or not refused["llm"]
    assert "gpu" not in str(refused)


def test_an_entry_of_language_models_is_the_same_recipe_as_the_older_key():
    entry = {"base_url": "http://gpu:9000/v1", "model": "qwen", "sources": "all"}
    older = {"base_url": "http://gpu:9000/v1", "model": "qwen"}
    named = config.Config.model_validate(
        {
            "language_models": {"correcting": entry | {"key_variable": "OPENAI_API_KEY"}},
            "parsers": {"m": {"engine": "marker", "marker": {"language_model": "correcting"}}},
        }
    )
    spelled = config.Config.model_validate(
        {"parsers": {"m": {"engine": "marker", "marker": {"llm": older}}}}
    )
    tables = [addresses.elements_table(each, "m") for each in (named, spelled)]
    assert tables[0] == tables[1]
