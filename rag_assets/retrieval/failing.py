"""The errors in which a search ends that nothing is wrong with the tables for."""


def unanswerable() -> tuple[type[Exception], ...]:
    """What is raised where a model, its weights, an index, a signal or rewrites are missing.

    The message says what to do. Imported when asked for: a command that does not search needs none
    of these modules.
    """
    from rag_assets.models.replicas import EncoderError
    from rag_assets.models.rerankers import RerankerError
    from rag_assets.models.weights import ModelMismatchError, WeightsError
    from rag_assets.retrieval.encoders import TwoModelsError
    from rag_assets.retrieval.lexical import MissingTextIndexError
    from rag_assets.retrieval.rewriters import RewritesError
    from rag_assets.retrieval.search_context import MissingSignalError
    from rag_assets.retrieval.sparse import MissingWeightsError

    return (
        EncoderError,
        MissingSignalError,
        MissingTextIndexError,
        MissingWeightsError,
        ModelMismatchError,
        RerankerError,
        RewritesError,
        TwoModelsError,
        WeightsError,
    )
