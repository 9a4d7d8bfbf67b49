"""Flaws of an evaluation: what makes its numbers say less than they seem to, each with a code.

Like the rules of a linter: a code that stays the same, a name, what is wrong here, examples and a
remedy. The kinds of findings whose code begins with `E` are the rules, `doctor` finds the flaws.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from rag_assets.findings.finding import Finding, FindingKind, kinds

EXAMPLES_KEPT = 5
SOUND = "None of the flaws that are looked for was found."


@dataclass(frozen=True, slots=True)
class Flaw:
    """What a rule found in one evaluation; its fields are what the records of evaluations keep."""

    code: str
    what: str
    """What is wrong, as a sentence with numbers."""
    examples: tuple[str, ...] = ()
    """Questions, documents or arms, a few of them."""

    @property
    def rule(self) -> FindingKind:
        """The kind of its code."""
        return rules()[self.code]

    @property
    def finding(self) -> Finding:
        """It as a finding like any other."""
        return Finding(self.rule.name, self.rule.name, reason=self.what, examples=self.examples)

    @property
    def blocking(self) -> bool:
        """Whether no verdict may rest on the evaluation."""
        return self.rule.severity == "error"

    @property
    def sentence(self) -> str:
        """The flaw in one line: code, name and what is wrong."""
        return f"{self.code} {self.rule.name}: {self.what}"


def found(name: str, what: str, *, examples: Iterable[str] = ()) -> Flaw:
    """The flaw of the rule of that name: `what` is a sentence with its numbers."""
    return Flaw(kinds()[name].code, what, tuple(examples)[:EXAMPLES_KEPT])


@cache
def rules() -> Mapping[str, FindingKind]:
    """All rules, by code."""
    return {kind.code: kind for kind in kinds().values() if kind.code.startswith("E")}
