"""From the config to a design: what each experiment compares, on which questions.

The files of `rag_assets/config/designs` describe designs with gaps, which are filled in here:

- `$name` stands for a setting, a value of a loop, or what `computed` adds; `{name}`, in a text, for
  the same as text. A key whose value is null is left out.
- `over` makes an arm of each combination of values of its loops; the last turns fastest. A
  loop with several names takes each value apart.
- `by` names the setting that chooses among the values beside it.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from pydantic import TypeAdapter

from rag_assets.config import Config, ConfigError, Experiment, Retriever
from rag_assets.evaluation import questions as question_sets
from rag_assets.evaluation.questions import Question
from rag_assets.laboratory.experiments.computed import COMPUTED, Given
from rag_assets.laboratory.experiments.design import (
    MEASURES,
    Design,
    ExperimentArm,
    ExperimentError,
)
from rag_assets.retrieval.filters import Filters
from rag_assets.store import Store

Scope = Mapping[str, object]
"""What the gaps of a design are filled with, by name."""


def variants_of(config: Config, name: str) -> list[str]:
    """The variants that the experiment called `name` compares.

    Raises:
        ConfigError: There is no such experiment.
    """
    experiment = experiment_of(config, name)
    base = experiment.variant or next(iter(config.variants))
    own = [config.variant_like(recipe) for recipe in experiment.recipes(config.variant(base))]
    own = [arm.variant or base for arm in experiment.listed] or own
    return list(dict.fromkeys(own))


def buildable(config: Config, name: str) -> list[str]:
    """The variants of an experiment that can be built here: parsers may not be installed."""
    variants = variants_of(config, name)
    if "parser" not in experiment_of(config, name).described.vary:
        return variants
    from rag_assets.documents.parsers.by_media_type import unavailable

    parsers = {variant: config.variant(variant).parser for variant in variants}
    return [
        variant
        for variant, parser in parsers.items()
        if unavailable(config.parsers[parser], name=parser) is None
    ]


def experiment_of(config: Config, name: str) -> Experiment:
    """The experiment called `name`.

    Raises:
        ConfigError: There is none of that name.
    """
    if name not in config.experiments:
        known = ", ".join(config.experiments) or "none: see docs/experiments.md"
        raise ConfigError(f"no experiment is named {name!r}; the config has {known}")
    return config.experiments[name]


def design_of(store: Store, config: Config, name: str, *, questions: Sequence[Question]) -> Design:
    """The design of the experiment called `name`.

    Raises:
        ConfigError: There is no such experiment.
        ExperimentError: It has no arm, or two of one name.
    """
    experiment = experiment_of(config, name)
    base = experiment.variant or next(iter(config.variants))
    given = Given(store, config, experiment, base, questions)
    return filled_in(experiment, _computed(given), config=config, base=base)


def _computed(given: Given) -> Scope:
    """What the design of an experiment needs beside its settings."""
    match given.experiment.design:
        case "index_size":
            from rag_assets.laboratory.experiments.index_size import index_size as values
        case "parser_comparison":
            from rag_assets.laboratory.experiments.parser_comparison import (
                parser_comparison as values,
            )
        case "condensation":
            from rag_assets.laboratory.experiments.follow_ups import condensation as values
        case "graph_retrieval":
            from rag_assets.laboratory.experiments.graph_answers import graph_retrieval as values
        case "report_retrieval":
            from rag_assets.laboratory.experiments.report_design import report_retrieval as values
        case design:
            values = COMPUTED.get(design, _nothing)
    return values(given)


def _nothing(_given: Given) -> Scope:
    return {}


def filled_in(experiment: Experiment, values: Scope, *, config: Config, base: str) -> Design:
    """The design of `experiment`, its gaps filled with its settings and with computed `values`.

    Raises:
        ExperimentError: It has no arm, or two of one name.
    """
    described = experiment.described
    scope = {**MEASURES, **dict(experiment), "base": config.variant(base), **values}
    grids = described.arms
    if described.arms_of:
        grids = {grid: grids[grid] for grid in experiment.value(described.arms_of, list)}
    varied = tuple(described.vary)
    arms = [
        arm
        for grid in grids.values()
        for arm in _arms(grid, scope, varied=varied, config=config, base=base)
    ]
    names = [arm.name for arm in arms]
    first = names[0] if names else None
    layout = _filled(described.layout, {**scope, "first": first})
    assert isinstance(layout, dict), "the keys of a design"
    if layout.get("reference") not in names:  # the base's own may not be among what is compared
        layout |= {"reference": first} if "reference" in layout else {}
    notes = [line for note in layout.get("notes", []) for line in _listed(note)]
    return _adapter().validate_python({**layout, "arms": arms, "notes": notes})


def _arms(
    grid: Mapping[str, object], scope: Scope, *, varied: Sequence[str], config: Config, base: str
) -> Iterator[ExperimentArm]:
    """The arms of a grid: one for each combination of the values of its loops."""
    loops = _filled(grid.get("over", {}), scope)
    assert isinstance(loops, dict), "values by name"
    for values in product(*(_turns(names, values) for names, values in loops.items())):
        inner = {**scope, **{name: value for turn in values for name, value in turn.items()}}
        arm = _filled({key: value for key, value in grid.items() if key != "over"}, inner)
        assert isinstance(arm, dict), "the keys of an arm"
        recipe = config.variant(base).model_copy(update={part: inner[part] for part in varied})
        filters = arm.get("filters")
        yield ExperimentArm(
            name=", ".join(str(part) for part in arm["name"] if part is not None),
            variant=arm.get("variant") or (config.variant_like(recipe) if varied else base),
            retriever=Retriever.model_validate(arm["retriever"]),
            factors=arm["factors"],
            filters=Filters(**filters) if isinstance(filters, dict) else filters,
            texts=arm.get("texts", {}),
            group=arm.get("group", ""),
        )


def _turns(names: str, values: object) -> list[dict[str, object]]:
    """The turns of a loop: in each, a value for each of its names."""
    given: list[Any] = list(values.items()) if isinstance(values, dict) else _listed(values)
    named = names.split(", ")
    if len(named) == 1:
        return [{names: value} for value in given]
    return [dict(zip(named, value, strict=True)) for value in given]


def _filled(template: object, scope: Scope) -> object:
    """`template` with its gaps filled, at any depth: see the top of this module."""
    if isinstance(template, str):
        return scope[template[1:]] if template.startswith("$") else template.format_map(scope)
    if isinstance(template, list):
        return [_filled(each, scope) for each in template]
    if not isinstance(template, dict):
        return template
    if "by" in template:
        return _filled(template[scope[template["by"]]], scope)
    filled = {key: _filled(value, scope) for key, value in template.items()}
    return {key: value for key, value in filled.items() if value is not None}


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


@cache
def _adapter() -> TypeAdapter[Design]:
    return TypeAdapter(Design)


def questions_of(store: Store, config: Config, name: str) -> list[Question]:
    """The questions of the experiment called `name`: by its question sets, or of its own file.

    Questions that a program wrote are used where it names their set, compares sets, or has no
    others.

    Raises:
        ConfigError: There is no such experiment.
        ExperimentError: There are none, or none of a set that it names.
    """
    experiment = experiment_of(config, name)
    if experiment.design == "condensation":
        from rag_assets.laboratory.experiments.follow_ups import full_questions

        return full_questions(experiment)
    if experiment.design == "report_retrieval":
        from rag_assets.laboratory.experiments.report_design import report_questions

        return report_questions(experiment)
    every = question_sets.read_questions(store)
    known = {question.question_set for question in every}
    unknown = sorted(set(experiment.questions) - known)
    if unknown or not every:
        raise ExperimentError(
            f"there are no questions of the set {unknown[0]!r}; imported are "
            f"{', '.join(sorted(known)) or 'none'}"
            if unknown
            else "there are no questions to measure with: name a file under evaluation.questions "
            "in the config, with others than of the split train, and refresh"
        )
    if experiment.described.layout.get("compares_sets") or experiment.questions:
        return [one for one in every if one.question_set in (experiment.questions or known)]
    return question_sets.brought(every, config)
