"""Errors of a full or read-only disk, turned into one sentence that says what to do."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from rag_assets.operations.problems.disk import remedy_of
from rag_assets.serving.replies import CommandError


@contextmanager
def writing(folder: Path) -> Generator[None]:
    """Turn disk errors below `folder` into a `CommandError` that says what to do.

    An error about the permissions of a file elsewhere is raised unchanged.

    Raises:
        CommandError: A disk is full, or `folder` may not be written.
    """
    try:
        yield
    except (
        Exception
    ) as error:  # a disk error may come from any library; other errors are raised again
        remedies = (remedy_of(cause, folder=folder) for cause in _chain(error))
        remedy = next(filter(None, remedies), None)
        if remedy is None:
            raise
        raise CommandError(remedy) from error


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
