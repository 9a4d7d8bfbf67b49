"""Swedish words and what they are called in English: measures, materials, trade and time.

Only whole words and parts of compounds that stand in many fields; a table with headings in the
question's language does not need them.
"""

from collections.abc import Mapping
from typing import Final

_LINES = """\
hårdhet: hardness
hållfasthet: strength
styrka: strength
densitet täthet: density
temperatur: temperature
tid: time
tryck: pressure compression
drag: tension tensile
brottgräns: ultimate tensile strength
sträckgräns: yield strength
flytgräns: yield strength
brottförlängning: elongation break
förlängning: elongation
töjning: elongation strain
utmattning: fatigue
längd: length
bredd: width
höjd: height
djup: depth
tjocklek: thickness
diameter: diameter
radie: radius
atom: atomic atom
vikt: weight
massa: mass
volym: volume
area yta: area
hastighet: rate speed velocity
kyla kylning: cooling
värme: thermal heat
ledningsförmåga: conductivity
leda leder: conductivity
smältpunkt: melting point
kokpunkt: boiling point
korn: grain
storlek: size
gitter: lattice
struktur: structure
fas: phase
halt: content
innehåll: content
sammansättning: composition
legering: alloy
stål: steel
grundämne: element
ämne: element substance
material: material
metall: metal
hav: sea
havsvatten: sea
jordskorpa: crust
förekomst: abundance
upptäcka upptäckt upptäckte upptäcktes: discovery discovered
period: period
charge smälta: heat
anlöpning anlöpa: tempering
normalisera normalisering: normalising
härda härdning: hardening
uppkolning uppkola: carburisation
elasticitetsmodul: elastic modulus young
modul: modulus
böjning: bending
slag: impact
seghet: toughness
ström: current
spänning: voltage stress
effekt: power
energi: energy
frekvens: frequency
ljud: sound
fukt fuktighet: humidity moisture
vatten: water
luft: air
jord: earth soil
pris: price
kostnad kosta: cost price
kilo: kg
leverantör: supplier
kund: customer
beställning order: order
faktura: invoice
leverans: delivery
ledtid: lead time
artikel: item article part
lager: stock warehouse
land: country
stad ort: city town
adress: address
avdelning: department
anställd: employee
lön: salary
namn: name
plats: place location
titel: title
författare: author
beskrivning: description
datum: date
år: year
månad: month
vecka: week
dag: day
timme: hour
minut: minute
status: status
kvalitet: quality
betyg: grade rating
prov provning: test specimen sample
metod: method
utrustning instrument: instrument equipment
operatör: operator
laboratorium labb: laboratory
avvikelse: deviation
gräns: limit
fel: error defect
risk: risk
enhet: unit
kod: code
nummer: number
land: country
ålder: age
kön: sex gender
standard: standard
utgåva: edition
indikator: indicator
kategori: category
klass: class
gjuta gjutning gjutet gjuten gjutna: cast
valsa valsad valsning: rolled
smida smide smidd: forged wrought
glödga glödgad glödgning: annealed annealing
pulver: powder
ren: pure
rostfri: stainless
mekanisk: mechanical
kemisk: chemical
fysikalisk: physical
egenskap: property
mängd: quantity amount
vunnen: produced
produktion: production
reserv: reserve
återvinning: recycling
"""


def _read(text: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in text.strip().splitlines():
        words, _, english = line.partition(":")
        for word in words.split():
            found[word] = tuple(english.split())
    return found


ENGLISH: Final[Mapping[str, tuple[str, ...]]] = _read(_LINES)
"""A Swedish word in its lemma, to the English words that a heading may have."""
