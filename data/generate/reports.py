"""One-column PDFs: declarations, a fatigue report, a data sheet, a guideline and a scan."""

# ruff: noqa: RUF001

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pymupdf
from PIL import Image, ImageFilter

from generate.facts import FATIGUE_SERIES
from generate.layout import (
    BLACK,
    BLUE,
    GREY,
    PAGE_HEIGHT,
    PAGE_WIDTH,
    Canvas,
    Colour,
    Figure,
    Formula,
    Frac,
    Frame,
    Para,
    PdfDocument,
    Table,
    bullets,
    heading,
)
from generate.tables import fatigue_tests

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

GREEN: Colour = (0.10, 0.42, 0.25)


def _plain_frame(left: str, right: str, colour: Colour) -> Frame:
    def draw(canvas: Canvas, page: int, pages: int) -> None:
        edge = PAGE_WIDTH - 50
        canvas.text(50, 46, left, size=9, face="bold", colour=colour)
        canvas.text(edge, 46, right, size=8, colour=GREY, align="right")
        canvas.line((50, 53), (edge, 53), colour=colour, width=0.8)
        canvas.text(edge, 812, f"{page} / {pages}", size=8, colour=GREY, align="right")

    return draw


@dataclass(frozen=True)
class Declaration:
    """What differs between the environmental product declarations."""

    file: str
    number: str
    owner: str
    town: str
    product: str
    unit: str
    valid_until: str
    about: str
    composition: Sequence[tuple[str, str]]
    production: str
    assumptions: str
    impacts: Sequence[tuple[str, str, str, str, str, str]]
    resources: Sequence[tuple[str, str, str, str, str, str]]
    remark: str


_MODULES = ("Unit", "A1–A3", "C1–C2", "C3–C4", "D")

DECLARATIONS = (
    Declaration(
        "EPD-0412_fjallstal_hot_rolled_strip.pdf",
        "NVD-EPD-0412",
        "Fjällstål Plåt AB",
        "Luleå, Sweden",
        "Hot-rolled high-strength strip FS 500 MC to FS 700 MC",
        "1 tonne of pickled and oiled strip, 3 to 12 mm thick",
        "2028-06-30",
        "The strip is cold formed into frame rails, cross members and brackets of heavy vehicles. "
        "It is delivered in coils or as cut-to-length sheet.",
        (
            ("Iron", "97.4 %"),
            ("Manganese", "1.75 %"),
            ("Niobium, titanium, vanadium", "0.20 %"),
            ("Silicon, aluminium, carbon", "0.65 %"),
            ("of which external scrap", "19 %"),
        ),
        "Ore pellets are reduced in a blast furnace, the steel is blown in a converter, cast and "
        "rolled. Electricity is bought with guarantees of origin from hydropower, 9 g CO_{2}e per "
        "kWh.",
        "At the end of life 95 % of the steel is collected as scrap and 5 % goes to landfill. "
        "The benefit in module D uses net scrap only.",
        (
            ("GWP-total", "kg CO_{2}e", "2 180", "24.5", "2.10", "–1 240"),
            ("GWP-fossil", "kg CO_{2}e", "2 170", "24.3", "2.05", "–1 236"),
            ("GWP-biogenic", "kg CO_{2}e", "8.9", "0.15", "0.04", "–3.1"),
            ("GWP-luluc", "kg CO_{2}e", "1.1", "0.02", "0.01", "–0.4"),
            ("ODP", "kg CFC-11e", "2.4E–06", "4.9E–07", "3.0E–08", "–7.7E–07"),
            ("AP", "mol H^{+}e", "5.92", "0.11", "0.015", "–2.88"),
            ("EP-freshwater", "kg Pe", "0.31", "0.002", "0.0002", "–0.14"),
            ("POCP", "kg NMVOCe", "5.10", "0.13", "0.016", "–2.40"),
            ("ADP-fossil", "MJ", "21 600", "340", "31", "–11 300"),
            ("WDP", "m³", "412", "1.4", "0.2", "–130"),
        ),
        (
            ("Renewable primary energy", "MJ", "3 120", "6.2", "1.1", "430"),
            ("Non-renewable primary energy", "MJ", "22 900", "351", "33", "–11 200"),
            ("Secondary material", "kg", "190", "0", "0", "0"),
            ("Net fresh water", "m³", "9.8", "0.04", "0.01", "–3.2"),
            ("Materials for recycling", "kg", "0", "0", "950", "0"),
        ),
        "A grade made with hydrogen-reduced iron, FS 700 MC Zero, is declared separately and is "
        "expected at 410 kg CO_{2}e per tonne for A1–A3.",
    ),
    Declaration(
        "EPD-0388_ostersjo_galvanised_sheet.pdf",
        "NVD-EPD-0388",
        "Östersjö Coil AB",
        "Oxelösund, Sweden",
        "Hot-dip coated sheet with zinc-magnesium, ZM90 to ZM140",
        "1 tonne of coated sheet, 0.6 to 2.0 mm thick",
        "2027-11-15",
        "The sheet is pressed into outer panels, doors and floors of truck cabs. The mass of the "
        "coating in the calculation is 140 g/m² on both sides together.",
        (
            ("Steel substrate", "95.6 %"),
            ("Zinc", "4.1 %"),
            ("Aluminium and magnesium", "0.3 %"),
            ("of which external scrap", "16 %"),
        ),
        "Cold-rolled coils are bought from two mills, annealed, dipped in a bath with 1.6 % "
        "aluminium and 1.5 % magnesium, and temper rolled. Natural gas heats the furnace.",
        "At the end of life 92 % of the sheet is collected. Zinc is recovered from the dust of "
        "the electric arc furnace with a yield of 70 %.",
        (
            ("GWP-total", "kg CO_{2}e", "2 460", "26.0", "2.60", "–1 190"),
            ("GWP-fossil", "kg CO_{2}e", "2 445", "25.8", "2.55", "–1 185"),
            ("GWP-biogenic", "kg CO_{2}e", "13.2", "0.16", "0.04", "–4.2"),
            ("GWP-luluc", "kg CO_{2}e", "1.8", "0.02", "0.01", "–0.5"),
            ("ODP", "kg CFC-11e", "5.2E–06", "5.1E–07", "3.6E–08", "–8.0E–07"),
            ("AP", "mol H^{+}e", "9.74", "0.12", "0.018", "–3.05"),
            ("EP-freshwater", "kg Pe", "0.44", "0.002", "0.0003", "–0.16"),
            ("POCP", "kg NMVOCe", "6.35", "0.14", "0.019", "–2.51"),
            ("ADP-fossil", "MJ", "25 800", "361", "37", "–11 600"),
            ("WDP", "m³", "588", "1.5", "0.3", "–142"),
        ),
        (
            ("Renewable primary energy", "MJ", "2 710", "6.5", "1.3", "390"),
            ("Non-renewable primary energy", "MJ", "27 300", "373", "39", "–11 500"),
            ("Secondary material", "kg", "160", "0", "0", "0"),
            ("Net fresh water", "m³", "12.4", "0.05", "0.01", "–3.4"),
            ("Materials for recycling", "kg", "0", "0", "920", "0"),
        ),
        "With ZM90 instead of ZM140 the total global warming potential of A1–A3 is 2 385 kg "
        "CO_{2}e.",
    ),
    Declaration(
        "EPD-0457_repolyn_recycled_polypropylene.pdf",
        "NVD-EPD-0457",
        "Repolyn Oy",
        "Lahti, Finland",
        "Recycled polypropylene compound Repolyn PP-T20 R60",
        "1 kg of granulate in big bags",
        "2029-02-28",
        "The compound with 20 % talc is injection moulded into trim that is not seen, wheel "
        "housing liners and battery boxes. Its recycled content is 60 %.",
        (
            ("Recycled polypropylene, post-consumer", "60 %"),
            ("Virgin polypropylene", "18.5 %"),
            ("Talc", "20 %"),
            ("Stabilisers, black", "1.5 %"),
        ),
        "Packaging waste is sorted by near infrared, ground, washed at 80 °C, melt filtered at "
        "120 µm and compounded in a twin-screw extruder. Deodorising takes seven hours in warm "
        "air.",
        "The waste that enters the process is free of burdens until it is sorted. At the end of "
        "life 70 % is burnt with energy recovery, 25 % recycled and 5 % sent to landfill.",
        (
            ("GWP-total", "kg CO_{2}e", "0.81", "0.03", "1.74", "–0.66"),
            ("GWP-fossil", "kg CO_{2}e", "0.80", "0.03", "1.73", "–0.65"),
            ("GWP-biogenic", "kg CO_{2}e", "0.008", "0.0001", "0.004", "–0.004"),
            ("GWP-luluc", "kg CO_{2}e", "0.001", "0.0000", "0.0001", "–0.001"),
            ("ODP", "kg CFC-11e", "1.1E–08", "6.0E–10", "2.1E–09", "–5.5E–09"),
            ("AP", "mol H^{+}e", "0.0031", "0.0002", "0.0005", "–0.0019"),
            ("EP-freshwater", "kg Pe", "1.4E–04", "2.0E–06", "8.0E–06", "–9.0E–05"),
            ("POCP", "kg NMVOCe", "0.0028", "0.0002", "0.0006", "–0.0015"),
            ("ADP-fossil", "MJ", "22.6", "0.44", "0.30", "–15.2"),
            ("WDP", "m³", "0.31", "0.002", "0.05", "–0.12"),
        ),
        (
            ("Renewable primary energy", "MJ", "3.9", "0.01", "0.04", "–1.2"),
            ("Non-renewable primary energy", "MJ", "24.1", "0.45", "0.33", "–16.0"),
            ("Secondary material", "kg", "0.63", "0", "0", "0"),
            ("Net fresh water", "m³", "0.006", "0", "0.001", "–0.002"),
            ("Exported heat", "MJ", "0", "0", "14.8", "0"),
        ),
        "A comparable compound from virgin polypropylene with 20 % talc has 1.72 kg CO_{2}e per kg "
        "for A1–A3 in the same background data.",
    ),
    Declaration(
        "EPD-0431_gjutvik_brake_disc.pdf",
        "NVD-EPD-0431",
        "Gjutvik Gjuteri AB",
        "Gjutvik, Sweden",
        "Ventilated brake disc of grey cast iron, 434 mm",
        "1 machined disc of 33.0 kg",
        "2026-12-31",
        "The disc is made of grade B1 of NHS 2215 for front and rear axles of trucks. The "
        "reference service life is 350 000 km in long-haul traffic and is not a part of the "
        "calculation.",
        (
            ("Iron", "93.4 %"),
            ("Carbon", "3.75 %"),
            ("Silicon", "2.0 %"),
            ("Manganese, copper and others", "0.85 %"),
            ("of which external scrap", "78 %"),
        ),
        "Steel scrap and returns are melted in medium-frequency induction furnaces; the sand is "
        "bound with bentonite and reclaimed to 92 %. Machining turns 21 % of the casting into "
        "chips, which are melted again.",
        "At the end of life 97 % of the disc is collected. Wear particles are not counted.",
        (
            ("GWP-total", "kg CO_{2}e", "27.4", "0.81", "0.07", "–3.90"),
            ("GWP-fossil", "kg CO_{2}e", "27.1", "0.80", "0.07", "–3.88"),
            ("GWP-biogenic", "kg CO_{2}e", "0.26", "0.005", "0.001", "–0.01"),
            ("GWP-luluc", "kg CO_{2}e", "0.04", "0.001", "0.000", "–0.01"),
            ("ODP", "kg CFC-11e", "9.8E–08", "1.6E–08", "1.0E–09", "–2.4E–09"),
            ("AP", "mol H^{+}e", "0.094", "0.0036", "0.0005", "–0.009"),
            ("EP-freshwater", "kg Pe", "0.0061", "0.0001", "0.00001", "–0.0004"),
            ("POCP", "kg NMVOCe", "0.081", "0.0043", "0.0005", "–0.008"),
            ("ADP-fossil", "MJ", "318", "11.2", "1.0", "–36"),
            ("WDP", "m³", "6.2", "0.05", "0.01", "–0.4"),
        ),
        (
            ("Renewable primary energy", "MJ", "241", "0.2", "0.04", "1.4"),
            ("Non-renewable primary energy", "MJ", "402", "11.6", "1.1", "–35"),
            ("Secondary material", "kg", "27.9", "0", "0", "0"),
            ("Net fresh water", "m³", "0.12", "0.001", "0.0003", "–0.01"),
            ("Materials for recycling", "kg", "7.1", "0", "32.0", "0"),
        ),
        "Melting with electricity of the residual mix instead of the contract mix raises A1–A3 "
        "to 38.9 kg CO_{2}e per disc.",
    ),
)


def declaration(folder: Path, epd: Declaration) -> None:
    """Write one environmental product declaration."""
    doc = PdfDocument(
        f"{epd.number} {epd.product}",
        _plain_frame("NORDVERD  environmental declarations", epd.number, GREEN),
        author=epd.owner,
        date="2024-02-01",
        top=68,
    )
    year = int(epd.valid_until[:4]) - 5
    doc.add(
        Para("Environmental product declaration", 17, "bold", GREEN, after=2),
        Para(epd.product, 12.5, "bold", after=6),
        Table(
            "Declaration",
            ["Owner", "Declared unit", "Registration", "Valid"],
            [
                [
                    f"{epd.owner}, {epd.town}",
                    epd.unit,
                    epd.number,
                    f"{year}{epd.valid_until[4:]} to {epd.valid_until}",
                ]
            ],
            (1.5, 2, 1, 1.4),
        ),
        heading("1  Product"),
        Para(epd.about),
        Table(
            "Table 1 – Content of the product",
            ["Part", "Share of mass"],
            [list(row) for row in epd.composition],
            (3, 1),
        ),
        heading("2  Manufacturing"),
        Para(epd.production),
        heading("3  System boundary and end of life"),
        Para(
            "Cradle to gate with modules C and D. Modules A4 to B7 are not declared. "
            "Cut-off is 1 % of mass and energy. " + epd.assumptions
        ),
        heading("4  Environmental impact"),
        Table(
            f"Table 2 – Core indicators per {epd.unit.split(' of ')[0]}",
            ["Indicator", *_MODULES],
            [list(row) for row in epd.impacts],
            (1.6, 1.1, 1.1, 1.1, 1.1, 1.1),
        ),
        Table(
            "Table 3 – Resources, water and output flows",
            ["Parameter", *_MODULES],
            [list(row) for row in epd.resources],
            (2.4, 0.8, 1, 1, 1, 1),
        ),
        heading("5  Additional information"),
        Para(epd.remark),
        Para(
            "The declaration was verified by an independent third party. Declarations of "
            "different programmes may not be comparable.",
            8,
            colour=GREY,
        ),
    )
    doc.save(folder / epd.file)


_SERIES_COLOURS: tuple[Colour, ...] = (
    (0.05, 0.23, 0.42),
    (0.80, 0.33, 0.10),
    (0.15, 0.50, 0.25),
    (0.55, 0.15, 0.45),
)


def _sn_plot(canvas: Canvas, x: float, y: float, width: float, tall: float) -> None:
    """The S-N curves of series A to D with their tests, both axes logarithmic."""
    left, right, top, bottom = x + 48, x + width - 12, y + 8, y + tall - 34
    low_n, high_n, low_s, high_s = 4.0, 7.3, math.log10(100), math.log10(700)

    def place(cycles: float, amplitude: float) -> tuple[float, float]:
        across = (math.log10(cycles) - low_n) / (high_n - low_n)
        up = (math.log10(amplitude) - low_s) / (high_s - low_s)
        return left + across * (right - left), bottom - up * (bottom - top)

    for exponent in (4, 5, 6, 7):
        px = place(10.0**exponent, 100)[0]
        canvas.line((px, top), (px, bottom), colour=(0.85, 0.85, 0.85))
        canvas.text(px, bottom + 12, f"10^{{{exponent}}}", size=8, align="centre")
    for amplitude in (100, 150, 200, 300, 400, 500, 700):
        py = place(1e4, amplitude)[1]
        canvas.line((left, py), (right, py), colour=(0.85, 0.85, 0.85))
        canvas.text(left - 4, py + 3, str(amplitude), size=8, align="right")
    canvas.page.draw_rect(pymupdf.Rect(left, top, right, bottom), color=BLACK, width=0.8)
    canvas.text((left + right) / 2, bottom + 26, "Cycles to failure N", size=8.5, align="centre")
    canvas.text(left + 4, top + 12, "Stress amplitude, MPa", size=8.5)
    rng = np.random.default_rng(17)
    for series, colour in zip(FATIGUE_SERIES[:4], _SERIES_COLOURS, strict=True):
        high = min(series.strength_mpa * (2e6 / 2e4) ** (1 / series.slope), 660)
        start = place(series.cycles(high), high)
        knee = place(2e6, series.strength_mpa)
        end = place(10**high_n, series.strength_mpa)
        canvas.line(start, knee, colour=colour, width=1.4)
        canvas.line(knee, end, colour=colour, width=1.0, dashes="[3 2] 0")
        canvas.text(
            right - 5,
            end[1] - 4,
            f"{series.label}  {series.surface}",
            size=8,
            colour=colour,
            align="right",
        )
        for share in (0.06, 0.2, 0.36, 0.52, 0.68, 0.85):
            amplitude = series.strength_mpa * (high / series.strength_mpa) ** (1 - share)
            for _ in range(2):
                cycles = series.cycles(amplitude) * 10 ** rng.normal(0, 0.11)
                px, py = place(cycles, amplitude)
                canvas.page.draw_circle((px, py), 2.0, color=colour, width=0.8)


def _single_results(label: str) -> list[list[str]]:
    """The tests of one series from the material database, two to a row."""
    tests = [row for row in fatigue_tests() if str(row["spec_no"]).startswith(label)]
    cells = [
        [
            str(row["spec_no"]),
            str(row["sa_mpa"]),
            f"{row['nf']:,}".replace(",", " "),
            "run-out" if row["runout"] else "failed",
        ]
        for row in tests
    ]
    half = len(cells) // 2
    return [left + right for left, right in zip(cells[:half], cells[half:], strict=True)]


def _haigh_plot(canvas: Canvas, x: float, y: float, width: float, tall: float) -> None:
    """Amplitude over mean stress for laser cut edges."""
    left, right, top, bottom = x + 70, x + width - 50, y + 8, y + tall - 34

    def place(mean: float, amplitude: float) -> tuple[float, float]:
        return (
            left + (right - left) * mean / 800,
            bottom - (bottom - top) * amplitude / 400,
        )

    for mean in range(0, 801, 200):
        canvas.text(place(mean, 0)[0], bottom + 12, str(mean), size=8, align="centre")
    for amplitude in range(0, 401, 100):
        py = place(0, amplitude)[1]
        canvas.line((left, py), (right, py), colour=(0.85, 0.85, 0.85))
        canvas.text(left - 5, py + 3, str(amplitude), size=8, align="right")
    canvas.page.draw_rect(pymupdf.Rect(left, top, right, bottom), color=BLACK, width=0.8)
    canvas.line(place(0, 251), place(452, 251 - 0.18 * 452), colour=_SERIES_COLOURS[1], width=1.4)
    canvas.line(place(334, 400), place(734, 0), colour=GREY, width=1.0, dashes="[2 2] 0")
    for mean, amplitude in ((0, 251), (206 * 1.1 / 0.9, 206)):
        canvas.page.draw_circle(
            place(mean, amplitude), 3.2, color=_SERIES_COLOURS[0], fill=_SERIES_COLOURS[0]
        )
    canvas.text((left + right) / 2, bottom + 26, "Mean stress, MPa", size=8.5, align="centre")
    canvas.text(left + 6, top + 12, "Stress amplitude, MPa", size=8.5)


def fatigue_report(path: Path) -> None:
    """TR-2024-017, fatigue of frame steel with different cut edges."""
    doc = PdfDocument(
        "TR-2024-017 Fatigue strength of frame rail steel S700MC",
        _plain_frame("Nordhjul Lastvagnar – Technical report", "TR-2024-017 · 2024-06-18", BLUE),
        family="serif",
        author="Materials technology, section Strength",
        date="2024-06-18",
        top=72,
    )
    text = 10.0

    def para(words: str) -> Para:
        return Para(words, text, after=6)

    labelled = [series for series in FATIGUE_SERIES if series.label]
    doc.add(
        Para(
            "Fatigue strength of frame rail steel S700MC: influence of the cut edge, mean stress "
            "and welding",
            17,
            "bold",
            BLUE,
            after=5,
        ),
        Para("E. Sundkvist, A. Rautio and M. Lindh-Åberg", 10, "italic", after=3),
        Para(
            "Distribution: chassis design, structural analysis, frame plant",
            9,
            colour=GREY,
            after=9,
        ),
        heading("Summary"),
        para(
            "Seven series of hot-rolled steel S700MC, 8 mm thick, were tested under constant "
            "amplitude. With machined edges the steel withstands an amplitude of 332 MPa at two "
            "million cycles. Laser cutting lowers this to 251 MPa, shearing to 198 MPa and a "
            "punched hole to 151 MPa (net section). A butt weld in the as-welded state reaches "
            "64 MPa at a stress ratio of 0.1; TIG dressing of the toe raises it to 88 MPa, which "
            "is 38 % more. It is recommended to laser cut all free edges within the highly "
            "stressed zone of the rail and to ream punched holes by at least 1 mm on the diameter."
        ),
        heading("1  Background"),
        para(
            "The change of the main frame from S500MC to S700MC saves 92 kg on a six-by-two "
            "tractor. Since welds and cut edges do not gain from a higher yield strength, the "
            "design values for details have to be known before the web thickness is reduced from "
            "9.5 to 8.0 mm. In 2022 three rails cracked at sheared edges in the shaker rig after "
            "61 % of the target distance, which started this work."
        ),
        heading("2  Material"),
        para(
            "All specimens come from two heats of FS 700 MC delivered by Fjällstål. Table 1 gives "
            "the mean of six tensile tests along the rolling direction and the ladle analysis. "
            "The carbon equivalent is 0.37, thus weldability class A of NHS 5407."
        ),
        Table(
            "Table 1 – Tensile properties and composition of the two heats",
            ["Heat", "R_{p0.2}, MPa", "R_{m}, MPa", "A_{5}, %", "C, %", "Mn, %", "Si, %", "Nb, %"],
            [
                ["H 20417", "738", "793", "18.5", "0.060", "1.76", "0.03", "0.052"],
                ["H 20433", "729", "786", "19.2", "0.058", "1.74", "0.04", "0.049"],
            ],
        ),
        heading("3  Specimens and testing"),
        para(
            "Flat specimens with a width of 30 mm in the test section were cut across the rolling "
            "direction. Sheared edges were made with a clearance of 12 % of the thickness, with "
            "the burr left on. Laser cutting used nitrogen at 18 bar. Holes of 13 mm were punched "
            "with a die clearance of 1.0 mm. The roughness of the edges is given in Table 2."
        ),
        para(
            "Tests ran in a servo-hydraulic machine of 100 kN at 18 to 25 Hz in laboratory air. "
            "The temperature of the specimen was kept below 45 °C. A specimen which had not failed "
            "after ten million cycles was counted as a run-out and tested again at a higher level; "
            "the second result is not used in the evaluation."
        ),
        Table(
            "Table 2 – Roughness and hardness of the edges",
            ["Edge", "R_{z}, µm", "Hardness at 0.1 mm depth, HV0.2", "Residual stress, MPa"],
            [
                ["Machined", "6", "268", "–40"],
                ["Laser cut", "31", "402", "+110"],
                ["Sheared", "88", "361", "+245"],
                ["Punched hole", "74", "372", "+280"],
            ],
            (1, 0.8, 1.8, 1.3),
        ),
        heading("4  Evaluation"),
        para(
            "The finite life region is described by the Basquin relation, Equation 1, where "
            "//N// is the number of cycles to failure, //σ//_{a} the stress amplitude, //σ//_{D} "
            "the strength at //N//_{D} = 2·10^{6} cycles and //k// the slope. The parameters were "
            "fitted by maximum likelihood with run-outs as censored values."
        ),
        Formula(["//N//  =  //N//_{D}  (", Frac("//σ//_{a}", "//σ//_{D}"), ")^{–k}"], "1"),
        para(
            "The scatter is given as the standard deviation //s// of log //N//. The design curve "
            "for a survival probability of 97.5 % follows from Equation 2, with the one-sided "
            "tolerance factor //q// = 2.4 for 16 specimens at 75 % confidence."
        ),
        Formula(["log //N//_{97.5}  =  log //N//_{50}  –  //q s//"], "2"),
        para(
            "The effect of mean stress is described by the mean stress sensitivity //M//, Equation "
            "3, which is the slope of the Haigh diagram between the stress ratios –1 and 0. For "
            "rolled steel it may be estimated from the tensile strength //R//_{m} in MPa with "
            "Equation 4."
        ),
        Formula(
            ["//σ//_{a}(//R// = –1)  =  //σ//_{a}  (1 + //M//", Frac("1 + R", "1 – R"), ")"], "3"
        ),
        Formula(["//M//  =  0.00035 //R//_{m}  –  0.1"], "4"),
        para(
            "With //R//_{m} = 790 MPa Equation 4 gives //M// = 0.18. The tests with laser cut "
            "edges at stress ratios of –1 and 0.1 give 0.179, in good agreement."
        ),
        para(
            "For variable amplitude the damage sum of Equation 5 is used. The allowable sum is 0.5 "
            "for spectra measured on the road and 1.0 for block loads, because the order of the "
            "loads on the road lets small cycles do damage after large ones."
        ),
        Formula(["//D//  =  Σ", Frac("//n//_{i}", "//N//_{i}"), "≤  //D//_{allow}"], "5"),
        para(
            "A life of 500 000 km of long haul corresponds to about 3.6 million cycles of the "
            "vertical bending moment above the cut-off, with an equivalent amplitude of 74 MPa in "
            "the lower flange behind the rear suspension bracket. The damage at that place is "
            "0.09 for laser cut and 0.31 for sheared edges."
        ),
        heading("5  Results"),
        para(
            "Figure 1 shows the S-N curves for the unwelded series at a stress ratio of –1, and "
            "Table 3 gives the fitted parameters of all series. The order of the series follows "
            "the residual stress of the edge rather than its roughness: the laser cut edge is "
            "rough in places but hard, with a low tensile residual stress."
        ),
        Figure(
            _sn_plot,
            315,
            "Figure 1 – S-N curves of S700MC with machined, laser cut and sheared edges and with a "
            "punched hole, stress ratio –1, failure probability 50 %. The dashed lines mark the "
            "region beyond two million cycles.",
        ),
        Table(
            "Table 3 – Parameters of the S-N curves (50 %)",
            ["Series", "Surface", "Stress ratio", "σ_{D}, MPa", "Slope k", "s(log N)", "Tests"],
            [
                [
                    series.label,
                    series.surface,
                    f"{series.stress_ratio:g}".replace("-", "–"),
                    f"{series.strength_mpa:g}",
                    f"{series.slope:.1f}",
                    scatter,
                    str(series.tests),
                ]
                for series, scatter in zip(
                    labelled, ("0.10", "0.13", "0.16", "0.18", "0.14", "0.20", "0.17"), strict=True
                )
            ],
            (0.7, 2, 1, 1, 0.8, 0.9, 0.6),
        ),
        para(
            "Table 4 lists every test of series B, so that the fit can be repeated. The run-outs "
            "were loaded again at a higher amplitude and broke there; those results are in the "
            "material database with the remark of the second level."
        ),
        Table(
            "Table 4 – Single results of series B, laser cut, stress ratio –1",
            ["Specimen", "Amplitude, MPa", "Cycles", "Result"] * 2,
            _single_results("B"),
            (0.9, 1.1, 1.2, 0.9, 0.9, 1.1, 1.2, 0.9),
        ),
        Figure(
            _haigh_plot,
            230,
            "Figure 2 – Haigh diagram at two million cycles for laser cut edges. The straight line "
            "has the slope of the mean stress sensitivity, 0.18; the dotted line is the yield "
            "limit. Points: tests at stress ratios of –1 and 0.1.",
        ),
        heading("6  Discussion"),
        para(
            "Fractures of the sheared series started in the transition between the burnished and "
            "the fractured zone, on average 2.1 mm from the burr side. In the punched series all "
            "cracks started at the exit side of the hole. Reaming the hole by 1 mm was tried on "
            "four specimens; none failed below 205 MPa, so that the damage of punching is nearly "
            "removed."
        ),
        para(
            "Pre-corroded sheared specimens, eight weeks in the cyclic test NHS 9310 without "
            "paint, gave 142 MPa at two million cycles. Corrosion pits of 0.15 to 0.30 mm depth "
            "were the origin. The paint on the edge therefore matters as much as the edge itself."
        ),
        para(
            "The as-welded butt joints lie close to the mean curve that structural codes give for "
            "this detail, and do not gain from the yield strength of the plate. TIG "
            "dressing changed the slope from 3.2 to 3.9 and moved the fracture from the "
            "toe to the root in two of sixteen specimens."
        ),
        para(
            "The tests at a stress ratio of 0.1 with laser cut edges agree with the estimate from "
            "the tensile strength, Figure 2. For punched holes the same correction would be "
            "unsafe: the local mean stress is already high from the residual stress of punching, "
            "so that a further mean stress has less effect but the starting level is lower. We "
            "therefore keep the amplitude of 151 MPa for all stress ratios up to 0.1."
        ),
        para(
            "Compared with S500MC, for which 214 MPa was found with laser cut edges in 2019, the "
            "gain is 17 % for a yield strength that is 34 % higher. With sheared edges S700MC "
            "gains only 25 % over S355MC. The saving in mass from the stronger steel can thus be "
            "used in full only where edges are cut with care."
        ),
        heading("7  Recommendations"),
        *bullets(
            "Use 251 MPa divided by a safety factor of 1.35 as design amplitude for laser cut free "
            "edges, which is 186 MPa.",
            "Do not shear free edges where the nominal amplitude is above 105 MPa.",
            "Ream punched holes in the rail web between the front axle and the fifth wheel.",
            "TIG dress butt welds only when the root is accessible for inspection.",
            "Update the material card of S700MC in the fatigue solver with the slopes of Table 3.",
            size=text,
        ),
        heading("8  Further work"),
        para(
            "Tests at 6 mm thickness and with hydrogen-reduced steel FS 700 MC Zero are planned "
            "for the first half of 2025. The effect of shot peening on sheared edges will be "
            "studied together with the frame plant; a first trial with an Almen intensity of "
            "0.25 mm A gave a gain of 22 % for three specimens."
        ),
        heading("Appendix A  Equipment and uncertainty"),
        para(
            "Load cell 0412 was calibrated in January 2024 to class 0.5. Bending in the clamped "
            "specimen was checked with four strain gauges and was below 3 % of the nominal stress. "
            "The width and thickness of each specimen were measured with a micrometer at three "
            "places; the uncertainty of the stress amplitude is 1.6 % with a coverage factor of 2."
        ),
        Table(
            "Table A1 – Equipment",
            ["Item", "Identity", "Calibrated", "Due"],
            [
                ["Servo-hydraulic frame, 100 kN", "F-07", "2024-01-16", "2025-01-16"],
                ["Load cell", "0412", "2024-01-16", "2025-01-16"],
                ["Roughness meter", "R-19", "2023-09-05", "2024-09-05"],
                ["Hardness tester, HV0.2", "H-03", "2023-11-22", "2024-11-22"],
                ["X-ray diffractometer", "external", "2024-02-08", "2025-02-08"],
            ],
            (2, 1, 1, 1),
        ),
        heading("References"),
        Para("[1] NHS 5407, Welding of frame rails and cross members, issue 2.", 9),
        Para("[2] NHS 3101, Corrosion protection of cab sheet steel, issue 5.", 9),
        Para("[3] TR-2022-044, Cracks at sheared edges in the shaker rig.", 9),
    )
    doc.save(path)


def data_sheet(path: Path) -> None:
    """The supplier's data sheet of the frame steel."""
    steel: Colour = (0.55, 0.10, 0.12)
    doc = PdfDocument(
        "FS 700 MC data sheet",
        _plain_frame("FJÄLLSTÅL", "Data sheet 211 en · edition 9 · 2023-04", steel),
        author="Fjällstål Plåt AB",
        date="2023-04-03",
        top=68,
    )
    doc.add(
        Para("FS 700 MC", 22, "bold", steel, after=1),
        Para("Hot-rolled high-strength steel for cold forming", 12, after=8),
        Para(
            "FS 700 MC is a thermomechanically rolled, microalloyed steel with a yield strength of "
            "at least 700 MPa. It is used for frame rails, crane booms and trailers where low "
            "weight pays. It meets and exceeds S700MC of EN 10149-2."
        ),
        heading("Dimensions"),
        Para(
            "Thickness 3.0 to 12.0 mm, width 800 to 1 650 mm, in coils or cut to lengths of 2 to "
            "13 metres. Mill edge is standard; slit edge on request above 1 000 mm."
        ),
        Table(
            "Mechanical properties, along the rolling direction",
            [
                "Thickness, mm",
                "Yield strength R_{eH}, MPa",
                "Tensile strength R_{m}, MPa",
                "Elongation A_{5}, %",
                "Bend radius, 90°",
            ],
            [
                ["3.0 – 6.0", "≥ 700", "750 – 930", "≥ 13", "0.9 t"],
                ["> 6.0 – 10.0", "≥ 700", "750 – 930", "≥ 13", "1.2 t"],
                ["> 10.0 – 12.0", "≥ 680", "740 – 930", "≥ 12", "1.6 t"],
            ],
        ),
        Para(
            "Impact energy, Charpy V, transverse: at least 40 J at –20 °C and 27 J at –40 °C for "
            "thicknesses from 6 mm. For thinner strip the values are reduced in proportion to the "
            "specimen width."
        ),
        Table(
            "Chemical composition, ladle analysis, mass %",
            ["", "C", "Si", "Mn", "P", "S", "Al", "Nb + V + Ti"],
            [
                ["Maximum", "0.10", "0.21", "2.00", "0.020", "0.010", "–", "0.22"],
                ["Typical", "0.06", "0.03", "1.75", "0.009", "0.003", "0.035", "0.16"],
            ],
        ),
        heading("Carbon equivalent"),
        Para("Typical CEV 0.37 and CET 0.24 at a thickness of 8 mm."),
        heading("Welding"),
        Para(
            "All common methods can be used. No preheating is needed down to a plate temperature "
            "of +5 °C. Keep the cooling time between 800 and 500 °C from 5 to 15 seconds; longer "
            "times soften the heat-affected zone. The steel is not made for stress relieving above "
            "580 °C."
        ),
        heading("Cutting and forming"),
        Para(
            "Laser, plasma and shearing are all suitable. For shearing we recommend a clearance "
            "of 10 to 14 % of the thickness and a rake angle of 1.5°. Springback in a 90° bend is "
            "typically 9 to 12 degrees."
        ),
        heading("Hot-dip galvanising"),
        Para(
            "The silicon content below 0.04 % gives class 1 for galvanising with thin, bright "
            "coatings. Order with the suffix ZN if the parts will be galvanised."
        ),
        heading("Surface and tolerances"),
        Para(
            "Delivered as rolled (black), or pickled and oiled. Thickness tolerance is half of EN "
            "10051. Flatness after levelling is at most 3 mm per metre."
        ),
        heading("Climate"),
        Para(
            "A1–A3: 2.18 kg CO_{2}e per kg according to declaration NVD-EPD-0412. FS 700 MC Zero "
            "is delivered to a small number of customers from the pilot plant."
        ),
        heading("Delivery test"),
        Table(
            "Extent of testing for each heat",
            ["Test", "Frequency", "Certificate"],
            [
                ["Tensile test", "One per 40 tonnes", "3.1"],
                ["Bend test", "One per coil", "3.1"],
                ["Impact test", "One set of three per heat, from 6 mm", "3.1"],
                ["Ladle analysis", "Each heat", "3.1"],
            ],
            (1.2, 2, 0.8),
        ),
        Para(
            "The values are typical and do not replace the order confirmation. Fjällstål Plåt AB, "
            "Luleå. Technical support: ask for the application engineers.",
            8,
            colour=GREY,
        ),
    )
    doc.save(path)


_CHART: tuple[tuple[str, float, float, Colour], ...] = (
    ("Steel", 7850, 210, (0.05, 0.23, 0.42)),
    ("Cast iron", 7100, 110, (0.35, 0.35, 0.35)),
    ("Titanium", 4430, 114, (0.55, 0.15, 0.45)),
    ("Aluminium", 2700, 70, (0.15, 0.50, 0.25)),
    ("Magnesium", 1780, 44, (0.80, 0.33, 0.10)),
    ("Glass fibre composite", 1950, 25, (0.70, 0.55, 0.05)),
    ("Polyamide with glass", 1400, 10, (0.30, 0.30, 0.75)),
    ("Polypropylene", 905, 1.5, (0.75, 0.10, 0.15)),
    ("Rubber", 1150, 0.01, (0.10, 0.10, 0.10)),
)


def _selection_chart(canvas: Canvas, x: float, y: float, width: float, tall: float) -> None:
    """Modulus over density with a line of equal panel index."""
    left, right, top, bottom = x + 60, x + width - 40, y + 8, y + tall - 34

    def place(density: float, modulus: float) -> tuple[float, float]:
        across = (math.log10(density) - 2.7) / 1.4
        up = (math.log10(modulus) + 2.3) / 5.3
        return left + across * (right - left), bottom - up * (bottom - top)

    for density in (500, 1000, 2000, 5000, 10000):
        px = place(density, 1)[0]
        canvas.line((px, top), (px, bottom), colour=(0.87, 0.87, 0.87))
        canvas.text(px, bottom + 12, str(density), size=8, align="centre")
    for modulus in ("0.01", "0.1", "1", "10", "100"):
        py = place(1000, float(modulus))[1]
        canvas.line((left, py), (right, py), colour=(0.87, 0.87, 0.87))
        canvas.text(left - 5, py + 3, modulus, size=8, align="right")
    canvas.line(place(600, 1.0), place(3800, 254), dashes="[4 3] 0", width=0.9)
    canvas.page.draw_rect(pymupdf.Rect(left, top, right, bottom), color=BLACK, width=0.8)
    for name, density, modulus, colour in _CHART:
        centre = place(density, modulus)
        canvas.page.draw_circle(centre, 4.5, color=colour, fill=colour)
        canvas.text(centre[0] + 8, centre[1] + 3, name, size=8, colour=colour)
    canvas.text((left + right) / 2, bottom + 26, "Density, kg/m³", size=8.5, align="centre")
    canvas.text(left + 6, top + 12, "Modulus, GPa", size=8.5)


def selection_guideline(path: Path) -> None:
    """MG-02, how to choose materials for frame and cab."""
    doc = PdfDocument(
        "MG-02 Material selection for frame, chassis parts and cab",
        _plain_frame(
            "Nordhjul Lastvagnar – Design guideline", "MG-02 · issue 3 · 2024-09-02", BLUE
        ),
        family="serif",
        date="2024-09-02",
        top=72,
    )

    def para(words: str) -> Para:
        return Para(words, 11, after=7)

    doc.add(
        Para("Material selection for frame, chassis parts and cab", 19, "bold", BLUE, after=4),
        Para("A guideline for designers and buyers", 11.5, "italic", after=12),
        heading("1  How to use this guideline"),
        para(
            "The guideline leads from the function of a part to a short list of released "
            "materials. It does not replace the standards: where the two differ, the standard is "
            "right. Start with the function, write down the loads and the environment, rank with "
            "the indices of chapter 2, and ask the materials department before a material is used "
            "that is not listed."
        ),
        para(
            "Choose released materials first. A new metal needs about nine months from request to "
            "release, a new polymer about twelve, and a new elastomer or coating up to eighteen, "
            "since field ageing is included. The cost of a release is charged to the project."
        ),
        Table(
            "Table 1 – Who decides",
            ["Decision", "Decided by", "Time"],
            [
                ["Released material, known environment", "Design engineer", "at once"],
                ["Released material, new environment", "Materials specialist", "2 weeks"],
                ["New grade of a known family", "Materials council", "9 months"],
                ["New family or new coating", "Materials council and quality", "12–18 months"],
            ],
            (2, 1.6, 1),
        ),
        heading("2  Ranking with indices"),
        para(
            "For a part whose mass shall be low at a given stiffness or strength, the material "
            "enters only through an index. For a panel in bending the index is Equation 1, for a "
            "beam in bending with free section height Equation 2, and for a tie in tension with a "
            "given strength Equation 3. //E// is the modulus of elasticity, //ρ// the density and "
            "//R//_{e} the yield strength. A high index is good."
        ),
        Formula(["//I//_{panel}  =", Frac("//E//^{1/3}", "//ρ//")], "1"),
        Formula(["//I//_{beam}  =", Frac("//E//^{1/2}", "//ρ//")], "2"),
        Formula(["//I//_{tie}  =", Frac("//R//_{e}", "//ρ//")], "3"),
        Figure(
            _selection_chart,
            250,
            "Figure 1 – Modulus of elasticity over density for families of materials, both axes "
            "logarithmic. The dashed line joins materials of equal index for a panel in bending; "
            "materials above it are better.",
        ),
        para(
            "The climate cost is added as in Equation 4, with the part mass //m//, the price //p// "
            "of the material, the emission factor //g// for A1–A3 in kg CO_{2}e per kg, and the "
            "internal carbon price //c//, which is 0.15 euro per kg CO_{2}e in 2024. For parts of "
            "long-haul trucks each kilogram saved is worth 3.20 euro over the life of the truck."
        ),
        Formula(["//K//  =  //m// ( //p// + //g c// )"], "4"),
        para(
            "Example: a battery bracket weighs 4.1 kg in S420MC at 1.05 euro and 2.3 kg CO_{2}e "
            "per kg, and 1.9 kg as a secondary aluminium casting at 4.10 euro and 1.9 kg CO_{2}e "
            "per kg. Equation 4 gives 5.7 euro for steel and 8.3 euro for aluminium. The 2.2 kg "
            "that are saved are worth 7.0 euro, so the casting wins by 4.4 euro for each bracket."
        ),
        heading("3  Frame rails and cross members"),
        para(
            "Rails are roll formed from hot-rolled steel. S500MC is the base; S700MC is chosen "
            "where axle loads or body builders ask for low weight. Stiffness does not rise with "
            "strength: when the web is made thinner, torsional stiffness falls in proportion to "
            "the cube of the thickness, which the cross members have to restore."
        ),
        Table(
            "Table 2 – Steels for frame parts",
            ["Part", "First choice", "Alternative", "Remark"],
            [
                ["Rail, long haul", "S700MC, 8 mm", "S650MC, 8 mm", "Laser cut free edges"],
                ["Rail, construction", "S500MC, 9.5 mm", "S600MC, 9 mm", "Inner rail S500MC, 5 mm"],
                ["Cross member", "S420MC, 6 mm", "S500MC, 5 mm", "Bolted, no welds at the ends"],
                ["Spring bracket", "EN-GJS-500-7", "EN-GJS-600-10", "Solution strengthened"],
                ["Fifth wheel plate", "S355MC, 10 mm", "–", "Welds of quality level B"],
            ],
            (1.3, 1.3, 1.3, 1.6),
        ),
        para(
            "Ductile iron replaces welded brackets when more than 4 000 pieces a year are needed. "
            "The elongation in the part shall be at least 5 % in the thickest section, and "
            "brackets in the crash zone use ferritic, solution-strengthened grades."
        ),
        para(
            "Frames for tippers and timber trucks get a two-layer epoxy paint; all others the "
            "water-borne single layer. Hot-dip galvanised frames are delivered to fire brigades "
            "and to customers on islands. Check that all hollow sections have vents of at least "
            "12 mm before they are galvanised, since steam may burst a closed section in the bath."
        ),
        heading("4  Wheel ends and brakes"),
        para(
            "Brake discs follow NHS 2215. Grade B1 suits long haul, where heat has to be carried "
            "away; grade B2 suits distribution in hilly cities and construction. Hubs are cast in "
            "EN-GJS-500-14 and calipers in EN-GJS-600-3. Never mix grades on one axle."
        ),
        para(
            "Shafts of 42CrMo4 are quenched and tempered to 900 to 1 100 MPa and induction "
            "hardened at the splines to at least 52 HRC. The hardened depth is 12 % of the "
            "diameter. Where salt water can reach the shaft, fatigue strength falls to less than "
            "half, so the seal is a part of the design."
        ),
        heading("5  Cab structure"),
        para(
            "Outer panels use bake-hardening steel of 0.75 mm with zinc-magnesium on both sides; "
            "the dent resistance of a door is set by its yield strength after baking. A-pillars "
            "and cross beams under the windscreen are press hardened from 22MnB5 with a tensile "
            "strength of 1 500 MPa. Floors are HX340LAD, 1.0 mm."
        ),
        Table(
            "Table 3 – Materials for the cab structure",
            ["Part", "Material", "Thickness, mm", "Coating"],
            [
                ["Door, outer", "HX220BD", "0.75", "ZM100"],
                ["Roof", "DX54D", "0.80", "ZM100"],
                ["Floor", "HX340LAD", "1.00", "ZM140"],
                ["A-pillar", "22MnB5", "1.60", "AS150"],
                ["Rear wall", "HX260LAD", "0.70", "Z100"],
                ["Step well", "HX300LAD", "1.20", "ZM140"],
            ],
            (1.2, 1.3, 1, 1),
        ),
        para(
            "Aluminium sheet of the 6000 series may be used for hatches and the roof deflector. "
            "It is joined to steel with adhesive and self-piercing rivets only, and every joint is "
            "sealed, see chapter 8."
        ),
        heading("6  Polymers"),
        para(
            "Ask three questions first: how hot, for how long, and in contact with what. Glass "
            "filled polyamide 66 keeps its shape up to 210 °C for a short time but takes up water, "
            "which lowers its modulus by about 40 % in a humid climate. Polypropylene with long "
            "glass fibre does not take up water and is chosen for parts under the cab."
        ),
        Table(
            "Table 4 – Highest temperature in long-term use (5 000 h)",
            ["Material", "Temperature, °C", "Typical part"],
            [
                ["PP with 20 % talc", "95", "Wheel housing liner"],
                ["PP with 40 % long glass fibre", "110", "Battery box, front module"],
                ["PC/ABS", "90", "Instrument panel"],
                ["PA6 with 30 % glass", "120", "Pedal, mirror arm"],
                ["PA66 with 35 % glass", "130", "Bracket in the engine bay"],
                ["PPA with 35 % glass", "155", "Coolant connector"],
                ["PPS with 40 % glass", "200", "Turbo actuator housing"],
            ],
            (2, 1, 2),
        ),
        para(
            "Weld lines in glass filled parts have half of the strength of the bulk. Place the "
            "gates so that no weld line lies at a snap fit or a screw boss. Design strain at long "
            "load is limited to 0.5 % for amorphous and 1.0 % for semi-crystalline polymers."
        ),
        para(
            "Recycled compounds lose some impact strength. Do not use them for parts that have to "
            "fold without splinters in a crash or that are hit by stones below –20 °C. Colour "
            "drifts between lots, so that recycled compounds are black or painted."
        ),
        heading("7  Elastomers"),
        para(
            "Seals follow NHS 3240. EPDM must never meet mineral oil or grease: it swells by more "
            "than 100 % within a week. Silicone has good cold and heat properties but tears easily "
            "and lets fuel vapour through. Fluoroelastomer becomes stiff below –15 °C; ask for the "
            "low temperature type when the truck is sold to the Arctic region."
        ),
        Table(
            "Table 5 – Choice of elastomer by fluid",
            ["Fluid", "Suitable", "Not suitable"],
            [
                ["Coolant, brake fluid", "EPDM", "NBR, FKM"],
                ["Diesel, hydraulic oil", "NBR, HNBR, FKM", "EPDM, silicone"],
                ["Biodiesel", "FKM, HNBR", "NBR, EPDM"],
                ["Hot charge air with oil mist", "FKM-lined silicone, AEM", "EPDM"],
                ["Urea solution for exhaust", "EPDM, HNBR", "–"],
            ],
            (1.5, 1.7, 1.2),
        ),
        heading("8  Joining different metals"),
        para(
            "Two metals in electrical contact and wet with salt water form a cell. Table 6 is used "
            "with the rule that the difference of potential shall be at most 0.15 V outside and "
            "0.30 V inside the cab. A large noble surface with a small less noble one is the worst "
            "case, for example a carbon fibre panel with an aluminium rivet."
        ),
        Table(
            "Table 6 – Potential in salt water, against silver/silver chloride",
            ["Metal or coating", "Potential, V"],
            [
                ["Magnesium AZ91", "–1.60"],
                ["Zinc, zinc flake", "–1.03"],
                ["Aluminium 6000 series", "–0.76"],
                ["Zinc-nickel with sealer", "–0.72"],
                ["Steel, cast iron", "–0.61"],
                ["Copper", "–0.20"],
                ["Stainless steel 1.4301, passive", "–0.08"],
                ["Carbon fibre composite", "+0.20"],
            ],
            (2, 1),
        ),
        para(
            "If the limit is exceeded, insulate with a washer or sleeve of polyamide of at least "
            "1 mm, paint the more noble side, or drain the joint. Painting only the less noble "
            "side makes things worse: any scratch then corrodes quickly."
        ),
        heading("9  Battery-electric trucks"),
        para(
            "Battery frames are welded from extrusions of EN AW-6082 T6. In the heat-affected zone "
            "the yield strength falls from 250 to 125 MPa over a width of 20 mm on each side of "
            "the weld, so place welds in zones of low stress or use friction stir welding. The "
            "lower cover protects against stones and is made of 2.0 mm steel with ZM140 or of "
            "3.5 mm glass fibre composite."
        ),
        para(
            "Lids over the cells have to resist a flame of 1 000 °C for ten minutes without "
            "burning through. Steel of 0.8 mm passes without a coating; aluminium needs a ceramic "
            "mat of 2 mm. Housings near the traction voltage follow clause 3 of NHS 3362. Busbars "
            "are made of Cu-ETP with tin or nickel; aluminium busbars are allowed above 240 mm²."
        ),
        Table(
            "Table 7 – Materials for battery-electric trucks",
            ["Part", "Material", "Critical property"],
            [
                ["Battery frame", "EN AW-6082 T6", "Strength at welds"],
                ["Lid over cells", "HX300LAD, 0.8 mm", "Flame, 10 min"],
                ["Cooling plate", "EN AW-3003, brazed", "Tightness, coolant"],
                ["Connector housing", "PA66-GF25 FR", "V-0, tracking index 600 V"],
                ["Busbar", "Cu-ETP, nickel plated", "Contact resistance"],
                ["Motor housing", "EN AC-43500 T7", "Porosity, tightness"],
            ],
            (1.2, 1.4, 1.4),
        ),
        heading("10  Climate and circularity"),
        para(
            "Emission factors are taken from verified declarations where they exist and from Table "
            "8 otherwise. A factor from a declaration may be used for three years after it has "
            "expired if the supplier confirms that the process is unchanged."
        ),
        Table(
            "Table 8 – Emission factors for A1–A3 when there is no declaration",
            ["Material", "kg CO_{2}e per kg", "Recycled share"],
            [
                ["Hot-rolled steel, blast furnace", "2.3", "15 %"],
                ["Galvanised sheet", "2.6", "15 %"],
                ["Steel bar, electric furnace", "0.7", "95 %"],
                ["Grey iron casting, machined", "1.2", "75 %"],
                ["Aluminium sheet, primary", "8.6", "0 %"],
                ["Aluminium casting, secondary", "1.9", "85 %"],
                ["Polypropylene with talc", "1.8", "0 %"],
                ["Polyamide 66 with glass", "6.4", "0 %"],
                ["Natural rubber compound", "2.9", "0 %"],
            ],
            (2, 1, 1),
        ),
        para(
            "Design for recycling: avoid coatings and inserts that cannot be taken off a polymer "
            "part, mark all parts above 100 g with the material, and keep copper away from steel "
            "that is shredded. The content of copper in steel scrap should stay below 0.25 %."
        ),
        heading("11  Materials that may not be used"),
        *bullets(
            "Hexavalent chromium in coatings and in pretreatment.",
            "Lead in free-cutting steel above 0.35 %, in aluminium above 0.4 % and in copper above "
            "4 %; new parts should be free of lead.",
            "Cadmium in any coating.",
            "Plasticised PVC in the cab, except as underbody sealer.",
            "Asbestos and ceramic fibres that can be inhaled.",
            "Polymers with fluorinated processing aids, from model year 2026.",
            size=11,
        ),
        heading("12  Data for simulation"),
        para(
            "Cards for simulation are taken from the material database, never from a data sheet. "
            "For stiffness use 210 GPa and a Poisson ratio of 0.30 for all steels, 169 GPa and "
            "0.275 for ductile iron, and 70 GPa and 0.33 for aluminium. Grey iron is softer in "
            "tension than in compression; 105 GPa is used for brake discs."
        ),
        para(
            "Polymers are entered at 23 °C and 50 % relative humidity in the conditioned state. "
            "The modulus of glass filled polyamide across the flow is about 55 % of that along the "
            "flow; use a filling simulation to orient it, or 0.7 times the value of the data sheet "
            "for an isotropic calculation. For crash, strain rates up to 500 per second are "
            "covered by the cards of the press hardened and dual phase steels."
        ),
        heading("13  Request for a new material"),
        para(
            "Fill in form MG-02-F1 with the part number, the yearly volume, the reason and the "
            "expected saving in mass, cost and emissions. The materials council meets on the "
            "second Tuesday of each month; requests must arrive ten days before. The answer states "
            "which tests the supplier has to pay."
        ),
        para(
            "After release, the material gets a number in the material database and a card for "
            "simulation. The number, not the trade name, is written on the drawing."
        ),
        Table(
            "Table 9 – Issues of this guideline",
            ["Issue", "Date", "Change"],
            [
                ["1", "2019-05-20", "First issue, frame and cab"],
                ["2", "2022-02-07", "Polymers and elastomers added, carbon price 0.10 euro"],
                ["3", "2024-09-02", "Battery-electric trucks added, carbon price 0.15 euro"],
            ],
            (0.6, 1, 3),
        ),
    )
    doc.save(path)


def scanned_certificate(path: Path) -> None:
    """A typed certificate of 1998 as a noisy, slightly turned picture without a text layer."""
    lines = (
        "",
        "   NORDHJUL MEKANISKA VERKSTAD              PROVNINGSINTYG",
        "   Materiallaboratoriet                     Nr 98-1147",
        "   ---------------------------------------------------------",
        "",
        "   Beställare:    Hjulaxelfabriken, avd 42",
        "   Föremål:       Mellanaxel, smidd, ritn 1 386 204",
        "   Material:      42CrMo4, charge 7731",
        "   Datum:         1998-10-14",
        "",
        "   HARDNESS TEST / HÅRDHETSPROVNING   HBW 5/750",
        "",
        "   Axel nr    Läge        Hårdhet HBW",
        "   ---------------------------------------",
        "      1       fläns           291",
        "      1       mitt            286",
        "      2       fläns           302",
        "      2       mitt            297",
        "      3       fläns           338",
        "      3       mitt            331",
        "",
        "   Krav enligt ritning: 270 - 320 HBW.",
        "",
        "   Axel nr 3 underkänd. Hårdheten är för hög på",
        "   grund av för låg anlöpningstemperatur, 520 grader",
        "   i stället för 580 grader. Axeln anlöps om och",
        "   provas på nytt.",
        "",
        "   INDUCTION HARDENED SPLINE",
        "   Surface hardness 54 HRC, depth 5.2 mm.",
        "",
        "",
        "   Provat av:  K. Hammarlid",
        "",
        "   Godkänt av: ______________________",
    )
    pdf = pymupdf.open()
    page = pdf.new_page(width=PAGE_WIDTH, height=PAGE_HEIGHT)
    font = pymupdf.Font("cour")
    writer = pymupdf.TextWriter(page.rect, color=(0.15, 0.15, 0.18))
    for number, line in enumerate(lines):
        if line:
            writer.append((44, 90 + number * 18.5), line, font=font, fontsize=12)
    writer.write_text(page)
    pixels = page.get_pixmap(dpi=150, colorspace=pymupdf.csGRAY)
    pdf.close()

    rng = np.random.default_rng(1998)
    picture = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)
    picture = picture.rotate(1.3, Image.Resampling.BICUBIC, fillcolor=250)
    picture = picture.filter(ImageFilter.GaussianBlur(0.7))
    grey = np.asarray(picture, dtype=np.float64)
    grey = grey - np.linspace(4, 22, grey.shape[1])[None, :]
    grey += rng.normal(0, 9, grey.shape)
    for _ in range(260):
        row = int(rng.integers(0, grey.shape[0] - 3))
        column = int(rng.integers(0, grey.shape[1] - 3))
        grey[row : row + 2, column : column + 2] = rng.uniform(30, 150)
    stream = io.BytesIO()
    Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8)).save(stream, "JPEG", quality=45)

    scan = pymupdf.open()
    sheet = scan.new_page(width=PAGE_WIDTH, height=PAGE_HEIGHT)
    sheet.insert_image(sheet.rect, stream=stream.getvalue())
    scan.set_metadata({"title": "Scan", "creationDate": "D:20110502080000Z"})
    path.parent.mkdir(parents=True, exist_ok=True)
    scan.save(path, garbage=4, deflate=True, no_new_id=True)
    scan.close()


def write_all(folder: Path) -> None:
    """Write every one-column PDF below `folder`."""
    for epd in DECLARATIONS:
        declaration(folder / "epd", epd)
    fatigue_report(folder / "reports" / "TR-2024-017_fatigue_of_frame_steel.pdf")
    data_sheet(folder / "suppliers" / "fjallstal_FS_700_MC_data_sheet.pdf")
    selection_guideline(folder / "guides" / "MG-02_material_selection.pdf")
    scanned_certificate(folder / "scans" / "certificate_98-1147_hardness.pdf")
