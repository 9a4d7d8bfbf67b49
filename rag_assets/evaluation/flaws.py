"""Flaws of an evaluation: what makes its numbers say less than they seem to, each with a code.

Like the rules of a linter: a code that stays the same, a name, what is wrong here, examples and a
remedy. `doctor` finds them. The table of all rules in `docs/evaluation.md` is tested against RULES.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]

EXAMPLES_KEPT = 5
SOUND = "None of the flaws that are looked for was found."


@dataclass(frozen=True, slots=True)
class FlawRule:
    """One way in which an evaluation can mislead."""

    code: str
    """`E0` and two digits; a code is never used for another rule."""
    name: str
    about: str
    """What it finds, for a reader who has not seen it yet."""
    remedy: str
    severity: Severity = "warning"
    """`error`: no verdict may rest on such an evaluation; `note`: nothing is wrong with it, but it
    cannot answer what it is asked."""

    def found(self, what: str, *, examples: Iterable[str] = ()) -> "Flaw":
        """The flaw of this rule: `what` is a sentence with its numbers."""
        return Flaw(self.code, what, tuple(examples)[:EXAMPLES_KEPT])


@dataclass(frozen=True, slots=True)
class Flaw:
    """What a rule found in one evaluation; its fields are what the records of evaluations keep."""

    code: str
    what: str
    """What is wrong, as a sentence with numbers."""
    examples: tuple[str, ...] = ()
    """Questions, documents or arms, a few of them."""

    @property
    def rule(self) -> FlawRule:
        """The rule of its code."""
        return BY_CODE[self.code]

    @property
    def name(self) -> str:
        """The name of the rule."""
        return self.rule.name

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return self.rule.remedy

    @property
    def severity(self) -> Severity:
        """How much it counts."""
        return self.rule.severity

    @property
    def blocking(self) -> bool:
        """Whether no verdict may rest on the evaluation."""
        return self.severity == "error"

    @property
    def sentence(self) -> str:
        """The flaw in one line: code, name and what is wrong."""
        return f"{self.code} {self.name}: {self.what}"

    def record(self) -> dict[str, str | bool | list[str]]:
        """All that there is to say of it, for programs."""
        return {
            "code": self.code,
            "name": self.name,
            "what": self.what,
            "examples": list(self.examples),
            "remedy": self.remedy,
            "severity": self.severity,
            "blocking": self.blocking,
        }


ARM_RETURNED_NOTHING = FlawRule(
    "E001",
    "arm_returned_nothing",
    "A retriever returned nothing for more than 5 % of the questions.",
    "see why it finds nothing (its index, its filters, its model), then evaluate again: an arm "
    "that does not run is not an arm that is worse",
    "error",
)
UNLIKE_RUNS = FlawRule(
    "E002",
    "unlike_runs",
    "Runs that are compared answered other questions, or searched other documents and rows.",
    "bring the variants up to the same sources (`rag-assets refresh`, `rag-assets backfill`) and "
    "compare them again on the same questions",
    "error",
)
QUESTION_IN_INDEX = FlawRule(
    "E003",
    "question_in_index",
    "The text of more than 5 % of the questions lies in the index: at least 80 % of a question's "
    "runs of three words stand in one of the units that match its words best.",
    "take the question file out of the sources, or write the questions in words of your own",
    "error",
)
GOLD_NOT_IN_INDEX = FlawRule(
    "E004",
    "gold_not_in_index",
    "Gold of more than 5 % of the questions is not in the index: no retriever can find it.",
    "correct the evidence of these questions, or bring back what they name: it was renamed, left "
    "out or never parsed",
)
CEILING_REACHED = FlawRule(
    "E005",
    "ceiling_reached",
    "The reference finds at least 95 % and the room above it is smaller than what these questions "
    "can show.",
    "add harder questions, or compare at a smaller cutoff: this set cannot show that anything is "
    "better",
    "note",
)
ONE_SOURCE_DECIDES = FlawRule(
    "E006",
    "one_source_decides",
    "A difference rests on one document or table: without its questions it is not shown any more.",
    "look at the questions of that source, and add questions on others before you believe the "
    "difference",
    "error",
)
TIES_DECIDE = FlawRule(
    "E007",
    "ties_decide",
    "Equal scores decide the result: with its equal units in another order, a retriever would hit "
    "or miss the gold of more than 5 % of the questions. The order of equal units (by id, or as "
    "they were stored) says nothing about relevance.",
    "use scores that tell the units apart: another reranker, more candidates, another fusion",
    "error",
)
QUESTION_SETS_DISAGREE = FlawRule(
    "E008",
    "question_sets_disagree",
    "Two question sets put the retrievers in another order.",
    "report each set by itself, and decide by the one whose questions are like those of your users",
)
GENERATED_SHARE_WORDS = FlawRule(
    "E009",
    "generated_questions_share_words",
    "Generated questions have more words in common with their gold than questions of people.",
    "generate questions that use other words than the text, or weigh retrievers by the questions "
    "of people: word overlap favours lexical search",
)
CHOSEN_ON_TEST = FlawRule(
    "E010",
    "chosen_on_test",
    "Settings were chosen on the questions that they are reported on.",
    "give questions the splits dev and test, choose on dev and report on test; for settings that "
    "were chosen already, write new test questions",
)
TOO_FEW_QUESTIONS = FlawRule(
    "E011",
    "too_few_questions",
    "The smallest difference that these questions can show is above the margin.",
    "add questions, or set evaluation.margin to what matters to you if that is more",
    "note",
)
REPEATED_QUESTIONS = FlawRule(
    "E012",
    "repeated_questions",
    "More than 5 % of the questions repeat another one: they count twice, or stand in dev and in "
    "test.",
    "keep one of each, and put like questions into the same split",
)

RULES: Sequence[FlawRule] = (
    ARM_RETURNED_NOTHING,
    UNLIKE_RUNS,
    QUESTION_IN_INDEX,
    GOLD_NOT_IN_INDEX,
    CEILING_REACHED,
    ONE_SOURCE_DECIDES,
    TIES_DECIDE,
    QUESTION_SETS_DISAGREE,
    GENERATED_SHARE_WORDS,
    CHOSEN_ON_TEST,
    TOO_FEW_QUESTIONS,
    REPEATED_QUESTIONS,
)
"""All rules, by code."""

BY_CODE: Mapping[str, FlawRule] = {rule.code: rule for rule in RULES}


def flaw_rows(flaws: Iterable[Flaw]) -> Iterator[dict[str, str]]:
    """The rows of a table of flaws, for people."""
    for flaw in flaws:
        yield {
            "code": flaw.code,
            "severity": flaw.severity,
            "what is wrong": flaw.what,
            "examples": "; ".join(flaw.examples),
            "what to do": flaw.remedy,
        }
