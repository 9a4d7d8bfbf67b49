"""Which language texts are in, told by their most frequent words: cheap, offline, a rough mix.

A text belongs to the language of which it has the most stop words, and to `other` where it has
fewer than two of any: numbers, names, a language that is not listed. The words begin and end in
ASCII letters, because RE2 knows no other word boundaries.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

STOP_WORDS: Mapping[str, str] = {
    "en": "the of and to in is that for it with as was on are be by this which or from at an not "
    "can have has been if will when these each must",
    "sv": "och att som det av med den till inte om ett har de men var kan ska vid eller efter en "
    "i ej kap avses enligt samt anges skall genom detta denna dessa mellan minst under ur vilken "
    "vilket vilka blir finns hur inom utan",
    "de": "der die und das ist nicht mit von dem ein eine auf im zu des sich bei oder wird werden "
    "den sind als durch nach aus wie kann wenn",
    "fr": "le la les des et est une dans pour que qui sur avec par du au aux ce cette sont pas ou",
    "es": "el los las del y es una para que por con se su al como son lo esta este",
    "it": "il di che della per con una sono del nel alla dei gli le non si da come anche",
    "nl": "het een van en op te dat zijn voor met niet aan er bij ook wordt worden deze dit",
    "fi": "ja ei se ovat joka tai kun sen mukaan kuin voidaan ole niin jos",
}
OTHER = "other"
FEWEST_WORDS = 2
CHARACTERS = 1_000
"""Characters of a text that are looked at."""

_PATTERNS = {
    code: rf"\b({'|'.join(dict.fromkeys(words.split()))})\b" for code, words in STOP_WORDS.items()
}


def languages_of(texts: pa.Array) -> Counter[str]:
    """How many of `texts` are in each language."""
    codes = [*_PATTERNS, OTHER]
    found, numbers = np.unique(_places(texts), return_counts=True)
    return Counter({codes[place]: int(n) for place, n in zip(found, numbers, strict=True)})


def language_of_each(texts: pa.Array) -> pa.Array:
    """The language of each of `texts`; null where it cannot be told, as for two at a draw."""
    codes = pa.array([*_PATTERNS, None], pa.string())
    return codes.take(pa.array(_places(texts)))


def _places(texts: pa.Array) -> np.ndarray:
    """For each text the place of its language among the patterns; one past the last for none."""
    if not len(texts):
        return np.empty(0, dtype=np.int64)
    heads = pc.utf8_lower(pc.utf8_slice_codeunits(texts, 0, CHARACTERS))
    counts = np.stack(
        [
            pc.count_substring_regex(heads, pattern=pattern).to_numpy(zero_copy_only=False)
            for pattern in _PATTERNS.values()
        ]
    )
    most = counts.max(axis=0)
    is_unknown = (most < FEWEST_WORDS) | ((counts == most).sum(axis=0) > 1)
    return np.where(is_unknown, len(_PATTERNS), counts.argmax(axis=0))
