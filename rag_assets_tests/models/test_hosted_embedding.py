"""A model behind a server: its vectors, the faults of a network, and a model that is replaced."""

from threading import Barrier

import numpy as np
import pytest

from rag_assets.config import EmbeddingModel
from rag_assets.models import hosted
from rag_assets.models.hosted_embedding import HostedEncoder, load_hosted
from rag_assets.models.paths import load_for_queries
from rag_assets.models.replicas import EncoderError
from rag_assets_testing.alert_servers import certificate
from rag_assets_tests.models.model_server import CUT, NO_JSON, minilm, serving, vectors

TEXTS = [
    "The yield strength of 316L is 205 MPa.",
    "Colours of paint dry within a day.",
    "Stål är en legering av järn och kol.",
]
LONG = " ".join(f"Specimen {n} was cleaned with alcohol." for n in range(60))


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(hosted, "FIRST_PAUSE", 0.01)
    with serving() as model:
        yield model


def settings(url: str, **keys) -> EmbeddingModel:
    endpoint = {"url": url, "attempts": 3} | keys.pop("endpoint", {})
    return EmbeddingModel.model_validate(
        {"backend": "embeddings_api", "path": "all-minilm", "max_tokens": 256, "endpoint": endpoint}
        | keys
    )


@pytest.fixture
def encoder(server, tmp_path) -> HostedEncoder:
    encoder = load_hosted(settings(server.url), home=tmp_path)
    server.asked.clear()
    return encoder


def alike(ours: np.ndarray, theirs: np.ndarray) -> bool:
    return bool(((ours * theirs).sum(axis=1) > 0.9999).all())


def test_texts_and_queries_get_the_vectors_of_the_model(encoder):
    embedded = encoder.embed_passages(TEXTS)

    assert alike(embedded.vectors, vectors(TEXTS))
    assert embedded.windows.tolist() == [1, 1, 1]
    assert alike(encoder.embed_queries(TEXTS), minilm().embed_queries(TEXTS))
    assert encoder.embed_queries([]).shape == (0, 384)


def test_prefixes_and_dimensions_are_sent(server, tmp_path):
    model = settings(
        server.url, passage_prefix="p: ", query_prefix="q: ", endpoint={"dimensions": 64}
    )
    encoder = load_hosted(model, home=tmp_path)
    encoder.embed_passages(["one"])
    encoder.embed_queries(["two"])

    assert encoder.dimension == 64
    assert [body["input"][1] for body in server.asked[1:]] == ["p: one", "q: two"]
    assert {(body["model"], body["dimensions"]) for body in server.asked} == {("all-minilm", 64)}


def test_a_query_is_asked_once(encoder, server):
    first = encoder.embed_queries(["density", "hardness"])
    again = encoder.embed_queries(["hardness", "density"])

    assert len(server.asked) == 1
    np.testing.assert_array_equal(again, first[::-1])


@pytest.mark.parametrize(
    "how", [{"is_base64": True}, {"is_shuffled": True}, {"names_places": False}], ids=str
)
def test_vectors_are_read_however_a_server_writes_them(encoder, server, how):
    for name, value in how.items():
        setattr(server, name, value)
    assert alike(encoder.embed_passages(TEXTS).vectors, vectors(TEXTS))


@pytest.mark.parametrize(
    "fault",
    [
        429,
        (429, {"Retry-After": "0"}),
        (503, {"Retry-After": "Tue, 24 Nov 2026 08:00:00 GMT"}),  # in the past
        (503, {"Retry-After": "soon"}),
        500,
        408,
        CUT,
        NO_JSON,
    ],
    ids=str,
)
def test_what_may_pass_is_tried_again(encoder, server, fault):
    server.faults = [fault, fault]
    embedded = encoder.embed_passages(TEXTS)

    assert not embedded.failed
    assert alike(embedded.vectors, vectors(TEXTS))
    assert len(server.asked) == 3


def test_the_pause_that_a_server_asks_for_is_kept(encoder, server, monkeypatch):
    pauses = []
    monkeypatch.setattr(hosted, "_sleep", pauses.append)
    server.faults = [(429, {"Retry-After": "7"}), (429, {"Retry-After": "99999"})]
    encoder.embed_passages(TEXTS)

    assert pauses == [7, hosted.LONGEST_PAUSE]


def test_a_server_that_goes_on_failing_is_named(encoder, server):
    server.always = 503
    with pytest.raises(EncoderError, match=r"all-minilm at 127\.0\.0\.1 answers with status 503"):
        encoder.embed_passages(TEXTS)
    assert len(server.asked) == 3


def test_a_query_that_gets_no_answer_says_what_works_without(tmp_path):
    with serving() as server:
        encoder = load_for_queries(settings(server.url), name="hosted", home=tmp_path)
    with pytest.raises(EncoderError, match=r"does not answer .* --retriever bm25"):
        encoder.embed_queries(["density"])


def test_a_key_is_sent_and_stands_in_no_message(encoder, server, monkeypatch, caplog):
    monkeypatch.setenv("RAG_ASSETS_MODEL_KEY", "sk-secret")
    encoder.embed_passages(TEXTS)
    assert server.keys[-1] == "Bearer sk-secret"

    server.faults = [429]
    server.always = 401
    with pytest.raises(EncoderError, match="RAG_ASSETS_MODEL_KEY") as failed:
        encoder.embed_passages(TEXTS)
    assert "status 401" in str(failed.value)
    assert "secret" not in str(failed.value) + caplog.text
    assert "asked again" in caplog.text
    assert len(server.asked) == 3, "a key that is refused is not sent again"


def test_a_text_that_is_too_long_for_the_server_is_pooled_not_cut(encoder, server):
    server.most_characters = 500
    embedded = encoder.embed_passages([TEXTS[0], LONG, TEXTS[1]])

    assert not embedded.failed
    assert embedded.windows[1] > 1
    assert embedded.windows[[0, 2]].tolist() == [1, 1]
    assert alike(embedded.vectors[[0, 2]], vectors(TEXTS[:2]))
    sent = [text for body in server.asked for text in body["input"] if len(text) <= 500]
    assert all(f"Specimen {n} " in "|".join(sent) for n in range(60))
    assert float(embedded.vectors[1] @ vectors([LONG])[0]) > 0.9


def test_a_text_longer_than_the_window_is_sent_in_pieces(server, tmp_path):
    encoder = load_hosted(settings(server.url, max_tokens=64), home=tmp_path)
    embedded = encoder.embed_passages([LONG])

    pieces = [text for body in server.asked[1:] for text in body["input"][1:]]
    assert max(map(len, pieces)) <= 64 * 3
    assert sorted("".join(pieces)) == sorted(LONG)
    assert embedded.windows.tolist() == [len(pieces)]


def test_a_long_text_is_cut_where_the_config_says_so(server, tmp_path):
    encoder = load_hosted(settings(server.url, max_tokens=64, long_texts="cut"), home=tmp_path)
    embedded = encoder.embed_passages([LONG, TEXTS[0]])

    sent = sorted(text for body in server.asked[1:] for text in body["input"][1:])
    assert [text for text in sent if text != TEXTS[0]] == [LONG[: len(sent[0])]]
    assert embedded.windows.tolist() == [1, 1]


def test_a_text_that_is_refused_fails_alone(encoder, server):
    server.refused = "paint"
    embedded = encoder.embed_passages(TEXTS)

    assert list(embedded.failed) == [1]
    assert "the content is not allowed" in embedded.failed[1]
    assert not embedded.vectors[1].any()
    assert alike(embedded.vectors[[0, 2]], vectors([TEXTS[0], TEXTS[2]]))
    with pytest.raises(EncoderError, match="not allowed"):
        encoder.embed_queries(["paint"])


def test_a_server_that_refuses_everything_fails_the_pass_and_no_text(encoder, server):
    server.always = 400
    with pytest.raises(EncoderError, match="status 400"):
        encoder.embed_passages(TEXTS)


def test_requests_are_as_large_as_the_server_takes(encoder, server):
    server.most_texts = 5
    many = [f"Sample {n} of steel." for n in range(20)]

    assert alike(encoder.embed_passages(many).vectors, vectors(many))
    assert max(len(body["input"]) for body in server.asked) <= 32


def test_several_requests_run_side_by_side(server, tmp_path):
    encoder = load_hosted(
        settings(server.url, endpoint={"texts_at_once": 2, "requests_at_once": 2}), home=tmp_path
    )
    server.together = Barrier(2)  # breaks unless two requests meet there
    embedded = encoder.embed_passages([*TEXTS, "a fourth text"])
    assert not embedded.failed


def other_model(texts: list[str]) -> np.ndarray:
    return vectors([f"{text} {text[::-1]}" for text in texts])


@pytest.mark.parametrize(
    ("embed", "said"),
    [(other_model, "cosine of"), (lambda texts: vectors(texts)[:, :100], "100 numbers")],
    ids=["other weights", "other length"],
)
def test_a_model_that_was_replaced_embeds_nothing(encoder, server, embed, said):
    server.embed = embed
    for work in (encoder.confirm, lambda: encoder.embed_passages(TEXTS)):
        with pytest.raises(EncoderError, match=r"computes another model .*revision") as failed:
            work()
        assert said in str(failed.value)
    with pytest.raises(EncoderError, match="computes another model"):
        encoder.embed_queries(["density"])


def test_small_differences_between_machines_are_no_other_model(encoder, server):
    noise = np.random.default_rng(0).normal(scale=5e-4, size=(9, 384))
    server.embed = lambda texts: vectors(texts) + noise[: len(texts)]
    encoder.confirm()


def test_the_identity_is_that_of_the_model_and_not_of_its_place(server, tmp_path):
    first = load_hosted(settings(server.url), home=tmp_path)
    server.served = "all-minilm-l6"  # renamed: its probe says that it is the same
    with serving() as moved:
        again = load_hosted(settings(moved.url, endpoint={"seconds": 9}), home=tmp_path)
        again.confirm()
    edited = load_hosted(settings(server.url, revision="2"), home=tmp_path)

    assert again.encoder_id == first.encoder_id
    assert first.encoder_id == f"{first.model_id}/server/embeddings_api/fp32"
    assert edited.model_id != first.model_id
    assert server.url not in "".join(file.read_text() for file in tmp_path.glob("*.json"))


@pytest.mark.parametrize(
    "answer",
    [{"data": []}, {"error": "?"}, [], {"data": [{"index": 3, "embedding": [1.0]}]}],
    ids=str,
)
def test_an_answer_without_embeddings_is_an_error(server, tmp_path, monkeypatch, answer):
    monkeypatch.setattr(type(server), "answer", lambda *_: (200, answer))
    with pytest.raises(EncoderError, match="not known yet, and the server of all-minilm"):
        load_hosted(settings(server.url), home=tmp_path)


def test_a_key_is_sent_in_place_of_the_user_whom_netrc_names(
    encoder, server, monkeypatch, tmp_path
):
    users = tmp_path / "users"
    users.write_text("default login ann password pass-word")
    monkeypatch.setenv("NETRC", str(users))
    encoder.embed_passages(TEXTS)
    assert server.keys[-1].startswith("Basic ")
    monkeypatch.setenv("RAG_ASSETS_MODEL_KEY", "sk-secret")
    encoder.embed_passages(["another text"])
    assert server.keys[-1] == "Bearer sk-secret"


@pytest.mark.parametrize("broken", [None, float("nan"), 0.0], ids=str)
def test_a_text_without_a_direction_fails_alone(encoder, server, monkeypatch, broken):
    """NaN of half precision: JSON has no word for it, so that most servers write null."""
    answered = type(server).answer

    def with_broken(self, path, body):
        status, answer = answered(self, path, body)
        for text, item in zip(body["input"], answer["data"], strict=True):
            if "paint" in text:
                item["embedding"] = [broken] * 384
        return status, answer

    monkeypatch.setattr(type(server), "answer", with_broken)
    embedded = encoder.embed_passages(TEXTS)

    assert list(embedded.failed) == [1]
    assert alike(embedded.vectors[[0, 2]], vectors([TEXTS[0], TEXTS[2]]))


@pytest.mark.parametrize("vector", [[float("nan")] * 384, [0.0] * 384, []], ids=["NaN", "0", "-"])
def test_a_model_whose_probe_has_no_direction_is_not_recorded(server, tmp_path, vector):
    server.embed = lambda texts: np.array([vector for _ in texts])
    with pytest.raises(EncoderError, match="no direction"):
        load_hosted(settings(server.url), home=tmp_path)

    server.embed = vectors
    assert load_hosted(settings(server.url), home=tmp_path).dimension == 384


def test_a_query_does_not_wait_as_long_as_a_server_asks(encoder, server, monkeypatch):
    pauses = []
    monkeypatch.setattr(hosted, "_sleep", pauses.append)
    server.faults = [(429, {"Retry-After": "3"}), None, (429, {"Retry-After": "60"})]
    encoder.embed_queries(["density"])
    with pytest.raises(EncoderError, match=r"status 429.*--retriever bm25"):
        encoder.embed_queries(["hardness"])

    assert pauses == [3]


def test_a_text_that_a_server_cannot_compute_at_once_is_cut(encoder, server, monkeypatch):
    """So answers llama.cpp; other failures of status 500 may pass, and are tried again."""
    refused = "input (812 tokens) is too large to process. increase the physical batch size"
    limits = type(server)._limits

    def too_large(self, texts):
        return (500, {"error": {"message": refused}}) if limits(self, texts) else None

    monkeypatch.setattr(type(server), "_limits", too_large)
    server.most_characters = 500
    embedded = encoder.embed_passages([TEXTS[0], LONG])

    assert not embedded.failed
    assert embedded.windows[1] > 1
    assert len(server.asked) < 20, "nothing is asked twice"


def test_a_server_that_has_moved_says_where_to(encoder, server):
    server.always = (308, {"Location": "https://models.test/v2/embeddings"})
    with pytest.raises(EncoderError, match=r"status 308.*models\.test/v2.*endpoint\.url"):
        encoder.embed_passages(TEXTS)
    assert len(server.asked) == 1


def test_a_certificate_that_nobody_signed_is_named_at_once(tmp_path, monkeypatch):
    signed = certificate(tmp_path)
    with serving(certificate=signed) as server:
        model = settings(server.url)
        with pytest.raises(EncoderError, match=r"certificate.*SSL_CERT_FILE"):
            load_hosted(model, home=tmp_path)
        monkeypatch.setenv("SSL_CERT_FILE", str(signed))
        assert load_hosted(model, home=tmp_path).dimension == 384
