"""A prompt taken apart by a language model, and by the rules where its answer cannot be used."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import BaseModel

from rag_assets.answering.reporting.decomposition import (
    MOST_PARTS,
    Decomposition,
    SubQuestion,
    decomposed,
    titled,
)
from rag_assets.answering.reporting.prompt_text import request_text
from rag_assets.answering.reporting.request_reading import without_form
from rag_assets.models.language.calls import LanguageModel, Message, Request
from rag_assets.models.language.prompts import read_prompt
from rag_assets.workers import Json

PACKAGE = "rag_assets.answering.reporting"
PROMPT = "decompose"
TOKENS = 600
"""Of the answer, at most."""
LONGEST = 300
"""Characters of a title or a question, at most."""


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
    most: int = MOST_PARTS
    """Sub-questions, at most."""

    def __call__(self, prompt: str) -> Decomposition:
        """The sub-questions that the model names; those of the rules with a note if it fails.

        Raises:
            AbandonedError: Nobody waits for the task: see `workers.raise_if_abandoned`.
        """
        text = read_prompt(PACKAGE, PROMPT).filled(most=str(self.most), prompt=prompt)
        request = Request((Message("user", text),), TOKENS, schema=_schema(self.most))
        completion = self.model.complete(request)
        if completion.outcome != "done":
            return self._by_rules(prompt, completion.reason or completion.outcome)
        told = _Told.model_validate(completion.parsed)
        parts = {
            each.question.strip(): SubQuestion(titled(each.title), each.question.strip())
            for each in told.parts
            if titled(each.title) and each.question.strip()
        }
        if not parts:
            return self._by_rules(prompt, "it names no sub-question")
        title = titled(told.topic) or titled(prompt)
        searched = without_form(request_text(prompt))
        return Decomposition(searched, title, tuple(parts.values()), by="model")

    def _by_rules(self, prompt: str, reason: str) -> Decomposition:
        note = f"taken apart by rules, as {self.model.name} gave no answer that can be used: "
        return replace(decomposed(prompt, most=self.most), note=f"{note}{reason}")


def _schema(most: int) -> Mapping[str, Json]:
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
            "parts": {"type": "array", "items": part, "minItems": 1, "maxItems": most},
        },
        "required": ["topic", "parts"],
        "additionalProperties": False,
    }
