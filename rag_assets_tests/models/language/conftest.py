"""Models of a scripted server, opened as the config opens them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rag_assets.config import Config
from rag_assets.models.language.calls import Message, Request
from rag_assets.models.language.client import LanguageModelClient
from rag_assets.models.language.opening import open_language_model
from rag_assets_testing.scripted_language_model import Script, ScriptedServer

Opener = Callable[..., tuple[LanguageModelClient, ScriptedServer]]
QUICK = {"seconds": 5, "attempts": 3}


def request(text: str = "Is it dense?", *, sources: tuple[str, ...] = (), **more) -> Request:
    settings = {"max_tokens": 50} | more
    return Request((Message("user", text),), sources=frozenset(sources), **settings)


def config_of(url: str, **settings) -> Config:
    entry = {"base_url": url, "model": "scripted", **QUICK, **settings}
    sources = {"documents": [{"name": "open", "url": "."}, {"name": "secret", "url": "."}]}
    return Config.model_validate({"sources": sources, "language_models": {"writer": entry}})


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opener]:
    """Opens a model of a server that plays a script."""
    with ExitStack() as stack:

        def open_one(script: Script, *, key: str | None = None, **settings):
            server = stack.enter_context(ScriptedServer(script, key=key))
            config = config_of(server.url, **settings)
            model = stack.enter_context(open_language_model(config, state=tmp_path))
            return model, server

        yield open_one


@pytest.fixture(autouse=True)
def _no_long_pauses(monkeypatch):
    monkeypatch.setattr("rag_assets.models.hosted.FIRST_PAUSE", 0.01)
