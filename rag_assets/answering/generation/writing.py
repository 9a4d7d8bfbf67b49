"""One answer of a language model to one question, from what is shown to it.

The answer is read sentence by sentence and checked. If some do not hold, the model is asked again
once, with the fault of each named; then what still fails is left out, or marked. A computation that
it asks for is made, and shown to it as one more source. Whatever the server or the model does ends
in a `Written`: nothing is raised for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from rag_assets import identity
from rag_assets.answering.checks.atoms import atoms_of
from rag_assets.answering.checks.judging import AskedJudge, SupportJudge
from rag_assets.answering.condensation.conversation import Turn, remembered
from rag_assets.answering.generation.from_tables import FromTables
from rag_assets.answering.generation.numbered_units import NumberedUnits, numbered_units
from rag_assets.answering.generation.proving import ProvenSentence, missing_in_all, prove
from rag_assets.answering.generation.reading import ABSENT, COMPUTE, read_answer, words_of
from rag_assets.citations.sentences import Sentence
from rag_assets.config import NOBODY, Config
from rag_assets.models.language.calls import Completion, Message, Request
from rag_assets.models.language.client import LanguageModelClient
from rag_assets.models.language.prompts import Prompt, read_prompt
from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.row_cells import RowCells

PACKAGE = "rag_assets.answering.generation"
REVISION = 3
"""Raise it when the same calls should give another answer."""
CHARACTERS_PER_TOKEN = 3
"""Fewer characters for a token than texts with many numbers have: what is shown fits."""
LASTING = frozenset({"done", "too_long", "not_allowed"})
"""Outcomes that the same call has every time."""
SENTENCES = 4
"""The most sentences that a model is asked for."""
LONGEST_FAULTS = 4_000
"""The most characters of all faults that are named."""
MOST_COMPUTATIONS = 2
"""The most computations that a model may ask for."""
REMEMBERED_TOKENS = 1_000
"""At most so many tokens of the conversation so far are shown."""

Rules: TypeAlias = Literal["answer", "answer_without_rules"]
"""The prompt that an answer is written by; the second one is for comparison alone."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote, checked."""

    sentences: tuple[Sentence, ...]
    """The sentences that are delivered."""
    absent: tuple[str, ...] = ()
    """What the answer says that the sources leave open."""
    reason: str = ""
    """Why there is no sentence, in words."""
    left_out: tuple[Sentence, ...] = ()
    """Sentences that do not hold, where these are left out."""
    invented: frozenset[str] = frozenset()
    """Numbers and names of sentences that do not hold, which nothing shown has: see `Atom.key`."""
    completions: tuple[Completion, ...] = ()
    """The calls behind it."""
    is_second: bool = False
    """Whether it is what the model wrote when it was asked again."""

    @property
    def is_written(self) -> bool:
        """Whether an answer of the model could be read."""
        return any(each.outcome == "done" for each in self.completions)

    @property
    def refusal(self) -> str:
        """What the model said instead of an answer, such as `I do not know`.

        Empty where there are sentences, also such as do not hold, or no text of the model.
        """
        if self.sentences or self.left_out or not self.completions:
            return ""
        last = self.completions[-1]
        return words_of(last.text) if last.outcome == "done" else ""

    @property
    def may_pass(self) -> bool:
        """Whether a call failed in a way that may pass: asked again, the answer may be another."""
        return any(not each.is_kept and each.outcome not in LASTING for each in self.completions)


@dataclass(frozen=True, slots=True)
class _Draft:
    """What came of one call."""

    text: str
    proven: tuple[ProvenSentence, ...]
    absent: tuple[str, ...]
    to_compute: str

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
class _Asked:
    """A question with all that is shown beside the units."""

    question: str
    said: tuple[Turn, ...]
    tables: FromTables | None
    results: tuple[tuple[Sentence, ...], ...] = ()
    notes: tuple[str, ...] = ()
    """What the model is told of the tables, and of computations that could not be made."""
    sources: frozenset[str] = frozenset()
    """Names of the sources whose text stands in that."""

    @property
    def tables_text(self) -> str:
        """What is told of the tables."""
        return "\n".join(self.notes)

    @property
    def conversation(self) -> str:
        """What was said before."""
        turns = (f"Question: {each.question}\nAnswer: {each.answer}" for each in self.said)
        return "\n\n".join(turns)

    def with_computed(self, asked: str) -> "_Asked":
        """This question with the result of a computation, or with why there is none."""
        assert self.tables is not None, "a computation was offered"
        found = self.tables.computed(asked)
        if isinstance(found, str):
            return replace(self, notes=(*self.notes, f"Not computed ({asked}): {found}"))
        return replace(self, results=(*self.results, found))


@dataclass(frozen=True, slots=True)
class Writer:
    """A language model that writes answers."""

    model: LanguageModelClient
    sentences: int
    """The most sentences that the model is asked for."""
    unsupported: Literal["mark", "leave_out"]
    further_queries: int
    output_tokens: int
    """The most tokens of an answer."""
    rules: Rules = "answer"
    asks_again: bool = True
    """Whether the model is asked again for an answer with faults."""
    judge: SupportJudge | None = None
    """Says of what is not proven by comparing whether it is supported."""
    judged_by: str = ""
    """The settings of the judge."""
    prompts: Mapping[str, Prompt] = field(default_factory=lambda: prompts_of("answer"))

    def by(self, rules: Rules) -> "Writer":
        """This writer, by other rules."""
        return replace(self, rules=rules, prompts=prompts_of(rules))

    def reading_since(self, purges: int) -> "Writer":
        """This writer, for texts that are read from now on: see `store.purges`."""
        model, judge = self.model.reading_since(purges), self.judge
        if isinstance(judge, AskedJudge):
            judge = judge.reading_since(purges)
        return replace(self, model=model, judge=judge)

    @property
    def sees_all(self) -> bool:
        """Whether text of every source may be sent to the model."""
        return self.model.settings.allowed_sources is None

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides an answer to a question from the same units."""
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
            self.judged_by,
            sorted(prompt.hash for prompt in self.prompts.values()),
        )

    def write(
        self,
        question: str,
        hits: Sequence[Hit],
        rows: Mapping[str, RowCells],
        *,
        tables: FromTables | None = None,
        said: Sequence[Turn] = (),
        invented: frozenset[str] = frozenset(),
    ) -> Written:
        """An answer to `question` from `hits`, and from what tables say.

        Args:
            question: As it was asked, with what it takes from a conversation.
            hits: What was found, best first.
            rows: The cells of those that are rows, by their unit.
            tables: The tables behind the question; None where none may be asked.
            said: The conversation so far.
            invented: What the model said before anything that it was shown had it: a sentence with
                one of these does not hold, whatever has it now.
        """
        asked = self._asked(question, tables, said)
        completions: list[Completion] = []
        for computed in range(MOST_COMPUTATIONS + 1):
            sent = self._sent(asked, hits, rows, completions)
            if isinstance(sent, str):
                return Written((), reason=self._said(sent), completions=tuple(completions))
            units, messages = sent
            draft, is_second = self._draft(completions[-1].text, units, invented), False
            if not draft.to_compute or not asked.notes or computed == MOST_COMPUTATIONS:
                break
            asked = asked.with_computed(draft.to_compute)
        if draft.failing and self.asks_again:
            completions.append(self._ask([*messages, *self._faults(draft)], units, asked))
            if completions[-1].outcome == "done":
                second = self._draft(completions[-1].text, units, invented)
                if (second.proven or second.absent) and second.failing <= draft.failing:
                    draft, is_second = second, True
        written = self._delivered(draft, units)
        return replace(written, completions=tuple(completions), is_second=is_second)

    def _sent(
        self,
        asked: _Asked,
        hits: Sequence[Hit],
        rows: Mapping[str, RowCells],
        completions: list[Completion],
    ) -> tuple[NumberedUnits, list[Message]] | str:
        """What was shown and sent, where the last of `completions` answers it; else why not.

        What the server finds too long is sent again with half of the units.
        """
        units = numbered_units(
            hits,
            rows,
            characters=self._room(asked),
            results=asked.results,
            beside=asked.tables_text + asked.conversation,
        )
        if not units.all:
            return (
                "was not asked: no source fits beside the question into its "
                f"{self.model.context_tokens:,} tokens of context (context_tokens)"
            )
        while True:
            messages = self._messages(asked, units)
            completions.append(self._ask(messages, units, asked))
            if completions[-1].outcome != "too_long" or len(units) <= 1:
                break
            units = units.first(len(units) // 2)
        if completions[-1].outcome != "done":
            return f"gave no answer: {completions[-1].reason}"
        return units, messages

    def _asked(self, question: str, tables: FromTables | None, said: Sequence[Turn]) -> _Asked:
        turns = tuple(
            each if self._may_see(each) else replace(each, answer="")
            for each in remembered(said, most_tokens=REMEMBERED_TOKENS)
        )
        if tables is None or self.rules != "answer":
            return _Asked(question, turns, None)
        results = (tables.results,) if tables.results else ()
        notes, sources = tables.described()
        return _Asked(question, turns, tables, results, notes, sources)

    def _may_see(self, turn: Turn) -> bool:
        return self.sees_all or (turn.sources is not None and self.model.may_see(turn.sources))

    def _room(self, asked: _Asked) -> int:
        """Characters of what is shown: the answer, and the faults, have to fit besides."""
        tokens = self.model.context_tokens - 2 * self.output_tokens
        beside = (
            self.prompts[self.rules].text,
            asked.question,
            asked.tables_text,
            asked.conversation,
        )
        taken = sum(map(len, beside)) + LONGEST_FAULTS // 4
        return max(0, tokens * CHARACTERS_PER_TOKEN - taken)

    def _messages(self, asked: _Asked, units: NumberedUnits) -> list[Message]:
        prompt = self.prompts[self.rules]
        values = {"fence": units.fence, "sentences": str(self.sentences)}
        if self.rules == "answer":
            values |= {"absent": ABSENT, "compute": COMPUTE}
        parts = [f"Sources:\n\n{units.as_text}"]
        beside = {"Tables": asked.tables_text, "The conversation so far": asked.conversation}
        for name, told in beside.items():
            if told:
                parts.append(f"{name}:\n<{units.fence}>\n{told}\n</{units.fence}>")
        shown = "\n\n".join([*parts, f"Question: {asked.question}"])
        return [Message("system", prompt.filled(**values)), Message("user", shown)]

    def _faults(self, draft: _Draft) -> list[Message]:
        mend = self.prompts["mend"].filled(faults=draft.faults)
        return [Message("assistant", draft.text), Message("user", mend)]

    def _ask(self, messages: Sequence[Message], units: NumberedUnits, asked: _Asked) -> Completion:
        sources = units.sources | asked.sources
        return self.model.complete(Request(tuple(messages), self.output_tokens, sources=sources))

    def _draft(self, text: str, units: NumberedUnits, invented: frozenset[str]) -> _Draft:
        read = read_answer(text)
        proven = (
            each.without_belief() if _says(each.sentence.text, invented) else each
            for each in prove(read.sentences, units, judge=self.judge)
        )
        return _Draft(text, tuple(proven), read.absent, read.to_compute)

    def _delivered(self, draft: _Draft, units: NumberedUnits) -> Written:
        failing = [each.sentence for each in draft.proven if not each.holds]
        keeps_all = self.unsupported == "mark"
        written = Written(
            sentences=tuple(each.sentence for each in draft.proven if each.holds or keeps_all),
            absent=draft.absent,
            left_out=() if keeps_all else tuple(failing),
            invented=frozenset(key for each in failing for key in missing_in_all(each.text, units)),
        )
        reason = "" if written.sentences else self._why_nothing(written)
        return replace(written, reason=reason)

    def _why_nothing(self, written: Written) -> str:
        if written.left_out:
            return self._said("wrote only what is not in the sources that it cites")
        if written.absent:
            return self._said("found no answer in the sources that it was shown")
        return self._said("wrote no sentence")

    def _said(self, what: str) -> str:
        return f"the language model {self.model.name} {what}"


def _says(sentence: str, keys: frozenset[str]) -> bool:
    return bool(keys) and any(atom.key in keys for atom in atoms_of(sentence))


def prompts_of(rules: Rules) -> dict[str, Prompt]:
    """The prompts that answers are written by, with their names."""
    return {name: read_prompt(PACKAGE, name) for name in (rules, "mend")}


def writer_name(config: Config, name: str | None = None) -> str | None:
    """The entry of `language_models` that writes answers; None where they are quoted.

    Args:
        config: Its `answering` names one.
        name: Another one that writes instead, or `NOBODY`.
    """
    chosen = name or config.answering.writer
    return None if chosen == NOBODY else chosen


def writer_of(
    model: LanguageModelClient, config: Config, *, judge: SupportJudge | None = None
) -> Writer:
    """`model` as the config has it write answers, with the judge that it names."""
    settings = config.answering
    return Writer(
        model=model,
        sentences=SENTENCES,
        unsupported=settings.unsupported,
        further_queries=settings.further_queries,
        judge=judge,
        judged_by=settings.judge.model_dump_json() if settings.judge else "",
        output_tokens=min(model.settings.output_tokens, model.context_tokens // 4),
    )
