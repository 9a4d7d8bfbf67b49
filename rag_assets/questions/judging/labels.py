"""What people say of items: kept one by one, without the words of any item.

The file of labels has a line for each, of which the last one of an item and a labeller counts:

    {"item": "1f…", "of": "sentence_support/support", "label": "yes", "labeller": "anna",
     "about": "9c…", "drawn": true, "at": "2026-11-27T10:00:00+00:00"}

Commands only append to it. Two things are wanted of few labels. They should be a random sample, as
only then do they say how good a judge is on all items; and they should be of items on which judges
differ, since there a person learns most. So each labeller is asked of both in turn: the item with
the lowest id (a hash: an order of chance, the same for all labellers), and a disputed item behind
it. What was drawn so far, up to the highest id, is the sample: `sample_of`. A disputed item that
was labelled early becomes a part of it when the drawing has come so far.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from statistics import median_low

from rag_assets.config.evaluation import RUBRICS
from rag_assets.identity import fingerprint
from rag_assets.media.json_lines import LineError, append, lines_of, record_of, text_of
from rag_assets.process import clock
from rag_assets.questions.judging.rubrics import read_rubric
from rag_assets.questions.judging.verdicts import ItemKind, JudgedItem

SKIPPED = "skip"
"""A label that says nothing."""
FIRST, SECOND = "first", "second"
"""The sides of a pair."""
TASKS: Mapping[str, str] = {
    "hit": "hit_relevance/relevance",
    "pair": "answer_ranking/preference",
    "sentence": "sentence_support/support",
}
"""The tasks that are labelled most, by a short name."""


@dataclass(frozen=True, slots=True)
class LabelTask:
    """What people are asked of one kind of item: a dimension of a rubric, as judges are."""

    of: str
    """The name of the task: `RUBRIC/DIMENSION`."""
    kind: ItemKind
    asks: str
    parts: tuple[str, ...]
    """The texts of an item that are shown, beside the answers of a pair."""
    choices: Mapping[str, str]
    """The labels that may be given, by the key that a person presses."""
    scores: Mapping[str, float]
    """The score of each label."""
    is_ordered: bool
    """Whether one score may be further from the right one than another."""
    applies_to: Callable[[JudgedItem], bool]
    """Whether an item is of its kind and has the texts that are shown."""

    @property
    def rubric(self) -> str:
        """Name of the rubric."""
        return self.of.partition("/")[0]

    @property
    def dimension(self) -> str:
        """Name of the dimension."""
        return self.of.partition("/")[2]

    @property
    def scale(self) -> list[float]:
        """All scores, in their order."""
        return sorted({*self.scores.values()})


@cache
def task_of(of: str) -> LabelTask:
    """What people are asked under a name of `TASKS`, or of a dimension of a rubric.

    Raises:
        ValueError: There is no such dimension.
    """
    of = TASKS.get(of, of)
    name, _, dimension = of.partition("/")
    rubric = read_rubric(name) if name in RUBRICS else None
    if rubric is None or dimension not in rubric.dimensions:
        raise ValueError(
            f"{of!r} is nothing that people label: {', '.join(TASKS)}, or RUBRIC/DIMENSION such as "
            "answer_scores/correctness"
        )
    if rubric.is_ranking:
        labels = {FIRST: 1.0, SECOND: 0.0, "both": 0.5, "neither": 0.5}
    elif rubric.words:
        labels = {word: float(score) for score, word in [*enumerate(rubric.words)][::-1]}
    else:
        labels = {str(n): float(n) for n in range(rubric.scale[0], rubric.scale[1] + 1)}
    is_ordered = not (rubric.is_ranking or rubric.words)
    keys = labels if is_ordered else map(str, range(1, len(labels) + 1))
    about = (of, rubric.kind, rubric.dimensions[dimension].asks, rubric.parts)
    choices = dict(zip(keys, labels, strict=True))
    return LabelTask(*about, choices, labels, is_ordered, rubric.applies_to)


@dataclass(frozen=True, slots=True)
class ItemLabel:
    """What one person said of an item."""

    item: str
    """The id of the item: see `verdicts.item_id`."""
    of: str
    """The task: `RUBRIC/DIMENSION`."""
    label: str
    """A label of its task, or `SKIPPED`."""
    labeller: str
    about: str
    """What stands for the question that it is about: items of one are not independent."""
    drawn: bool
    """Whether it was asked as the next one of the sample, not as a disputed one."""
    at: str
    """The time when it was given: ISO 8601, UTC."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What was said of what, and by whom."""
        return self.item, self.of, self.labeller, self.label

    @property
    def score(self) -> float | None:
        """The score of the label; None where the item was skipped."""
        return task_of(self.of).scores.get(self.label)


@dataclass(frozen=True, slots=True)
class LabelFile:
    """The content of a file of labels."""

    labels: tuple[ItemLabel, ...] = ()
    """The last one of each item and labeller."""
    problems: tuple[str, ...] = ()
    """The lines that are no labels, and why."""

    def on(self, of: str, labeller: str | None = None) -> list[ItemLabel]:
        """The labels of one task; those of one labeller if one is named."""
        own = (each for each in self.labels if each.of == of)
        return [each for each in own if labeller in (None, each.labeller)]


NOBODY_LABELLED = LabelFile()


def read_labels(file: Path) -> LabelFile:
    """The labels of a file; none if there is no file.

    Raises:
        QuestionsError: It cannot be read.
    """
    found: dict[tuple[str, str, str], ItemLabel] = {}
    problems = []
    for number, line in lines_of(file, what="labels") if file.exists() else ():
        try:
            label = _label_of(record_of(line))
        except LineError as error:
            problems.append(f"{file.name} line {number}: {error}")
        else:
            found[label.item, label.of, label.labeller] = label
    return LabelFile(tuple(found.values()), tuple(problems))


def _label_of(record: dict[str, object]) -> ItemLabel:
    names = ("item", "of", "label", "labeller", "about", "at")
    found = ItemLabel(
        **{name: text_of(record, name) for name in names}, drawn=record.get("drawn") is True
    )
    try:
        task = task_of(found.of)
        _require_known(task, found.label)
    except ValueError as error:
        raise LineError(str(error)) from error
    return replace(found, of=task.of)


def _require_known(task: LabelTask, label: str) -> None:
    if label not in (*task.scores, SKIPPED):
        raise ValueError(f"label = {label!r}: write {', '.join(task.scores)} or {SKIPPED}")


def keep(
    file: Path, task: LabelTask, item: str, label: str, *, labeller: str, about: str, drawn: bool
) -> ItemLabel:
    """Add a label to the file; it is on the disk when this returns.

    Raises:
        ValueError: The task has no such label.
    """
    _require_known(task, label)
    at = clock.now().isoformat(timespec="seconds")
    made = ItemLabel(item, task.of, label, labeller, about, drawn, at)
    append(file, asdict(made))
    return made


def next_of(
    items: Iterable[str], *, said: Collection[ItemLabel], disputed: Collection[str]
) -> tuple[str, bool] | None:
    """The item that a labeller is asked next, and whether it is drawn; None if all are labelled.

    Args:
        items: Ids of all items of one kind.
        said: What this labeller said of such items.
        disputed: Ids of the items on which judges or rules differ.
    """
    done = {each.item for each in said}
    left = sorted(each for each in items if each not in done)
    if sum(each.drawn for each in said) * 2 > len(said):
        reached = _reached(said)
        if turn := next((each for each in left if each in disputed and each > reached), None):
            return turn, False
    return (left[0], True) if left else None


def sample_of(labels: Iterable[ItemLabel]) -> list[ItemLabel]:
    """The labels that are a random sample, without skipped ones."""
    by_labeller: dict[str, list[ItemLabel]] = {}
    for each in labels:
        by_labeller.setdefault(each.labeller, []).append(each)
    reached = {labeller: _reached(said) for labeller, said in by_labeller.items()}
    return [
        each
        for said in by_labeller.values()
        for each in said
        if each.item <= reached[each.labeller] and each.score is not None
    ]


def _reached(said: Iterable[ItemLabel]) -> str:
    """How far the drawing has come; empty before it began."""
    return max((each.item for each in said if each.drawn), default="")


def consensus(labels: Iterable[ItemLabel]) -> dict[str, float]:
    """What people say of each item of one task: of a scale the middle, else what most say.

    Items on which they are split evenly are left out.
    """
    scores: dict[str, list[float]] = {}
    ordered = set()
    for each in labels:
        if each.score is not None:
            scores.setdefault(each.item, []).append(each.score)
            ordered.update({each.item} if task_of(each.of).is_ordered else ())
    found = {}
    for item, given in scores.items():
        ranked = Counter(given).most_common(2)
        if item in ordered:
            found[item] = median_low(given)
        elif len(ranked) == 1 or ranked[0][1] > ranked[1][1]:
            found[item] = ranked[0][0]
    return found


def is_swapped(item: str, labeller: str) -> bool:
    """Whether the second side of a pair is shown on the left: by chance, the same each time."""
    return int(fingerprint(item, labeller)[-1], 16) % 2 == 1
