"""Why the steps of a run failed, and what to do: read from the events of the run."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.operations.problems.current import SERVING_INDEX
from rag_assets.operations.problems.disk import remedy_for

if TYPE_CHECKING:
    import dagster as dg

JUDGED = "ASSET_CHECK_EVALUATION"
BLOCKED = "nothing after it was built"
"""Start of the reason of a failed check; the next lines give examples and the remedy."""
HELD_BACK = "held back"
"""Start of the reason of a failed check of the gate: it holds an index back, and nothing comes
after it."""
INTERRUPTS = frozenset({"DagsterExecutionInterruptedError", "KeyboardInterrupt"})
OWN = "rag_assets."
"""Start of the message of this project's own errors: the name of their class."""
INTERRUPTED = "interrupted; what was committed is kept, refresh again to go on"
"""The reason of a step that a person has stopped."""


def errors_of(events: Iterable["dg.DagsterEvent"], *, state_dir: Path) -> dict[str, str]:
    """Why each failed step failed, and what to do, by the name of the step."""
    events = list(events)
    blocked = stopped_by_checks(events)
    return {
        str(event.step_key): remedy_for(_cause_of(event), folder=state_dir)
        or blocked.get(str(event.step_key))
        or _reason_of(event)
        for event in events
        if event.is_step_failure
    }


def are_of_an_interrupt(events: Iterable["dg.DagsterEvent"]) -> bool:
    """Whether a run with these events was interrupted, within a step or between two."""
    return any(
        _reason_of(event) == INTERRUPTED
        if event.is_step_failure
        else event.is_run_failure and _is_interrupt(event.event_specific_data)
        for event in events
    )


def are_refusals(events: Iterable["dg.DagsterEvent"]) -> bool:
    """Whether the steps of a run with these events failed by a `dagster.Failure`, as they meant."""
    failed = [event.step_failure_data for event in events if event.is_step_failure]
    return bool(failed) and all(data.user_failure_data for data in failed)


def stopped_by_checks(events: Iterable["dg.DagsterEvent"]) -> dict[str, str]:
    """For each step stopped by a check: the files and rows that the check found, and why."""
    judged = [event for event in events if event.event_type_value == JUDGED]
    return {
        str(event.step_key): f"{_begin(found)}: {_plain(found.description)}"
        for event in judged
        if (found := event.asset_check_evaluation_data)
        and found.blocking
        and not found.passed
        and found.description
    }


def _begin(judged: "dg.AssetCheckEvaluation") -> str:
    return HELD_BACK if judged.asset_key.path[-1] == SERVING_INDEX else BLOCKED


def _plain(markdown: str) -> str:
    """A description without the blanks that end its lines in the UI."""
    return "\n".join(line.rstrip() for line in markdown.splitlines())


def _reason_of(event: "dg.DagsterEvent") -> str:
    """The message of the innermost error of this project, else the innermost cause."""
    data = event.step_failure_data
    if data.user_failure_data and data.user_failure_data.description:
        return data.user_failure_data.description
    own, error = None, data.error
    while error:
        if error.cls_name in INTERRUPTS:
            return INTERRUPTED
        own = error.message if error.message.startswith(OWN) else own
        error = error.cause
    cause, message = _cause_of(event), _without_class(own or "")
    return cause if message in cause else message  # a repeated cause also names its class


def _is_interrupt(ended: object) -> bool:
    """Whether what ended a run is an interrupt; not if somebody else marked it as failed."""
    return getattr(getattr(ended, "error", None), "cls_name", None) in INTERRUPTS


def _cause_of(event: "dg.DagsterEvent") -> str:
    """The message of the innermost cause of a failed step."""
    error = event.step_failure_data.error
    while error and error.cause:
        error = error.cause
    return _without_class(error.message) if error else "unknown"


def _without_class(message: str) -> str:
    """`message` without the class, for errors of this project; for others the class is useful."""
    name, _, text = message.strip().partition(": ")
    return text if name.startswith(OWN) and text else message.strip()
