"""A reranker behind a server that speaks the `/rerank` of Cohere, Jina, vLLM, Infinity or TEI.

All of them take a query and its texts, and give each text's place with a score. Most call the texts
`documents` and answer with `results`; TEI calls them `texts` and answers with a plain list. Which
it is, is found out by asking.

Kept scores are of use only as long as they come from one model. So a few fixed pairs, the *probe*,
are scored when the reranker is loaded; where their scores moved, it is another reranker, and the
scores that were kept under the former one are not used.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import numpy as np
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from rag_assets.config import Endpoint, RerankerSettings
from rag_assets.identity import fingerprint
from rag_assets.models.hosted import (
    QUERY_PATIENCE,
    Patience,
    RefusedRequestError,
    Server,
    ServerError,
    asked_side_by_side,
)
from rag_assets.models.weights import ID_LENGTH
from rag_assets.models.windows import bisected
from rag_assets.store.atomic import write_atomically

if TYPE_CHECKING:
    from rag_assets.workers import Json

Texts: TypeAlias = Literal["documents", "texts"]
"""What a server calls the texts."""

PROBE_QUERY = "How strong is 316L steel?"
PROBE_TEXTS = (
    "The yield strength of 316L stainless steel is 205 MPa at room temperature.",
    "Trucks leave the factory with a full tank of diesel.",
    "Steel is an alloy of iron and carbon.",
)
MOST_MOVED = 0.01
"""Between two scores of one pair by the same model: machines and precisions differ less."""
LEAST_CHARACTERS = 64
NAME_LENGTH = 12


class _Score(BaseModel):
    index: int
    score: float = Field(validation_alias="relevance_score")


class _PlainScore(BaseModel):
    index: int
    score: float


class _Results(BaseModel):
    results: list[_Score]


_ANSWER: TypeAdapter[_Results | list[_PlainScore]] = TypeAdapter(_Results | list[_PlainScore])


@dataclass(frozen=True, slots=True)
class _Seen:
    """The scores of the probe, and the identity that stands for them."""

    reranker_id: str
    probe: Sequence[float]

    @classmethod
    def read(cls, file: Path) -> Self | None:
        try:
            return cls(**json.loads(file.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None


def identity_now(settings: RerankerSettings, *, endpoint: Endpoint, home: Path) -> str | None:
    """The identity of the model that the server computes now.

    Where it does not answer, that which it had last; None if it was never known.
    """
    try:
        reranker = HostedReranker(settings, endpoint=endpoint, home=home, patience=QUERY_PATIENCE)
    except ServerError:
        seen = _Seen.read(_record(settings, home))
        return seen.reranker_id if seen else None
    return reranker.reranker_id


def _asked(settings: RerankerSettings) -> tuple[str | None, ...]:
    """The settings that name a model; where its server stands is not one."""
    return settings.backend, settings.path, settings.revision


def _record(settings: RerankerSettings, home: Path) -> Path:
    return home / f"hosted_reranker_{fingerprint(*_asked(settings))[:NAME_LENGTH]}.json"


class HostedReranker:
    """A reranker behind a server: see `rerankers.Reranker`."""

    def __init__(
        self,
        settings: RerankerSettings,
        *,
        endpoint: Endpoint,
        home: Path,
        patience: Patience | None = None,
    ) -> None:
        """Score the probe; with the `patience` of the endpoint unless another is given.

        Raises:
            ServerError: The server does not answer, or not with scores from 0 to 1.
        """
        self._settings, self._endpoint = settings, endpoint
        self._server = Server.of(endpoint, model=settings.path)
        self._patience = patience or Patience.of(endpoint)
        self._texts: Texts = "documents"
        probe = self._probe()
        self.reranker_id = self._identified(probe, home=home)

    def score(self, pairs: Sequence[tuple[str, str]], /) -> np.ndarray:
        """Relevance of each pair's text to its query, (pairs,) float64 in [0, 1].

        Raises:
            ServerError: The server does not answer, or not with scores from 0 to 1.
        """

        def answered(places: Sequence[int]) -> np.ndarray:
            return self._answered(pairs[places[0]][0], [pairs[place][1] for place in places])

        scores = np.zeros(len(pairs))
        batches = self._batches(pairs)
        found = asked_side_by_side(answered, batches, at_once=self._endpoint.requests_at_once)
        for places, part in zip(batches, found, strict=True):
            scores[places] = part
        return scores

    def _batches(self, pairs: Sequence[tuple[str, str]]) -> list[list[int]]:
        """Places of pairs with the same query, texts of similar length together."""
        places: dict[str, list[int]] = {}
        for place, (query, _) in enumerate(pairs):
            places.setdefault(query, []).append(place)
        most = self._endpoint.texts_at_once
        return [
            ordered[start : start + most]
            for same in places.values()
            for ordered in [sorted(same, key=lambda place: len(pairs[place][1]))]
            for start in range(0, len(ordered), most)
        ]

    def _answered(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """Scores of the texts; one that is too long is cut until the server takes it."""
        scores: list[float] = []
        for some, result in bisected(lambda part: self._asked(query, part), texts):
            if not isinstance(result, Exception):
                scores += np.asarray(result).tolist()
                continue
            [text] = some
            if not isinstance(result, RefusedRequestError):
                raise result
            if not result.is_too_long or len(text) < 2 * LEAST_CHARACTERS:
                raise ServerError(f"a text is refused: {result}") from result
            scores += self._answered(query, [text[: len(text) // 2]]).tolist()
        return np.array(scores)

    def _asked(self, query: str, texts: Sequence[str]) -> np.ndarray:
        body: dict[str, Json] = {
            "model": self._settings.path,
            "query": query,
            self._texts: list(texts),
        }
        if self._texts == "documents":
            body |= {"top_n": len(texts), "return_documents": False}
        try:
            answer = _ANSWER.validate_python(
                self._server.ask("rerank", body, patience=self._patience)
            )
        except ValidationError as error:
            [problem, *_] = error.errors(include_url=False, include_input=False)
            name = self._server.name
            raise ServerError(f"{name} answers with no scores: {problem['msg']}") from None
        return self._in_order(
            answer.results if isinstance(answer, _Results) else answer, texts=len(texts)
        )

    def _in_order(self, found: Sequence[_Score | _PlainScore], *, texts: int) -> np.ndarray:
        name = self._server.name
        scores = {one.index: one.score for one in found}
        if sorted(scores) != list(range(texts)) or len(found) != texts:
            raise ServerError(f"{name} gives {len(found)} scores for {texts} texts")
        ordered = np.array([scores[place] for place in range(texts)])
        if not ((ordered >= 0) & (ordered <= 1)).all():
            raise ServerError(
                f"{name} gives scores outside 0 and 1 (such as {ordered.min():.3g}): let it pass "
                "them through a sigmoid"
            )
        return ordered

    def _probe(self) -> np.ndarray:
        try:
            return self._asked(PROBE_QUERY, PROBE_TEXTS)
        except RefusedRequestError:
            self._texts = "texts"
            return self._asked(PROBE_QUERY, PROBE_TEXTS)

    def _identified(self, probe: np.ndarray, *, home: Path) -> str:
        """The identity of the model that gave `probe`: the recorded one, if it gave the same."""
        asked, file = _asked(self._settings), _record(self._settings, home)
        seen = _Seen.read(file)
        if seen and np.abs(probe - np.array(seen.probe)).max() <= MOST_MOVED:
            return seen.reranker_id
        scores = probe.tolist()
        new = _Seen(fingerprint(*asked, scores)[:ID_LENGTH], scores)
        with suppress(OSError):  # a read-only state folder can still be searched
            write_atomically(file, json.dumps(asdict(new)))
        return new.reranker_id
