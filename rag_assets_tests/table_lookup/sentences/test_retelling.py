"""What a lookup tells is supported in full by what it cites, and nothing else is."""

import csv
import random
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from rag_assets.answering.answer import Answer, Scope, from_json, to_json
from rag_assets.answering.checks.verifying import verify
from rag_assets.citations.kinds import Computed
from rag_assets.citations.sentences import Compared, Sentence
from rag_assets.table_lookup.looking_up import answer_plan
from rag_assets.table_lookup.plans.plan import OPERATIONS, Condition, LookupPlan
from rag_assets.table_lookup.sentences.retelling import is_told
from rag_assets.table_lookup.tables.catalogue import Catalogue, ColumnInfo, TableInfo
from rag_assets_testing import effort
from rag_assets_tests.table_lookup.beams import SOURCE, catalogue, contents

DATA = Path(__file__).parents[3] / "data"
PLANS = 400 if effort.is_night() else 100
KEYS = {
    "suppliers": "suppl_id",
    "steel_grades": "mat_id",
    "polymers": "pol_id",
    "coatings": "coat_id",
    "fatigue_tests": "test_id",
    "corrosion_tests": "test_no",
}


@pytest.fixture(scope="module")
def demo() -> Catalogue:
    """The tables of the demo, with their headings in plain words."""
    with (DATA / "headings.csv").open(newline="") as file:
        headings = [*csv.DictReader(file)]
    tables = []
    with sqlite3.connect(DATA / "materials.sqlite") as database:
        for name, key in KEYS.items():
            found = database.execute(f"SELECT * FROM {name}")
            columns = [column[0] for column in found.description]
            cells = zip(*found.fetchall(), strict=True)
            texts = {
                column: [None if cell is None else str(cell) for cell in values]
                for column, values in zip(columns, cells, strict=True)
            }
            words = {
                row["column"]: f"{row['heading']} ({row['unit']})"
                if row["unit"]
                else row["heading"]
                for row in headings
                if row["table"] == name
            }
            title = name.replace("_", " ")
            tables.append(
                contents(texts, table=name, title=title, headings=words, hidden=(), keys=texts[key])
            )
    return catalogue(*tables)


def conditions(table: TableInfo, draw: random.Random) -> Iterator[Condition]:
    for _ in range(draw.choice([0, 1, 1, 2])):
        column = draw.choice([each for each in table.columns if each.filled])
        yield _numeric(column, draw) if column.is_numeric else _textual(column, draw)


def _numeric(column: ColumnInfo, draw: random.Random) -> Condition:
    low, high = sorted(
        round(draw.uniform(float(column.minimum or 0), float(column.maximum or 0)), 2)
        for _ in range(2)
    )
    if draw.random() < 0.3:
        return Condition(column.name, "between", (low, high))
    return Condition(column.name, draw.choice(["<", "<=", ">", ">=", "=", "!="]), (low,))


def _textual(column: ColumnInfo, draw: random.Random) -> Condition:
    values = draw.sample(column.values, min(4, len(column.values)))
    op = draw.choice(["=", "=", "!=", "contains", "in", "empty", "not_empty"])
    taken = {"in": tuple(values), "empty": (), "not_empty": ()}
    return Condition(column.name, op, taken.get(op, (values[0],)))


def plans(tables: Catalogue, draw: random.Random) -> Iterator[LookupPlan]:
    for _ in range(PLANS):
        table = draw.choice(tables.tables)
        operation = draw.choice([*OPERATIONS, "rows", "rows"])
        numbers = [each.name for each in table.columns if each.is_numeric]
        names = [each.name for each in table.columns]
        yield LookupPlan(
            table.source,
            table.table,
            where=tuple(conditions(table, draw)),
            operation=operation,
            column=draw.choice(numbers) if operation not in ("rows", "count") else None,
            columns=tuple(draw.sample(names, draw.choice([1, 2, 3])))
            if operation == "rows"
            else (),
        )


def told(tables: Catalogue) -> Iterator[Sentence]:
    draw = random.Random(7)
    for plan in plans(tables, draw):
        found = answer_plan(plan, tables, language=draw.choice(["en", "sv"]))
        yield from found.sentences


@pytest.fixture(scope="module")
def sentences(demo: Catalogue) -> tuple[Sentence, ...]:
    """What is told of some hundred plans."""
    return tuple(told(demo))


@pytest.mark.sweep
def test_all_that_is_told_of_the_demo_is_supported_once_it_is_computed_again(
    demo: Catalogue, sentences: tuple[Sentence, ...]
):
    assert len(sentences) > PLANS
    scope = Scope(variant="v", retriever="best", filters={}, units=1)
    answer = Answer("question", "computed", sentences, scope)
    assert not any(each.compared == "nothing" for each in verify(answer).sentences)
    some = Answer("question", "computed", tuple(sentences[::8]), scope)
    assert all(each.is_supported for each in verify(some, catalogue=demo).sentences)


def test_a_sentence_with_another_number_is_not_told(sentences: tuple[Sentence, ...]):
    for sentence in sentences:
        for digit in [*re.finditer(r"\d", sentence.text)][:6]:
            other = str((int(digit[0]) + 1) % 10)
            changed = sentence.text[: digit.start()] + other + sentence.text[digit.end() :]
            assert not is_told(changed, sentence.citations), changed


def test_a_citation_that_is_missing_leaves_a_sentence_untold(sentences: tuple[Sentence, ...]):
    for sentence in sentences:
        assert not is_told(sentence.text, sentence.citations[1:]), sentence.text


def test_of_a_large_table_the_cells_with_the_extremes_are_kept():
    values = [str(500 + place % 7) for place in range(1_500)]
    values[1_200], values[1_300] = "3", "9000"
    names = [f"B{place}" for place in range(len(values))]
    held = catalogue(contents({"name": names, "mass": values}, headings={}, hidden=()))
    for operation, said in (("max", "9000 (B1300)"), ("range", "from 3 to 9000")):
        plan = LookupPlan(SOURCE, "beams", operation=operation, column="mass")
        [sentence] = answer_plan(plan, held).sentences
        assert said in sentence.text
        citation = sentence.citations[0]
        assert isinstance(citation, Computed)
        assert {3.0, 9000.0} <= {cell.value for cell in citation.inputs}
        assert is_told(sentence.text, sentence.citations)


def test_answers_of_a_release_that_kept_fewer_parts_are_read_and_checked(
    sentences: tuple[Sentence, ...],
):
    scope = Scope(variant="v", retriever="best", filters={}, units=1)
    record = to_json(Answer("question", "computed", sentences, scope))
    for name in ("title", "where", "heading", "unread"):
        _drop(record["sentences"], name, kinds=("rows", "computed", "absence"))
    old = from_json(record)
    assert {each.compared for each in verify(old).sentences} <= {*get_args(Compared)}


def _drop(part: object, name: str, *, kinds: tuple[str, ...]) -> None:
    if isinstance(part, dict):
        if part.get("kind") in kinds:
            part.pop(name, None)
        for value in part.values():
            _drop(value, name, kinds=kinds)
    elif isinstance(part, list):
        for value in part:
            _drop(value, name, kinds=kinds)
