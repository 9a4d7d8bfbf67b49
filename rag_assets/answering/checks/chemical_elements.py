"""Chemical elements and formulas: `Ni` is nickel, and `CoNi0.5` is `Co2 Ni1`."""

import re
from collections.abc import Mapping
from functools import cache

_LISTED = """H:hydrogen:väte He:helium:helium Li:lithium:litium Be:beryllium:beryllium
B:boron:bor C:carbon:kol N:nitrogen:kväve O:oxygen:syre F:fluorine:fluor Ne:neon:neon
Na:sodium:natrium Mg:magnesium:magnesium Al:aluminium,aluminum:aluminium Si:silicon:kisel
P:phosphorus:fosfor S:sulfur,sulphur:svavel Cl:chlorine:klor Ar:argon:argon K:potassium:kalium
Ca:calcium:kalcium Sc:scandium:skandium Ti:titanium:titan V:vanadium:vanadin,vanadium
Cr:chromium:krom Mn:manganese:mangan Fe:iron:järn Co:cobalt:kobolt Ni:nickel:nickel
Cu:copper:koppar Zn:zinc:zink Ga:gallium:gallium Ge:germanium:germanium As:arsenic:arsenik
Se:selenium:selen Br:bromine:brom Kr:krypton:krypton Rb:rubidium:rubidium
Sr:strontium:strontium Y:yttrium:yttrium Zr:zirconium:zirkonium Nb:niobium:niob
Mo:molybdenum:molybden Tc:technetium:teknetium Ru:ruthenium:rutenium Rh:rhodium:rodium
Pd:palladium:palladium Ag:silver:silver Cd:cadmium:kadmium In:indium:indium Sn:tin:tenn
Sb:antimony:antimon Te:tellurium:tellur I:iodine:jod Xe:xenon:xenon Cs:caesium,cesium:cesium
Ba:barium:barium La:lanthanum:lantan Ce:cerium:cerium Pr:praseodymium:praseodym
Nd:neodymium:neodym Pm:promethium:prometium Sm:samarium:samarium Eu:europium:europium
Gd:gadolinium:gadolinium Tb:terbium:terbium Dy:dysprosium:dysprosium Ho:holmium:holmium
Er:erbium:erbium Tm:thulium:tulium Yb:ytterbium:ytterbium Lu:lutetium:lutetium
Hf:hafnium:hafnium Ta:tantalum:tantal W:tungsten:volfram Re:rhenium:rhenium Os:osmium:osmium
Ir:iridium:iridium Pt:platinum:platina Au:gold:guld Hg:mercury:kvicksilver Tl:thallium:tallium
Pb:lead:bly Bi:bismuth:vismut Po:polonium:polonium At:astatine:astat Rn:radon:radon
Fr:francium:francium Ra:radium:radium Ac:actinium:aktinium Th:thorium:torium
Pa:protactinium:protaktinium U:uranium:uran Np:neptunium:neptunium Pu:plutonium:plutonium"""

_SPLIT = [entry.split(":") for entry in _LISTED.split()]
SYMBOL_OF: Mapping[str, str] = {
    name: symbol
    for symbol, english, swedish in _SPLIT
    for name in (*english.split(","), *swedish.split(","))
    if name not in ("lead", "tin", "bor")
}
"""Symbol by name, in lower case; names that are common words of another meaning are left out."""
SYMBOLS = frozenset(symbol for symbol, _, _ in _SPLIT)
READ_AS_WORDS = frozenset(("He", "Be", "In", "As", "I", "At", "No", "Am", "Pa", "C", "K", "V"))
"""Symbols that running text has as words or units."""

_PART = re.compile(r"([A-Z][a-z]?)(\d+(?:\.\d+)?|\.\d+)?")


@cache
def formula_of(text: str) -> frozenset[tuple[str, float]] | None:
    """The elements of a formula, each with its share of the atoms; None where it is no formula.

    Blanks do not count, and a factor does not: `V2Zr`, `V1 Zr0.5` are one.
    """
    plain = "".join(text.split())
    amounts: dict[str, float] = {}
    end = 0
    for part in _PART.finditer(plain):
        if part.start() != end or part[1] not in SYMBOLS:
            return None
        amounts[part[1]] = amounts.get(part[1], 0.0) + float(part[2] or 1)
        end = part.end()
    total = sum(amounts.values())
    if end != len(plain) or len(amounts) < 2 or not total:
        return None
    return frozenset((symbol, round(amount / total, 3)) for symbol, amount in amounts.items())
