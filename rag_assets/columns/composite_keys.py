r"""A key of several columns as one text.

The parts are joined by `|`. Inside a part, `|` is written `\|` and a backslash `\\`; a NULL is
written as nothing and an empty text as `\e`. So different keys of a table have different texts. A
key of one column is its value, unchanged.
"""

import pyarrow as pa
import pyarrow.compute as pc

SEPARATOR = "|"
ESCAPE = "\\"
EMPTY = "\\e"


def written(parts: list[pa.Array]) -> pa.Array:
    """The keys whose columns are `parts`, texts; empty where all parts are NULL."""
    if len(parts) == 1:
        return pc.fill_null(parts[0], "")
    joined = pc.binary_join_element_wise(
        *map(_escaped, parts), SEPARATOR, null_handling="replace", null_replacement=""
    )
    return pc.if_else(pc.equal(joined, SEPARATOR * (len(parts) - 1)), "", joined)


def _escaped(part: pa.Array) -> pa.Array:
    marked = pc.replace_substring_regex(part, r"([\\|])", r"\\\1")
    return pc.if_else(pc.equal(part, ""), EMPTY, marked)
