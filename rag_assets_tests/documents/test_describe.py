"""Figures are described once each; what fails is tried again, and holds nothing up."""

from datetime import UTC, datetime

import dagster as dg
import pyarrow as pa
import pytest

from rag_assets import schemas
from rag_assets.change.sync import Batch, Report, Target, Work, refresh, with_recipe
from rag_assets.config import Config, Figures, ParserSettings, VisionModel, addresses
from rag_assets.documents import assets
from rag_assets.documents.describe import refresh_descriptions
from rag_assets.documents.element_rows import pictures, to_arrow
from rag_assets.documents.elements import Element, Image
from rag_assets.identity import fingerprint
from rag_assets.store import Store, images
from rag_assets_tests.documents.making import SENTENCE, Project
from rag_assets_tests.documents.stand_in_vision import serving

PARSER = "layout"
CONFIG = Config(parsers={PARSER: ParserSettings(engine="pymupdf")})


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def vision():
    with serving() as model:
        yield model


def figure(data: bytes, *, words: str = "Figure 1: A rotor", side: int = 200) -> Element:
    image = Image.of(data, media_type="image/png", width=side, height=side)
    return Element(type="figure", text=words, page=1, image=image)


def parsed(store: Store, *figures: Element) -> None:
    """Write elements as a parser would."""
    import pyarrow as pa

    target = Target(
        name=addresses.elements_table(CONFIG, PARSER),
        schema=schemas.ELEMENTS,
        key="element_id",
        group="document_id",
    )
    content = fingerprint([[each.text, each.image and each.image.key] for each in figures])
    held = pa.table({"key": ["document"], "content": [content]})
    inputs = with_recipe(held, key="key", content="content", recipe="1")

    def transform(_):
        images.keep(store, pictures(figures), log=print)
        yield Batch(
            to_arrow({"document": list(figures)}, engine="pymupdf", engines=["e"] * len(figures)),
            ["document"],
        )

    work = Work(
        store=store,
        target=target,
        made_from=lambda: {"all": content},
        inputs=lambda: inputs,
        transform=transform,
    )
    refresh(work, log=print)


def described(store: Store, url: str, *, model: str = "vision-1", **settings) -> Report:
    vision = VisionModel.model_validate({"url": url, "model": model, **settings})
    config = CONFIG.model_copy(update={"figures": Figures(vision_model=vision)})
    return refresh_descriptions(store, config, parser=PARSER, model=vision, log=print)


def texts(store: Store, *, model: str = "vision-1") -> list[str]:
    figures = Figures(vision_model=VisionModel(url="http://localhost:1", model=model))
    config = CONFIG.model_copy(update={"figures": figures})
    held = store.read(addresses.descriptions_table(config, PARSER))
    return sorted(held["description"].to_pylist())


def test_each_figure_is_described_once_and_small_ones_are_left_out(store, vision):
    parsed(store, figure(b"one"), figure(b"three"), figure(b"one"), figure(b"icon", side=20))

    assert described(store, vision.url).added == 2
    assert texts(store) == ["A picture of 3 bytes.", "A picture of 5 bytes."]

    again = described(store, vision.url)
    assert (again.added, again.unchanged, len(vision.asked)) == (0, 2, 2)


def test_the_model_is_told_what_the_document_says_of_the_figure(store, vision):
    parsed(store, figure(b"one", words="Figure 7: Strain at 400 °C"))
    described(store, vision.url, prompt="What is it?", max_tokens=50)
    (question,) = vision.asked
    text, _ = question["messages"][0]["content"]
    assert text["text"] == "What is it?\n\nIts words in the document: Figure 7: Strain at 400 °C"
    assert (question["model"], question["max_tokens"]) == ("vision-1", 50)


def test_a_figure_that_is_new_is_described_and_one_that_is_gone_is_forgotten(store, vision):
    parsed(store, figure(b"one"))
    described(store, vision.url)
    parsed(store, figure(b"seven"))
    report = described(store, vision.url)
    assert (report.added, report.removed) == (1, 1)
    assert texts(store) == ["A picture of 5 bytes."]


def test_another_model_describes_everything_anew(store, vision):
    parsed(store, figure(b"one"))
    described(store, vision.url)
    assert described(store, vision.url, model="vision-2").added == 1
    assert len(vision.asked) == 2
    assert texts(store, model="vision-2") == texts(store) == ["A picture of 3 bytes."]


def test_what_was_described_under_other_settings_is_not_asked_for_again(store, vision):
    """An edit of the parser or of `min_pixels` begins another table, not another bill."""
    parsed(store, figure(b"one"), figure(b"three", side=50))
    assert described(store, vision.url).added == 1

    fewer = Figures(vision_model=VisionModel(url=vision.url, model="vision-1"), min_pixels=100)
    config = CONFIG.model_copy(update={"figures": fewer})
    assert fewer.vision_model is not None
    report = refresh_descriptions(store, config, parser=PARSER, model=fewer.vision_model, log=print)

    assert (report.added, len(vision.asked)) == (2, 2)
    held = store.read(addresses.descriptions_table(config, PARSER))
    assert sorted(held["description"].to_pylist()) == [
        "A picture of 3 bytes.",
        "A picture of 5 bytes.",
    ]


def test_what_the_model_refuses_waits_and_what_fails_is_tried_again(store, vision):
    vision.statuses = {b"refused": 400, b"busy": 503}
    parsed(store, figure(b"one"), figure(b"refused"), figure(b"busy"))

    report = described(store, vision.url)
    assert (report.added, report.failed) == (1, 2)
    kinds = {failure.kind for failure in report.failures}
    assert kinds == {"input", "environment"}

    vision.statuses = {}
    asked = len(vision.asked)
    report = described(store, vision.url)
    assert (report.added, report.failed, len(vision.asked) - asked) == (1, 1, 1)


def test_an_endpoint_that_does_not_answer_is_asked_no_further(store):
    parsed(store, *(figure(f"figure {number}".encode()) for number in range(20)))
    report = described(store, "http://127.0.0.1:9/v1", requests_at_once=1)
    assert report.failed == 20
    assert {failure.kind for failure in report.failures} == {"environment"}
    assert "127.0.0.1 does not answer" in report.failures[0].reason


def test_the_key_comes_from_the_environment(store, vision, monkeypatch):
    monkeypatch.setenv("RAG_ASSETS_VISION_KEY", "secret")
    parsed(store, figure(b"one"))
    described(store, vision.url)
    assert vision.keys == ["Bearer secret"]


@pytest.mark.parametrize("words", ["Figure 1: A rotor", ""])
def test_a_described_figure_is_cut_anew_and_found_by_its_description(
    tmp_path, vision, monkeypatch, words
):
    project = Project(tmp_path)
    project.write("rotor.md", f"# Rotor\n\n{SENTENCE}\n")
    project.write("plain.md", f"# Plain\n\n{SENTENCE}\n")
    shown = figure(b"one", words=words)
    assert shown.image is not None
    monkeypatch.setattr(
        "rag_assets.documents.parsers.text.markdown.elements",
        lambda content, _: [
            Element(type="text", text=content.decode()),
            *([shown] if b"Rotor" in content else []),
        ],
    )
    project.list_files()
    project.parse()
    config = project.config.model_validate(
        project.config.model_dump()
        | {"figures": {"vision_model": {"url": vision.url, "model": "vision-1"}}}
    )
    assert project.chunk(config=config).added == 2

    refresh_descriptions(
        project.store, config, parser="plain", model=config.figures.vision_model, log=print
    )
    report = project.chunk(config=config)

    assert (report.changed, report.unchanged) == (1, 1)
    unit = project.chunks("rotor.md", config=config)[-1]
    assert (unit["type"], unit["image"]) == ("figure", shown.image.key)
    assert "A picture of 3 bytes." in unit["text"]
    assert unit["text"].endswith(words or "A picture of 3 bytes.")
    assert project.chunk(config=config).unchanged == 2


def test_the_asset_is_there_only_with_a_vision_model():
    plain = assets.definitions(Config())
    config = Config.model_validate(
        {"figures": {"vision_model": {"url": "http://localhost:1/v1", "model": "m"}}}
    )
    described = assets.definitions(config)
    key = dg.AssetKey("figure_descriptions")
    assert key not in plain.resolve_asset_graph().get_all_asset_keys()
    graph = described.resolve_asset_graph()
    assert key in graph.get(dg.AssetKey("chunks")).parent_keys


def listed(store: Store, *, source: str) -> None:
    """A manifest in which the document is one of `source`."""
    row = {
        "document_id": "document",
        "source": source,
        "uri": "a.pdf",
        "size": 1,
        "modified": datetime(2026, 1, 1, tzinfo=UTC),
        "status": "ok",
    }
    names = [name for name in schemas.DOCUMENT_FILES.names if name not in schemas.SYSTEM_COLUMNS]
    content = pa.schema([schemas.DOCUMENT_FILES.field(name) for name in names])
    held = pa.table({"key": ["document"], "content": [source]})
    work = Work(
        store=store,
        target=Target(
            name=schemas.DOCUMENT_FILES_TABLE,
            schema=schemas.DOCUMENT_FILES,
            key="document_id",
            group="document_id",
        ),
        made_from=lambda: {"all": source},
        inputs=lambda: with_recipe(held, key="key", content="content", recipe="1"),
        transform=lambda _: iter([Batch(pa.Table.from_pylist([row], content), ["document"])]),
    )
    refresh(work, log=print)


@pytest.mark.parametrize(("source", "asked"), [("open", 1), ("secret", 0)])
def test_a_figure_of_a_source_that_the_model_may_not_see_is_never_sent(
    store, vision, source, asked
):
    listed(store, source=source)
    parsed(store, figure(b"one", words="Classified strain"))
    report = described(store, vision.url, sources=["open"])
    assert (report.added, len(report.failures), len(vision.asked)) == (asked, 0, asked)


def test_an_entry_of_language_models_describes_figures_like_the_older_key():
    entry = {"base_url": "http://localhost:1/v1", "model": "m", "sources": ["documents"]}
    raw = {
        "sources": {"documents": "."},
        "language_models": {"seeing": entry},
        "figures": {"language_model": "seeing"},
    }
    named = Config.model_validate(raw)
    older = Config.model_validate(
        {"figures": {"vision_model": {"url": entry["base_url"], "model": "m"}}}
    )
    assert named.figures.vision_model.sources == ["documents"]
    assert named.figures.vision_model.key_variable == "RAG_ASSETS_LANGUAGE_MODEL_KEY"
    assert addresses.figure_settings(named) == addresses.figure_settings(older)


@pytest.mark.parametrize("name", ["unknown", "embedded"])
def test_figures_need_a_model_behind_a_server(name):
    with pytest.raises(ValueError, match="behind a server"):
        Config.model_validate({"figures": {"language_model": name}})


def test_the_older_key_is_read_with_a_warning(caplog):
    Config.model_validate({"figures": {"vision_model": {"url": "http://h:1/v1", "model": "m"}}})
    assert "figures.language_model" in caplog.text
