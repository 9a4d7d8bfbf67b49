"""Whether questions that are trained on give away those that are tested.

Refused are gold in the same document or table, one text within the other (a copy under another
name), and the same question. Texts that share much, though not all, are near: they are left
out of training. Compared are runs of five words (Broder 1997, On the Resemblance and Containment of
Documents).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rag_assets.questions.known_items import WORDS
from rag_assets.terms.words import folded

RUN = 5
"""Words."""
FEWEST_RUNS = 8
"""A text with fewer may be within another one by chance: it has to be the whole of it."""
NEAR = 0.5
"""Share of the runs of the shorter text."""
SHOWN = 5
ONE_PLACE = "both have gold in"


class LeakageError(Exception):
    """Questions of the split train give away others; the message names them."""


@dataclass(frozen=True, slots=True)
class Footing:
    """A question with what it rests on."""

    question_id: str
    places: frozenset[str]
    """Documents and tables of its gold, as people know them."""
    question: str
    """Its own words."""
    texts: Sequence[str]
    """The texts of its gold."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A question of the split train that another one should not meet."""

    question_id: str
    other: str
    """The question that is tested."""
    why: str
    is_near: bool
    """Whether they are only alike."""


def leaks_of(train: Sequence[Footing], tested: Sequence[Footing]) -> Iterator[Leak]:
    """For each question of `train` that gives away one of `tested` the plainest way it does."""
    at = {place: other.question_id for other in tested for place in other.places}
    asked = {words_of(other.question): other.question_id for other in tested}
    texts = _TestedTexts((text, other.question_id) for other in tested for text in other.texts)
    for question in train:
        if shared := sorted(question.places & at.keys()):
            place = shared[0]
            yield Leak(question.question_id, at[place], f"{ONE_PLACE} {place}", False)
        elif same := asked.get(words_of(question.question)):
            yield Leak(question.question_id, same, "both ask the same", False)
        elif found := max(map(texts.likest, question.texts), default=None):
            share, other = found
            if share >= NEAR:
                is_near = share < 1
                why = "their texts are alike" if is_near else "a text of one contains the other's"
                yield Leak(question.question_id, other, why, is_near)


def refuse(leaks: Iterable[Leak]) -> None:
    """Raise for leaks that are more than near.

    Raises:
        LeakageError: There are any.
    """
    plain = [leak for leak in leaks if not leak.is_near]
    if not plain:
        return
    named = "; ".join(
        f"{leak.question_id} (train) and {leak.other}: {leak.why}" for leak in plain[:SHOWN]
    )
    more = f"; and {len(plain) - SHOWN:,} more" if len(plain) > SHOWN else ""
    raise LeakageError(
        f"{len(plain):,} questions of the split train give away questions that are tested: {named}"
        f"{more}. Give both sides of each pair the same split, or take one out"
    )


class _TestedTexts:
    """Finds the text that is most like another one."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        """Hold each text with the question that it belongs to."""
        self._with: defaultdict[int, list[int]] = defaultdict(list)
        self._runs: list[int] = []
        self._questions: list[str] = []
        for place, (text, question) in enumerate(texts):
            runs = runs_of(text)
            self._runs.append(len(runs))
            self._questions.append(question)
            for run in runs:
                self._with[run].append(place)

    def likest(self, text: str) -> tuple[float, str]:
        """The largest share of common runs, and the question whose text has it."""
        runs = runs_of(text)
        common = Counter(place for run in runs for place in self._with.get(run, ()))
        shares = (
            (_share(count, len(runs), self._runs[place]), self._questions[place])
            for place, count in common.items()
        )
        return max(shares, default=(0.0, ""))


def words_of(text: str) -> tuple[str, ...]:
    """The words of `text`, in one case and one way to write each letter."""
    return tuple(WORDS.findall(folded(text)))


@lru_cache(maxsize=20_000)
def runs_of(text: str) -> frozenset[int]:
    """Hashes of all runs of words of `text`; of a shorter one, of all its words."""
    words = words_of(text)
    last = max(len(words) - RUN, 0)
    return frozenset(hash(words[at : at + RUN]) for at in range(last + 1) if words)


def likeness(runs: frozenset[int], others: frozenset[int]) -> float:
    """Share of the runs of the shorter text that the longer one has too."""
    return _share(len(runs & others), len(runs), len(others))


def _share(common: int, *runs: int) -> float:
    shorter = min(runs)
    if shorter < FEWEST_RUNS:
        return float(common == max(runs) > 0)
    return common / shorter


def counted(leaks: Iterable[Leak]) -> Mapping[str, int]:
    """How many questions are left out beside a measured one, by the reason."""
    reasons = (leak.why for leak in leaks)
    alike = (f"{ONE_PLACE} one place" if ONE_PLACE in why else why for why in reasons)
    return Counter(why.replace("both", "it and a measured question", 1) for why in alike)
