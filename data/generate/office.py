"""Word, PowerPoint, HTML, Markdown and plain text documents."""

# ruff: noqa: RUF001

from __future__ import annotations

import io
import re
import zipfile
from datetime import datetime
from typing import TYPE_CHECKING

import docx
import pptx
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import parse_xml
from docx.shared import Pt as DocxPt
from pptx.chart.data import CategoryChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE, XL_LEGEND_POSITION
from pptx.util import Cm, Pt

from generate.facts import FASTENER_RESULTS

if TYPE_CHECKING:
    from pathlib import Path

_MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_EPOCH = (2024, 1, 1, 0, 0, 0)


def _still(package: bytes) -> bytes:
    """An Office package with fixed times, so that the same content gives the same bytes."""
    result = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(package)) as source,
        zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in sorted(source.namelist(), key=lambda name: (name[0] != "[", name)):
            content = source.read(name)
            if name.endswith((".xlsx", ".docx", ".pptx")):
                content = _still(content)
            if name == "docProps/core.xml":
                content = re.sub(
                    rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"2024-01-01T00:00:00Z", content
                )
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o600 << 16
            target.writestr(info, content)
    return result.getvalue()


def _omml_run(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def _omml_sub(base: str, index: str) -> str:
    return f"<m:sSub><m:e>{_omml_run(base)}</m:e><m:sub>{_omml_run(index)}</m:sub></m:sSub>"


def _omml_frac(over: str, under: str) -> str:
    return f"<m:f><m:fPr/><m:num>{over}</m:num><m:den>{under}</m:den></m:f>"


def _equation(document: docx.document.Document, body: str) -> None:
    paragraph = document.add_paragraph()
    xml = f'<m:oMathPara xmlns:m="{_MATH}"><m:oMath>{body}</m:oMath></m:oMathPara>'
    paragraph._p.append(parse_xml(xml))


def _word_table(document: docx.document.Document, caption: str, rows: list[list[str]]) -> None:
    document.add_paragraph(caption, style="Caption")
    table = document.add_table(rows=0, cols=len(rows[0]))
    table.style = "Light Grid Accent 1"
    for row in rows:
        cells = table.add_row().cells
        for cell, text in zip(cells, row, strict=True):
            cell.text = text
    document.add_paragraph()


def polyamide_specification(path: Path) -> None:
    """MS-118, glass filled polyamide for brackets (DOCX with an equation)."""
    document = docx.Document()
    document.styles["Normal"].font.name = "Calibri"
    document.styles["Normal"].font.size = DocxPt(10.5)
    document.core_properties.title = "MS-118 Glass filled polyamide 66 for brackets"
    document.core_properties.author = "Nordhjul Lastvagnar"
    document.core_properties.created = document.core_properties.modified = datetime(2023, 8, 21)
    document.sections[0].header.paragraphs[0].text = "Nordhjul Lastvagnar    MS-118    Issue 5"

    title = document.add_heading("Glass filled polyamide 66 for brackets", 0)
    title.alignment = WD_ALIGN_PARAGRAPH.LEFT
    document.add_paragraph("Material specification MS-118, issue 5, 2023-08-21")
    document.add_heading("1 Scope", 1)
    document.add_paragraph(
        "The specification covers heat stabilised polyamide 66 with 35 percent glass fibre for "
        "injection moulded brackets, pedals and covers in the engine bay. Parts with a safety "
        "function need a release of their own."
    )
    document.add_heading("2 Requirements on the granulate", 1)
    document.add_paragraph(
        "The granulate is black and contains 33 to 37 percent glass fibre, measured as residue "
        "after one hour at 600 °C. Moisture at delivery is at most 0.15 percent. Reground material "
        "from the moulder's own production may be added up to 10 percent."
    )
    _word_table(
        document,
        "Table 1 Properties of test bars, dry as moulded and conditioned",
        [
            ["Property", "Unit", "Dry", "Conditioned"],
            ["Tensile modulus", "GPa", "≥ 10.5", "≥ 7.5"],
            ["Stress at break", "MPa", "≥ 190", "≥ 125"],
            ["Strain at break", "%", "≥ 2.7", "≥ 4.5"],
            ["Charpy notched at 23 °C", "kJ/m²", "≥ 12", "≥ 17"],
            ["Charpy notched at –30 °C", "kJ/m²", "≥ 10", "≥ 10"],
            ["Deflection temperature, 1.8 MPa", "°C", "≥ 245", "–"],
            ["Melting point", "°C", "255–265", "–"],
            ["Burning rate, 2 mm", "mm/min", "≤ 50", "–"],
        ],
    )
    document.add_heading("3 Heat ageing", 1)
    document.add_paragraph(
        "Bars are aged in air at 150 °C for 3 000 hours. Stress at break shall stay above 60 "
        "percent of the value when new. Intermediate values are taken after 500, 1 000 and "
        "2 000 hours. The time to half strength at another temperature is calculated with the "
        "relation below, where the constant B is 14 300 kelvin."
    )
    _equation(
        document,
        _omml_run("t(T) = ")
        + _omml_sub("t", "0")
        + _omml_run(" exp")
        + '<m:d><m:dPr><m:begChr m:val="("/><m:endChr m:val=")"/></m:dPr><m:e>'
        + _omml_frac(_omml_run("B"), _omml_run("T"))
        + _omml_run(" − ")
        + _omml_frac(_omml_run("B"), _omml_sub("T", "0"))
        + "</m:e></m:d>",
    )
    document.add_heading("4 Resistance to chemicals", 1)
    document.add_heading("4.1 Coolant", 2)
    document.add_paragraph(
        "After 1 000 hours in a mixture of equal parts of water and glycol at 130 °C the stress at "
        "break shall be at least 55 MPa. Parts that are always wet with coolant should be made of "
        "polyphthalamide instead."
    )
    document.add_heading("4.2 Calcium chloride", 2)
    document.add_paragraph(
        "Conditioned bars under a strain of 0.5 percent are wetted with 50 percent calcium "
        "chloride solution and heated to 80 °C in ten cycles. No cracks may be seen at ten times "
        "magnification."
    )
    document.add_heading("5 Released grades", 1)
    _word_table(
        document,
        "Table 2 Released grades",
        [
            ["Trade name", "Supplier", "Recycled share", "Released for"],
            ["Tundramid GF35", "Tundra Polymer", "0 %", "all parts"],
            ["Rhenox GF35", "Rhenoplast", "0 %", "all parts"],
            ["Repolyn GF35 R35", "Repolyn", "35 %", "covers and cable clips only"],
        ],
    )
    document.add_heading("6 Delivery and storage", 1)
    document.add_paragraph(
        "Each lot comes with a certificate for viscosity number, glass content and moisture. "
        "Unopened bags may be stored for 24 months. Opened bags are dried at 80 °C for four hours "
        "in dry air before they are used."
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = io.BytesIO()
    document.save(stream)
    path.write_bytes(_still(stream.getvalue()))


_NAVY = RGBColor(0x0D, 0x3B, 0x6B)


def _slide(deck: pptx.presentation.Presentation, title: str, lines: list[str]) -> pptx.slide.Slide:
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    heading = slide.shapes.title
    assert heading is not None
    heading.left, heading.top, heading.width, heading.height = Cm(1.2), Cm(0.7), Cm(23), Cm(1.9)
    heading.text = title
    run = heading.text_frame.paragraphs[0].runs[0]
    run.font.size, run.font.bold, run.font.color.rgb = Pt(28), True, _NAVY
    if lines:
        box = slide.shapes.add_textbox(Cm(1.4), Cm(3.0), Cm(22.6), Cm(13))
        frame = box.text_frame
        frame.word_wrap = True
        for number, line in enumerate(lines):
            paragraph = frame.paragraphs[0] if not number else frame.add_paragraph()
            paragraph.text = line
            paragraph.font.size = Pt(18)
            paragraph.space_after = Pt(9)
    return slide


def fastener_slides(path: Path) -> None:
    """TR-2024-031, salt spray and friction of coated fasteners (PPTX with table and chart)."""
    deck = pptx.Presentation()
    deck.core_properties.title = "TR-2024-031 Coated fasteners"
    deck.core_properties.author = "Nordhjul Lastvagnar"
    deck.core_properties.created = deck.core_properties.modified = datetime(2024, 9, 30)
    first = deck.slides.add_slide(deck.slide_layouts[0])
    assert first.shapes.title is not None
    first.shapes.title.text = "Coated fasteners: salt spray and friction"
    first.placeholders[1].text = "Test report TR-2024-031\nMaterials laboratory Borås, 2024-09-30"
    _slide(
        deck,
        "Why we tested",
        [
            "Six coatings from four suppliers were compared before the frame of 2026 is released.",
            "In winter 2023 red rust was reported on brake bracket screws after 14 months in "
            "Finland.",
            "Limits come from NHS 3120 issue 7: hours to red rust and a total friction of 0.09 to "
            "0.14.",
            "Ten screws M12 x 60 of class 10.9 were tested for each coating, from three lots.",
        ],
    )
    slide = _slide(deck, "Results", [])
    table = slide.shapes.add_table(
        len(FASTENER_RESULTS) + 1, 6, Cm(1.2), Cm(3.1), Cm(23), Cm(7.2)
    ).table
    head = ("System", "Supplier", "White rust, h", "Red rust, h", "Friction (2 s)", "Result")
    for column, text in enumerate(head):
        table.cell(0, column).text = text
    for row, result in enumerate(FASTENER_RESULTS, 1):
        cells = (
            result.system,
            result.supplier,
            str(result.white_rust_h),
            str(result.red_rust_h),
            f"{result.friction:.3f} ± {2 * result.friction_spread:.3f}",
            "pass" if result.passed else "fail",
        )
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    for cell in table.iter_cells():
        for paragraph in cell.text_frame.paragraphs:
            paragraph.font.size = Pt(14)
    note = slide.shapes.add_textbox(Cm(1.4), Cm(11.2), Cm(22.6), Cm(3))
    note.text_frame.word_wrap = True
    note.text_frame.text = (
        "Two failures: Lamellis F1000L rusts at 936 hours where 1 000 are asked for, and the "
        "friction of Galvotek F720 scatters beyond 0.14."
    )
    note.text_frame.paragraphs[0].font.size = Pt(16)
    slide = _slide(deck, "Hours to red rust against the limit", [])
    data = CategoryChartData()
    data.categories = [f"{result.system} {result.supplier}" for result in FASTENER_RESULTS]
    data.add_series("Measured, h", [result.red_rust_h for result in FASTENER_RESULTS])
    data.add_series("Limit, h", [result.limit_h for result in FASTENER_RESULTS])
    chart = slide.shapes.add_chart(
        XL_CHART_TYPE.COLUMN_CLUSTERED, Cm(1.4), Cm(3.0), Cm(22.6), Cm(14), data
    ).chart
    chart.has_legend = True
    assert chart.legend is not None
    chart.legend.position = XL_LEGEND_POSITION.BOTTOM
    chart.legend.include_in_layout = False
    chart.category_axis.tick_labels.font.size = Pt(11)
    chart.value_axis.tick_labels.font.size = Pt(11)
    _slide(
        deck,
        "What we saw under the microscope",
        [
            "The Lamellis top coat is only 2 to 3 µm thick on the edge of the hexagon; the two "
            "coats of Hexalon are 6 µm there.",
            "White rust on zinc-nickel is thin and even; it was not counted as a fault.",
            "Galvotek F720 from lot 3 had no lubricant in the top coat: friction 0.142 to 0.149.",
            "After 24 hours at 250 °C the zinc flake coatings kept 91 percent of their hours.",
        ],
    )
    _slide(
        deck,
        "Recommendation",
        [
            "Use F1000L from Hexalon for brake brackets; withdraw F1000L from Lamellis.",
            "Galvotek shall show a friction test of every lot of F720 for six months.",
            "Zinc-nickel ZN720L from Plattera is released for visible screws in the cab step.",
            "Repeat the test on M8 in the first quarter of 2025, cost 18 000 euro.",
        ],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = io.BytesIO()
    deck.save(stream)
    path.write_bytes(_still(stream.getvalue()))


HEXALON_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Hexalon HX-Lamell 1000: zinc flake coating for fasteners</title>
<style>body { font-family: sans-serif; max-width: 46em; margin: 2em auto; }
table { border-collapse: collapse; } td, th { border: 1px solid #999; padding: 0.3em 0.7em; }
nav, footer { color: #666; font-size: 0.85em; }</style>
</head>
<body>
<nav>Products | Coating centres | Downloads | Contact</nav>
<h1>HX-Lamell 1000</h1>
<p>HX-Lamell 1000 is a zinc flake coating in two coats with an integrated lubricant. It protects
threaded fasteners of property class 8.8 to 12.9 without any risk of hydrogen embrittlement, as
neither pickling nor electroplating is used.</p>
<h2>At a glance</h2>
<table>
<tr><th>Property</th><th>Value</th></tr>
<tr><td>Layer thickness</td><td>10 to 18 µm</td></tr>
<tr><td>Salt spray, red rust</td><td>1 000 h guaranteed, 1 500 h typical</td></tr>
<tr><td>Total coefficient of friction</td><td>0.09 to 0.14</td></tr>
<tr><td>Highest temperature</td><td>250 °C</td></tr>
<tr><td>Curing</td><td>250 °C, 20 minutes metal temperature</td></tr>
<tr><td>Colour</td><td>silver, black on request</td></tr>
</table>
<h2>Process</h2>
<ol>
<li>Alkaline cleaning and shot blasting with steel grit of 0.2 mm.</li>
<li>Dip-spin in baskets of at most 120 kg, 300 turns a minute.</li>
<li>Pre-drying at 80 °C for ten minutes, then curing.</li>
<li>Second coat with lubricant; torque and tension are tested for each basket lot.</li>
</ol>
<h2>Limits of use</h2>
<p>Threads finer than 0.8 mm pitch clog in dip-spin and should be rack coated. Recesses of the type
hexalobular T20 and smaller collect material; order them with a larger gauge. The coating is not
suitable for earth points, as its resistance is up to 40 mΩ.</p>
<h2>Repairs and storage</h2>
<p>Scratches heal by the zinc around them and need no touch-up when narrower than 1 mm. Coated
parts keep their friction for 24 months in a dry store.</p>
<h2>Coating centres</h2>
<ul><li>Hagen, Germany: 14 000 tonnes a year</li><li>Gnosjö, Sweden: 3 500 tonnes a year</li></ul>
<footer>Hexalon Oberflächen GmbH. Values are typical and not a specification.</footer>
</body>
</html>
"""

READING_DATA_SHEETS = """# How to read a material data sheet

A short guide for new colleagues. Questions go to the materials help desk.

## Guaranteed or typical

A guaranteed value is a limit that each delivery meets. A typical value is an average of the
supplier's production and half of the deliveries lie below it. **Only guaranteed values may be used
for strength calculations.** If the sheet does not say which kind it is, assume that it is typical.

## Yield strength

| Symbol | Meaning | Where it is used |
| --- | --- | --- |
| ReH | upper yield point | hot-rolled steel with a yield point |
| Rp0.2 | stress at 0.2 % plastic strain | metals without a yield point |
| Rp0.1 | stress at 0.1 % plastic strain | grey and ductile iron |
| σy | stress at yield | ductile polymers |
| σ50 | stress at 50 % strain | films and soft polymers |

Grey iron has no yield point; 98 % of its tensile strength may be taken in compression only.

## Elongation

A5 is measured over five diameters and A80 over 80 mm of a sheet specimen. They must not be
compared: for the same steel A5 is larger, by a factor of about 1.3 for a sheet of 2 mm.

## Hardness

Convert hardness to strength only for steel, and only for an estimate: the tensile strength in MPa
is about 3.4 times the Brinell hardness. The factor does not hold for austenitic stainless steel,
for case hardened surfaces or for cast iron.

## Polymers

- The melt flow index says how easily a polymer flows, in grams per ten minutes. It means nothing
  without the temperature and the load.
- The heat deflection temperature is a ranking, not a limit of use. Ask whether the load was 0.45 or
  1.8 MPa: for polyamide without glass the two differ by more than 100 degrees.
- Values of polyamide "dry as moulded" are too good for real parts; ask for conditioned values.
- The glass transition tells where the modulus falls: an amorphous polymer is useless 20 degrees
  below it already.

## Elastomers

Shore A hardness of a sheet and IRHD of an O-ring differ by up to three units. A compression set
below 30 percent is fine for static seals.

## Before you send the sheet on

1. Check the date: sheets older than five years are not accepted.
2. Check that the sheet is for the grade you will buy and not for a sister grade.
3. File the sheet in the material database with the material number.
"""

SIMULATION_CARDS = """# Material cards for chassis simulation

Owner: structural analysis. Last change: 2024-10-07.

## Units

All cards use the units millimetre, tonne, second, newton and megapascal. Density is therefore
written in tonnes per cubic millimetre, for steel 7.85e-9.

## Naming

A card is named `<material number>_<solver>_<version>`, for instance `ST-0031_fatigue_v3`. Cards
without a material number are removed at the turn of the month.

## Plasticity

Hot-rolled steels use the Swift law

$$\\sigma = K (\\varepsilon_0 + \\varepsilon_p)^n$$

with the constants below. The curve is cut at the uniform strain and continued with a slope of 5 %
of the yield strength.

| Steel | K, MPa | n | ε0 |
| --- | --- | --- | --- |
| S355MC | 690 | 0.155 | 0.010 |
| S500MC | 830 | 0.115 | 0.008 |
| S650MC | 955 | 0.085 | 0.006 |
| S700MC | 1 010 | 0.080 | 0.006 |

## Strain rate

Use Cowper-Symonds with D = 4.2e4 per second and p = 5.1 for S700MC. Do not use the constants of
mild steel (40 and 5): they make high-strength steel far too strong in a crash.

## Fatigue

The S-N curves come from report TR-2024-017. Card version 3 has separate curves for machined, laser
cut, sheared and punched edges; version 2 had one curve for all and is withdrawn. Welds are assessed
with the notch stress method with a fictitious radius of 1 mm.

## Rubber bushings

Bushings are modelled with a Kelvin-Voigt element: stiffness from the drawing, damping set to a loss
angle of 6 degrees at 15 Hz. The static stiffness is multiplied by 1.4 to get the dynamic one for
natural rubber of 55 Shore A.

## Known problems

- Cards of glass filled polyamide are valid from –30 to 120 °C only.
- The card of EN-GJS-600-10 lacks failure strain; ask before a crash calculation.
- Adhesive joints in the cab have cards for 23 °C only.
"""

SEAL_TESTING = """# Provning av tätningar i laboratoriet

Instruktion för laboratoriet i Skövde. Gäller tillsammans med NHS 3240.

## Före provning

Tätningar ska ligga minst 16 timmar i 23 ± 2 °C innan de mäts. Torka av talk och formsläppmedel med
isopropanol. Skriv upp kavitetsnummer och tillverkningsvecka.

## Hårdhet

Mät mikro-IRHD på O-ringar under 6 mm tjocklek, annars Shore A efter 3 sekunder. Medianen av fem
mätningar anges. Byt nål på provaren var tolfte månad.

## Sättning

1. Mät höjden med 0,01 mm noggrannhet.
2. Spänn in provet mellan kromade plattor; distansen väljs så att hoptryckningen blir 25 %.
3. Lägg fixturen i förvärmd ugn. Tiden räknas från det att fixturen nått rätt temperatur, normalt
   efter 40 minuter.
4. Ta ut provet varmt, lägg det på trä och mät efter 30 minuter.

Om resultatet för två prover skiljer mer än 6 procentenheter ska ett tredje prov köras.

## Läckageprov på radialtätningar

Provriggen kör axeln i 3 000 varv per minut med olja till axelns mitt. Ett läckage på högst 2 gram
under 240 timmar godkänns. Oljans temperatur är 100 °C för N75 och 140 °C för F75.

## Vanliga fel

| Fel | Trolig orsak | Åtgärd |
| --- | --- | --- |
| Hög sättning i hela partiet | för kort eftervulkning | begär ugnskurva av leverantören |
| Sprickor efter ozon | fel vaxhalt i blandningen | prova nytt parti |
| Klibbig yta | olja har trängt in i EPDM | kontrollera att rätt blandning har levererats |
| Läckage efter några timmar | grader på tätningsläppen | kontrollera verktygets delning |

## Arkivering

Provade tätningar sparas i två år i märkt påse. Protokoll registreras i laboratoriets databas samma
dag.
"""

ZINC_MEMO = """PM
Från: Materialteknik, korrosionsgruppen
Till: Inköp, hyttkonstruktion, måleri Borås
Datum: 2024-04-22
Ärende: Byte av zinkskikt på hyttplåt enligt NHS 3101 utgåva 5

Bakgrund
Den nya utgåvan av NHS 3101 höjer kravet på zinkskikt i zon B från 50 till 70 g/m2 per sida. Dagens
golvplåt köps med Z100 från två leverantörer och klarar inte det nya kravet.

Beslut
Golv, trösklar och fotsteg går över till ZM140 från Östersjö Coil. Omställningen börjar i vecka 36
med den korta hytten och är klar i vecka 8 nästa år. Dörrar och tak behåller ZM100, som ger 50 g/m2
per sida.

Kostnad
Merkostnaden för plåten är 11 kronor per hytt. Eftersom vaxning av trösklarna kan tas bort sparas
samtidigt 38 kronor per hytt. Investeringen i måleriet är 1,9 miljoner kronor för nya filter, då
zink-magnesium ger mer slam i fosfateringen.

Risker
Punktsvetsning av ZM140 kräver 8 procent högre ström och elektroderna måste formeras efter 220
punkter i stället för 350. Limning är provad med båda limmen och fungerar. Lagret av Z100 räcker
till och med vecka 41.

Ansvarig för införandet är Petra Ögren, hyttkonstruktion. Frågor om provning ställs till
korrosionsgruppen.
"""


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def write_all(folder: Path) -> None:
    """Write every document of this module below `folder`."""
    polyamide_specification(folder / "specifications" / "MS-118_polyamide_66_for_brackets.docx")
    fastener_slides(folder / "reports" / "TR-2024-031_coated_fasteners.pptx")
    _write_text(folder / "suppliers" / "hexalon_zinc_flake_coating.html", HEXALON_PAGE)
    _write_text(folder / "guides" / "reading_data_sheets.md", READING_DATA_SHEETS)
    _write_text(folder / "guides" / "material_cards_for_simulation.md", SIMULATION_CARDS)
    _write_text(folder / "guides" / "provning_av_tatningar.md", SEAL_TESTING)
    _write_text(folder / "memos" / "pm_byte_av_zinkskikt_2024.txt", ZINC_MEMO)
