"""The design of an experiment: what it compares, and the layout of its report.

Arms differ in their *factors* (serializer, top_k, method ...). Tables and figures are pivots over
factors, as in the papers. `questions` (the groups of questions) and `metric` can be used like
factors.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rag_assets.config import Retriever
from rag_assets.evaluation.experiment_runs import TOP_N
from rag_assets.evaluation.projection import Level
from rag_assets.evaluation.questions import Question
from rag_assets.process.errors import ExplainedError
from rag_assets.retrieval.filters import Filters

Factor: TypeAlias = str | int | float
"""What tells arms apart: the value of a setting."""
Measure: TypeAlias = tuple[str, int]
"""A metric and its cutoff."""

QUESTIONS = "questions"
METRIC = "metric"
CUTOFFS = (1, 3, 5, 10)
DEEP_CUTOFFS = (*CUTOFFS, 20, 30)
"""All that arms are scored at; P1 shows how often retrieval succeeds within 20 and 30."""

MEASURES: Mapping[str, Mapping[str, Measure]] = {
    "hit_and_mrr": {"Hit rate": ("hit_rate", TOP_N), "MRR": ("mrr", TOP_N)},
    "all_five": {
        "Hit rate": ("hit_rate", TOP_N),
        "F1": ("f1_of_means", TOP_N),
        "Precision": ("precision", TOP_N),
        "Recall": ("recall", TOP_N),
        "MRR": ("mrr", TOP_N),
    },
    "maps": {
        "MAP@1": ("map", 1),
        "MAP@5": ("map", 5),
        "MAP@10": ("map", 10),
        "Success@5": ("hit_rate", 5),
    },
    "successes": {f"Success@{k}": ("hit_rate", k) for k in (10, 20, 30)},
    "tops": {"Top-1": ("hit_rate", 1), "Top-3": ("hit_rate", 3), "Hit@10": ("hit_rate", 10)},
}
"""What tables and figures of several designs show, by name.

F1 as the thesis computed it: of mean precision and mean recall."""


class ExperimentError(ExplainedError):
    """An experiment cannot be run; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentArm:
    """One way to search, which is compared with others."""

    name: str
    variant: str
    retriever: Retriever
    factors: Mapping[str, Factor]
    filters: Filters | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    """What is searched instead of the text of a question, by its id."""
    group: str = ""
    """In each group the best arm is chosen on dev; the chosen arms are compared."""

    @property
    def depth(self) -> int:
        """Units of the costliest stage. Deep arms run first: others reuse their scores."""
        domain = self.retriever.domain_fusion
        return max(self.retriever.candidates, domain.top_j if domain else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A table: factors as rows and columns, metrics as the last level of columns."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str] = ()
    measures: Mapping[str, Measure]
    """Metric and cutoff of each heading."""
    where: Mapping[str, Factor] = field(default_factory=dict)
    """Only arms with these factors."""
    domains: Sequence[str] = ("document", "table", "combined")
    is_of_chosen: bool = False
    """Only the arms that were chosen on dev."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A plot of means: bars over a factor or lines along a number."""

    title: str
    kind: Literal["bars", "lines"]
    x: str
    series: Sequence[str]
    measures: Mapping[str, Measure]
    panel: Sequence[str] = ()
    """A plot for each combination of these factors."""
    where: Mapping[str, Factor] = field(default_factory=dict)
    domains: Sequence[str] = ("document", "table", "combined")
    is_of_chosen: bool = False
    """Only the arms that were chosen on dev."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtimes:
    """A table of the time that arms take for a question: retrieval, reranking, and in total."""

    title: str
    rows: Sequence[str]
    """Factors that tell the arms apart."""
    where: Mapping[str, Factor] = field(default_factory=dict)
    """Only arms with these factors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitTests:
    """A table of McNemar's exact tests of hits against the reference arm (P2, table 4)."""

    title: str
    cutoff: int
    rows: Sequence[str]
    """Factors that tell the arms apart."""
    families: Sequence[str] = ()
    """Tests of arms with the same values of these factors are corrected together, by Benjamini and
    Hochberg; all of them unless given."""
    without: Mapping[str, Factor] = field(default_factory=dict)
    """Arms with one of these factors are not tested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A part of the questions that is reported separately."""

    name: str
    chosen: frozenset[str]
    """Ids of its questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Appendix:
    """A table of measures other than retrieval."""

    title: str
    about: str
    rows: Sequence[Mapping[str, str | int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A whole experiment, before it is run.

    Raises:
        ExperimentError: There is no arm, or two have one name: their questions would count twice.
    """

    title: str
    source: str
    """The section of the paper that it comes from."""
    arms: Sequence[ExperimentArm]
    reference: str | None = None
    """Arm that the chosen arms are compared with; unless given, the chosen one of the first
    group"""
    chooses: bool = True
    """Whether the best arm of each group is chosen on dev; else all are compared."""
    level: Level = "gold"
    domain: str | None = None
    """Only questions with gold in this domain are used."""
    compared: Sequence[Measure] = (("hit_rate", TOP_N), ("mrr", TOP_N), ("ndcg", TOP_N))
    """The measures of the paired differences."""
    cutoffs: Sequence[int] = CUTOFFS
    """The k at which arms are summarized and tested, of `DEEP_CUTOFFS`."""
    tables: Sequence[Layout]
    figures: Sequence[Figure]
    runtimes: Runtimes | None = None
    hit_tests: HitTests | None = None
    notes: Sequence[str] = ()
    """Sentences on the protocol for the report."""
    questions: frozenset[str] | None = None
    """Ids of the questions that are used; all unless given."""
    scarce_below: str | None = None
    """Also report separately the questions for which this arm found no gold."""
    shows_weights: bool = False
    """Also draw the weights that each arm gives to the domains."""
    by_length: bool = False
    """Also report short and long questions separately."""
    by_set: bool = False
    """Also report each question set separately, where there are several."""
    compares_sets: bool = False
    """Also compare the order of the arms by each generated question set with that by people's."""
    appendices: Callable[[], Sequence[Appendix]] = tuple
    """Computes the appendices when the experiment is run."""
    made_from: Sequence[str] = ()
    """Data versions of the tables behind the appendices."""

    def __post_init__(self) -> None:
        if not self.arms:
            raise ExperimentError(" ".join([f"{self.title}: there is no arm to run.", *self.notes]))
        for name, times in Counter(arm.name for arm in self.arms).items():
            if times > 1:
                raise ExperimentError(
                    f"{self.title}: two arms are named {name!r}: give each its own name, and "
                    "each setting once"
                )

    @property
    def groups(self) -> list[str]:
        """The groups of arms, in order."""
        return list(dict.fromkeys(arm.group for arm in self.arms))


def set_slices(questions: Sequence[Question]) -> list[Slice]:
    """The questions of each set; nothing if all are of one."""
    members: defaultdict[str, set[str]] = defaultdict(set)
    for question in questions:
        members[question.question_set].add(question.question_id)
    slices = [Slice(name=f"set {name}", chosen=frozenset(ids)) for name, ids in members.items()]
    return slices if len(slices) > 1 else []


def length_slices(questions: Sequence[Question]) -> list[Slice]:
    """Questions up to the median number of words, and longer ones."""
    lengths = {question.question_id: len(question.text.split()) for question in questions}
    ordered = sorted(lengths.values())
    median = ordered[(len(ordered) - 1) // 2]
    short = frozenset(one for one, length in lengths.items() if length <= median)
    return [
        Slice(name=f"up to {median} words", chosen=short),
        Slice(name=f"more than {median} words", chosen=frozenset(lengths) - short),
    ]
