"""The section `checks`: what must hold of each stage's tables, with bounds and severity.

These are the defaults; the config file overrides what it names and keeps the rest. `name: warning`
is short for `name: {severity: warning}`, and `off` leaves a check out. Users add expectations of
their own by the name of a Great Expectations class; names and columns are checked on load, without
importing Great Expectations.
"""

import re
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, JsonValue, field_validator, model_validator

from rag_assets import schemas
from rag_assets.config.base import Section, Slug

RANKING_COLUMNS = (
    "retriever",
    "question_id",
    "rank",
    "unit_id",
    "score",
    "domain",
    "source",
    "uri",
    "table",
    "row_key",
    "pages",
    "index",
    "char_start",
    "char_end",
    "text_hash",
)
"""Columns of the rankings that an evaluation stores."""


def _severity(value: object) -> object:
    return "off" if value is False else value  # YAML reads a bare `off` as false


Severity: TypeAlias = Annotated[
    Literal["error", "warning", "off"],
    BeforeValidator(_severity),
    Field(description="an error blocks what comes after, a warning shows, off leaves it out"),
]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


def _spelled_out(value: object) -> object:
    return {"severity": value} if isinstance(value, (str, bool)) else value


class Check(Section):
    """A check that allows no exception."""

    severity: Severity = "error"


class Bound(Check):
    """A check that allows up to `max`."""

    max: float = Field(0, ge=0, description="the largest value that passes")


class Drift(Check):
    """How far a table may differ from that of the last accepted run; null: not compared."""

    severity: Severity = "warning"
    rows: float | None = Field(0.3, ge=0, description="relative change of the number of rows")


class CellDrift(Drift):
    """Drift of a table with cells that may be empty."""

    nulls: Share | None = Field(0.1, description="change of a column's share of empty cells")


class TextDrift(Drift):
    """Drift of a table of texts."""

    lengths: float | None = Field(0.25, ge=0, description="relative change of the mean length")
    languages: Share | None = Field(0.1, description="share of the texts whose language changed")


class ElementDrift(TextDrift, CellDrift):
    """Drift of a table of texts with cells that may be empty."""


class VectorDrift(Drift):
    """Drift of a table of vectors."""

    norms: float | None = Field(0.01, ge=0, description="change of the mean length of the vectors")
    centroid: float | None = Field(
        0.05, ge=0, description="cosine distance between the means of the vectors"
    )


class Declared(Section):
    """An expectation of one's own, by the name of its Great Expectations class."""

    expect: str = Field(description="class, such as ExpectColumnValuesToMatchRegex")
    column: str | None = Field(None, description="the column it looks at, if it looks at one")
    arguments: dict[str, JsonValue] = Field({}, description="the other arguments of the class")
    severity: Severity = "warning"
    name: Slug | None = Field(None, description="made from class and column unless given")
    description: str = Field("", description="what it says, for people")

    @field_validator("expect")
    @classmethod
    def _class_exists(cls, value: str) -> str:
        known = expectation_classes()
        if value not in known:
            alike = get_close_matches(value, known, n=1)
            hint = f"did you mean {alike[0]}?" if alike else "see the gallery of expectations"
            raise ValueError(f"Great Expectations has no such class: {hint}")
        return value

    @property
    def label(self) -> str:
        """The name it goes by."""
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.expect.removeprefix("Expect")).lower()
        return self.name or "_".join([words, *([self.column] if self.column else [])])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, in the order in which they are named."""
        named: list[JsonValue] = [self.column]
        for key in ("column_A", "column_B", "column_list"):
            value = self.arguments.get(key)
            named += value if isinstance(value, list) else [value]
        return tuple(dict.fromkeys(name for name in named if isinstance(name, str)))


class StageChecks(Section):
    """The checks of one stage."""

    COLUMNS: ClassVar[tuple[str, ...]] = ()
    """The columns that expectations of a user may name."""

    ids_unique: Check = Check()
    expectations: list[Declared] = Field([], description="expectations of your own")

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, value: object) -> object:
        """Settings of a check that the file does not name keep that check's own defaults."""
        if not isinstance(value, dict):
            return value
        merged = dict(value)
        for name, given in value.items():
            field = cls.model_fields.get(str(name))
            default = field.default if field else None
            given = _spelled_out(given) if isinstance(default, Check) else given
            if isinstance(default, Check) and isinstance(given, dict):
                given = {**default.model_dump(), **given}
            merged[name] = given
        return merged

    @model_validator(mode="after")
    def _expectations_fit(self) -> Self:
        names = set(type(self).model_fields)
        for place, declared in enumerate(self.expectations):
            unknown = [name for name in declared.columns if name not in self.COLUMNS]
            if unknown:
                raise ValueError(
                    f"expectations.{place}.column: there is no column {unknown[0]!r} in this "
                    f"stage; there are {', '.join(self.COLUMNS)}"
                )
            if declared.label in names:
                raise ValueError(
                    f"expectations.{place}: another check of this stage is named "
                    f"{declared.label}: give this one a `name` of its own"
                )
            names.add(declared.label)
        return self


class SourceChecks(Section):
    """The check `source_readable` of each asset that reads a source."""

    fails_after: int = Field(
        3,
        ge=1,
        description="a source that cannot be read is a warning, and an error once so many "
        "refreshes in a row could not read it; it never blocks what comes after",
    )


class DocumentChecks(StageChecks):
    """Checks of the manifest of source files."""

    COLUMNS = tuple(schemas.DOCUMENT_FILES.names)

    few_files_unusable: Bound = Bound(severity="warning", max=0.1)
    drift: CellDrift = CellDrift()


class ElementChecks(StageChecks):
    """Checks of parsed documents."""

    COLUMNS = tuple(schemas.ELEMENTS.names)

    types_known: Check = Check()
    documents_complete: Check = Check()
    few_documents_failed: Bound = Bound(severity="warning", max=0.1)
    few_pages_lost: Bound = Bound(max=0.5)
    few_letters_lost: Bound = Bound(max=0.5)
    few_letters_garbled: Bound = Bound(max=0.5)
    few_pages_empty: Bound = Bound(severity="warning", max=0.2)
    few_tables_doubtful: Bound = Bound(severity="warning", max=0.5)
    few_figures_lost: Bound = Bound(severity="warning", max=0.5)
    few_documents_of_unknown_language: Bound = Bound(severity="warning", max=0.2)
    pages_of_each_document: Bound = Bound(severity="warning", max=0)
    letters_of_each_document: Bound = Bound(severity="warning", max=0.1)
    words_searchable: Check = Check(severity="warning")
    no_document_in_doubt: Bound = Bound(severity="warning", max=0)
    decoding_of_each_document: Bound = Bound(severity="warning", max=0.02)
    drift: ElementDrift = ElementDrift()


class ChunkChecks(StageChecks):
    """Checks of chunks."""

    COLUMNS = tuple(schemas.CHUNKS.names)

    text_present: Check = Check()
    tokens_fit: Check = Check()
    spans_valid: Check = Check()
    documents_complete: Check = Check()
    drift: TextDrift = TextDrift()


class RowChecks(StageChecks):
    """Checks of table rows."""

    COLUMNS = tuple(schemas.TABLE_ROWS.names)

    rows_complete: Check = Check()
    few_cells_empty: Bound = Bound(severity="warning", max=0.98)
    drift: CellDrift = CellDrift()


class SerializationChecks(StageChecks):
    """Checks of rows as text."""

    COLUMNS = tuple(schemas.SERIALIZED_ROWS.names)

    text_present: Check = Check()
    rows_complete: Check = Check()
    drift: TextDrift = TextDrift()


class VectorChecks(StageChecks):
    """Checks of the tables that are searched."""

    COLUMNS = tuple(schemas.units(1).names)

    vectors_normalised: Bound = Bound(max=0.01)
    units_complete: Check = Check()
    one_encoder: Check = Check()
    drift: VectorDrift = VectorDrift()


class RankingChecks(StageChecks):
    """Checks of what the retrievers return for the questions."""

    COLUMNS = RANKING_COLUMNS

    ranks_consecutive: Check = Check()
    scores_ordered: Check = Check()
    few_questions_unanswered: Bound = Bound(severity="warning", max=0.1)
    few_gold_missing: Bound = Bound(severity="warning", max=0.1)
    evaluation_sound: Check = Check(severity="warning")
    few_flaws: Check = Check(severity="warning")
    drift: Drift = Drift()


class Checks(Section):
    """What must hold of each stage."""

    sources: SourceChecks = SourceChecks()
    documents: DocumentChecks = DocumentChecks()
    elements: ElementChecks = ElementChecks()
    chunks: ChunkChecks = ChunkChecks()
    rows: RowChecks = RowChecks()
    serializations: SerializationChecks = SerializationChecks()
    vectors: VectorChecks = VectorChecks()
    rankings: RankingChecks = RankingChecks()


def expectation_classes() -> list[str]:
    """The expectation classes of the installed Great Expectations, found without importing it."""
    spec = find_spec("great_expectations")
    if spec is None or spec.origin is None:
        return []
    listed = Path(spec.origin).parent / "expectations" / "core" / "__init__.py"
    return sorted(set(re.findall(r"\bExpect[A-Z]\w+", listed.read_text("utf-8"))))
