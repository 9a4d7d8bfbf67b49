"""What files built before `defaults: 3` where they did not say how: the lines that keep it."""

from pathlib import Path

CHUNKINGS = {1: "fixed_256", 2: "sentences_256"}
"""The chunking of a variant that named none, by the edition of the defaults."""


def present(edition: int) -> int:
    """The edition that a file names.

    Raises:
        ValueError: It is gone; the lines that keep what it built are named.
    """
    if edition in CHUNKINGS:
        raise ValueError(refusal("it is gone", edition=edition))
    return edition


def refusal(why: str, *, edition: int = 1) -> str:
    """Why a file is refused that relies on an `edition` which is gone, and what to write in it."""
    lines = Path(__file__).with_suffix(".yaml").read_text("utf-8")
    return (
        f"{why}. Write `defaults: 3`, the only edition there is: what it builds otherwise is built "
        "beside what serves. To keep what was built, add the lines below to it, but for what the "
        f"file says already.\n\n{lines.replace('CHUNKING', CHUNKINGS[edition])}"
    )
