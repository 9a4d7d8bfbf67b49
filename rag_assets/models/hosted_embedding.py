"""An embedding model behind a server that speaks OpenAI's `/v1/embeddings`.

Vectors are of use only as long as all of them come from one model, and a server may be given
another one at any time. So the first answer is recorded: what the server calls the model, the
length of its vectors, and the vector of a fixed text, the *probe*. Every request carries the probe,
and an answer whose probe moved is not used. A refresh asks for it even if it has nothing to embed.

Texts are sent in several requests at a time. One that is longer than the window is cut into pieces
at white space, whose vectors are pooled; so is one that the server calls too long. A text that the
server refuses fails alone.
"""

import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from pydantic import BaseModel, ValidationError

from rag_assets.config import EmbeddingEndpoint, EmbeddingModel
from rag_assets.identity import fingerprint
from rag_assets.models.embedding import PROBE, Embedded
from rag_assets.models.hosted import (
    QUERY_PATIENCE,
    Patience,
    RefusedRequestError,
    Server,
    ServerError,
    asked_side_by_side,
)
from rag_assets.models.known_queries import KnownQueries
from rag_assets.models.replicas import EncoderError
from rag_assets.models.weights import ID_LENGTH, encoder_id
from rag_assets.models.windows import bisected, pooled, stacked, unit
from rag_assets.store.atomic import write_atomically

if TYPE_CHECKING:
    from rag_assets.workers import Json

SERVER = "server"
"""The device in an `encoder_id`."""
PATH = f"{SERVER}/embeddings_api/fp32"
LEAST_COSINE = 0.999
"""Two vectors of one text by the same model have at least this cosine: machines, batches and
precisions differ less."""
BYTES_PER_TOKEN = 3
"""An estimate on the safe side: the server's tokenizer is not known."""
LEAST_CHARACTERS = 64
"""A text that is refused as too long is halved down to this length."""
PARTS_BATCHES = 2
"""Rounds of requests that a part of the texts takes."""
NAME_LENGTH = 12

Results: TypeAlias = Iterator[tuple["_Piece", np.ndarray | str]]
"""Pieces with their vectors, (dimension,), or with the reason why they have none."""


@dataclass(frozen=True, slots=True)
class HostedIdentity:
    """What a server said of itself when it was first asked."""

    model_id: str
    dimension: int
    served: str
    """The name by which the server calls the model."""
    probe: Sequence[float]
    """The vector of `PROBE`, L2 norm 1."""
    recorded_at: str
    """The time when it was asked: ISO 8601."""

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """The identity that `file` records; None if it cannot be read."""
        try:
            return cls(**json.loads(file.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None


class _Item(BaseModel):
    index: int | None = None
    embedding: list[float | None] | str
    """Numbers, or the base64 of little-endian float32; None is how many servers write NaN."""


class _EmbeddingsAnswer(BaseModel):
    """The part of an answer that is read."""

    data: list[_Item]
    model: str | None = None


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text, or a part of it, as it is sent."""

    text: int
    """Position of its text among the texts."""
    content: str
    """The text of the piece, without the prefix."""

    @property
    def weight(self) -> int:
        """The share of the piece in the pooled vector of its text."""
        return max(1, len(self.content))

    @property
    def tokens(self) -> int:
        """An estimate of the tokens of the piece."""
        return 1 + len(self.content.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN

    def parts(self, count: int) -> list["_Piece"]:
        """About equal parts of it, cut at white space where there is some."""
        return [_Piece(self.text, part) for part in _cut(self.content, count)]


def load_hosted(model: EmbeddingModel, *, home: Path) -> "HostedEncoder":
    """The model behind its server, which is asked who it is unless `home` has its record.

    Raises:
        EncoderError: It is not known yet and does not answer, or not as it should.
    """
    return _loaded(model, home)


def is_introduced(model: EmbeddingModel, *, home: Path) -> bool:
    """Whether `load_hosted` asks nobody: `home` has the record, or the model has no server."""
    return not model.endpoint or HostedIdentity.read(_record(model, home)) is not None


@lru_cache(maxsize=4)
def _loaded(model: EmbeddingModel, home: Path) -> "HostedEncoder":
    assert model.endpoint is not None, "a model behind a server has an endpoint"
    server = Server.of(model.endpoint, model=model.path)
    known = HostedIdentity.read(_record(model, home))
    identity = known or _introduced(model, model.endpoint, server=server, home=home)
    return HostedEncoder(model, endpoint=model.endpoint, identity=identity, server=server)


def _record(model: EmbeddingModel, home: Path) -> Path:
    return home / f"hosted_{fingerprint(*_asked(model))[:NAME_LENGTH]}.json"


def _asked(model: EmbeddingModel) -> tuple[str | int | bool | None, ...]:
    """The settings that vectors depend on; where the server stands is not one."""
    return (
        model.backend,
        model.path,
        model.revision,
        model.query_prefix,
        model.passage_prefix,
        model.normalize,
        model.max_tokens,
        model.long_texts,
        model.endpoint.dimensions if model.endpoint else None,
    )


def _introduced(
    model: EmbeddingModel, endpoint: EmbeddingEndpoint, *, server: Server, home: Path
) -> HostedIdentity:
    try:
        served, [probe] = _ask(server, model, [PROBE], patience=Patience.of(endpoint))
    except ServerError as error:
        raise EncoderError(f"the model is not known yet, and {error}: start it") from error
    identity = HostedIdentity(
        model_id=fingerprint(*_asked(model), served, len(probe))[:ID_LENGTH],
        dimension=len(probe),
        served=served,
        probe=unit(probe[None])[0].tolist(),
        recorded_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    with suppress(OSError):  # a read-only state folder can still be searched
        write_atomically(_record(model, home), json.dumps(asdict(identity)))
    return identity


class HostedEncoder:
    """An embedding model behind a server: see `embedding.TextEncoder`."""

    def __init__(
        self,
        model: EmbeddingModel,
        *,
        endpoint: EmbeddingEndpoint,
        identity: HostedIdentity,
        server: Server,
    ) -> None:
        """Use `load_hosted` instead."""
        self.model_id = identity.model_id
        self.encoder_id = encoder_id(identity.model_id, PATH)
        self.dimension = identity.dimension
        self.max_tokens = model.max_tokens or 0
        self.part_tokens = PARTS_BATCHES * endpoint.requests_at_once * model.batch_tokens
        """How many tokens of texts to give to it at once."""
        self._model, self._endpoint = model, endpoint
        self._identity, self._server = identity, server
        self._known = KnownQueries[np.ndarray]()

    def confirm(self) -> None:
        """Make sure that the server still computes the model that was recorded.

        Raises:
            ServerError: It does not answer.
            EncoderError: It computes another model.
        """
        self._vectors([], patience=QUERY_PATIENCE)

    def embed_passages(self, texts: Sequence[str], /) -> Embedded:
        """Vectors of texts for the index.

        Raises:
            EncoderError: The server does not answer, or its model is another than that of the
                index.
        """
        try:
            return self._embedded(
                texts, prefix=self._model.passage_prefix, patience=Patience.of(self._endpoint)
            )
        except ServerError as error:
            raise EncoderError(f"texts cannot be embedded: {error}") from error

    def embed_queries(self, texts: Sequence[str], /) -> np.ndarray:
        """Vectors of queries, (texts, dimension) float32, L2 norm 1; each is computed once.

        Raises:
            EncoderError: The server does not answer in time, or refuses a query, or its model is
                another than that of the index.
        """
        known = self._known.embedded(texts, embed=lambda new: list(self._embed_queries(new)))
        return stacked(known, self.dimension)

    def forget(self) -> None:
        """Forget the vectors of queries, so that each is computed anew: for measuring speed."""
        self._known.forget()

    def _embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        try:
            embedded = self._embedded(
                texts, prefix=self._model.query_prefix, patience=QUERY_PATIENCE
            )
        except ServerError as error:
            raise EncoderError(
                f"the query cannot be embedded: {error}. Until it answers, search by "
                "words alone: --retriever bm25"
            ) from error
        for position, reason in embedded.failed.items():
            raise EncoderError(f"the query {texts[position]!r} cannot be embedded: {reason}")
        return embedded.vectors

    def _embedded(self, texts: Sequence[str], *, prefix: str, patience: Patience) -> Embedded:
        pieces = [
            piece
            for position, text in enumerate(texts)
            for piece in self._parts(_Piece(position, text), prefix=prefix)
        ]
        failed: dict[int, str] = {}
        done: list[_Piece] = []
        vectors: list[np.ndarray] = []
        for piece, result in self._results(pieces, prefix=prefix, patience=patience):
            if isinstance(result, str):
                failed[piece.text] = result
            elif _has_direction(result):
                done.append(piece)
                vectors.append(result)
            else:
                failed[piece.text] = f"{self._server.name} gives a vector without a direction"
        if failed:
            self.confirm()
        stacked = np.array(vectors, dtype=np.float32).reshape(len(vectors), self.dimension)
        means = pooled(unit(stacked), done, texts=len(texts))
        means[list(failed)] = 0
        windows = np.bincount([piece.text for piece in done], minlength=len(texts))
        return Embedded(
            vectors=means,
            windows=windows.astype(np.int32),
            failed=failed,
            tokens=sum(piece.tokens for piece in pieces),
        )

    def _parts(self, piece: "_Piece", *, prefix: str) -> list["_Piece"]:
        """The piece in as few parts as fit the window, by an estimate of their tokens."""
        room = max(1, self.max_tokens - _Piece(piece.text, prefix).tokens)
        parts = piece.parts(-(-piece.tokens // room))
        return parts[:1] if self._model.long_texts == "cut" else parts

    def _results(self, pieces: Sequence["_Piece"], *, prefix: str, patience: Patience) -> Results:
        """The pieces with their vectors, by several requests at a time."""
        batches = _batches(
            pieces,
            most_texts=self._endpoint.texts_at_once - 1,  # the probe is one more
            most_tokens=self._model.batch_tokens,
        )

        def answered(batch: Sequence[_Piece]) -> list[tuple[_Piece, np.ndarray | str]]:
            return list(_one_by_one(vectors, batch))

        def vectors(some: Sequence[_Piece]) -> np.ndarray:
            return self._vectors([prefix + piece.content for piece in some], patience=patience)

        at_once = self._endpoint.requests_at_once
        for results in asked_side_by_side(answered, list(batches), at_once=at_once):
            yield from results

    def _vectors(self, contents: Sequence[str], *, patience: Patience) -> np.ndarray:
        """The vectors of `contents`, (contents, dimension) float32, by the recorded model."""
        _, vectors = _ask(self._server, self._model, [PROBE, *contents], patience=patience)
        self._check(vectors[0])
        return vectors[1:]

    def _check(self, probe: np.ndarray) -> None:
        known = self._identity
        if len(probe) != known.dimension:
            moved = f"its vectors have {len(probe)} numbers, those of the index {known.dimension}"
        else:
            cosine = float(unit(probe[None])[0] @ np.array(known.probe, np.float32))
            if cosine >= LEAST_COSINE:
                return
            moved = (
                f"its vector of a fixed text has a cosine of {cosine:.4f} to the recorded one, and "
                f"at least {LEAST_COSINE} is needed"
            )
        raise EncoderError(
            f"{self._server.name} computes another model than on {known.recorded_at}: {moved}. Let "
            "it serve the former model again, or give models.<name>.revision another value, which "
            "embeds everything anew beside the index that answers"
        )


def _one_by_one(
    vectors: Callable[[Sequence["_Piece"]], np.ndarray], pieces: Sequence["_Piece"]
) -> Results:
    """The pieces with their vectors; what the server refuses fails alone, or in shorter pieces."""
    for some, result in bisected(vectors, pieces):
        if not isinstance(result, Exception):
            yield from zip(some, result, strict=True)
            continue
        [piece] = some
        if not isinstance(result, RefusedRequestError):
            raise result
        if result.is_too_long and len(piece.content) >= 2 * LEAST_CHARACTERS:
            yield from _one_by_one(vectors, piece.parts(2))
        else:
            yield piece, f"the text is refused: {result}"


def _batches(
    pieces: Sequence["_Piece"], *, most_texts: int, most_tokens: int
) -> Iterator[list["_Piece"]]:
    """Pieces by falling length, in batches of at most so many tokens."""
    batch: list[_Piece] = []
    tokens = 0
    for piece in sorted(pieces, key=lambda piece: piece.tokens, reverse=True):
        if batch and (len(batch) == most_texts or tokens + piece.tokens > most_tokens):
            yield batch
            batch, tokens = [], 0
        batch.append(piece)
        tokens += piece.tokens
    if batch:
        yield batch


def _ask(
    server: Server, model: EmbeddingModel, contents: Sequence[str], *, patience: Patience
) -> tuple[str, np.ndarray]:
    """What the server calls the model, and the vectors of `contents`, the probe first.

    Raises:
        ServerError: It does not answer, or its answer cannot be used.
    """
    body: dict[str, Json] = {
        "model": model.path,
        "input": list(contents),
        "encoding_format": "float",
    }
    if model.endpoint and model.endpoint.dimensions:
        body["dimensions"] = model.endpoint.dimensions
    try:
        answer = _EmbeddingsAnswer.model_validate(server.ask("embeddings", body, patience=patience))
        places = [
            place if item.index is None else item.index for place, item in enumerate(answer.data)
        ]
        if sorted(places) != list(range(len(contents))):
            raise ValueError(f"it holds {len(places)} vectors for {len(contents)} texts")
        vectors = [_numbers(item.embedding) for item in answer.data]
        ordered = [vectors[places.index(place)] for place in range(len(places))]
        if not _has_direction(ordered[0]):
            raise ValueError("that of the probe has no direction")
        return answer.model or model.path, np.stack(ordered)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]["msg"]
        raise ServerError(
            f"{server.name} gives an answer that is no embedding: {problem}"
        ) from None
    except RefusedRequestError:
        raise
    except ValueError as error:
        raise ServerError(f"{server.name} gives vectors that cannot be used: {error}") from error


def _numbers(embedding: list[float | None] | str) -> np.ndarray:
    if isinstance(embedding, str):
        return np.frombuffer(b64decode(embedding, validate=True), dtype="<f4")
    return np.array(embedding, dtype=np.float32)


def _has_direction(vector: np.ndarray) -> bool:
    return bool(np.isfinite(vector).all() and vector.any())


def _cut(text: str, count: int) -> Iterator[str]:
    """`text` in `count` parts of about equal length, cut after white space where there is some."""
    begin = 0
    for place in range(1, count):
        middle = len(text) * place // count
        blank = max(text.rfind(mark, begin + 1, middle) for mark in (" ", "\n", "\t"))
        end = blank + 1 if blank > (begin + middle) // 2 else middle
        if end > begin:
            yield text[begin:end]
            begin = end
    yield text[begin:]
