"""The English and Swedish words that the checks know: no rule names a word of its own.

They are words of the language and of measuring, not of any corpus.
"""

from collections.abc import Iterable, Mapping


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _both_ways(groups: Iterable[str]) -> Mapping[str, int]:
    return {word: number for number, group in enumerate(groups) for word in group.split()}


ENGLISH = _listed(
    """the of and to in a is that it was for on as with by at from this be are or an which were has
    have had its than these those but can will been their when while after before into about over
    under between during both each such only also other more most less same there where no not"""
)
SWEDISH = _listed(
    """och i att det som en på är av för med till den har de inte om ett men var från så kan vid
    nu efter än under mellan hos eller blev blir hade ska skall detta denna dessa också alla när
    där vilket vilka sin sina sitt genom mot utan över ut in upp enligt samt medan"""
)
FILLERS = (
    ENGLISH
    | SWEDISH
    | _listed(
        """we our they them he she his her you your i my us who whom whose what how why one ones do
        does did done doing being am would could should may might must shall so then thus hence
        therefore however furthermore moreover very too just even still already yet here per via out
        up down off again further once any some few all every respectively approximately
        man sig sitt hon han vi oss ni er du jag dem deras dess hur vad vem vars varje någon något
        några mycket mer mest redan ännu endast bara dock alltså därför ju även själv kring runt"""
    )
)
"""Words that carry no content of their own."""

NEGATORS = _listed(
    """not no never without neither nor none cannot n't nothing absence lack lacks lacking
    free excluding inte ej aldrig utan ingen inget inga varken icke saknar saknas
    saknade ingenting"""
)
SHARED_NEGATORS = _listed("neither varken")
"""Those that reach over a whole sentence."""

ENDINGS = _listed(
    "e ed es s ing ation ations ion ions ate ated ates ive ity ment er al ly ise ize"
) | {""}
"""Endings of English words that make another word of the same stem."""

HEDGES = _listed(
    """about approximately approx around roughly nearly almost some circa ca ca. close near ~ ≈ c.
    order cirka omkring ungefär nästan runt kring närmare knappt drygt just over slightly"""
)
LESS = (
    *("less than", "lower than", "smaller than", "fewer than", "shorter than", "thinner than"),
    *("below", "under", "fell short of", "short of", "not reach", "underskrider", "understeg"),
    *("mindre än", "lägre än", "färre än", "kortare än", "understiger", "<", "underskred"),
)
MORE = (
    *("more than", "greater than", "higher than", "larger than", "longer than", "thicker than"),
    *("above", "over", "beyond", "exceeding", "exceeded", "exceeds", "exceed", "in excess of"),
    *("mer än", "större än", "högre än", "fler än", "längre än", "över", "översteg", "överstiger"),
    *("överskrider", "överskred", "upwards of", ">"),
)
AT_MOST = (
    *("at most", "up to", "no more than", "not more than", "at the most", "maximum of", "max."),
    *("maximum", "max", "högst", "upp till", "som mest", "maximalt", "≤", "<=", "⩽"),
)
AT_LEAST = (
    *("at least", "no less than", "not less than", "minimum of", "min.", "minimum"),
    *("minst", "åtminstone", "lägst", "≥", ">=", "⩾"),
)
JUST_OVER = ("just over", "slightly over", "slightly above", "a little over", "drygt", "just above")
JUST_UNDER = (
    *("just under", "just below", "slightly below", "nearly", "almost", "knappt", "nästan"),
    *("slightly under", "a little under"),
)

NUMBER_WORDS: Mapping[str, float] = {
    **{
        word: value
        for value, words in enumerate(
            (
                *("", "", "two två", "three tre", "four fyra", "five fem", "six sex", "seven sju"),
                *("eight åtta", "nine nio", "ten tio", "eleven elva", "twelve tolv"),
                *("thirteen tretton", "fourteen fjorton", "fifteen femton", "sixteen sexton"),
                *("seventeen sjutton", "eighteen arton", "nineteen nitton", "twenty tjugo"),
            )
        )
        for word in words.split()
    },
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
    "hundra": 100,
    "thousand": 1_000,
    "tusen": 1_000,
    "trettio": 30,
    "fyrtio": 40,
    "femtio": 50,
    "sextio": 60,
    "sjuttio": 70,
    "åttio": 80,
    "nittio": 90,
    "dozen": 12,
    "dussin": 12,
}
SCALES: Mapping[str, int] = {
    **dict.fromkeys(("thousand", "tusen"), 3),
    **dict.fromkeys(("million", "miljoner", "miljon", "mn"), 6),
    **dict.fromkeys(("billion", "miljarder", "miljard", "bn"), 9),
    **dict.fromkeys(("trillion", "biljoner", "biljon"), 12),
}
"""Powers of ten behind a number in digits: `5.2 million`."""
FRACTION_WORDS: Mapping[str, float] = {
    "half": 0.5,
    "halva": 0.5,
    "hälften": 0.5,
    "halften": 0.5,
    "third": 1 / 3,
    "tredjedel": 1 / 3,
    "quarter": 0.25,
    "fourth": 0.25,
    "fjärdedel": 0.25,
    "fifth": 0.2,
    "femtedel": 0.2,
    "tenth": 0.1,
    "tiondel": 0.1,
    "twice": 2,
    "double": 2,
    "doubled": 2,
    "dubbelt": 2,
    "dubbla": 2,
    "threefold": 3,
    "triple": 3,
    "tenfold": 10,
    "twofold": 2,
    "thirds": 2 / 3,
    "quarters": 0.75,
    "halves": 0.5,
    "tredjedelar": 2 / 3,
}
MONTHS: Mapping[str, int] = {
    name: number
    for number, names in enumerate(
        (
            *("january januari jan", "february februari feb", "march mars", "april apr"),
            *("may maj", "june juni jun", "july juli jul", "august augusti aug"),
            *("september sep sept", "october oktober oct okt", "november nov"),
            *("december dec",),
        ),
        1,
    )
    for name in names.split()
}

SAME_MEANING = _both_ways(
    (
        "density weigh weight heavy mass densitet väga vikt tung dense tyngd massa",
        "fusion melt melting smälta smältvärme smältning",
        "evaporation vaporise vaporize vaporisation vaporization boil boiling koka"
        " förånga förångning evaporate kokning",
        "discover discovery discoverer upptäcka upptäckt upptäckare find",
        "recycle recycling recycled återvinna återvinning",
        "produce producer production producing output supply framställa tillverka produktion"
        " producent manufacture make prepare synthesise synthesize synthesis fabricate",
        "price cost pris kosta kostnad expensive dyr",
        "heat värme thermal värmekapacitet",
        "capacity kapacitet värmekapacitet",
        "conductivity conduct conduction ledningsförmåga konduktivitet leda conductive",
        "temperature temperatur warm hot varm het",
        "pressure tryck",
        "thick thickness tjock tjocklek",
        "length long längd lång",
        "width wide bredd bred",
        "height high tall höjd hög",
        "diameter across",
        "strength strong hållfasthet stark",
        "yield sträckgräns flow",
        "tensile draghållfasthet brottgräns",
        "hardness hard hårdhet hård",
        "elongation förlängning stretch",
        "modulus modul stiffness stiff styv styvhet",
        "edge lattice cell gitter gitterparameter gitterkonstant parameter constant konstant",
        "radius radie",
        "speed velocity hastighet fart rate",
        "year date år årtal datum",
        "share percentage fraction proportion andel content halt contain hold innehålla innehåll",
        "power effekt",
        "voltage spänning potential",
        "current ström strömtäthet",
        "energy energi",
        "frequency frekvens",
        "volume volym",
        "area yta",
        "time tid duration tidsåtgång",
        "number antal count nummer",
        "begin start onset initial börja starta inleda",
        "end stop finish terminate avsluta avbryta sluta",
        "film layer coating skikt lager film beläggning",
        "deposit grow growth deposition deponera växa tillväxt",
        "sample specimen prov provkropp",
        "test testing prova provning",
        "atomic atom atomvikt",
        "room rumstemperatur",
        "cube cubic kubisk cub",
        "dissolve solution lösa solvus",
        "main top largest biggest leading first största",
        "emission emissions utsläpp",
        "supplier leverantör",
        "origin ursprung",
        "country land nation",
        "age ålder",
        "population invånare inhabitant befolkning",
        "born birth född födelse",
        "die died death död avlida",
        "win won winner vinna vinnare victory",
        "team club lag klubb",
    )
)
"""Words that stand for one thing, by the number of their group; English and Swedish."""
