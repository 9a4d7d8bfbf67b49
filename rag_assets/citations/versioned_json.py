"""JSON objects that name their format, so that a reader can tell whether it may read them."""

import json
from collections.abc import Mapping
from typing import TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

Value = TypeVar("Value")


def written(value: Value, adapter: TypeAdapter[Value], *, format_name: str) -> dict[str, JsonValue]:
    """`value` as a JSON object of the format."""
    return {"format": format_name, **json.loads(adapter.dump_json(value))}


def read(
    record: Mapping[str, object],
    adapter: TypeAdapter[Value],
    *,
    format_name: str,
    error: type[ValueError],
) -> Value:
    """The value that `written` made an object of.

    Raises:
        ValueError: It is of another format, or a part of it is missing or wrong; as an `error`.
    """
    if record.get("format") != format_name:
        raise error(f"its format is {record.get('format')!r}, and {format_name!r} is read")
    content = {name: value for name, value in record.items() if name != "format"}
    try:
        return adapter.validate_json(json.dumps(content))
    except ValidationError as invalid:
        first = invalid.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise error(f"{place}: {first['msg']}") from invalid
