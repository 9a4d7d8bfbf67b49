"""The English and Swedish words that the checks know: see `words.toml`."""

from rag_assets.answering.word_lists import read_word_lists

_LISTS = read_word_lists("rag_assets.answering.checks")

ENGLISH = _LISTS.set_of("english")
SWEDISH = _LISTS.set_of("swedish")
FILLERS = ENGLISH | SWEDISH | _LISTS.set_of("fillers")
"""Words that carry no content of their own."""
NEGATORS = _LISTS.set_of("negators")
SHARED_NEGATORS = _LISTS.set_of("shared_negators")
"""Those that reach over a whole sentence."""
ENDINGS = _LISTS.set_of("endings") | {""}
"""Endings of English words that make another word of the same stem."""
HEDGES = _LISTS.set_of("hedges")

LESS = _LISTS.phrases["less"]
MORE = _LISTS.phrases["more"]
AT_MOST = _LISTS.phrases["at_most"]
AT_LEAST = _LISTS.phrases["at_least"]
JUST_OVER = _LISTS.phrases["just_over"]
JUST_UNDER = _LISTS.phrases["just_under"]
SAME_MEANING = {
    word: number
    for number, group in enumerate(_LISTS.phrases["same_meaning"])
    for word in group.split()
}
"""Words that stand for one thing, by the number of their group."""

NUMBER_WORDS = _LISTS.numbers["number_words"]
SCALES = {word: int(power) for word, power in _LISTS.numbers["scales"].items()}
"""Powers of ten behind a number in digits: `5.2 million`."""
FRACTION_WORDS = _LISTS.numbers["fraction_words"]
MONTHS = {name: int(number) for name, number in _LISTS.numbers["months"].items()}
UNITS = _LISTS.things_by_name("units")
PREFIXES = _LISTS.things_by_name("prefixes")
