"""Embedding models: texts in, unit vectors out.

A model is loaded on a *path* (`device/engine/precision`, such as `cpu/torch/fp32`), which
`pick_path` chooses for this machine. Batches hold windows of like length up to a budget of padded
tokens. A text that is longer than the model's window is embedded in windows whose vectors are
pooled; a text that the model rejects fails alone; a model that cannot compute at all raises.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from rag_assets.config import EmbeddingModel
from rag_assets.models.weights import Weights, WeightsError, encoder_id, weights_of
from rag_assets.models.windows import (
    Tokenized,
    Window,
    Windows,
    batches_of,
    bisected,
    pooled,
)

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is loaded
"""Threads that wait for each other sleep instead of spinning: on a machine with other work, a token
costs half the processor time."""

CPU_BATCH_TOKENS = 1_024
"""Larger batches are slower on a CPU, whatever the config allows: by 1.3 times at 8,192 tokens."""
CPU_PART_TOKENS = 32_768
CUDA_PART_TOKENS = 524_288
QUERIES_KEPT = 4_096
PROBE = "a text that every model can embed"

Forward: TypeAlias = "Callable[[torch.Tensor, torch.Tensor], torch.Tensor]"
"""(batch, tokens) ids and attention mask to (batch, dimension) vectors, on the model's device."""


class EncoderError(Exception):
    """The model cannot compute here; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """What became of some texts."""

    vectors: np.ndarray
    """(texts, dimension) float32, L2 norm 1; the row of a failed text is zero."""
    windows: np.ndarray
    """(texts,) int32: windows that were pooled, 1 for a text that fits."""
    failed: Mapping[int, str]
    """Why the text at a position has no vector."""
    tokens: int
    """Tokens that went through the model, special tokens included."""


class Encoder(Protocol):
    """A loaded embedding model."""

    @property
    def model_id(self) -> str:
        """Identity of the model."""
        ...

    @property
    def encoder_id(self) -> str:
        """Identity of the model and of the path that computes."""
        ...

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        ...

    @property
    def max_tokens(self) -> int:
        """The model's window, prefix and special tokens included."""
        ...

    @property
    def part_tokens(self) -> int:
        """How many tokens to hand over at once: some seconds of work."""
        ...

    def tokenize(self, texts: Sequence[str], /) -> Tokenized:
        """Passages, prefix added, ready for `embed`; may run in another thread."""
        ...

    def embed(self, tokenized: Tokenized, /) -> Embedded:
        """Vectors of tokenised texts.

        Raises:
            EncoderError: The model fails on any text, not only on these.
        """
        ...

    def embed_passages(self, texts: Sequence[str], /) -> Embedded:
        """Vectors of texts for the index."""
        ...

    def embed_queries(self, texts: Sequence[str], /) -> np.ndarray:
        """Vectors of queries, (texts, dimension) float32, L2 norm 1; each is computed once."""
        ...


def pick_path(model: EmbeddingModel) -> str:
    """The path on which this machine computes the model: `device/engine/precision`."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    automatic = {"cuda": "fp16", "cpu": "fp32"}[device]
    precision = automatic if model.precision == "auto" else model.precision
    return f"{device}/torch/{precision}"


def load_encoder(
    model: EmbeddingModel, *, path: str | None = None, cache: Path | None = None
) -> Encoder:
    """Load the model; one that is already loaded in this process is given again.

    Args:
        model: The model of the config.
        path: Path that an index was built on; without one, `pick_path` chooses.
        cache: JSON file with the hashes of weight files, see `weights_of`.

    Raises:
        WeightsError: The weights are missing or broken.
        EncoderError: This machine cannot compute on `path`.
    """
    weights = weights_of(model, cache=cache)
    return _loaded(model, weights, path or pick_path(model))


@lru_cache(maxsize=2)
def _loaded(model: EmbeddingModel, weights: Weights, path: str) -> "TorchEncoder":
    from pickle import UnpicklingError

    import torch
    from safetensors import SafetensorError

    device, _, precision = path.split("/")
    if device == "cuda" and not torch.cuda.is_available():
        raise EncoderError(
            f"the index of the model {model.path} was built on {path}, but there is no CUDA device "
            "here: run on a machine with a GPU, or set models.<name>.precision to fp32, which "
            "embeds everything again"
        )
    _quietly()
    load = {"sentence_transformers": _sentence_transformers, "flag_embedding": _flag_embedding}
    devices = (
        [f"cuda:{n}" for n in range(torch.cuda.device_count())] if device == "cuda" else ["cpu"]
    )
    try:
        replicas = [load[model.backend](weights, name, precision) for name in devices]
    except (
        OSError,
        ValueError,
        KeyError,
        RuntimeError,
        SafetensorError,
        UnpicklingError,
    ) as error:
        raise WeightsError(
            f"the model in {weights.folder} cannot be loaded by {model.backend} ({error}): check "
            "models.<name>.backend, and that the folder is whole"
        ) from error
    return TorchEncoder(model, weights=weights, path=path, replicas=replicas)


@dataclass(frozen=True, slots=True)
class Replica:
    """A model on one device."""

    device: str
    tokenizer: "PreTrainedTokenizerBase"
    forward: Forward
    owner: object
    """What must live as long as the model: FlagEmbedding moves it to the CPU when it goes."""


def _sentence_transformers(weights: Weights, device: str, precision: str) -> Replica:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(weights.folder), device=device, local_files_only=True)
    model.to(dtype=_dtype(precision)).eval()

    def forward(ids: "torch.Tensor", mask: "torch.Tensor") -> "torch.Tensor":
        return model({"input_ids": ids, "attention_mask": mask})["sentence_embedding"]

    return Replica(device=device, tokenizer=model.tokenizer, forward=forward, owner=model)


def _flag_embedding(weights: Weights, device: str, precision: str) -> Replica:
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
    model.to(device).eval()

    def forward(ids: "torch.Tensor", mask: "torch.Tensor") -> "torch.Tensor":
        batch = {"input_ids": ids, "attention_mask": mask}
        return model(batch, return_dense=True)["dense_vecs"]

    return Replica(device=device, tokenizer=tokenizer, forward=forward, owner=embedder)


def _quietly() -> None:
    """Keep the bar that shows weights being loaded out of logs and of the command line."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def _dtype(precision: str) -> "torch.dtype":
    import torch

    return {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[precision]


class TorchEncoder:
    """A model in PyTorch, on the CPU or on all CUDA devices."""

    def __init__(
        self,
        model: EmbeddingModel,
        *,
        weights: Weights,
        path: str,
        replicas: Sequence[Replica],
    ) -> None:
        """Take the same model once for each device.

        Raises:
            WeightsError: The tokenizer cannot count tokens, or a prefix fills the window.
        """
        self.model_id = weights.model_id
        self.encoder_id = encoder_id(weights.model_id, path)
        self.dimension = weights.dimension
        self.max_tokens = weights.max_tokens
        is_cuda = path.startswith("cuda")
        self.part_tokens = CUDA_PART_TOKENS * len(replicas) if is_cuda else CPU_PART_TOKENS
        self._batch_tokens = (
            model.batch_tokens if is_cuda else min(model.batch_tokens, CPU_BATCH_TOKENS)
        )
        self._replicas = replicas
        self._pad = replicas[0].tokenizer.pad_token_id or 0
        self._passages = _windows(model.passage_prefix, weights=weights, replica=replicas[0])
        self._queries = _windows(model.query_prefix, weights=weights, replica=replicas[0])
        self._known: OrderedDict[str, np.ndarray] = OrderedDict()
        self._lock = Lock()

    def tokenize(self, texts: Sequence[str], /) -> Tokenized:
        """Passages, prefix added, ready for `embed`; may run in another thread."""
        return self._passages.of(texts)

    def embed_passages(self, texts: Sequence[str], /) -> Embedded:
        """Vectors of texts for the index."""
        return self.embed(self.tokenize(texts))

    def embed_queries(self, texts: Sequence[str], /) -> np.ndarray:
        """Vectors of queries, (texts, dimension) float32, L2 norm 1; each is computed once.

        Raises:
            EncoderError: A query cannot be embedded.
        """
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            embedded = self.embed(self._queries.of(new))
            for position, reason in embedded.failed.items():
                raise EncoderError(f"the query {new[position]!r} cannot be embedded: {reason}")
            known = self._known | dict(zip(new, embedded.vectors, strict=True))
            for text in texts:
                self._known[text] = known[text]
                self._known.move_to_end(text)
            while len(self._known) > QUERIES_KEPT:
                self._known.popitem(last=False)
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.stack([known[text] for text in texts])

    def embed(self, tokenized: Tokenized, /) -> Embedded:
        """Vectors of tokenised texts: see `Encoder`."""
        failed = dict(tokenized.failed)
        windows: list[Window] = []
        vectors: list[np.ndarray] = []
        for batch, result in self._run(
            batches_of(tokenized.windows, batch_tokens=self._batch_tokens)
        ):
            if isinstance(result, Exception):
                failed[batch[0].text] = f"the model rejects the text: {result}"
                continue
            for window, vector in zip(batch, result, strict=True):
                if np.isfinite(vector).all():
                    windows.append(window)
                    vectors.append(vector)
                else:
                    failed[window.text] = "the model's vector of the text is not finite"
        if len(failed) > len(tokenized.failed):
            self._check_alive()
        stacked = np.array(vectors, dtype=np.float32).reshape(len(vectors), self.dimension)
        means = pooled(stacked, windows, texts=tokenized.texts)
        means[list(failed)] = 0
        return Embedded(
            vectors=means,
            windows=np.bincount(
                [window.text for window in tokenized.windows], minlength=tokenized.texts
            ).astype(np.int32),
            failed=failed,
            tokens=sum(len(window.ids) for window in tokenized.windows),
        )

    def _run(
        self, batches: Iterator[list[Window]]
    ) -> Iterator[tuple[Sequence[Window], Sequence[np.ndarray] | np.ndarray | Exception]]:
        """Each batch with its vectors, or one window with the reason why it has none."""
        if len(self._replicas) == 1:
            for batch in batches:
                yield from self._bisected(self._replicas[0], batch)
            return
        idle: SimpleQueue[Replica] = SimpleQueue()
        for replica in self._replicas:
            idle.put(replica)

        def work(
            batch: list[Window],
        ) -> list[tuple[Sequence[Window], Sequence[np.ndarray] | np.ndarray | Exception]]:
            replica = idle.get()
            try:
                return list(self._bisected(replica, batch))
            finally:
                idle.put(replica)

        with ThreadPoolExecutor(len(self._replicas)) as pool:
            for results in pool.map(work, batches):
                yield from results

    def _bisected(
        self, replica: Replica, batch: list[Window]
    ) -> Iterator[tuple[Sequence[Window], Sequence[np.ndarray] | np.ndarray | Exception]]:
        for positions, result in bisected(
            lambda part: self._vectors(replica, [batch[position] for position in part]),
            range(len(batch)),
        ):
            yield [batch[position] for position in positions], result

    def _vectors(self, replica: Replica, batch: Sequence[Window]) -> np.ndarray:
        """(batch, dimension) float32, unit length."""
        import torch

        longest = max(len(window.ids) for window in batch)
        ids = np.full((len(batch), longest), self._pad, dtype=np.int64)
        mask = np.zeros((len(batch), longest), dtype=np.int64)
        for row, window in enumerate(batch):
            ids[row, : len(window.ids)] = window.ids
            mask[row, : len(window.ids)] = 1
        with torch.inference_mode():
            vectors = replica.forward(
                torch.from_numpy(ids).to(replica.device), torch.from_numpy(mask).to(replica.device)
            )
            return torch.nn.functional.normalize(vectors.float(), dim=1).cpu().numpy()

    def _check_alive(self) -> None:
        """Tell a text that cannot be embedded from a model that cannot embed."""
        try:
            vectors = self._vectors(self._replicas[0], self._passages.of([PROBE]).windows)
        except RuntimeError as error:
            raise EncoderError(f"the model {self.encoder_id} cannot compute: {error}") from error
        if not np.isfinite(vectors).all():
            raise EncoderError(
                f"the model {self.encoder_id} gives vectors that are not finite: "
                "set models.<name>.precision to fp32, or check the weights"
            )


def _windows(prefix: str, *, weights: Weights, replica: Replica) -> Windows:
    backend = getattr(replica.tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise WeightsError(
            f"the tokenizer in {weights.folder} is of the slow kind: save it again with "
            "tokenizer.json (`AutoTokenizer.from_pretrained(folder).save_pretrained(folder)`)"
        )
    try:
        return Windows(backend, max_tokens=weights.max_tokens, prefix=prefix)
    except ValueError as error:
        raise WeightsError(f"the model in {weights.folder}: {error}") from error
