"""Words of questions in English and Swedish: what they ask for, and which say nothing of a table.

All of it is general: no word of a corpus stands here. Words of a trade come from the headings, the
values and the glossary. A word stands in its lemma or as it is written, without regard to case.
"""

from collections.abc import Mapping
from typing import Final


def words_in(text: str) -> frozenset[str]:
    """The words of `text`, which blanks part."""
    return frozenset(text.split())


HARMLESS: Final = words_in(
    """a an the of in on at to for from by with within among amongst and or but as is are was
    were be
    been being do does did done has have had having can could will would may might must that this
    these those it its their they them there here which what who whom whose where when how much many
    me my i you your we our us show give tell list find name get say s t if then so than
    any every some such into out up under any all both also only just still please
    about across over through during according go going run runs ran make made
    value values figure figures amount amounts number numbers result results reading readings
    between after more less single observed seen far stand stands declared kind
    row rows record records entry entries item items line lines data dataset table tables sheet
    database measurement measurements case cases test tests tested
    record recorded report reported list listed tabulated give given show shown state stated measure
    measured register registered store stored contain contains containing include includes included
    including exist exists existing occur occurs available found find known call called named hold
    holds appear appears belong belongs reach reached reaches reaching remain remains keep keeps
    judging judged taking considering considered counting comparing looking need needs want wants
    interested expect expected possible match matches matching simply went go goes took
    ever yet still already too spent labelled labeled well simply grade grades material materials
    mention mentioned describe described specify specified carry carries assume assumed
    fall falls range lie lies come comes equal equals exactly precisely
    kind type sort class set group scale level condition conditions respectively one ones
    en ett den det de dem dess deras av i på vid till för från med inom bland och eller men som är
    var vara varit blir blev bli har hade ha kan kunde ska skulle finns fanns finnas det detta dessa
    denna här där vilken vilket vilka vad vem vems när hur mycket många
    mig min jag du din ni vi vår visa ge lista ange nämn hitta säg berätta om än så sin sitt sina
    alla båda både också bara under över genom enligt
    mellan efter mer mindre enstaka enkel
    värde värden värdet antal mängd resultat rad rader raden raderna post poster posterna post
    hos att gånger ens sedan som redan
    tabell tabellen data mätning mätningar mätningarna fall prov provad provade provat provats
    testad testade testat rapporterad rapporterade rapporterats rapporterat angiven angivna anges
    angivet listad listade uppmätt uppmätta mätt registrerad registrerade registrerats registrerat
    innehåller innehålla ingår finna funnen heter kallas ligger uppgår nå når klass grupp slag sort
    uppvisar just precis exakt lika tillstånd tillståndet st stycken"""
)
"""Words that a reading need not explain."""

CLASSING: Final = words_in(
    """class classes group groups set sets scale scales level levels condition conditions type types
    kind kinds sort sorts grade grades material materials klass klasser grupp grupper slag sort
    sorter tillstånd nivå nivåer typ typer"""
)
"""General words that are no more so in a table with such a heading: `group 4`, `class A`."""

FILLING: Final = (
    *("together with", "limits included", "both ends included", "ends included", "inclusive"),
    *("ended up", "end up", "ends up", "turned out to be", "turned out"),
    *("tillsammans med", "instead of", "i stället för", "istället för", "rätt och slätt"),
)
"""Phrases that a reading need not explain."""
HOW_GREAT: Final = words_in("stor stort hog hogt lag lagt liten litet")
"""Adjectives that ask for an amount after `hur`."""
GLUE: Final = words_in(
    "a an the of in on at to is are was for by och av i på en ett den det som är"
)
"""Words that no heading begins or ends with."""
ROW_WORDS: Final = words_in(
    """row record entry item line case test measurement specimen sample one ones
    rad post prov provning mätning fall"""
)
"""Words for a row of a table."""
HARMLESS_LEMMAS: Final = words_in(
    """place put do make perform execute carry run conduct base locate situate
    need require take come
    express define state quote specify declare document publish belong mention
    judge consider expect call label name classify categorise categorize designate determine
    calculate
    stand hold use find report record list measure test show give exist occur get issue register
    finnas göra utföra genomföra ligga stå sitta registrera rapportera ange lista mäta uppmäta prova
    testa visa innehålla placera förekomma behöva ta få komma använda notera
    hålla lägga gång sätta"""
)
"""Verbs in their lemma that a reading need not explain."""
NOT_A_LOOKUP: Final = words_in(
    "why varför should borde bör explain förklara recommend rekommendera"
)
"""A question with one of them asks for reasons or advice."""
NOT_A_LOOKUP_PHRASES: Final = (
    "how do i",
    "how do you",
    "how can i",
    "how is it that",
    "hur gör man",
    "what does it mean",
    "vad innebär",
    "vad beror",
    "how come",
)

NOT_IN_A_PLAN: Final = words_in(
    """different distinct unique olika unika median medianen mode percentile quartile
    correlation korrelation trend trends ratio kvot proportion andelen share percentage
    second third andra tredje per pro varje each deviation variance standardavvikelse
    except utom excluding förutom unless neither nor varken either most mest
    roughly approximately around ungefär cirka ca nearly almost nästan
    increase decrease growth ökning minskning double twice half dubbelt hälften"""
)
"""Words that ask for more than a plan can say; a heading or a value may still hold one."""

VAGUE: Final = words_in(
    """good bad better worse nice suitable proper appropriate acceptable normal typical usual
    expensive cheap high low large small big great strong weak hard soft heavy light fast slow hot
    cold long short thick thin wide narrow old young new recent late early rich poor tough
    stor stort hög högt låg lågt liten litet
    bra dålig dåliga lämplig lämpliga rimlig rimliga vanlig vanliga dyr dyra billig billiga höga
    låga stora små starka svaga hårda mjuka tunga lätta snabba långsamma varma kalla långa korta
    tjocka tunna gamla unga nya sena tidiga"""
)
"""Judgements without a limit, where no number, name or heading gives them one."""

OPERATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "count": (
        *("how many", "number of", "count of", "count", "how often", "how many times"),
        *("hur många", "antal", "antalet", "hur ofta", "hur många gånger"),
    ),
    "distinct": (
        *("how many different", "how many distinct", "how many unique", "number of different"),
        *("number of distinct", "number of unique", "hur många olika", "hur många unika"),
        *("antal olika", "antalet olika"),
    ),
    "median": ("median", "medianen", "medianvärde", "medianvärdet"),
    "mean": (
        *("average", "mean", "on average", "in the mean", "averaged", "averages"),
        *("medel", "medelvärde", "medelvärdet", "genomsnitt", "genomsnittlig", "genomsnittliga"),
        *("genomsnittet", "genomsnittligt", "i snitt", "i medel", "snitt", "i genomsnitt"),
        *("snittet", "medeltal"),
    ),
    "sum": (
        *("adding up", "adding together", "add up", "added up", "summing up"),
        *("sum", "total", "in total", "combined", "altogether", "sum of", "overall", "summed"),
        *("summa", "summan", "totalt", "totala", "sammanlagt", "sammanlagda", "tillsammans"),
        *("sammanlagd", "total sum"),
    ),
    "max": (
        *("highest", "largest", "greatest", "maximum", "max", "biggest", "most", "top", "peak"),
        *("at most", "at best", "best", "upper", "maximal", "tops", "topped"),
        *("last to be", "latest to be"),
        *("högsta", "högst", "största", "störst", "maximala", "maximal", "maximalt", "bäst"),
        *("bästa", "mest", "som högst", "som mest", "flest"),
    ),
    "min": (
        *("lowest", "smallest", "minimum", "min", "least", "fewest", "at least", "worst"),
        *("minimal", "bottom", "first to be", "earliest to be"),
        *("lägsta", "lägst", "minsta", "minst", "minimala", "minimal", "minimalt", "som lägst"),
        *("sämst", "sämsta", "som minst", "färst"),
    ),
    "range": (
        *("spread", "span", "range", "gap between", "how wide is the variation", "variation"),
        *("spridning", "spridningen", "spann"),
        *("spannet", "variationsbredd", "variationsbredden", "how wide", "top minus bottom"),
        *("highest minus lowest", "largest minus smallest", "maximum minus minimum"),
    ),
    "difference": (
        *("difference", "differ", "differs", "differ by", "gap", "exceed", "exceeds"),
        *("minus", "gain", "gains", "lose", "loses", "lost"),
        *("drop", "how much more", "how much less", "change", "rise", "passed", "apart"),
        *("skillnad", "skillnaden", "skiljer", "differens", "differensen", "skilja", "skiljde"),
        *("hur mycket mer", "hur mycket mindre"),
    ),
}
"""Phrases that ask for an operation. A longer one is tried first."""

COMPARISONS: Final[Mapping[str, tuple[str, ...]]] = {
    ">": (
        *("more than", "greater than", "above", "over", "exceeding", "exceeds", "exceed", ">"),
        *("exceeded", "beyond", "in excess of", "upwards of", "after", "later than"),
        *("mer än", "över", "överstiger", "överstigande", "efter", "senare än", "ovanför"),
    ),
    ">=": (
        *("at least", "no less than", "not less than", "a minimum of", "minimum", "from", "since"),
        *("starting from", "≥", ">=", "not below", "not under", "starting in", "starting at"),
        *("minst", "lägst", "åtminstone", "från och med", "från", "sedan", "inte under"),
        *("ej under", "som lägst", "fr o m"),
    ),
    "<": (
        *("less than", "fewer than", "below", "under", "before", "earlier than", "<", "short of"),
        *("prior to", "mindre än", "färre än", "understiger", "understigande", "före", "innan"),
        *("tidigare än", "nedanför"),
    ),
    "<=": (
        *("at most", "no more than", "not more than", "a maximum of", "maximum", "up to", "until"),
        *("up to and including", "≤", "<=", "not above", "not over", "not exceeding", "through"),
        *("högst", "maximalt", "som mest", "upp till", "till och med", "inte över", "ej över"),
        *("som högst", "t o m"),
    ),
    "=": (
        "exactly",
        "precisely",
        "equal to",
        "of",
        "at",
        "=",
        "exakt",
        "precis",
        "lika med",
        "vid",
    ),
}
"""Phrases before a number."""

COMPARISONS_AFTER: Final[Mapping[str, tuple[str, ...]]] = {
    ">=": (
        *("or more", "or above", "or higher", "or over", "or greater", "or larger", "and above"),
        *("and more", "and over", "and up", "upwards", "and higher", "or later", "or newer"),
        *("or better", "or longer", "or hotter", "or thicker", "or heavier", "or harder"),
        *("or stronger", "onwards", "and later", "or warmer", "or wider"),
        *("eller mer", "eller högre", "eller över", "och över", "och uppåt", "eller större"),
        *("eller senare", "och senare", "eller längre", "eller varmare", "och framåt"),
    ),
    "<=": (
        *("or less", "or below", "or lower", "or under", "or fewer", "or smaller", "and below"),
        *("and less", "or earlier", "or older", "or shorter", "or colder", "or thinner"),
        *("or lighter", "or softer", "or cooler", "and lower", "at most"),
        *("eller mindre", "eller lägre", "eller under", "och under", "och nedåt", "eller färre"),
        *("eller tidigare", "eller kortare", "eller kallare", "eller tunnare"),
    ),
}
"""Phrases after a number and its unit."""

BETWEEN: Final = words_in("between mellan from från range")
"""Words before the first of two numbers."""

EMPTY: Final = (
    *("lack a", "lack an", "lacks a", "lacks an", "lack any", "not have a", "not have an"),
    *(
        "not have any",
        "have no",
        "has no",
        "without an",
        "without a",
        "without any",
        "without",
        "with no",
        "no",
        "lacking",
        "lack",
        "lacks",
    ),
    *("nothing", "never", "not yet", "not yet been", "ännu inte", "aldrig"),
    *("missing", "not have", "utan någon", "utan något", "utan", "saknar", "saknas", "ingen"),
    *("inget", "inga", "empty", "unknown", "okänd", "okänt"),
)
"""Phrases before a heading whose cells are empty."""
MOST: Final = words_in("most fewest flest farst")
"""Words that compare how many there are."""
LASTING: Final = words_in(
    """last lasts lasted take takes took taken spend spent wait waited duration time times hours
    days minutes vara varade ta tar tog tagit tid timmar dagar minuter"""
)
"""Words with which `longest` is about a time."""
EXCLUDING: Final = (
    *(
        "apart from",
        "excluding",
        "excluding the",
        "except",
        "except for",
        "except the",
        "other than",
    ),
    *("leaving out", "leaving out the", "leaving the", "leaving aside", "leaving aside the"),
    *("not counting", "not counting the", "disregarding", "ignoring"),
    *("förutom", "bortsett från", "utom", "exklusive"),
)
"""Phrases before a heading that is not to hold."""
ABSENT: Final = ("free from", "free of", "fri från", "fria från", "fritt från")
"""Phrases before a heading whose cells are empty or zero."""
GROUPING: Final = words_in("per each every pr varje")
"""Words before a heading, for each value of which something is computed."""
BY: Final = words_in("by efter")
"""The same where something is computed."""
BEFORE_HEADING: Final = words_in("the what which by vilken vilket vilka")
"""Words after which a general word is a heading, where the table has it as one: `the amount`."""
AT_THE_END: Final[Mapping[str, str]] = {
    **dict.fromkeys(("last", "latest", "sist", "senast"), "max"),
    **dict.fromkeys(("first", "earliest", "forst", "tidigast"), "min"),
}
"""Last words of a question that ask for an extreme date: `which supplier was audited last`."""
AUXILIARY: Final = words_in("been be being ever blivit")
"""Words between a negation and a participle: `never been audited`."""
COMPARING: Final = words_in("compare comparison comparing versus vs jamfor jamforelse jamfora")
"""Words that ask for rows side by side."""
VALID: Final = words_in("valid validity force effective giltig giltigt giltiga galler gallde")
BEGINNING: Final = words_in("from start starts begin begins since fran")
ENDING: Final = words_in("to until end ends expiry expires till")
"""Words of headings of dates from which, and until which, something is valid."""
MORE: Final = words_in("more less fewer better greater mer mindre färre bättre")
"""Comparatives that name no column."""
ASKING_OF_ONE: Final = words_in("when what who where until how när vad vem var hur")
"""First words of a question about one thing; `which` may ask for several."""
WHICH: Final = words_in("which what vilken vilket vilka")
BEFORE_WHICH: Final = words_in("in at of with for by i av vid på med hos till")
"""Words before `which` that ask for what belongs to a thing, and not for rows."""
NEGATIONS: Final = words_in(
    "not no non inte ej icke never aldrig isn't aren't don't doesn't didn't"
)

HOLDING: Final = words_in(
    """with have has having had contain contains containing show shows include includes given listed
    reported recorded measured got med har hade innehåller visar anger angivet angiven uppmätt"""
)
"""Words before or after a heading whose cells are filled."""
KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("time", "duration", "tid", "tiden"), "h"),
    **dict.fromkeys(("temperature", "temperatur", "temperaturen", "temp"), "K"),
    **dict.fromkeys(("weight", "mass", "vikt", "vikten", "massa", "massan"), "kg"),
    **dict.fromkeys(("length", "längd", "längden", "width", "bredd", "height", "höjd"), "m"),
    **dict.fromkeys(("depth", "djup", "thickness", "tjocklek", "distance", "diameter"), "m"),
    **dict.fromkeys(("volume", "volym"), "m3"),
    **dict.fromkeys(("power", "effekt"), "W"),
    **dict.fromkeys(("force", "kraft"), "N"),
    **dict.fromkeys(("current", "ström"), "A"),
    **dict.fromkeys(("content", "halt", "halten", "concentration", "fraction"), "%"),
    **dict.fromkeys(("pressure", "tryck", "trycket"), "Pa"),
    **dict.fromkeys(("energy", "energi", "energin"), "J"),
    **dict.fromkeys(("voltage", "spänning", "spänningen"), "V"),
}
"""Words that say what kind of quantity a heading is of, with a unit of it."""
