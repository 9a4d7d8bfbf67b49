"""The questions with their gold evidence: what is asked, and where the answer lies.

A question on documents names file, page (PDF and PPTX only) and a quote; a question on tables
names the SQL whose rows are the gold, with the key in the first column. Questions use natural
words, never the technical headings.
"""

# ruff: noqa: RUF001

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from generate import check

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CAB_OLD = "standards/NHS-3101-4_corrosion_protection_cab_sheet_2017.pdf"
CAB_NEW = "standards/NHS-3101-5_corrosion_protection_cab_sheet_2024.pdf"
SEALS = "standards/NHS-3240-3_elastomer_seals_ageing.pdf"
DISCS = "standards/NHS-2215-6_cast_iron_brake_discs.pdf"
WELDING = "standards/NHS-5407-2_welding_of_frame_rails.pdf"
INTERIOR = "standards/NHS-3362-4_interior_polymers_burning.pdf"
FASTENERS = "standards/NHS-3120-7_fastener_coatings.pdf"
EPD_STRIP = "epd/EPD-0412_fjallstal_hot_rolled_strip.pdf"
EPD_SHEET = "epd/EPD-0388_ostersjo_galvanised_sheet.pdf"
EPD_PP = "epd/EPD-0457_repolyn_recycled_polypropylene.pdf"
EPD_DISC = "epd/EPD-0431_gjutvik_brake_disc.pdf"
FATIGUE = "reports/TR-2024-017_fatigue_of_frame_steel.pdf"
SLIDES = "reports/TR-2024-031_coated_fasteners.pptx"
GUIDELINE = "guides/MG-02_material_selection.pdf"
DATA_SHEET = "suppliers/fjallstal_FS_700_MC_data_sheet.pdf"
HEXALON = "suppliers/hexalon_zinc_flake_coating.html"
POLYAMIDE = "specifications/MS-118_polyamide_66_for_brackets.docx"
READING = "guides/reading_data_sheets.md"
CARDS = "guides/material_cards_for_simulation.md"
TESTING = "guides/provning_av_tatningar.md"
MEMO = "memos/pm_byte_av_zinkskikt_2024.txt"
SCAN = "scans/certificate_98-1147_hardness.pdf"


@dataclass(frozen=True)
class Quote:
    """A text in a document; `page` counts from 1 and is None where there are no pages.

    A scanned page has no text layer, hence no `text`.
    """

    document: str
    page: int | None
    text: str | None

    @property
    def gold(self) -> str:
        """The gold id."""
        return f"doc:{self.document}" + (f"#page={self.page}" if self.page else "")


@dataclass(frozen=True)
class DocumentQuestion:
    """A question whose answer stands in documents."""

    language: str
    question: str
    answer: str
    quotes: tuple[Quote, ...]


@dataclass(frozen=True)
class TableQuestion:
    """A question whose answer is rows of one table."""

    language: str
    question: str
    table: str
    sql: str


def ask(
    language: str, question: str, answer: str, *quotes: tuple[str, int | None, str | None]
) -> DocumentQuestion:
    """A question on documents, with where its answer stands: document, page and quote."""
    return DocumentQuestion(language, question, answer, tuple(Quote(*quote) for quote in quotes))


DOCUMENT_QUESTIONS = (
    ask(
        "en",
        "How long does the cyclic corrosion test of painted cab panels run according to the "
        "valid issue of the standard?",
        "8 weeks",
        (CAB_NEW, 1, "NHS 9310 for 8 weeks"),
        (CAB_NEW, 2, "prolonged from six to eight weeks"),
    ),
    ask(
        "en",
        "How much creep from the scribe was allowed on doors and roofs by the 2017 issue of the "
        "cab corrosion standard?",
        "3.0 mm",
        (CAB_OLD, 2, "Krypning från rits ≤ 3.0 ≤ 4.0 ≤ 5.0"),
    ),
    ask(
        "en",
        "How much scribe creep may cab doors show today, after the 2024 revision?",
        "2.0 mm",
        (CAB_NEW, 2, "Krypning från rits ≤ 2.0 ≤ 3.0 ≤ 5.0"),
    ),
    ask(
        "en",
        "Which zinc mass on each side must the floor sheet of a cab have in the current standard?",
        "70 g/m², zinc-magnesium",
        (CAB_NEW, 1, "B ZM ≥ 70 ≥ 9.8"),
    ),
    ask(
        "sv",
        "Vilket zinkskikt per sida räckte för hyttgolvet innan standarden skärptes 2024?",
        "50 g/m²",
        (CAB_OLD, 1, "B Z, ZM ≥ 50 ≥ 7.0"),
        (MEMO, None, "höjer kravet på zinkskikt i zon B från 50 till 70 g/m2 per sida"),
    ),
    ask(
        "en",
        "Until when may cab parts that were released to the previous issue still be built?",
        "2026-12-31",
        (CAB_NEW, 2, "Parts released to issue 4 may be built until 2026-12-31"),
    ),
    ask(
        "sv",
        "Vid vilken temperatur härdas hyttens elektrodoppade grundfärg enligt gällande utgåva?",
        "165 °C i 15 minuter",
        (CAB_NEW, 1, "hållits vid 165 °C i 15 minuter"),
        (CAB_NEW, 2, "från 175 till 165 °C"),
    ),
    ask(
        "en",
        "May electrogalvanised sheet still be used for new cab parts?",
        "no",
        (CAB_NEW, 1, "is no longer allowed in new parts"),
        (CAB_NEW, 2, "electrogalvanised sheet is withdrawn"),
    ),
    ask(
        "sv",
        "Hur många år skulle hytten klara sig utan genomrostning enligt utgåvan från 2017?",
        "tio år",
        (CAB_OLD, 2, "rosta igenom inom tio år i klimatklass C4"),
    ),
    ask(
        "en",
        "What is the shelf life of nitrile rubber seals?",
        "seven years",
        (SEALS, 2, "is seven years for N75 and ten years for the other compounds"),
    ),
    ask(
        "sv",
        "Varför får svavelvulkad EPDM inte ligga mot lackerade ytor?",
        "den missfärgar ljusa kulörer",
        (SEALS, 1, "eftersom den missfärgar ljusa kulörer"),
    ),
    ask(
        "en",
        "Which activation energy is assumed for EPDM seals when none has been measured?",
        "95 kJ/mol",
        (SEALS, 2, "activation energy of 95 kJ/mol for E70"),
    ),
    ask(
        "en",
        "How much may the hardness of the fluoroelastomer rise in hot air, and at which "
        "temperature is it aged?",
        "+6 Shore A at 200 °C",
        (SEALS, 1, "F75 200 +6 –20 –25"),
    ),
    ask(
        "sv",
        "Hur beräknas sättningen hos en tätning ur höjderna före och efter?",
        "(h0 - h1) / (h0 - hs) i procent",
        (SEALS, 1, "höjden efter återhämtning och"),
    ),
    ask(
        "en",
        "Why is titanium limited in the iron for brake discs, and to what content?",
        "it lowers the friction level; 0.015 %",
        (DISCS, 1, "Titanium lowers the friction level and shall not exceed 0.015 %"),
    ),
    ask(
        "sv",
        "Hur ska bromsskivor av den legerade sorten avspänningsglödgas?",
        "600 ± 20 °C i tre timmar, långsam svalning i ugn",
        (DISCS, 1, "avspänningsglödgas vid 600 ± 20 °C i tre timmar"),
    ),
    ask(
        "en",
        "How long may radial cracks in a brake disc be after 500 hot stops?",
        "75 % of the width of the friction ring",
        (DISCS, 2, "longer than 75 % of the width of the friction ring"),
    ),
    ask(
        "en",
        "Which thermal conductivity is required of the high-carbon disc iron at 300 degrees?",
        "48 W/(m·K)",
        (DISCS, 1, "W/(m·K) ≥ 48 ≥ 42"),
    ),
    ask(
        "en",
        "How close to the edge of a frame rail flange may a weld be placed?",
        "25 mm",
        (WELDING, 1, "No weld may lie closer than 25 mm to the edge of a rail flange"),
    ),
    ask(
        "sv",
        "Hur många gånger får en svets i ramen repareras?",
        "en gång",
        (WELDING, 2, "En svets får repareras en gång"),
    ),
    ask(
        "en",
        "From which carbon equivalent must a frame steel be preheated to 150 degrees?",
        "above 0.45 (class C)",
        (WELDING, 1, "C > 0.45 150 °C"),
    ),
    ask(
        "en",
        "How hard may the heat-affected zone be when a welding procedure is qualified?",
        "380 HV10",
        (WELDING, 2, "in the heat-affected zone shall be at most 380 HV10"),
    ),
    ask(
        "sv",
        "Vilken sträckenergi är tillåten för 5 mm plåt med 700 MPa sträckgräns?",
        "0,35 till 0,55 kJ/mm",
        (WELDING, 1, "600–700 4–6 0.35–0.55"),
    ),
    ask(
        "en",
        "How fast may a roof lining burn at most?",
        "50 mm/min",
        (INTERIOR, 1, "Roof lining / Innertak ≤ 50"),
    ),
    ask(
        "sv",
        "Vilket luktbetyg får plaster i hytten ha som högst?",
        "3,0",
        (INTERIOR, 1, "Luktbetyget vid 80 °C är högst 3,0"),
    ),
    ask(
        "en",
        "Which flame retardants are banned in housings near the traction battery cables?",
        "halogenated flame retardants and red phosphorus",
        (INTERIOR, 1, "Halogenated flame retardants and red phosphorus are not allowed there"),
    ),
    ask(
        "sv",
        "Hur stor andel återvunnen polypropen får finnas i klädsel som inte syns?",
        "upp till 60 % av massan",
        (INTERIOR, 2, "upp till 60 % av massan"),
    ),
    ask(
        "en",
        "Which screws must never be electroplated because of hydrogen embrittlement?",
        "class 12.9 and parts harder than 390 HV",
        (FASTENERS, 1, "Screws of property class 12.9 and parts harder than 390 HV"),
    ),
    ask(
        "sv",
        "Hur snart efter pläteringen måste avvätningen av skruvar börja?",
        "inom fyra timmar",
        (FASTENERS, 1, "avvätningen påbörjas inom fyra timmar"),
    ),
    ask(
        "en",
        "Up to which temperature does the company standard allow fasteners with zinc flake?",
        "250 °C",
        (FASTENERS, 2, "zinc flake up to 250 °C"),
    ),
    ask(
        "en",
        "What is the carbon footprint from cradle to gate of a tonne of hot-rolled frame steel?",
        "2 180 kg CO2e",
        (EPD_STRIP, 1, "GWP-total kg CO2e 2 180"),
        (DATA_SHEET, 1, "2.18 kg CO2e per kg according to declaration"),
    ),
    ask(
        "en",
        "How much fresh water is used to make one brake disc?",
        "0.12 m³",
        (EPD_DISC, 2, "Net fresh water m³ 0.12"),
    ),
    ask(
        "en",
        "What happens to the recycled polypropylene compound at its end of life?",
        "70 % burnt, 25 % recycled, 5 % landfill",
        (EPD_PP, 1, "70 % is burnt with energy recovery, 25 % recycled"),
    ),
    ask(
        "en",
        "How would electricity of the residual mix change the climate impact of a brake disc?",
        "38.9 instead of 27.4 kg CO2e",
        (EPD_DISC, 2, "to 38.9 kg CO2e per disc"),
    ),
    ask(
        "sv",
        "Hur stor är klimatpåverkan av galvaniserad plåt med det tunnare skiktet ZM90?",
        "2 385 kg CO2e per ton",
        (EPD_SHEET, 2, "total global warming potential of A1–A3 is 2 385 kg CO2e"),
    ),
    ask(
        "en",
        "Which stress amplitude do sheared edges of S700MC withstand at two million cycles?",
        "198 MPa",
        (FATIGUE, 1, "shearing to 198 MPa"),
        (FATIGUE, 3, "C sheared –1 198 6.4"),
    ),
    ask(
        "en",
        "How is the mean stress sensitivity estimated from the tensile strength?",
        "M = 0.00035 Rm - 0.1",
        (FATIGUE, 2, "rolled steel it may be estimated from the tensile strength"),
    ),
    ask(
        "en",
        "Which damage sum is allowed for load spectra measured on the road?",
        "0.5",
        (FATIGUE, 2, "The allowable sum is 0.5 for spectra measured on the road"),
    ),
    ask(
        "en",
        "Where did the cracks begin in fatigue specimens with punched holes?",
        "at the exit side of the hole",
        (FATIGUE, 4, "cracks started at the exit side of the hole"),
    ),
    ask(
        "sv",
        "Hur mycket högre utmattningshållfasthet ger TIG-behandling av en stumsvets?",
        "38 procent, 88 i stället för 64 MPa",
        (FATIGUE, 1, "TIG dressing of the toe raises it to 88 MPa, which is 38 % more"),
    ),
    ask(
        "en",
        "Which potential difference between two joined metals is acceptable outside the cab?",
        "0.15 V",
        (GUIDELINE, 4, "shall be at most 0.15 V outside"),
    ),
    ask(
        "en",
        "What is a saved kilogram worth over the life of a long-haul truck?",
        "3.20 euro",
        (GUIDELINE, 2, "each kilogram saved is worth 3.20 euro"),
    ),
    ask(
        "en",
        "At which temperature can a bracket of polyamide 66 with 35 % glass be used for a long "
        "time?",
        "130 °C",
        (GUIDELINE, 3, "PA66 with 35 % glass 130"),
    ),
    ask(
        "sv",
        "Hur tjockt stål behövs i locket över battericellerna för att klara lågan utan beläggning?",
        "0,8 mm",
        (GUIDELINE, 4, "Steel of 0.8 mm passes without a coating"),
    ),
    ask(
        "en",
        "On which day does the materials council meet?",
        "second Tuesday of each month",
        (GUIDELINE, 6, "second Tuesday of each month"),
    ),
    ask(
        "en",
        "Which clearance does the steel mill recommend for shearing its high-strength strip?",
        "10 to 14 % of the thickness",
        (DATA_SHEET, 1, "of 10 to 14 % of the thickness"),
    ),
    ask(
        "en",
        "How are opened bags of glass filled polyamide dried before moulding?",
        "four hours at 80 °C in dry air",
        (POLYAMIDE, None, "Opened bags are dried at 80 °C for four hours in dry air"),
    ),
    ask(
        "en",
        "For which parts is the recycled glass filled polyamide released?",
        "covers and cable clips only",
        (POLYAMIDE, None, "Repolyn GF35 R35 Repolyn 35 % covers and cable clips only"),
    ),
    ask(
        "en",
        "How much strength must polyamide brackets keep after 3 000 hours in hot air?",
        "60 percent",
        (POLYAMIDE, None, "above 60 percent of the value when new"),
    ),
    ask(
        "en",
        "Which coated screws failed in the comparison of 2024, and why?",
        "F1000L of Lamellis (red rust at 936 h), F720 of Galvotek (scatter of friction)",
        (SLIDES, 3, "Lamellis F1000L rusts at 936 hours where 1 000 are asked for"),
    ),
    ask(
        "en",
        "Which coating was recommended for the screws of brake brackets?",
        "F1000L from Hexalon",
        (SLIDES, 6, "Use F1000L from Hexalon for brake brackets"),
    ),
    ask(
        "sv",
        "Hur tunt är toppskiktet från Lamellis på kanten av sexkanten?",
        "2 till 3 µm",
        (SLIDES, 5, "top coat is only 2 to 3 µm thick on the edge"),
    ),
    ask(
        "en",
        "Why is the zinc flake coating of Hexalon not suitable for earth points?",
        "its resistance is up to 40 mΩ",
        (HEXALON, None, "suitable for earth points, as its resistance is up to 40 mΩ"),
    ),
    ask(
        "en",
        "Which hardening constants of the Swift law are used for S700MC?",
        "K = 1 010 MPa, n = 0.080, ε0 = 0.006",
        (CARDS, None, "S700MC | 1 010 | 0.080 | 0.006"),
    ),
    ask(
        "en",
        "May elongation values measured over five diameters and over 80 mm be compared?",
        "no",
        (READING, None, "They must not be compared"),
    ),
    ask(
        "en",
        "How is tensile strength estimated from Brinell hardness?",
        "3.4 times the hardness, only for steel",
        (READING, None, "is about 3.4 times the Brinell hardness"),
    ),
    ask(
        "sv",
        "Hur mycket olja får en radialtätning läcka i provriggen för att godkännas?",
        "2 gram under 240 timmar",
        (TESTING, None, "högst 2 gram under 240 timmar godkänns"),
    ),
    ask(
        "sv",
        "Vad är den troliga orsaken till sprickor efter ozonprovning?",
        "fel vaxhalt i blandningen",
        (TESTING, None, "fel vaxhalt i blandningen"),
    ),
    ask(
        "sv",
        "Hur mycket dyrare blir plåten per hytt med det nya zinkskiktet?",
        "11 kronor per hytt",
        (MEMO, None, "Merkostnaden för plåten är 11 kronor per hytt"),
    ),
    ask(
        "sv",
        "Hur påverkas punktsvetsningen när golvet byter till ZM140?",
        "8 procent högre ström, elektroder formeras efter 220 punkter",
        (MEMO, None, "kräver 8 procent högre ström"),
    ),
    ask(
        "sv",
        "Varför underkändes den tredje mellanaxeln i provningsintyget från 1998?",
        "för hög hårdhet på grund av för låg anlöpningstemperatur",
        (SCAN, 1, None),
    ),
    ask(
        "en",
        "Which surface hardness did the induction hardened spline have in the 1998 certificate?",
        "54 HRC",
        (SCAN, 1, None),
    ),
)

TABLE_QUESTIONS = (
    TableQuestion(
        "en",
        "What are the carbon equivalent and the weldability class of S700MC from Weserband in "
        "thicknesses of 6 to 10 mm?",
        "steel_grades",
        "SELECT mat_id, ceq, wld_cls FROM steel_grades "
        "WHERE desig = 'S700MC' AND suppl = 'Weserband' AND t_min_mm = 6",
    ),
    TableQuestion(
        "en",
        "Which steels from Weserband have a yield strength above 700 MPa?",
        "steel_grades",
        "SELECT mat_id, desig, rp02_mpa FROM steel_grades "
        "WHERE suppl = 'Weserband' AND rp02_mpa > 700",
    ),
    TableQuestion(
        "en",
        "How strong is the boron steel after press hardening?",
        "steel_grades",
        "SELECT mat_id, suppl, rm_mpa FROM steel_grades WHERE cond = 'press hardened'",
    ),
    TableQuestion(
        "en",
        "Which wear plates have a Brinell hardness above 450?",
        "steel_grades",
        "SELECT mat_id, desig, suppl, hbw FROM steel_grades WHERE hbw > 450",
    ),
    TableQuestion(
        "en",
        "Which impact energy does S960MC reach at minus 40 degrees?",
        "steel_grades",
        "SELECT mat_id, kv_j FROM steel_grades WHERE desig = 'S960MC' AND kv_t_c = -40",
    ),
    TableQuestion(
        "en",
        "Which suppliers deliver quenched and tempered 42CrMo4 bars thicker than 40 mm, and how "
        "hard are they?",
        "steel_grades",
        "SELECT mat_id, suppl, hbw FROM steel_grades WHERE desig = '42CrMo4' AND t_min_mm >= 40",
    ),
    TableQuestion(
        "sv",
        "Vilka stål är bakhärdande, och hur mycket ökar sträckgränsen?",
        "steel_grades",
        "SELECT mat_id, desig, suppl, bh2_mpa FROM steel_grades WHERE bh2_mpa IS NOT NULL",
    ),
    TableQuestion(
        "sv",
        "Hur stor brottöjning har djupdragningsplåten DX56D?",
        "steel_grades",
        "SELECT mat_id, suppl, a80_pct FROM steel_grades WHERE desig = 'DX56D'",
    ),
    TableQuestion(
        "en",
        "Which polymer compounds contain at least 60 percent recycled material?",
        "polymers",
        "SELECT pol_id, trade, rec_pct FROM polymers WHERE rec_pct >= 60",
    ),
    TableQuestion(
        "en",
        "What is the glass transition temperature of the polyphthalamide from Rhenoplast?",
        "polymers",
        "SELECT pol_id, tg_c FROM polymers WHERE fam = 'PPA' AND suppl = 'Rhenoplast'",
    ),
    TableQuestion(
        "en",
        "Which polycarbonate blends reach flammability class V-0?",
        "polymers",
        "SELECT pol_id, trade, ul94 FROM polymers WHERE fam = 'PC+ABS' AND ul94 = 'V-0'",
    ),
    TableQuestion(
        "en",
        "How easily does the recycled polypropylene with 20 % talc and 60 % recycled content flow?",
        "polymers",
        "SELECT pol_id, mfi, mfi_cond FROM polymers WHERE desig = 'PP-T20' AND rec_pct = 60",
    ),
    TableQuestion(
        "en",
        "Which stiffness do polyamides with 50 percent glass fibre have?",
        "polymers",
        "SELECT pol_id, trade, e_gpa FROM polymers WHERE desig = 'PA66-GF50'",
    ),
    TableQuestion(
        "en",
        "Which plastics keep their shape under load above 260 degrees?",
        "polymers",
        "SELECT pol_id, desig, suppl, hdt_c FROM polymers WHERE hdt_c > 260",
    ),
    TableQuestion(
        "sv",
        "Vilken sättning har fluorelastomererna?",
        "polymers",
        "SELECT pol_id, suppl, cs_pct FROM polymers WHERE fam = 'FKM'",
    ),
    TableQuestion(
        "sv",
        "Hur snabbt brinner EPDM-gummi?",
        "polymers",
        "SELECT pol_id, desig, suppl, br_mmmin FROM polymers "
        "WHERE fam = 'EPDM' AND br_mmmin IS NOT NULL",
    ),
    TableQuestion(
        "en",
        "Which coating systems have been withdrawn?",
        "coatings",
        "SELECT coat_id, sys, suppl FROM coatings WHERE rel_st = 'withdrawn'",
    ),
    TableQuestion(
        "en",
        "Which fastener coatings bring a risk of hydrogen embrittlement but hold 720 hours in "
        "salt spray?",
        "coatings",
        "SELECT coat_id, sys, suppl FROM coatings WHERE he_rsk = 'yes' AND nss_rr_h >= 720",
    ),
    TableQuestion(
        "en",
        "Which frame paint is still on trial?",
        "coatings",
        "SELECT coat_id, sys, suppl FROM coatings WHERE subst = 'frame' AND rel_st = 'trial'",
    ),
    TableQuestion(
        "en",
        "How glossy is the matt clear coat?",
        "coatings",
        "SELECT coat_id, sys, gloss60 FROM coatings WHERE descr = 'matt clear coat'",
    ),
    TableQuestion(
        "sv",
        "Vilken elektrodoppad grundfärg härdar vid 165 grader?",
        "coatings",
        "SELECT coat_id, sys, suppl FROM coatings WHERE sys LIKE 'EC-%' AND cure_c = 165",
    ),
    TableQuestion(
        "en",
        "How many cycles did fatigue specimen F03 survive, and at which stress?",
        "fatigue_tests",
        "SELECT test_id, nf, sa_mpa FROM fatigue_tests WHERE spec_no = 'F03'",
    ),
    TableQuestion(
        "en",
        "Which specimens of S700MC with a punched hole did not break?",
        "fatigue_tests",
        "SELECT test_id, spec_no, sa_mpa FROM fatigue_tests "
        "WHERE desig = 'S700MC' AND surf = 'punched hole' AND runout = 1",
    ),
    TableQuestion(
        "en",
        "Which corrosion fatigue tests in salt water lasted more than a million cycles?",
        "fatigue_tests",
        "SELECT test_id, spec_no, nf FROM fatigue_tests WHERE env LIKE '%NaCl%' AND nf > 1000000",
    ),
    TableQuestion(
        "en",
        "Which dressed butt welds cracked from the root?",
        "fatigue_tests",
        "SELECT test_id, spec_no, nf FROM fatigue_tests WHERE orig = 'weld root'",
    ),
    TableQuestion(
        "sv",
        "Vid vilken spänningsamplitud provades stav C05?",
        "fatigue_tests",
        "SELECT test_id, sa_mpa, nf FROM fatigue_tests WHERE spec_no = 'C05'",
    ),
    TableQuestion(
        "en",
        "In which salt spray tests did the two-coat zinc flake system of Lamellis fail?",
        "corrosion_tests",
        "SELECT test_no, obj, rr_h FROM corrosion_tests "
        "WHERE sys = 'F1000L' AND suppl = 'Lamellis' AND res = 'fail'",
    ),
    TableQuestion(
        "en",
        "How thick was the zinc-nickel on the M12 screws from Galvotek?",
        "corrosion_tests",
        "SELECT test_no, dft_um FROM corrosion_tests "
        "WHERE sys = 'ZN480' AND suppl = 'Galvotek' AND obj = 'screw M12 x 60'",
    ),
    TableQuestion(
        "en",
        "Which door panels of electrogalvanised sheet crept by more than 3 mm from the scribe?",
        "corrosion_tests",
        "SELECT test_no, creep_mm FROM corrosion_tests "
        "WHERE sys LIKE 'ZE50%' AND obj = 'door panel' AND creep_mm > 3",
    ),
    TableQuestion(
        "sv",
        "Vilka dörrpaneler med Z100 blev underkända efter åtta veckor?",
        "corrosion_tests",
        "SELECT test_no, creep_mm FROM corrosion_tests "
        "WHERE sys LIKE 'Z100%' AND obj = 'door panel' AND dur_wk = 8 AND res = 'fail'",
    ),
    TableQuestion(
        "en",
        "What is the lead time of the foundry Gjutvik?",
        "suppliers",
        "SELECT suppl_id, lt_wk FROM suppliers WHERE suppl = 'Gjutvik'",
    ),
    TableQuestion(
        "en",
        "Which suppliers have a registered environmental product declaration?",
        "suppliers",
        "SELECT suppl_id, suppl, epd_no FROM suppliers WHERE epd_no IS NOT NULL",
    ),
    TableQuestion(
        "en",
        "Which suppliers got the lowest grade in the audit?",
        "suppliers",
        "SELECT suppl_id, suppl, aud_grd FROM suppliers WHERE aud_grd = 'C'",
    ),
    TableQuestion(
        "sv",
        "Hur länge gäller kvalitetscertifikatet för Hexalon?",
        "suppliers",
        "SELECT suppl_id, iatf_until FROM suppliers WHERE suppl = 'Hexalon'",
    ),
    TableQuestion(
        "en",
        "What is the thermal conductivity of copper?",
        "elements",
        "SELECT atomic_number, thermal_conductivity FROM elements WHERE name = 'Copper'",
    ),
    TableQuestion(
        "en",
        "Which body-centred cubic metals are denser than 15 g/cm³?",
        "elements",
        "SELECT atomic_number, name, density FROM elements "
        "WHERE lattice_structure = 'BCC' AND density > 15",
    ),
    TableQuestion(
        "en",
        "When and by whom was niobium discovered?",
        "elements",
        "SELECT atomic_number, discovery_year, discoverers FROM elements WHERE name = 'Niobium'",
    ),
    TableQuestion(
        "sv",
        "Vilken densitet har magnesium?",
        "elements",
        "SELECT atomic_number, density FROM elements WHERE name = 'Magnesium'",
    ),
    TableQuestion(
        "en",
        "What is the tensile strength of SAE 1015 steel in the normalized condition?",
        "commercial_regulations",
        "SELECT ID, Su FROM commercial_regulations WHERE Material = 'Steel SAE 1015' "
        "AND \"Heat treatment\" = 'normalized'",
    ),
    TableQuestion(
        "en",
        "Which yield strength has the aluminium alloy 7075 in temper T6?",
        "commercial_regulations",
        "SELECT ID, Sy FROM commercial_regulations WHERE Material = 'Aluminum Alloy 7075-T6'",
    ),
    TableQuestion(
        "sv",
        "Hur hård blir sätthärdad DIN Ck15?",
        "commercial_regulations",
        "SELECT ID, HV FROM commercial_regulations WHERE Material = 'DIN Ck15'",
    ),
    TableQuestion(
        "en",
        "Which carburised steels reach a rotating bending fatigue strength above 1130 MPa?",
        "steel_fatigue",
        'SELECT "Sl. No.", Fatigue FROM steel_fatigue WHERE Fatigue > 1130',
    ),
    TableQuestion(
        "en",
        "Which fatigue strength do the steels with more than 2.7 % nickel have?",
        "steel_fatigue",
        'SELECT "Sl. No.", Ni, Fatigue FROM steel_fatigue WHERE Ni > 2.7',
    ),
    TableQuestion(
        "en",
        "Which steels in the rotating bending tests have a reduction ratio above 5000?",
        "steel_fatigue",
        'SELECT "Sl. No.", RedRatio, Fatigue FROM steel_fatigue WHERE RedRatio > 5000',
    ),
)


class _Splitter:
    """Deals questions of a kind to dev (two of five) and test (three of five)."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, str]] = Counter()

    def __call__(self, domain: str, language: str) -> str:
        """The split of the next question of this domain and language."""
        place = self.seen[domain, language]
        self.seen[domain, language] += 1
        return "dev" if place % 5 in (1, 3) else "test"


def document_record(name: str, asked: DocumentQuestion, *, split: str) -> dict[str, object]:
    """The line of a question on documents."""
    return {
        "id": name,
        "question": asked.question,
        "domain": "doc",
        "lang": asked.language,
        "gold": list(dict.fromkeys(quote.gold for quote in asked.quotes)),
        "support": [],
        "evidence": [
            {
                key: value
                for key, value in (
                    ("doc_id", quote.document),
                    ("page", quote.page),
                    ("text", quote.text),
                )
                if value is not None
            }
            for quote in asked.quotes
        ],
        "answer": asked.answer,
        "split": split,
    }


def records(data: Path) -> Iterator[dict[str, object]]:
    """The lines of questions.jsonl; the gold rows are what the SQL returns."""
    split = _Splitter()
    for number, asked in enumerate(DOCUMENT_QUESTIONS, 1):
        name = f"demo-doc-{number:03d}"
        yield document_record(name, asked, split=split("doc", asked.language))
    with check.Sources(data) as sources:
        for number, asked in enumerate(TABLE_QUESTIONS, 1):
            rows = sources.rows(asked.table, asked.sql)
            yield {
                "id": f"demo-tab-{number:03d}",
                "question": asked.question,
                "domain": "table",
                "lang": asked.language,
                "gold": [f"row:{asked.table}:{row[0]}" for row in rows],
                "support": [],
                "answer": [list(row[1:]) for row in rows],
                "sql": asked.sql,
                "split": split("table", asked.language),
            }


def write_all(path: Path, data: Path) -> None:
    """Write questions.jsonl; the tables below `data` must stand already."""
    lines = [json.dumps(record, ensure_ascii=False) for record in records(data)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
