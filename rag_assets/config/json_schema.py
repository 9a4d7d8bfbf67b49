"""A JSON Schema of `rag_assets.yaml`: editors complete keys by it, and mark what is wrong.

It lies beside this module in `rag_assets.schema.json`. After a change of the config, write it
anew: `python -m rag_assets.config.json_schema`.
"""

import json
from pathlib import Path
from typing import get_args

from pydantic import JsonValue, TypeAdapter

from rag_assets.config.alerts import CHANNELS
from rag_assets.config.checks import Severity
from rag_assets.config.root import Config

FILE = Path(__file__).with_name("rag_assets.schema.json")
FILLED_IN = (
    *(("AnswerExperiment", "design"), ("EmbeddingModel", "path")),
    *((channel.__name__, "name") for channel in CHANNELS),
)
"""Keys that a section has to have and a file need not give: a default or a name has them."""
CHECKS = ("Check", "Bound", "Drift")
"""How the names of sections end for which a severity alone may stand."""


def json_schema() -> str:
    """The schema, as it stands in its file."""
    schema = Config.model_json_schema()
    for section, key in FILLED_IN:
        schema["$defs"][section]["required"].remove(key)
    shown = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(_plain(shown), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _plain(schema: JsonValue) -> JsonValue:
    """A part of the schema without titles, nor defaults of whole sections."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if str(schema.get("$ref")).endswith(CHECKS):
        alone = TypeAdapter(get_args(Severity)[0]).json_schema()
        return {"anyOf": [{"$ref": schema["$ref"]}, alone, {"const": False}]}
    return {
        key: _plain(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
        and not (key == "default" and isinstance(value, (dict, list)))
    }


if __name__ == "__main__":
    FILE.write_text(json_schema(), "utf-8")
