"""The words of a prompt that ask for a report and its parts, in English and Swedish."""

import re

_FLAGS = re.IGNORECASE | re.VERBOSE
_ASKING = r"""(?:please\s+|(?:can|could|would|kan|skulle)\s+(?:you|du)\s+(?:please\s+)?
    | i\s+(?:need|want|would\s+like)\s+|jag\s+(?:behöver|vill\s+ha)\s+|help\s+me\s+(?:to\s+)?)*"""
_MAKING = r"""(?:write|prepare|create|produce|draft|compile|generate|give|provide|make|compose
    | skriv|skriva|ge|gör|ta\s+fram|sammanställ|skapa|utarbeta)"""
_KIND = r"""(?:report|overview|summary|guide|review|description|explanation|introduction|document
    | article|analysis|survey|account|brief|chapter|text|primer
    | rapport|översikt|sammanfattning|guide|genomgång|beskrivning|redogörelse|introduktion|text)"""
_ABOUT = r"""(?:on|of|about|for|to|into|over|(?:that|which)\s+(?:describes|explains|summari[sz]es)
    | describing|explaining|summari[sz]ing|comparing
    | om|av|över|kring|till|för|som\s+(?:beskriver|förklarar|sammanfattar|jämför))"""
_IN_FORM = r"""(?:\s+(?:in|as)\s+(?:an?\s+)?(?:tables?|tabular|list|bullets?)
        (?:\s+(?:form(?:at)?|points?))?
    | \s+(?:in\s+(?:english|swedish)|på\s+(?:svenska|engelska)|i\s+(?:tabellform|punktform))
    | \s+(?:of|på)\s+(?:max\w*\.?\s+|at\s+most\s+|about\s+|högst\s+)?[\w-]+\s+
        (?:pages?|words|sid(?:a|or)))"""
_LISTED = r"""(?:topics?|aspects?|areas?|points?|sections?|subjects?|questions?|chapters?|contents?
    | ämnen|punkter|avsnitt|frågor|kapitel)"""

REQUEST = re.compile(
    rf"""^{_ASKING}(?:
      (?:{_MAKING}\s+(?:me\s+|us\s+|mig\s+|oss\s+)?)?(?:(?:an?|the|en|ett)\s+)?
        (?:[\w-]+,?\s+){{0,4}}?{_KIND}{_IN_FORM}?\s+(?!comparing\b|som\s+jämför\b){_ABOUT}\s+
    | (?:{_MAKING}\s+(?:me\s+|us\s+|mig\s+|oss\s+)?)?(?:(?:an?|the|en|ett)\s+)?
        (?:[\w-]+,?\s+){{0,4}}?{_KIND}\s+(?=comparing\b|som\s+jämför\b)
    | (?:describe|explain|summari[sz]e|discuss|outline|present|review|document|analy[sz]e|cover
        | report\s+on|write\s+about|tell\s+(?:me|us)\s+(?:all\s+|everything\s+)?about
        | beskriv|förklara|sammanfatta|redogör\s+för
        | diskutera|skriv\s+om|berätta\s+om)\s+
    )""",
    _FLAGS,
)
"""What stands before the topic: `Write a short report on`."""
_NO_PRONOUN = r"(?!(?:it|this|that|them|these|det|detta|dessa)\b)"
REQUEST_WITHIN = re.compile(
    rf"""^report\s+on\s+{_NO_PRONOUN} | \b(?:{_MAKING}|need|want|would\s+like|behöver|vill\s+ha)\s+
        (?:(?:to\s+have|me|us|mig|oss|bitte)\s+)?(?:(?:an?|the|en|ett)\s+)?
        (?:[\w-]+,?\s+){{0,4}}?{_KIND}{_IN_FORM}?\s+{_ABOUT}\s+{_NO_PRONOUN}""",
    _FLAGS,
)
"""A request behind other words: `Your task is to write a report on`."""
ANOTHER_REPORT = re.compile(
    rf"""^{_ASKING}(?:also\s+|även\s+|and\s+|och\s+)?{_MAKING}\s+(?:me\s+|us\s+|mig\s+|oss\s+)?
        (?:also\s+|även\s+)?(?:(?:an?|en|ett)\s+)?(?:[\w-]+\s+){{0,3}}?
        (?:report|rapport)\s+{_ABOUT}\s+{_NO_PRONOUN}""",
    _FLAGS,
)
"""What begins a request for one more report, of another topic."""
A_TEXT_ABOUT = re.compile(
    rf"""^(?:{_ASKING}{_MAKING}\s+)?(?:an?|en|ett)\s+(?:[\w-]+\s+){{0,2}}?
        (?:{_KIND}|section|chapter|paragraph|avsnitt|kapitel|stycke)\s+{_ABOUT}\s+{_NO_PRONOUN}""",
    _FLAGS,
)
"""What stands before one more part: `a section on`."""
BARE = re.compile(
    rf"^{_ASKING}(?:{_MAKING}\s+)?(?:(?:an?|the|en|ett)\s+)?(?:[\w-]+,?\s+){{0,4}}?{_KIND}s?"
    rf"(?:\s+(?:with|med)\s+(?:the\s+|these\s+|följande\s+|dessa\s+)?(?:following\s+)?{_LISTED})?$"
    rf"|^(?:the\s+)?{_LISTED}$",
    _FLAGS,
)
"""A request without a topic: `Write a report`."""
COMPARING = re.compile(
    rf"""^{_ASKING}(?:{_MAKING}\s+)?(?:(?:an?|the|en|ett)\s+)?(?:[\w-]+\s+){{0,2}}?
    (?:compare|comparing|comparison\s+(?:of|between)|differences?\s+between|contrast
    | jämför|jämföra|som\s+jämför|jämförelse\s+(?:av|mellan)
    | skillnad(?:en|er|erna)?\s+mellan)\s+""",
    _FLAGS,
)
COMPARED = re.compile(r"\s+(?:and|with|to|against|versus|vs\.?|och|med|mot)\s+", re.IGNORECASE)
"""What stands between two things that are compared."""
COVERING = re.compile(
    r"""[,;]?\s+(?:(?:and|och)\s+)?\(?(?:
      covering | including | addressing | discussing | describing | explaining | regarding
    | touching\s+(?:up)?on | focus(?:ing|ed)\s+on | namely | in\s+particular | in\s+terms\s+of
    | considering
    | (?:that|which)\s+(?:should\s+|must\s+)?(?:also\s+)?(?:covers?|includes?|address(?:es)?
        | discuss(?:es)? | has\s+sections\s+on)
    | with\s+(?:an?\s+)?(?:\w+\s+)?(?:focus|emphasis|attention|sections?|chapters?|parts?)\s+
        (?:on|to|about|for)
    | with\s+(?:respect|regard)\s+to
    | inklusive | däribland | nämligen | särskilt | vad\s+gäller | i\s+fråga\s+om
    | som\s+(?:ska\s+)?(?:täcka|täcker|omfattar?|tar\s+upp|behandlar|beskriver|innehåller)
    | med\s+(?:avsnitt|kapitel|fokus|tonvikt|avseende|tyngdpunkt)\s+(?:om|på)
    )\b:?\s+ | :\s+ | ,\s+(?:with|med)\s+""",
    _FLAGS,
)
"""What stands between the topic and the list of its parts."""
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
WITH = re.compile(r"\s+(?:with|med)\s+", re.IGNORECASE)
"""The same, where a list of three parts or more follows."""
_DEMANDING = r"""(?:cover|include|describe|explain|discuss|address|mention|summari[sz]e|outline
    | contain|state|list|give|show|compare|have\s+sections\s+on|focus\s+on
    | täcka?|inkludera|beskriv(?:a)?|förklara|diskutera|behandla|nämn(?:a)?|redogör(?:a)?\s+för
    | ta\s+(?:också\s+|även\s+)?(?:med|upp)|innehålla|omfatta|ange|jämför(?:a)?)"""
DEMAND = re.compile(
    rf"""^(?:in\s+particular,?\s+)?(?:i\s+am|i'm|we\s+are|we're)\s+(?:\w+\s+)?interested\s+in\s+
    | ^(?:(?:the\s+(?:report|text|document)|it|this|rapporten|texten|den)\s+
        (?:should|must|shall|needs\s+to|has\s+to|ska|bör|måste)\s+)?
    {_ASKING}(?:(?:also|then|finally|further|in\s+addition|be\s+sure\s+to|make\s+sure\s+to|även|också
        |dessutom|slutligen),?\s+)*
    {_DEMANDING}\s+(?:(?:also|även|också)\s+)?""",
    _FLAGS,
)
"""What begins a sentence that demands more parts: `It should cover`, `I am interested in`."""
AND_DEMAND = re.compile(
    rf",?\s+(?:and|och)\s+(?:also\s+|även\s+|then\s+|sedan\s+)?(?={_DEMANDING}\s)", _FLAGS
)
"""What stands before a second demand in one sentence: `Describe A and explain B`."""
OF_FORM = re.compile(
    r"""^(?:please\s+|also\s+|gärna\s+)*(?:
      cite | keep | format | limit | max(?:imum|imalt|imally)? | at\s+most | no\s+(?:more|longer)
    | do\s+not | don't | answer\s+in | högst | svara\s+på
    | (?:it|this|the\s+(?:report|text)|den|rapporten|texten)\s+(?:should|must|shall|ska|bör|får)\s+
        (?:not\s+|inte\s+)?(?:be|exceed|vara|överstiga)
    | write\s+(?:in|it|for|at) | use\s+ | structure\s+ | end\s+with
    | (?:include|give|add|list)\s+(?:the\s+|your\s+|all\s+)?
        (?:sources|citations|references|headings)
    | håll | skriv\s+på | använd | (?:ange|ta\s+med)\s+(?:källor|referenser|hänvisningar))\b""",
    _FLAGS,
)
"""What begins a sentence on the form of the report, which is no topic."""
PART_OF_FORM = re.compile(
    r"""(?:(?:short|brief|kort)\s+)?(?:introduction|conclusions?|abstract|(?:executive\s+)?summary
    | (?:cover|title|front)\s+page | table\s+of\s+contents | references | bibliography | sources
    | citations | appendi(?:x|ces) | headings | tables | figures | bullet\s+points
    | inledning | introduktion | slutsats(?:er)? | sammanfattning | försättsblad
    | innehållsförteckning | referenser | källor | källförteckning | bilag(?:a|or) | tabeller)""",
    _FLAGS,
)
"""A part that every report may have, and that names no topic."""
AND_SO_ON = re.compile(
    r"(?:^|,?\s+)(?:(?:and|och)\s+)?(?:etc|et\s+cetera|so\s+on|so\s+forth|mm|m\.m|osv|o\.s\.v)\.?$"
    r"|\s*(?:\.\.\.|\u2026)$",
    re.IGNORECASE,
)
"""What ends a list that is not complete."""
PURPOSE = re.compile(
    r"\s+(?:for|för|till)\s+(?:my|our|the|min|mitt|vår|vårt)\s+(?:[\w-]+\s+){0,2}"
    r"(?:meeting|boss|manager|management|client|customer|presentation|workshop|colleagues?|team"
    r"|mötet?|chef|kund(?:en)?|ledningen|presentationen|kollegor)"
    r"(?:\s+(?:on|next|this|at|tomorrow|på|nästa|i)\s.*|\s+tomorrow)?$",
    re.IGNORECASE,
)
"""Whom the report is for, behind its topic."""
LEADING = re.compile(
    rf"""^(?:and|or|och|samt|plus|as\s+well\s+as|along\s+with|both|at\s+least|liksom|även|finally
    | (?:the\s+|följande\s+)?(?:following\s+)?{_LISTED}
        (?:\s+(?:such\s+as|like|on|såsom|om))?\s*:?(?!\s+\d)
    | with\s+(?:an?\s+)?(?:\w+\s+)?(?:focus|emphasis|attention|sections?)\s+(?:on|to|about)
    | such\s+as | one\s+(?:on|about) | the | a | an | their | its | deras | dess)\s+""",
    _FLAGS,
)
"""Words before a part that belong to its list and not to it."""
ASKS = re.compile(
    r"^(?:how|what|which|why|when|where|who|whether|hur|vad|vilk(?:a|en|et)|varför|när|var|vem|om)\b",
    re.IGNORECASE,
)
"""What begins a part that is a question."""
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
PLACE = re.compile(r"\s(?:in|within|for|of|inom|i|för|hos|på)\s(?P<place>[^,;]+)$", re.IGNORECASE)
"""What the last part of a list says of all: `A, B and C in OpenFOAM`."""
