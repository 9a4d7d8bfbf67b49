"""Questions to tables: their rows, their words, and what an edit changes."""

import re
from decimal import Decimal
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.config import Config, GlossaryEntry
from rag_assets.questions.from_tables import NOTHING, contents_at, table_inputs, tables_made
from rag_assets.questions.table_plans import KINDS, round_between
from rag_assets.retrieval.glossary import Glossary
from rag_assets.store import Store
from rag_assets.tables.table_rows import refresh_rows
from rag_assets_tests.questions.asked_tables import (
    HEADINGS,
    STEELS,
    TABLE,
    drafts_of,
    keys_of,
    questions_of,
    steels,
)
from rag_assets_tests.tables.exported_tables import write_table

SWEDISH = Glossary(
    1.0,
    [
        GlossaryEntry(term=term, synonyms=[other], language="sv")
        for term, other in [
            ("sträckgräns", "yield strength"),
            ("densitet", "density"),
            ("leverantör", "supplier"),
            ("stål", "steel designation"),
            ("stålsorter", "steel grades"),
        ]
    ],
)
TEXTS = st.sampled_from(["Alfa", "alfa ", "Beta", "Gåva å", "C-3", "D: 4", "", "  "])
NUMBERS = st.decimals(-50, 50, places=1, allow_nan=False).map(str)


def fulfilled(columns, condition, place):
    """Whether a row fulfils a condition, by the texts of its cells alone."""
    cell = columns[condition.column][place]
    if cell is None or not cell.strip():
        return False
    value = condition.values[0]
    if isinstance(value, str):
        return " ".join(cell.casefold().split()) in [
            " ".join(str(each).casefold().split()) for each in condition.values
        ]
    number = Decimal(cell)
    return {
        "=": number == value,
        ">": number > value,
        ">=": number >= value,
        "<": number < value,
        "<=": number <= value,
        "in": number in condition.values,
    }[condition.op]


def selected(columns, keys, plan):
    """The rows of a plan, found by another way than the plan's own."""
    places = [
        at for at in range(len(keys)) if all(fulfilled(columns, one, at) for one in plan.where)
    ]
    if plan.order_by:
        filled = [at for at in places if (columns[plan.order_by][at] or "").strip()]
        filled.sort(key=lambda at: Decimal(columns[plan.order_by][at]), reverse=plan.descending)
        places = filled[: plan.limit]
    return {keys[at] for at in places}


@given(st.lists(st.tuples(TEXTS, TEXTS, st.none() | NUMBERS, NUMBERS), min_size=1, max_size=25))
def test_gold_is_the_rows_that_another_filter_finds(rows):
    name, mill, density, strength = ([row[at] for row in rows] for at in range(4))
    keys = [f"k{number}" for number in range(len(rows))]
    columns = {"id": keys, "desig": name, "suppl": mill, "rho": density, "rp02_mpa": strength}
    made = questions_of(steels(columns), rows=5, draws=10)
    for each in made:
        assert each.plan is not None
        assert keys_of(each) == selected(columns, keys, each.plan)
        assert 1 <= len(each.gold) <= 5
    results = [(frozenset(keys_of(each)), each.plan.columns, each.plan.operation) for each in made]
    assert len(results) == len(set(results))


def test_a_table_gives_all_kinds_of_questions_in_their_words():
    made = questions_of(steels(), draws=40)
    assert {each.kind for each in made} == set(KINDS)
    for each in made:
        assert each.question.endswith(("?", "."))
        assert not re.search(r"[{}_]|rp02|suppl\b|desig\b|salary|S0\d\d|[Nn]one|nan", each.question)
        assert "salary" not in f"{each.plan}"
        assert each.answer


def test_questions_are_in_the_languages_in_turn():
    made = questions_of(steels(), "en", "sv", glossary=SWEDISH, draws=40)
    of_swedish = [each.question for each in made if each.language == "sv"]
    assert 0.4 < len(of_swedish) / len(made) < 0.6
    for question in of_swedish:
        assert re.match("Vad|Ange|Lista|Vilka|Vilket|Hur många", question)
        assert not re.search("yield|strength|density|supplier|steel", question)


def test_the_order_of_rows_does_not_matter():
    turned = {name: cells[::-1] for name, cells in TABLE.items()}
    assert questions_of(steels()) == questions_of(steels(turned))


def test_fewer_draws_give_the_first_of_more():
    made = questions_of(steels(), draws=20)
    assert questions_of(steels(), draws=7) == made[:7]


def test_one_edited_row_changes_few_questions():
    edited = TABLE | {"rp02_mpa": [*TABLE["rp02_mpa"][:-1], "333"]}
    before, after = questions_of(steels(), draws=30), questions_of(steels(edited), draws=30)
    same = {each.question for each in before} & {each.question for each in after}
    assert len(same) >= 0.7 * len(before)


def test_a_named_row_is_one_row_by_what_the_question_says():
    twice = TABLE | {"desig": [*STEELS[:15], *STEELS[:15]]}
    made = [each for each in questions_of(steels(twice), draws=60) if each.kind == "look_up"]
    assert made
    for each in made:
        assert len(each.gold) == 1
        assert len(each.plan.where) == 2
        assert " with " in each.question


def test_hidden_columns_are_neither_shown_nor_asked():
    for each in drafts_of(steels(), draws=60):
        assert "salary" not in f"{each.question} {each.plan} {each.answer}"
        assert "record number" not in each.question


def test_blank_cells_answer_nothing():
    blanks = TABLE | {"rho": [None, " ", "nan", *TABLE["rho"][3:]]}
    for each in questions_of(steels(blanks), draws=60):
        assert not keys_of(each) & {"S000", "S001", "S002"} or "density" not in each.question


def test_a_table_with_raw_names_alone_says_what_to_do():
    raw = {"id": ["1", "2", "3"], "rm_mpa": ["4", "5", "6"], "cnd": ["a", "a", "b"]}
    [left] = drafts_of(steels(raw, headings={}, hidden=("id",)))
    assert left.question == "rm_mpa, cnd"
    assert "only the column's name: write it in words" in left.left_out


@pytest.mark.parametrize(
    "columns",
    [
        {"id": ["1"], "desig": ["K10"], "rp02_mpa": ["200"]},
        {"id": ["1", "2"], "suppl": ["Mill", "Mill"], "rp02_mpa": ["200", "200"]},
        {"id": ["1", "2", "3"], "suppl": [None, None, None]},
    ],
)
def test_a_table_that_has_nothing_to_ask_says_so(columns):
    [left] = drafts_of(steels(columns))
    assert left.left_out == NOTHING
    assert left.gold == ()


def test_a_table_of_texts_alone_is_asked():
    texts = {name: TABLE[name] for name in ("id", "desig", "suppl")}
    made = questions_of(steels(texts))
    assert {each.kind for each in made} <= {"look_up", "list", "count", "two_conditions"}
    assert len(made) > 3


def test_many_columns_are_asked_for():
    heading = [
        "carbon",
        "iron",
        "copper",
        "nickel",
        "zinc",
        "lead",
        "tin",
        "silver",
        "gold",
        "iron",
    ]
    names = [f"c{number}" for number in range(60)]
    wide = {"id": TABLE["id"], "desig": STEELS} | {
        name: [f"{(at * 7 + number) % 31}.5" for at in range(30)]
        for number, name in enumerate(names)
    }
    headings = HEADINGS | {
        name: f"{heading[number % 10]} content at {number} degrees [%]"
        for number, name in enumerate(names)
    }
    made = questions_of(steels(wide, headings=headings), draws=60)
    assert len({each.plan.order_by or each.plan.where[-1].column for each in made}) > 20


@pytest.mark.parametrize("name", ["a:b", "stål/plåt", "x ' \" y", "プレート"])
def test_any_name_of_a_table_is_kept_in_the_gold(name):
    made = questions_of(steels(table=name))
    assert {each.gold[0].table for each in made} == {f"shop/{name}"}
    assert all(each.plan.table == name for each in made)


@given(
    st.decimals(-(10**6), 10**6, places=3), st.decimals(-(10**6), 10**6, places=3), st.booleans()
)
def test_a_limit_lies_in_the_gap_and_is_no_longer_than_its_ends(one, other, with_low):
    low, high = sorted((one, other))
    if low == high:
        return
    limit = round_between(low, high, with_low=with_low)
    assert low <= limit < high if with_low else low < limit <= high
    digits = [len(Decimal(each).normalize().as_tuple().digits) for each in (low, high, limit)]
    assert digits[2] <= max(digits[:2])


def config_with(*, sources=None, glossary=None, **questions):
    return Config.model_validate(
        {
            "sources": {"tables": sources or []},
            "glossary": {"entries": glossary or []},
            "questions": {"from_tables": 12, **questions},
        }
    )


def rows(count=12):
    return [
        {
            "id": at,
            "material": f"K{at}",
            "melting": 1300 + 7 * at,
            "mill": "North" if at % 3 else "South",
        }
        for at in range(count)
    ]


def landed(store, tables):
    for name, content in tables.items():
        headings = {"material": "material", "melting": "melting point [°C]", "mill": "supplier"}
        write_table(store, content, table=name, title=name, headings=headings)
    refresh_rows(store, sources={"db"}, log=lambda _: None)


def inputs_of(store, **questions):
    return dict(
        zip(*table_inputs(store, config_with(**questions)).to_pydict().values(), strict=True)
    )


def test_an_edit_and_a_new_table_change_their_own_inputs(tmp_path):
    store = Store(tmp_path)
    assert table_inputs(store, config_with()).num_rows == 0
    landed(store, {"metals": rows(), "alloys": rows(9)})
    before = inputs_of(store)
    assert set(before) == {"db/metals", "db/alloys"}
    assert inputs_of(store, from_tables=0) == {}
    assert all(before[key] != value for key, value in inputs_of(store, languages=["sv"]).items())

    headings = {"name": "x", "headings": {"melting": "melting temperature"}}
    other = {"name": "db", "url": "sqlite:///x.sqlite", "tables": [headings]}
    assert inputs_of(store, sources=[other]) == before
    words = inputs_of(store, glossary=[{"term": "smältpunkt", "synonyms": ["melting point"]}])
    assert all(before[key] != value for key, value in words.items())

    landed(store, {"metals": [*rows()[:-1], rows()[-1] | {"melting": 999}]})
    edited = inputs_of(store)
    assert edited["db/alloys"] == before["db/alloys"]
    assert edited["db/metals"] != before["db/metals"]

    config = config_with(from_tables=30)
    of_two = {each.key: each for each in tables_made(store, config, sorted(before))}
    landed(store, {"ores": rows(7)})
    keys = table_inputs(store, config)["key"].to_pylist()
    of_three = {each.key: each for each in tables_made(store, config, keys)}
    for key, made in of_two.items():
        kept = of_three[key].drafts
        assert 0 < len(kept) < len(made.drafts)
        assert kept == made.drafts[: len(kept)]


def test_what_is_read_is_what_the_source_has(tmp_path):
    store = Store(tmp_path)
    landed(store, {"metals": [*rows(4), {"id": 9, "material": None, "melting": nan, "mill": ""}]})
    contents = contents_at(store, "db/metals")
    assert contents.info.rows == 5
    assert contents.info.find("melting").filled == 4
