"""Questions to tables that the rules refuse: what a language model is offered, and what it may do.

usage: lookup_planner.py [--questions FOLDER] [--split dev|test] [--state FOLDER]

For the questions of `computed.jsonl` that the rules refuse: does the offer hold the table, the
columns and the values that their SQL needs? Then a scripted server replies with what no planner may
ask for, and with plans that are thrown by dice among what is offered. With a server at
RAG_ASSETS_TEST_ENDPOINT (base URL of an OpenAI-compatible API, model RAG_ASSETS_TEST_MODEL) that
model reads what the rules refuse, and its answers are judged as in `lookup.py`.
"""

import argparse
import json
import os
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bounds import REPOSITORY, Bound, at_least, at_most, dataset, equal, finish
from lookup import OTHER_HAND, Outcome, catalogue_at, judged, read_lines, trade_config

sys.path.insert(0, str(REPOSITORY))

from rag_assets.config import Config
from rag_assets.models.language.opening import open_language_model
from rag_assets.table_lookup.by_model.model_planner import ModelPlanner
from rag_assets.table_lookup.by_model.offering import MOST_OFFERED, Offer, offer_for
from rag_assets.table_lookup.looking_up import look_up
from rag_assets.table_lookup.tables.catalogue import Catalogue
from rag_assets_testing.hostile_lookups import BEYOND, INJECTIONS, NAMES, RECORDS
from rag_assets_testing.scripted_language_model import Behaviour, ScriptedServer

TABLE_OFFERED = 0.95
ALL_OFFERED = 0.7
RIGHT = 0.9
BY_DICE = 0.01
THROWS, SEED = 10, 7
SLOWEST = 0.1
"""CPU seconds to choose what is offered, in the mean."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--questions", type=Path, default=OTHER_HAND)
    parser.add_argument("--split", default="test")
    parser.add_argument("--state", type=Path, help="folder to keep the index in")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        state = (arguments.state or Path(temporary)).absolute()
        config = trade_config("materials_demo", state=state / "materials_demo")
        catalogue = catalogue_at(config)
        questions = read_lines(arguments.questions / "computed.jsonl", split=arguments.split)
        left = [each for each in questions if _outcome(each, catalogue) == "refused"]
        print(f"the rules refuse {len(left)} of {len(questions)}")
        bounds = [*offered(left, catalogue), *replies(left, catalogue), *thrown(left, catalogue)]
        if "RAG_ASSETS_TEST_ENDPOINT" in os.environ:
            wrong = read_lines(
                arguments.questions / "computed_refused.jsonl", split=arguments.split
            )
            bounds += read_by_model(left, wrong, catalogue)
        finish("lookup_planner", bounds)


def _outcome(question: Mapping[str, object], catalogue: Catalogue) -> str:
    return look_up(str(question["question"]), catalogue).outcome


def offered(questions: Sequence[Mapping], catalogue: Catalogue) -> Iterator[Bound]:
    """Bounds on what is offered for questions with SQL."""
    offers: list[tuple[Mapping, Offer]] = []
    started = time.process_time()
    for question in questions:
        offer = offer_for(question["question"], catalogue, may_see=lambda _: True)
        if offer is not None:
            offers.append((question, offer))
    seconds = (time.process_time() - started) / len(questions)
    has_table = [
        any(table.info.table == question["table"] for table in offer.tables)
        for question, offer in offers
    ]
    has_all = [_has_all(question, offer, catalogue) for question, offer in offers]
    widest = max(len(offer.columns) for _, offer in offers)
    count = len(questions)
    yield at_least("offers that hold the table", sum(has_table) / count, TABLE_OFFERED)
    yield at_least(
        "offers that hold all columns and values of the SQL", sum(has_all) / count, ALL_OFFERED
    )
    yield at_most("columns of the widest offer", widest, MOST_OFFERED)
    yield at_most("CPU seconds for an offer", seconds, SLOWEST)


def _has_all(question: Mapping, offer: Offer, catalogue: Catalogue) -> bool:
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(question["sql"], dialect="sqlite")
    hidden = {
        column.name
        for table in catalogue.tables
        if table.table == question["table"]
        for column in table.columns
        if column.is_hidden
    }
    own = [each for each in offer.columns if each.table.info.table == question["table"]]
    needed = {each.name for each in tree.find_all(exp.Column)} - hidden
    texts = {each.this.strip("%") for each in tree.find_all(exp.Literal) if each.is_string}
    values = {value.casefold() for each in own for value in each.values}
    values |= {word.casefold() for word in offer.words}
    return needed <= {each.column.info.name for each in own} and all(
        text.casefold() in values for text in texts
    )


def replies(questions: Sequence[Mapping], catalogue: Catalogue) -> Iterator[Bound]:
    """Bounds on what becomes of replies that no planner may give."""
    hostile = [json.dumps(reply) for reply in _hostile(catalogue)]
    texts = [str(each["question"]) for each in questions[: len(hostile)]]
    turn = iter(range(10**9))

    def play(_: dict) -> Behaviour:
        return Behaviour(hostile[next(turn) % len(hostile)])

    with ScriptedServer(play) as server, _planner(server.url, "scripted") as planner:
        asked = [f"{texts[n % len(texts)]} ({n // len(texts)})" for n in range(len(hostile))]
        found = [look_up(question, catalogue, planner=planner) for question in asked]
        answered = sum(bool(each.planned_as) for each in found)
        unsaid = sum(each.outcome == "refused" and not each.reason for each in found)
        print(f"{server.calls} hostile replies to {len(asked)} questions")
    yield equal("hostile replies that were answered", answered, 0)
    yield equal("refusals without a reason", unsaid, 0)


def _hostile(catalogue: Catalogue) -> Iterator[object]:
    table = catalogue.tables[0]
    good = {
        "answerable": True,
        "table": f"{table.source}/{table.table}",
        "where": [],
        "operation": "rows",
        "column": None,
        "columns": [],
        "order_by": None,
        "descending": False,
        "limit": None,
    }
    yield from RECORDS
    for name in (*NAMES, *INJECTIONS):
        yield good | {"table": name}
        yield good | {"order_by": name, "limit": 1}
        yield good | {"where": [{"column": name, "op": "=", "values": ["1"]}]}
    for value in BEYOND:
        yield good | {"limit": value if isinstance(value, int) else 10**6}
    yield good
    yield good | {"limit": 10**6}
    yield good | {"columns": [each.name for each in table.columns] * 10}


def thrown(questions: Sequence[Mapping], catalogue: Catalogue) -> Iterator[Bound]:
    """A bound on plans by dice, all of the form, that are given as an answer and are wrong."""
    dice = random.Random(SEED)
    database = _database()

    def play(body: dict) -> Behaviour:
        schema = body["response_format"]["json_schema"]["schema"]
        return Behaviour(json.dumps(_throw(schema, dice) | {"answerable": True}))

    outcomes: list[Outcome] = []
    for _ in range(THROWS):  # each with a state of its own: no reply is kept for the next
        with ScriptedServer(play) as server, _planner(server.url, "dice") as planner:
            outcomes += [judged(each, catalogue, database, planner) for each in questions]
    wrong = [each for each in outcomes if each.is_accepted and not each.is_right]
    for each in wrong:
        print(f"  by dice: {each.question['question']}: {each.reason[:200]}")
    share = len(wrong) / len(outcomes)
    yield at_most(f"wrong answers from {len(outcomes)} plans by dice", share, BY_DICE)


def _throw(schema: Mapping, dice: random.Random) -> Any:
    """Any value that follows a schema of `by_model`."""
    if "enum" in schema:
        return dice.choice(schema["enum"])
    match schema["type"]:
        case "object":
            return {name: _throw(each, dice) for name, each in schema["properties"].items()}
        case "array":
            most = min(2, schema["maxItems"])
            return [_throw(schema["items"], dice) for _ in range(dice.randint(0, most))]
        case "boolean":
            return dice.random() < 0.5
        case _:
            return dice.choice([None, 1])


def _database() -> sqlite3.Connection:
    tables = dataset("materials_demo") / "tables.sqlite"
    return sqlite3.connect(f"file:{tables}?mode=ro", uri=True)


@contextmanager
def _planner(url: str, model: str) -> Generator[ModelPlanner]:
    entry = {"base_url": url, "model": model, "local": True}
    config = Config.model_validate({"language_models": {"test": entry}})
    with (
        tempfile.TemporaryDirectory() as state,
        open_language_model(config, state=Path(state)) as opened,
    ):
        yield ModelPlanner(opened)
        print("spent:", opened.spending.record())


def read_by_model(
    questions: Sequence[Mapping], to_refuse: Sequence[Mapping], catalogue: Catalogue
) -> Iterator[Bound]:
    """Bounds on the answers that a model's plans give."""
    database = _database()
    url, model = (os.environ[f"RAG_ASSETS_TEST_{name}"] for name in ("ENDPOINT", "MODEL"))
    with _planner(url, model) as planner:
        outcomes = [judged(each, catalogue, database, planner) for each in questions]
        wrong = [judged(each, catalogue, database, planner) for each in to_refuse]
    accepted = [each for each in outcomes if each.is_accepted]
    right = [each for each in accepted if each.is_right and each.has_all_rows]
    print(f"{model}: {len(accepted)} of {len(questions)} refused questions are answered")
    share = len(right) / len(accepted) if accepted else 0.0
    yield at_least(f"{model}: right with all rows cited, of {len(accepted)}", share, RIGHT)
    answered = sum(each.is_accepted for each in wrong)
    yield equal(f"{model}: answered of {len(wrong)} to be refused", answered, 0)


if __name__ == "__main__":
    main()
