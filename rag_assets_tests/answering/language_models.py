"""Language models of a scripted server, for tests of what is asked of them and done with it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rag_assets.config import Config
from rag_assets.models.language.client import LanguageModelClient
from rag_assets.models.language.opening import open_language_model
from rag_assets_testing.scripted_language_model import Behaviour, Script, ScriptedServer

SOURCES = ("shop", "secret")


def entry(url: str, **settings) -> dict:
    return {"base_url": url, "model": "scripted", "seconds": 5, "attempts": 1, **settings}


@contextmanager
def scripted(
    script: Script, state: Path, **settings
) -> Iterator[tuple[LanguageModelClient, ScriptedServer]]:
    """A model that plays `script`; it may see every source unless the settings say otherwise."""
    with ScriptedServer(script) as server:
        settings = {"local": True} | settings
        config = Config.model_validate(
            {
                "sources": {"documents": [{"name": name, "url": "."} for name in SOURCES]},
                "language_models": {"writer": entry(server.url, **settings)},
            }
        )
        with open_language_model(config, state=state) as model:
            yield model, server


def replies(**fields) -> Behaviour:
    """An answer that is a JSON object."""
    return Behaviour(json.dumps(fields))
