"""The progress of a run: a line for each step, and for each message of a step, as people speak."""

import logging
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import dagster as dg
from pydantic import BaseModel

from rag_assets.config import Config
from rag_assets.config.base import read_data

EVENT = "dagster_event"
META = "dagster_meta"
TABLE = re.compile(r"\b(?P<holds>[a-z]+(?:_[a-z]+)*)__[\w-]+-[0-9a-f]{12}\b")
"""The name of a table of a variant (`config.addresses`)."""


class Wording(BaseModel):
    """What steps and tables are called, as `progress.yaml` has it."""

    steps: dict[str, str]
    beginnings: dict[str, str]
    tables: dict[str, str]


@cache
def wording() -> Wording:
    """The words of this package."""
    return Wording.model_validate(read_data(Path(__file__).with_name("progress.yaml")))


def step_in_words(key: str, config: Config) -> str:
    """What the step of this name in Dagster does, for people."""
    words, sources, key = wording(), config.sources, config.dagster.own_name(key)
    names = {source.name.replace("-", "_"): source.name for source in sources.tables}
    documents = ", ".join(source.name for source in sources.documents) or "documents"
    if key in words.steps:
        return words.steps[key].format(documents=documents)
    for beginning, said in words.beginnings.items():
        if key.startswith(beginning):
            rest = key.removeprefix(beginning)
            return said.format(rest=names.get(rest, rest.replace("_", " ")))
    return key.replace("_", " ")


def without_hashes(message: str) -> str:
    """`message` with what tables hold instead of their names."""

    def held(match: re.Match[str]) -> str:
        holds = match["holds"]
        return wording().tables.get(holds, holds.replace("_", " "))

    return TABLE.sub(held, message)


class ProgressHandler(logging.Handler):
    """Passes on the start of steps and the messages of assets, without Dagster's own messages."""

    def __init__(self, say: Callable[[str], None], config: Config) -> None:
        super().__init__(logging.DEBUG)
        self._say, self._config = say, config

    def emit(self, record: logging.LogRecord) -> None:
        """Pass on the line of `record`, if it is for people."""
        event = getattr(record, EVENT, None)
        if event is not None and event.is_step_start:
            self._say(step_in_words(str(event.step_key), self._config))
        elif event is None and record.levelno >= logging.INFO:
            message = (getattr(record, META, None) or {}).get("orig_message")
            self._say(f"  {without_hashes(message or record.getMessage())}")


def logger(say: Callable[[str], None], config: Config) -> dg.LoggerDefinition:
    """A Dagster logger that hands each line to `say`."""

    @dg.logger(config_schema={}, description="Progress for the command line.")
    def progress(_: dg.InitLoggerContext) -> logging.Logger:
        made = logging.Logger("rag_assets.progress", level=logging.DEBUG)
        made.addHandler(ProgressHandler(say, config))
        return made

    return progress
