"""The app: routes, limits, and what happens when it begins and ends."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib.metadata import version

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from starlette.routing import Route

from rag_assets.answering.assistant import AnswerModels
from rag_assets.config import Config, ConfigError
from rag_assets.serving.http import problems
from rag_assets.serving.http.admission import Admission
from rag_assets.serving.http.limits import RequestLimits
from rag_assets.serving.http.metrics import Metrics
from rag_assets.serving.http.opened import ServedIndex
from rag_assets.serving.http.page import views
from rag_assets.serving.http.routes import answering, history, searching, state, tables
from rag_assets.serving.http.service import Service
from rag_assets.serving.mcp.server import AgentEndpoint

ROUTES = (
    *(searching.router, answering.router, tables.router),
    *(history.router, history.opinions, state.router),
)
AT_ONCE = max(2, os.cpu_count() or 1)
"""Requests in work at the same time: models and tables share the cores of the machine anyway."""
WAITING = 4
"""Times as many, where a language model writes: most of them wait for it."""


def app_of(config: Config, models: AnswerModels, *, user: str, is_loopback: bool = True) -> FastAPI:
    """The API and the page over what serves.

    Args:
        config: Names the state.
        models: The language models that help to answer.
        user: Who asks while nobody needs a key: answers are kept by this name.
        is_loopback: Whether the server listens on this machine alone.

    Raises:
        ConfigError: `serving.root_path` begins like a route.
    """
    metrics = Metrics(config)
    service = Service(config, ServedIndex(config, models), metrics)
    admission = Admission(config, user=user, is_loopback=is_loopback)

    agents = AgentEndpoint(service, has_writer=models.writer is not None)
    at_once = AT_ONCE * (WAITING if models.writer else 1)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
        current_default_thread_limiter().total_tokens += at_once  # what machines ask needs some too
        asyncio.get_running_loop().run_in_executor(None, service.served.not_ready)
        async with agents.running():
            yield
        await service.streams.finish()

    app = FastAPI(
        title="rag_assets",
        version=version("rag-assets"),
        description="Search and cited answers over what serves.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.state.service, app.state.admission = service, admission
    app.openapi = cache(partial(problems.described, app.openapi))
    problems.install(app)
    for router in ROUTES:
        app.include_router(router, responses=dict(problems.RESPONSES))
    app.include_router(state.for_machines)
    for router in views.ROUTERS:
        app.include_router(router)
    app.mount("/static", views.files)
    app.router.routes.append(Route("/mcp", agents, methods=["POST"], include_in_schema=False))
    if (root := config.serving.root_path) and root.split("/")[1] in _first_names(app):
        raise ConfigError(f"serving.root_path: {root} begins like an address of the server: rename")
    app.add_middleware(
        RequestLimits,
        admission=admission,
        metrics=metrics,
        at_once=at_once,
        root=root,
        version=lambda: service.served.version,
    )
    return app


def _first_names(app: FastAPI) -> set[str]:
    """The first part of each address: a path below which a proxy shows them cannot begin so."""
    pages = (route for router in views.ROUTERS for route in router.routes)
    own = (*pages, *state.for_machines.routes, *app.routes, *ROUTES)
    paths = (getattr(each, "path", "") or getattr(each, "prefix", "") for each in own)
    return {path.split("/")[1] for path in paths if path}
