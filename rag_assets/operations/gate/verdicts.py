"""Verdicts: whether an index may take the place of the one that serves, and why.

A verdict is plain data. `gate.judge` makes it, the serving pointer records it, and `gate_wording`
says it to people. It rests on two complete sets, the questions, what searches them, and the judge's
own settings; once one of these is another, or `gate.max_age` days have passed, it is stale, and a
stale verdict allows nothing.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Self

from pydantic import TypeAdapter

from rag_assets.evaluation.non_inferiority import Outcome, PairedDifference
from rag_assets.operations.gate.slices import SliceDifference, SliceStatus
from rag_assets.reports.text_tables import cut

SHORTENED_TO = 100
"""A verdict keeps at most so many characters of a question."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What was held against what."""

    serving: str | None
    """The variant that served; None if nothing did."""
    candidate: str
    """The variant that is to serve."""
    serving_retriever: str | None
    retriever: str
    """The retriever of the candidate."""
    metric: str
    """The metric, such as `hit_rate@10`."""


@dataclass(frozen=True, slots=True)
class NamedQuestion:
    """A question that a verdict names."""

    question_id: str
    text: str
    """The question, shortened."""
    reason: str
    """What became of it, one sentence."""
    found_now: str = ""
    """What stands at the place of its gold now, where that can be told."""


@dataclass(frozen=True, slots=True)
class BeforeAndNow:
    """A metric of what served and of the candidate, on the same questions."""

    metric: str
    """The metric, such as `hit_rate@1`."""
    serving: float
    candidate: float
    difference: PairedDifference


@dataclass(frozen=True, slots=True)
class KnownItems:
    """How well both find units by a sentence or some values of their own."""

    queries: int
    serving: float
    """The share of the queries that find their unit among the first ones in what serves."""
    candidate: float
    unchanged: int
    """Queries whose unit has the same text on both sides."""
    moved: int
    """Queries among the unchanged whose first hit is another one."""
    by_words: bool = False
    """Whether what served was asked by words alone, as its model was gone."""
    seen: int = 10
    """So many first hits count."""


@dataclass(frozen=True, slots=True)
class DenseAlone:
    """What dense search by itself finds with another model, whatever the retriever makes of it."""

    status: SliceStatus
    """Whether a loss is shown, or looked like; `fine` where there were no questions."""
    measured: tuple[BeforeAndNow, ...] = ()
    """The metrics of both sides; empty if no questions were asked."""
    lost: tuple[NamedQuestion, ...] = ()
    """Questions that it finds no more, or further down."""
    known_items: KnownItems | None = None
    unasked: str = ""
    """Why it could not be asked, if it was not."""
    is_accepted: bool = False
    """Whether it serves as a person accepted that it finds less."""

    @property
    def is_worse(self) -> bool:
        """Whether the questions show a loss, or let it look like one."""
        return self.status in ("is worse", "looks worse")


@dataclass(frozen=True, slots=True)
class Basis:
    """Fingerprints of all that a verdict rests on."""

    serving: str
    """The fingerprint of the complete set that served; empty if there was none."""
    candidate: str
    questions: str
    retriever: str
    """The fingerprint of what searches on both sides, with its settings."""
    judge: str
    """The fingerprint of the rules of the gate and their settings."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """May the candidate take the place of what serves?"""

    outcome: Outcome
    reasons: tuple[str, ...]
    """Sentences, the most important first."""
    compared: Compared
    basis: Basis
    judged_at: str
    """The time of the verdict: ISO 8601, UTC."""
    remedy: str = ""
    """What to do, where it is no PASS."""
    margin: float | None = None
    """A loss up to this size is accepted."""
    difference: PairedDifference | None = None
    """The difference on all questions; None if none were asked."""
    slices: tuple[SliceDifference, ...] = ()
    lost: tuple[NamedQuestion, ...] = ()
    """Questions on which the candidate is worse."""
    left_out: tuple[NamedQuestion, ...] = ()
    """Questions whose gold is gone or changed at the source: nobody is judged by them."""
    superseded: tuple[NamedQuestion, ...] = ()
    """Questions whose gold lies in a document that a newer version has replaced."""
    more_questions: int | None = None
    """About how many more questions like these would tell; None: no number, or none is needed."""
    known_items: KnownItems | None = None
    measured: tuple[BeforeAndNow, ...] = ()
    """What serves, by several metrics; empty if no questions were asked."""
    dense: DenseAlone | None = None
    """What dense search alone finds; None where both have the same model, or no retriever asks it
    beside something else."""

    @property
    def allows(self) -> bool:
        """Whether the candidate may serve."""
        return self.outcome == "PASS"

    @property
    def words(self) -> str:
        """The outcome as it is told: a PASS that no question stands behind says so itself."""
        is_known_items_only = self.allows and self.difference is None and self.known_items
        return f"{self.outcome} on known items only" if is_known_items_only else self.outcome

    def to_json(self) -> dict[str, object]:
        """Plain data for `json.dumps`, which `from_json` reads again."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, object]) -> Self:
        """The verdict that `to_json` wrote.

        Raises:
            ValueError: It is none.
        """
        return TypeAdapter(cls).validate_python(dict(record))

    def stale_because(self, now: Basis, *, at: datetime, max_age: timedelta) -> str | None:
        """Why it allows nothing any more; None if it still holds.

        Args:
            now: What a verdict would rest on now.
            at: The time now, with its zone.
            max_age: How long a verdict holds: `gate.max_age`.
        """
        for name, what in _PARTS.items():
            if getattr(self.basis, name) != getattr(now, name):
                return f"{what} changed since it was judged"
        age = at - datetime.fromisoformat(self.judged_at)
        if age > max_age:
            return f"it was judged {age.days} days ago, and holds for {max_age.days}"
        return None


_PARTS: Mapping[str, str] = {
    "serving": "the index that serves",
    "candidate": "the index of the candidate",
    "questions": "the questions",
    "retriever": "what searches, or its settings,",
    "judge": "the settings of the gate",
}
assert set(_PARTS) == {field.name for field in fields(Basis)}


def shortened(text: str) -> str:
    """`text` on one line, cut to what a verdict keeps of a question."""
    return cut(" ".join(text.split()), SHORTENED_TO)


def utc_now() -> str:
    """The time now, as `judged_at` has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
