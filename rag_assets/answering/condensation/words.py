"""Words of English and Swedish that point back to what was said; none of them is of a corpus."""

import re
from typing import Final


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORD: Final = re.compile(r"[^\W\d_]+")

OPENING: Final = re.compile(
    r"""^\s*(?:
      (?:and|but|or|so|then|ok|okay|also|plus|now|right|fine|thanks|thank\s+you)\b
    | (?:what|how)\s+about\b | what\s+of\b | what\s+if\s+(?:it\s+is|it's|i\s+take)\b | same\s+for\b
    | how\s+does\s+(?:it|that|this)\s+(?:look|compare)\s+(?:for|to|with)\b
    | (?:och|men|eller|så|sedan|okej|ok|tack|även|också|då)\b
    | hur\s+(?:är|var|blir|ser)\s+det\s+(?:då\s+)?(?:ut\s+)?(?:med|för|vid|i)\b
    | hur\s+då\s+för\b | vad\s+gäller\s+(?:då\s+)?(?:för\b)? | samma\s+för\b | vad\s+sägs\s+om\b
    )\s*[,:-]?\s*""",
    re.IGNORECASE | re.VERBOSE,
)
"""What a follow-up begins with."""

CLOSING: Final = re.compile(
    r"[\s,]+(?:then|though|instead|too|as\s+well|please|då|istället|i\s+stället|också|med|tack)$",
    re.IGNORECASE,
)
"""What a follow-up ends with."""

POINTING: Final = _listed(
    """it its itself they them their theirs he him his she her hers this these those one ones same
    former latter such there
    den dess de dem deras denna denne detta dessa dom samma sådan sådant sådana dit där
    motsvarande ena""",
)
"""Words that stand for a thing that was named."""
POSSESSIVES: Final = _listed("its their theirs his her dess deras hans hennes")
CLAUSE: Final = re.compile(
    r"\b(?:after|when|if|while|because|and|that|since|before|once|although|so"
    r"|efter|när|om|medan|eftersom|innan|och|att|som)\b",
    re.IGNORECASE,
)
"""Begins a clause in which a word may point to a thing of the clause before it."""
EXISTS: Final = re.compile(
    r"""\b(?:is|are|was|were)\s+there\b | \bthere\s+(?:is|are|was|were)\b
    | \b(?:finns|fanns|gäller|går|blir|händer|är|var)\s+det\b | \bis\s+it\s+(?:possible|true)\b
    | \bin\s+this\s+(?:guide|manual|document)\b | \bwhere\s+there\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Phrases in which such a word stands for nothing."""
DEMONSTRATIVE_THAT: Final = re.compile(
    r"\bthat(?=\s*(?:[?.!,]|$|(?:one|case|value|temperature|state|material|alloy|method)\b))"
    r"|\b(?:of|for|than|with|at|in|on|to|about|is|does|did|was|has|from|by)\s+that\b",
    re.IGNORECASE,
)
POINTING_DET: Final = re.compile(
    r"\b(?:av|för|än|med|vid|i|på|till|om|gör|är|har|ger)\s+det(?=\s*(?:[?.!,]|$))"
    r"|^\s*(?:är|har|kan|gör|ger|behöver|varför\s+\w+)\s+(?:det|den)\b",
    re.IGNORECASE,
)
MORE_OF_IT: Final = _listed(
    """other others another else instead only just further rest
    andra annan annat istället bara endast enbart resten övriga fler"""
)
"""Words that narrow or widen what was asked."""
SENTENCE_WORDS: Final = _listed(
    """is are was were be do does did has have had can could will would should may must which what
    how who whom when where why give show list find tell name compare
    är var blir blev har hade kan kunde ska skall bör får måste gör ger vilken vilket vilka vad hur
    när vem varför ge visa lista hitta nämn jämför finns heter"""
)
"""A text without any of them is a fragment of a question."""
CHOOSES: Final = re.compile(
    r"""^\W*(?:which|what|vilken|vilket|vilka)\s+
    (?!(?:one|ones|of|av|is|are|was|were|has|have|had|does|do|did|will|är|var|har|hade)\b)[^\W\d_]+
    .*\b(?:most|least|highest|lowest|best|worst|[^\W\d_]{3,}est
    |mest|minst|högst|lägst|bäst|sämst|störst|[^\W\d_]{3,}ast)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Asks which thing of a kind that it names is at an end of a scale: of all of that kind."""
ASKS_WHICH: Final = re.compile(
    r"^\W*(?:\w+\s+){0,2}?(?:which|what|who|vilken|vilket|vilka|vem|vad)\b", re.IGNORECASE
)
