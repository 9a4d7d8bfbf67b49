r"""From a prompt to sub-questions: by the list that it gives itself, or by a language model.

    as_listed("Report on steel:\n- corrosion\n- welding").parts
    # Corrosion: corrosion (steel); Welding: welding (steel)

The main topic is carried into each. A prompt that lists nothing stays one question, and the report
says that taking it apart needs a language model. Where such a model gives no answer, the prompt is
taken apart as it lists parts. A prompt is read as people
send it: without greeting and signature, its headings and tables as items.

    request_text("Hi Anna,\n\nReport on steel, please.\n\nBest regards\nErik")
    # Report on steel, please.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from pydantic import BaseModel

from rag_assets.config import Config
from rag_assets.models.language.calls import LanguageModel, Message, Request
from rag_assets.models.language.opening import open_language_model
from rag_assets.models.language.prompts import read_prompt
from rag_assets.terms.coverage import HeldTerms, coverage, terms_of
from rag_assets.terms.words import terms
from rag_assets.workers import Json

MOST_PARTS = 5
"""Sub-questions of a prompt, at most, as in P4."""
ONE_TOPIC = (
    "taken as one topic: for sections of its own, list them in the prompt, a line each, or set "
    "answering.report.decomposer to model"
)
OF_REQUESTS = frozenset(
    """
    about all article brief compare create describe document everything explain give guide
    information introduction know like make need overview please prepare produce provide report
    review section summarise summarize summary survey technical tell us want write
    allt behöver berätta beskriv förklara ge information jämför rapport redogör sammanfatta
    sammanfattning skriv teknisk översikt
    """.split()  # noqa: SIM905 - a column of words
)
"""Words that ask for a report and say nothing of its topic."""
DecomposedBy: TypeAlias = Literal["rules", "model"]
_BEFORE_TOPICS = OF_REQUESTS | frozenset(
    """
    a an chapters following i me of on parts points sections the these this to topics with
    avsnitt de dessa en ett följande jag kapitel med mig om på punkter ämnen
    """.split()  # noqa: SIM905 - a column of words
)
"""Words that stand before a topic."""
_OF_FORM = re.compile(
    r"introduction|conclusions?|abstract|(?:executive\s+)?summary|(?:cover|title|front)\s+page"
    r"|table\s+of\s+contents|references|bibliography|sources|appendi(?:x|ces)"
    r"|inledning|introduktion|slutsats(?:er)?|sammanfattning|försättsblad"
    r"|innehållsförteckning|referenser|källor|källförteckning|bilag(?:a|or)",
    re.IGNORECASE,
)
"""A part that every report may have, and that names no topic."""
_ITEM = re.compile(
    r"(?:^|(?<=[\s:;,.]))(?:[-*\u2022]|\(?\d{1,2}[.)]|\((?:[a-z]|i{1,3}|iv|v)\)|[a-z]\))\s+(?=\S)",
    re.IGNORECASE | re.MULTILINE,
)
"""The mark of an item of a list: a number, a letter, or a bullet."""
_LINE_ITEM = re.compile(
    r"^(?P<indent>[ \t]*)(?:[-+*\u2022\u2013\u2014\u00b7\u25cf\u25aa\u25e6\u2023\u2043]"
    r"|(?P<number>\d{1,2}(?:\.\d{1,2})+)[.)]?|\(?\d{1,2}[.)]|\(?[a-z][.)])[ \t]+(?=\S)",
    re.MULTILINE,
)
"""The mark of an item of a list in which each item has a line of its own."""
_SENTENCE_END = re.compile(r"[.?!:]+(?=\s+[\"'`(\[]?[A-ZÅÄÖ0-9]|\s*$)|\n\s*\n")
_EDGES = " \t\n.,;:?!"
_FLAGS = re.IGNORECASE | re.VERBOSE
_HEADER = re.compile(
    r"(?:subject|from|to|cc|date|ämne|från|till|datum|betreff|re|sv|fwd?)\s*:[^\n]*(?:\n\s*|$)",
    re.IGNORECASE,
)
"""A line of the head of a letter."""
_GREETING = re.compile(
    r"""(?:hi|hello|hey|dear|good\s+(?:morning|afternoon|evening|day)|hej(?:san)?|hallå
        |god(?:\s+(?:morgon|dag|kväll)|dag)|hallo|guten\s+(?:tag|morgen)|sehr\s+geehrte[rn]?|liebe[rs]?)
    (?:(?:[ ]+[\w.'@-]+){0,5}[ ]*[,!.:]?[ ]*(?:\n\s*|$) | (?:[ ]+[\w.'@-]+){0,2}[ ]*[,!.]\s+)""",
    _FLAGS,
)
_CLOSING = re.compile(
    r"""^[ \t]*(?:(?:kind|best|warm|with\s+(?:kind|best))\s+(?:regards|wishes)|regards|cheers
        |sincerely|yours\s+(?:sincerely|faithfully|truly)|br|mvh
        |(?:med\s+)?(?:vänliga?|bästa)\s+hälsning(?:ar)?|hälsningar|(?:mit\s+)?(?:freundlichen|besten|vielen?)\s+gr(?:ü|ue)(?:ß|ss)en?)
    (?:[ \t]*[,.!]?[ \t]*$ | [ \t]*[,.!/][ \t]*(?:[\w.'-]+[ \t]*){1,4}$)""",
    _FLAGS | re.MULTILINE,
)
"""What a signature follows."""
_THANKS = re.compile(
    r"""^[ \t]*(?:(?:many|a\s+lot\s+of)\s+thanks|thanks|thank\s+you|tack|tusen\s+tack|danke
        |vielen\s+dank)
    (?:[ \t]+[\w-]+){0,6}[ \t]*[,.!]*[ \t]*$""",
    _FLAGS | re.MULTILINE,
)
_TABLE_LINE = re.compile(r"^[ \t]*\|(?P<cells>[^\n]*?)\|?[ \t]*$", re.MULTILINE)
_TABLE_HEAD = re.compile(r"^[ \t]*\|[^\n]*\n(?=[ \t]*\|[\s|:-]*-[\s|:-]*$)", re.MULTILINE)
_RULE_LINE = re.compile(r"^[ \t]*\|?[\s|:=_-]*[-=_]{3}[\s|:=_-]*$\n?", re.MULTILINE)
_TITLE_LINE = re.compile(r"\A#[ \t]+(?P<title>[^\n]+)$", re.MULTILINE)
_HEADING_LINE = re.compile(
    r"^#{1,6}[ \t]+(?P<heading>[^\n]+)$\n*(?P<below>(?:[^\n#]+\n?)*)", re.MULTILINE
)
PACKAGE = "rag_assets.answering.reporting"
PROMPT = "decompose"
TOKENS = 600
"""The most tokens of the answer."""
LONGEST = 300
"""The most characters of a title or a question."""


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """A part of a prompt."""

    title: str
    """The part in words, as the heading of a section."""
    question: str
    """The query that is searched: the part with the main topic."""


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A prompt as sub-questions."""

    prompt: str
    """What is searched of all of it: without greeting and signature."""
    title: str
    """The main topic of the prompt."""
    parts: tuple[SubQuestion, ...]
    """The sub-questions; exactly one where the prompt has one topic."""
    by: DecomposedBy = "rules"
    note: str = ""
    """Why it was not taken apart, or not by a model that was asked to; else empty."""


class Decomposer(Protocol):
    """Whoever takes a prompt apart."""

    def __call__(self, prompt: str) -> Decomposition:
        """The sub-questions of `prompt`, which is not blank."""
        ...


def as_listed(prompt: str) -> Decomposition:
    """The items and headings that `prompt` lists as sub-questions, `MOST_PARTS` at most."""
    text = request_text(prompt)
    searched = " ".join(text.split())
    before, items = _listed(text)
    topic = _topic(before)
    items = _merged([item for item in items if not _OF_FORM.fullmatch(item)])
    if len(items) < 2:
        title = titled(topic or searched)
        return Decomposition(searched, title, (SubQuestion(title, searched),), note=ONE_TOPIC)
    parts = tuple(SubQuestion(titled(item), _whole(item, topic)) for item in items)
    return Decomposition(searched, titled(topic or ", ".join(items)), parts)


def titled(text: str) -> str:
    """`text` as a heading: a capital first, unless its first word has capitals of its own."""
    text = _cleaned(text)
    first = text.split(" ", 1)[0]
    return f"{text[:1].upper()}{text[1:]}" if first.islower() else text


def _topic(text: str) -> str:
    """The topic in the first sentence of `text`, without the words that ask for a report."""
    first = _SENTENCE_END.split(text.strip(), maxsplit=1)[0]
    words = _cleaned(first).split()
    while words and words[0].casefold().strip(_EDGES) in _BEFORE_TOPICS:
        words = words[1:]
    return " ".join(words)


def _whole(item: str, topic: str) -> str:
    """`item` with the topic behind it, unless it names all of it."""
    if not topic or coverage(terms_of(topic), [HeldTerms(item)]) == 1:
        return item
    return f"{item} ({topic})"


def _listed(text: str) -> tuple[str, list[str]]:
    """What introduces the list in `text`, and its items: none where there are not two.

    An item holds the items below it: `Solvers: steady, transient`. What follows the empty line
    behind the last item is none of it.
    """
    for mark in (_LINE_ITEM, _ITEM):
        marks = list(mark.finditer(text))
        if len(marks) > 1:
            ends = [*(match.start() for match in marks[1:]), len(text)]
            told = [text[one.end() : end] for one, end in zip(marks, ends, strict=True)]
            if mark is _LINE_ITEM:
                told = _nested(marks, [*told[:-1], told[-1].partition("\n\n")[0]])
            return text[: marks[0].start()], [item for each in told if (item := _cleaned(each))]
    return text, []


def _nested(marks: Sequence[re.Match[str]], items: Sequence[str]) -> list[str]:
    """`items` with those that stand deeper than the first one joined to the one above them."""
    depths = [_depth(mark) for mark in marks]
    found: list[list[str]] = []
    for depth, item in zip(depths, items, strict=True):
        if found and depth > depths[0]:
            found[-1].append(_cleaned(item))
        else:
            found.append([item])
    return [f"{_cleaned(first)}: {', '.join(below)}" if below else first for first, *below in found]


def _depth(mark: re.Match[str]) -> tuple[int, int]:
    return len(mark["indent"].expandtabs()), (mark["number"] or "").count(".")


def _cleaned(item: str) -> str:
    """`item` on one line, without the marks around it."""
    item = " ".join(item.split()).strip(_EDGES)
    return item if item.count("(") == item.count(")") else item.strip(f"{_EDGES}()")


def _merged(items: Sequence[str]) -> list[str]:
    """At most `MOST_PARTS` items: neighbours with the fewest terms are joined."""
    found = list(items)
    while len(found) > MOST_PARTS:
        sizes = [len(terms(item)) for item in found]
        place = min(range(len(found) - 1), key=lambda one: sizes[one] + sizes[one + 1])
        found[place : place + 2] = [f"{found[place]}, {found[place + 1]}"]
    return found


def request_text(prompt: str) -> str:
    """What `prompt` asks for; all of it where nothing else would be left."""
    whole = "\n".join(prompt.splitlines()).strip()
    text = _without_letter(whole) or whole
    return _as_list(text).strip() or whole


def _without_letter(text: str) -> str:
    while match := _HEADER.match(text):
        text = text[match.end() :]
    if match := _GREETING.match(text):
        text = text[match.end() :]
    if match := _CLOSING.search(text):
        text = text[: match.start()]
    return _THANKS.sub("", text).strip()


def _as_list(text: str) -> str:
    """`text` with each row of a table, and each heading with what stands below, as an item."""
    text = _RULE_LINE.sub("", _TABLE_HEAD.sub("", text))
    text = _TABLE_LINE.sub(_row_as_item, text)
    title = _TITLE_LINE.match(text)
    before, below = (f"{title['title']}\n\n", text[title.end() :]) if title else ("", text)
    return before + _HEADING_LINE.sub(_heading_as_item, below.lstrip())


def _row_as_item(match: re.Match[str]) -> str:
    cells = [cell.strip() for cell in match["cells"].split("|")]
    return f"- {': '.join(filter(None, cells))}"


def _heading_as_item(match: re.Match[str]) -> str:
    below = " ".join(match["below"].split())
    return f"- {match['heading'].strip()}{': ' if below else ''}{below}\n"


class _ToldPart(BaseModel):
    title: str
    question: str


class _Told(BaseModel):
    topic: str
    parts: list[_ToldPart]


@dataclass(frozen=True, slots=True)
class ModelDecomposer:
    """Has a language model take prompts apart."""

    model: LanguageModel

    def __call__(self, prompt: str) -> Decomposition:
        """The sub-questions that the model names; those that it lists, with a note, if that fails.

        Raises:
            AbandonedError: Nobody waits for the task: see `workers.raise_if_abandoned`.
        """
        text = read_prompt(PACKAGE, PROMPT).filled(most=str(MOST_PARTS), prompt=prompt)
        request = Request((Message("user", text),), TOKENS, schema=_schema())
        completion = self.model.complete(request)
        if completion.outcome != "done":
            return self._as_listed(prompt, completion.reason or completion.outcome)
        told = _Told.model_validate(completion.parsed)
        parts = {
            each.question.strip(): SubQuestion(titled(each.title), each.question.strip())
            for each in told.parts
            if titled(each.title) and each.question.strip()
        }
        if not parts:
            return self._as_listed(prompt, "it names no sub-question")
        title = titled(told.topic) or titled(prompt)
        searched = " ".join(request_text(prompt).split())
        return Decomposition(searched, title, tuple(parts.values()), by="model")

    def _as_listed(self, prompt: str, reason: str) -> Decomposition:
        note = f"not taken apart by {self.model.name}, which gave no answer that can be used: "
        return replace(as_listed(prompt), note=f"{note}{reason}")


@contextmanager
def open_decomposer(config: Config) -> Generator[Decomposer]:
    """Whoever takes the prompts of reports apart, as the config says; the model is let go of."""
    if config.answering.report.decomposer == "rules":
        yield as_listed
        return
    with open_language_model(config) as model:
        yield ModelDecomposer(model)


def _schema() -> Mapping[str, Json]:
    """The JSON schema of the answer."""
    text: Mapping[str, Json] = {"type": "string", "maxLength": LONGEST}
    part: Mapping[str, Json] = {
        "type": "object",
        "properties": {"title": text, "question": text},
        "required": ["title", "question"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "topic": text,
            "parts": {"type": "array", "items": part, "minItems": 1, "maxItems": MOST_PARTS},
        },
        "required": ["topic", "parts"],
        "additionalProperties": False,
    }
