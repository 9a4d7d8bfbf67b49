"""Errors of a full or read-only disk, turned into one sentence that says what to do."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rag_assets import config as configuration
from rag_assets.operations.problems.disk import remedy_of
from rag_assets.serving.replies import CommandError


@contextmanager
def writing(folder: Path) -> Generator[None]:
    """Turn disk errors below `folder` into a `CommandError` that says what to do.

    An error about the permissions of a file elsewhere is raised unchanged. Of the state folder, the
    command line tells them by itself (`remedy_now`).

    Raises:
        CommandError: A disk is full, or `folder` may not be written.
    """
    try:
        yield
    except (
        Exception
    ) as error:  # a disk error may come from any library; other errors are raised again
        if remedy := _remedy(error, folder):
            raise CommandError(remedy) from error
        raise


def remedy_now(error: Exception) -> str | None:
    """What to do about an error in which a command ended, if a disk caused it; else None."""
    with suppress(configuration.ConfigError):
        return _remedy(error, configuration.load().state_dir)
    return None


def _remedy(error: Exception, folder: Path) -> str | None:
    remedies = (remedy_of(cause, folder=folder) for cause in _chain(error))
    return next(filter(None, remedies), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
