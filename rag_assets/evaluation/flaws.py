"""Flaws of an evaluation: what makes its numbers say less than they seem to, each with a code.

Like the rules of a linter: a code that stays the same, a name, what is wrong here, examples and a
remedy. `flaws.yaml` lists the rules, `doctor` finds the flaws. The table of all rules in
`docs/evaluation.md` is tested against RULES.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import TypeAdapter

from rag_assets.config.base import read_data

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
    """What the rule finds, for a reader who has not seen it yet."""
    remedy: str
    severity: Severity
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


RULES = TypeAdapter(list[FlawRule]).validate_python(read_data(Path(__file__).with_suffix(".yaml")))
"""All rules, by code."""
BY_CODE: Mapping[str, FlawRule] = {rule.code: rule for rule in RULES}
BY_NAME: Mapping[str, FlawRule] = {rule.name: rule for rule in RULES}


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
