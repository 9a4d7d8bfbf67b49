"""Turns of phrase that ask for an extreme: `how high can it get`, `down to what`, `least dense`."""

import re
from collections.abc import Iterator

from rag_assets.table_lookup.words import adjectives

_ADJECTIVE = r"(?P<adjective>(?!many|much|often|många|mycket|ofta)[^\W\d]+)"
_REACH = r"(?:go|get|reach|climb|rise|drop|fall|sink|be|become|gå|bli|nå|komma)"
_HOW_FAR = (
    re.compile(rf"\bhow {_ADJECTIVE} (?:can|could|may|might)\b(?:.*?\b(?P<verb>{_REACH})\b)?"),
    re.compile(rf"\bhow {_ADJECTIVE} (?:do|does|did|will)\b.*?\b(?P<verb>{_REACH})\b"),
    re.compile(r"\bhow (?P<adjective>little|few)\b(?: [^\s,;?]+){1,5}? (?:can|could|may|might)\b"),
    re.compile(rf"\bhur {_ADJECTIVE} (?:kan|går|når)\b(?:.*?\b(?P<verb>{_REACH})\b)?"),
)
_WHERE = rf"(?:what|which|how|vilken|vilket|hur)\b(?:.*?\b(?P<verb>{_REACH})\b)?"
_ENDS = (
    ("max", re.compile(rf"\b(?:up to|upp till) {_WHERE}")),
    ("min", re.compile(rf"\b(?:down to|ner till|ned till) {_WHERE}")),
)
_GRADED = re.compile(r"\b(?P<degree>most|least|mest|minst) (?P<adjective>[^\W\d]+)\b")
_LITTLE = frozenset(("little", "few", "lite", "litet", "liten"))


def phrased_extremes(text: str) -> Iterator[tuple[str, tuple[tuple[int, int], ...], str | None]]:
    """Each turn: `max` or `min`, the spans of its characters, and the adjective that it grades."""
    plain = text.casefold()
    for pattern in _HOW_FAR:
        if match := pattern.search(plain):
            base = _base(match["adjective"])
            if base is not None:
                yield _sign(base), _spans(match), base
                return
    for operation, pattern in _ENDS:
        if match := pattern.search(plain):
            yield operation, _spans(match), None
    for match in _GRADED.finditer(plain):
        base = _base(match["adjective"])
        if base is not None:
            is_reversed = match["degree"] in ("least", "minst")
            operation = _sign(base)
            if is_reversed:
                operation = "min" if operation == "max" else "max"
            yield operation, (match.span(),), base


def _sign(base: str) -> str:
    return "min" if base in adjectives.LOW or base in _LITTLE else "max"


def _spans(match: re.Match[str]) -> tuple[tuple[int, int], ...]:
    """What the turn is made of; what stands before its verb is of the question."""
    if match.groupdict().get("adjective") in ("little", "few"):
        return ((match.start(), match.end("adjective")),)
    if match.groupdict().get("verb") is None:
        return (match.span(),)
    words = re.match(r"\S+ \S+ \S+|\S+ \S+", match.group())
    end = match.start() + (words.end() if words else 0)
    return ((match.start(), end), match.span("verb"))


def _base(word: str) -> str | None:
    """The adjective; Swedish ones without their ending."""
    if word in _LITTLE:
        return word
    for each in (word, word.removesuffix("t"), word.removesuffix("a")):
        if each in adjectives.HIGH or each in adjectives.LOW:
            return each
    return None
