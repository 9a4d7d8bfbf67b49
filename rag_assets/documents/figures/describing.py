"""The language model is shown one figure after the other, and says what each of them shows."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.config import DescribingModel
from rag_assets.models.hosted import asked_side_by_side
from rag_assets.models.language.calls import AttachedPicture, Completion, Message, Request
from rag_assets.models.language.many_asked import ManyAsked, blame_of
from rag_assets.store import Store, images

LABEL = 80
"""People are told of a figure by at most so many characters of its words."""

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


@dataclass(frozen=True, slots=True)
class Describer:
    """Asks the model; safe to share between threads."""

    store: Store
    model: DescribingModel
    asked: ManyAsked

    def batch(self, figures: Sequence[PicturedFigure]) -> sync.Batch:
        """The descriptions of `figures`, and why others have none."""
        at_once = self.model.settings.concurrency
        answers = list(asked_side_by_side(self._described, figures, at_once=at_once))
        told = [
            (figure.image, answer.text.strip())
            for figure, answer in zip(figures, answers, strict=True)
            if answer.outcome == "done"
        ]
        rows = {
            "image": [image for image, _ in told],
            "model": [self.model.settings.model] * len(told),
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
        words = f"\n\nIts words in the document: {figure.words}" if figure.words else ""
        picture = AttachedPicture(*images.picture(self.store, figure.image))
        message = Message("user", self.model.prompt + words, (picture,))
        request = Request((message,), self.model.max_tokens, sources=figure.sources)
        return self.asked.complete(request)


def _failure(figure: PicturedFigure, answer: Completion) -> sync.Failure:
    """Why a figure has no description: the model would say the same again, a server might not."""
    is_of_input, reason = blame_of(answer)
    label = figure.words[:LABEL] or figure.image
    return sync.Failure(figure.image, reason, label, "input" if is_of_input else "environment")
