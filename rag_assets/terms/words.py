"""The words of a question and of a text, and how alike two of them are.

English and Swedish words that ask or join are left out. To quote and to tell cells, words of one
family are told by the letters that they begin with (`Vocabulary`), as a dictionary of lemmas takes
seconds to load; where it is asked whether something is there at all, by their lemma (`lemma_of`).
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from itertools import takewhile

from rag_assets.terms.lemmas import lemmatized
from rag_assets.terms.spelling import plainly_spelled

LANGUAGES = ("en", "sv")
LEAST_SHARED = 4
"""First letters that words of one family share, at least: `dense` and `density`."""
LEAST_SHARE = 0.6
"""The least share of the longer word that two words of one family have in common."""
JOINING = frozenset(
    """
    a an and any are as at be been being but by can could did do does each for from give given had
    has have how i if in into is it its kind list many me might most much must my name of on or our
    shall should show so some such tell than that the their them there these they this those to
    under was we were what when where which while who whom whose why will with would you your
    alla andra att av blev de dem den det detta dessa du efter eller en ett finns från för genom
    ger ha har hur hör i inom ingår inte jag kan man med mellan mot mycket många måste nämn när och
    om på samt ska som till under upp ut vad var varför vem vid vilka vilken vilket vilkas är
    """.split()  # noqa: SIM905 - a column of words
)
"""Words that ask or join and name nothing."""

_TERM = re.compile(r"\w+(?:[.,]\d+)*")
_PART = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"\d")


def words_of(text: str) -> list[str]:
    """The words of `text` in lower case and in their order."""
    return [match[0] for match in _TERM.finditer(folded(text))]


def terms(text: str) -> list[str]:
    """The words of `text` that name something."""
    return [word for word in words_of(text) if word not in JOINING]


@lru_cache(maxsize=100_000)
def lemma_of(word: str) -> str:
    """The dictionary form of a word in lower case, in English or Swedish; else the word itself."""
    return lemmatized(word, languages=LANGUAGES).casefold()


def parts_of(token: str) -> list[str]:
    """The runs of letters and digits of a token: `EN-10025` has two."""
    return _PART.findall(token)


def plain(token: str) -> str:
    """Letters and digits of a token, in lower case: `EN-10025` and `en 10025` meet."""
    return "".join(parts_of(token)).casefold()


def has_number(text: str) -> bool:
    """Whether a digit stands in `text`."""
    return _DIGIT.search(text) is not None


class Vocabulary:
    """The terms of a text, to be asked which words of a question it holds."""

    def __init__(self, words: Iterable[str]) -> None:
        """Hold `words`."""
        self._words = frozenset(words)
        self._beginning: defaultdict[str, list[str]] = defaultdict(list)
        for word in self._words:
            self._beginning[word[:LEAST_SHARED]].append(word)

    def share_of(self, term: str) -> float:
        """How much of `term` is there: 1 for itself, else the share of letters in common.

        `hard` is half of `hardness`. Words that share fewer letters than `LEAST_SHARED`, or less
        than `LEAST_SHARE` of the longer one, have nothing in common.
        """
        if term in self._words:
            return 1.0
        if len(term) < LEAST_SHARED:
            return 0.0
        alike = (_alike(term, other) for other in self._beginning.get(term[:LEAST_SHARED], ()))
        return max(alike, default=0.0)


def folded(text: str) -> str:
    """`text` plainly spelled, in lower case, with single blanks."""
    once = plainly_spelled(plainly_spelled(text).casefold())
    return " ".join(plainly_spelled(once.casefold()).split())  # it may be spelled otherwise again


def _alike(one: str, other: str) -> float:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    share = sum(1 for _ in same) / max(len(one), len(other))
    return share if share >= LEAST_SHARE else 0.0


def normalized(text: str) -> str:
    """Letters and digits of `text`, after NFKC, in lower case."""
    folded = unicodedata.normalize("NFKC", text).lower()
    return "".join(character for character in folded if character.isalnum())


def place_of(span: str, text: str, *, in_whole_words: bool = False) -> range:
    """The place of `span` in `text`, by letters and digits alone; empty if it is not there.

    With `in_whole_words`, it neither begins nor ends within a word.
    """
    folded = [(each, place) for place, one in enumerate(text) for each in normalized(one)]
    joined, wanted, start = "".join(each for each, _ in folded), normalized(span), -1
    while wanted and (start := joined.find(wanted, start + 1)) >= 0:
        place = range(folded[start][1], folded[start + len(wanted) - 1][1] + 1)
        ends = place.start, place.stop
        if not (in_whole_words and any(_is_within_word(text, end) for end in ends)):
            return place
    return range(0)


def _is_within_word(text: str, at: int) -> bool:
    return text[at - 1 : at].isalnum() and text[at : at + 1].isalnum()
