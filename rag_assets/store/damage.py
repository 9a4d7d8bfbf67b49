"""Files of tables that are damaged: recognised by their sizes, and named with what to do about it.

Lance writes into a table's manifest how long each file of its data is, and never checks it: a file
that was cut short on a full disk or by a bad copy is met by whoever reads it, as an error that
names neither table nor remedy.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from rag_assets.process.errors import ExplainedError

if TYPE_CHECKING:
    from lance import LanceFragment
    from lance.fragment import FragmentMetadata

DAMAGE = (OSError, RuntimeError, ValueError)
"""What LanceDB, Lance and Arrow raise where files of a table are damaged or gone."""
OF_LANCE = ("lance error", "LanceError", "External error", "Invalid input, ", ".rs:")
"""What tells an error of Lance from one of ours."""
MISTAKES = ("Schema error", "was not found:")
"""How Lance tells that a filter is wrong, or that there is no such version: a file that holds
something else is called "invalid user input" too."""


class DamagedTablesError(ExplainedError):
    """Files of some tables cannot be read."""

    def __init__(self, errors: Mapping[str, BaseException | str]) -> None:
        """Name the tables, by their folders, and what is wrong with each."""
        self.errors = dict(errors)
        described = "; ".join(f"{name} ({_first_line(error)})" for name, error in errors.items())
        super().__init__(
            f"tables that cannot be read: {described}. If their files are damaged, delete the "
            "folder of each (NAME.lance, below lance/), and run `rag-assets refresh`"
        )


def is_panic(error: BaseException) -> bool:
    """Whether the Rust code of Lance gave up: what it raises then is no `Exception`.

    That is how it meets some manifests that were cut short. (pylance 14.0)
    """
    return type(error).__name__ == "PanicException"


def is_of_files(error: Exception) -> bool:
    """Whether Lance raised it, and about files rather than about the request."""
    message = str(error)
    is_of_lance = isinstance(error, OSError) or any(mark in message for mark in OF_LANCE)
    return is_of_lance and not any(mistake in message for mistake in MISTAKES)


def data_files(
    fragments: "Iterable[LanceFragment | FragmentMetadata]",
) -> Iterator[tuple[str, int]]:
    """The files that hold their rows, below the table's folder, and how long each has to be."""
    for fragment in fragments:
        for file in fragment.data_files():
            if file.file_size_bytes is not None:
                yield f"data/{file.path}", file.file_size_bytes


def difference(wanted: Mapping[str, int], found: Mapping[str, int | None]) -> str | None:
    """What is wrong with the first file that is not as long as `wanted`; None if none is."""
    for path, size in wanted.items():
        size_found = found[path]
        if size_found is None:
            return f"{path} is gone"
        if size_found != size:
            return f"{path} has {size_found:,} of {size:,} bytes"
    return None


def _first_line(error: BaseException | str) -> str:
    message = str(error) or type(error).__name__
    return message.splitlines()[0]
