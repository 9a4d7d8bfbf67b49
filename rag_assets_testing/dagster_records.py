"""Dagster's databases, which take most of a second to make: made once in a process, then copied."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from rag_assets.config import Config
from rag_assets.serving import dagster_instance


def make_ready(config: Config) -> None:
    """Let the instance of a state have its databases, without any record, unless it has some."""
    if not dagster_instance.is_prepared(config):
        empty = config.model_copy(update={"state_dir": Path(_made().name)})
        shutil.copytree(dagster_instance.home(empty), dagster_instance.home(config))


@cache
def _made() -> TemporaryDirectory[str]:
    """A state with nothing but these; it is removed with the process."""
    state = TemporaryDirectory()
    with dagster_instance.opened(Config(state_dir=Path(state.name))):
        """Dagster makes what is missing."""
    return state
