"""Nothing is deleted by accident: a source that lost most of what it held asks for confirmation."""

SHRINK_LIMIT = 0.5
"""The share of its items that a source may lose unasked."""
TOLD_SHARE, TOLD_LEAST = 0.1, 3
"""The share of its items, and the number, from which on a person is told what a source lost."""


def is_loss(before: int | None, now: int) -> bool:
    """Whether a source that held so many items `before` lost enough of them to tell a person."""
    return before is not None and before - now >= max(TOLD_LEAST, before * TOLD_SHARE)


class ShrinkError(Exception):
    """A source lost more than half of what it held; nothing was deleted."""


def guard_shrink(source: str, *, held: int, removed: int, allow_shrink: bool) -> None:
    """Refuse a deletion that is more likely an accident.

    Raises:
        ShrinkError: More than half of the `held` items of a source are gone and nobody said so.
    """
    if allow_shrink or removed <= held * SHRINK_LIMIT:
        return
    raise ShrinkError(
        f"{source}: {removed:,} of {held:,} items are gone. Nothing was deleted. If that is "
        "right, refresh with --allow-shrink (in the UI: allow_shrink in the run's config); "
        "otherwise check the source"
    )
