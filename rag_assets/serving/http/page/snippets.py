"""The part of a hit that fits a query, as HTML: rows as rows, words of the query marked."""

import re
from functools import lru_cache

from markupsafe import Markup, escape

from rag_assets.answering.quoting.highlighting import header_of
from rag_assets.answering.quoting.pieces import Piece, cells_of, pieces_of
from rag_assets.serving.http.bodies import HitReply
from rag_assets.terms.words import Vocabulary, has_number, lemma_of, terms

LENGTH = 320
"""Characters that are shown, at most."""
ROWS = 3
BEFORE = 60
"""Characters before the first word of the query, where it stands far inside a long sentence."""
_WORD = re.compile(r"\w+(?:[.,]\d+)*")
_FORMULA = re.compile(r"\$\$(.{1,1000}?)\$\$", re.DOTALL)
_HEADING_MARK = re.compile(r"^#{1,6} ", re.MULTILINE)


class QueryWords:
    """The words of a query, to be marked where a text has them in any form."""

    def __init__(self, query: str) -> None:
        """Read the words that name something."""
        self._terms = {*terms(query)}
        self._lemmas = {lemma_of(each) for each in self._terms}
        self._alike = Vocabulary(each for each in self._terms if not has_number(each))

    def marked(self, text: str) -> Markup:
        """`text` as HTML, these words marked."""
        parts = re.split(f"({_WORD.pattern})", text)  # words stand at the odd places
        marked = Markup("<mark>{}</mark>")
        return Markup().join(
            marked.format(part) if at % 2 and self.has(part) else escape(part)
            for at, part in enumerate(parts)
        )

    def count_in(self, text: str) -> int:
        """How many different ones `text` has."""
        return len({each.casefold() for each in _WORD.findall(text) if self.has(each)})

    def has(self, text: str) -> bool:
        """Whether a word is one of them."""
        word = text.casefold()
        if word in self._terms or has_number(word):
            return word in self._terms
        return lemma_of(word) in self._lemmas or self._alike.share_of(word) > 0


def snippet_of(hit: HitReply, query: str) -> Markup | list[list[Markup]]:
    """The part of a hit with most of the words of `query`; its first one where none has any.

    Rows of a table come as their cells, the header first.
    """
    words = QueryWords(query)
    text = hit.text[header_of(hit.text, f"{hit.title} {hit.section} {hit.uri}") :] or hit.text
    pieces = pieces_of(text) or [Piece(0, len(text), "fragment")]
    best = max(pieces, key=lambda each: words.count_in(text[each.start : each.end]))
    below = [each for each in pieces if each.kind == "row" and each.start >= best.start]
    if best in below and best.lead:
        rows = [best.lead, *((each.start, each.end) for each in below if each.lead == best.lead)]
        cells = (cells_of(text[slice(*each)]) for each in rows[: ROWS + 1])
        return [[*map(words.marked, each)] for each in cells]
    end = below[0].lead[0] if below and below[0].lead else len(text)
    plain = _FORMULA.sub(lambda found: _plain(found[1]), text[best.start : end])
    said = " ".join(_HEADING_MARK.sub("", plain).split())
    first = next((each.start() for each in _WORD.finditer(said) if words.has(each[0])), 0)
    start = said.rfind(" ", 0, first - BEFORE) + 1 if first > LENGTH // 2 else 0
    shown = said[start : start + LENGTH]
    before = "… " if start or text[: best.start].strip() else ""
    after = " …" if start + len(shown) < len(said) or text[end:].strip() else ""
    return Markup("{}{}{}").format(before, words.marked(shown), after)


@lru_cache(maxsize=1_000)
def _plain(latex: str) -> str:
    """LaTeX as text, its signs and letters as people know them."""
    from pylatexenc.latex2text import LatexNodes2Text

    try:
        return LatexNodes2Text().latex_to_text(latex.strip())
    except Exception:  # whatever it is: a formula of a document may be of any kind
        return latex
