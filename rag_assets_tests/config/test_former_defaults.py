"""Defaults that are gone: a file that relied on them is told the lines that keep what it builds."""

import pytest
import yaml

from rag_assets.config import Config, ConfigError, Retrieval, load
from rag_assets.config.base import merged
from rag_assets.config.former_defaults import CHUNKINGS
from rag_assets.store.search_indexes import settings_named, text_index_name
from rag_assets.store.serving_pointer import QuerySide

ALONE = "chunks__pymupdf__fixed_256-d87b4148e8fa"
"""The chunks of a file of the first edition that names nothing, as they were named then."""
FORMER_BEST = {
    "signals": ["dense", "bm25"],
    "depth": None,
    "signal_fusion": {
        "mode": "max_norm",
        "weights": {"dense": 0.2, "bm25": 0.8},
        "k": None,
        "first_rank": 1,
    },
    "domain_fusion": {
        "mode": "simple",
        "weights": {},
        "k": None,
        "first_rank": 1,
        "order": "signals_first",
        "depth": None,
        "reranker": "late_interaction",
        "alpha": 1.0,
        "top_j": 20,
        "statistic": "mean",
        "top_m": 3,
    },
    "query_fusion": None,
    "candidates": 20,
    "reranker": "late_interaction",
    "rerank_fusion": {
        "mode": "max_norm",
        "weights": {"candidates": 0.3, "reranked": 0.7},
        "k": None,
        "first_rank": 1,
    },
    "collapse": None,
    "expand": None,
    "arms": ["lookup"],
}
"""`best` as the release of then wrote it into the serving pointer."""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "rag_assets.yaml"
        path.write_text(text, "utf-8")
        return path

    return write


def refused(path) -> str:
    """Why a file is refused."""
    with pytest.raises(ConfigError) as error:
        load(path)
    return str(error.value)


def lines_in(said: str, *, variant: str = "default") -> dict:
    """The lines that a refusal tells to add, for a file without models of its own."""
    lines = yaml.safe_load(said.split("\n\n", 1)[1].replace("NAME", variant))
    return {name: lines[name] for name in ("variants", "index", "retrieval")}


@pytest.mark.parametrize("given", ["{}", "defaults: 3"])
def test_what_a_file_does_not_name_is_built_by_the_one_edition(write, given):
    config = load(write(given))
    variant = config.variants["default"]
    assert (variant.chunking, variant.model) == ("sentences_256", "e5")
    assert config.index.text.stop_words == "with_question_words"
    assert config.retrieval == Retrieval()
    assert settings_named(text_index_name(config.index.text)) == "text_5e83222e"


@pytest.mark.parametrize("edition", [1, 2])
def test_a_former_edition_is_refused_with_the_lines_that_keep_what_it_built(write, edition):
    path = write(f"defaults: {edition}")

    said = refused(path)

    assert said.startswith(f"{path}: defaults = {edition}: it is gone. Write `defaults: 3`, the ")
    assert "fast:  # the nearest that there is" in said
    kept = load(write(yaml.safe_dump({"defaults": 3, **lines_in(said)})))
    variant = kept.variants["default"]
    assert (variant.chunking, variant.model) == (CHUNKINGS[edition], "minilm")
    assert (kept.tables_of("default").chunks == ALONE) == (edition == 1)
    assert settings_named(text_index_name(kept.index.text)) == "text_unstemmed_8b59070d"
    assert QuerySide.of(kept.retrieval).settings == FORMER_BEST
    assert {*QuerySide.of(kept.retrieval).rerankers} == {"late_interaction"}


def test_what_the_file_says_stays_beside_the_lines(write):
    given = {
        "variants": {"a": {"chunking": "fixed_512"}},
        "models": {"e5": {"path": "intfloat/e5-small-v2"}},
        "training": {"retrievers": {"tuned": {}}},
        "index": {"text": {"stem": True}},
    }
    said = refused(write("defaults: 1"))
    lines = yaml.safe_load(said.split("\n\n", 1)[1].replace("NAME", "tuned"))
    lines["variants"] = {"a": lines["variants"]["tuned"]}

    kept = load(write(yaml.safe_dump(merged(lines, given) | {"defaults": 3})))

    assert (kept.variants["a"].chunking, kept.variants["a"].model) == ("fixed_512", "minilm")
    assert kept.models["e5"].passage_prefix == "", "a model of one's own had no prefix of ours"
    assert kept.models["tuned"].passage_prefix == kept.models["minilm"].passage_prefix
    assert settings_named(text_index_name(kept.index.text)) == "text_70bf4683"


@pytest.mark.parametrize("given", ["defaults: 0", "defaults: 4", "defaults: newest"])
def test_an_edition_that_never_was_is_an_error(write, given):
    assert "defaults = " in refused(write(given))


@pytest.mark.parametrize("model", ["minilm", "e5"])
def test_the_environment_names_an_edition_too(write, monkeypatch, model):
    monkeypatch.setenv("RAG_ASSETS__DEFAULTS", "1" if model == "minilm" else "3")
    path = write("{}")
    if model == "minilm":
        assert "defaults = 1: it is gone" in refused(path)
    else:
        assert load(path).variants["default"].model == model


@pytest.mark.parametrize(
    ("chunking", "address"),
    [
        ("fixed_256", "-d87b4148e8fa"),
        ("fixed_256_header", "-7114f07d383b"),
        ("fixed_512", "-df31c65202df"),
        ("headers_800", "-3cc6057c5dc2"),
        ("content_256", "-52ec7f4c7a72"),
    ],
)
def test_a_chunking_that_ships_keeps_its_address(chunking, address):
    """Another address would be built anew."""
    config = Config.model_validate({"variants": {"default": {"chunking": chunking}}})
    assert config.tables_of("default").chunks == f"chunks__pymupdf__{chunking}{address}"


def test_experiments_keep_the_chunkings_of_their_papers(write):
    config = load(write("experiments: {chunk_size: {}, headers: {}}"))
    chunkings = {variant.chunking for variant in config.variants.values()}
    assert chunkings == {"sentences_256", "fixed_256", "fixed_512", "fixed_256_header"}


def test_a_file_changes_a_retriever_key_by_key(write):
    own = load(write("retrieval: {retrievers: {best: {candidates: 30}}}")).retrieval
    plain = Retrieval().retrievers["best"]
    assert own.retrievers["best"] == plain.model_copy(update={"candidates": 30})
