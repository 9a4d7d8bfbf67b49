"""Alerts from the command line: what changed is told when a command ends, however it ends."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rag_assets.config import Config
from rag_assets.serving.replies import say

if TYPE_CHECKING:
    import dagster as dg


@contextmanager
def telling(config: Config, *, variant: str | None = None) -> Generator[None]:
    """Tell what changed once the body has ended: well, with an error, or by Ctrl-C.

    Args:
        config: Names the channels; without any, nothing is looked at.
        variant: The body is its nightly refresh: an error is told, also if Dagster has no run.
    """
    error: Exception | None = None
    try:
        yield
    except Exception as raised:  # whatever ends a command is told, and goes on from here
        error = raised
        raise
    finally:
        if config.alerts.channels:
            _tell(config, error, variant=variant)


def tell_of_closed(config: Config, instance: "dg.DagsterInstance", *, closed: int) -> None:
    """Tell of runs whose process was killed, if some were found and `closed`."""
    from rag_assets.operations.alerts.dispatch import Teller

    if closed:
        Teller(config, log=say).tell(instance)


def nightly_begins(config: Config, *, run_id: str) -> None:
    """Call the pings that want to know when a nightly refresh begins."""
    from rag_assets.operations.alerts.dispatch import Teller

    Teller(config, log=say).nightly_began(run_id)


@contextmanager
def records(config: Config) -> Generator["dg.DagsterInstance | None"]:
    """Dagster's records; None where they cannot be opened, as on a full disk."""
    from rag_assets.serving import dagster_instance

    try:
        opened = dagster_instance.opened(config)
    except Exception:  # whichever library finds the disk full or closed
        yield None
        return
    with opened as instance:
        yield instance


@contextmanager
def existing_records(config: Config) -> Generator["dg.DagsterInstance | None"]:
    """Dagster's records; None where no run was ever recorded: nothing is written."""
    from rag_assets.serving import dagster_instance

    if not dagster_instance.is_prepared(config):
        yield None
        return
    with records(config) as instance:
        yield instance


def _tell(config: Config, error: Exception | None, *, variant: str | None) -> None:
    from rag_assets.operations.alerts.dispatch import Teller, failed_command

    reason = str(error) or type(error).__name__
    failure = failed_command(reason, config, variant=variant) if error and variant else None
    with records(config) as instance:
        Teller(config, log=say).tell(instance, failure=failure)
