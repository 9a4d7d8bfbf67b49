"""A reranker behind a server, as Cohere, Jina, vLLM and Infinity speak it, and as TEI does."""

import numpy as np
import pytest

from rag_assets.config import RerankerSettings
from rag_assets.models import hosted
from rag_assets.models.rerankers import RerankerError, load_reranker
from rag_assets_tests.models.model_server import serving, vectors

QUERY = "How strong is 316L?"
TEXTS = [
    "Trucks leave the factory with a full tank of diesel.",
    "The yield strength of 316L is 205 MPa.",
    "Colours of paint dry within a day.",
]


@pytest.fixture(params=[False, True], ids=["documents", "TEI"])
def server(request, monkeypatch):
    monkeypatch.setattr(hosted, "FIRST_PAUSE", 0.01)
    with serving() as model:
        model.is_tei = request.param
        yield model


def load(server, home, **keys):
    endpoint = {"url": server.url, "attempts": 2} | keys.pop("endpoint", {})
    settings = RerankerSettings.model_validate(
        {"backend": "rerank_api", "path": "a-reranker", "endpoint": endpoint} | keys
    )
    return load_reranker(settings, name="ours", home=home)


def expected(query: str, texts: list[str]) -> np.ndarray:
    return (1 + vectors(texts) @ vectors([query])[0]) / 2


def test_each_pair_gets_its_own_score(server, tmp_path):
    reranker = load(server, tmp_path, endpoint={"texts_at_once": 2})
    pairs = [(query, text) for text in TEXTS for query in (QUERY, "diesel")]
    scores = reranker.score(pairs)

    assert scores[::2] == pytest.approx(expected(QUERY, TEXTS), abs=1e-5)
    assert scores[1::2] == pytest.approx(expected("diesel", TEXTS), abs=1e-5)
    assert reranker.score([]).shape == (0,)


def test_what_may_pass_is_tried_again_and_what_stays_is_named(server, tmp_path):
    reranker = load(server, tmp_path)
    server.faults = [429]
    assert reranker.score([(QUERY, TEXTS[1])]).argmax() == 0

    server.always = 500
    with pytest.raises(RerankerError, match=r"rerankers\.ours: .*status 500.*without a reranker"):
        reranker.score([(QUERY, TEXTS[1])])


def test_a_text_that_is_too_long_is_cut_until_it_is_taken(server, tmp_path):
    reranker = load(server, tmp_path)
    server.most_characters = 300
    long = TEXTS[1] + " Specimens were cleaned." * 40

    scores = reranker.score([(QUERY, text) for text in (*TEXTS, long)])
    assert scores[:3] == pytest.approx(expected(QUERY, TEXTS), abs=1e-5)
    assert 0 < scores[3] <= 1


def test_scores_that_are_no_relevance_are_refused(server, tmp_path):
    server.scale = 3.0
    with pytest.raises(RerankerError, match="sigmoid"):
        load(server, tmp_path)


def test_the_identity_moves_with_the_model_alone(server, tmp_path):
    first = load(server, tmp_path).reranker_id
    again = load(server, tmp_path, endpoint={"seconds": 9}).reranker_id
    server.scale = 0.5
    replaced = load(server, tmp_path, endpoint={"seconds": 8}).reranker_id

    assert again == first
    assert replaced != first


def test_a_server_that_is_away_is_named(tmp_path):
    with serving() as server:
        pass
    with pytest.raises(RerankerError, match=r"127\.0\.0\.1 does not answer"):
        load(server, tmp_path)
