"""Rerankers: models that score how well a text answers a query.

All scores lie in [0, 1] and keep the model's order: the logits of a cross-encoder pass through a
sigmoid, cosines are mapped from [-1, 1]. So the scores of one reranker may be weighted and compared
across queries; scores of different rerankers may not.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Protocol, TypeAlias, assert_never

import numpy as np

from rag_assets.api import CustomReranker
from rag_assets.config import EmbeddingModel, Endpoint, RerankerSettings
from rag_assets.config.custom import part_of
from rag_assets.config.models import DEFAULT_MODELS
from rag_assets.identity import fingerprint
from rag_assets.models import token_projection
from rag_assets.models.hosted import ServerError
from rag_assets.models.hosted_reranker import HostedReranker, identity_now
from rag_assets.models.late_interaction import load_late_interaction
from rag_assets.models.paths import has_bf16
from rag_assets.models.replicas import EncoderError, kinds_of_precision
from rag_assets.models.weights import ID_LENGTH, Weights, WeightsError, weights_of
from rag_assets.process.errors import UnanswerableError

Pair: TypeAlias = tuple[str, str]
"""A query and a text."""
FLASHRANK_TOKENS = 512
WITHOUT_WEIGHTS = ("flashrank", "rerank_api", "custom")
"""Backends whose weights are not ours to find."""
WITHOUT_TOKENS = ("static", "embeddings_api", "custom")
"""Backends of embedding models that give no vector of each token in its context."""


class RerankerError(UnanswerableError):
    """A reranker cannot score here; the message says why and what to do."""


class Reranker(Protocol):
    """A loaded reranker."""

    @property
    def reranker_id(self) -> str:
        """Identity: weights, window and precision. Scores are kept under it."""
        ...

    def score(self, pairs: Sequence[Pair], /) -> np.ndarray:
        """Relevance of each pair's text to its query, (pairs,) float64 in [0, 1].

        Pairs are scored in batches of like length, in no particular order.
        """
        ...


def load_reranker(
    settings: RerankerSettings, *, name: str, home: Path, of_index: EmbeddingModel | None = None
) -> Reranker:
    """Load the reranker called `name` in the config, unless this process has loaded it already.

    One behind a server is asked each time who it is, as it may have been replaced.

    Args:
        settings: Its section of the config.
        name: Its key there.
        home: Folder for files derived from weights (`Store.encoders`).
        of_index: The model of the index, which scores where `settings` name none. Where it gives
            no vectors of tokens, or there is no index, MiniLM does.

    Raises:
        RerankerError: Weights or a package are missing, or it cannot compute here.
    """
    try:
        if settings.endpoint:
            return ServerReranker(settings, endpoint=settings.endpoint, name=name, home=home)
        if settings.backend in WITHOUT_WEIGHTS:
            return _loaded(settings, None, None, name, home)
        model = _as_model(settings, of_index=of_index)
        return _loaded(settings, model, _weights(settings, model, home=home), name, home)
    except (WeightsError, EncoderError) as error:
        raise RerankerError(f"retrieval.rerankers.{name}: {error}") from error


def replaceable(rerankers: Mapping[str, RerankerSettings], *, home: Path) -> dict[str, str]:
    """The identity, by name, of `rerankers` that may change though their settings do not.

    These are weights in a local folder, which are not loaded, parts of somebody's own,
    and models behind a server, which is asked; while it does not answer, its model counts as the
    one that it was.
    """
    found = {}
    for name, settings in rerankers.items():
        if settings.endpoint:
            if known := identity_now(settings, endpoint=settings.endpoint, home=home):
                found[name] = known
        elif settings.backend == "custom":
            found[name] = CustomScorer(settings).reranker_id
        elif settings.backend not in WITHOUT_WEIGHTS and _is_folder(settings.path):
            with suppress(WeightsError):  # reported when they are loaded
                found[name] = _weights(settings, _as_model(settings), home=home).model_id
    return found


def _is_folder(path: str) -> bool:
    return path != "" and Path(path).expanduser().is_dir()


@lru_cache(maxsize=2)
def _loaded(
    settings: RerankerSettings,
    model: EmbeddingModel | None,
    weights: Weights | None,
    name: str,
    home: Path,
) -> Reranker:
    if settings.backend == "flashrank":
        return FlashRank(settings, name=name, home=home)
    if settings.backend == "custom":
        return CustomScorer(settings)
    assert model is not None, f"{settings.backend} computes with a model"
    assert weights is not None, f"{settings.backend} computes with weights"
    match settings.backend:
        case "late_interaction":
            return load_late_interaction(model, weights=weights, name=name, home=home)
        case "sentence_transformers":
            return SentenceTransformersReranker(settings, weights=weights)
        case "flag_embedding":
            return FlagEmbeddingReranker(settings, weights=weights)
        case "rerank_api":
            raise AssertionError("a server is asked each time who it is: see `load_reranker`")
        case other:
            assert_never(other)


def _weights(settings: RerankerSettings, model: EmbeddingModel, *, home: Path) -> Weights:
    """The weights; a layer on their token vectors makes them another model where it is used."""
    weights = weights_of(model, home=home, with_code=settings.trust_remote_code)
    layer = weights.folder / token_projection.FILE
    if settings.backend != "late_interaction" or not layer.is_file():
        return weights
    content = sha256(layer.read_bytes()).hexdigest()
    return replace(weights, model_id=fingerprint(weights.model_id, content)[:ID_LENGTH])


def _as_model(
    settings: RerankerSettings, *, of_index: EmbeddingModel | None = None
) -> EmbeddingModel:
    """The model that scores: that of the settings, or that of the index."""
    if not settings.path:
        has_tokens = of_index is not None and of_index.backend not in WITHOUT_TOKENS
        model = of_index if of_index and has_tokens else DEFAULT_MODELS["minilm"]
        window = settings.max_tokens or model.max_tokens
        return model.model_copy(
            update={"backend": "sentence_transformers", "sparse": False, "max_tokens": window}
        )
    return EmbeddingModel(
        path=settings.path,
        revision=settings.revision,
        precision=settings.precision,
        max_tokens=settings.max_tokens,
    )


class SentenceTransformersReranker:
    """A cross-encoder in sentence-transformers."""

    def __init__(self, settings: RerankerSettings, *, weights: Weights) -> None:
        """Use `load_reranker` instead.

        Raises:
            RerankerError: The files hold no cross-encoder.
        """
        import torch
        from sentence_transformers import CrossEncoder

        precision = _precision(settings)
        with _loading(settings):
            self._model = CrossEncoder(
                str(weights.folder),
                num_labels=1,
                max_length=settings.max_tokens,
                local_files_only=True,
                trust_remote_code=settings.trust_remote_code,
                activation_fn=torch.nn.Sigmoid(),
                model_kwargs={"dtype": kinds_of_precision()[precision]},
            )
        self._batch = settings.batch_size
        self.reranker_id = _identity(settings, weights=weights, precision=precision)

    def score(self, pairs: Sequence[Pair], /) -> np.ndarray:
        """See `Reranker`."""
        if not pairs:
            return np.zeros(0)
        scores = self._model.predict(
            [list(pair) for pair in pairs], batch_size=self._batch, show_progress_bar=False
        )
        return _checked(np.asarray(scores, dtype=np.float64).reshape(len(pairs)))


class FlagEmbeddingReranker:
    """A cross-encoder in FlagEmbedding, such as bge-reranker-v2-m3."""

    def __init__(self, settings: RerankerSettings, *, weights: Weights) -> None:
        """Use `load_reranker` instead.

        Raises:
            RerankerError: The files hold no cross-encoder.
        """
        import torch
        from FlagEmbedding import FlagReranker

        precision = _precision(settings)
        with _loading(settings):
            self._model = FlagReranker(
                str(weights.folder),
                use_fp16=precision == "fp16",
                trust_remote_code=settings.trust_remote_code,
                devices=["cuda:0" if torch.cuda.is_available() else "cpu"],
                batch_size=settings.batch_size,
                max_length=settings.max_tokens or weights.max_tokens,
                normalize=True,
            )
            if self._model.model is not None:  # else it keeps the precision of its files
                self._model.model.to(kinds_of_precision()[precision])
        self.reranker_id = _identity(settings, weights=weights, precision=precision)

    def score(self, pairs: Sequence[Pair], /) -> np.ndarray:
        """See `Reranker`."""
        if not pairs:
            return np.zeros(0)
        return _checked(np.asarray(self._model.compute_score(list(pairs)), dtype=np.float64))


class FlashRank:
    """A small cross-encoder in ONNX, by the package of that name."""

    def __init__(self, settings: RerankerSettings, *, name: str, home: Path) -> None:
        """Use `load_reranker` instead.

        Raises:
            RerankerError: The package is not installed, or its model cannot be fetched.
        """
        if find_spec("flashrank") is None:
            raise RerankerError(
                f"retrieval.rerankers.{name}: the package flashrank is not installed: "
                "pip install flashrank, or choose the backend late_interaction, which needs none"
            )
        self._package = import_module("flashrank")
        self._tokens = settings.max_tokens or FLASHRANK_TOKENS
        try:
            self._model = self._package.Ranker(
                model_name=settings.path, cache_dir=str(home / "flashrank"), max_length=self._tokens
            )
        except (OSError, ValueError, KeyError) as error:
            raise RerankerError(
                f"retrieval.rerankers.{name}: flashrank fetches {settings.path} when it is first "
                f"used, which failed ({error}): put its folder below {home / 'flashrank'}"
            ) from error
        self.reranker_id = fingerprint("flashrank", settings.path, self._tokens)[:ID_LENGTH]

    def score(self, pairs: Sequence[Pair], /) -> np.ndarray:
        """See `Reranker`."""
        scores = np.zeros(len(pairs))
        for query in dict.fromkeys(query for query, _ in pairs):
            places = [place for place, pair in enumerate(pairs) if pair[0] == query]
            places.sort(key=lambda place: len(pairs[place][1]))
            passages = [{"id": place, "text": pairs[place][1]} for place in places]
            request = self._package.RerankRequest(query=query, passages=passages)
            for found in self._model.rerank(request):
                scores[found["id"]] = found["score"]
        return _checked(scores)


class CustomScorer:
    """A reranker of somebody's own."""

    def __init__(self, settings: RerankerSettings) -> None:
        """Use `load_reranker` instead.

        Raises:
            ConfigError: There is no such part.
        """
        self._name, self._part = settings.path, part_of(settings.path, CustomReranker)
        about = ("custom", settings.path, self._part.revision)
        self.reranker_id = fingerprint(*about)[:ID_LENGTH]

    def score(self, pairs: Sequence[Pair], /) -> np.ndarray:
        """See `Reranker`.

        Raises:
            RerankerError: It does not give a number from 0 to 1 for each text.
        """
        found: list[float] = []
        try:
            for query, same in groupby(pairs, key=lambda pair: pair[0]):
                found += self._part.score(query, [text for _, text in same])
            scores = np.asarray(found, np.float64)
        except Exception as error:  # whatever code of others raises
            raise RerankerError(f"{self._name} fails: {type(error).__name__}: {error}") from error
        if scores.shape != (len(pairs),) or not ((scores >= 0) & (scores <= 1)).all():
            raise RerankerError(f"{self._name} gives no number from 0 to 1 for each text")
        return scores


class ServerReranker:
    """A reranker behind a server: see `hosted_reranker`."""

    def __init__(
        self, settings: RerankerSettings, *, endpoint: Endpoint, name: str, home: Path
    ) -> None:
        """Use `load_reranker` instead.

        Raises:
            RerankerError: The server does not answer, or not with scores from 0 to 1.
        """
        self._name = name
        with self._named():
            self._model = HostedReranker(settings, endpoint=endpoint, home=home)
        self.reranker_id = self._model.reranker_id

    def score(self, pairs: Sequence[Pair], /) -> np.ndarray:
        """See `Reranker`.

        Raises:
            RerankerError: The server does not answer, or not with scores from 0 to 1.
        """
        with self._named():
            return self._model.score(pairs)

    @contextmanager
    def _named(self) -> Generator[None]:
        try:
            yield
        except ServerError as error:
            raise RerankerError(
                f"retrieval.rerankers.{self._name}: {error}. Until it answers, search "
                "without a reranker: --retriever bm25"
            ) from error


def _precision(settings: RerankerSettings) -> str:
    import torch

    if settings.precision != "auto":
        return settings.precision
    if torch.cuda.is_available():
        return "fp16"
    return "bf16" if has_bf16() else "fp32"


def _identity(settings: RerankerSettings, *, weights: Weights, precision: str) -> str:
    parts = (settings.backend, [weights.model_id], settings.max_tokens, precision)
    return fingerprint(*parts)[:ID_LENGTH]


@contextmanager
def _loading(settings: RerankerSettings) -> Generator[None]:
    """Turn the errors of loading into one that names the reranker and says what to do."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        reason = str(error).partition("\n")[0]
        raise RerankerError(
            f"{settings.path} cannot be loaded by {settings.backend} as a cross-encoder "
            f"({reason}): check the path and the backend in retrieval.rerankers, and that the "
            "folder is whole; `late_interaction` needs no weights of its own"
        ) from error


def _checked(scores: np.ndarray) -> np.ndarray:
    if not np.isfinite(scores).all():
        raise RerankerError(
            "the reranker gives scores that are not finite: set its precision to fp32, or check "
            "the weights"
        )
    return scores
