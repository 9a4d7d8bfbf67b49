"""The section `checks`: what must hold of each stage's tables, with bounds and severity.

The file `checks.yaml` has the defaults; the config file overrides what it names and keeps the rest.
`name: warning` is short for `name: {severity: warning}`, and `off` leaves a check out. Users add
expectations of their own by the name of a Great Expectations class; names and columns are checked
on load, without importing Great Expectations.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    create_model,
    field_validator,
    model_validator,
)

from rag_assets import schemas
from rag_assets.config.base import Section, Slug, read_data
from rag_assets.config.errors import did_you_mean


def _severity(value: object) -> object:
    return "off" if value is False else value  # YAML reads a bare `off` as false


Severity: TypeAlias = Annotated[
    Literal["error", "warning", "off"],
    BeforeValidator(_severity),
    Field(description="an error blocks what comes after, a warning shows, off leaves it out"),
]
COLUMNS: Mapping[str, Sequence[str]] = {
    "documents": schemas.DOCUMENT_FILES.names,
    "elements": schemas.ELEMENTS.names,
    "chunks": schemas.CHUNKS.names,
    "rows": schemas.TABLE_ROWS.names,
    "serializations": schemas.SERIALIZED_ROWS.names,
    "vectors": schemas.units(1).names,
    "links": schemas.UNIT_LINKS.names,
    "rankings": schemas.RANKING_COLUMNS,
}
"""The columns of each stage's table."""


def _spelled_out(value: object) -> object:
    return {"severity": value} if isinstance(value, (str, bool)) else value


class Check(Section):
    """A check that allows no exception."""

    severity: Severity = "error"


class Bound(Check):
    """A check that allows up to `max`."""

    max: float = Field(0, ge=0, description="the largest value that passes")


class Drift(Check):
    """How far a table may differ from that of the last accepted run; null: not compared.

    Its other fields are those measures of drift that its stage has.
    """

    severity: Severity = "warning"


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
            hint = did_you_mean(value, known) or ": see the gallery of expectations"
            raise ValueError(f"Great Expectations has no such class{hint}")
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

    columns: ClassVar[Sequence[str]] = ()
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
            unknown = [name for name in declared.columns if name not in self.columns]
            if unknown:
                raise ValueError(
                    f"expectations.{place}.column: there is no column {unknown[0]!r} in this "
                    f"stage; there are {', '.join(self.columns)}"
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


class CheckEntry(Section):
    """A check as `checks.yaml` describes it, or a measure of drift."""

    of: str = Field(description="the measured total that it bounds")
    says: str = Field(description="what holds, for people")
    severity: Severity = "error"
    max: float | None = Field(None, description="the bound, which a config may change")
    most: int = Field(0, description="a bound that no config changes")
    remedy: str | None = Field(
        None, description="what to do about a miss; it is a defect unless given"
    )
    about: str | None = Field(None, description="what a measure of drift is")
    is_share: bool = Field(False, description="whether a measure of drift is at most 1")


class StageEntry(Section):
    """A stage as `checks.yaml` describes it."""

    drift: list[str]
    checks: dict[str, CheckEntry]


class CheckEntries(Section):
    """The file `checks.yaml`."""

    drift: dict[str, CheckEntry]
    stages: dict[str, StageEntry]


@cache
def entries() -> CheckEntries:
    """What must hold of each stage, and how it is measured that a table has drifted."""
    return CheckEntries.model_validate(read_data(Path(__file__).with_name("checks.yaml")))


@cache
def stage_checks(stage: str) -> type[StageChecks]:
    """The section of a stage: a field for each of its checks, and one for drift."""
    entry = entries().stages[stage]
    measures: dict[str, Any] = {name: _measure(entries().drift[name]) for name in entry.drift}
    title = stage.capitalize()
    drift = create_model(f"{title}Drift", __base__=Drift, **measures)
    fields: dict[str, Any] = {name: _check(check) for name, check in entry.checks.items()}
    section = create_model(f"{title}Checks", __base__=StageChecks, **fields, drift=(drift, drift()))
    section.columns = COLUMNS[stage]
    globals().update({made.__name__: made for made in (section, drift)})  # where pickle looks
    return section


def _check(entry: CheckEntry) -> tuple[type[Check], Check]:
    if entry.max is None:
        return Check, Check(severity=entry.severity)
    return Bound, Bound(severity=entry.severity, max=entry.max)


def _measure(entry: CheckEntry) -> tuple[Any, Any]:
    """A bound that may be null: then the table is not compared by this measure."""
    most = 1 if entry.is_share else None
    kind = Annotated[float, Field(ge=0, le=most)] | None
    return kind, Field(entry.max, description=entry.about)


class StagesChecks(Section):
    """What must hold of each stage: see `Checks`, whose fields are the stages."""

    sources: SourceChecks = SourceChecks()

    def of(self, stage: str) -> StageChecks:
        """The checks of a stage."""
        found = getattr(self, stage)
        assert isinstance(found, StageChecks), stage
        return found


if TYPE_CHECKING:
    Checks = StagesChecks
else:
    Checks = create_model(
        "Checks",
        __base__=StagesChecks,
        **{stage: (stage_checks(stage), stage_checks(stage)()) for stage in COLUMNS},
    )


def expectation_classes() -> list[str]:
    """The expectation classes of the installed Great Expectations, found without importing it."""
    spec = find_spec("great_expectations")
    if spec is None or spec.origin is None:
        return []
    listed = Path(spec.origin).parent / "expectations" / "core" / "__init__.py"
    return sorted(set(re.findall(r"\bExpect[A-Z]\w+", listed.read_text("utf-8"))))
