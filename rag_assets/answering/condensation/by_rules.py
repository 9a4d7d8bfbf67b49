"""A follow-up completed by rules: entities and conditions of the last question are carried over.

    turns = [Turn("What is the density of 316L?", "8.0 g/cm3")]
    condensed("and for 304?", turns).question         # What is the density of 304?
    condensed("How hard is it?", turns).question      # How hard is 316L?

Three forms are told apart. A *fragment* ("and at 400 °C?") takes the place of what is of its kind
in the last question. A question that *points back* ("how hard is it?") gets what it points to and
the conditions that it does not change. One that *adds* ("only the annealed ones") stands beside
the last question. A question that does none of this is about something else, and stays as it is.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from rag_assets.answering.condensation import words
from rag_assets.answering.condensation.conversation import Condensed, Turn, remembered
from rag_assets.answering.condensation.mentions import BARE, Mention, likeliest_table
from rag_assets.answering.condensation.reading import FollowUp, Said
from rag_assets.terms.words import JOINING, Vocabulary, folded, terms

if TYPE_CHECKING:
    from rag_assets.table_lookup.tables.catalogue import Catalogue

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def condensed(
    question: str, history: Sequence[Turn], *, catalogue: "Catalogue | None" = None
) -> Condensed:
    """`question` with what it leans on.

    Args:
        question: In English or Swedish.
        history: What was said before, the oldest first; the newest 4,000 tokens are looked at.
        catalogue: Tables whose values are entities.
    """
    question = _single_blanks(question)
    before: Said | None = None
    for turn in remembered(history):
        whole = _completed(_single_blanks(turn.question), before, catalogue).question
        before = Said.of(whole, _single_blanks(turn.answer), catalogue)
    return _completed(question, before, catalogue)


def _completed(text: str, before: Said | None, catalogue: "Catalogue | None") -> Condensed:
    if before is None:
        return Condensed(text, is_follow_up=False)
    asked = FollowUp.of(text, catalogue)
    table = likeliest_table([*before.mentions, *asked.mentions])
    before, asked = before.within(table), asked.within(table)
    if not asked.leans:
        return Condensed(text, is_follow_up=False)
    is_placed = asked.is_fragment and not asked.pointing()
    whole = (_in_its_place if is_placed else _pointing_back)(asked, before)
    return Condensed(whole or text, is_follow_up=whole is not None)


def _in_its_place(asked: FollowUp, before: Said) -> str:
    """The last question with what the fragment names instead of what is of its kind."""
    placed: dict[Mention, Mention] = {}
    things = [each for each in asked.mentions if not _is_property(each)]
    for new in things or asked.mentions:
        if old := _alike(new, [each for each in before.mentions if each not in placed]):
            placed[old] = new
    text = before.question
    for old, new in sorted(placed.items(), key=lambda pair: -pair[0].start):
        text = f"{text[: old.start]}{_in_unit_of(old, new)}{text[old.end :]}"
    rest = _without(asked.text, [(each.start, each.end) for each in placed.values()])
    return _question(text, rest if terms(rest) else "")


def _alike(new: Mention, olds: Sequence[Mention]) -> Mention | None:
    """What `new` can stand in the place of: of its kind, and written most like it."""
    same = [old for old in olds if _shared(old, new) and folded(old.text) != folded(new.text)]
    return max(same, key=lambda old: (_shared(old, new), _likeness(old, new)), default=None)


def _shared(old: Mention, new: Mention) -> int:
    """How many kinds two mentions share; a number without a unit is of the kind of any other."""
    if BARE in new.kinds:
        return int(old.has("number"))
    return len(old.kinds & new.kinds)


def _in_unit_of(old: Mention, new: Mention) -> str:
    """`new`; a number without a unit in the words of the old one."""
    number = _NUMBER.search(new.text)
    if BARE not in new.kinds or number is None:
        return new.text
    return _NUMBER.sub(number.group(), old.text, count=1)


def _likeness(one: Mention, other: Mention) -> float:
    return SequenceMatcher(None, _shape(one.text), _shape(other.text)).ratio()


def _shape(text: str) -> str:
    return re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "0", text)))


def _pointing_back(asked: FollowUp, before: Said) -> str | None:
    """The question with what it points to, and the conditions that it does not change.

    None where the last question has nothing to add.
    """
    points = asked.pointing()
    is_named = True
    if before.names_an_answer and points:
        carried = [each.text for each in before.answered]
    elif before.is_of_tables:
        things = [each for each in before.mentions if not _is_property(each)]
        carried = [each.text for each in things if _alike(each, asked.mentions) is None]
    else:
        is_named = False
        carried = _terms_left(before.question, asked.text)
    carried = [each for each in carried if folded(each) not in folded(asked.text)]
    if not carried:
        return None
    text = asked.text
    if is_named and len(points) == 1 and folded(points[0].group()) not in words.POSSESSIVES:
        text = f"{text[: points[0].start()]}{carried[0]}{text[points[0].end() :]}"
        more = carried[1:]
    else:
        text, more = _without(text, [match.span() for match in points]), carried
    return _question(text, " ".join(more))


def _is_property(mention: Mention) -> bool:
    return mention.has("heading") and not mention.is_thing


def _terms_left(text: str, said: str) -> list[str]:
    """The terms of `text`, as they are written, that `said` has not."""
    known = Vocabulary(terms(said))
    written = re.findall(r"[^\W_]+(?:[-./:+][^\W_]+)*", text)
    left = [word for word in written if folded(word) not in JOINING]
    return [*dict.fromkeys(word for word in left if known.share_of(folded(word)) == 0)]


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return _single_blanks(text).strip(" ,;")


def _question(text: str, more: str) -> str:
    return f"{' '.join(filter(None, (text, more)))}?"


def _single_blanks(text: str) -> str:
    return " ".join(text.split())
