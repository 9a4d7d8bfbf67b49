"""How many purges a state has had: what was read before one is not kept after it.

Who keeps texts that are long in the making, such as what a language model was sent, asks for the
number before the first text is read, and again when it keeps them, while nobody else may write. A
purge counts itself before it looks for what to erase, and again when the texts are gone.
"""

from pathlib import Path

from rag_assets.store.atomic import write_atomically

FILE = Path("purges", "count")


def count(root: Path) -> int:
    """How many have begun in the state at `root`."""
    try:
        return int((root / FILE).read_text("utf-8"))
    except (FileNotFoundError, ValueError):  # damaged: no count that anybody noted
        return 0


def begin(root: Path) -> None:
    """Count one more. The caller holds the lock on refreshes, so that none is counted at once."""
    write_atomically(root / FILE, str(count(root) + 1))
