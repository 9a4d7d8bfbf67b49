"""The sections `experiments` and `answer_experiments`: what is compared, under one protocol.

Each experiment names a design and may change its settings; all other settings are those of the
paper that the design comes from (P0 to P4: see docs/experiments.md). A design is a file of the
folder `designs`: its settings, arms and tables. Only the designs that a config names are read. The
variants that an experiment compares need not be in the config file: missing ones are added.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar, Union

from pydantic import (
    BeforeValidator,
    Field,
    PlainValidator,
    SerializeAsAny,
    ValidationInfo,
    create_model,
    model_validator,
)
from pydantic_core import PydanticUndefined

from rag_assets.config.base import Section, Slug, read_data
from rag_assets.config.errors import did_you_mean
from rag_assets.config.recipes import SerializerName, Variant
from rag_assets.config.retrieval import (
    FusionMode,
    Retriever,
    RetrieverName,
    RewritingStrategy,
    Signal,
    Weight,
)

DESIGNS = Path(__file__).parent / "designs"
"""Folder of the designs that come with the project, a YAML file each."""
Criterion: TypeAlias = Literal["mrr", "hit_rate", "ndcg", "recall", "map"]
Domain: TypeAlias = Literal["document", "table"]
T = TypeVar("T")


class ComparedArm(Section):
    """One arm of an experiment of your own."""

    name: str = Field(min_length=1)
    variant: Slug | None = Field(None, description="that of the experiment unless given")
    retriever: RetrieverName | Retriever = Field("hybrid", description="a name, or its settings")


KINDS: Mapping[str, object] = {
    "name": Slug,
    "path": Path,
    "count": Annotated[int, Field(gt=0)],
    "several": Annotated[int, Field(gt=1)],
    "positive": Annotated[float, Field(gt=0)],
    "criterion": Criterion,
    "serializer": SerializerName,
    "mode": FusionMode,
    "signal": Signal,
    "signals": Annotated[list[Signal], Field(min_length=1)],
    "signal_weights": dict[Signal, Weight],
    "domain_weights": dict[Domain, Weight],
    "retriever": RetrieverName,
    "language_model": Slug,
    "strategy": RewritingStrategy,
    "arm": ComparedArm,
}
"""What a setting of a design may be."""


class Setting(Section):
    """A setting of a design, as its file declares it."""

    kind: str = Field(description="a key of `KINDS`, `choice`, or `list of` either")
    choices: tuple[str, ...] = Field((), description="what a choice may be")
    default: object = Field(None, description="null: it may be left out; required unless given")
    description: str | None = None


class DesignFile(Section):
    """A design as its file describes it; `rag_assets.laboratory.experiments` makes arms of it."""

    about: str = Field(description="what is compared, in a sentence")
    settings: dict[str, Setting] = Field(description="what an experiment may set")
    vary: dict[str, list[str]] = Field(
        {}, description="parts of a variant that the arms vary: the settings with its values"
    )
    arms: dict[str, dict[str, object]] = Field(description="grids of arms, in order")
    arms_of: str | None = Field(None, description="the setting that chooses and orders the grids")
    layout: dict[str, object] = Field(description="title, source, tables, figures and the rest")


class Experiment(Section):
    """What all experiments have in common; the settings of its design are fields as well."""

    described: ClassVar[DesignFile]
    """The file of the experiment's design."""

    title: str | None = Field(None, description="shown instead of the design's own title")
    variant: Slug | None = Field(
        None, description="the variant from which those that are compared are made; the first"
    )
    questions: list[Slug] = Field([], description="question sets to use; all unless given")
    criterion: Criterion = Field(
        "mrr", description="settings are chosen by this metric at k = 10 over all dev questions"
    )
    reranker: Slug | None = Field(
        "late_interaction", description="orders the top_k units of every arm; null: their own order"
    )
    design: str

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled by its settings: pickle would not find its class, which is made when needed."""
        return _of_record, (self.model_dump(),)

    def value(self, name: str, kind: type[T]) -> T:
        """The value of the setting `name` of the design, which is a `kind`."""
        value = getattr(self, name)
        assert isinstance(value, kind), f"{self.design}.{name} is {value!r}"
        return value

    def named(self, kind: str) -> dict[str, str]:
        """The settings of a `kind` that is a name, with the names given."""
        declared = self.described.settings.items()
        return {
            name: value
            for name, setting in declared
            if setting.kind == kind and (value := getattr(self, name)) is not None
        }

    @property
    def files(self) -> dict[str, Path]:
        """The settings that are files, with the files given."""
        return {name: value for name, value in self if isinstance(value, Path)}

    @property
    def listed(self) -> list[ComparedArm]:
        """The arms that it lists itself."""
        arms = getattr(self, "arms", [])
        return [arm for arm in arms if isinstance(arm, ComparedArm)]

    def recipes(self, base: Variant) -> list[Variant]:
        """The variants that are compared; `base` is what `variant` names."""
        found = [base]
        for part, names in self.described.vary.items():
            values = [value for name in names for value in _listed(getattr(self, name))]
            found = [base.model_copy(update={part: value}) for value in values]
        return found

    def derived(self, variants: dict[Slug, Variant]) -> dict[Slug, Variant]:
        """The variants that are compared and that `variants` lacks, with a name for each.

        Raises:
            ValueError: `variants` has none called `variant`, or another one under a name needed.
        """
        name = self.variant or next(iter(variants))
        if name not in variants:
            known = ", ".join(variants)
            raise ValueError(f"an experiment asks for variant {name!r}; there are {known}")
        base = variants[name]
        lacking = [recipe for recipe in self.recipes(base) if recipe not in variants.values()]
        named = {_name_of(recipe, base=base, prefix=name): recipe for recipe in lacking}
        clashing = sorted(named.keys() & variants.keys())
        if clashing:
            raise ValueError(
                f"an experiment adds a variant {clashing[0]!r}, and the config has another one of "
                "that name: rename it"
            )
        return named


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _name_of(recipe: Variant, *, base: Variant, prefix: str) -> Slug:
    parts = recipe.model_dump()
    changed = [value for part, value in parts.items() if value != getattr(base, part)]
    return "_".join([prefix, *changed])


def _field_of(setting: Setting) -> tuple[Any, Any]:
    """The type of a setting, and the field that has it, as pydantic makes classes of."""
    name = setting.kind.removeprefix("list of ")
    kind = Literal.__getitem__(setting.choices) if name == "choice" else KINDS[name]
    is_list = name != setting.kind
    if is_list:
        kind = GenericAlias(list, (kind,))
    default = setting.default
    if "default" not in setting.model_fields_set:
        default = PydanticUndefined
    elif default is None:
        kind = Union.__getitem__((kind, None))
    few = 1 if is_list else None
    return kind, Field(default, description=setting.description, min_length=few)


def design_names() -> list[str]:
    """The designs that come with the project."""
    return sorted(file.stem for file in DESIGNS.glob("*.yaml"))


@cache
def experiments_of(design: str) -> type[Experiment]:
    """The section of an experiment of `design`, with the settings of its file as fields.

    Raises:
        ValueError: There is no such design.
    """
    if design not in design_names():
        there = f"{', '.join(design_names())}{did_you_mean(design, design_names())}"
        raise ValueError(f"there is no design {design!r}: there are {there}")
    described = DesignFile.model_validate(read_data(DESIGNS / f"{design}.yaml"))
    fields: dict[str, Any] = {
        name: _field_of(setting) for name, setting in described.settings.items()
    }
    section = create_model(f"{design}_experiment", __base__=Experiment, **fields)
    section.described = described
    return section


def with_design(name: str, given: object) -> object:
    """`NAME: {}` means the design NAME; an experiment that lists arms is one of arms."""
    lists_arms = isinstance(given, dict) and "arms" in given
    return _with_design("arms" if lists_arms else name, given)


def _with_design(name: str, given: object) -> object:
    settings = {} if given is None else given
    return {"design": name, **settings} if isinstance(settings, dict) else settings


def _designed(value: object) -> object:
    if isinstance(value, dict):
        return {name: with_design(name, given) for name, given in value.items()}
    return value


def _answers_designed(value: object) -> object:
    if isinstance(value, dict):
        return {name: _with_design(name, given) for name, given in value.items()}
    return value


class AnswerExperiment(Section):
    """An experiment that answers the same questions under conditions that differ in one thing."""

    design: Literal["citation_ablation", "rag_or_not", "writers"] = Field(
        description="citation_ablation: with and without rules of citing (P4); rag_or_not: with "
        "and without sources (P1, section 5); writers: several models, ranked (P1, figure 6)"
    )
    title: str | None = Field(None, description="shown instead of the design's own title")
    variant: Slug | None = Field(None, description="what is searched; the first variant")
    split: str = Field("test", description="questions of this split")
    most_questions: int = Field(
        200,
        gt=0,
        description="of the split, spread over it evenly",
    )
    writer: Slug | None = Field(
        None, description="entry of language_models; answering.writer, or else the first"
    )
    writers: list[Slug] = Field(
        [], description="of the design writers: the entries of language_models that are compared"
    )
    sources: bool = Field(
        True, description="of the design writers: whether they see what was found (P1: no)"
    )

    @model_validator(mode="after")
    def _several_writers_are_compared(self) -> Self:
        if (self.design == "writers") != (len(set(self.writers)) > 1):
            raise ValueError(
                "design: writers compares two writers or more, each named once: list them under "
                "writers; other designs have one writer"
            )
        return self


def _of_record(given: Mapping[str, object]) -> Experiment:
    return experiments_of(str(given["design"])).from_record(given)


def _experiment(given: object, info: ValidationInfo) -> Experiment:
    if isinstance(given, Experiment):
        return given
    if not isinstance(given, dict):
        raise ValueError("write the settings of the experiment as keys and values")
    return experiments_of(str(given["design"])).model_validate(given, context=info.context)


Experiments: TypeAlias = Annotated[
    dict[Slug, Annotated[SerializeAsAny[Experiment], PlainValidator(_experiment)]],
    BeforeValidator(_designed),
]
"""The experiments by name; `serializers:` alone is the design of that name with its defaults."""
AnswerExperiments: TypeAlias = Annotated[
    dict[Slug, AnswerExperiment],
    BeforeValidator(_answers_designed, json_schema_input_type=dict[str, AnswerExperiment | None]),
]
"""The experiments on answers by name; `citation_ablation:` alone is the design of that name with
its defaults."""
