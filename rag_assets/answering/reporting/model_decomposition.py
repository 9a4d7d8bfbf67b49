"""A prompt taken apart by a language model, and as it lists parts where that gives no answer."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pydantic import BaseModel

from rag_assets.answering.reporting.decomposition import (
    MOST_PARTS,
    Decomposer,
    Decomposition,
    SubQuestion,
    as_listed,
    request_text,
    titled,
)
from rag_assets.config import Config
from rag_assets.models.language.calls import LanguageModel, Message, Request
from rag_assets.models.language.opening import open_language_model
from rag_assets.models.language.prompts import read_prompt
from rag_assets.workers import Json

PACKAGE = "rag_assets.answering.reporting"
PROMPT = "decompose"
TOKENS = 600
"""The most tokens of the answer."""
LONGEST = 300
"""The most characters of a title or a question."""


class _ToldPart(BaseModel):
    title: str
    question: str


class _Told(BaseModel):
    topic: str
    parts: list[_ToldPart]


@dataclass(frozen=True, slots=True)
class ModelDecomposer:
    """Has a language model take prompts apart."""

    model: LanguageModel

    def __call__(self, prompt: str) -> Decomposition:
        """The sub-questions that the model names; those that it lists, with a note, if that fails.

        Raises:
            AbandonedError: Nobody waits for the task: see `workers.raise_if_abandoned`.
        """
        text = read_prompt(PACKAGE, PROMPT).filled(most=str(MOST_PARTS), prompt=prompt)
        request = Request((Message("user", text),), TOKENS, schema=_schema())
        completion = self.model.complete(request)
        if completion.outcome != "done":
            return self._as_listed(prompt, completion.reason or completion.outcome)
        told = _Told.model_validate(completion.parsed)
        parts = {
            each.question.strip(): SubQuestion(titled(each.title), each.question.strip())
            for each in told.parts
            if titled(each.title) and each.question.strip()
        }
        if not parts:
            return self._as_listed(prompt, "it names no sub-question")
        title = titled(told.topic) or titled(prompt)
        searched = " ".join(request_text(prompt).split())
        return Decomposition(searched, title, tuple(parts.values()), by="model")

    def _as_listed(self, prompt: str, reason: str) -> Decomposition:
        note = f"not taken apart by {self.model.name}, which gave no answer that can be used: "
        return replace(as_listed(prompt), note=f"{note}{reason}")


@contextmanager
def open_decomposer(config: Config) -> Generator[Decomposer]:
    """Whoever takes the prompts of reports apart, as the config says; the model is let go of."""
    if config.answering.report.decomposer == "rules":
        yield as_listed
        return
    with open_language_model(config) as model:
        yield ModelDecomposer(model)


def _schema() -> Mapping[str, Json]:
    """The JSON schema of the answer."""
    text: Mapping[str, Json] = {"type": "string", "maxLength": LONGEST}
    part: Mapping[str, Json] = {
        "type": "object",
        "properties": {"title": text, "question": text},
        "required": ["title", "question"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "topic": text,
            "parts": {"type": "array", "items": part, "minItems": 1, "maxItems": MOST_PARTS},
        },
        "required": ["topic", "parts"],
        "additionalProperties": False,
    }
