"""A lookup plan filled in by a language model, from a schema that only offers what there is.

The model chooses among names, values and numbers that are enumerated for the question; numbers are
converted to a column's unit here. Its choice becomes a plan like any other, which is validated and
run as data: nothing that a model writes is run as SQL.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from rag_assets.citations.values import in_json
from rag_assets.identity import fingerprint
from rag_assets.models.language.calls import LanguageModel, Message, Request
from rag_assets.models.language.prompts import read_prompt
from rag_assets.table_lookup.by_model.offering import Offer, OfferedColumn, offer_for, table_name
from rag_assets.table_lookup.by_model.planner import Unplanned
from rag_assets.table_lookup.plans.plan import (
    COMPARISONS,
    OPERATIONS,
    LookupPlan,
    PlanError,
    PlanValue,
    plan_from_json,
)
from rag_assets.table_lookup.words.word_forms import folded
from rag_assets.terms.units import converted

if TYPE_CHECKING:
    from pydantic import JsonValue

    from rag_assets.table_lookup.tables.catalogue import Catalogue, ColumnInfo
    from rag_assets.workers import Json

PACKAGE, PROMPT = "rag_assets.table_lookup.by_model", "plan"
OUTPUT_TOKENS = 500
MOST_CONDITIONS, MOST_VALUES, MOST_COLUMNS = 6, 8, 6
MOST_ROWS_ASKED = 50
LONGEST_HEADING = 120
"""At most so many characters of a heading are shown."""


@dataclass(frozen=True, slots=True)
class ModelPlanner:
    """A language model as a planner: see `planner.Planner`."""

    model: LanguageModel

    def reading_since(self, purges: int) -> "ModelPlanner":
        """This planner, for texts that are read from now on: see `store.purges`."""
        return replace(self, model=self.model.reading_since(purges))

    @property
    def name(self) -> str:
        """Who it is, in words."""
        return f"the language model {self.model.name}"

    @property
    def identity(self) -> str:
        """What its plans depend on: the model, as its server states it, and the prompt."""
        return fingerprint(self.model.identity, read_prompt(PACKAGE, PROMPT).hash)

    def plan(self, question: str, catalogue: "Catalogue") -> LookupPlan | Unplanned:
        """The plan that the model chooses; a table of a source that it may not see is not offered.

        Whatever becomes of the call, there is a plan or a reason.
        """
        offer = offer_for(question, catalogue, may_see=lambda source: self.model.may_see([source]))
        if offer is None:
            return Unplanned("it may see no table that has a word of the question")
        content = json.dumps(_shown(question, offer), ensure_ascii=False)
        completion = self.model.complete(
            Request(
                (
                    Message("system", read_prompt(PACKAGE, PROMPT).text),
                    Message("user", content.encode(errors="replace").decode()),
                ),
                max_tokens=OUTPUT_TOKENS,
                schema=_schema(offer),
                sources=offer.sources,
            )
        )
        if completion.outcome != "done" or not isinstance(completion.parsed, dict):
            return Unplanned(f"{completion.outcome}: {completion.reason}")
        try:
            return _plan(completion.parsed, offer)
        except PlanError as error:
            return Unplanned(str(error))


def _shown(question: str, offer: Offer) -> Mapping[str, "Json"]:
    """What the model reads."""
    return {
        "question": question,
        "numbers": [each.text for each in offer.numbers],
        "words": [*offer.words],
        "tables": [
            {
                "table": table_name(table),
                "about": table.info.title,
                "columns": [
                    _described(each)
                    for each in offer.columns
                    if table_name(each.table) == table_name(table)
                ],
            }
            for table in offer.tables
        ],
    }


def _described(offered: OfferedColumn) -> dict[str, "Json"]:
    info = offered.column.info
    described: dict[str, Json] = {
        "column": info.name,
        "heading": info.heading[:LONGEST_HEADING],
        "holds": "numbers" if info.is_numeric else "texts",
    }
    if info.unit:
        described["unit"] = info.unit
    if offered.values:
        described["values"] = [*offered.values]
    return described


def _schema(offer: Offer) -> Mapping[str, "Json"]:
    """The JSON schema of an answer: all that can be chosen is named in it."""
    names = [*dict.fromkeys(each.column.info.name for each in offer.columns)]
    values = [
        *dict.fromkeys(
            (
                *(each.text for each in offer.numbers),
                *offer.words,
                *(value for each in offer.columns for value in each.values),
            )
        )
    ]
    column: Json = {"type": "string", "enum": [*names]}
    column_or_none: Json = {"type": ["string", "null"], "enum": [*names, None]}
    condition = _object(
        {
            "column": column,
            "op": {"type": "string", "enum": [*COMPARISONS]},
            "values": {
                "type": "array",
                "items": {"type": "string", "enum": [*values]} if values else {"type": "string"},
                "maxItems": MOST_VALUES if values else 0,
            },
        }
    )
    return _object(
        {
            "answerable": {"type": "boolean"},
            "table": {"type": "string", "enum": [table_name(each) for each in offer.tables]},
            "where": {"type": "array", "items": condition, "maxItems": MOST_CONDITIONS},
            "operation": {"type": "string", "enum": [*OPERATIONS]},
            "column": column_or_none,
            "columns": {"type": "array", "items": column, "maxItems": MOST_COLUMNS},
            "order_by": column_or_none,
            "descending": {"type": "boolean"},
            "limit": {"type": ["integer", "null"], "minimum": 1, "maximum": MOST_ROWS_ASKED},
        }
    )


def _object(properties: Mapping[str, "Json"]) -> dict[str, "Json"]:
    return {
        "type": "object",
        "properties": {**properties},
        "required": [*properties],
        "additionalProperties": False,
    }


def _plan(chosen: Mapping[str, "Json"], offer: Offer) -> LookupPlan | Unplanned:
    """The plan that was chosen, by the schema of `offer`.

    Raises:
        PlanError: A column is of another table, or a value does not suit its column.
    """
    if not chosen["answerable"]:
        return Unplanned("it finds no table that answers the question")
    name = str(chosen["table"])
    table = next(each for each in offer.tables if table_name(each) == name)
    where = cast("Sequence[Mapping[str, Json]]", chosen["where"])
    return plan_from_json(
        {
            "source": table.info.source,
            "table": table.info.table,
            "where": [
                _condition(each, offer, table=name, clause=f"where[{place}]")
                for place, each in enumerate(where)
            ],
            **{
                field: chosen[field]
                for field in ("operation", "column", "columns", "order_by", "descending", "limit")
            },
        }
    )


def _condition(
    chosen: Mapping[str, "Json"], offer: Offer, *, table: str, clause: str
) -> dict[str, "JsonValue"]:
    named = str(chosen["column"])
    offered = offer.column(table, named)
    if offered is None:
        raise PlanError(f"{clause}.column", f"table {table} has no column {named!r} of the offer")
    info, op = offered.column.info, str(chosen["op"])
    texts = map(str, cast("Sequence[Json]", chosen["values"]))
    if info.is_numeric:
        values = [_number(text, info, offer, clause) for text in texts]
    else:
        words = offer.words if op == "contains" else ()
        values = [_text(text, info, words, clause) for text in texts]
    return {"column": named, "op": op, "values": [*map(in_json, values)]}


def _number(text: str, info: "ColumnInfo", offer: Offer, clause: str) -> PlanValue:
    """A number of the question in the unit of its column."""
    number = next((each for each in offer.numbers if each.text == text), None)
    if number is None:
        raise PlanError(f"{clause}.values", f"{text!r} is no number of the question")
    if number.unit is None:
        return number.value
    moved = converted(number.value, number.unit, info.unit) if info.unit else None
    if moved is None:
        heading = f"{info.heading} [{info.unit}]" if info.unit else info.heading
        raise PlanError(f"{clause}.values", f"{text} cannot be compared with {heading}")
    return moved


def _text(text: str, info: "ColumnInfo", words: Sequence[str], clause: str) -> PlanValue:
    """A value of its column, or one of the words that may stand within values."""
    if text in words or folded(text) in map(folded, info.values):
        return text
    raise PlanError(f"{clause}.values", f"{text!r} is no value of column {info.name}")
