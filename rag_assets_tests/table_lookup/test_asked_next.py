"""What people ask of plain tables whose columns have the names of a database, and no headings."""

from collections.abc import Mapping, Sequence

import pytest

from rag_assets.citations.kinds import Computed
from rag_assets.table_lookup.looking_up import look_up
from rag_assets.table_lookup.sentences.retelling import is_told
from rag_assets.table_lookup.tables.catalogue import TableContents
from rag_assets.table_lookup.tables.headings import words_and_unit
from rag_assets.table_lookup.verifying import verify_again
from rag_assets.tables.headings import humanised
from rag_assets_tests.table_lookup.beams import catalogue, contents

NAMES = ("Ahl", "Berg", "Ceder", "Dahl", "Ekman", "Falk")


def table(name: str, title: str, columns: Mapping[str, Sequence[object]]) -> TableContents:
    texts = {
        column: [None if value is None else str(value) for value in values]
        for column, values in columns.items()
    }
    headings = {column: humanised(column) for column in columns}
    return contents(texts, table=name, title=title, hidden=(), headings=headings)


ORDERS = table(
    "purchase_orders",
    "purchase orders",
    {
        "order_no": range(1, 31),
        "supplier": [NAMES[n % 5] for n in range(1, 31)],
        "amount_sek": [99000 if n == 16 else 100 + 7 * n for n in range(1, 31)],
        "closed_on": [None if n % 5 == 0 else f"2025-1{n % 3}-05" for n in range(1, 31)],
        "country": [("SE", "DE", "PL")[n % 3] for n in range(1, 31)],
    },
)
MATERIALS = table(
    "materials",
    "materials",
    {
        "material": ["6082", "5083", "7075-T6", "2024"],
        "gwp_kg": [8.1, 7.9, 9.2, 9.0],
        "rm_mpa": [310, 275, 572, 470],
        "price per kg": [3.1, 3.3, 5.2, 4.9],
        "leadTimeDays": [10, 12, 30, 21],
        "certified": ["yes", None, "yes", None],
    },
)
BRIDGES = table(
    "bridges",
    "bridges",
    {
        "bridge": ["Alpha", "Beta", "Gamma", "Delta"],
        "load_kN": [800, 900, 1200, None],
        "span_m": [30, 45, 60, 25],
        "energy_kwh": [5, 6, 7.5, 8],
    },
)
PLANTS = table(
    "plants",
    "plants",
    {
        "plant": ["Oslo", "Turku", "Riga"],
        "emissions_2023": [120, 80, 60],
        "emissions_2024": [100, 90, 60],
    },
)
SCANNERS = table(
    "scanners",
    "scanners and their support",
    {
        "scanner": ["fi-7160", "DR-C225", "NV-65"],
        "support_status": ["complete", "good", "unsupported"],
        "valid_from": ["2024-01-01", "2024-06-01", "2025-01-01"],
        "valid_until": ["2024-12-31", "2026-01-31", "2025-06-30"],
    },
)
HELD = catalogue(ORDERS, MATERIALS, BRIDGES, PLANTS, SCANNERS)


@pytest.mark.parametrize(
    ("name", "words", "unit"),
    [
        ("gwp_kg", "gwp", "kg"),
        ("rm_mpa", "rm", "MPa"),
        ("load_kN", "load", "kN"),
        ("energy_kwh", "energy", "kWh"),
        ("amount_sek", "amount", "SEK"),
        ("leadTimeDays", "lead time", "days"),
        ("price_eur_per_kg", "price", "EUR/kg"),
        ("density_kg_m3", "density", "kg/m3"),
        ("temp_c", "temp", "degC"),
        ("price per kg", "price per kg", None),
        ("cost by unit", "cost by unit", None),
        ("class_a", "class a", None),
        ("delivery_year", "delivery year", None),
        ("temp_min", "temp min", None),
        ("price_all", "price all", None),
        ("gloss at 60 degrees", "gloss at 60 degrees", None),
    ],
)
def test_a_name_is_words_and_a_unit_or_currency(name, words, unit):
    assert words_and_unit(humanised(name), is_numeric=True) == (words, unit)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Which supplier has the highest amount?", "supplier Berg; amount 99000 SEK."),
        ("What is the total amount of all purchase orders?", "is 105043 SEK, from 30 rows."),
        ("Which bridges have a load above 1000 kN?", "Gamma: load 1200 kN."),
        (
            "What is the load of the bridge with the highest span?",
            "Gamma: load 1200 kN; span m 60.",
        ),
        ("What is the price per kg of 7075-T6?", "7075-T6: price per kg 5.2."),
        ("What is the lead time of 5083?", "5083: lead time 12 days."),
        ("What is the GWP of 6082?", "6082: gwp 8.1 kg."),
        ("What is the median amount?", "The median amount is 212 SEK, from 30 rows."),
        ("How many different suppliers are there?", "has 5 different values of supplier."),
        ("What are the 2 largest amounts?", "order no 30: amount 310 SEK."),
        ("Which are the top 2 purchase orders by amount?", "order no 30: amount 310 SEK."),
        ("How many purchase orders are there per supplier?", "6 rows where supplier is Dahl."),
        ("Which purchase orders have no closed on date?", "6 rows where closed on is empty"),
        ("Which materials are not certified?", "2024: material 2024."),
        ("How many purchase orders are from Sweden?", "10 rows where country is SE."),
        ("Hur många purchase orders kommer från Tyskland?", "10 rader där country är DE."),
        ("Is NV-65 supported?", "NV-65: support status unsupported."),
        (
            "What is the change in emissions from 2023 to 2024 for Oslo?",
            "The change from emissions 2023 to emissions 2024 is -20, from 120 to 100 (Oslo).",
        ),
        ("By how many percent did emissions change from 2023 to 2024 in Turku?", "is 12.5 %, "),
        ("Compare 6082 and 7075-T6", "7075-T6: gwp 9.2 kg; rm 572 MPa; price per kg 5.2;"),
        ("A replacement for 7075-T6 with lower gwp", "2024: gwp 9 kg."),
        ("Which scanners were valid on 2024-07-01?", "DR-C225: valid from 2024-06-01. fi-7160: "),
    ],
)
def test_what_people_ask_is_computed_and_its_words_are_proven(question, told):
    found = look_up(question, HELD)
    assert found.outcome == "answered", found.reason
    assert told in " ".join(sentence.text for sentence in found.sentences)
    for sentence in found.sentences:
        assert is_told(sentence.text, sentence.citations), sentence.text
        for citation in sentence.citations:
            assert not isinstance(citation, Computed) or verify_again(citation, HELD) == "same"


def test_rows_side_by_side_leave_out_what_is_empty_in_both():
    cells = {"alloy": ["K20", "K35"], "hardness": [120, 140], "density": [None, None]}
    held = catalogue(table("alloys", "alloys", cells))
    found = look_up("Compare K20 and K35", held)
    assert found.outcome == "answered", found.reason
    told = " ".join(sentence.text for sentence in found.sentences)
    assert "K20: hardness 120" in told
    assert "density" not in told
    named = look_up("Compare the density of K20 and K35", held)
    assert named.outcome == "refused", "it asks for just that"


@pytest.mark.parametrize(
    "question",
    [
        "Which purchase orders are still open?",
        "How much did emissions change from 2023 to 2024?",
        "Which supplier has fi-7160 ink?",
    ],
)
def test_what_is_not_sure_is_refused(question):
    assert look_up(question, HELD).outcome in ("refused", "none")


@pytest.mark.parametrize(
    ("question", "suggestion"),
    [
        ("What is the total cost of all purchase orders?", "What is the total amount?"),
        ("Which bridge is the strongest?", "What is the highest load?"),
        ("What is the average weight of the bridges?", "What is the average load?"),
        ("How many orders did Greenland place?", "How many rows of purchase orders are there?"),
    ],
)
def test_a_refused_operation_says_which_question_would_work(question, suggestion):
    found = look_up(question, HELD)
    assert (found.outcome, found.suggestion) == ("refused", suggestion)
    assert found.reason.endswith(f'ask for example "{suggestion}"')
    assert look_up(found.suggestion, HELD).outcome == "answered"


def test_no_operation_has_no_suggestion():
    assert look_up("Where is the office?", HELD).suggestion == ""


def test_a_name_in_some_cell_is_never_said_to_be_absent():
    found = look_up("Which maker has the scanner fi7160X?", HELD)
    assert "no table has fi7160X" in found.reason
    found = look_up("Which maker has the scanner fi-71?", HELD)
    assert "fi-7160 stands in scanners and their support, scanner" in found.reason


def test_a_group_list_says_when_it_is_not_complete():
    many = table(
        "visits", "visits", {"visit": range(30), "town": [f"Town {n % 15}" for n in range(30)]}
    )
    found = look_up("How many visits are there per town?", catalogue(many))
    first, *rest = [sentence.text for sentence in found.sentences]
    assert first == "visits has 15 different values of town; the first 10 follow."
    assert len(rest) == 10


def test_validity_is_not_told_where_an_end_may_be_missing():
    columns = {
        "scanner": ["fi-1", "fi-2"],
        "valid_from": ["2024-01-01", "2024-06-01"],
        "valid_until": [None, "2024-12-31"],
    }
    held = catalogue(table("scanners", "scanners", columns))
    assert look_up("Which scanners were valid on 2024-07-01?", held).outcome == "refused"
