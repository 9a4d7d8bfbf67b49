"""Values that a question names by some of their words."""

from collections.abc import Iterator

from rag_assets.table_lookup.question.linked_values import ValueLink
from rag_assets.table_lookup.question.linking import TableLinks
from rag_assets.table_lookup.question.question import AskedQuestion
from rag_assets.table_lookup.question.value_mentions import ValueMention, is_judged, links_of_word

SHORTEST = 3
"""Letters of a word in small letters that is looked for within values."""


def part_mentions(
    question: AskedQuestion, table: TableLinks, used: set[int]
) -> tuple[ValueMention, ...]:
    """Runs of the words that are left which stand within values."""
    return tuple(
        mention for run in _runs(question, used) for mention in _parts(question, table, run)
    )


def _runs(question: AskedQuestion, used: set[int]) -> Iterator[tuple[int, ...]]:
    run: list[int] = []
    for place in range(len(question.words)):
        if place in used:
            if run:
                yield tuple(run)
            run = []
        elif not question.is_harmless[place] or (run and question.words[place].text[0].isupper()):
            run.append(place)
    if run:
        yield tuple(run)


def _parts(
    question: AskedQuestion, table: TableLinks, run: tuple[int, ...]
) -> Iterator[ValueMention]:
    """The longest stretches of `run` whose words all stand in one value."""
    begin = 0
    while begin < len(run):
        end, held = begin, set[ValueLink]()
        while end < len(run) and (links := _with(question, table, run[end])):
            both = held & links if held else links
            if not both:
                break
            end, held = end + 1, both
        if held:
            links = sorted(held, key=lambda link: (link.column, link.value))
            yield ValueMention(run[begin:end], tuple(links), is_whole=False)
        begin = max(end, begin + 1)


def _with(question: AskedQuestion, table: TableLinks, place: int) -> set[ValueLink]:
    """The values in which a word stands, if it is one that is looked for within values."""
    word = question.words[place]
    is_short = len(word.folded) < SHORTEST and not word.is_name
    if is_short or len(word.folded) < 2 or is_judged(word):
        return set()
    return links_of_word(word, table)
