"""Figures are described once each; what fails is tried again, and holds nothing up."""

from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, datetime

import dagster as dg
import pyarrow as pa
import pytest

from rag_assets import schemas
from rag_assets.change.sync import AskedReport, Batch, Target, Work, refresh, with_recipe
from rag_assets.config import Config, Variant, addresses
from rag_assets.documents import assets
from rag_assets.documents.elements.element import Element, Image
from rag_assets.documents.elements.element_rows import pictures, to_arrow
from rag_assets.documents.figures.describe import refresh_descriptions
from rag_assets.graph import STEPS
from rag_assets.identity import fingerprint
from rag_assets.models.language.many_asked import UNANSWERED_IN_A_ROW
from rag_assets.resources import resources_of
from rag_assets.store import Store, images
from rag_assets_testing.documents.making import SENTENCE, Project
from rag_assets_testing.scripted_language_model import (
    Behaviour,
    ScriptedServer,
    answers,
    cut,
    empty,
    ends_by,
    half,
    malformed,
    status,
)

PARSER = "layout"
PLAIN = {"parsers": {PARSER: {"engine": "pymupdf"}}, "sources": {"documents": "."}}
CONFIG = Config.model_validate(PLAIN)


@pytest.fixture(autouse=True)
def _no_long_pauses(monkeypatch):
    monkeypatch.setattr("rag_assets.models.hosted.FIRST_PAUSE", 0.01)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def vision():
    with ScriptedServer(seen) as model:
        yield model


def shown(body: dict) -> bytes:
    """The picture of a request."""
    _, picture = body["messages"][0]["content"]
    return b64decode(picture["image_url"]["url"].partition(",")[2])


def seen(body: dict) -> Behaviour:
    """What a model says of a picture that it is shown."""
    return answers(f"A picture of {len(shown(body))} bytes.")


def seen_but(**faults: Behaviour) -> Callable[[dict], Behaviour]:
    """The same, but for some pictures."""
    return lambda body: faults.get(shown(body).decode(), seen(body))


def figure(data: bytes, *, words: str = "Figure 1: A rotor", side: int = 200) -> Element:
    image = Image.of(data, media_type="image/png", width=side, height=side)
    return Element(type="figure", text=words, page=1, image=image)


def parsed(store: Store, *figures: Element) -> None:
    """Write elements as a parser would."""
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


def config_of(url: str, *, figures: dict | None = None, **settings) -> Config:
    """A config whose entry `seeing` describes figures."""
    entry = {"base_url": url, "model": "vision-1", "sources": "all", "attempts": 2, **settings}
    named = {"language_model": "seeing", **(figures or {})}
    return Config.model_validate({**PLAIN, "language_models": {"seeing": entry}, "figures": named})


def described(store: Store, config: Config, *, retry: bool = False) -> AskedReport:
    model = config.describing_model
    assert model is not None
    return refresh_descriptions(store, config, parser=PARSER, model=model, log=print, retry=retry)


def texts(store: Store, config: Config) -> list[str]:
    held = store.read(addresses.descriptions_table(config, PARSER))
    return sorted(held["description"].to_pylist())


def materialized(config: Config) -> dict[str, dg.MetadataValue]:
    """Metadata of the asset, materialized for real."""
    key = dg.AssetKey("figure_descriptions")
    [asset] = [one for one in assets.definitions(config, STEPS).assets or () if one.key == key]
    result = dg.materialize([asset], partition_key="plain", resources=resources_of(config))
    [event] = result.get_asset_materialization_events()
    return dict(event.step_materialization_data.materialization.metadata)


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


def test_each_figure_is_described_once_and_small_ones_are_left_out(store, vision):
    parsed(store, figure(b"one"), figure(b"three"), figure(b"one"), figure(b"icon", side=20))
    config = config_of(vision.url)
    assert described(store, config).added == 2
    assert texts(store, config) == ["A picture of 3 bytes.", "A picture of 5 bytes."]

    again = described(store, config)
    assert (again.added, again.unchanged, vision.calls) == (0, 2, 2)
    assert again.spending["language model calls"] == 0


def test_the_model_is_told_what_the_document_says_of_the_figure(store, vision):
    parsed(store, figure(b"one", words="Figure 7: Strain at 400 °C"))
    described(store, config_of(vision.url, figures={"prompt": "What is it?", "max_tokens": 50}))
    (question,) = vision.requests
    text, _ = question["messages"][0]["content"]
    assert text["text"] == "What is it?\n\nIts words in the document: Figure 7: Strain at 400 °C"
    assert (question["model"], question["max_tokens"]) == ("vision-1", 50)


def test_a_figure_that_is_new_is_described_and_one_that_is_gone_is_forgotten(store, vision):
    config = config_of(vision.url)
    parsed(store, figure(b"one"))
    described(store, config)
    parsed(store, figure(b"seven"))
    report = described(store, config)
    assert (report.added, report.removed) == (1, 1)
    assert texts(store, config) == ["A picture of 5 bytes."]


def test_another_model_describes_everything_anew(store, vision):
    first, second = config_of(vision.url), config_of(vision.url, model="vision-2")
    parsed(store, figure(b"one"))
    described(store, first)
    assert described(store, second).added == 1
    assert vision.calls == 2
    assert texts(store, second) == texts(store, first) == ["A picture of 3 bytes."]


def test_what_was_described_under_other_settings_is_not_asked_for_again(store, vision):
    """An edit of the parser or of `min_pixels` begins another table, not another bill."""
    parsed(store, figure(b"one"), figure(b"three", side=50))
    assert described(store, config_of(vision.url)).added == 1
    fewer = config_of(vision.url, figures={"min_pixels": 100})
    assert (described(store, fewer).added, vision.calls) == (2, 2)
    assert texts(store, fewer) == ["A picture of 3 bytes.", "A picture of 5 bytes."]


@pytest.mark.parametrize(
    ("fault", "kind", "reason", "calls"),
    [
        (status(429), "environment", "429", 2),
        (status(500), "environment", "500", 2),
        (status(401), "environment", "RAG_ASSETS_LANGUAGE_MODEL_KEY", 1),
        (half(), "environment", "does not answer", 2),
        (malformed(), "environment", "no chat completion", 2),
        (status(400), "input", "400", 1),
        (cut("A rotor that"), "input", "limit of tokens", 1),
        (empty(), "input", "no text", 1),
        (ends_by("content_filter"), "input", "filter", 1),
    ],
)
def test_a_figure_that_is_not_described_is_named_and_waits_for_what_is_at_fault(
    store, vision, fault, kind, reason, calls
):
    vision.script = seen_but(bad=fault)
    parsed(store, figure(b"one"), figure(b"bad", words="Figure 2: A bad one"))
    config = config_of(vision.url)
    report = described(store, config)
    assert (report.added, report.failed, vision.calls) == (1, 1, 1 + calls)
    [failure] = report.failures
    assert (failure.kind, failure.label) == (kind, "Figure 2: A bad one")
    assert reason in failure.reason
    assert texts(store, config) == ["A picture of 3 bytes."]

    vision.script = seen
    waits = int(kind == "input")
    report = described(store, config)
    assert (report.added, report.failed) == (1 - waits, waits)
    assert described(store, config, retry=True).failed == 0
    assert texts(store, config) == ["A picture of 3 bytes."] * 2
    assert vision.calls == 2 + calls


def test_a_server_that_does_not_answer_is_asked_no_further(store):
    parsed(store, *(figure(f"figure {number}".encode()) for number in range(40)))
    report = described(store, config_of("http://127.0.0.1:9/v1", concurrency=4))
    assert report.failed == 40
    assert {failure.kind for failure in report.failures} == {"environment"}
    assert "127.0.0.1 does not answer" in "".join(each.reason for each in report.failures)
    asked = report.spending["language model calls"]
    assert UNANSWERED_IN_A_ROW <= asked < UNANSWERED_IN_A_ROW + 4


def test_a_figure_that_the_server_fails_at_holds_up_no_other(store, vision):
    vision.script = seen_but(**{f"bad {number}": status(500) for number in range(4)})
    good, bad = ([f"{kind} {number}".encode() for number in range(4)] for kind in ("good", "bad"))
    parsed(store, *map(figure, [*bad, *good]))
    report = described(store, config_of(vision.url, concurrency=1))
    assert (report.added, report.failed) == (4, 4)


def test_a_budget_ends_a_run_and_the_next_one_goes_on(store, vision, capsys):
    """Each call takes 15 tokens."""
    parsed(store, *(figure(f"figure {number}".encode()) for number in range(10)))
    config = config_of(vision.url, budget={"max_tokens": 60})
    for done in (4, 8, 10):
        report = described(store, config)
        left = 10 - done
        assert (report.added + report.unchanged, report.failed, vision.calls) == (done, left, done)
        assert {failure.kind for failure in report.failures} <= {"environment"}
        assert all("max_tokens" in failure.reason for failure in report.failures)
        assert report.spending.get("calls over_budget", 0) == left
        assert (f"{left} figures are left" in capsys.readouterr().out) == bool(left)


def test_a_refresh_that_is_killed_goes_on_without_asking_twice(store, vision, monkeypatch):
    parsed(store, *(figure(f"figure {number}".encode()) for number in range(20)))
    config = config_of(vision.url, concurrency=1)
    picture, read = images.picture, []

    def killed_at_the_tenth(store, image):
        read.append(image)
        if len(read) == 10:
            raise KeyboardInterrupt
        return picture(store, image)

    with monkeypatch.context() as patch:
        patch.setattr(images, "picture", killed_at_the_tenth)
        with pytest.raises(KeyboardInterrupt):
            described(store, config)
    before = vision.calls
    assert 9 <= before < 20
    report = described(store, config)
    assert (report.added, report.failed, vision.calls) == (20, 0, 20)
    assert report.spending["language model calls kept from before"] == before


def test_kept_calls_hold_the_hash_of_a_picture_and_none_of_its_bytes(store, vision):
    shown = figure(b"bytes of a picture")
    parsed(store, shown)
    described(store, config_of(vision.url))
    assert shown.image is not None
    kept = b"".join(
        file.read_bytes() for file in (store.root / "language_models").rglob("*") if file.is_file()
    )
    assert shown.image.key.encode() in kept
    assert shown.image.data not in kept
    assert shown.image.base64.encode() not in kept


def test_the_key_comes_from_the_environment(store, vision, monkeypatch):
    monkeypatch.setenv("RAG_ASSETS_LANGUAGE_MODEL_KEY", "secret")
    parsed(store, figure(b"one"))
    described(store, config_of(vision.url))
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
    config = project.config.model_copy(
        update={
            "language_models": config_of(vision.url).language_models,
            "figures": config_of(vision.url).figures,
            "variants": {"plain": Variant(parser="plain", chunking="fixed_256")},
        }
    )
    assert project.chunk(config=config).added == 2

    metadata = materialized(config)
    assert metadata["language model calls"].value == 1
    assert metadata["tokens written"].value == 5
    report = project.chunk(config=config)

    assert (report.changed, report.unchanged) == (1, 1)
    unit = project.chunks("rotor.md", config=config)[-1]
    assert (unit["type"], unit["image"]) == ("figure", shown.image.key)
    assert "A picture of 3 bytes." in unit["text"]
    assert unit["text"].endswith(words or "A picture of 3 bytes.")
    assert project.chunk(config=config).unchanged == 2


def test_the_asset_is_there_only_with_a_vision_model():
    config = config_of("http://localhost:1/v1")
    plain, described = (
        dg.Definitions.merge(
            assets.definitions(each, STEPS), dg.Definitions(resources=resources_of(each))
        )
        for each in (Config(), config)
    )
    key = dg.AssetKey("figure_descriptions")
    assert key not in plain.resolve_asset_graph().get_all_asset_keys()
    graph = described.resolve_asset_graph()
    assert key in graph.get(dg.AssetKey("chunks")).parent_keys


@pytest.mark.parametrize(("source", "asked"), [("open", 1), ("secret", 0)])
def test_a_figure_of_a_source_that_the_model_may_not_see_is_never_sent(
    store, vision, source, asked
):
    listed(store, source=source)
    parsed(store, figure(b"one", words="Classified strain"))
    places = [{"name": name, "url": "."} for name in ("open", "secret")]
    config = config_of(vision.url, sources=[])
    raw = config.model_dump(mode="json") | {"sources": {"documents": places}}
    raw["language_models"]["seeing"]["sources"] = ["open"]
    report = described(store, Config.from_record(raw))
    assert (report.added, len(report.failures), vision.calls) == (asked, 0, asked)
    assert bool(vision.seen) == bool(asked)


def test_figures_of_allowed_sources_are_described_by_the_entry():
    named = config_of("http://localhost:1/v1", sources=["documents"])
    assert named.describing_model is not None
    assert named.describing_model.settings.allowed_sources == {"documents"}
    assert Config.from_record(named.model_dump()).describing_model == named.describing_model


@pytest.mark.parametrize("name", ["unknown", "embedded"])
def test_figures_need_a_model_behind_a_server(name):
    with pytest.raises(ValueError, match="behind a server"):
        Config.model_validate({"figures": {"language_model": name}})
