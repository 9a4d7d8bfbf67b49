"""Sentences of a language model that say that its sources do not hold something, in any words.

The prompt asks for one form; many models write their own, in English or Swedish. Such a sentence
cites nothing that could support it, and is no answer.
"""

import re

LONGEST = 400
"""Characters of a sentence that is looked at."""
_SOURCES = (
    r"(?:the |these |any of the |de |dessa )?"
    r"(?:(?:provided|given|available|numbered|cited|supplied|retrieved|angivna|givna) )*"
    r"(?:sources?|contexts?|information|documents?|passages?|excerpts?|snippets?|texts?"
    r"|k\u00e4llorna|k\u00e4llor|dokumenten|texterna)"
    r"(?: (?:provided|given|above|shown))?"
)
_SAY = (
    r"(?:mention|contain|provide|specify|say|state|include|give|describe|address|cover|indicate"
    r"|discuss|explain|answer|hold|list|reveal|offer|have)"
)
_SAY_IN_SWEDISH = r"(?:anger|n\u00e4mner|s\u00e4ger|inneh\u00e5ller|beskriver|ger|uppger|svarar)"
_ABOUT = (
    r"(?:(?:any |enough |specific |sufficient )*(?:information|details?|data|answers?)\b ?)?"
    r"(?:(?:about|on|regarding|for|to|of)\b)?"
)
_OPENING = (
    r"(?:(?:unfortunately|however|sorry|i(?:'m| am) sorry|but|tyv\u00e4rr|d\u00e4remot),? ?)*"
    r"(?:(?:based on|from|according to|given) [^,]{0,60}, )?"
)
_CANNOT = r"(?:can ?not|can't|could not|couldn't|am unable to|are unable to|do not|don't)"
_DO_NOT = r"(?:(?:do|does|did) not|don't|doesn't|didn't)"
_WHAT = r"\b ?(?P<what>.*?)"
_FORMS = [
    re.compile(rf"{_OPENING}{form}\W*", re.IGNORECASE)
    for form in (
        rf"{_SOURCES} {_DO_NOT} (?:\w+ )?{_SAY}\b ?{_ABOUT}{_WHAT}",
        rf"{_SOURCES} {_SAY}s? no(?:thing)?\b ?{_ABOUT}{_WHAT}",
        rf"there (?:is|are|was|were) no(?:thing)?\b ?{_ABOUT}{_WHAT} in {_SOURCES}",
        rf"(?P<what>.*?) (?:is|are|was|were) (?:not|nowhere) (?:\w+ ){{0,2}}(?:in|by) {_SOURCES}",
        rf"(?:i|we) {_CANNOT} (?:answer|find|determine|know|help|provide|say|tell){_WHAT}",
        rf"{_SOURCES} {_SAY_IN_SWEDISH} (?:inte|inget|ingen|inga|ej){_WHAT}",
        rf"(?P<what>.*?) (?:framg\u00e5r|st\u00e5r|n\u00e4mns|finns) inte (?:i|av) {_SOURCES}",
        rf"jag (?:kan|vet|hittar) inte(?: (?:svara p\u00e5|hitta|s\u00e4ga|besvara))?{_WHAT}",
    )
]


def what_is_lacking(sentence: str) -> str | None:
    """What the sources do not hold, by a sentence that says so; it may be empty. Else None."""
    said = " ".join(sentence.replace("\u2019", "'").split())
    if len(said) > LONGEST:
        return None
    found = next((match for form in _FORMS if (match := form.fullmatch(said))), None)
    return found["what"].strip(" .,;:?!") if found else None
