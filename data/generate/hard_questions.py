"""Twenty harder questions on documents: asked in other words, or in the other language.

Whoever asks has not read the document: hardly a word of a question stands beside its answer, most
answers are a detail of a long text, and several documents say something alike. They are a file of
their own, so that what was measured with `questions.jsonl` stays comparable.
"""

# ruff: noqa: RUF001

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from generate import questions
from generate.questions import ask

if TYPE_CHECKING:
    from pathlib import Path

HARD_QUESTIONS = (
    ask(
        "en",
        "May I fix a light-metal bracket low down on the truck with bolts that do not rust?",
        "no: only above the frame, with an insulating washer",
        (questions.FASTENERS, 1, "Stainless screws in aluminium are allowed only above the frame"),
    ),
    ask(
        "en",
        "How soon must strong bolts go into the oven once they come out of the bath?",
        "within four hours",
        (questions.FASTENERS, 1, "the baking starts within four hours after plating"),
    ),
    ask(
        "sv",
        "Varför räcker det inte att lacka bara den sida som rostar lättast när två metaller möts?",
        "varje repa rostar då snabbt",
        (questions.GUIDELINE, 4, "Painting only the less noble side makes things worse"),
    ),
    ask(
        "en",
        "Why is a big black fibre shell held by small light-metal pins the wrong way round?",
        "the large noble surface eats the small less noble one",
        (
            questions.GUIDELINE,
            4,
            "A large noble surface with a small less noble one is the worst case",
        ),
    ),
    ask(
        "sv",
        "Hur länge får man räkna med att vänta innan ett helt nytt gummi får användas?",
        "upp till arton månader",
        (questions.GUIDELINE, 1, "a new elastomer or coating up to eighteen"),
    ),
    ask(
        "en",
        "How wide is the soft strip beside each seam of the tray that carries the cells?",
        "20 mm on each side",
        (questions.GUIDELINE, 4, "over a width of 20 mm on each side of the weld"),
    ),
    ask(
        "en",
        "Why do hollow tubes need openings before they are dipped?",
        "steam may burst them",
        (questions.GUIDELINE, 3, "since steam may burst a closed section in the bath"),
    ),
    ask(
        "en",
        "What is it worth over the years to make a truck a kilo lighter?",
        "3.20 euro",
        (
            questions.GUIDELINE,
            2,
            "each kilogram saved is worth 3.20 euro over the life of the truck",
        ),
    ),
    ask(
        "en",
        "What becomes of the used-packaging material when cars' hidden covers are thrown away?",
        "70 % burnt, 25 % recycled, 5 % landfill",
        (questions.EPD_PP, 1, "70 % is burnt with energy recovery"),
    ),
    ask(
        "sv",
        "Hur mycket smutsigare blir varan om gjuteriet köper vanlig el i stället för sin egen?",
        "38,9 kg CO2e per skiva",
        (questions.EPD_DISC, 2, "raises A1–A3 to 38.9 kg CO2e per disc"),
    ),
    ask(
        "en",
        "How little would a tonne emit once coal is no longer needed to make the iron?",
        "410 kg CO2e",
        (questions.EPD_STRIP, 2, "is expected at 410 kg CO2e per tonne"),
    ),
    ask(
        "sv",
        "Duger ett produktblad från 2017 fortfarande som underlag?",
        "nej, högst fem år",
        (questions.READING, None, "sheets older than five years are not accepted"),
    ),
    ask(
        "sv",
        "Varför kan man inte ställa förlängning på tunnplåt mot förlängning på rund stav?",
        "de mäts över olika längder",
        (questions.READING, None, "A5 is measured over five diameters and A80 over 80 mm"),
    ),
    ask(
        "en",
        "What made people worry about how plates are trimmed in the first place?",
        "three rails cracked in the shaker rig",
        (questions.FATIGUE, 1, "three rails cracked at sheared edges in the shaker rig"),
    ),
    ask(
        "en",
        "How much endurance is left if bare parts rust for two months before they are loaded?",
        "142 MPa",
        (questions.FATIGUE, 4, "gave 142 MPa at two million cycles"),
    ),
    ask(
        "sv",
        "Hur mycket vinner man på att slå på kanten med små kulor?",
        "22 % i tre prov",
        (questions.FATIGUE, 4, "gave a gain of 22 % for three specimens"),
    ),
    ask(
        "en",
        "What saves money on every driver's compartment now that thresholds are left unwaxed?",
        "38 kronor",
        (questions.MEMO, None, "sparas samtidigt 38 kronor per hytt"),
    ),
    ask(
        "en",
        "How often do the tips have to be dressed after the switch to the thicker layer?",
        "every 220 spots",
        (questions.MEMO, None, "elektroderna måste formeras efter 220 punkter"),
    ),
    ask(
        "en",
        "Oil drips past the lip after part of a day on the rig: where should I look?",
        "at the parting line of the tool",
        (questions.TESTING, None, "kontrollera verktygets delning"),
    ),
    ask(
        "en",
        "Why does a collision look too harmless when numbers of ordinary metal are borrowed?",
        "they make high-strength steel far too strong",
        (questions.CARDS, None, "they make high-strength steel far too strong in a crash"),
    ),
)


def write_all(path: Path) -> None:
    """Write hard_questions.jsonl."""
    records = (
        questions.document_record(f"demo-hard-{number:03d}", asked, split="test")
        for number, asked in enumerate(HARD_QUESTIONS, 1)
    )
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
