"""What an editor says of a config is what loading it says."""

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from rag_assets.config import Config, ConfigError, load
from rag_assets.config.json_schema import FILE, json_schema
from rag_assets_testing import small_project

ROOT = Path(__file__).parents[2]
EDITOR = Draft202012Validator(json.loads(FILE.read_text("utf-8")))
IN_DOCS = [
    yaml.safe_load(block)
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.M)
]
SHORT_FORMS = [
    "sources: {documents: a, tables: 'sqlite:///b'}",
    "sources: {documents: [{name: a, url: b}], tables: {url: x, schema: s, tables: [t]}}",
    "sources: {tables: [sqlite:///a, {name: b, url: x, tables: [t, {name: u, key: [id]}]}]}",
    "glossary: words.csv",
    "documents: {header_fields: {fields: {number: 'No (.+)', of: ['a (.)', 'b (.)']}}}",
    "checks: {chunks: {tokens_fit: off, drift: warning}}",
    "checks: {chunks: {tokens_fit: 'off', ids_unique: error}}",
    "models: {minilm: {engine: torch}, own: {path: x}}",
    "variants: {default: {model: {document: minilm, table: minilm}}}",
    "experiments: {fusion_modes: {top_k: 3}, serializers: }",
    "answer_experiments: {rag_or_not: , two: {design: citation_ablation}}",
    "alerts: {channels: [{type: slack, url: 'https://hooks.example.com/T0'}]}",
]


def test_the_file_is_that_of_the_config():
    assert FILE.read_text("utf-8") == json_schema(), (
        "write it anew: python -m rag_assets.config.json_schema"
    )


@pytest.mark.parametrize("text", [*SHORT_FORMS, small_project.CONFIG])
def test_what_loads_is_right_in_an_editor(text):
    assert Config.model_validate(yaml.safe_load(text))

    assert [error.message for error in EDITOR.iter_errors(yaml.safe_load(text))] == []


def test_what_the_docs_show_is_right_in_an_editor():
    known = set(Config.model_fields)
    blocks = [block for block in IN_DOCS if isinstance(block, dict) and block.keys() <= known]
    wrong = [(block, error.message) for block in blocks for error in EDITOR.iter_errors(block)]

    assert len(blocks) > 15
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    [
        "sorces: {}",
        "retrieval: {topk: 3}",
        "retrieval: {top_k: many}",
        "variants: {default: {serializer: csv}}",
        "sources: {tables: [{name: a}]}",
        "schedule: nightly",
        "checks: {chunks: {tokens_fit: fatal}}",
        "experiments: [fusion_modes]",
    ],
)
def test_what_does_not_load_is_marked_in_an_editor(text, tmp_path):
    file = tmp_path / "rag_assets.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError):
        load(file)

    assert list(EDITOR.iter_errors(yaml.safe_load(text)))
