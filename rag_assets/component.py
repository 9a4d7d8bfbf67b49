"""The component `rag_assets.RetrievalIndex`: an index as a few lines of YAML in a `dg` project.

type: rag_assets.RetrievalIndex
attributes:
  key_prefix: handbook
  file: rag_assets.yaml
"""

import json
import re
import sys
from collections.abc import Mapping
from os.path import relpath
from pathlib import Path
from typing import Any, Self

import dagster as dg
from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from rag_assets import definitions
from rag_assets.config import DEFAULT_FILE, Config, ConfigError, load, made_of
from rag_assets.config.json_schema import FILE

DATABASE = re.compile(r"[a-z0-9+]+://.+")
SQLITE = "sqlite:///"


class IndexAttributes(BaseModel):
    """What `attributes` of the component hold: a config, here or in a file, and what differs."""

    model_config = ConfigDict(extra="forbid")

    key_prefix: str | None = Field(
        None, description="begins the keys of all assets; that of the config unless given"
    )
    executor: bool = Field(
        False, description="whether the graph sets the executor of the whole code location"
    )
    file: Path | None = Field(
        None, description=f"a config file such as {DEFAULT_FILE}, which commands read as well"
    )
    config: dict[str, JsonValue] | None = Field(
        None, description="what would stand in that file; commands do not know it"
    )

    @model_validator(mode="after")
    def _has_one_config(self) -> Self:
        if (self.file is None) == (self.config is None):
            raise ValueError("give either file or config")
        return self

    @classmethod
    def model_json_schema(cls, *arguments: Any, **options: Any) -> dict[str, Any]:
        """The schema, with that of `rag_assets.yaml` below `config`."""
        schema = super().model_json_schema(*arguments, **options)
        whole = json.loads(FILE.read_text("utf-8"))
        schema["$defs"] = whole.pop("$defs")
        del whole["$schema"]
        schema["properties"]["config"] |= {"anyOf": [whole, {"type": "null"}]}
        return schema


class IndexScaffoldParams(BaseModel):
    """What is asked when an index is scaffolded."""

    documents: str = Field("", description="folder of documents")
    database: str = Field("", description="URL of a database, or a folder of CSV files")

    @model_validator(mode="after")
    def _has_a_source(self) -> Self:
        if not (self.documents or self.database) and sys.stdin.isatty():
            self.documents = input("Folder of documents (none: Enter): ").strip()
            self.database = input("URL of a database, or folder of CSV files: ").strip()
        if not (self.documents or self.database):
            raise ValueError(
                "name what is to be indexed: --documents FOLDER, --database URL, or both"
            )
        return self


class IndexScaffolder(dg.Scaffolder[IndexScaffoldParams]):
    """Writes `defs.yaml`, and beside it the config file that commands read, too."""

    @classmethod
    def get_scaffold_params(cls) -> type[IndexScaffoldParams]:
        """A folder and a database, one of which may be left out."""
        return IndexScaffoldParams

    def scaffold(self, request: dg.ScaffoldRequest[IndexScaffoldParams]) -> None:
        """Write both files."""
        import yaml

        asked = request.params
        folder = request.target_path
        root = request.project_root or Path.cwd()
        prefix = re.sub(r"[^a-z0-9]+", "_", folder.name.lower()).strip("_") or "index"
        config = {
            "state_dir": relpath(root / "data" / prefix, folder),
            "dagster": {
                "key_prefix": prefix,
                "executor": False,
                "code_location": _code_location(root),
            },
            "sources": {
                "documents": [_source("documents", asked.documents, folder)]
                * bool(asked.documents),
                "tables": [_source("database", asked.database, folder)] * bool(asked.database),
            },
        }
        (folder / DEFAULT_FILE).write_text(yaml.safe_dump(config, sort_keys=False), "utf-8")
        dg.scaffold_component(request, {"key_prefix": prefix, "file": DEFAULT_FILE})


def _source(name: str, place: str, folder: Path) -> Mapping[str, str]:
    """A source at a place that was named in the working directory, as a file in `folder` has it."""
    if place.startswith(SQLITE) and not place.startswith(f"{SQLITE}/"):
        place = SQLITE + relpath(place.removeprefix(SQLITE), folder)
    elif not (DATABASE.fullmatch(place) or place.startswith("package:")):
        place = relpath(Path(place).expanduser(), folder)
    return {"name": name, "url": place}


def _code_location(root: Path) -> str:
    """What the project below `root` calls its code location."""
    import tomllib

    for file in (root / "dg.toml", root / "pyproject.toml"):
        if file.is_file():
            found = tomllib.loads(file.read_text("utf-8"))
            project = found.get("tool", found).get("dg", found).get("project", {})
            return str(project.get("code_location_name") or root.name)
    return root.name


@dg.scaffold_with(IndexScaffolder)
class RetrievalIndex(dg.Component):
    """A retrieval index over documents and tables, kept fresh, measured and swappable."""

    def __init__(self, config: Config, *, key_prefix: str | None, executor: bool) -> None:
        self._config, self._key_prefix, self._executor = config, key_prefix, executor

    @classmethod
    def get_model_cls(cls) -> type[BaseModel]:
        """What `attributes` may hold."""
        return IndexAttributes

    @classmethod
    def load(cls, attributes: BaseModel | None, context: dg.ComponentLoadContext) -> Self:
        """The component of a `defs.yaml`; relative paths start at its folder.

        Raises:
            ConfigError: Its config cannot be used.
        """
        if not isinstance(attributes, IndexAttributes):
            raise ConfigError(
                "rag_assets.RetrievalIndex: give attributes.file or attributes.config"
            )
        folder = context.path if context.path.is_dir() else context.path.parent
        config = (
            load(folder / attributes.file)
            if attributes.file
            else made_of(attributes.config, path=folder / "defs.yaml")
        )
        prefix, of_config = attributes.key_prefix, config.dagster.key_prefix
        if config.file and prefix not in (None, of_config):
            raise ConfigError(
                f"key_prefix is {prefix} here and {of_config} in {config.file}, which commands "
                f"read: write `dagster: {{key_prefix: {prefix}}}` there"
            )
        return cls(config, key_prefix=prefix, executor=attributes.executor)

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:  # noqa: ARG002 - Dagster calls it so
        """The graph of the index."""
        return definitions.definitions(
            self._config, key_prefix=self._key_prefix, executor=self._executor
        )
