"""What `rag-assets status` says to people: the worst first, at most 99 characters wide."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from rag_assets.findings.telling import MOST_SHOWN, lines_of, more, when, wrapped
from rag_assets.operations.problems.disk import DiskUse
from rag_assets.operations.serving_index.status import ServingStatus
from rag_assets.reports.text_tables import cut, table
from rag_assets.serving.check_summary import CheckSummary
from rag_assets.serving.replies import megabytes
from rag_assets.serving.state_status import SourceStatus, StateStatus, Tables
from rag_assets.sources.readability import Readability
from rag_assets.store.locks import HeldLock

LONGEST_NAME = 30
TABLE_COLUMNS = ("asset", "rows", "failed", "complete", "brought up to date")
SOURCE_COLUMNS = ("source", "rows", "failed", "last read", "last changed", "readable")


def text_of(status: StateStatus) -> str:
    """The answers in order: what is wrong, what runs, sources, tables, what is left out, disk."""
    parts = [
        _problems(status),
        _serving(status.pointer),
        _running(status.running),
        _sources(status.sources),
        *_tables(status),
        f"Acknowledged: {status.acknowledged:,} (rag-assets alerts acknowledge lists them)"
        if status.acknowledged
        else "",
        _checks(status.checks),
        _disk(status.disk, to_free=status.to_free),
    ]
    return "\n\n".join(part for part in parts if part)


def _problems(status: StateStatus) -> str:
    if not status.problems:
        if not any(state.get("complete") for state in status.shared.values()):
            return "Nothing was built yet: rag-assets refresh"
        warned = len(status.checks.failed)
        return "Nothing is wrong" + (
            f"; checks warn {warned:,} times, see below." if warned else "."
        )
    return "\n".join(["What is wrong (times are UTC):", *lines_of(status.problems)])


def _serving(pointer: ServingStatus | None) -> str:
    if pointer is None:
        return ""
    how = {"rollback": f"a rollback to number {pointer.restores}", "override": "an override"}
    said = how.get(pointer.by, str(pointer.by))
    if pointer.reason:
        said += f" ({pointer.reason})"
    if pointer.verdict and pointer.judged_at:
        judged = when(datetime.fromisoformat(pointer.judged_at))
        said += f"; verdict {pointer.verdict} of {judged}"
        said += f", stale: {pointer.stale}" if pointer.stale else ""
    since = when(datetime.fromisoformat(pointer.since))
    line = (
        f"Variant {pointer.variant} serves (number {pointer.number}, retriever "
        f"{pointer.retriever}) since {since}, by {said}."
    )
    if pointer.unheeded:
        line += (
            f" serving.variant names {pointer.unheeded}, which counts only until something was "
            f"promoted: `rag-assets variants promote {pointer.unheeded}` serves it."
        )
    return "\n".join(wrapped(line, indent=0))


def _running(locks: Sequence[HeldLock]) -> str:
    lines = [
        line
        for each in locks
        for line in wrapped(
            f"{each.work or 'a process'} ({each.holder}) works on {each.name} since "
            f"{when(each.since)}",
            indent=2,
        )
    ]
    return "\n".join(["What runs now:", *lines]) if lines else "Nothing runs now."


def _sources(sources: Sequence[SourceStatus]) -> str:
    if not sources:
        return ""
    rows = [row for source in sources for row in _source_rows(source)]
    return f"Sources\n{table(rows, columns=SOURCE_COLUMNS)}"


def _source_rows(source: SourceStatus) -> Iterator[Mapping[str, object]]:
    whole = source.readability
    yield _source_row(source.source, whole, is_readable=whole.is_readable)
    for each in source.tables[:MOST_SHOWN]:
        is_readable = whole.is_readable and each.readability.is_readable
        row = _source_row(f"  {each.table}", each.readability, is_readable=is_readable)
        yield {**row, "rows": each.rows, "failed": each.failed}
    for line in more(source.tables):
        yield {"source": line}


def _source_row(name: str, read: Readability, *, is_readable: bool) -> Mapping[str, object]:
    return {
        "source": cut(name, LONGEST_NAME),
        "last read": when(read.last_read),
        "last changed": when(read.last_changed),
        "readable": is_readable if read.last_read or not is_readable else "not looked at yet",
    }


def _tables(status: StateStatus) -> Iterator[str]:
    yield _section("Shared by all variants", status.shared)
    for name, states in status.variants.items():
        is_served = "serves" if status.pointer else "is to serve"
        serves = f" ({is_served})" if name == status.serving else ""
        lines = [_section(f"Variant {name}{serves}", states)]
        if name in status.unavailable:
            lines.append(f"Unavailable: {status.unavailable[name]}")
        yield "\n".join(lines)


def _section(title: str, states: Tables) -> str:
    rows = []
    for asset, state in states.items():
        at = state.get("brought_up_to_date")
        brought = when(datetime.fromisoformat(str(at))) if at else ""
        rows.append({"asset": asset, **state, "brought up to date": brought})
    return f"{title}\n{table(rows, columns=TABLE_COLUMNS)}"


def _checks(checks: CheckSummary) -> str:
    lines = checks.text.splitlines()
    return "\n".join(
        part
        for line in lines
        for part in wrapped(line.lstrip(), indent=len(line) - len(line.lstrip()))
    )


def _disk(disk: DiskUse, *, to_free: int | None) -> str:
    if not disk.total:
        return ""
    kinds = ", ".join(f"{kind} {megabytes(size)}" for kind, size in disk.by_kind.items())
    free = ""
    if to_free is not None:
        free = f" `rag-assets clean-up` would free {megabytes(to_free)} of the tables."
    shared = f" Shared by all projects: {megabytes(disk.shared)} in {disk.cache}."
    text = f"On disk: {megabytes(disk.total)} ({kinds}).{free}{shared if disk.shared else ''}"
    return "\n".join(wrapped(text, indent=0))
