"""Where to cut a text so that an edit moves few cuts: possible places are ranked by their content.

Every word has a rank: first how good a place for a cut it is, then a hash of the words that begin
there. A text is cut in two before the word of lowest rank, and each part again, until all parts
fit. The rank of a word depends only on the words around it, so an edit moves only cuts at its own
place. The hash does not cover the words before: an edited sentence changes the rank of its own
beginning, not that of the next sentence. A treap (Seidel and Aragon 1996) keeps its shape in the
same way. With cuts at a fixed length, every cut after an edit would move.
"""

import numpy as np

from rag_assets.documents.chunks.regions import DocumentText
from rag_assets.documents.chunks.tokens import Words
from rag_assets.schemas import HEADINGS

WORDS_HASHED = 5
"""Number of words that the hash of a place covers."""
ENDS_SENTENCE = ".!?:;"
BLOCK, SENTENCE, WORD, IN_FORMULA = range(4)
"""How good a place for a cut is: before a paragraph, a sentence, a word, or inside a formula."""
CLASS_BITS = 2
BASE = 0x9E3779B97F4A7C15
"""An odd number: it has an inverse modulo 2 to the 64, so that a hash rolls."""


def paragraphs(document: DocumentText, words: Words) -> list[int]:
    """The words that begin a paragraph; the one after a heading stays with it."""
    blocks = document.blocks
    starts = [
        start
        for place, start in enumerate(document.starts)
        if place == 0 or blocks[place - 1].type not in HEADINGS
    ]
    return np.searchsorted(words.starts, starts).tolist()


def ranks(document: DocumentText, words: Words) -> np.ndarray:
    """Rank of a cut before each word (uint64): the lowest is cut at first."""
    classes = _classes(document, words).astype(np.uint64)
    by_content = hashes(document.text, words) >> np.uint64(CLASS_BITS)
    return (classes << np.uint64(64 - CLASS_BITS)) | by_content


def lowest(rank: np.ndarray) -> int:
    """Position of the lowest of `rank`; of several equal ones that in the middle."""
    equal = np.flatnonzero(rank == rank.min())
    return int(equal[len(equal) // 2])


def class_of(rank: np.uint64) -> int:
    """How good a place of that rank is: `BLOCK`, `SENTENCE`, `WORD` or `IN_FORMULA`."""
    return int(rank) >> 64 - CLASS_BITS


def hashes(text: str, words: Words) -> np.ndarray:
    """Polynomial hash of the characters from each word on (Karp and Rabin 1987), well mixed."""
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.uint64)
    powers = _powers(BASE, len(codes))
    sums = np.zeros(len(codes) + 1, np.uint64)
    np.cumsum((codes + np.uint64(1)) * powers[:-1], out=sums[1:])
    count = len(words.starts)
    places = np.arange(count)
    firsts = np.asarray(words.starts)
    ends = np.asarray(words.ends)[np.minimum(places + WORDS_HASHED, count) - 1]
    inverses = _powers(pow(BASE, -1, 1 << 64), len(codes))
    return _mixed((sums[ends] - sums[firsts]) * inverses[firsts])


def _powers(base: int, count: int) -> np.ndarray:
    powers = np.ones(count + 1, np.uint64)
    np.cumprod(np.full(count, base, np.uint64), out=powers[1:])
    return powers


def _mixed(hashes: np.ndarray) -> np.ndarray:
    """Each bit of a hash spread over all (the finalizer of splitmix64)."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def _classes(document: DocumentText, words: Words) -> np.ndarray:
    """`BLOCK`, `SENTENCE` or `WORD` of each word; what follows a heading stays with it."""
    classes = np.full(len(words.starts), WORD, np.uint8)
    codes = np.frombuffer(document.text.encode("utf-32-le"), np.uint32)
    lasts = codes[np.asarray(words.ends) - 1]
    marks = np.frombuffer(ENDS_SENTENCE.encode("utf-32-le"), np.uint32)
    classes[1:][np.isin(lasts[:-1], marks)] = SENTENCE
    blocks = document.blocks
    for place, block in enumerate(blocks):
        if block.type == "formula":
            first, end = np.searchsorted(
                words.starts, (document.starts[place], document.end(place))
            )
            classes[first:end] = IN_FORMULA
    classes[np.searchsorted(words.starts, document.starts)] = WORD
    classes[paragraphs(document, words)] = BLOCK
    return classes
