"""A sentence with its citations, and what of it was compared with them."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from rag_assets.citations.kinds import Citation

Compared: TypeAlias = Literal["verbatim", "cell", "computed again", "numbers and names", "nothing"]
"""What of a sentence was compared with its sources, and agrees: every word; the cells that it
tells; a result that was computed once more; its numbers, units and names alone; nothing."""
PROVEN: frozenset[Compared] = frozenset({"verbatim", "cell", "computed again"})
"""What makes a sentence supported without a judge."""
NOT_COMPARED = " (not compared)"
"""What is told behind a sentence of which nothing was compared."""
NOT_IN_SOURCES = " (not in its sources)"
"""What is told behind a sentence that does not hold, where these are marked."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer."""

    text: str
    citations: tuple[Citation, ...]
    compared: Compared = "nothing"
    judged: bool | None = None
    """Whether its sources say it, by the judge of the config; None where none was asked."""
    is_written: bool = False
    """Whether a language model wrote it."""
    before: str = ""
    """What stands before a found passage in its unit, as people read it, with the blank or line
    break between; before a row, the title of its table."""
    after: str = ""
    """What stands behind a found passage in its unit, likewise."""

    @property
    def is_supported(self) -> bool:
        """Whether its sources are known to say it: by the judge, else by what was compared."""
        return self.compared in PROVEN if self.judged is None else self.judged

    @property
    def is_not_compared(self) -> bool:
        """Whether nothing of it was compared with its sources, and no judge saw it."""
        return self.compared == "nothing" and self.judged is None

    @property
    def mark(self) -> str:
        """What is told behind it: that nothing was compared, or that it does not hold."""
        if self.judged is False:
            return NOT_IN_SOURCES
        return NOT_COMPARED if self.is_not_compared else ""
