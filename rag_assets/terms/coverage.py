"""What a question asks for, term by term, and which of it a text holds.

Numbers, identifiers and names are strict terms: they are there or they are not, and a text without
them is mostly about something else. All other words count by their lemma.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rag_assets.terms.spelling import UNSEEN_WITHIN, plainly_spelled, seen
from rag_assets.terms.words import JOINING, lemma_of, parts_of, plain

TermKind: TypeAlias = Literal["number", "identifier", "name", "word"]

STRICT_WEIGHT = 3.0
"""What a number, an identifier or a name counts, where a word counts 1."""
_TOKEN = re.compile(r"[^\W_]+(?:(?:[-./:+]|(?<=\d),(?=\d))[^\W_]+)*")
_SIGN = rf"(?:[^\W_]{UNSEEN_WITHIN})"
_AS_TYPED = re.compile(rf"{_SIGN}+(?:(?:[-./:+]|(?<=\d),(?=\d)){_SIGN}+)*")
"""The same, with the characters in it that nobody sees."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_VERSION = re.compile(r"^v(?=\d)", re.IGNORECASE)
"""`v1.2` is 1.2."""
_ENDS_SENTENCE = re.compile(r"[.?!:]\s*[\"'“”(]*$")


@dataclass(frozen=True, slots=True)
class SoughtTerm:
    """A term of a question."""

    text: str
    """The term as the question has it."""
    kind: TermKind
    start: int
    """First character in the question."""

    @property
    def weight(self) -> float:
        """How much it counts."""
        return 1.0 if self.kind == "word" else STRICT_WEIGHT

    @property
    def end(self) -> int:
        """One past the last character."""
        return self.start + len(self.text)


class HeldTerms:
    """The terms of a text, to look for those of a question among them."""

    def __init__(self, text: str) -> None:
        """Read `text` once; looking is fast then."""
        self._numbers: set[str] = set()
        self._tokens: set[str] = set()
        for match in _TOKEN.finditer(plainly_spelled(text)):
            token = match.group()
            self._numbers.update(map(_canonical, _NUMBER.findall(token)))
            self._tokens.add(plain(token))
            self._tokens.update(part.casefold() for part in parts_of(token))
        self._lemmas = {lemma_of(token) for token in self._tokens}

    def has(self, term: SoughtTerm) -> bool:
        """Whether the text holds `term`."""
        text = plainly_spelled(term.text)
        match term.kind:
            case "number":
                return _canonical(text) in self._numbers
            case "identifier":
                forms = {plain(text), plain(_VERSION.sub("", text))}
                return not forms.isdisjoint(self._tokens)
            case _:
                return plain(text) in self._tokens or self._has_parts(text)

    def _has_parts(self, text: str) -> bool:
        return all(lemma_of(part.casefold()) in self._lemmas for part in parts_of(text))


def terms_of(question: str) -> tuple[SoughtTerm, ...]:
    """The terms of `question`, in their order, each once."""
    found = {plain(seen(term.text)): term for term in reversed([*_terms(question)])}
    return tuple(sorted(found.values(), key=lambda term: term.start))


def coverage(terms: Sequence[SoughtTerm], texts: Iterable[HeldTerms]) -> float:
    """Weighted share of `terms` that at least one of `texts` holds; 1 if there are no terms."""
    held = list(texts)
    total = sum(term.weight for term in terms)
    found = sum(term.weight for term in terms if any(text.has(term) for text in held))
    return found / total if total else 1.0


def _terms(question: str) -> Iterator[SoughtTerm]:
    for match in _AS_TYPED.finditer(question):
        token = seen(match.group())
        if token.casefold() in JOINING:
            continue
        kind = _kind_of(token, is_first=begins_sentence(question[: match.start()]))
        if kind == "number" or len(token) > 1:
            yield SoughtTerm(match.group(), kind, match.start())


def _kind_of(token: str, *, is_first: bool) -> TermKind:
    if _NUMBER.fullmatch(token):
        return "number"
    has_digit = any(character.isdigit() for character in token)
    capitals = sum(character.isupper() for character in token)
    if (has_digit and any(map(str.isalpha, token))) or capitals > 1:
        return "identifier"
    return "name" if capitals and not is_first else "word"


def begins_sentence(before: str) -> bool:
    """Whether the next word after `before` begins a sentence."""
    return not before.strip() or _ENDS_SENTENCE.search(before) is not None


def _canonical(number: str) -> str:
    """A number without thousands separators and zeros that say nothing, the comma as a point."""
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", number):
        number = number.replace(",", "")
    whole, _, rest = number.replace(",", ".").partition(".")
    rest = rest.rstrip("0")
    return f"{whole.lstrip('0') or '0'}{'.' if rest else ''}{rest}"
