"""`rag-assets doctor`: whether index, tables, records and sources agree, and their repair."""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rag_assets.findings.finding import SEVERITIES
from rag_assets.findings.telling import headline, lines_of, record_of
from rag_assets.serving import refresh_run
from rag_assets.serving.replies import OK, PARTLY, CommandError, Reply, project_of, say

if TYPE_CHECKING:
    from rag_assets.operations.doctor.faults import Fault

SUMMARY = "read all tables, tell what does not agree, and mend it with --repair"
EXAMPLES = """\
  rag-assets doctor
  rag-assets doctor --repair
  rag-assets doctor --deep --variant default    embed and rank again, ask the language models
  rag-assets doctor --json"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("--variant", help="variant to examine (default: all)")
    command.add_argument(
        "--deep",
        action="store_true",
        help="also look at all texts, embed a sample again, rank with indexes built anew, and ask "
        "each language model",
    )
    command.add_argument(
        "--repair",
        action="store_true",
        help="take away what is wrong, let its steps make it again, and look once more",
    )


def run(options: argparse.Namespace) -> Reply:
    """Examine, and mend what was found if that is asked for."""
    from rag_assets.operations.doctor.examined_tables import Practice
    from rag_assets.operations.doctor.examining import examine

    config, store = project_of(options)
    names = [options.variant] if options.variant else list(config.variants)
    if not store.root.exists():
        raise CommandError(f"there is no state at {store.root}: run `rag-assets refresh` first")
    practice = Practice(store, config, names, say, is_deep=options.deep)
    if not options.repair:
        found = examine(practice)
        return _answer(found.faults, mended=(), tables=found.tables, rows=found.rows)
    from rag_assets.operations.doctor.repairing import CANNOT_RUN, repair

    with store.lock(refresh_run.LOCK, log=say):
        try:
            done = repair(practice)
        except CANNOT_RUN as error:
            raise CommandError(f"the repair went as far as it could: {error}") from error
    left = done.left
    return _answer(left.faults, mended=done.mended, tables=left.tables, rows=left.rows)


def _answer(
    faults: "Sequence[Fault]", *, mended: "Sequence[Fault]", tables: int, rows: int
) -> Reply:
    found = [each for each in faults if each.severity != "note"]
    return Reply(
        record={
            "clean": not found,
            "tables": tables,
            "rows": rows,
            "findings": [record_of(each) for each in faults],
            "repaired": [record_of(each) for each in mended],
        },
        text="\n\n".join(_paragraphs(faults, mended=mended, tables=tables, rows=rows)),
        code=PARTLY if found else OK,
    )


def _paragraphs(
    faults: "Sequence[Fault]", *, mended: "Sequence[Fault]", tables: int, rows: int
) -> Iterator[str]:
    if mended:
        yield "\n".join(["Repaired:", *dict.fromkeys(map(_in_a_line, mended))])
    if faults:
        yield "\n".join(lines_of(faults, most=len(faults)))
    counts = Counter(each.severity for each in faults)
    told = ", ".join(
        f"{count} {severity}{'s' if count != 1 else ''}"
        for severity in SEVERITIES
        if (count := counts[severity])
    )
    yield f"{tables:,} tables with {rows:,} rows were read: {told or 'nothing is wrong with them'}."


def _in_a_line(fault: "Fault") -> str:
    count = f", {fault.count:,} times" if fault.count > 1 else ""
    return f"  {headline(fault)}{f' ({fault.reason})' if fault.reason else ''}{count}"
