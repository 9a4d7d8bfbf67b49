"""The progress of a run: a line for each step, and for each message of a step."""

import logging
from collections.abc import Callable

import dagster as dg

EVENT = "dagster_event"
META = "dagster_meta"


class ProgressHandler(logging.Handler):
    """Passes on the start of steps and the messages of assets, without Dagster's own messages."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.DEBUG)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        """Pass on the line of `record`, if it is for people."""
        event = getattr(record, EVENT, None)
        if event is not None and event.is_step_start:
            self._say(str(event.step_key))
        elif event is None and record.levelno >= logging.INFO:
            message = (getattr(record, META, None) or {}).get("orig_message")
            self._say(f"  {message or record.getMessage()}")


def logger(say: Callable[[str], None]) -> dg.LoggerDefinition:
    """A Dagster logger that hands each line to `say`."""

    @dg.logger(config_schema={}, description="Progress for the command line.")
    def progress(_: dg.InitLoggerContext) -> logging.Logger:
        made = logging.Logger("rag_assets.progress", level=logging.DEBUG)
        made.addHandler(ProgressHandler(say))
        return made

    return progress
