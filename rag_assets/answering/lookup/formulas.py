"""Chemical formulas and the names of the elements.

Two spellings of one formula have one canonical form: elements in alphabetical order, each with its
amount, 1 where none is written. `CoFeNiSi0.25` and `Si0.25 Ni1 Fe Co1` are the same.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final, TypeAlias

Formula: TypeAlias = tuple[tuple[str, float], ...]
"""Symbols in alphabetical order with their amounts."""

_PART = re.compile(r"([A-Z][a-z]?)(\d+(?:\.\d+)?|\.\d+)?")
_NAMES = """\
H hydrogen väte|He helium|Li lithium litium|Be beryllium|B boron bor|C carbon kol
N nitrogen kväve|O oxygen syre|F fluorine fluor|Ne neon|Na sodium natrium|Mg magnesium
Al aluminium aluminum|Si silicon kisel|P phosphorus fosfor|S sulphur sulfur svavel
Cl chlorine klor|Ar argon|K potassium kalium|Ca calcium kalcium|Sc scandium skandium
Ti titanium titan|V vanadium vanadin|Cr chromium krom|Mn manganese mangan|Fe iron järn
Co cobalt kobolt|Ni nickel|Cu copper koppar|Zn zinc zink|Ga gallium|Ge germanium
As arsenic arsenik|Se selenium selen|Br bromine brom|Kr krypton|Rb rubidium
Sr strontium|Y yttrium|Zr zirconium zirkonium|Nb niobium niob|Mo molybdenum molybden
Tc technetium teknetium|Ru ruthenium rutenium|Rh rhodium rodium|Pd palladium|Ag silver
Cd cadmium kadmium|In indium|Sn tin tenn|Sb antimony antimon|Te tellurium tellur
I iodine jod|Xe xenon|Cs caesium cesium|Ba barium|La lanthanum lantan|Ce cerium
Pr praseodymium praseodym|Nd neodymium neodym|Pm promethium prometium|Sm samarium
Eu europium|Gd gadolinium|Tb terbium|Dy dysprosium|Ho holmium|Er erbium|Tm thulium tulium
Yb ytterbium|Lu lutetium|Hf hafnium|Ta tantalum tantal|W tungsten volfram wolfram
Re rhenium|Os osmium|Ir iridium|Pt platinum platina|Au gold guld|Hg mercury kvicksilver
Tl thallium tallium|Pb lead bly|Bi bismuth vismut|Po polonium|At astatine astat|Rn radon
Fr francium|Ra radium|Ac actinium aktinium|Th thorium torium|Pa protactinium protaktinium
U uranium uran|Np neptunium|Pu plutonium|Am americium|Cm curium|Bk berkelium
Cf californium|Es einsteinium|Fm fermium|Md mendelevium|No nobelium|Lr lawrencium"""


@cache
def _elements() -> Mapping[str, tuple[str, ...]]:
    """Symbol to names, English first."""
    entries = (entry.split() for entry in _NAMES.replace("\n", "|").split("|"))
    return {symbol: tuple(names) for symbol, *names in entries}


@cache
def symbols_by_name() -> Mapping[str, str]:
    """Name of an element in English or Swedish, in small letters, to its symbol."""
    return {name: symbol for symbol, names in _elements().items() for name in names}


def names_of(symbol: str) -> tuple[str, ...]:
    """The names of the element with this symbol; none if it is no symbol."""
    return _elements().get(symbol, ())


@lru_cache(maxsize=65_536)
def formula(text: str) -> Formula | None:
    """The canonical form of `text`; None where it is no formula of at least two elements.

    Capitals alone (`BCC`) are an abbreviation.
    """
    packed = text.replace(" ", "")
    if packed.isupper() and packed.isalpha():
        return None
    amounts: dict[str, float] = {}
    end = 0
    for part in _PART.finditer(packed):
        symbol, amount = part.groups()
        if part.start() != end or symbol not in _elements():
            return None
        amounts[symbol] = amounts.get(symbol, 0.0) + float(amount or 1)
        end = part.end()
    return tuple(sorted(amounts.items())) if end == len(packed) and len(amounts) >= LEAST else None


LEAST: Final = 2
"""Elements that a formula has at least: one alone may be any short name."""
