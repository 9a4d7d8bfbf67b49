"""Adjectives and what they measure, and words that mean nearly the same, in English and Swedish."""

from collections.abc import Mapping
from typing import Final


def _pairs(text: str) -> dict[str, tuple[str, ...]]:
    """Lines of `word: other other`."""
    pairs = {}
    for line in text.strip().splitlines():
        word, _, others = line.partition(":")
        for one in word.split():
            pairs[one] = tuple(others.split())
    return pairs


HIGH: Final = _pairs(
    """strong: strength
    hard: hardness
    heavy: weight mass density
    dense: density
    long: length duration time
    high: height
    tall: height
    wide broad: width
    deep: depth
    thick: thickness
    hot warm: temperature
    expensive dear costly: price cost
    fast quick: speed rate velocity
    old: age
    big large great:
    rich abundant: abundance
    coarse: size
    bright: brightness
    stiff: stiffness modulus
    ductile: elongation ductility
    tough: toughness
    late new recent: date
    far: distance
    powerful: power
    steep: slope
    noisy loud: noise
    conductive: conductivity
    stark hållfast: strength
    hård: hardness
    tung: weight mass density
    tät: density
    lång: length duration time
    hög: height
    bred vid: width
    djup: depth
    tjock: thickness
    het varm: temperature
    dyr: price cost
    snabb: speed rate
    gammal: age
    rik: abundance
    grov: size
    styv: stiffness modulus
    duktil: elongation ductility
    seg: toughness
    sen ny: date
    ljus: brightness"""
)
"""Adjectives whose superlative asks for the highest value, and the nouns of what they measure."""
LOW: Final = _pairs(
    """weak: strength
    soft: hardness
    light: weight mass density
    short: length duration time
    thin: thickness
    narrow: width
    shallow: depth
    cold cool: temperature
    cheap inexpensive: price cost
    slow: speed rate velocity
    young: age
    small little few:
    low:
    fine: size
    early: date
    close near: distance
    rare scarce: abundance
    brittle: elongation ductility
    svag: strength
    mjuk: hardness
    lätt: weight mass density
    kort: length duration time
    tunn: thickness
    smal: width
    grund: depth
    kall: temperature
    billig: price cost
    långsam: speed rate
    ung: age
    låg:
    liten:
    fin: size
    tidig: date
    spröd: elongation ductility
    sällsynt: abundance"""
)
"""Adjectives whose superlative asks for the lowest value."""

IRREGULAR: Final[Mapping[str, str]] = {
    **dict.fromkeys(("tyngre", "tyngst", "tyngsta"), "tung"),
    **dict.fromkeys(("grövre", "grövst", "grövsta"), "grov"),
    **dict.fromkeys(("längre", "längst", "längsta"), "lång"),
    **dict.fromkeys(("yngre", "yngst", "yngsta"), "ung"),
    **dict.fromkeys(("äldre", "äldst", "äldsta"), "gammal"),
    **dict.fromkeys(("högre",), "hög"),
    **dict.fromkeys(("lägre",), "låg"),
    **dict.fromkeys(("större",), "stor"),
    **dict.fromkeys(("older", "oldest", "eldest"), "old"),
    **dict.fromkeys(("farther", "farthest", "further", "furthest"), "far"),
}
"""Comparatives and superlatives whose adjective no ending tells."""

SAME: Final = _pairs(
    """measured experimental: experimental measured
    computed calculated: calculated computed
    average mean:
    tension: tensile tension
    pulled: tension
    parameter: constant parameter
    producer producing: producer produced
    share percentage: percentage
    leading: top
    breaks broke broken: break
    fracture: break
    weigh weighs: weight mass
    costs cost: cost price
    lasts lasted: duration
    heat: heat thermal
    width: width
    year: year
    size: size
    big: size
    ductility duktilitet: elongation ductility
    publication paper article: article publication source
    kilogram kilo: kg
    who: name
    vendor: supplier
    purchase bought: order purchase
    client: customer
    staff worker employee: employee
    expire expires expired: until
    location place: location place site city
    day: date day
    ship shipped: delivery shipped shipment
    sold sell: sale
    finish finished end ended: end
    begin began start started: start"""
)
"""Words that mean nearly the same; either one finds a heading with the other."""

PEOPLE: Final = (
    *("operator", "buyer", "author", "owner", "inspector", "analyst", "manager", "responsible"),
    *("contact", "person", "employee", "discoverer", "user", "operatör", "köpare", "ansvarig"),
    *("handläggare", "kontakt", "utförare", "provare", "tester"),
)
"""Headings that `who` asks for."""
AMOUNTS: Final = ("amount", "quantity", "stock", "mängd", "kvantitet", "lagersaldo", "volume")
"""Headings that `how much` asks for."""
DATES: Final = ("date", "day", "datum", "dag", "time", "tid")
"""Words of a heading of a date that say no more than that."""
