"""How a value is shown where there is room for a cell: in metadata, examples and previews."""

CHARACTERS = 160


def shortened(value: object) -> str | int | float | None:
    """`value` as a cell shows it: numbers and nothing as they are, all else as a short text."""
    if value is None or isinstance(value, (int, float)):
        return value
    text = str(value)
    return text if len(text) <= CHARACTERS else f"{text[: CHARACTERS - 1]}…"
