"""Company standards in two columns: English on the left, Swedish on the right."""

# ruff: noqa: RUF001

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from generate.layout import (
    BLUE,
    GREY,
    PAGE_WIDTH,
    Block,
    Canvas,
    Formula,
    Frac,
    Frame,
    Pair,
    Para,
    PdfDocument,
    Table,
    bullets,
    heading,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(frozen=True)
class Head:
    """What stands in the header of a standard."""

    number: str
    issue: int
    date: str
    english: str
    swedish: str


def _frame(head: Head) -> Frame:
    def draw(canvas: Canvas, page: int, pages: int) -> None:
        right = PAGE_WIDTH - 50
        canvas.text(50, 46, "NORDHJUL LASTVAGNAR", size=11, face="bold", colour=BLUE)
        canvas.text(50, 58, "Materials technology / Materialteknik", size=7.5, colour=GREY)
        canvas.text(right, 46, f"**Standard {head.number}**", size=11, align="right")
        canvas.text(
            right,
            58,
            f"Issue / Utgåva {head.issue} · {head.date} · Page / Sida {page} ({pages})",
            size=7.5,
            align="right",
            colour=GREY,
        )
        canvas.line((50, 66), (right, 66), width=0.9, colour=BLUE)
        canvas.line((50, 796), (right, 796))
        canvas.text(
            50,
            806,
            "A printed copy is not controlled. / Utskrivet exemplar är inte styrt.",
            size=7,
            colour=GREY,
        )
        canvas.text(right, 806, f"{head.number}:{head.issue}", size=7, align="right", colour=GREY)

    return draw


def _start(head: Head) -> PdfDocument:
    document = PdfDocument(f"{head.number} {head.english}", _frame(head), date=head.date, top=80)
    document.add(
        Pair(
            [Para(head.english, 13.5, "bold", BLUE, before=2, after=6)],
            [Para(head.swedish, 13.5, "bold", BLUE, before=2, after=6)],
        )
    )
    return document


def _clause(
    number: str, english: str, swedish: str, paragraphs: Iterable[tuple[str, str]], level: int = 1
) -> list[Block]:
    """A numbered clause; each pair of paragraphs stands side by side."""
    blocks: list[Block] = []
    titles = (heading(f"{number}  {english}", level), heading(f"{number}  {swedish}", level))
    for place, (left, right) in enumerate(paragraphs):
        if place:
            blocks.append(Pair([Para(left)], [Para(right)]))
        else:
            blocks.append(Pair([titles[0], Para(left)], [titles[1], Para(right)]))
    if not blocks:
        blocks.append(Pair([titles[0]], [titles[1]]))
    return blocks


def cab_sheet(path: Path, *, issue: int) -> None:
    """NHS 3101, corrosion protection of cab sheet steel; issues 4 (old) and 5 (valid)."""
    new = issue == 5
    head = Head(
        "NHS 3101",
        issue,
        "2024-03-11" if new else "2017-09-04",
        "Corrosion protection of cab sheet steel",
        "Korrosionsskydd av hyttplåt",
    )
    outer, floor = ("50", "70") if new else ("45", "50")
    outer_um, floor_um = ("7.0", "9.8") if new else ("6.3", "7.0")
    weeks, creep_a, creep_b = ("8", "2.0", "3.0") if new else ("6", "3.0", "4.0")
    inner = "12" if new else "10"
    bake, bake_min = ("165", "15") if new else ("175", "20")
    per_cab = "one cab a month" if new else "one cab a quarter"
    per_cab_sv = "en hytt per månad" if new else "en hytt per kvartal"

    doc = _start(head)
    doc.add(
        *_clause(
            "1",
            "Scope",
            "Omfattning",
            [
                (
                    "This standard states how sheet steel of truck cabs shall be protected against "
                    "corrosion, from the zinc coating of the coil to the electrodeposited primer. "
                    "It applies to all cabs that are built in Borås and Skövde, spare panels "
                    "included.",
                    "Standarden anger hur stålplåt i lastbilshytter ska skyddas mot korrosion, "
                    "från zinkskiktet på bandet till den elektrodoppade grundfärgen. Den gäller "
                    "alla hytter som byggs i Borås och Skövde, även reservdelsplåtar.",
                ),
                (
                    "Top coat, underbody sealing and cavity wax are described in other standards.",
                    "Täckfärg, underredsmassa och hålrumsvax beskrivs i andra standarder.",
                ),
            ],
        ),
        *_clause(
            "2",
            "Zones of the cab",
            "Hyttens zoner",
            [
                (
                    "The cab is divided into three zones by exposure. Zone A: outer panels, doors "
                    "and roof. Zone B: floor, wheel housings, sills and step wells. Zone C: inner "
                    "structure that stays dry in service.",
                    "Hytten delas in i tre zoner efter exponering. Zon A: ytterpaneler, dörrar och "
                    "tak. Zon B: golv, hjulhus, trösklar och fotsteg. Zon C: inre stomme som är "
                    "torr i drift.",
                )
            ],
        ),
        *_clause(
            "3",
            "Zinc coating of the sheet",
            "Zinkskikt på plåten",
            [
                (
                    "The sheet shall be hot-dip coated with zinc (Z) or zinc-magnesium (ZM). The "
                    "coating mass is measured by dissolution on three spots of each sample and "
                    "shall meet Table 1 on each side. Electrogalvanised sheet (ZE) "
                    + (
                        "is no longer allowed in new parts."
                        if new
                        else "is allowed in zone A after agreement."
                    ),
                    "Plåten ska vara varmförzinkad med zink (Z) eller zink-magnesium (ZM). "
                    "Skiktvikten mäts genom avlösning på tre ställen på varje prov och ska "
                    "uppfylla tabell 1 på vardera sidan. Elförzinkad plåt (ZE) "
                    + (
                        "är inte längre tillåten i nya detaljer."
                        if new
                        else "är tillåten i zon A efter överenskommelse."
                    ),
                )
            ],
        ),
        Table(
            "Table 1 – Least zinc coating on each side / Tabell 1 – Minsta zinkskikt per sida",
            ["Zone / Zon", "Coating / Skikt", "Mass, g/m² / Skiktvikt", "Thickness, µm / Tjocklek"],
            [
                ["A", "Z, ZM", f"≥ {outer}", f"≥ {outer_um}"],
                ["B", "ZM" if new else "Z, ZM", f"≥ {floor}", f"≥ {floor_um}"],
                ["C", "Z, ZM", "≥ 35", "≥ 4.9"],
            ],
            (1, 1.2, 1.6, 1.6),
        ),
        *_clause(
            "4",
            "Pretreatment",
            "Förbehandling",
            [
                (
                    (
                        "Either tricationic zinc phosphate, 2.0 to 3.5 g/m², or a zirconium thin "
                        "film with 30 to 120 mg/m² of zirconium may be used. With thin film the "
                        "last rinse shall have a conductivity of at most 20 µS/cm."
                        if new
                        else "Tricationic zinc phosphate with a coating mass of 2.0 to 3.5 g/m² "
                        "shall be used. The last rinse shall have a conductivity of at most "
                        "30 µS/cm."
                    ),
                    (
                        "Antingen trikatjonisk zinkfosfat, 2,0 till 3,5 g/m², eller en tunnfilm av "
                        "zirkonium med 30 till 120 mg/m² zirkonium får användas. Vid tunnfilm ska "
                        "sista sköljen ha en konduktivitet av högst 20 µS/cm."
                        if new
                        else "Trikatjonisk zinkfosfat med en skiktvikt av 2,0 till 3,5 g/m² ska "
                        "användas. Sista sköljen ska ha en konduktivitet av högst 30 µS/cm."
                    ),
                )
            ],
        ),
        *_clause(
            "5",
            "Electrodeposited primer",
            "Elektrodoppad grundfärg",
            [
                (
                    "The dry film shall be at least 20 µm on outer surfaces and at least "
                    f"{inner} µm inside box sections and hem flanges. The film is cured when the "
                    f"metal has been held at {bake} °C for {bake_min} minutes; fifty double rubs "
                    "with methyl ethyl ketone shall leave no mark.",
                    "Torrfilmen ska vara minst 20 µm på utvändiga ytor och minst "
                    f"{inner} µm inuti lådbalkar och falsar. Filmen är härdad när plåten har "
                    f"hållits vid {bake} °C i {bake_min} minuter; femtio dubbeldrag med "
                    "metyletylketon ska inte ge något märke.",
                ),
                (
                    "Drain holes shall be placed so that no more than 0.2 litres of bath stay "
                    "in the body when it leaves the tank.",
                    "Dräneringshål ska placeras så att högst 0,2 liter bad finns kvar i karossen "
                    "när den lämnar tanken.",
                ),
            ],
        ),
        *_clause(
            "6",
            "Requirements after corrosion testing",
            "Krav efter korrosionsprovning",
            [
                (
                    "Painted panels with a scribe down to the steel are run in the cyclic test "
                    f"NHS 9310 for {weeks} weeks. The creep from the scribe, measured after loose "
                    "paint has been scraped off, shall not exceed Table 2 as the mean of ten "
                    "points.",
                    "Lackerade paneler med rits ned till stålet körs i den cykliska provningen "
                    f"NHS 9310 i {weeks} veckor. Krypningen från ritsen, mätt efter att lös färg "
                    "skrapats bort, får inte överskrida tabell 2 som medelvärde av tio punkter.",
                )
            ],
        ),
        Table(
            f"Table 2 – Limits after {weeks} weeks of NHS 9310 / Tabell 2 – Gränser efter {weeks} "
            "veckor NHS 9310",
            [
                "Property / Egenskap",
                "Zone / Zon A",
                "Zone / Zon B",
                "Zone / Zon C",
                "Method / Metod",
            ],
            [
                [
                    "Scribe creep, mm / Krypning från rits",
                    f"≤ {creep_a}",
                    f"≤ {creep_b}",
                    "≤ 5.0",
                    "NHS 9310",
                ],
                ["Blistering, degree / Blåsbildning", "0 (S0)", "≤ 2 (S2)", "≤ 2 (S2)", "NHS 9312"],
                ["Edge rust, % / Kantrost", "≤ 5", "≤ 10", "≤ 20", "NHS 9313"],
                [
                    "Adhesion, class / Vidhäftning",
                    "≤ 1",
                    "≤ 1",
                    "≤ 2",
                    "Cross-cut 2 mm / Gitterritsning",
                ],
                [
                    "Stone chipping / Stenskott",
                    "≤ 2.5" if new else "≤ 3.0",
                    "≤ 3.0",
                    "–",
                    "NHS 9320, –20 °C",
                ],
            ],
            (2.3, 1, 1, 1, 1.6),
        ),
        *_clause(
            "7",
            "Perforation",
            "Genomrostning",
            [
                (
                    "No part of the cab may rust through within "
                    + ("twelve" if new else "ten")
                    + " years in climate class C4. Field cabs are opened and judged after five "
                    "and eight years.",
                    "Ingen del av hytten får rosta igenom inom "
                    + ("tolv" if new else "tio")
                    + " år i klimatklass C4. Fältbilar öppnas och bedöms efter fem och åtta år.",
                )
            ],
        ),
        *_clause(
            "8",
            "Sampling and records",
            "Provtagning och journaler",
            [
                (
                    f"The paint shop shall cut up {per_cab} and measure film thickness at "
                    "forty points. Records are kept for fifteen years.",
                    f"Måleriet ska kapa upp {per_cab_sv} och mäta skikttjocklek i fyrtio "
                    "punkter. Journaler sparas i femton år.",
                ),
            ],
        ),
    )
    if new:
        doc.add(
            *_clause(
                "9",
                "Changes since issue 4",
                "Ändringar sedan utgåva 4",
                [
                    (
                        "The zinc coating of zones A and B is raised, the cyclic test is "
                        "prolonged from six to eight weeks with tighter creep limits, zirconium "
                        "thin film is added, the curing temperature of the primer is lowered from "
                        "175 to 165 °C to save energy, and electrogalvanised sheet is withdrawn. "
                        "Parts released to issue 4 may be built until 2026-12-31.",
                        "Zinkskiktet i zon A och B ökas, den cykliska provningen förlängs från sex "
                        "till åtta veckor med skärpta gränser för krypning, tunnfilm av zirkonium "
                        "tillkommer, grundfärgens härdtemperatur sänks från 175 till 165 °C för "
                        "att spara energi, och elförzinkad plåt utgår. Detaljer som frisläppts "
                        "enligt utgåva 4 får byggas till och med 2026-12-31.",
                    )
                ],
            )
        )
    doc.save(path)


def elastomer_seals(path: Path) -> None:
    """NHS 3240, ageing of elastomer seals."""
    doc = _start(
        Head(
            "NHS 3240",
            3,
            "2022-05-16",
            "Elastomer seals – resistance to ageing",
            "Elastomertätningar – åldringsbeständighet",
        )
    )
    doc.add(
        *_clause(
            "1",
            "Scope",
            "Omfattning",
            [
                (
                    "The standard sets limits for how far moulded and extruded rubber seals may "
                    "change through heat, fluids, ozone and cold. It covers door seals, window "
                    "profiles, O-rings and radial shaft seals of the driveline.",
                    "Standarden sätter gränser för hur mycket formpressade och extruderade "
                    "gummitätningar får förändras av värme, vätskor, ozon och kyla. Den omfattar "
                    "dörrlister, rutprofiler, O-ringar och radialtätningar i drivlinan.",
                )
            ],
        ),
        *_clause(
            "2",
            "Compounds",
            "Blandningar",
            [
                (
                    "Four compounds are released. E70 is a peroxide-cured EPDM for weather strips "
                    "and coolant. N75 is an acrylonitrile-butadiene rubber for oil and diesel. F75 "
                    "is a fluoroelastomer for hot oil and exhaust condensate. S60 is a silicone "
                    "for charge air.",
                    "Fyra blandningar är frisläppta. E70 är en peroxidvulkad EPDM för lister och "
                    "kylvätska. N75 är ett akrylnitril-butadiengummi för olja och diesel. F75 är "
                    "en fluorelastomer för het olja och avgaskondensat. S60 är ett silikongummi "
                    "för laddluft.",
                ),
                (
                    "Sulphur-cured EPDM shall not be used where the seal touches painted surfaces, "
                    "as it stains light colours.",
                    "Svavelvulkad EPDM får inte användas där tätningen ligger mot lackerade ytor, "
                    "eftersom den missfärgar ljusa kulörer.",
                ),
            ],
        ),
        *_clause(
            "3",
            "Hot-air ageing",
            "Åldring i varmluft",
            [
                (
                    "Dumb-bell specimens are hung in a cell oven with three to ten air changes an "
                    "hour for 1 008 hours at the temperature in Table 1. Hardness, tensile "
                    "strength and elongation at break are measured before and after.",
                    "Hantelprovstavar hängs i cellugn med tre till tio luftväxlingar per timme i "
                    "1 008 timmar vid temperaturen i tabell 1. Hårdhet, draghållfasthet och "
                    "brottöjning mäts före och efter.",
                )
            ],
        ),
        Table(
            "Table 1 – Largest change in hot air, 1 008 h / Tabell 1 – Största ändring i varmluft",
            [
                "Compound / Blandning",
                "Temperature / Temperatur, °C",
                "Hardness / Hårdhet, Shore A",
                "Tensile strength / Draghållfasthet, %",
                "Elongation / Brottöjning, %",
            ],
            [
                ["E70", "125", "+10", "–25", "–40"],
                ["N75", "100", "+12", "–20", "–45"],
                ["F75", "200", "+6", "–20", "–25"],
                ["S60", "175", "+8", "–25", "–35"],
            ],
        ),
        *_clause(
            "4",
            "Compression set",
            "Sättning",
            [
                (
                    "Discs of 13 mm diameter are compressed by 25 % and held for 72 hours at the "
                    "temperature of Table 1. They recover for 30 minutes on wood at 23 °C. The set "
                    "is calculated from Formula 1, where //h//_{0} is the height before, "
                    "//h//_{1} the height after recovery and //h//_{s} the height of the spacer.",
                    "Skivor med 13 mm diameter trycks ihop 25 % och hålls i 72 timmar vid "
                    "temperaturen i tabell 1. De får återhämta sig 30 minuter på trä vid 23 °C. "
                    "Sättningen beräknas enligt formel 1, där //h//_{0} är höjden före, "
                    "//h//_{1} höjden efter återhämtning och //h//_{s} distansens höjd.",
                )
            ],
        ),
        Formula(
            [
                "//CS//  =",
                Frac("//h//_{0} – //h//_{1}", "//h//_{0} – //h//_{s}"),
                "·  100 %",
            ],
            "1",
        ),
        Table(
            "Table 2 – Limits for cold, set and fluids / Tabell 2 – Gränser för kyla, sättning och "
            "vätskor",
            [
                "Compound / Blandning",
                "Set / Sättning, %",
                "TR10, °C",
                "Fluid / Vätska",
                "Volume / Volymändring, %",
            ],
            [
                ["E70", "≤ 25", "≤ –45", "Coolant / Kylvätska, 120 °C", "–3 … +8"],
                ["N75", "≤ 35", "≤ –25", "Hydraulic oil / Hydraulolja, 100 °C", "–5 … +15"],
                ["F75", "≤ 20", "≤ –15", "Engine oil / Motorolja, 150 °C", "–2 … +5"],
                ["S60", "≤ 30", "≤ –55", "Engine oil / Motorolja, 150 °C", "–5 … +40"],
            ],
            (1, 1, 0.8, 2, 1.3),
        ),
        *_clause(
            "5",
            "Ozone",
            "Ozon",
            [
                (
                    "Strips stretched by 20 % are kept in 50 pphm ozone at 40 °C for 96 hours. No "
                    "crack may be seen at seven times magnification. N75 is exempt when the seal "
                    "sits inside a housing.",
                    "Remsor som sträckts 20 % förvaras i 50 pphm ozon vid 40 °C i 96 timmar. Ingen "
                    "spricka får synas vid sju gångers förstoring. N75 är undantaget när tätningen "
                    "sitter inuti ett hus.",
                )
            ],
        ),
        *_clause(
            "6",
            "Prediction of service life",
            "Livslängdsbedömning",
            [
                (
                    "Where the service temperature varies, ageing at temperature //T//_{1} is "
                    "converted to //T//_{2} (in kelvin) by the Arrhenius relation of Formula 2. "
                    "Use an activation energy of 95 kJ/mol for E70, 88 kJ/mol for N75 and "
                    "110 kJ/mol for F75 if none has been measured.",
                    "Där drifttemperaturen varierar räknas åldring vid temperaturen //T//_{1} om "
                    "till //T//_{2} (i kelvin) med Arrhenius samband i formel 2. Använd "
                    "aktiveringsenergin 95 kJ/mol för E70, 88 kJ/mol för N75 och 110 kJ/mol för "
                    "F75 om ingen har uppmätts.",
                )
            ],
        ),
        Formula(
            [
                "ln",
                Frac("//t//_{2}", "//t//_{1}"),
                "=",
                Frac("//E//_{a}", "//R//"),
                "(",
                Frac("1", "//T//_{2}"),
                "–",
                Frac("1", "//T//_{1}"),
                ")",
            ],
            "2",
        ),
        *_clause(
            "7",
            "Storage and marking",
            "Lagring och märkning",
            [
                (
                    "Seals are stored below 25 °C, in the dark and free of strain. The shelf life "
                    "is seven years for N75 and ten years for the other compounds, counted from "
                    "the quarter that is marked on the bag.",
                    "Tätningar lagras under 25 °C, mörkt och utan spänning. Lagringstiden är sju "
                    "år för N75 och tio år för övriga blandningar, räknat från det kvartal som är "
                    "märkt på påsen.",
                )
            ],
        ),
    )
    doc.save(path)


def brake_discs(path: Path) -> None:
    """NHS 2215, grey cast iron for brake discs."""
    doc = _start(
        Head("NHS 2215", 6, "2023-01-30", "Cast iron for brake discs", "Gjutjärn för bromsskivor")
    )
    doc.add(
        *_clause(
            "1",
            "Scope",
            "Omfattning",
            [
                (
                    "This standard specifies grey cast iron for ventilated brake discs of trucks "
                    "and trailers with a disc diameter of 370 to 434 mm. Two grades exist: B1, a "
                    "high-carbon iron with good thermal conductivity, and B2, alloyed with "
                    "molybdenum and chromium for heavy duty.",
                    "Standarden anger gråjärn för ventilerade bromsskivor till lastbilar och släp "
                    "med en skivdiameter av 370 till 434 mm. Två sorter finns: B1, ett järn med "
                    "hög kolhalt och god värmeledning, och B2, legerat med molybden och krom för "
                    "tung drift.",
                )
            ],
        ),
        *_clause(
            "2",
            "Chemical composition",
            "Kemisk sammansättning",
            [
                (
                    "The ladle analysis shall meet Table 1. Titanium lowers the friction level "
                    "and shall not exceed 0.015 %. The carbon equivalent is calculated with "
                    "Formula 1 and shall lie between 4.25 and 4.55 for B1.",
                    "Skänkanalysen ska uppfylla tabell 1. Titan sänker friktionsnivån och får inte "
                    "överstiga 0,015 %. Kolekvivalenten beräknas med formel 1 och ska ligga "
                    "mellan 4,25 och 4,55 för B1.",
                )
            ],
        ),
        Formula(["//CE//  =  %C  +", Frac("%Si + %P", "3")], "1"),
        Table(
            "Table 1 – Composition, mass % / Tabell 1 – Sammansättning, vikt-%",
            ["Grade / Sort", "C", "Si", "Mn", "P", "S", "Cr", "Mo", "Cu"],
            [
                [
                    "B1",
                    "3.60–3.90",
                    "1.70–2.30",
                    "0.50–0.80",
                    "≤ 0.08",
                    "0.05–0.12",
                    "≤ 0.25",
                    "–",
                    "≤ 0.60",
                ],
                [
                    "B2",
                    "3.40–3.70",
                    "1.60–2.10",
                    "0.60–0.90",
                    "≤ 0.08",
                    "0.05–0.12",
                    "0.20–0.40",
                    "0.35–0.50",
                    "0.40–0.90",
                ],
            ],
            (0.9, 1.2, 1.2, 1.2, 0.8, 1.2, 1.2, 1.2, 1.2),
            size=7.6,
        ),
        *_clause(
            "3",
            "Structure",
            "Struktur",
            [
                (
                    "Graphite shall be of form I with distribution A, size 3 to 5, in the friction "
                    "ring. Distribution D may reach 0.5 mm below the cast skin. The matrix is "
                    "pearlite with at most 5 % ferrite and 1 % free carbides.",
                    "Grafiten ska vara av form I med fördelning A, storlek 3 till 5, i "
                    "friktionsringen. Fördelning D får nå 0,5 mm under gjuthuden. Grundmassan är "
                    "perlit med högst 5 % ferrit och 1 % fria karbider.",
                )
            ],
        ),
        *_clause(
            "4",
            "Mechanical and thermal properties",
            "Mekaniska och termiska egenskaper",
            [
                (
                    "Tensile bars are taken from the friction ring, never from separately cast "
                    "bars. Hardness is measured as HBW 10/3000 at three points, 120° apart, on "
                    "the outer friction face; the spread within a disc shall be at most 20 units.",
                    "Dragprovstavar tas ur friktionsringen, aldrig ur separat gjutna stavar. "
                    "Hårdheten mäts som HBW 10/3000 i tre punkter med 120° delning på den yttre "
                    "friktionsytan; spridningen inom en skiva får vara högst 20 enheter.",
                )
            ],
        ),
        Table(
            "Table 2 – Properties in the disc / Tabell 2 – Egenskaper i skivan",
            ["Property / Egenskap", "Unit / Enhet", "B1", "B2"],
            [
                ["Tensile strength / Draghållfasthet", "MPa", "≥ 170", "≥ 230"],
                ["Hardness / Hårdhet", "HBW", "170–210", "195–240"],
                [
                    "Thermal conductivity at 300 °C / Värmeledning",
                    "W/(m·K)",
                    "≥ 48",
                    "≥ 42",
                ],
                ["Young's modulus / Elasticitetsmodul", "GPa", "95–115", "105–125"],
                ["Density / Densitet", "kg/m³", "7 050–7 150", "7 100–7 200"],
            ],
            (2.4, 1, 1.1, 1.1),
        ),
        *_clause(
            "5",
            "Stress relief",
            "Avspänningsglödgning",
            [
                (
                    "Discs of B2 are stress relieved at 600 ± 20 °C for three hours and cooled in "
                    "the furnace to 250 °C at no more than 50 °C an hour. Discs of B1 are stress "
                    "relieved only if the drawing says so.",
                    "Skivor av B2 avspänningsglödgas vid 600 ± 20 °C i tre timmar och svalnar i "
                    "ugnen till 250 °C med högst 50 °C per timme. Skivor av B1 avspänningsglödgas "
                    "bara om ritningen anger det.",
                )
            ],
        ),
        *_clause(
            "6",
            "Thermal cracking test",
            "Termisk sprickprovning",
            [
                (
                    "On the inertia dynamometer the disc is braked 500 times from 85 km/h so that "
                    "its surface reaches 620 °C. Radial cracks may not be longer than 75 % of the "
                    "width of the friction ring, and no crack may go through to the vent.",
                    "I svänghjulsprovbänk bromsas skivan 500 gånger från 85 km/h så att ytan når "
                    "620 °C. Radiella sprickor får inte vara längre än 75 % av friktionsringens "
                    "bredd, och ingen spricka får gå igenom till ventilationskanalen.",
                )
            ],
        ),
        *_clause(
            "7",
            "Delivery",
            "Leverans",
            [
                (
                    "Unbalance is at most 80 g·cm. The hub seat is coated with a grey zinc flake "
                    "paint of 8 to 15 µm; friction faces are bare and protected by oil-free paper.",
                    "Obalansen är högst 80 g·cm. Navytan beläggs med grå zinklamellfärg, 8 till "
                    "15 µm; friktionsytorna är obelagda och skyddas med oljefritt papper.",
                )
            ],
        ),
    )
    doc.save(path)


def frame_welding(path: Path) -> None:
    """NHS 5407, welding of frame rails and cross members."""
    doc = _start(
        Head(
            "NHS 5407",
            2,
            "2021-11-22",
            "Welding of frame rails and cross members",
            "Svetsning av rambalkar och tvärbalkar",
        )
    )
    doc.add(
        *_clause(
            "1",
            "Scope",
            "Omfattning",
            [
                (
                    "The standard applies to gas metal arc welding and laser hybrid welding of "
                    "chassis frames made of hot-rolled steel, 4 to 12 mm thick, with a yield "
                    "strength of 355 to 700 MPa.",
                    "Standarden gäller gasmetallbågsvetsning och laserhybridsvetsning av "
                    "chassiramar i varmvalsat stål, 4 till 12 mm tjockt, med en sträckgräns av 355 "
                    "till 700 MPa.",
                ),
                (
                    "Drilling, bolting and repair in workshops follow the body builder's guide.",
                    "Borrning, skruvning och reparation på verkstad följer påbyggarhandboken.",
                ),
            ],
        ),
        *_clause(
            "2",
            "Weldability classes",
            "Svetsbarhetsklasser",
            [
                (
                    "Steels are placed in a class by their carbon equivalent, Formula 1. The class "
                    "is stated for every grade in the material database.",
                    "Stål placeras i klass efter kolekvivalenten, formel 1. Klassen anges för "
                    "varje stålsort i materialdatabasen.",
                )
            ],
        ),
        Formula(
            [
                "//CEV//  =  C  +",
                Frac("Mn", "6"),
                "+",
                Frac("Cr + Mo + V", "5"),
                "+",
                Frac("Ni + Cu", "15"),
            ],
            "1",
        ),
        Table(
            "Table 1 – Weldability classes / Tabell 1 – Svetsbarhetsklasser",
            ["Class / Klass", "Carbon equivalent / Kolekvivalent", "Preheating / Förvärmning"],
            [
                ["A", "≤ 0.38", "none / ingen"],
                ["B", "> 0.38 … 0.45", "75 °C above / över 10 mm"],
                ["C", "> 0.45", "150 °C, and release by a welding engineer / och svetsansvarig"],
            ],
            (0.7, 1.3, 2.2),
        ),
        *_clause(
            "3",
            "Heat input",
            "Sträckenergi",
            [
                (
                    "The heat input //Q// in kJ/mm is given by Formula 2, with the voltage //U// "
                    "in volts, the current //I// in amperes, the welding speed //v// in mm/s and "
                    "a thermal efficiency //k// of 0.8 for gas metal arc welding. Limits are in "
                    "Table 2; they keep the cooling time //t//_{8/5} between 5 and 15 seconds.",
                    "Sträckenergin //Q// i kJ/mm ges av formel 2, med spänningen //U// i volt, "
                    "strömmen //I// i ampere, svetshastigheten //v// i mm/s och den termiska "
                    "verkningsgraden //k// 0,8 för gasmetallbågsvetsning. Gränserna står i tabell "
                    "2; de håller svalningstiden //t//_{8/5} mellan 5 och 15 sekunder.",
                )
            ],
        ),
        Formula(["//Q//  =", Frac("//k · U · I//", "1000 · //v//")], "2"),
        Table(
            "Table 2 – Heat input and filler / Tabell 2 – Sträckenergi och tillsatsmaterial",
            [
                "Yield strength / Sträckgräns, MPa",
                "Thickness / Tjocklek, mm",
                "Heat input / Sträckenergi, kJ/mm",
                "Interpass / Mellansträng, °C",
                "Filler class / Tillsatsklass",
            ],
            [
                ["355–420", "4–12", "0.4–1.5", "≤ 200", "G 42"],
                ["500", "4–8", "0.4–0.9", "≤ 150", "G 50"],
                ["500", "> 8–12", "0.5–1.2", "≤ 150", "G 50"],
                ["600–700", "4–6", "0.35–0.55", "≤ 100", "G 69, fillet / käl: G 50"],
                ["600–700", "> 6–10", "0.5–0.8", "≤ 100", "G 69, fillet / käl: G 50"],
            ],
            (1.2, 1, 1.2, 1, 1.5),
        ),
        *_clause(
            "4",
            "Where welding is forbidden",
            "Svetsförbud",
            [
                (
                    "No weld may lie closer than 25 mm to the edge of a rail flange, within 60 mm "
                    "of a punched hole, or in the bends of a rail. The zone from the front axle "
                    "bracket to 400 mm behind it is free from welds.",
                    "Ingen svets får ligga närmare än 25 mm från kanten på en balkfläns, inom "
                    "60 mm från ett stansat hål eller i balkens bockar. Zonen från framaxelfästet "
                    "till 400 mm bakom det är fri från svetsar.",
                )
            ],
        ),
        *_clause(
            "5",
            "Weld quality",
            "Svetskvalitet",
            [
                (
                    "Welds meet quality level B. For welds marked F (fatigue) on the drawing the "
                    "undercut is at most 0.3 mm, the toe radius at least 1.0 mm, and start and "
                    "stop are placed at least 50 mm from the end of the joint.",
                    "Svetsar uppfyller kvalitetsnivå B. För svetsar märkta F (utmattning) på "
                    "ritningen är smältdiket högst 0,3 mm, fattningskantens radie minst 1,0 mm, "
                    "och start och stopp läggs minst 50 mm från fogens ände.",
                ),
                (
                    "The throat of fillet welds is 0.7 times the thinner sheet unless stated. "
                    "Zinc and paint are removed 20 mm on both sides of the joint.",
                    "Kälsvetsars a-mått är 0,7 gånger den tunnare plåten om inget annat anges. "
                    "Zink och färg avlägsnas 20 mm på båda sidor om fogen.",
                ),
            ],
        ),
        *_clause(
            "6",
            "Repair",
            "Reparation",
            [
                (
                    "A weld may be repaired once. Arc air gouging is not allowed on steel with a "
                    "yield strength above 500 MPa; grind out the fault and test with magnetic "
                    "particles before welding again.",
                    "En svets får repareras en gång. Kolbågsmejsling är inte tillåten på stål med "
                    "sträckgräns över 500 MPa; slipa bort felet och prova med magnetpulver innan "
                    "ny svetsning.",
                )
            ],
        ),
        *_clause(
            "7",
            "Qualification",
            "Kvalificering",
            [
                (
                    "The procedure is qualified with a butt joint and a fillet joint. Hardness "
                    "in the heat-affected zone shall be at most 380 HV10, and at least 0.9 times "
                    "the hardness of the base metal where the zone is softened. Impact energy is "
                    "at least 27 J at –40 °C on full-size specimens.",
                    "Proceduren kvalificeras med en stumfog och en kälfog. Hårdheten i den "
                    "värmepåverkade zonen ska vara högst 380 HV10, och minst 0,9 gånger "
                    "grundmaterialets hårdhet där zonen mjuknat. Slagsegheten är minst 27 J vid "
                    "–40 °C på fullstora provstavar.",
                )
            ],
        ),
    )
    doc.save(path)


def interior_polymers(path: Path) -> None:
    """NHS 3362, flammability and emissions of interior polymers."""
    doc = _start(
        Head(
            "NHS 3362",
            4,
            "2023-10-09",
            "Interior polymers – burning behaviour and emissions",
            "Interiöra polymerer – brandegenskaper och emissioner",
        )
    )
    doc.add(
        *_clause(
            "1",
            "Scope",
            "Omfattning",
            [
                (
                    "All polymers, textiles, foams and leather inside the cab that are larger than "
                    "50 cm² shall meet this standard. Smaller parts are exempt unless they sit "
                    "within 13 mm of a wire carrying more than 20 A.",
                    "Alla polymerer, textilier, skum och läder i hytten som är större än 50 cm² "
                    "ska uppfylla denna standard. Mindre detaljer är undantagna om de inte sitter "
                    "inom 13 mm från en ledning med mer än 20 A.",
                )
            ],
        ),
        *_clause(
            "2",
            "Horizontal burning rate",
            "Horisontell brinnhastighet",
            [
                (
                    "Five specimens of 356 mm by 100 mm, in the thickness of the part but at most "
                    "13 mm, are conditioned at 23 °C and 50 % relative humidity for 48 hours. The "
                    "flame is applied for 15 seconds; the burning rate is taken over 254 mm.",
                    "Fem prov om 356 mm gånger 100 mm, i detaljens tjocklek men högst 13 mm, "
                    "konditioneras vid 23 °C och 50 % relativ fuktighet i 48 timmar. Lågan hålls "
                    "an i 15 sekunder; brinnhastigheten tas över 254 mm.",
                ),
                (
                    "The burning rate //B// in mm/min is the burnt distance //s// in millimetres "
                    "divided by the time //t// in seconds, times sixty. The highest value of the "
                    "five counts, not the mean.",
                    "Brinnhastigheten //B// i mm/min är den brunna sträckan //s// i millimeter "
                    "delad med tiden //t// i sekunder, gånger sextio. Det högsta av de fem "
                    "värdena gäller, inte medelvärdet.",
                ),
            ],
        ),
        Formula(["//B//  =", Frac("//s//", "//t//"), "·  60"], "1"),
        Table(
            "Table 1 – Limits by position / Tabell 1 – Gränser efter placering",
            [
                "Position / Placering",
                "Burning rate / Brinnhastighet, mm/min",
                "Burning drops / Brinnande droppar",
                "Fogging / Imbildning, mg",
            ],
            [
                ["Roof lining / Innertak", "≤ 50", "not allowed / ej tillåtet", "≤ 1.0"],
                [
                    "Bunk and curtain / Säng och gardin",
                    "≤ 60",
                    "not allowed / ej tillåtet",
                    "≤ 1.5",
                ],
                ["Seat and door trim / Stol och dörrsida", "≤ 80", "allowed / tillåtet", "≤ 1.5"],
                ["Instrument panel / Instrumentpanel", "≤ 80", "allowed / tillåtet", "≤ 1.0"],
                ["Floor mat / Golvmatta", "≤ 100", "allowed / tillåtet", "≤ 2.0"],
            ],
            (1.9, 1.5, 1.5, 1.1),
        ),
        *_clause(
            "3",
            "Parts near high voltage",
            "Detaljer nära högspänning",
            [
                (
                    "In battery-electric trucks, housings and ducts within 100 mm of the traction "
                    "voltage system shall reach V-0 at 1.5 mm wall thickness and a comparative "
                    "tracking index of at least 600 V. Halogenated flame retardants and red "
                    "phosphorus are not allowed there.",
                    "I batterielektriska lastbilar ska höljen och kanaler inom 100 mm från "
                    "drivspänningssystemet klara V-0 vid 1,5 mm väggtjocklek och ha ett "
                    "krypströmsindex av minst 600 V. Halogenerade flamskyddsmedel och röd fosfor "
                    "är inte tillåtna där.",
                )
            ],
        ),
        *_clause(
            "4",
            "Emissions and odour",
            "Emissioner och lukt",
            [
                (
                    "Total volatile emissions from a 100 cm² sample at 65 °C over two hours are "
                    "at most 50 µg of carbon per gram for plastics and 100 µg for textiles. "
                    "Formaldehyde is at most 5 mg/kg. The odour grade at 80 °C is at most 3.0 on "
                    "the six-point scale, judged by five persons.",
                    "Totala flyktiga emissioner från ett prov om 100 cm² vid 65 °C under två "
                    "timmar är högst 50 µg kol per gram för plaster och 100 µg för textilier. "
                    "Formaldehyd är högst 5 mg/kg. Luktbetyget vid 80 °C är högst 3,0 på den "
                    "sexgradiga skalan, bedömt av fem personer.",
                )
            ],
        ),
        *_clause(
            "5",
            "Ageing before the test",
            "Åldring före provning",
            [
                (
                    "Instrument panel and roof lining are also tested after 500 hours at 90 °C "
                    "and after light ageing for five cycles. The burning rate may then be at "
                    "most 20 % higher than when new and shall still meet Table 1.",
                    "Instrumentpanel och innertak provas även efter 500 timmar vid 90 °C och efter "
                    "ljusåldring i fem cykler. Brinnhastigheten får då vara högst 20 % högre än i "
                    "nytt skick och ska fortfarande uppfylla tabell 1.",
                )
            ],
        ),
        *_clause(
            "6",
            "Recycled content",
            "Återvunnet innehåll",
            [
                (
                    "Recycled polypropylene may be used in trim that is not seen, up to 60 % of "
                    "the mass, if each lot is tested for burning rate and odour. Post-consumer "
                    "material shall have a declared content of bromine below 50 mg/kg.",
                    "Återvunnen polypropen får användas i dold klädsel, upp till 60 % av massan, "
                    "om varje parti provas för brinnhastighet och lukt. Material från "
                    "konsumentavfall ska ha en deklarerad bromhalt under 50 mg/kg.",
                )
            ],
        ),
        *_clause(
            "7",
            "Report",
            "Rapport",
            [
                (
                    "The report gives trade name, colour, lot, thickness, all single values and a "
                    "photograph of the burnt specimens. It is valid for three years or until the "
                    "recipe is changed.",
                    "Rapporten anger handelsnamn, kulör, parti, tjocklek, alla enskilda värden och "
                    "ett fotografi av de brunna proven. Den gäller i tre år eller tills receptet "
                    "ändras.",
                )
            ],
        ),
    )
    doc.save(path)


def fastener_coatings(path: Path) -> None:
    """NHS 3120, coatings for threaded fasteners."""
    doc = _start(
        Head(
            "NHS 3120",
            7,
            "2024-01-15",
            "Coatings for threaded fasteners",
            "Ytbeläggning av gängade fästelement",
        )
    )
    doc.add(
        *_clause(
            "1",
            "Scope",
            "Omfattning",
            [
                (
                    "The standard states coatings for steel screws, nuts and washers from M5 to "
                    "M24 in the chassis, the cab and the driveline. All coatings shall be free of "
                    "hexavalent chromium.",
                    "Standarden anger ytbeläggningar för skruvar, muttrar och brickor av stål från "
                    "M5 till M24 i chassi, hytt och drivlina. Alla beläggningar ska vara fria från "
                    "sexvärt krom.",
                )
            ],
        ),
        *_clause(
            "2",
            "Coating systems",
            "Beläggningssystem",
            [
                (
                    "Table 1 lists the systems. The designation is written on the drawing after "
                    "the property class, for instance 10.9 – F720. The letter L adds a sealer with "
                    "integrated lubricant.",
                    "Tabell 1 listar systemen. Beteckningen skrivs på ritningen efter "
                    "hållfasthetsklassen, till exempel 10.9 – F720. Bokstaven L anger en "
                    "förseglare med inbyggt smörjmedel.",
                )
            ],
        ),
        Table(
            "Table 1 – Systems and corrosion limits / Tabell 1 – System och korrosionsgränser",
            [
                "Designation / Beteckning",
                "System",
                "Thickness / Tjocklek, µm",
                "Salt spray to red rust / Saltdimma till rödrost, h",
                "Use / Användning",
            ],
            [
                [
                    "Z96",
                    "Electroplated zinc / Elförzinkning",
                    "5–12",
                    "96",
                    "Cab, dry / Hytt, torrt",
                ],
                ["ZN480", "Zinc-nickel / Zink-nickel", "8–14", "480", "Engine / Motor"],
                [
                    "ZN720L",
                    "Zinc-nickel, black / Zink-nickel, svart",
                    "8–15",
                    "720",
                    "Seen / Synligt",
                ],
                ["F720", "Zinc flake / Zinklamell", "8–12", "720", "Chassis / Chassi"],
                ["F1000L", "Zinc flake, two coats / Zinklamell", "10–18", "1 000", "Brake / Broms"],
                ["H45", "Hot-dip galvanised / Varmförzinkning", "45–85", "600", "Body / Påbyggnad"],
            ],
            (1.1, 2.2, 1.1, 1.5, 1.3),
        ),
        *_clause(
            "3",
            "Friction",
            "Friktion",
            [
                (
                    "The total coefficient of friction for systems with lubricant is 0.09 to 0.14, "
                    "tested at 75 % of proof load on ten screws. The tightening torque follows "
                    "from Formula 1, with the preload //F//_{M}, the pitch //P//, the pitch "
                    "diameter //d//_{2} and the friction diameter of the bearing face //D//_{b}.",
                    "Den totala friktionskoefficienten för system med smörjmedel är 0,09 till "
                    "0,14, provad vid 75 % av provlasten på tio skruvar. Åtdragningsmomentet ges "
                    "av formel 1, med förspänningskraften //F//_{M}, stigningen //P//, "
                    "medeldiametern //d//_{2} och anliggningsytans friktionsdiameter //D//_{b}.",
                )
            ],
        ),
        Formula(
            [
                "//M//  =  //F//_{M}  (",
                Frac("//P//", "2π"),
                "+  0.58 //d//_{2} µ_{G}  +",
                Frac("//D//_{b} µ_{K}", "2"),
                ")",
            ],
            "1",
        ),
        *_clause(
            "4",
            "Hydrogen embrittlement",
            "Väteförsprödning",
            [
                (
                    "Screws of property class 12.9 and parts harder than 390 HV shall not be "
                    "electroplated. Electroplated parts of class 10.9 are baked at 200 to 220 °C "
                    "for at least six hours, and the baking starts within four hours after "
                    "plating.",
                    "Skruvar i hållfasthetsklass 12.9 och detaljer hårdare än 390 HV får inte "
                    "elektropläteras. Elektropläterade detaljer i klass 10.9 avväts vid 200 till "
                    "220 °C i minst sex timmar, och avvätningen påbörjas inom fyra timmar efter "
                    "pläteringen.",
                ),
                (
                    "For each batch of class 10.9 a parallel bearing surface test with eight "
                    "screws is run for 48 hours at 90 % of the yield load. One broken screw "
                    "rejects the batch.",
                    "För varje parti i klass 10.9 körs ett prov med parallella anliggningsytor med "
                    "åtta skruvar i 48 timmar vid 90 % av sträckgränslasten. En bruten skruv "
                    "underkänner partiet.",
                ),
            ],
        ),
        *_clause(
            "5",
            "Contact with other metals",
            "Kontakt med andra metaller",
            [
                (
                    "In contact with aluminium or magnesium, zinc flake or zinc-nickel with sealer "
                    "is used. Stainless screws in aluminium are allowed only above the frame and "
                    "with an insulating washer of at least 1 mm. Copper and brass parts are kept "
                    "apart from coated fasteners.",
                    "I kontakt med aluminium eller magnesium används zinklamell eller zink-nickel "
                    "med förseglare. Rostfria skruvar i aluminium är tillåtna endast ovanför ramen "
                    "och med en isolerande bricka av minst 1 mm. Detaljer av koppar och mässing "
                    "hålls åtskilda från belagda fästelement.",
                )
            ],
        ),
        *_clause(
            "6",
            "Heat",
            "Värme",
            [
                (
                    "Zinc-nickel may be used up to 180 °C, zinc flake up to 250 °C and zinc up to "
                    "100 °C. After 24 hours at the highest temperature the salt spray time shall "
                    "be at least 80 % of Table 1.",
                    "Zink-nickel får användas upp till 180 °C, zinklamell upp till 250 °C och zink "
                    "upp till 100 °C. Efter 24 timmar vid högsta temperatur ska saltdimmetiden "
                    "vara minst 80 % av tabell 1.",
                )
            ],
        ),
        *_clause(
            "7",
            "Delivery test",
            "Leveransprov",
            [
                (
                    "Each delivery lot is tested for thickness on the head of eight parts and for "
                    "gauge fit with a 6h ring. Salt spray is run once a month for each line, "
                    "friction once a week.",
                    "Varje leveransparti provas för tjocklek på skallen hos åtta detaljer och för "
                    "tolkpassning med en 6h-ring. Saltdimma körs en gång i månaden för varje "
                    "linje, friktion en gång i veckan.",
                )
            ],
        ),
        Pair(
            bullets("Clauses 3 and 4 are critical (CC)."), bullets("Avsnitt 3 och 4 är kritiska.")
        ),
    )
    doc.save(path)


def write_all(folder: Path) -> None:
    """Write every standard into `folder`."""
    cab_sheet(folder / "NHS-3101-4_corrosion_protection_cab_sheet_2017.pdf", issue=4)
    cab_sheet(folder / "NHS-3101-5_corrosion_protection_cab_sheet_2024.pdf", issue=5)
    elastomer_seals(folder / "NHS-3240-3_elastomer_seals_ageing.pdf")
    brake_discs(folder / "NHS-2215-6_cast_iron_brake_discs.pdf")
    frame_welding(folder / "NHS-5407-2_welding_of_frame_rails.pdf")
    interior_polymers(folder / "NHS-3362-4_interior_polymers_burning.pdf")
    fastener_coatings(folder / "NHS-3120-7_fastener_coatings.pdf")
