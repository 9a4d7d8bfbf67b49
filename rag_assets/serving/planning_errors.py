"""Why a plan cannot be made, as an answer of the command line."""

from collections.abc import Generator
from contextlib import contextmanager

from rag_assets.serving.replies import CommandError


@contextmanager
def planning_errors() -> Generator[None]:
    """Raise what a plan lacks, a parser or the weights of a model, as wrong usage."""
    from rag_assets.documents.parsers.description import ParserUnavailableError
    from rag_assets.models.weights import WeightsError

    try:
        yield
    except (ParserUnavailableError, WeightsError) as error:
        raise CommandError(str(error)) from error
