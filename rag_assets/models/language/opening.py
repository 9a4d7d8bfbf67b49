"""The language model that the config names, ready to be asked."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rag_assets.config import Config
from rag_assets.models.language.calls import LanguageModel


@contextmanager
def open_language_model(
    config: Config, name: str | None = None, *, state: Path | None = None
) -> Generator[LanguageModel]:
    """The language model called `name` in the config, or its first one.

    Args:
        config: Names the models.
        name: One of its `language_models`.
        state: Folder of the state, below which calls are kept; that of the config unless given.

    Raises:
        ConfigError: The config has no such model.
    """
    raise NotImplementedError
    yield
