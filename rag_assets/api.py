"""Parts of your own: what `rag_assets.yaml` may name as `module:NAME`.

This is the only module whose names stay as they are from release to release. `NAME` is an object of
your module, or a class that is made without arguments. It needs the members of one protocol below;
nothing has to be inherited. `docs/extending.md` has an example of each.

A part says its `revision`, a whole number: raise it when the same input gives another output than
before. It is a part of the recipe, so that another revision is built beside what serves, measured,
and promoted. Parts are called by several threads at a time, and some in worker processes, which
import the module anew: import heavy libraries in the functions that use them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class CustomParser(Protocol):
    """Reads files: `parsers.<name>.engine`. It runs in a worker process."""

    revision: int
    media_types: Sequence[str]
    """What it reads, of the media types that are known here, such as `application/pdf`; the usual
    parsers read all others."""

    def parse(self, path: str, pages: Sequence[int] | None, /) -> Iterable[Mapping[str, object]]:
        """The blocks of a file in reading order.

        Args:
            path: A copy of the file.
            pages: Numbers of the pages to read, from 1; None in formats without pages.

        Returns:
            Each block with its `type`, one of `schemas.ELEMENT_TYPES`, and its `text`. A PDF needs
            the `page`; `level` (of a heading), `cells` (the rows of a table), `box` (x0, y0, x1,
            y1 in points from the top left) and `confidence` may be given.

        Raises:
            ValueError: The file is to blame; the message says why, for whoever owns the file.
        """


class CustomChunker(Protocol):
    """Cuts documents: `chunkings.<name>.strategy`."""

    revision: int

    def cut(self, text: str, elements: Sequence[tuple[int, str]], /) -> Iterable[tuple[int, int]]:
        """The chunks of a document, in reading order.

        Args:
            text: The document.
            elements: Where each of its elements begins in the text, and its type.

        Returns:
            First character of each chunk, and one past the last. What exceeds the `size` of the
            chunking is cut once more, at words.
        """


class Pair(NamedTuple):
    """One cell of a row, to be written."""

    heading: str
    """Plain words, the unit in square brackets."""
    value: str
    """Canonical value, or `Null` where empty cells are kept."""
    numeric: bool
    """Whether the value is a finite number."""


class CustomSerializer(Protocol):
    """Writes table rows as text: `variants.<name>.serializer`."""

    revision: int

    def write(self, title: str, pairs: Sequence[Pair], /) -> str:
        """The text of a row of the table called `title`."""


class CustomReranker(Protocol):
    """Scores texts: `retrieval.rerankers.<name>` with `backend: custom`, named by its `path`."""

    revision: int

    def score(self, query: str, texts: Sequence[str], /) -> Sequence[float]:
        """How well each text answers the query, from 0 to 1."""


class CustomEmbedder(Protocol):
    """Embeds texts: `models.<name>` with `backend: custom`, named by its `path`."""

    revision: int
    dimension: int
    """Length of the vectors."""
    max_tokens: int
    """The window of the model; it sees to longer texts itself."""

    def embed_passages(self, texts: Sequence[str], /) -> "np.ndarray":
        """Vectors of texts for the index, (texts, dimension); they are scaled to length 1.

        Raises:
            ValueError: It cannot embed one of them. Each is tried alone then.
        """

    def embed_queries(self, texts: Sequence[str], /) -> "np.ndarray":
        """Vectors of queries, as above."""


class CustomArm(Protocol):
    """Finds units beside the signals: `retrieval.retrievers.<name>.arms`."""

    revision: int

    def open(
        self, units: "Iterable[pa.RecordBatch]", /
    ) -> Callable[[str, int], Iterable[tuple[str, float]]]:
        """What searches an index; called once for each version of it.

        Args:
            units: All units, with the columns `unit_id`, `domain`, `source`, `title` and `text`.

        Returns:
            A function of query and depth: at most so many `unit_id`s with scores, best first. One
            query may take 5 seconds.
        """


class CustomChannel(Protocol):
    """Hands on alerts: an entry of `alerts.channels` with `type: custom`, named by its `part`."""

    revision: int

    def send(self, title: str, text: str, record: Mapping[str, object], /) -> str:
        """Hand on a message; what it returns, or raises, is shown: no secrets in it.

        Args:
            title: What happened, on one line.
            text: All of it in words, the title included.
            record: The same for programs, as a webhook of type `json` gets it.
        """


class CustomRubric(Protocol):
    """What judges are asked: an entry of `evaluation.judges[].rubrics`. See docs/judges.md."""

    revision: int
    about: str
    """What is judged, in a few words."""
    kind: str
    """`answer`, `report`, `context`, `hit`, `sentence` or `pair`."""
    parts: Sequence[str]
    """The texts that are shown, such as `question` and `answer`."""
    scale: tuple[int, int]
    """Lowest and highest score."""
    task: str
    """What the judge is told to do."""
    dimensions: Mapping[str, Mapping[str, object]]
    """By name what each score `asks`."""
