"""The material database: six SQLite tables with short technical headings and many empty cells.

Values follow simple physical relations plus seeded scatter; the same code gives the same rows.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from generate.facts import FASTENER_RESULTS, FATIGUE_SERIES, SUPPLIERS, FatigueSeries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Value = str | int | float | None
Row = dict[str, Value]

SCHEMA: dict[str, str] = {
    "suppliers": """
        suppl_id INTEGER PRIMARY KEY, suppl TEXT NOT NULL, nm_full TEXT NOT NULL,
        ctry TEXT NOT NULL, town TEXT, cat TEXT NOT NULL, iatf_until TEXT, iso14001_until TEXT,
        epd_no TEXT, lt_wk INTEGER, moq_t REAL, ppm_12m INTEGER, otd_pct REAL,
        aud_grd TEXT, aud_dt TEXT""",
    "steel_grades": """
        mat_id TEXT PRIMARY KEY, desig TEXT NOT NULL, std TEXT, wnr TEXT,
        suppl TEXT NOT NULL, cond TEXT, t_min_mm REAL, t_max_mm REAL, rm_mpa INTEGER,
        rp02_mpa INTEGER, a80_pct REAL, a5_pct REAL, hbw INTEGER, kv_j INTEGER, kv_t_c INTEGER,
        r90 REAL, n90 REAL, bh2_mpa INTEGER, zn_gm2 INTEGER, c_pct REAL, mn_pct REAL, si_pct REAL,
        p_max REAL, s_max REAL, cr_pct REAL, mo_pct REAL, ni_pct REAL, ceq REAL, wld_cls TEXT,
        gwp_kg REAL, upd_at TEXT NOT NULL""",
    "polymers": """
        pol_id TEXT PRIMARY KEY, desig TEXT NOT NULL, fam TEXT NOT NULL, trade TEXT,
        suppl TEXT NOT NULL, fill TEXT, fill_pct INTEGER, rho_gcm3 REAL, mfi REAL, mfi_cond TEXT,
        tg_c INTEGER, tm_c INTEGER, hdt_c INTEGER, e_gpa REAL, rm_mpa REAL, eb_pct REAL,
        cha_kjm2 REAL, wabs_pct REAL, shr_pct REAL, ul94 TEXT, br_mmmin INTEGER, cti_v INTEGER,
        rec_pct INTEGER, gwp_kg REAL, sha INTEGER, cs_pct INTEGER, tr10_c INTEGER""",
    "coatings": """
        coat_id TEXT PRIMARY KEY, sys TEXT NOT NULL, descr TEXT, suppl TEXT, subst TEXT,
        dft_min_um REAL, dft_max_um REAL, aw_gm2 REAL, cure_c INTEGER, cure_min INTEGER,
        mu_min REAL, mu_max REAL, nss_wr_h INTEGER, nss_rr_h INTEGER, t_max_c INTEGER, he_rsk TEXT,
        crvi TEXT, voc_gl INTEGER, gloss60 INTEGER, rel_st TEXT""",
    "fatigue_tests": """
        test_id INTEGER PRIMARY KEY, spec_no TEXT NOT NULL, mat_id TEXT REFERENCES steel_grades,
        desig TEXT NOT NULL, surf TEXT, t_mm REAL, rz_um REAL, hv INTEGER, rs_mpa INTEGER,
        r_ratio REAL, sa_mpa INTEGER, nf INTEGER, f_hz REAL, temp_c INTEGER, env TEXT,
        runout INTEGER, orig TEXT, rerun_mpa INTEGER""",
    "corrosion_tests": """
        test_no INTEGER PRIMARY KEY, coat_id TEXT REFERENCES coatings, sys TEXT NOT NULL,
        suppl TEXT, obj TEXT, meth TEXT NOT NULL, dur_h INTEGER, dur_wk INTEGER, dft_um REAL,
        wr_h INTEGER, rr_h INTEGER, creep_mm REAL, blist TEXT, adh_cls INTEGER, chip REAL,
        edge_pct INTEGER, mu_tot REAL, res TEXT, lab TEXT, end_dt TEXT""",
}
"""Column definitions by table, in the order in which the tables are written."""


@dataclass(frozen=True)
class Steel:
    """Nominal values of a steel; `carbon`, `manganese`, `silicon` in mass %."""

    desig: str
    std: str
    number: str | None
    kind: str
    rp02: int
    rm: int
    elongation: float
    carbon: float
    manganese: float
    silicon: float
    chromium: float | None = None
    molybdenum: float | None = None
    nickel: float | None = None


_HOT = "EN 10149-2"
_COAT = "EN 10346"
_QT = "EN ISO 683-2"
STEELS = (
    Steel("S315MC", _HOT, "1.0972", "hot", 345, 430, 28, 0.07, 0.75, 0.03),
    Steel("S355MC", _HOT, "1.0976", "hot", 398, 480, 26, 0.07, 0.95, 0.03),
    Steel("S420MC", _HOT, "1.0980", "hot", 461, 540, 23, 0.07, 1.15, 0.03),
    Steel("S460MC", _HOT, "1.0982", "hot", 500, 585, 21, 0.07, 1.25, 0.03),
    Steel("S500MC", _HOT, "1.0984", "hot", 546, 625, 20, 0.07, 1.35, 0.03),
    Steel("S550MC", _HOT, "1.0986", "hot", 592, 670, 18.5, 0.07, 1.50, 0.04),
    Steel("S600MC", _HOT, "1.8969", "hot", 641, 715, 18, 0.07, 1.60, 0.08),
    Steel("S650MC", _HOT, "1.8976", "hot", 690, 755, 17.5, 0.07, 1.70, 0.10),
    Steel("S700MC", _HOT, "1.8974", "hot", 736, 795, 17, 0.06, 1.80, 0.12, 0.04),
    Steel("S900MC", _HOT, "1.8798", "hot", 945, 1010, 10, 0.09, 1.60, 0.20, 0.35, 0.20),
    Steel("S960MC", _HOT, "1.8799", "hot", 1004, 1075, 8.5, 0.10, 1.65, 0.20, 0.45, 0.25),
    Steel("S235JR", "EN 10025-2", "1.0038", "hot", 285, 405, 31, 0.13, 0.55, 0.02),
    Steel("S275J2", "EN 10025-2", "1.0145", "hot", 318, 455, 29, 0.14, 0.90, 0.03),
    Steel("S355J2", "EN 10025-2", "1.0577", "hot", 392, 535, 27, 0.16, 1.40, 0.22),
    Steel("S355K2", "EN 10025-2", "1.0596", "hot", 398, 540, 27, 0.15, 1.45, 0.25),
    Steel("S460N", "EN 10025-3", "1.8901", "hot", 489, 610, 22, 0.16, 1.52, 0.35, None, None, 0.2),
    Steel("DX51D", _COAT, "1.0226", "coated", 240, 350, 30, 0.06, 0.30, 0.02),
    Steel("DX53D", _COAT, "1.0355", "coated", 190, 320, 37, 0.03, 0.20, 0.01),
    Steel("DX54D", _COAT, "1.0306", "coated", 165, 300, 41, 0.003, 0.14, 0.01),
    Steel("DX56D", _COAT, "1.0322", "coated", 148, 292, 44, 0.002, 0.12, 0.01),
    Steel("HX180BD", _COAT, "1.0914", "coated", 205, 325, 38, 0.003, 0.35, 0.02),
    Steel("HX220BD", _COAT, "1.0919", "coated", 242, 358, 35, 0.003, 0.45, 0.03),
    Steel("HX260LAD", _COAT, "1.0929", "coated", 292, 392, 30, 0.06, 0.40, 0.02),
    Steel("HX300LAD", _COAT, "1.0932", "coated", 336, 428, 28, 0.07, 0.60, 0.03),
    Steel("HX340LAD", _COAT, "1.0933", "coated", 377, 462, 26, 0.07, 0.75, 0.03),
    Steel("HX380LAD", _COAT, "1.0934", "coated", 415, 495, 23, 0.08, 0.90, 0.04),
    Steel("HX420LAD", _COAT, "1.0935", "coated", 456, 530, 21, 0.08, 1.05, 0.05),
    Steel("HCT590X", _COAT, "1.0996", "coated", 372, 622, 24, 0.09, 1.70, 0.25, 0.20),
    Steel("HCT780X", _COAT, "1.0943", "coated", 495, 812, 17, 0.13, 1.95, 0.25, 0.25),
    Steel("HCT980X", _COAT, "1.0944", "coated", 690, 1025, 12, 0.14, 2.25, 0.30, 0.30),
    Steel("22MnB5", "works standard", "1.5528", "press", 385, 560, 22, 0.23, 1.22, 0.25, 0.18),
    Steel("C22", _QT, "1.0402", "bar", 330, 545, 23, 0.22, 0.55, 0.25),
    Steel("C35", _QT, "1.0501", "bar", 395, 640, 19, 0.35, 0.65, 0.25),
    Steel("C45", _QT, "1.0503", "bar", 455, 715, 17, 0.45, 0.68, 0.25),
    Steel("25CrMo4", _QT, "1.7218", "bar", 655, 855, 15, 0.25, 0.75, 0.25, 1.05, 0.22),
    Steel("34CrMo4", _QT, "1.7220", "bar", 710, 920, 14, 0.34, 0.75, 0.25, 1.05, 0.22),
    Steel("42CrMo4", _QT, "1.7225", "bar", 815, 985, 13, 0.42, 0.75, 0.25, 1.05, 0.22),
    Steel("34CrNiMo6", _QT, "1.6582", "bar", 930, 1095, 12, 0.34, 0.65, 0.25, 1.50, 0.22, 1.50),
    Steel("30CrNiMo8", _QT, "1.6580", "bar", 975, 1140, 11.5, 0.30, 0.45, 0.25, 2.0, 0.4, 2.0),
    Steel("51CrV4", _QT, "1.8159", "bar", 985, 1160, 10, 0.51, 0.90, 0.28, 1.05),
    Steel("38MnVS6", "EN 10267", "1.1303", "bar", 590, 880, 14, 0.38, 1.40, 0.55, 0.15),
    Steel("16MnCr5", "EN ISO 683-3", "1.7131", "bar", 620, 930, 11, 0.16, 1.15, 0.20, 0.95),
    Steel("20MnCr5", "EN ISO 683-3", "1.7147", "bar", 740, 1110, 9, 0.20, 1.25, 0.20, 1.15),
    Steel(
        "18CrNiMo7-6",
        "EN ISO 683-3",
        "1.6587",
        "bar",
        815,
        1180,
        9,
        0.18,
        0.7,
        0.2,
        1.65,
        0.3,
        1.55,
    ),
    Steel("X5CrNi18-10", "EN 10088-2", "1.4301", "stainless", 285, 620, 54, 0.04, 1.5, 0.4, 18.2),
    Steel("X2CrTi12", "EN 10088-2", "1.4512", "stainless", 255, 410, 33, 0.01, 0.4, 0.5, 11.5),
    Steel("X2CrTiNb18", "EN 10088-2", "1.4509", "stainless", 310, 470, 30, 0.015, 0.4, 0.5, 17.8),
    Steel("X2CrNi12", "EN 10088-2", "1.4003", "stainless", 345, 485, 27, 0.015, 1.1, 0.5, 11.3),
    Steel("X6Cr17", "EN 10088-2", "1.4016", "stainless", 320, 495, 26, 0.05, 0.6, 0.4, 16.3),
    Steel("S690QL", "EN 10025-6", "1.8928", "wear", 775, 835, 16, 0.15, 1.35, 0.30, 0.30, 0.20),
    Steel("WR 400", "works standard", None, "wear", 1080, 1250, 11, 0.14, 1.35, 0.40, 0.30, 0.12),
    Steel("WR 450", "works standard", None, "wear", 1190, 1400, 10, 0.19, 1.35, 0.45, 0.40, 0.15),
    Steel("WR 500", "works standard", None, "wear", 1300, 1570, 8, 0.27, 1.20, 0.40, 0.60, 0.25),
)

_MILLS = {
    "hot": ("Fjällstål", "Weserband", "Baltrol"),
    "coated": ("Östersjö Coil", "Kymistål"),
    "press": ("Östersjö Coil", "Kymistål"),
    "bar": ("Älvbruk", "Toledar"),
    "stainless": ("Inoxane",),
    "wear": ("Fjällstål", "Baltrol"),
}
_FOOTPRINT = {
    "Fjällstål": 2.18,
    "Weserband": 2.31,
    "Östersjö Coil": 2.46,
    "Älvbruk": 0.58,
    "Inoxane": 2.9,
}
_SINGLE_SOURCE = {
    "S315MC",
    "S550MC",
    "S900MC",
    "S960MC",
    "S275J2",
    "S460N",
    "DX51D",
    "HX420LAD",
    "HCT980X",
    "34CrMo4",
    "C22",
}


def _weldability(equivalent: float) -> str:
    """Weldability class of NHS 5407, clause 2."""
    return "A" if equivalent <= 0.38 else "B" if equivalent <= 0.45 else "C"


def _bands(steel: Steel) -> Sequence[tuple[float, float, str]]:
    """Thickness bands (or bar diameters) with their delivery condition."""
    if steel.kind == "hot":
        condition = (
            "+M" if steel.desig.endswith("MC") else "+N" if steel.desig == "S460N" else "+AR"
        )
        thick = ((3.0, 6.0, condition), (6.0, 10.0, condition))
        return thick if steel.desig in ("S355MC", "S500MC", "S650MC", "S700MC") else thick[1:]
    if steel.kind == "coated":
        return ((0.6, 1.5, "+ZM"),)
    if steel.kind == "press":
        return ((0.8, 2.0, "+AS"), (0.8, 2.0, "press hardened"))
    if steel.kind == "bar":
        case = steel.std.endswith("683-3")
        hot = "case hardened" if case else "+P" if steel.desig == "38MnVS6" else "+QT"
        two = steel.desig in ("42CrMo4", "C45", "34CrNiMo6")
        return ((16, 40, hot), (40, 100, hot)) if two else ((16, 40, hot),)
    return ((0.8, 3.0, "2B"),) if steel.kind == "stainless" else ((4.0, 20.0, "+Q"),)


def _steel_row(
    steel: Steel, mill: str, band: tuple[float, float, str], rng: np.random.Generator
) -> Row:
    low, high, condition = band
    factor = 1 + rng.normal(0, 0.012) - (0.03 if low >= 40 else 0.0)
    rm, rp02 = steel.rm * factor, steel.rp02 * (factor + rng.normal(0, 0.008))
    carbon = round(steel.carbon * (1 + rng.normal(0, 0.04)), 3 if steel.carbon < 0.02 else 2)
    manganese = round(steel.manganese * (1 + rng.normal(0, 0.03)), 2)
    chromium = steel.chromium and round(steel.chromium * (1 + rng.normal(0, 0.03)), 2)
    elongation = round(steel.elongation * (1 + rng.normal(0, 0.04)) * 2) / 2
    if condition == "press hardened":
        rm, rp02, elongation = 1480 + rng.normal(0, 18), 1060 + rng.normal(0, 20), 6.0
    if (steel.desig, mill, low) == ("S700MC", "Fjällstål", 6.0):
        rm, rp02, elongation, carbon, manganese, chromium = 790, 734, 19.0, 0.06, 1.75, 0.04
    thin = high <= 3.0
    equivalent = round(
        carbon
        + manganese / 6
        + ((chromium or 0.03) + (steel.molybdenum or 0.01) + 0.01) / 5
        + ((steel.nickel or 0.04) + 0.02) / 15,
        2,
    )
    welded = steel.kind in ("hot", "wear") or (steel.kind == "bar" and rng.random() < 0.5)
    drawn = steel.desig.startswith(("DX", "HX"))
    tough = low >= 6 and steel.kind == "hot"
    return {
        "desig": steel.desig,
        "std": steel.std,
        "wnr": steel.number,
        "suppl": mill,
        "cond": condition,
        "t_min_mm": low,
        "t_max_mm": high,
        "rm_mpa": round(rm),
        "rp02_mpa": round(rp02),
        "a80_pct": elongation if thin else None,
        "a5_pct": None if thin else elongation,
        "hbw": round(rm / 3.38) if steel.kind in ("bar", "wear") else None,
        "kv_j": round(float(rng.uniform(45, 110)))
        if tough
        else 35
        if steel.kind == "wear"
        else None,
        "kv_t_c": (-40 if steel.desig.endswith(("MC", "N")) else -20)
        if tough
        else (-40 if steel.kind == "wear" else None),
        "r90": round(2.4 - steel.rp02 / 260, 1) if drawn and steel.rp02 < 300 else None,
        "n90": round(0.27 - steel.rp02 / 3000, 2) if drawn else None,
        "bh2_mpa": round(float(rng.uniform(38, 52))) if steel.desig.endswith("BD") else None,
        "zn_gm2": int(rng.choice([100, 140])) if steel.kind == "coated" else None,
        "c_pct": carbon,
        "mn_pct": manganese,
        "si_pct": 0.03 if (steel.desig, mill) == ("S700MC", "Fjällstål") else steel.silicon,
        "p_max": 0.02 if steel.kind in ("hot", "bar") else None,
        "s_max": {"hot": 0.01, "bar": 0.035}.get(steel.kind),
        "cr_pct": chromium,
        "mo_pct": steel.molybdenum,
        "ni_pct": steel.nickel if steel.desig != "X5CrNi18-10" else 8.1,
        "ceq": equivalent if welded else None,
        "wld_cls": _weldability(equivalent) if welded else None,
        "gwp_kg": _FOOTPRINT.get(mill) if rng.random() < 0.6 or mill == "Fjällstål" else None,
    }


def _blank(
    rows: Sequence[Row], names: Sequence[str], share: float, rng: np.random.Generator
) -> None:
    """Empty a share of the cells of some columns: nobody measures everything."""
    for row in rows:
        for name in names:
            if rng.random() < share and not str(row.get("suppl")).startswith("Fjäll"):
                row[name] = None


def _timestamps(count: int, rng: np.random.Generator) -> Iterator[str]:
    start = datetime(2021, 1, 11, 7, 0)
    minutes = np.sort(rng.integers(0, 1_900_000, count))
    for minute in rng.permutation(minutes):
        yield (start + timedelta(minutes=int(minute))).isoformat()


@cache
def steel_grades() -> tuple[Row, ...]:
    """120 rows: a steel of one mill in one thickness band."""
    rng = np.random.default_rng(10149)
    rows = [
        _steel_row(steel, mill, band, rng)
        for steel in STEELS
        for mill in _MILLS[steel.kind][: 1 if steel.desig in _SINGLE_SOURCE else None]
        for band in _bands(steel)
    ]
    _blank(rows, ("a80_pct", "si_pct", "p_max", "s_max", "mo_pct", "wnr", "gwp_kg"), 0.3, rng)
    for number, (row, stamp) in enumerate(zip(rows, _timestamps(len(rows), rng), strict=True), 1):
        row["upd_at"] = stamp
        row["mat_id"] = f"ST-{number:04d}"
    return tuple(rows)


@dataclass(frozen=True)
class Polymer:
    """Nominal values of a thermoplastic at room temperature, dry."""

    desig: str
    family: str
    filler: str | None
    percent: int | None
    density: float
    glass: int | None
    melting: int | None
    hdt: int | None
    modulus: float
    strength: float
    strain: float
    impact: float | None
    water: float | None
    burning: str | None
    footprint: float | None


THERMOPLASTICS = (
    Polymer("PP", "PP", None, None, 0.905, -10, 163, 57, 1.5, 32, 60, 4, 0.02, "HB", 1.65),
    Polymer("PP-T20", "PP", "talc", 20, 1.05, -10, 163, 72, 2.6, 30, 18, 3.5, 0.02, "HB", 1.72),
    Polymer("PP-T40", "PP", "talc", 40, 1.24, -10, 163, 80, 3.9, 29, 7, 2.5, 0.02, "HB", 1.5),
    Polymer(
        "PP-LGF40", "PP", "long glass", 40, 1.22, -10, 164, 156, 8.8, 112, 2.2, 22, 0.03, "HB", 2.4
    ),
    Polymer("PE-HD", "PE", None, None, 0.95, -110, 131, 48, 1.1, 26, 300, 12, 0.01, "HB", 1.8),
    Polymer("ABS", "ABS", None, None, 1.05, 104, None, 82, 2.3, 45, 15, 20, 0.3, "HB", 3.4),
    Polymer("ASA", "ASA", None, None, 1.07, 103, None, 84, 2.4, 48, 12, 14, 0.35, "HB", 3.6),
    Polymer("PC", "PC", None, None, 1.20, 147, None, 128, 2.4, 63, 90, 65, 0.15, "V-2", 4.9),
    Polymer("PC+ABS", "PC+ABS", None, None, 1.14, 118, None, 104, 2.4, 54, 60, 45, 0.2, "HB", 4.2),
    Polymer(
        "PC+ABS FR", "PC+ABS", None, None, 1.19, 110, None, 90, 2.7, 58, 40, 28, 0.2, "V-0", 4.8
    ),
    Polymer("PA6-GF30", "PA6", "glass", 30, 1.36, 55, 221, 205, 9.5, 180, 3.4, 13, 1.9, "HB", 6.1),
    Polymer(
        "PA66-GF35", "PA66", "glass", 35, 1.41, 70, 261, 250, 11.2, 205, 3.0, 14, 1.6, "HB", 6.4
    ),
    Polymer(
        "PA66-GF25 FR", "PA66", "glass", 25, 1.34, 70, 261, 242, 8.6, 140, 2.5, 10, 1.6, "V-0", 7.0
    ),
    Polymer(
        "PA66-GF50", "PA66", "glass", 50, 1.57, 70, 261, 254, 16.5, 245, 2.3, 16, 1.2, "HB", 6.0
    ),
    Polymer("PBT-GF30", "PBT", "glass", 30, 1.53, 55, 224, 206, 10.0, 135, 2.5, 9, 0.2, "HB", 4.6),
    Polymer("POM-C", "POM", None, None, 1.41, -60, 166, 100, 2.8, 64, 30, 6, 0.25, "HB", 3.2),
    Polymer("PPA-GF35", "PPA", "glass", 35, 1.47, 125, 310, 280, 12.5, 215, 2.3, 9, 0.8, "HB", 8.1),
    Polymer(
        "PPS-GF40", "PPS", "glass", 40, 1.66, 90, 281, 265, 14.8, 190, 1.8, 9, 0.03, "V-0", 6.9
    ),
    Polymer("PEEK", "PEEK", None, None, 1.30, 146, 343, 156, 3.7, 98, 35, 6, 0.1, "V-0", 20.0),
    Polymer("PMMA", "PMMA", None, None, 1.18, 108, None, 95, 3.2, 73, 5, 2, 0.3, "HB", 4.0),
)
ELASTOMERS = (
    ("EPDM 70", "EPDM", 1.12, -48, 70, 12.5, 320, 22, -47),
    ("EPDM 60", "EPDM", 1.10, -50, 60, 11.0, 400, 20, -49),
    ("NBR 75", "NBR", 1.24, -30, 75, 16.0, 280, 31, -27),
    ("HNBR 75", "HNBR", 1.21, -28, 75, 22.0, 260, 27, -24),
    ("FKM 75", "FKM", 1.86, -18, 75, 13.5, 210, 17, -16),
    ("VMQ 60", "VMQ", 1.18, -120, 60, 8.2, 380, 26, -58),
    ("AEM 65", "AEM", 1.28, -32, 65, 13.0, 330, 30, -29),
    ("CR 60", "CR", 1.35, -40, 60, 15.0, 350, 34, -36),
    ("NR 55", "NR", 1.11, -62, 55, 21.0, 520, 28, -55),
)
_TRADE = {
    "Tundra Polymer": "Tundramid",
    "Rhenoplast": "Rhenox",
    "Polibrac": "Brac",
    "Repolyn": "Repolyn",
}
_MELT_FLOW = {
    "PP": ("230 °C / 2.16 kg", 16.0),
    "PE": ("190 °C / 2.16 kg", 6.0),
    "ABS": ("220 °C / 10 kg", 22.0),
    "ASA": ("220 °C / 10 kg", 14.0),
    "PC": ("300 °C / 1.2 kg", 11.0),
    "PC+ABS": ("260 °C / 5 kg", 17.0),
    "POM": ("190 °C / 2.16 kg", 9.5),
    "PMMA": ("230 °C / 3.8 kg", 4.5),
}


def _thermoplastic_row(
    polymer: Polymer, maker: str, recycled: int | None, rng: np.random.Generator
) -> Row:
    factor = 1 + rng.normal(0, 0.03) - (0.06 if recycled else 0.0)
    melt = _MELT_FLOW.get(polymer.family)
    suffix = polymer.desig.partition("-")[2] or polymer.desig
    burning_rate = round(float(rng.uniform(18, 95))) if polymer.burning == "HB" else None
    footprint = polymer.footprint
    if recycled and footprint:
        footprint = (
            0.81
            if maker == "Repolyn" and (polymer.desig, recycled) == ("PP-T20", 60)
            else round(footprint * (1 - 0.0085 * recycled), 2)
        )
    return {
        "desig": polymer.desig,
        "fam": polymer.family,
        "trade": f"{_TRADE[maker]} {suffix}" + (f" R{recycled}" if recycled else ""),
        "suppl": maker,
        "fill": polymer.filler,
        "fill_pct": polymer.percent,
        "rho_gcm3": round(polymer.density * (1 + rng.normal(0, 0.003)), 3),
        "mfi": round(melt[1] * float(rng.uniform(0.5, 1.7)), 1) if melt else None,
        "mfi_cond": melt[0] if melt else None,
        "tg_c": polymer.glass if rng.random() < 0.7 else None,
        "tm_c": polymer.melting,
        "hdt_c": polymer.hdt and round(polymer.hdt + rng.normal(0, 2)),
        "e_gpa": round(polymer.modulus * factor, 1),
        "rm_mpa": round(polymer.strength * factor),
        "eb_pct": round(polymer.strain * (1 + rng.normal(0, 0.08)), 1),
        "cha_kjm2": polymer.impact and round(polymer.impact * (1 + rng.normal(0, 0.08)), 1),
        "wabs_pct": polymer.water if rng.random() < 0.6 else None,
        "shr_pct": round(float(rng.uniform(0.3, 1.8)), 1) if rng.random() < 0.45 else None,
        "ul94": polymer.burning,
        "br_mmmin": burning_rate if rng.random() < 0.6 else None,
        "cti_v": int(rng.choice([250, 400, 600])) if rng.random() < 0.3 else None,
        "rec_pct": recycled,
        "gwp_kg": footprint if recycled or rng.random() < 0.5 else None,
    }


@cache
def polymers() -> tuple[Row, ...]:
    """90 rows: thermoplastic compounds and elastomers."""
    rng = np.random.default_rng(3362)
    rows: list[Row] = []
    for polymer in THERMOPLASTICS:
        for maker in ("Tundra Polymer", "Rhenoplast", "Polibrac"):
            rows.append(_thermoplastic_row(polymer, maker, None, rng))
    for desig, recycled in (
        ("PP-T20", 60),
        ("PP-T20", 30),
        ("PP-T40", 50),
        ("PP", 85),
        ("PE-HD", 90),
        ("PC+ABS", 40),
        ("ABS", 70),
        ("PA6-GF30", 50),
        ("PA66-GF35", 35),
    ):
        polymer = next(one for one in THERMOPLASTICS if one.desig == desig)
        rows.append(_thermoplastic_row(polymer, "Repolyn", recycled, rng))
    for desig, family, density, glass, shore, strength, strain, compression, cold in ELASTOMERS:
        for maker in ("Kautsera", "Gummivarpa"):
            rows.append(
                {
                    "desig": desig,
                    "fam": family,
                    "suppl": maker,
                    "fill": "carbon black" if family not in ("VMQ",) else "silica",
                    "rho_gcm3": density,
                    "tg_c": glass if rng.random() < 0.5 else None,
                    "rm_mpa": round(strength * (1 + rng.normal(0, 0.05)), 1),
                    "eb_pct": round(strain * (1 + rng.normal(0, 0.06))),
                    "br_mmmin": round(float(rng.uniform(20, 75))) if family == "EPDM" else None,
                    "sha": shore + int(rng.integers(-2, 3)),
                    "cs_pct": round(compression + rng.normal(0, 3)),
                    "tr10_c": round(cold + rng.normal(0, 1)) if rng.random() < 0.8 else None,
                }
            )
    rows += [
        {
            "desig": f"TPV {shore}",
            "fam": "TPV",
            "suppl": maker,
            "rho_gcm3": 0.97,
            "rm_mpa": round(shore / 9.5, 1),
            "eb_pct": 420 + shore,
            "sha": shore,
            "cs_pct": compression,
            "hdt_c": None,
        }
        for shore, maker, compression in (
            (55, "Kautsera", 32),
            (73, "Gummivarpa", 38),
            (80, "Kautsera", 41),
        )
    ]
    _blank(rows, ("shr_pct", "cha_kjm2", "eb_pct", "tm_c", "hdt_c", "ul94"), 0.22, rng)
    for number, row in enumerate(rows, 1):
        row["pol_id"] = f"PL-{number:03d}"
    return tuple(rows)


@cache
def coatings() -> tuple[Row, ...]:
    """40 rows: fastener coatings, metal coatings and paints."""
    rng = np.random.default_rng(3120)
    rows: list[Row] = []
    fasteners = (
        ("Z96", "electroplated zinc", 5, 12, 0.12, 0.18, 72, 96, 100, "yes", None),
        (
            "ZN480",
            "zinc-nickel, transparent passivated",
            8,
            14,
            0.09,
            0.14,
            120,
            480,
            180,
            "yes",
            None,
        ),
        ("ZN720L", "zinc-nickel, black, sealed", 8, 15, 0.09, 0.14, 168, 720, 180, "yes", None),
        ("F720", "zinc flake, silver", 8, 12, 0.09, 0.14, 200, 720, 250, "no", 230),
        (
            "F1000L",
            "zinc flake, two coats, lubricated",
            10,
            18,
            0.09,
            0.14,
            240,
            1000,
            250,
            "no",
            230,
        ),
        ("F720B", "zinc flake, black top coat", 10, 16, 0.10, 0.16, 120, 720, 200, "no", 200),
        ("H45", "hot-dip galvanised", 45, 85, 0.14, 0.26, 240, 600, 200, "no", None),
    )
    makers = ("Hexalon", "Galvotek", "Lamellis", "Plattera")
    for sys, descr, low, high, mu_low, mu_high, white, red, heat, risk, cure in fasteners:
        offered = (
            makers[:3] if sys.startswith("F") else ("Zinkla",) if sys == "H45" else makers[1::2]
        )
        for maker in offered:
            rows.append(
                {
                    "sys": sys,
                    "descr": descr,
                    "suppl": maker,
                    "subst": "steel fastener",
                    "dft_min_um": low,
                    "dft_max_um": high,
                    "cure_c": cure and cure + int(rng.choice([0, 10, 20])),
                    "cure_min": cure and int(rng.choice([20, 25, 30])),
                    "mu_min": mu_low,
                    "mu_max": mu_high,
                    "nss_wr_h": white,
                    "nss_rr_h": red,
                    "t_max_c": heat,
                    "he_rsk": risk,
                    "crvi": "no",
                    "rel_st": "withdrawn" if (sys, maker) == ("F1000L", "Lamellis") else "released",
                }
            )
    for sys, descr, mass, maker in (
        ("Z100", "hot-dip zinc, 100 g/m² both sides", 100, "Östersjö Coil"),
        ("Z140", "hot-dip zinc, 140 g/m² both sides", 140, "Östersjö Coil"),
        ("Z275", "hot-dip zinc, 275 g/m² both sides", 275, "Kymistål"),
        ("ZM90", "zinc-magnesium, 90 g/m² both sides", 90, "Östersjö Coil"),
        ("ZM100", "zinc-magnesium, 100 g/m² both sides", 100, "Östersjö Coil"),
        ("ZM140", "zinc-magnesium, 140 g/m² both sides", 140, "Östersjö Coil"),
        ("ZM140", "zinc-magnesium, 140 g/m² both sides", 140, "Kymistål"),
        ("ZE50", "electrolytic zinc, 50 g/m² each side", 100, "Kymistål"),
        ("AS150", "aluminium-silicon, 150 g/m² both sides", 150, "Kymistål"),
    ):
        density = {"AS": 2.8, "ZM": 6.9}.get(sys[:2], 7.14)
        rows.append(
            {
                "sys": sys,
                "descr": descr,
                "suppl": maker,
                "subst": "steel sheet",
                "dft_min_um": round(mass / 2 / density, 1),
                "aw_gm2": mass,
                "t_max_c": 600 if sys == "AS150" else None,
                "crvi": "no",
                "rel_st": "withdrawn" if sys == "ZE50" else "released",
            }
        )
    for sys, descr, low, high, bake, minutes, voc, gloss, maker in (
        ("EC-L165", "electrodeposited primer, low bake", 18, 24, 165, 15, 15, None, "Lackrona"),
        (
            "EC-S175",
            "electrodeposited primer, standard bake",
            18,
            24,
            175,
            20,
            35,
            None,
            "Lackrona",
        ),
        (
            "EC-T160",
            "electrodeposited primer, high edge cover",
            20,
            30,
            160,
            20,
            20,
            None,
            "Epoxima",
        ),
        ("PR-W2", "water-borne surfacer, grey", 30, 40, 150, 20, 140, None, "Lackrona"),
        ("TC-S5", "solid top coat, two-component", 40, 55, 85, 30, 390, 88, "Lackrona"),
        ("TC-S7", "solid top coat, high solids", 40, 50, 80, 30, 310, 90, "Epoxima"),
        ("CC-H2", "clear coat, scratch resistant", 40, 50, 140, 22, 360, 92, "Epoxima"),
        ("FP-1K", "frame paint, water-borne, grey", 50, 80, 80, 40, 95, 35, "Lackrona"),
        ("FP-2K", "frame paint, epoxy two-layer", 90, 120, 80, 45, 240, 40, "Epoxima"),
        ("PW-G1", "powder coat for brackets", 60, 100, 190, 15, 0, 60, "Epoxima"),
        ("BD-G1", "zinc flake paint for brake disc hubs", 8, 15, 230, 20, 420, None, "Hexalon"),
        ("BC-M4", "metallic base coat, water-borne", 12, 18, 80, 6, 150, None, "Lackrona"),
        ("CC-M1", "matt clear coat", 40, 50, 140, 25, 380, 22, "Epoxima"),
        ("ST-P2", "stone chip protection, PVC-free", 200, 400, 150, 25, 30, None, "Epoxima"),
        ("CW-3", "cavity wax", 30, 200, None, None, 60, None, "Lackrona"),
    ):
        rows.append(
            {
                "sys": sys,
                "descr": descr,
                "suppl": maker,
                "subst": "cast iron"
                if sys == "BD-G1"
                else "steel body"
                if sys[:2] != "FP"
                else "frame",
                "dft_min_um": low,
                "dft_max_um": high,
                "cure_c": bake,
                "cure_min": minutes,
                "crvi": "no",
                "voc_gl": voc,
                "gloss60": gloss,
                "rel_st": {"EC-S175": "phasing out", "FP-2K": "trial"}.get(sys, "released"),
            }
        )
    for number, row in enumerate(rows, 1):
        row["coat_id"] = f"CO-{number:03d}"
    return tuple(rows)


@cache
def fatigue_tests() -> tuple[Row, ...]:
    """256 rows: sixteen specimens of each series, run-outs at ten million cycles."""
    rng = np.random.default_rng(2017)
    rows: list[Row] = []
    scatter = {"machined": 0.10, "ground": 0.11, "laser cut": 0.13, "sheared": 0.16}
    roughness = {"machined": 6, "ground": 3, "laser cut": 31, "sheared": 88, "punched hole": 74}
    hardness = {"machined": 268, "laser cut": 402, "sheared": 361, "punched hole": 372}
    stress = {"machined": -40, "laser cut": 110, "sheared": 245, "punched hole": 280}
    for place, series in enumerate(FATIGUE_SERIES):
        thick = 8.0 if series.grade == "S700MC" else 20.0 if series.grade[0] in "4C" else 9.0
        steel = next(
            row
            for row in steel_grades()
            if row["desig"] == series.grade and float(str(row["t_max_mm"])) >= thick
        )
        deviation = scatter.get(series.surface, 0.18)
        for number in range(series.tests):
            share = (number // 2) / (series.tests / 2 - 1)
            top = series.strength_mpa * (2e6 / 3e4) ** (1 / series.slope)
            amplitude = round(top + (0.94 * series.strength_mpa - top) * share)
            cycles = series.cycles(amplitude) * 10 ** rng.normal(0, deviation)
            if amplitude < series.strength_mpa and series.environment == "air":
                cycles *= 6
            runout = cycles > 1e7
            rows.append(
                {
                    "test_id": len(rows) + 1,
                    "spec_no": f"{series.label or chr(72 + place)}{number + 1:02d}",
                    "mat_id": steel["mat_id"],
                    "desig": series.grade,
                    "surf": series.surface,
                    "t_mm": thick,
                    "rz_um": roughness.get(series.surface) if number % 4 == 0 else None,
                    "hv": hardness.get(series.surface)
                    if number % 8 == 0 and thick == 8.0
                    else None,
                    "rs_mpa": stress.get(series.surface)
                    if number % 8 == 0 and thick == 8.0
                    else None,
                    "r_ratio": series.stress_ratio,
                    "sa_mpa": amplitude,
                    "nf": 10_000_000 if runout else int(round(cycles, -2)),
                    "f_hz": int(rng.choice([18, 20, 25])) if series.environment == "air" else 5,
                    "temp_c": int(rng.integers(19, 25)) if rng.random() < 0.3 else None,
                    "env": series.environment,
                    "runout": int(runout),
                    "orig": None if runout or rng.random() < 0.45 else _origin(series, number, rng),
                    "rerun_mpa": round(series.strength_mpa * 1.3)
                    if runout and (series.label or rng.random() < 0.6)
                    else None,
                }
            )
    return tuple(rows)


def _origin(series: FatigueSeries, number: int, rng: np.random.Generator) -> str:
    """Where the crack started; two of the dressed welds broke from the root."""
    places = {
        "sheared": ("burr side", "fracture zone"),
        "punched hole": ("hole, exit side",),
        "laser cut": ("edge corner", "drag line"),
        "butt weld": ("weld toe",),
        "butt weld, TIG dressed": ("weld root",) if number in (1, 6) else ("weld toe",),
    }
    return str(rng.choice(places.get(series.surface, ("surface", "corner"))))


@cache
def corrosion_tests() -> tuple[Row, ...]:
    """120 rows: salt spray of fasteners and cyclic tests of painted panels."""
    rng = np.random.default_rng(9310)
    by_system = {(row["sys"], row["suppl"]): row for row in coatings()}
    rows: list[Row] = []
    for result in FASTENER_RESULTS:
        coating = by_system[result.system, result.supplier]
        rows.append(
            {
                "coat_id": coating["coat_id"],
                "sys": result.system,
                "suppl": result.supplier,
                "obj": "screw M12 x 60",
                "meth": "NSS",
                "dur_h": result.red_rust_h,
                "dft_um": round(float(str(coating["dft_min_um"])) + rng.uniform(1.5, 3.5), 1),
                "wr_h": result.white_rust_h,
                "rr_h": result.red_rust_h,
                "mu_tot": result.friction,
                "res": "pass" if result.passed else "fail",
                "lab": "Borås",
            }
        )
    fasteners = [row for row in coatings() if row["subst"] == "steel fastener"]
    for number in range(54):
        coating = fasteners[number % len(fasteners)]
        limit = int(str(coating["nss_rr_h"]))
        hours = int(limit * float(rng.lognormal(0.22, 0.2)) / 24) * 24
        friction = round(float(rng.normal(0.117 if coating["t_max_c"] != 100 else 0.155, 0.008)), 3)
        rows.append(
            {
                "coat_id": coating["coat_id"],
                "sys": coating["sys"],
                "suppl": coating["suppl"],
                "obj": str(
                    rng.choice(["screw M10 x 45", "screw M14 x 80", "nut M12", "washer 13"])
                ),
                "meth": "NSS",
                "dur_h": hours,
                "dft_um": round(
                    float(str(coating["dft_min_um"])) * float(rng.uniform(1.05, 1.4)), 1
                ),
                "wr_h": max(24, int(hours * 0.28 / 24) * 24) if rng.random() < 0.6 else None,
                "rr_h": hours,
                "mu_tot": friction if rng.random() < 0.35 else None,
                "res": "pass" if hours >= limit else "fail",
                "lab": str(rng.choice(["Borås", "Skövde"])),
            }
        )
    panels = (
        ("ZM100 + EC-L165", "door panel", 1.4, "A"),
        ("Z100 + EC-S175", "door panel", 2.2, "A"),
        ("ZM140 + EC-L165", "floor panel", 1.7, "B"),
        ("ZM140 + EC-T160", "floor panel", 1.3, "B"),
        ("ZE50 + EC-S175", "door panel", 3.1, "A"),
        ("FP-1K", "frame section", 4.6, "frame"),
    )
    codes = {str(row["sys"]): str(row["coat_id"]) for row in coatings()}
    for number in range(60):
        system, part, creep, zone = panels[number % len(panels)]
        weeks = (6, 8)[(number // 6) % 2]
        mean = round(creep * (weeks / 8) ** 0.8 * float(rng.lognormal(0, 0.18)), 1)
        limit_mm = {"A": {6: 3.0, 8: 2.0}, "B": {6: 4.0, 8: 3.0}, "frame": {6: 6.0, 8: 8.0}}[zone]
        rows.append(
            {
                "coat_id": codes[system.partition(" + ")[0]],
                "sys": system,
                "suppl": "Epoxima" if "T160" in system else "Lackrona",
                "obj": part,
                "meth": "NHS 9310",
                "dur_wk": weeks,
                "dft_um": round(float(rng.normal(65 if zone == "frame" else 21.5, 1.4)), 1),
                "creep_mm": mean,
                "blist": str(rng.choice(["0 (S0)", "0 (S0)", "2 (S2)"]))
                if rng.random() < 0.7
                else None,
                "adh_cls": int(rng.choice([0, 0, 1])) if rng.random() < 0.5 else None,
                "chip": round(float(rng.uniform(1.5, 3.2)) * 2) / 2 if zone == "A" else None,
                "edge_pct": round(float(rng.uniform(1, 14))) if rng.random() < 0.6 else None,
                "res": "pass" if mean <= limit_mm[weeks] else "fail",
                "lab": str(rng.choice(["Borås", "Skövde", "external"])),
            }
        )
    start = datetime(2021, 2, 1)
    days = np.sort(rng.integers(0, 1250, len(rows)))
    order = [*range(6, len(rows)), *range(6)]
    dated: list[Row] = []
    for day, index in zip(days, order, strict=True):
        rows[index]["end_dt"] = (start + timedelta(days=int(day))).date().isoformat()
        dated.append(rows[index])
    for number, row in enumerate(dated, 4101):
        row["test_no"] = number
    return tuple(dated)


@cache
def suppliers() -> tuple[Row, ...]:
    """25 rows."""
    rng = np.random.default_rng(25)
    declared = {
        "Fjällstål": "NVD-EPD-0412",
        "Östersjö Coil": "NVD-EPD-0388",
        "Repolyn": "NVD-EPD-0457",
        "Gjutvik": "NVD-EPD-0431",
    }
    rows: list[Row] = []
    for number, supplier in enumerate(SUPPLIERS, 1):
        bulk = "steel" in supplier.category or "sheet" in supplier.category
        grade = str(rng.choice(["A", "A", "B", "B", "C"])) if rng.random() < 0.8 else None
        rows.append(
            {
                "suppl_id": 500 + number,
                "suppl": supplier.short,
                "nm_full": supplier.name,
                "ctry": supplier.country,
                "town": supplier.town,
                "cat": supplier.category,
                "iatf_until": f"{2025 + int(rng.integers(0, 3))}-{int(rng.integers(1, 13)):02d}-28"
                if rng.random() < 0.75
                else None,
                "iso14001_until": f"{2025 + int(rng.integers(0, 3))}-"
                f"{int(rng.integers(1, 13)):02d}-15"
                if rng.random() < 0.6
                else None,
                "epd_no": declared.get(supplier.short),
                "lt_wk": int(rng.integers(3, 17)),
                "moq_t": float(rng.choice([5, 10, 20, 25])) if bulk else None,
                "ppm_12m": int(rng.lognormal(3.2, 1.1)) if rng.random() < 0.7 else None,
                "otd_pct": round(float(rng.uniform(86, 99.8)), 1) if rng.random() < 0.8 else None,
                "aud_grd": grade,
                "aud_dt": f"{int(rng.integers(2021, 2025))}-{int(rng.integers(1, 13)):02d}-"
                f"{int(rng.integers(1, 28)):02d}"
                if grade
                else None,
            }
        )
    return tuple(rows)


def all_tables() -> dict[str, tuple[Row, ...]]:
    """The rows of every table, in the order of `SCHEMA`."""
    return {
        "suppliers": suppliers(),
        "steel_grades": steel_grades(),
        "polymers": polymers(),
        "coatings": coatings(),
        "fatigue_tests": fatigue_tests(),
        "corrosion_tests": corrosion_tests(),
    }


def columns(table: str) -> list[str]:
    """Column names of a table in their order."""
    return [part.split()[0] for part in " ".join(SCHEMA[table].split()).split(", ")]


def write_all(path: Path) -> None:
    """Write the SQLite file anew."""
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA page_size = 4096")
    connection.execute("PRAGMA journal_mode = OFF")
    for table, rows in all_tables().items():
        connection.execute(f"CREATE TABLE {table} ({SCHEMA[table]})")
        names = columns(table)
        marks = ", ".join("?" * len(names))
        for row in rows:
            unknown = set(row) - set(names)
            if unknown:
                raise KeyError(f"{table}: {sorted(unknown)}")
            connection.execute(
                f"INSERT INTO {table} VALUES ({marks})", [row.get(name) for name in names]
            )
    connection.commit()
    connection.execute("VACUUM")
    connection.close()
