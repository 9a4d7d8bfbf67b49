"""Texts that say nothing: icons, page numbers, menus, the single word of a button."""

import re
from unicodedata import east_asian_width

_WORD = re.compile(r"[^\W\d_]{2,}")
_PAGE_NUMBER = re.compile(
    r"\W*(?:page|p|sida|sid|s)?\W*\d{1,4}\W*(?:(?:of|av)?\W*\d{1,4}\W*)?", re.IGNORECASE
)
_ENTRY = r"[^\W\d_]+(?: [^\W\d_]+){0,2}"
_LINK = r"(?:[-*+] +)?\[[^\[\]]*\]\([^()]*\)"
_MENU = re.compile(
    rf"{_ENTRY}(?: [|\u00b7\u2022\u00bb\u203a>] {_ENTRY}){{2,}}"
    rf"|{_LINK}(?:\s*[|\u00b7\u2022\u00bb\u203a>]?\s*{_LINK}){{2,}}"
)
"""At least three entries on one line, or three links and nothing else."""
LONGEST_PAGE_NUMBER, LONGEST_MENU = 40, 1_000
"""Characters."""
LONGEST_WORD = 30
"""Letters; more of them without a blank are a sentence of a script that writes without blanks."""


def says_nothing(text: str) -> bool:
    """Whether nobody could find an answer in `text`: a menu, or one word that is no sentence.

    A designation or a value says something: `S355J2`, `355 MPa`.
    """
    shown = text.strip()
    if len(shown) <= LONGEST_PAGE_NUMBER and _PAGE_NUMBER.fullmatch(shown):
        return True
    if len(shown) <= LONGEST_MENU and _MENU.fullmatch(shown):
        return True
    words = _WORD.findall(text)
    if words and shown.endswith((".", "!", "?")):
        return False
    if len(words) > 1 or max(map(len, words), default=0) > LONGEST_WORD:
        return False
    if any(east_asian_width(character) == "W" for word in words for character in word):
        return False
    return not (any(map(str.isdigit, text)) and any(map(str.isalpha, text)))
