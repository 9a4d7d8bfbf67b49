"""From the config to a design: what each experiment compares, on which questions."""

from collections.abc import Sequence

from rag_assets import schemas
from rag_assets.config import (
    AnyExperiment,
    ArmsExperiment,
    ChunkSizeExperiment,
    CondensationExperiment,
    Config,
    ConfigError,
    EmbeddingModelExperiment,
    FusionModeExperiment,
    HeaderExperiment,
    IndexSizeExperiment,
    ParserComparisonExperiment,
    QueryFusionExperiment,
    ReportRetrievalExperiment,
    RetrievalMethodExperiment,
    RewritingExperiment,
    SerializerExperiment,
    SignalDomainExperiment,
    WeightedRetrieverExperiment,
)
from rag_assets.evaluation import questions as question_sets
from rag_assets.evaluation.experiments import follow_ups, papers, thesis
from rag_assets.evaluation.experiments import query_fusion as fusions
from rag_assets.evaluation.experiments.design import Design, ExperimentError
from rag_assets.evaluation.experiments.index_size import Corpus, index_size
from rag_assets.evaluation.experiments.report_retrieval import report_questions, report_retrieval
from rag_assets.evaluation.gold import DocumentFinder
from rag_assets.evaluation.questions import Question
from rag_assets.store import Store


def variants_of(config: Config, name: str) -> list[str]:
    """The variants that the experiment called `name` compares.

    Raises:
        ConfigError: There is no such experiment.
    """
    experiment = experiment_of(config, name)
    base = experiment.variant or next(iter(config.variants))
    own = [config.variant_like(recipe) for recipe in experiment.recipes(config.variant(base))]
    if isinstance(experiment, ArmsExperiment):
        own = [arm.variant or base for arm in experiment.arms]
    return list(dict.fromkeys(own))


def buildable(config: Config, name: str) -> list[str]:
    """The variants of an experiment that can be built here: parsers may not be installed."""
    experiment = experiment_of(config, name)
    if not isinstance(experiment, ParserComparisonExperiment):
        return variants_of(config, name)
    from rag_assets.evaluation.experiments.parser_comparison import available

    reasons = available(config, experiment)
    return [
        variant
        for variant in variants_of(config, name)
        if reasons[config.variant(variant).parser] is None
    ]


def experiment_of(config: Config, name: str) -> AnyExperiment:
    """The experiment called `name`.

    Raises:
        ConfigError: There is none of that name.
    """
    if name not in config.experiments:
        known = ", ".join(config.experiments) or "none: see docs/experiments.md"
        raise ConfigError(f"no experiment is named {name!r}; the config has {known}")
    return config.experiments[name]


def design_of(store: Store, config: Config, name: str, *, questions: Sequence[Question]) -> Design:
    """The design of the experiment called `name`."""
    experiment = experiment_of(config, name)
    base = experiment.variant or next(iter(config.variants))
    match experiment:
        case SerializerExperiment():
            return thesis.serializers(experiment, config=config, base=base)
        case IndexSizeExperiment():
            corpus = _corpus(store, config, questions)
            return index_size(experiment, base=base, corpus=corpus)
        case ChunkSizeExperiment():
            return thesis.chunk_size(experiment, config=config, base=base)
        case FusionModeExperiment():
            return thesis.fusion_modes(experiment, config=config, base=base)
        case EmbeddingModelExperiment():
            return thesis.embedding_models(experiment, config=config, base=base)
        case WeightedRetrieverExperiment():
            return thesis.weighted_retriever(experiment, config=config, base=base)
        case RetrievalMethodExperiment():
            return thesis.retrieval_methods(experiment, config=config, base=base)
        case QueryFusionExperiment():
            return fusions.query_fusion(experiment, config=config, base=base)
        case RewritingExperiment():
            return fusions.rewriting(experiment, config=config, base=base)
        case CondensationExperiment():
            return follow_ups.condensation(experiment, store=store, config=config, base=base)
        case HeaderExperiment():
            return papers.headers(experiment, config=config, base=base)
        case ParserComparisonExperiment():
            from rag_assets.evaluation.experiments.parser_comparison import parser_comparison

            return parser_comparison(
                experiment,
                store=store,
                config=config,
                base=base,
                questions=questions,
                paths=_paths(config),
            )
        case ReportRetrievalExperiment():
            return report_retrieval(experiment, store=store, config=config, base=base)
        case SignalDomainExperiment():
            return papers.signal_domain_fusion(experiment, base=base)
        case ArmsExperiment():
            return papers.own_arms(experiment, config=config, base=base)


def questions_of(store: Store, experiment: AnyExperiment) -> list[Question]:
    """The questions of an experiment: by its question sets, or of its own file.

    Raises:
        ExperimentError: There are none, or none of a set that it names.
    """
    if isinstance(experiment, ReportRetrievalExperiment):
        return report_questions(experiment)
    if isinstance(experiment, CondensationExperiment):
        return follow_ups.full_questions(experiment)
    every = question_sets.read_questions(store)
    known = {question.question_set for question in every}
    unknown = sorted(set(experiment.questions) - known)
    if unknown or not every:
        raise ExperimentError(
            f"there are no questions of the set {unknown[0]!r}; imported are "
            f"{', '.join(sorted(known)) or 'none'}"
            if unknown
            else "there are no questions: name a file under evaluation.questions in the config, "
            "and refresh"
        )
    return [one for one in every if one.question_set in (experiment.questions or known)]


def _corpus(store: Store, config: Config, questions: Sequence[Question]) -> Corpus:
    files = store.read(schemas.DOCUMENT_FILES_TABLE, columns=["source", "uri"]).to_pylist()
    documents = [(file["source"], file["uri"]) for file in files]
    places = DocumentFinder(
        documents, roots={source.name: source.url for source in config.sources.documents}
    )
    paths = _paths(config)
    return Corpus(questions, documents, find=lambda name: places.find(paths.get(name, name)))


def _paths(config: Config) -> dict[str, str]:
    """The path of each document id of the question sets."""
    paths: dict[str, str] = {}
    for one in config.evaluation.questions:
        paths |= question_sets.document_paths(one)
    return paths
