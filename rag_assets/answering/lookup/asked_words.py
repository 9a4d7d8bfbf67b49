"""Which words of a question say what is asked for: `which colour` of `which colour has R16`."""

from rag_assets.answering.lookup.question import AskedQuestion
from rag_assets.answering.lookup.word_files import words_in

_ASKING = words_in(
    "what which who whom whose when where how vilken vilket vilka vad vem när var hur"
)
_SKIPPED = words_in(
    """is are was were be the a an does do did has have had
    är var den det en ett har hade"""
)
"""Words between the one that asks and what is asked for."""
_ENDS = words_in(
    """of in on at for with from to by is are was were has have had does do did can could must
    should may shall will would that when where if and or than between as under over before after
    during according av i på med från till är var har hade kan ska måste som när där om och eller
    mellan enligt före efter vid hos gäller krävs för"""
)
"""Words that end what is asked for."""


def asked_words(question: AskedQuestion) -> frozenset[int]:
    """Places of the words that say what is asked for.

    They follow the first word that asks, or begin the question where none does.
    """
    words = [word.text.casefold() for word in question.words]
    asking = next((place for place, word in enumerate(words) if word in _ASKING), -1)
    start = asking + 1
    while start < len(words) and words[start] in _SKIPPED:
        start += 1
    end = start
    while end < len(words) and words[end] not in _ENDS:
        end += 1
    return frozenset(range(start, end))
