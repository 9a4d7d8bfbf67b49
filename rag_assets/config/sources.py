"""The section `sources`: where documents and tables come from."""

from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from rag_assets.config.base import MOST_SECONDS, Section, Slug, duplicates
from rag_assets.config.globs import file_pattern
from rag_assets.media.table_reading import Wishes

LONGEST_TABLE_NAME = 255
"""The most characters of a table's name."""


def _group(name: str) -> str:
    if not name.strip() or name != name.strip() or "," in name:
        raise ValueError("the name of a group has no comma, and no blanks around it")
    return name


Group: TypeAlias = Annotated[str, AfterValidator(_group)]
"""The name of a group of people: commas stand between several."""


class RowGroups(Section):
    """Each row of a table says itself who may see it."""

    column: str = Field(
        min_length=1,
        description="column, hidden or not, whose cell names the groups; commas between several",
    )


class DocumentSource(Section):
    """A folder or bucket of documents."""

    name: Slug = Field("documents", description="name of the source")
    url: str = Field(min_length=1, description="local folder, or an s3://, gs:// or az:// URL")
    include: list[str] = Field(["**/*"], description="glob patterns of the files to take")
    exclude: list[str] = Field([], description="glob patterns of the files to leave out")
    max_bytes: int = Field(200_000_000, gt=0, description="larger files get the status too_large")
    groups: dict[str, list[Group]] | None = Field(
        None,
        exclude=True,  # who may see a document changes nothing that is stored
        description="glob pattern: the groups that may see the documents it fits, the first one "
        "that fits; what none fits nobody sees. Open to all unless given",
    )

    @field_validator("groups")
    @classmethod
    def _patterns_are_globs(
        cls, value: dict[str, list[Group]] | None
    ) -> dict[str, list[Group]] | None:
        for glob in value or ():
            file_pattern(glob)
        return value


class TableLines(Section):
    """What the lines and marks of a CSV or XLSX file are, where a look at them would be wrong."""

    totals: Literal["leave_out", "keep"] = Field(
        "leave_out", description="what becomes of lines that sum up others"
    )
    empty: list[str] = Field([], description="more texts that stand for an empty cell")
    headings: int | None = Field(
        None,
        ge=0,
        description="how many lines of headings there are, that of units among them; 0: none",
    )
    units: int | None = Field(
        None, ge=1, description="which of the lines of headings, from 1, gives the units"
    )

    @property
    def wishes(self) -> Wishes:
        """The same, for whoever reads the table."""
        return Wishes(self.totals, self.empty, self.headings, self.units)


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
    decimal: Literal["point", "comma"] | None = Field(
        None,
        description="what begins the decimals of numbers in a CSV file, and in texts that `units` "
        "converts; the cells and what stands between them tell unless given",
    )
    read: TableLines = Field(
        TableLines(), description="what the lines of a CSV or XLSX file are, where the look errs"
    )
    hidden: list[str] | None = Field(
        None,
        description="columns kept out of the text; unless given, key columns of numbers and ids "
        "that programs make",
    )
    headings: dict[str, str] = Field(
        {}, description="column: heading in plain words, unit in square brackets"
    )
    units: dict[str, str] = Field(
        {},
        description="column: unit to which its numbers are converted, from that of the cell, of a "
        "column of units behind it, or of the heading; the original is shown beside",
    )

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Without what says nothing: tables of before are then not read anew."""
        written = handler(self)
        if self.read == TableLines():
            written.pop("read", None)
        if not self.units:
            written.pop("units", None)
        return written

    @field_validator("units")
    @classmethod
    def _units_are_known(cls, value: dict[str, str]) -> dict[str, str]:
        from rag_assets.terms.units import is_money, pint_unit

        for column, unit in value.items():
            if pint_unit(unit) is None and not is_money(unit):
                raise ValueError(f"{column}: {unit!r} is no unit that numbers can be converted to")
        return value

    @property
    def is_pattern(self) -> bool:
        """Whether the name stands for several tables."""
        return any(mark in self.name for mark in "*?[")


def _table_specs(value: object) -> object:
    if isinstance(value, list):
        return [item if isinstance(item, (dict, TableSpec)) else {"name": item} for item in value]
    return value


class TableSource(Section):
    """A database, a folder of CSV, Parquet or XLSX files, or a dlt source."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["url"]}, {"required": ["dlt"]}]}
    )

    name: Slug = Field("tables", description="name of the source")
    url: SecretStr | None = Field(
        None,
        min_length=1,
        description="SQLAlchemy URL, or folder or s3://, gs://, az:// URL of tabular files; "
        "package:NAME/PATH names a file or folder inside an installed Python package",
    )
    dlt: str | None = Field(
        None,
        pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*$",
        description="package.module:NAME of a dlt source or resource, instead of a URL; modules "
        "are looked for in the folder of this file first",
    )
    incremental: bool = Field(
        False,
        description="let a dlt source go on from its cursors; else each refresh reads all of it",
    )
    db_schema: str | None = Field(None, alias="schema", description="database schema")
    tables: Annotated[
        list[TableSpec],
        BeforeValidator(_table_specs, json_schema_input_type=list[TableSpec | str]),
    ] = Field(
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
    hidden: Literal["leave_out", "keep"] = Field(
        "leave_out",
        description="what becomes of hidden sheets, rows and columns of workbooks; rows that a "
        "filter hides are kept",
    )
    headings_file: Path | None = Field(
        None, description="CSV with the columns table, column, heading and unit"
    )
    groups: dict[str, list[Group] | RowGroups] | None = Field(
        None,
        exclude=True,  # who may see a row changes nothing that is stored
        description="table name or pattern: the groups that may see its rows, or the column that "
        "names them; the first one that fits. What none fits nobody sees. Open to all unless given",
    )
    _folder: Path | None = PrivateAttr(None)

    @field_validator("tables")
    @classmethod
    def _tables_are_named_once(cls, value: list[TableSpec]) -> list[TableSpec]:
        if twice := duplicates(spec.name for spec in value):
            raise ValueError(f"two entries are named {twice[0]}: make one of them")
        return value

    @model_validator(mode="after")
    def _has_one_place(self) -> Self:
        if (self.url is None) == (self.dlt is None):
            raise ValueError(f"{self.name}: name either a url or a dlt source, one of them")
        if self.incremental and self.dlt is None:
            raise ValueError(
                f"{self.name}.incremental is for dlt sources: name a cursor of a table instead"
            )
        return self

    @property
    def folder(self) -> Path:
        """The folder of the config's file; the working directory without a file."""
        return self._folder or Path.cwd()

    @property
    def is_database(self) -> bool:
        """Whether the URL is a SQLAlchemy URL rather than a place of files."""
        url = self.url.get_secret_value() if self.url else ""
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

    documents: Annotated[
        list[DocumentSource],
        BeforeValidator(
            _document_sources,
            json_schema_input_type=str | DocumentSource | list[DocumentSource | str],
        ),
    ] = Field([], description="a folder or bucket, or several with a name each")
    tables: Annotated[
        list[TableSource],
        BeforeValidator(
            _document_sources, json_schema_input_type=str | TableSource | list[TableSource | str]
        ),
    ] = Field([], description="a database or folder of tables, or several with a name each")

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [source.name for source in (*self.documents, *self.tables)]
        if twice := duplicates(names):
            raise ValueError(f"two sources are named {', '.join(twice)}: give each its own name")
        if alike := duplicates(name.replace("-", "_") for name in names):
            raise ValueError(
                f"two source names differ only in - and _ ({alike[0]}), which Dagster takes for "
                "the same: rename one of them"
            )
        return self
