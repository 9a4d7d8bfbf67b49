"""The language model that the config names, ready to be asked."""

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rag_assets.config import Config, LanguageModelSettings
from rag_assets.models.hosted import Address, Patience
from rag_assets.models.language import embedded
from rag_assets.models.language.client import LanguageModelClient
from rag_assets.models.language.kept_calls import calls_file


@contextmanager
def open_language_model(
    config: Config,
    name: str | None = None,
    *,
    state: Path | None = None,
    patience: Patience | None = None,
) -> Generator[LanguageModelClient]:
    """The language model called `name` in the config, or its first one, for one run.

    Nobody is contacted, and no process started, before something is asked that no earlier run has
    asked. Budget and spending are those of this opening.

    Args:
        config: Names the models.
        name: One of its `language_models`.
        state: Folder of the state, below which calls are kept; that of the config unless given.
        patience: How long to wait for an answer, if that is less than the config says.

    Raises:
        ConfigError: The config has no such model.
        MissingExtraError: It is the embedded one, and the extra that it needs is not installed.
    """
    chosen, settings = config.language_model(name)
    folder = state or config.state_dir
    with open_entry(chosen, settings, state=folder, patience=patience) as client:
        yield client


@contextmanager
def open_entry(
    name: str, settings: LanguageModelSettings, *, state: Path, patience: Patience | None = None
) -> Generator[LanguageModelClient]:
    """The language model of an entry of the config: see `open_language_model`."""
    file = calls_file(state.absolute())
    with ExitStack() as stack:
        if settings.backend == "embedded":
            server = stack.enter_context(embedded.shared_server())
            settings = settings.model_copy(update={"model": embedded.ALIAS})
            client = LanguageModelClient(
                name,
                settings,
                address=server.address,
                identity=server.identity,
                file=file,
                patience=patience,
            )
        else:
            client = LanguageModelClient(
                name,
                settings,
                address=lambda: address_of(settings),
                file=file,
                patience=patience,
            )
        stack.callback(client.close)
        yield client


def address_of(settings: LanguageModelSettings) -> Address:
    """The address of an entry's server, and its key from the environment."""
    return Address(str(settings.base_url), os.environ.get(settings.key_variable, ""))
