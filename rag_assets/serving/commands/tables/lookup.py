"""`rag-assets tables lookup`: ask the tables, compare rows, find rows that are like one."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.columns.sql import quoted
from rag_assets.identity import canonical_number
from rag_assets.serving import lookup_text
from rag_assets.serving.replies import (
    CommandError,
    Reply,
    UsageError,
    add_variant,
    project_of,
    read_text,
)

if TYPE_CHECKING:
    from rag_assets.answering.assistant import Assistant
    from rag_assets.table_lookup.comparing import RowName
    from rag_assets.table_lookup.plans.plan import LookupPlan
    from rag_assets.table_lookup.tables.catalogue import Catalogue, TableInfo

SUMMARY = "filter, count and compare rows of tables"
EXAMPLES = """\
  rag-assets tables lookup "How many alloys have a density below 3 g/cm3?"
  rag-assets tables lookup "Which alloy has the highest yield strength?" --json > last.json
  rag-assets tables lookup --plan last.json --add "density<=4" --drop process
  rag-assets tables lookup --table alloys --compare 12 17 31
  rag-assets tables lookup --table alloys --like 12 --where "yield>=355" --where "co2<own"
  rag-assets tables lookup --document specification.pdf     rows that meet what it requires
  rag-assets tables lookup                                  the tables that can be asked"""

OWN = "own"
"""Stands in a condition for the value of the row that is named by --like."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("question", nargs="?", help="the question, in English or Swedish")
    add_variant(command)
    command.add_argument(
        "--plan", type=Path, metavar="FILE", help="run this plan, or that of an earlier --json"
    )
    command.add_argument("--table", help="table of --compare and --like: NAME, or SOURCE/NAME")
    command.add_argument("--compare", nargs="+", metavar="KEY", help="rows to show side by side")
    command.add_argument("--like", metavar="KEY", help="find the rows that are most like this one")
    command.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COLUMN<=VALUE",
        help=f"what they must fulfil; VALUE may be {OWN}; may be given again",
    )
    command.add_argument(
        "--add",
        action="append",
        default=[],
        metavar="COLUMN<=VALUE",
        help="add a criterion to the plan; may be given again",
    )
    command.add_argument(
        "--drop", action="append", default=[], metavar="COLUMN", help="drop the criteria on it"
    )
    command.add_argument("--document", metavar="URI", help="rows that meet what it requires")


def run(options: argparse.Namespace) -> Reply:
    """Do what the options ask for; without any, list the tables."""
    from rag_assets.answering.assistant import open_assistant

    config, _ = project_of(options)
    with open_assistant(config, options.variant) as assistant:
        if options.document:
            return _required(assistant, uri=options.document)
        if options.compare or options.like:
            return _of_rows(assistant.catalogue, options)
        if options.plan or options.question:
            return _asked(assistant, options)
        return lookup_text.tables(assistant.catalogue)


def _asked(assistant: "Assistant", options: argparse.Namespace) -> Reply:
    """A question or a plan, with the criteria that are added and dropped."""
    if options.plan:
        found = assistant.run(_read_plan(options.plan))
    else:
        found = assistant.lookup(options.question)
    catalogue = assistant.catalogue
    if options.add or options.drop:
        if found.plan is None:
            raise CommandError(f"there is no plan to change: {found.reason}")
        found = assistant.run(_changed(found.plan, catalogue, add=options.add, drop=options.drop))
    return lookup_text.looked_up(found, catalogue, question=options.question)


def _read_plan(path: Path) -> "LookupPlan":
    """The plan in a file: alone, or in the record that --json wrote."""
    from rag_assets.table_lookup.plans.plan import plan_from_json

    try:
        record = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path} is not a file of JSON that can be read ({error})") from error
    is_record = isinstance(record, dict) and "outcome" in record
    return plan_from_json(record["plan"] if is_record else record)


def _changed(
    plan: "LookupPlan", catalogue: "Catalogue", *, add: Sequence[str], drop: Sequence[str]
) -> "LookupPlan":
    from rag_assets.table_lookup.refining import condition_from_text, refined

    info = catalogue.find(plan.source, plan.table)
    assert info is not None, "the plan was run"
    return refined(plan, add=[condition_from_text(each, info) for each in add], drop=drop)


def _of_rows(catalogue: "Catalogue", options: argparse.Namespace) -> Reply:
    """Rows side by side, or those that are like one."""
    from rag_assets.table_lookup.comparing import RowName, alternatives, compare
    from rag_assets.table_lookup.refining import condition_from_text

    info = _table(catalogue, options.table)
    if options.compare:
        rows = [RowName(info.source, info.table, key) for key in options.compare]
        return lookup_text.side_by_side(compare(rows, catalogue))
    row = RowName(info.source, info.table, options.like)
    where = [
        condition_from_text(_with_own(each, row, info, catalogue), info) for each in options.where
    ]
    return lookup_text.alternatives(alternatives(row, where, catalogue))


def _with_own(text: str, row: "RowName", info: "TableInfo", catalogue: "Catalogue") -> str:
    """`co2<own` with the number that the row has there."""
    from rag_assets.table_lookup.comparing import own_value

    head = text.removesuffix(OWN)
    if head == text or not head.rstrip().endswith(("<", ">", "=")):
        return text
    column = head.rstrip(" <>=!")
    named = next((each for each in info.columns if column in (each.name, each.heading)), None)
    return f"{head}{canonical_number(own_value(row, named.name if named else column, catalogue))}"


def _table(catalogue: "Catalogue", name: str | None) -> "TableInfo":
    known = [*catalogue.tables, *catalogue.document_tables]
    fitting = [each for each in known if name in (each.table, f"{each.source}/{each.table}")]
    if len(fitting) != 1:
        names = ", ".join(f"{each.source}/{each.table}" for each in catalogue.tables)
        raise UsageError(f"--table must name one table: {names}")
    return fitting[0]


def _required(assistant: "Assistant", *, uri: str) -> Reply:
    """The rows that meet what a document requires."""
    from rag_assets.table_lookup.requirements import requirements_of, rows_that_meet

    store, catalogue = assistant.store, assistant.catalogue
    pin = assistant.index.complete_set.documents
    where = f"uri = {quoted(uri)}"
    columns = ["unit_id", "index", "text"]
    units = (
        store.read(pin.table, columns=columns, where=where, version=pin.version).sort_by("index")
        if pin
        else None
    )
    if units is None or not units.num_rows:
        raise CommandError(f"the index has no document {uri!r}: see `rag-assets documents`")
    texts = zip(units["unit_id"].to_pylist(), units["text"].to_pylist(), strict=True)
    required = requirements_of(texts, catalogue)
    return lookup_text.required(required, rows_that_meet(required, catalogue), catalogue)
