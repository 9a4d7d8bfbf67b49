"""Resources: where an index lies and which models it asks, as Dagster lists and swaps them.

The config defines the graph, and gives these their values. Assets and their checks ask the
resources of their run, so that a test or a project may hand in others: a state elsewhere, a copy of
a model, a scripted language model. Jobs for people and commands ask the config.
"""

from collections.abc import Mapping
from pathlib import Path

import dagster as dg
from pydantic import Field, HttpUrl

from rag_assets.config import Config, ConfigError
from rag_assets.config.errors import did_you_mean


class IndexState(dg.ConfigurableResource):
    """The state: tables, serving pointer, records."""

    folder: str = Field(description="the folder that holds all of it")


class EmbeddingModels(dg.ConfigurableResource):
    """The embedding models."""

    paths: dict[str, str] = Field(description="where the weights of each lie, by its name")


class LanguageModels(dg.ConfigurableResource):
    """The language models behind servers."""

    servers: dict[str, str] = Field(description="base of the API of each, by its name")


def resources_of(config: Config) -> Mapping[str, dg.ConfigurableResource]:
    """The resources of the index that `config` describes, by their names in Dagster."""
    entries = config.language_models.items()
    servers = {name: str(entry.base_url) for name, entry in entries if entry.base_url}
    found = {
        "state": IndexState(folder=str(config.state_dir)),
        "models": EmbeddingModels(paths={name: one.path for name, one in config.models.items()}),
        "language_models": LanguageModels(servers=servers),
    }
    return {config.dagster.name(own): resource for own, resource in found.items()}


def keys_of(config: Config) -> set[str]:
    """The names of the resources, which every asset requires."""
    return {config.dagster.name(own) for own in ("state", "models", "language_models")}


def of_run(resources: object, config: Config) -> Config:
    """`config` with what the resources of a run say.

    Args:
        resources: `context.resources` of a step.
        config: What defines the graph.

    Raises:
        ConfigError: They name a model that the config does not have.
    """
    names = config.dagster
    paths = getattr(resources, names.name("models")).paths
    servers = getattr(resources, names.name("language_models")).servers
    for kind, given, known in (
        ("models", paths, config.models),
        ("language_models", servers, config.language_models),
    ):
        for unknown in given.keys() - known.keys():
            raise ConfigError(
                f"the resource {names.name(kind)} names {unknown}, which is not in the config's "
                f"{kind}{did_you_mean(unknown, known)}"
            )
    models = {
        name: model.model_copy(update={"path": paths.get(name, model.path)})
        for name, model in config.models.items()
    }
    language_models = {
        name: model.model_copy(update={"base_url": HttpUrl(servers[name])})
        if name in servers
        else model
        for name, model in config.language_models.items()
    }
    return config.model_copy(
        update={
            "state_dir": Path(getattr(resources, names.name("state")).folder),
            "models": models,
            "language_models": language_models,
        }
    )
