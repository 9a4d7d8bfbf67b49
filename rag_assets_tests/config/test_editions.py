"""Editions of the defaults: a file builds what its edition says, whatever later ones say."""

import pytest

from rag_assets.config import Config, ConfigError, Retrieval, load
from rag_assets.config.editions import CHUNKINGS, MODELS, NEWEST
from rag_assets.store.search_indexes import text_index_name
from rag_assets.store.serving_pointer import QuerySide


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "rag_assets.yaml"
        path.write_text(text, "utf-8")
        return path

    return write


@pytest.mark.parametrize("given", ["{}", "defaults: 1"])
def test_a_file_without_the_key_keeps_the_first_edition(write, given):
    assert load(write(given)).variants["default"].chunking == "fixed_256"
    assert Config().variants["default"].chunking == "fixed_256"


def test_a_variant_that_names_no_chunking_has_that_of_the_edition(write):
    config = load(
        write("defaults: 2\nvariants: {a: {parser: pdfium}, b: {chunking: content_256}, c: {}}")
    )
    found = {name: (one.parser, one.chunking) for name, one in config.variants.items()}
    assert found == {
        "a": ("pdfium", "sentences_256"),
        "b": ("pymupdf", "content_256"),
        "c": ("pymupdf", "sentences_256"),
    }


def test_the_edition_holds_for_the_variant_that_nobody_wrote_down(write, monkeypatch):
    assert load(write("defaults: 2")).variants["default"].chunking == "sentences_256"
    monkeypatch.setenv("RAG_ASSETS__DEFAULTS", "2")
    assert load(write("{}")).variants["default"].chunking == "sentences_256"


def test_experiments_keep_the_chunkings_of_their_papers_in_every_edition(write):
    config = load(write("defaults: 2\nexperiments: {chunk_size: {}, headers: {}}"))
    chunkings = {variant.chunking for variant in config.variants.values()}
    assert chunkings == {"sentences_256", "fixed_256", "fixed_512", "fixed_256_header"}


def test_an_unknown_edition_is_an_error_that_says_which_there_are(write):
    with pytest.raises(ConfigError, match=r"defaults = 4: .*1, 2 or 3"):
        load(write("defaults: 4"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "english_and_swedish"),
        ("defaults: 2", "english_and_swedish"),
        ("defaults: 3", "with_question_words"),
        ("defaults: 3\nindex: {text: {stem: true}}", "with_question_words"),
        ("defaults: 3\nindex: {text: {stop_words: none}}", "none"),
        ("defaults: 2\nindex: {text: {stop_words: with_question_words}}", "with_question_words"),
    ],
)
def test_question_words_are_left_out_from_the_third_edition_on(write, text, words):
    assert load(write(text)).index.text.stop_words == words


def test_a_full_text_index_of_an_earlier_edition_keeps_its_name(write):
    """As the release before the third edition named it: another name would be built anew."""
    names = [
        text_index_name(load(write(text)).index.text)
        for text in ("{}", "defaults: 2", "defaults: 2\nindex: {text: {stem: true}}", "defaults: 3")
    ]
    assert names[:3] == ["text_unstemmed_5e7ff880"] * 2 + ["text_92f8f708"]
    assert names[3] not in names[:3]


@pytest.mark.parametrize(("edition", "model"), [(1, "minilm"), (2, "minilm"), (3, "e5")])
def test_a_variant_that_names_no_model_has_that_of_the_edition(write, edition, model):
    config = load(write(f"defaults: {edition}\nvariants: {{a: {{}}, b: {{model: minilm}}}}"))
    assert config.variants["a"].model == model
    assert config.variants["b"].model == "minilm"


@pytest.mark.parametrize(
    ("given", "prefix"),
    [
        ("models: {e5: {path: intfloat/e5-small-v2}}", ""),
        ("defaults: 2\nmodels: {e5: {path: intfloat/e5-small-v2}}", ""),
        ("defaults: 2\nmodels: {e5: {max_tokens: 256}}", "passage: "),
        ("defaults: 3\nmodels: {e5: {path: intfloat/multilingual-e5-base}}", "passage: "),
    ],
)
def test_a_model_of_a_file_is_its_own_where_the_name_came_with_a_later_edition(
    write, given, prefix
):
    """Else it would embed everything anew, with the prefixes of a default it never knew."""
    assert load(write(given)).models["e5"].passage_prefix == prefix


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
"""As the release before wrote it into the serving pointer."""


@pytest.mark.parametrize(
    "text",
    ["{}", "defaults: 1", "defaults: 2", "retrieval: {}", "retrieval: {retrievers: null}"],
)
def test_best_stays_what_it_was_before_the_third_edition(write, text):
    """As the release before wrote it into the serving pointer: another one would be held."""
    now = QuerySide.of(load(write(text)).retrieval)
    assert now.settings == FORMER_BEST
    assert {*now.rerankers} == {"late_interaction"}


def test_the_third_edition_reads_with_the_model_of_the_index(write):
    retrievers = load(write("defaults: 3")).retrieval.retrievers
    assert retrievers == Retrieval().retrievers
    assert (retrievers["best"].reranker, retrievers["best"].first_of_each) == ("own_model", 8)
    assert retrievers["fast"].domain_fusion is None


@pytest.mark.parametrize("edition", [2, 3])
def test_a_file_changes_the_retriever_of_its_edition_key_by_key(write, edition):
    plain = load(write(f"defaults: {edition}")).retrieval.retrievers["best"]
    changed = "retrieval: {retrievers: {best: {candidates: 30}}}"
    own = load(write(f"defaults: {edition}\n{changed}")).retrieval.retrievers["best"]
    assert own == plain.model_copy(update={"candidates": 30})


def test_each_edition_has_a_chunking_and_a_model_that_ship():
    assert set(CHUNKINGS.values()) <= set(Config().chunkings)
    assert set(MODELS.values()) <= set(Config().models)
    assert max(CHUNKINGS) == max(MODELS) == NEWEST


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
def test_what_the_first_edition_built_keeps_its_address(chunking, address):
    """As the release before the second edition named it: another address would be built anew."""
    config = Config.model_validate({"variants": {"default": {"chunking": chunking}}})
    assert config.tables_of("default").chunks == f"chunks__pymupdf__{chunking}{address}"
