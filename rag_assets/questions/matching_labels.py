"""Which of the units that were shown a sentence refers to (P1, A.5, figure 23).

A person ticks all of them, or none. Each unit that was shown is then an item of its own: the
sentence with that unit as its source, labelled yes or no as in the task `sentence`. None of them is
drawn by chance, so that they count in no agreement before their turn comes there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rag_assets.answering.answer import Answer
from rag_assets.questions.from_answers import COLUMNS, unit_text
from rag_assets.questions.judging.labels import SKIPPED, keep, read_labels, task_of
from rag_assets.questions.judging.verdicts import item_id
from rag_assets.questions.labelling import SKIP, Label, Screen, ScreenItem, ToLabel
from rag_assets.retrieval.search import VariantIndex

OF = "chunk"
"""What this is called beside the names of `labels.TASKS`."""
NONE = "none of them"
NOTE = "Which of these say what the sentence says? Tick all that do."
YES, NO = "yes", "no"


@dataclass(frozen=True, slots=True)
class ToMatch:
    """A sentence of an answer, with the units that its answer was written from."""

    sentence: str
    units: Mapping[str, str]
    """Their texts by their places, best first."""
    about: str
    """What stands for the question."""

    @property
    def items(self) -> list[str]:
        """The id of the sentence with each unit, as in the task `sentence`."""
        both = ({"source": text, "sentence": self.sentence} for text in self.units.values())
        return [item_id("sentence", each) for each in both]


def sentences_to_match(
    answers: Sequence[Answer], index: VariantIndex, *, about: Callable[[Answer], str]
) -> Iterator[ToMatch]:
    """The sentences that a language model wrote, with the units that the index still has."""
    wanted = sorted({unit.unit_id for each in answers for unit in each.shown})
    found = {unit["unit_id"]: unit for unit in index.read(wanted, COLUMNS).to_pylist()}
    for answer in answers:
        shown = [found[unit.unit_id] for unit in answer.shown if unit.unit_id in found]
        units = {f"{unit['uri']} ({unit['unit_id'][:8]})": unit_text(unit) for unit in shown}
        for sentence in answer.sentences:
            if sentence.is_written and units:
                yield ToMatch(sentence.text, units, about(answer))


def left_to_match(every: Iterable[ToMatch], file: Path, labeller: str) -> list[ToMatch]:
    """Those of which this person did not say it of each unit, each sentence once."""
    said = {each.item for each in read_labels(file).on(task_of("sentence").of, labeller)}
    left = {each.sentence: each for each in every if not said.issuperset(each.items)}
    return [*left.values()]


def screens(left: Iterable[ToMatch], file: Path, labeller: str) -> Iterator[ToLabel]:
    """What is asked, one sentence after the other."""
    for each in left:
        units = [ScreenItem(place, text, text) for place, text in each.units.items()]
        screen = Screen(
            each.sentence, units, {"0": NONE}, can_tick=True, can_reword=False, note=NOTE
        )
        yield screen, partial(_keep, each, file, labeller)


def _keep(sentence: ToMatch, file: Path, labeller: str, decision: Label) -> None:
    task = task_of("sentence")
    for place, item in enumerate(sentence.items):
        label = YES if place in decision.ticked else NO
        label = SKIPPED if decision.name == SKIP else label
        about = sentence.about
        keep(file, task, item, label, labeller=labeller, about=about, drawn=False)
