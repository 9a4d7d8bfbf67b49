"""The words of a prompt that ask for a report and its parts: see `prompt_words.toml`."""

import re
import tomllib
from collections.abc import Mapping
from importlib import resources

_FRAGMENT = re.compile("<<([a-z_]+)>>")


def _read() -> Mapping[str, re.Pattern[str]]:
    file = resources.files("rag_assets.answering.reporting").joinpath("prompt_words.toml")
    found = tomllib.loads(file.read_text("utf-8"))
    fragments: Mapping[str, str] = found["fragments"]

    def whole(text: str) -> str:
        return _FRAGMENT.sub(lambda match: whole(fragments[match[1]]), text)

    flags = {"verbose": re.IGNORECASE | re.VERBOSE, "plain": re.IGNORECASE}
    return {
        name: re.compile(whole(text), flag)
        for kind, flag in flags.items()
        for name, text in found[kind].items()
    }


_PATTERNS = _read()
REQUEST = _PATTERNS["request"]
"""What stands before the topic: `Write a short report on`."""
REQUEST_WITHIN = _PATTERNS["request_within"]
"""A request behind other words: `Your task is to write a report on`."""
ANOTHER_REPORT = _PATTERNS["another_report"]
"""What begins a request for one more report, of another topic."""
A_TEXT_ABOUT = _PATTERNS["a_text_about"]
"""What stands before one more part: `a section on`."""
BARE = _PATTERNS["bare"]
"""A request without a topic: `Write a report`."""
COMPARING = _PATTERNS["comparing"]
COMPARED = _PATTERNS["compared"]
"""What stands between two things that are compared."""
COVERING = _PATTERNS["covering"]
"""What stands between the topic and the list of its parts."""
WITH = _PATTERNS["with"]
"""The same, where a list of three parts or more follows."""
DEMAND = _PATTERNS["demand"]
"""What begins a sentence that demands more parts: `It should cover`, `I am interested in`."""
AND_DEMAND = _PATTERNS["and_demand"]
"""What stands before a second demand in one sentence: `Describe A and explain B`."""
OF_FORM = _PATTERNS["of_form"]
"""What begins a sentence on the form of the report, which is no topic."""
PART_OF_FORM = _PATTERNS["part_of_form"]
"""A part that every report may have, and that names no topic."""
AND_SO_ON = _PATTERNS["and_so_on"]
"""What ends a list that is not complete."""
PURPOSE = _PATTERNS["purpose"]
"""Whom the report is for, behind its topic."""
LEADING = _PATTERNS["leading"]
"""Words before a part that belong to its list and not to it."""
ASKS = _PATTERNS["asks"]
"""What begins a part that is a question."""
PLACE = _PATTERNS["place"]
"""What the last part of a list says of all: `A, B and C in OpenFOAM`."""
OF_REQUESTS = frozenset(
    """
    about all article brief create describe document everything explain give guide information
    introduction know like make need overview please prepare produce provide report review section
    summarise summarize summary survey technical tell us want write
    allt behöver berätta beskriv förklara ge information rapport redogör sammanfatta
    sammanfattning skriv teknisk översikt
    """.split()  # noqa: SIM905 - a column of words
)
"""Words that ask for a report and say nothing of its topic."""
ITEM = re.compile(
    r"""(?:^|(?<=[\s:;,.]))(?:[-*\u2022]|\(?\d{1,2}[.)]|\((?:[a-z]|i{1,3}|iv|v)\)|[a-z]\))\s+(?=\S)""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
"""The mark of an item of a list: a number, a letter, or a bullet."""
LINE_ITEM = re.compile(
    r"^(?P<indent>[ \t]*)(?:[-+*\u2022\u2013\u2014\u00b7\u25cf\u25aa\u25e6\u2023\u2043]"
    r"|(?P<number>\d{1,2}(?:\.\d{1,2})+)[.)]?|\(?\d{1,2}[.)]|\(?[a-z][.)])[ \t]+(?=\S)",
    re.MULTILINE,
)
"""The same where each item has a line of its own."""
SENTENCE_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bt\.ex)(?<!\bbl\.a)(?<!\betc)(?<!\bvs)(?<!\bNo)(?<!\bFig)"
    r"[.?!]+(?=\s+[\"'`(\[]?[A-ZÅÄÖ0-9]|\s*$)"
)
