"""Parts of somebody's own: the examples of docs/extending.md, as a package outside of the tree."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rag_assets import api, config
from rag_assets.config import Config, ConfigError, EmbeddingModel, RerankerSettings, Retriever
from rag_assets.config.custom import part_of
from rag_assets.documents.chunks.chunk import refresh_chunks
from rag_assets.documents.parsers.custom import parse
from rag_assets.documents.parsers.description import ParseError
from rag_assets.index.encoders import encoder_of
from rag_assets.models.custom import CustomEncoder
from rag_assets.models.replicas import EncoderError
from rag_assets.models.rerankers import CustomScorer, RerankerError, replaceable
from rag_assets.operations.alerts import channels, messages
from rag_assets.questions.judging.rubrics import read_rubric
from rag_assets.retrieval.arms import OwnArm, revisions_of
from rag_assets.retrieval.opening import open_index
from rag_assets.store import Store
from rag_assets.store.complete_sets import set_of
from rag_assets.tables.serialize import refresh_serialized_rows
from rag_assets_testing.faults.pipeline import refresh

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text("utf-8")
NOTES = """\
Valve AB-17
===========

It opens at 12 bar.
Its seat is of brass.
"""
KINDS = {
    "Notes": ('parsers: {{p: {{engine: "{}"}}}}', api.CustomParser, "parse"),
    "EachElement": ('chunkings: {{c: {{strategy: "{}"}}}}', api.CustomChunker, "cut"),
    "Assignments": ('variants: {{v: {{serializer: "{}"}}}}', api.CustomSerializer, "write"),
    "Trigrams": (
        'models: {{m: {{backend: custom, path: "{}"}}}}',
        api.CustomEmbedder,
        "embed_passages",
    ),
    "SharedWords": (
        'retrieval: {{rerankers: {{r: {{backend: custom, path: "{}"}}}}}}',
        api.CustomReranker,
        "score",
    ),
    "PartNumbers": ('retrieval: {{retrievers: {{r: {{arms: ["{}"]}}}}}}', api.CustomArm, "open"),
    "Journal": (
        'alerts: {{channels: [{{type: custom, name: j, part: "{}"}}]}}',
        api.CustomChannel,
        "send",
    ),
    "Tone": (
        'language_models: {{judge: {{base_url: "http://127.0.0.1:9/v1", model: judge}}}}\n'
        'evaluation: {{judges: [{{model: judge, rubrics: ["{}"]}}]}}',
        api.CustomRubric,
        "task",
    ),
}
"""Of each part: the config that names it, its protocol, and a member that it needs."""
FAILING = """
class Cut:
    revision = 1

    def cut(self, text, elements):
        if "pump" in text:
            raise KeyError("no pumps")
        return [(0, len(text))]


class Beyond(Cut):
    def cut(self, text, elements):
        return [(0, len(text) + ("pump" in text))]


class NoPlaces(Cut):
    def cut(self, text, elements):
        return None if "pump" in text else [(0, len(text))]


class Write:
    revision = 1

    def write(self, title, pairs):
        if pairs[-1].value == "20":
            raise ZeroDivisionError("twenty")
        return f"{title} {pairs[0].value}"


class Nothing(Write):
    def write(self, title, pairs):
        return None if pairs[-1].value == "20" else "a text"


class Broken(Write):
    def write(self, title, pairs):
        return "\\ud800" if pairs[-1].value == "20" else "a text"


class Ids:
    revision = 1

    def open(self, units):
        ids = [unit for batch in units for unit in batch["unit_id"].to_pylist()]
        return lambda query, depth: ids


class Twice(Ids):
    def open(self, units):
        ids = super().open(units)("", 0)
        return lambda query, depth: [(ids[0], 2), (ids[0], 1), (ids[1], 1)]


class Reads(Ids):
    opened = 0

    def open(self, units):
        self.opened += 1


class Scores:
    revision = 1

    def score(self, query, texts):
        raise KeyError("no scores")


class NoScores(Scores):
    def score(self, query, texts):
        return None


class Blocks:
    revision = 1
    media_types = ("text/plain",)

    def parse(self, path, pages):
        return [{"type": "text", "text": "words"}, {"type": "text", "text": 3}]


class Vectors:
    revision = 1
    dimension = 2
    max_tokens = 9

    def embed_passages(self, texts):
        if "odd" in texts:
            raise KeyError("odd")
        return [[3, 4]] * len(texts)

    embed_queries = embed_passages


class Words(Vectors):
    revision = "2"
    dimension = "256"
"""


def blocks(language: str) -> str:
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))


@dataclass(frozen=True)
class Made:
    """A project that was built by parts of somebody's own."""

    config: Config
    store: Store


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder outside of the tree, from which the examples are imported."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "my_parts.py").write_text(blocks("python"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder


@pytest.fixture(scope="module")
def made(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    root = tmp_path_factory.mktemp("project")
    for folder in ("documents", "tables"):
        (root / folder).mkdir()
    (root / "documents" / "valve.txt").write_text(NOTES)
    (root / "documents" / "pump.md").write_text("# Pumps\n\nA pump moves oil.\n")
    (root / "tables" / "plates.csv").write_text("id,steel,mm\n1,S355,12\n2,S690,20\n")
    (root / "tone.toml").write_text(
        'about = "tone"\nkind = "answer"\nparts = ["answer"]\nscale = [1, 5]\ntask = "Score."\n'
        '[dimensions.tone]\nasks = "1: rude; 5: polite."\n'
    )
    file = root / "rag_assets.yaml"
    file.write_text(f"{blocks('yaml')}execution: {{embedding: processes, workers: 1}}\n")
    loaded = config.load(file)
    refresh(loaded, variant="own")
    return Made(loaded, Store.of(loaded))


def test_documents_and_rows_are_read_cut_written_and_embedded_by_parts_of_ones_own(made):
    tables = made.config.tables_of("own")
    types = made.store.read(tables.elements, columns=["type", "text"]).to_pylist()
    chunks = made.store.read(tables.chunks, columns=["text"])["text"].to_pylist()
    rows = made.store.read(tables.serialized_rows, columns=["text"])["text"].to_pylist()
    joint = made.store.read(tables.joint, columns=["vector", "encoder_id"])

    assert {"type": "heading", "text": "Valve AB-17"} in types
    assert {"Valve AB-17", "It opens at 12 bar.", "A pump moves oil."} <= {*chunks}
    assert "plates: steel = S355; mm = 12" in rows
    assert joint["vector"].type.list_size == 256
    encoder = encoder_of(made.store, made.config, model="trigrams")
    assert joint["encoder_id"].unique().to_pylist() == [encoder.encoder_id]


def test_searches_ask_the_arm_and_the_reranker(made):
    index = open_index(made.store, made.config, "own")

    [first, *_] = index.search("what is AB-17").hits
    best = index.search("seat is of brass").hits[0]

    assert first.text == "Valve AB-17"
    assert "my_parts:PartNumbers" in first.arms
    assert best.text == "Its seat is of brass."


def test_alerts_are_handed_to_the_channel(made, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_JOURNAL", str(tmp_path / "journal"))
    [channel] = made.config.alerts.messages
    message = messages.trial_message(ui_url=None)

    sent = channels.deliver(message, channel)
    monkeypatch.delenv("MY_JOURNAL")
    lost = channels.deliver(message, channel)

    assert (sent.accepted, sent.answer) == (True, "written")
    assert json.loads((tmp_path / "journal").read_text())["title"] == message.title
    assert not lost.accepted
    assert "KeyError" in lost.answer


def test_judges_ask_rubrics_of_a_module_and_of_a_file(made):
    [judge] = made.config.evaluation.judges

    found = [read_rubric(name) for name in judge.rubrics]

    assert [rubric.name for rubric in found] == ["Tone", "tone"]
    assert all("polite" in rubric.system for rubric in found)


@pytest.fixture(scope="module")
def failing(package: Path) -> str:
    """A module of parts that fail on one document, or on one row."""
    (package / "failing_parts.py").write_text(FAILING)
    return "failing_parts"


def written(folder: Path, text: str) -> Path:
    file = folder / "rag_assets.yaml"
    file.write_text(text)
    return file


def test_a_parser_that_gives_what_is_no_block_is_told_in_a_sentence(failing, tmp_path):
    with pytest.raises(ParseError) as failed:
        parse(str(tmp_path), None, f"{failing}:Blocks")

    told = f"{failing}:Blocks: text of block 1: Input should be a valid string"
    assert str(failed.value) == told


def test_numbers_that_are_none_are_refused(failing):
    with pytest.raises(ConfigError, match=r"lacks dimension \(int\), revision \(int\); see"):
        part_of(f"{failing}:Words", api.CustomEmbedder)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "No such file"),
        ("about =", "Invalid value"),
        ("about = 'tone'", "lacks dimensions, kind, parts, scale, task"),
    ],
)
def test_a_rubric_file_that_is_none_is_refused_when_the_config_is_loaded(tmp_path, text, told):
    if text is not None:
        (tmp_path / "tone.toml").write_text(text)
    entry = KINDS["Tone"][0].format("tone.toml")

    with pytest.raises(ConfigError, match=f"the rubric {tmp_path / 'tone.toml'} .*{told}"):
        config.load(written(tmp_path, entry))


@pytest.mark.parametrize("name", KINDS)
def test_a_part_that_lacks_something_is_refused_with_what_it_lacks(
    package, tmp_path, monkeypatch, name
):
    entry, protocol, member = KINDS[name]
    module = f"bad_{name.lower()}"
    (tmp_path / f"{module}.py").write_text(
        f"from my_parts import {name} as Good\n\nclass Bad(Good):\n    revision = 'two'\n"
        f"    {member} = None\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ConfigError) as refused:
        config.load(written(tmp_path, entry.format(f"{module}:Bad")))

    kind = protocol.__name__.removeprefix("Custom").lower()
    assert f"{module}:Bad is no {kind}: it lacks " in str(refused.value)
    assert re.search(rf"lacks .*{member}.*revision|lacks .*revision.*{member}", str(refused.value))


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("no_such_package.parts:CUT", "no such module"),
        ("my_parts:Note", "the module my_parts has no Note; did you mean Notes?"),
        ("lacking_parts:Part", "ModuleNotFoundError: No module named 'lack'"),
        ("ending_parts:Part", "(SystemExit: 3): correct it"),
        ("my_parts:Each Element", "give module:NAME"),
        ("fixd", "did you mean fixed?"),
    ],
)
def test_a_part_that_is_not_there_is_named(package, tmp_path, reference, told):
    (package / "lacking_parts.py").write_text("import lack")
    (package / "ending_parts.py").write_text("raise SystemExit(3)")
    with pytest.raises(ConfigError, match=re.escape(told)):
        config.load(written(tmp_path, f'chunkings: {{c: {{strategy: "{reference}"}}}}'))


def test_another_revision_is_another_recipe(made, monkeypatch):
    def recipes() -> list[object]:
        tables = made.config.tables_of("own")
        reranker = replaceable(made.config.retrieval.rerankers, home=made.store.encoders)
        retriever = made.config.retrieval.retrievers["own"]
        names = (tables.elements, tables.chunks, tables.serialized_rows, tables.rows)
        return [*names, reranker["words"], revisions_of({}, retriever)]

    before = recipes()
    for name in ("Notes", "EachElement", "Assignments", "Trigrams", "SharedWords", "PartNumbers"):
        part = part_of(f"my_parts:{name}", KINDS[name][1])
        monkeypatch.setattr(part, "revision", 2)

    assert all(new != old for new, old in zip(recipes(), before, strict=True))


@pytest.mark.parametrize(
    ("chunker", "reason"),
    [
        ("Cut", "failing_parts:Cut fails: KeyError: 'no pumps'"),
        ("Beyond", "failing_parts:Beyond cuts a text of"),
        ("NoPlaces", "failing_parts:NoPlaces fails: TypeError"),
    ],
)
def test_a_document_that_a_chunker_fails_on_fails_alone(made, failing, chunker, reason):
    chunking = made.config.chunkings["each"].model_copy(update={"strategy": f"{failing}:{chunker}"})
    config_ = made.config.model_copy(update={"chunkings": {"each": chunking}})

    report = refresh_chunks(made.store, config_, parser="notes", chunking="each", log=print)

    [failure] = report.failures
    assert (report.added, failure.label) == (1, "pump.md")
    assert reason in failure.reason


@pytest.mark.parametrize(
    ("serializer", "reason"),
    [
        ("Write", "failing_parts:Write fails: ZeroDivisionError: twenty"),
        ("Nothing", "failing_parts:Nothing gives None, which is no text"),
        ("Broken", "failing_parts:Broken fails: UnicodeEncodeError"),
    ],
)
def test_a_row_that_a_serializer_fails_on_fails_alone(made, failing, serializer, reason):
    name = f"{failing}:{serializer}"

    report = refresh_serialized_rows(made.store, made.config, serializer=name, log=print)

    [failure] = report.failures
    assert (report.added, failure.label) == (1, "tables/plates row 2")
    assert reason in failure.reason


@pytest.mark.parametrize(
    ("arm", "told"),
    [
        ("Ids", "ValueError: too many values to unpack"),
        ("Reads", "TypeError: open gives NoneType, and no function"),
    ],
)
def test_searches_go_on_without_an_arm_that_gives_what_is_no_ranking(
    made, failing, caplog, arm, told
):
    name = f"{failing}:{arm}"
    retriever = Retriever(signals=["bm25"], arms=[name])

    found = open_index(made.store, made.config, "own").search("brass", retriever=retriever)

    assert found.hits
    assert f"searches go on without the arm {name}: {told}" in caplog.text


def test_units_are_handed_once_to_an_arm_that_does_not_take_them(made, failing):
    name = f"{failing}:Reads"
    index = open_index(made.store, made.config, "own")
    part = part_of(name, api.CustomArm)
    before = part.opened

    for query in ("brass", "oil"):
        index.search(query, retriever=Retriever(signals=["bm25"], arms=[name]))

    assert part.opened == before + 1


def test_the_error_of_an_arm_that_fails_does_not_grow_with_each_search(made, failing):
    arm = OwnArm(f"{failing}:Reads", list)
    pins = set_of(made.store, made.config, "own")
    frames = []
    for _ in range(5):
        with pytest.raises(TypeError) as failed:
            arm.prepare(pins)
        frames.append(len(failed.traceback))

    assert frames[2:] == frames[1:2] * 3


def test_what_an_arm_finds_twice_counts_once(made, failing):
    name = f"{failing}:Twice"
    retriever = Retriever(signals=["bm25"], arms=[name])

    found = open_index(made.store, made.config, "own").search("brass", retriever=retriever)

    positions = [hit.arms[name] for hit in found.hits if name in hit.arms]
    assert sorted((each.rank, each.score) for each in positions) == [(1, 2.0), (2, 1.0)]


@pytest.mark.parametrize("reranker", ["Scores", "NoScores"])
def test_a_reranker_that_fails_is_named(failing, reranker):
    settings = RerankerSettings(backend="custom", path=f"{failing}:{reranker}")

    with pytest.raises(RerankerError, match=f"{failing}:{reranker} fails: "):
        CustomScorer(settings).score([("query", "text")])


def test_a_model_that_raises_anything_fails_on_that_text(failing):
    model = CustomEncoder(EmbeddingModel(backend="custom", path=f"{failing}:Vectors"))

    embedded = model.embed_passages(["even", "odd", "fine"])

    assert embedded.failed == {1: f"{failing}:Vectors: KeyError: 'odd'"}
    assert embedded.vectors[[0, 2]].tolist() == [pytest.approx([0.6, 0.8])] * 2
    with pytest.raises(EncoderError, match="KeyError: 'odd'"):
        model.embed_queries(["odd"])
