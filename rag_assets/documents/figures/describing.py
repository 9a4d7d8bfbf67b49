"""The language model is shown one figure after the other, and says what each of them shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import pyarrow as pa

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.config import DescribingModel
from rag_assets.models.hosted import asked_side_by_side
from rag_assets.models.language.calls import AttachedPicture, Completion, Message, Request
from rag_assets.models.language.client import LanguageModelClient
from rag_assets.store import Store, images

UNANSWERED_IN_A_ROW = 5
"""After so many figures without an answer, each with all its attempts, no other one is sent in this
pass."""
LOST = frozenset({"unavailable", "malformed"})
"""Outcomes of a call that a server did not answer, or answered with what is no answer."""
OF_INPUT = frozenset({"refused", "too_long"})
"""Outcomes of a call that another attempt would not change, though no model answered."""
LABEL = 80
"""People are told of a figure by at most so many characters of its words."""
NEXT = "tried again at the next refresh"

CONTENT = pa.schema(
    [field for field in schemas.DESCRIPTIONS if field.name not in schemas.SYSTEM_COLUMNS]
)


@dataclass(frozen=True, slots=True)
class PicturedFigure:
    """A picture, and its words in the document that shows it first."""

    image: str
    words: str
    sources: frozenset[str]
    """The source of the document; none if the manifest does not name it."""


class Describer:
    """Asks the model; gives up on a server that does not answer. Safe to share between threads."""

    def __init__(
        self, store: Store, model: DescribingModel, client: LanguageModelClient, *, retry: bool
    ) -> None:
        """Ask nothing yet; `retry` also asks again what was answered before, and is of no use."""
        self._store = store
        self._model = model
        self._client = client
        self._retry = retry
        self._unanswered = 0
        self._lock = Lock()

    def batch(self, figures: Sequence[PicturedFigure]) -> sync.Batch:
        """The descriptions of `figures`, and why others have none."""
        at_once = self._model.settings.concurrency
        answers = list(asked_side_by_side(self._described, figures, at_once=at_once))
        told = [
            (figure.image, answer.text.strip())
            for figure, answer in zip(figures, answers, strict=True)
            if answer.outcome == "done"
        ]
        rows = {
            "image": [image for image, _ in told],
            "model": [self._model.settings.model] * len(told),
            "description": [text for _, text in told],
        }
        return sync.Batch(
            pa.table(rows, schema=CONTENT),
            rows["image"],
            [
                _failure(figure, answer)
                for figure, answer in zip(figures, answers, strict=True)
                if answer.outcome != "done"
            ],
        )

    def _described(self, figure: PicturedFigure) -> Completion:
        if self._unanswered >= UNANSWERED_IN_A_ROW:
            reason = (
                f"not sent, since the language model {self._model.name} did not answer for "
                f"{UNANSWERED_IN_A_ROW} figures in a row"
            )
            return Completion("", None, "unavailable", reason)
        answer = self._client.complete(self._request(figure), retry=self._retry)
        if not answer.is_kept:
            with self._lock:
                is_lost = answer.outcome in LOST and not answer.is_answered
                self._unanswered = self._unanswered + 1 if is_lost else 0
        return answer

    def _request(self, figure: PicturedFigure) -> Request:
        words = f"\n\nIts words in the document: {figure.words}" if figure.words else ""
        picture = AttachedPicture(*images.picture(self._store, figure.image))
        message = Message("user", self._model.prompt + words, (picture,))
        return Request((message,), self._model.max_tokens, sources=figure.sources)


def _failure(figure: PicturedFigure, answer: Completion) -> sync.Failure:
    """Why a figure has no description: the model would say the same again, a server might not."""
    is_of_input = answer.is_answered or answer.outcome in OF_INPUT
    reason = answer.reason if is_of_input else f"{answer.reason}; {NEXT}"
    label = figure.words[:LABEL] or figure.image
    return sync.Failure(figure.image, reason, label, "input" if is_of_input else "environment")
