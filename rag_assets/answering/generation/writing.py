"""One answer of a language model to one question, from what is shown to it.

The answer is read sentence by sentence and checked. If some do not hold, the model is asked again
once, with the fault of each named; then what still fails is marked or left out. Whatever the server
or the model does ends in a `Written`: nothing is raised for it.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from rag_assets import identity
from rag_assets.answering.answer import Sentence
from rag_assets.answering.generation.numbered_units import NumberedUnits, numbered_units
from rag_assets.answering.generation.proving import ProvenSentence, prove
from rag_assets.answering.generation.reading import ABSENT, read_answer
from rag_assets.answering.row_cells import RowCells
from rag_assets.config import NOBODY, Config
from rag_assets.models.language.calls import Completion, Message, Request
from rag_assets.models.language.client import LanguageModelClient
from rag_assets.models.language.opening import open_language_model
from rag_assets.models.language.prompts import Prompt, read_prompt
from rag_assets.retrieval.hits import Hit

PACKAGE = "rag_assets.answering.generation"
REVISION = 2
"""Raise it when the same calls should give another answer."""
CHARACTERS_PER_TOKEN = 3
"""Fewer than texts with many numbers have: what is shown fits."""
LASTING = frozenset({"done", "too_long", "not_allowed"})
"""Outcomes that the same call has every time."""
SENTENCES = 4
"""Of an answer, that a model is asked for at most."""
LONGEST_FAULTS = 4_000
"""Characters of all faults that are named."""

Rules: TypeAlias = Literal["answer", "answer_without_rules"]
"""The prompt that an answer is written by; the second one is for comparison alone."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote, checked."""

    sentences: tuple[Sentence, ...]
    """Those that are delivered."""
    absent: tuple[str, ...] = ()
    """What it says that the sources leave open."""
    reason: str = ""
    """Why there is no sentence, in words."""
    left_out: tuple[Sentence, ...] = ()
    """Sentences that no source supports, where these are left out."""
    completions: tuple[Completion, ...] = ()
    """The calls behind it."""
    is_second: bool = False
    """Whether it is what the model wrote when it was asked again."""

    @property
    def is_written(self) -> bool:
        """Whether an answer of the model could be read."""
        return any(each.outcome == "done" for each in self.completions)

    @property
    def may_pass(self) -> bool:
        """Whether a call failed in a way that may pass: asked again, the answer may be another."""
        return any(not each.is_kept and each.outcome not in LASTING for each in self.completions)

    @property
    def unsupported(self) -> tuple[Sentence, ...]:
        """The sentences, delivered or left out, that are not supported in full."""
        return tuple(
            each for each in (*self.sentences, *self.left_out) if each.compared == "nothing"
        )


@dataclass(frozen=True, slots=True)
class _Draft:
    """What came of one call."""

    text: str
    proven: tuple[ProvenSentence, ...]
    absent: tuple[str, ...]

    @property
    def faults(self) -> str:
        """The sentences that do not hold, each with its fault."""
        lines = [
            f'- "{each.sentence.text}": {"; ".join(each.faults)}.'
            for each in self.proven
            if each.faults
        ]
        return "\n".join(lines)[:LONGEST_FAULTS]

    @property
    def failing(self) -> int:
        return sum(bool(each.faults) for each in self.proven)


@dataclass(frozen=True, slots=True)
class Writer:
    """A language model that writes answers."""

    model: LanguageModelClient
    sentences: int
    """That the model is asked for, at most."""
    unsupported: Literal["mark", "leave_out"]
    further_queries: int
    output_tokens: int
    """Longest answer."""
    rules: Rules = "answer"
    asks_again: bool = True
    """Whether the model is asked again for an answer with faults."""
    prompts: Mapping[str, Prompt] = field(default_factory=lambda: prompts_of("answer"))

    @property
    def sees_all(self) -> bool:
        """Whether text of every source may be sent to the model."""
        return self.model.settings.allowed_sources is None

    @property
    def fingerprint(self) -> str:
        """Of all that makes an answer to a question from the same units what it is."""
        return identity.fingerprint(
            REVISION,
            self.model.identity,
            self.sentences,
            self.unsupported,
            self.further_queries,
            self.output_tokens,
            self.model.settings.temperature,
            self.model.settings.seed,
            self.model.context_tokens,
            sorted(self.model.settings.allowed_sources or ["all"]),
            self.rules,
            self.asks_again,
            sorted(prompt.hash for prompt in self.prompts.values()),
        )

    def write(self, question: str, hits: Sequence[Hit], rows: Mapping[str, RowCells]) -> Written:
        """An answer to `question` from `hits`.

        Args:
            question: As it was asked, with what it takes from a conversation.
            hits: What was found, best first.
            rows: The cells of those that are rows, by their unit.
        """
        units = numbered_units(hits, rows, characters=self._room(question))
        if not units:
            reason = (
                "was not asked: no source fits beside the question into its "
                f"{self.model.context_tokens:,} tokens of context (context_tokens)"
            )
            return Written((), reason=self._said(reason))
        completions: list[Completion] = []
        while True:
            messages = self._messages(question, units)
            completions.append(self._ask(messages, units))
            if completions[-1].outcome != "too_long" or len(units) == 1:
                break
            units = units.first(len(units) // 2)
        first = completions[-1]
        if first.outcome != "done":
            reason = f"{self._said('gave no answer')}: {first.reason}"
            return Written((), reason=reason, completions=tuple(completions))
        draft, is_second = self._draft(first.text, units), False
        if draft.failing and self.asks_again:
            again = self._ask([*messages, *self._faults(draft)], units)
            completions.append(again)
            if again.outcome == "done":
                second = self._draft(again.text, units)
                if (second.proven or second.absent) and second.failing <= draft.failing:
                    draft, is_second = second, True
        return self._delivered(draft, tuple(completions), is_second=is_second)

    def _room(self, question: str) -> int:
        """Characters of what is shown: the answer, and the faults, have to fit besides."""
        tokens = self.model.context_tokens - 2 * self.output_tokens
        taken = len(self.prompts[self.rules].text) + len(question) + LONGEST_FAULTS // 4
        return max(0, tokens * CHARACTERS_PER_TOKEN - taken)

    def _messages(self, question: str, units: NumberedUnits) -> list[Message]:
        prompt = self.prompts[self.rules]
        values = {"fence": units.fence, "sentences": str(self.sentences)}
        if self.rules == "answer":
            values["absent"] = ABSENT
        shown = f"Sources:\n\n{units.as_text}\n\nQuestion: {question}"
        return [Message("system", prompt.filled(**values)), Message("user", shown)]

    def _faults(self, draft: _Draft) -> list[Message]:
        mend = self.prompts["mend"].filled(faults=draft.faults)
        return [Message("assistant", draft.text), Message("user", mend)]

    def _ask(self, messages: Sequence[Message], units: NumberedUnits) -> Completion:
        asked = Request(tuple(messages), self.output_tokens, sources=units.sources)
        return self.model.complete(asked)

    def _draft(self, text: str, units: NumberedUnits) -> _Draft:
        read = read_answer(text)
        return _Draft(text, tuple(prove(read.sentences, units)), read.absent)

    def _delivered(
        self, draft: _Draft, completions: tuple[Completion, ...], *, is_second: bool
    ) -> Written:
        sentences = [each.sentence for each in draft.proven]
        left_out: list[Sentence] = []
        if self.unsupported == "leave_out":
            left_out = [each for each in sentences if each.compared == "nothing"]
            sentences = [each for each in sentences if each.compared != "nothing"]
        written = Written(
            tuple(sentences), draft.absent, "", tuple(left_out), completions, is_second
        )
        return written if sentences else replace(written, reason=self._why_nothing(written))

    def _why_nothing(self, written: Written) -> str:
        if written.left_out:
            return self._said("wrote what no source supports")
        if written.absent:
            return self._said("found no answer in the sources that it was shown")
        return self._said("wrote no sentence")

    def _said(self, what: str) -> str:
        return f"the language model {self.model.name} {what}"


def prompts_of(rules: Rules) -> dict[str, Prompt]:
    """The prompts that answers are written by, with their names."""
    return {name: read_prompt(PACKAGE, name) for name in (rules, "mend")}


@contextmanager
def open_writer(config: Config, name: str | None = None) -> Generator[Writer | None]:
    """What writes answers by the config; None where they are quoted.

    Args:
        config: Its `answering` says who writes and how.
        name: Another entry of `language_models` that writes instead, or `NOBODY`.

    Raises:
        ConfigError: There is no entry of that name.
        MissingExtraError: It is the embedded model, and its extra is not installed.
    """
    chosen = writer_name(config, name)
    if chosen is None:
        yield None
        return
    with open_language_model(config, chosen) as model:
        yield writer_of(model, config)


def writer_name(config: Config, name: str | None = None) -> str | None:
    """The entry of `language_models` that writes answers; None where they are quoted.

    Args:
        config: Its `answering` names one.
        name: Another one that writes instead, or `NOBODY`.
    """
    chosen = name or config.answering.writer
    return None if chosen == NOBODY else chosen


def writer_of(model: LanguageModelClient, config: Config) -> Writer:
    """`model` as the config has it write answers."""
    settings = config.answering
    return Writer(
        model=model,
        sentences=SENTENCES,
        unsupported=settings.unsupported,
        further_queries=settings.further_queries,
        output_tokens=min(model.settings.output_tokens, model.context_tokens // 4),
    )
