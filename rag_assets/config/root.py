"""The whole file: all sections, their defaults, and what must hold across them."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from rag_assets.config import addresses
from rag_assets.config.alerts import Alerts
from rag_assets.config.answering import Answering
from rag_assets.config.base import (
    Owner,
    Section,
    Slug,
    check_named,
    merged_with_defaults,
)
from rag_assets.config.checks import Checks
from rag_assets.config.documents import DEFAULT_CHUNKINGS, Chunking, Documents
from rag_assets.config.errors import ConfigError, Problems, did_you_mean
from rag_assets.config.evaluation import Evaluation, QuestionSet
from rag_assets.config.experiments import AnswerExperiments, Experiments
from rag_assets.config.figures import Figures
from rag_assets.config.former_defaults import present
from rag_assets.config.gate import Gate
from rag_assets.config.glossary import GlossarySection
from rag_assets.config.indexes import IndexSettings
from rag_assets.config.language_models import (
    EMBEDDED,
    EMBEDDED_MODEL,
    NOBODY,
    LanguageModelSettings,
)
from rag_assets.config.links import LinkSettings
from rag_assets.config.models import DEFAULT_MODELS, EmbeddingModel
from rag_assets.config.named_models import (
    DescribingModel,
    describing_model,
    linking_model,
    with_marker_model,
)
from rag_assets.config.naming import Naming
from rag_assets.config.parsers import DEFAULT_PARSERS, ParserSettings
from rag_assets.config.questions import GENERATED_SETS, PEOPLE, Questions
from rag_assets.config.recipes import DEFAULT_MODEL, Tables, Variant
from rag_assets.config.retrieval import (
    DEFAULT_ENTRIES,
    OF_TWO_MODELS,
    Retrieval,
    Retriever,
)
from rag_assets.config.running import CleanUp, Execution, Schedule, Serving
from rag_assets.config.sources import Group, Sources
from rag_assets.config.training import TRAINED, RerankerTraining, Training
from rag_assets.schemas import VariantTables

logger = logging.getLogger(__name__)


class Config(Section):
    """The whole of `rag_assets.yaml`."""

    defaults: Annotated[int, AfterValidator(present)] = Field(
        3,
        ge=1,
        le=3,
        description="edition of the defaults that the file relies on; 3 is the only one there is",
    )
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
    previews: bool = Field(
        True,
        description="whether the Dagster UI shows the first rows of each table; hidden columns are "
        "never shown",
    )
    groups: list[Group] = Field(
        [], description="the groups of people that sources may name, to say who may see what"
    )
    sources: Sources = Sources()
    language_models: dict[Slug, LanguageModelSettings] = Field({}, validate_default=True)
    parsers: dict[Slug, ParserSettings] = Field({}, validate_default=True)
    figures: Figures = Figures()
    chunkings: dict[Slug, Chunking] = Field({}, validate_default=True)
    documents: Documents = Documents()
    tables: Tables = Tables()
    glossary: GlossarySection = Field(
        None, description="expressions that mean the same, for search by words"
    )
    links: LinkSettings = LinkSettings()
    training: Training = Training()
    models: dict[Slug, EmbeddingModel] = Field({}, validate_default=True)
    serving: Serving = Serving()
    experiments: Experiments = Field({})
    variants: dict[Slug, Variant] = Field(
        {"default": Variant()}, min_length=1, validate_default=True
    )
    index: IndexSettings = IndexSettings()
    execution: Execution = Execution()
    dagster: Naming = Naming()
    retrieval: Retrieval = Field(Retrieval(), validate_default=True)
    answering: Answering = Answering()
    answer_experiments: AnswerExperiments = Field({})
    evaluation: Evaluation = Evaluation()
    questions: Questions = Questions()
    gate: Gate = Gate()
    schedule: Schedule = Schedule()
    clean_up: CleanUp = CleanUp()
    checks: Checks = Checks()
    alerts: Alerts = Alerts()
    _file: Path | None = PrivateAttr(None)

    @property
    def file(self) -> Path | None:
        """The file that it was read from; None of one that was made otherwise."""
        return self._file

    @field_validator("language_models", mode="after")
    @classmethod
    def _with_embedded_model(
        cls, value: dict[str, LanguageModelSettings], info: ValidationInfo
    ) -> dict[str, LanguageModelSettings]:
        """The entries of the file first: the first one writes unless another is named."""
        sources = info.data.get("sources", Sources())
        known = {source.name for source in (*sources.documents, *sources.tables)}
        if NOBODY in value:
            raise ValueError(f"{NOBODY}: as a writer it means that nobody writes: rename the entry")
        for name, entry in value.items():
            for source in sorted(entry.allowed_sources or ()):
                check_named(source, sorted(known), kind="source", key=f"{name}.sources")
        return value if EMBEDDED in value else {**value, EMBEDDED: EMBEDDED_MODEL}

    @field_validator("parsers", mode="before")
    @classmethod
    def _with_default_parsers(cls, value: object) -> object:
        return merged_with_defaults(value, defaults=DEFAULT_PARSERS)

    @field_validator("parsers", mode="after")
    @classmethod
    def _with_marker_models(
        cls, value: dict[str, ParserSettings], info: ValidationInfo
    ) -> dict[str, ParserSettings]:
        entries = info.data.get("language_models", {})
        return {name: with_marker_model(parser, entries) for name, parser in value.items()}

    @field_validator("figures", mode="after")
    @classmethod
    def _describing_model_is_there(cls, value: Figures, info: ValidationInfo) -> Figures:
        describing_model(value, info.data.get("language_models", {}))
        return value

    @field_validator("links", mode="after")
    @classmethod
    def _linking_model_is_there(cls, value: LinkSettings, info: ValidationInfo) -> LinkSettings:
        linking_model(value, info.data.get("language_models", {}))
        return value

    @field_validator("chunkings", mode="before")
    @classmethod
    def _with_default_chunkings(cls, value: object) -> object:
        return merged_with_defaults(value, defaults=DEFAULT_CHUNKINGS)

    @field_validator("models", mode="before")
    @classmethod
    def _with_default_models(cls, value: object) -> object:
        return merged_with_defaults(value, defaults=DEFAULT_MODELS)

    @field_validator("models", mode="after")
    @classmethod
    def _with_trained_models(
        cls, value: dict[str, EmbeddingModel], info: ValidationInfo
    ) -> dict[str, EmbeddingModel]:
        """Each retriever that is trained is a model like the one that it starts from."""
        trained: dict[str, EmbeddingModel] = {}
        for name, recipe in info.data.get("training", Training()).retrievers.items():
            start, key = recipe.model or DEFAULT_MODEL, f"training.retrievers.{name}.model"
            check_named(start, value, kind="model", key=key)
            if value[start].path == f"{TRAINED}{name}" or start == name:
                raise ValueError(f"{key}: it cannot start from itself; name another model")
            if name in value and value[name].path != f"{TRAINED}{name}":
                raise ValueError(
                    f"training.retrievers.{name}: models has an entry of that name, "
                    f"{value[name].path}, which variants would use in its place: rename one, or "
                    f"let the path be {TRAINED}{name}"
                )
            like = {"path": f"{TRAINED}{name}", "revision": None}
            trained[name] = value[start].model_copy(update=like)
        return trained | value

    @field_validator("variants", mode="after")
    @classmethod
    def _with_compared_variants(
        cls, value: dict[str, Variant], info: ValidationInfo
    ) -> dict[str, Variant]:
        """Add the variants that experiments compare."""
        for experiment in info.data.get("experiments", {}).values():
            value = value | experiment.derived(value)
        return value

    @field_validator("retrieval", mode="after")
    @classmethod
    def _searches_what_serves(cls, value: Retrieval, info: ValidationInfo) -> Retrieval:
        """Let a reranker join the lists of two models, where no retriever is named."""
        variants, serving = info.data.get("variants", {}), info.data.get("serving", Serving())
        serves = variants.get(serving.variant or next(iter(variants), ""), Variant())
        if len(serves.models) == 1 or "retriever" in value.model_fields_set:
            return value
        return value.model_copy(update={"retriever": OF_TWO_MODELS})

    @model_validator(mode="after")
    def _names_resolve(self) -> Self:
        problems = Problems()
        self._check_variants(problems)
        self._check_parsers(problems)
        for name in self.evaluation.retrievers:
            with problems:
                self.retrieval.check_retriever(name, key="evaluation.retrievers")
        self._check_experiments(problems)
        self._check_answer_experiments(problems)
        self._check_language_models(problems)
        self._check_training(problems)
        self._check_groups(problems)
        with problems:
            check_named(self.serving.variant, self.variants, kind="variant", key="serving.variant")
        problems.tell()
        return self

    def _check_variants(self, problems: Problems) -> None:
        for name, variant in self.variants.items():
            for part, wanted, known in (
                ("parser", variant.parser, self.parsers),
                ("chunking", variant.chunking, self.chunkings),
                *(("model", model, self.models) for model in variant.models),
            ):
                with problems:
                    check_named(wanted, sorted(known), kind=part, key=f"variants.{name}.{part}")

    def _check_parsers(self, problems: Problems) -> None:
        for name, parser in self.parsers.items():
            with problems:
                if parser.python is not None and self.execution.parsing == "in_process":
                    raise ValueError(
                        f"parsers.{name}.python: another interpreter is another process; set "
                        "execution.parsing: processes"
                    )

    def _check_experiments(self, problems: Problems) -> None:
        for name, experiment in self.experiments.items():
            place = f"experiments.{name}"
            rerankers = self.retrieval.rerankers
            with problems:
                key = f"{place}.reranker"
                check_named(experiment.reranker, rerankers, kind="reranker", key=key)
            for key, retriever in experiment.named("retriever").items():
                with problems:
                    self.retrieval.check_retriever(retriever, key=f"{place}.{key}")
            for arm in experiment.listed:
                key = f"{place}.arms.{arm.name}"
                with problems:
                    if isinstance(arm.retriever, str):
                        self.retrieval.check_retriever(arm.retriever, key=key)
                    else:
                        self.retrieval.check_rerankers(arm.retriever, key=key)
                    check_named(arm.variant, self.variants, kind="variant", key=key)

    def _check_answer_experiments(self, problems: Problems) -> None:
        for name, experiment in self.answer_experiments.items():
            key = f"answer_experiments.{name}"
            with problems:
                check_named(experiment.variant, self.variants, kind="variant", key=f"{key}.variant")
                if name in self.experiments:
                    raise ValueError(
                        f"{key}: an experiment of that name stands under experiments: rename one"
                    )

    def _check_training(self, problems: Problems) -> None:
        training = self.training
        with problems:
            check_named(training.variant, self.variants, kind="variant", key="training.variant")
        for name, reranker in training.rerankers.items():
            with problems:
                self._check_trained_reranker(name, reranker)
        for section, entries, known in (
            ("models", self.models, training.retrievers),
            ("retrieval.rerankers", self.retrieval.rerankers, training.rerankers),
        ):
            for name, entry in entries.items():
                trained = entry.path.removeprefix(TRAINED)
                is_known = trained not in training.names.keys() - known
                with problems:
                    if entry.path.startswith(TRAINED) and not is_known:
                        raise ValueError(
                            f"{section}.{name}.path: {entry.path} names what the section training "
                            f"trains a {training.names[trained]} as: name another"
                        )

    def _check_groups(self, problems: Problems) -> None:
        """Sources name groups that are declared."""
        named = (("documents", self.sources.documents), ("tables", self.sources.tables))
        for kind, source in ((kind, each) for kind, listed in named for each in listed):
            for pattern, groups in (source.groups or {}).items():
                key = f"sources.{kind}.{source.name}.groups.{pattern}"
                for group in groups if isinstance(groups, list) else ():
                    with problems:
                        check_named(group, self.groups, kind="entry of groups", key=key)

    def _check_trained_reranker(self, name: str, reranker: RerankerTraining) -> None:
        retrievers, key = self.training.retrievers, f"training.rerankers.{name}"
        check_named(
            reranker.retriever, retrievers, kind="trained retriever", key=f"{key}.retriever"
        )
        if name in retrievers:
            raise ValueError(f"{key}: a retriever has that name; rename it")
        shipped = DEFAULT_ENTRIES["rerankers"].get(name)
        if shipped and self.retrieval.rerankers[name] == shipped:
            raise ValueError(
                f"{key}: a reranker that comes with rag_assets has that "
                f"name, and retrievers would read with its weights: rename it, or give "
                f"retrieval.rerankers.{name} the path {TRAINED}{name}"
            )

    def _check_language_models(self, problems: Problems) -> None:
        """Named language models exist."""
        for key, name in self._named_language_models():
            with problems:
                check_named(name, self.language_models, kind="language model", key=key)

    def _named_language_models(self) -> Iterator[tuple[str, str | None]]:
        """Each key that names a language model, with the name; not figures, links and parsers."""
        answering = self.answering
        yield "answering.condenser", answering.condenser
        yield "answering.planner", answering.planner
        yield "answering.judge.model", answering.judge.model if answering.judge else None
        yield "questions.model", self.questions.model
        for judge in self.evaluation.judges:
            yield "evaluation.judges.model", judge.model
        yield "answering.writer", None if answering.writer == NOBODY else answering.writer
        for key, retriever in self._configured_retrievers():
            if fusion := retriever.query_fusion:
                yield f"{key}.query_fusion.model", fusion.model
        for name, experiment in self.experiments.items():
            for key, model in experiment.named("language_model").items():
                yield f"experiments.{name}.{key}", model
        for name, experiment in self.answer_experiments.items():
            yield f"answer_experiments.{name}.writer", experiment.writer
            for writer in experiment.writers:
                yield f"answer_experiments.{name}.writers", writer

    def _configured_retrievers(self) -> Iterator[tuple[str, Retriever]]:
        """Every retriever whose settings the file gives, with its key."""
        for name, retriever in self.retrieval.retrievers.items():
            yield f"retrieval.retrievers.{name}", retriever
        for name, experiment in self.experiments.items():
            for arm in experiment.listed:
                if isinstance(arm.retriever, Retriever):
                    yield f"experiments.{name}.arms.{arm.name}", arm.retriever

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
    def source_names(self) -> frozenset[str]:
        """Names of all sources."""
        return self.table_sources | {source.name for source in self.sources.documents}

    @property
    def table_sources(self) -> frozenset[str]:
        """Names of the table sources."""
        return frozenset(source.name for source in self.sources.tables)

    @property
    def serving_variant(self) -> str:
        """The variant that answers queries until a serving pointer is set."""
        return self.serving.variant or next(iter(self.variants))

    @property
    def generated_sets(self) -> frozenset[str]:
        """The question sets that a program wrote: those made here, and others by the config."""
        others = (one.name for one in self.evaluation.questions if one.generated)
        return frozenset(GENERATED_SETS).union(others)

    @property
    def question_files(self) -> list[QuestionSet]:
        """The question sets that lie in files: the named ones, and the one of people if it is."""
        file = self.questions.people_file
        people = [QuestionSet(name=PEOPLE, path=file)] if file.exists() else []
        return [*self.evaluation.questions, *people]

    @property
    def describing_model(self) -> DescribingModel | None:
        """The language model that describes figures; None without one."""
        return describing_model(self.figures, self.language_models)

    @property
    def linking_model(self) -> tuple[str, LanguageModelSettings] | None:
        """The entry that finds entities and relations, with its name; None without one."""
        return linking_model(self.links, self.language_models)

    def language_model(self, name: str | None = None) -> tuple[str, LanguageModelSettings]:
        """The language model called `name`, or the first one, with its name.

        Raises:
            ConfigError: There is none of that name.
        """
        chosen = name or next(iter(self.language_models))
        if chosen not in self.language_models:
            there = ", ".join(self.language_models) + did_you_mean(chosen, self.language_models)
            raise ConfigError(f"no language model is named {chosen!r}; the config has {there}")
        return chosen, self.language_models[chosen]

    def variant(self, name: str) -> Variant:
        """The variant called `name`.

        Raises:
            ConfigError: There is none of that name.
        """
        if name not in self.variants:
            there = ", ".join(self.variants) + did_you_mean(name, self.variants)
            raise ConfigError(f"no variant is named {name!r}; the config has {there}")
        return self.variants[name]
