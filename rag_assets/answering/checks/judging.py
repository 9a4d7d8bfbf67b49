"""Judges: models that say whether sources support a sentence, where comparing cannot.

A cross-encoder or an NLI model in a folder scores the pair of source and sentence; an entry of
`language_models` is asked. The config names one (`answering.judge`); how far it can be trusted,
`rag-assets judge agreement` says by the labels of people.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rag_assets.citations.cited_sources import Source, text_of
from rag_assets.config import Config
from rag_assets.models.language.calls import LanguageModel, Message, Request
from rag_assets.models.language.prompts import read_prompt
from rag_assets.process.errors import ExplainedError

if TYPE_CHECKING:
    import numpy as np

PACKAGE, PROMPT = "rag_assets.answering.checks", "judge"
OUTPUT_TOKENS = 100
SCHEMA = {
    "type": "object",
    "properties": {"supported": {"type": "boolean"}},
    "required": ["supported"],
    "additionalProperties": False,
}


class JudgeError(ExplainedError):
    """A folder holds no model that can judge; the message says what it has to hold."""


class SupportJudge(Protocol):
    """Says whether sources support a sentence."""

    def judge(self, sentence: str, sources: Sequence[Source], /) -> bool | None:
        """Whether all of `sources` together say `sentence`; None where it gave no answer."""
        ...


@dataclass(frozen=True, slots=True)
class AskedJudge:
    """A language model as the judge."""

    model: LanguageModel
    every_source: frozenset[str]
    """Names of all sources: of a text whose source is not known, it may be any of them."""

    def reading_since(self, purges: int) -> "AskedJudge":
        """This judge, for texts that are read from now on: see `store.purges`."""
        return replace(self, model=self.model.reading_since(purges))

    def judge(self, sentence: str, sources: Sequence[Source], /) -> bool | None:
        """See `SupportJudge`; a text of a source that the model may not see is not judged."""
        text = "\n\n".join(map(text_of, sources))
        origins = [{each.origin} if each.origin else self.every_source for each in sources]
        completion = self.model.complete(
            Request(
                (
                    Message("system", read_prompt(PACKAGE, PROMPT).text),
                    Message("user", f"Source:\n\n{text}\n\nSentence: {sentence}"),
                ),
                max_tokens=OUTPUT_TOKENS,
                schema=SCHEMA,
                sources=frozenset().union(*origins),
            )
        )
        found = completion.parsed
        if completion.outcome != "done" or not isinstance(found, dict):
            return None
        return found["supported"] is True


@dataclass(frozen=True, slots=True)
class ScoringJudge:
    """A model in a folder as the judge: it scores a source and a sentence from 0 to 1."""

    scores: Callable[[Sequence[tuple[str, str]]], "np.ndarray"]
    threshold: float

    def judge(self, sentence: str, sources: Sequence[Source], /) -> bool | None:
        """See `SupportJudge`."""
        score = self.score(sentence, sources)
        return None if score is None else score >= self.threshold

    def score(self, sentence: str, sources: Sequence[Source]) -> float | None:
        """How much it is supported; one source may say it alone, or all of them together."""
        texts = [text_of(each) for each in sources]
        whole = ["\n\n".join(texts)] if len(texts) > 1 else []
        pairs = [(text, sentence) for text in (*texts, *whole)]
        return float(self.scores(pairs).max()) if pairs else None


@contextmanager
def open_judge(config: Config) -> Generator[SupportJudge | None]:
    """The judge that `answering.judge` names; None where it names none.

    Raises:
        JudgeError: Its folder holds no model that judges.
        ConfigError: The config has no such language model.
    """
    from rag_assets.models.language.opening import open_language_model

    settings = config.answering.judge
    if settings is None:
        yield None
    elif settings.path is not None:
        yield ScoringJudge(_scorer(settings.path), settings.threshold)
    else:
        with open_language_model(config, settings.model) as model:
            yield AskedJudge(model, frozenset(config.source_names))


@cache
def _scorer(folder: Path) -> Callable[[Sequence[tuple[str, str]]], "np.ndarray"]:
    """Scores pairs of source and sentence by the model in `folder`.

    Of an NLI model the score is the probability of entailment; of a cross-encoder with one output
    it is that output, through a sigmoid.
    """
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = AutoModelForSequenceClassification.from_pretrained(
            folder,
            local_files_only=True,
            dtype=torch.float32,  # a file in half precision would be computed so by a processor
        )
    except (OSError, ValueError) as error:
        raise JudgeError(f"answering.judge.path: {folder} holds no model: {error}") from error
    if tokenizer is None:
        raise JudgeError(f"answering.judge.path: {folder} holds no tokenizer")
    labels = model.config.id2label
    names = [str(labels[place]).casefold() for place in range(model.config.num_labels)]
    entails = next((place for place, name in enumerate(names) if name.startswith("entail")), None)
    if entails is None and len(names) != 1:
        raise JudgeError(
            f"answering.judge.path: the model in {folder} has the labels {', '.join(names)}: "
            "it needs a single one, or one called entailment"
        )
    model.eval()

    def scores(pairs: Sequence[tuple[str, str]]) -> "np.ndarray":
        texts, sentences = zip(*pairs, strict=True)
        read = tokenizer(
            list(texts), list(sentences), truncation="only_first", padding=True, return_tensors="pt"
        )
        with torch.inference_mode():
            logits = model(**read).logits.float()
        if entails is None:
            return torch.sigmoid(logits[:, 0]).numpy()
        return torch.softmax(logits, dim=1)[:, entails].numpy()

    return scores
