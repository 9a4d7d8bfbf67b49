"""`rag-assets documents diff`: what changed from one document to another, by section."""

import argparse
import json
from dataclasses import asdict

from rag_assets.config.addresses import elements_table
from rag_assets.documents.families.section_changes import (
    SectionChange,
    read_sections,
    section_changes,
)
from rag_assets.serving.document_versions import add_two, documents_read, named
from rag_assets.serving.replies import Json, Reply, project_of
from rag_assets.store.serving_pointer import serving_variant

SUMMARY = "tell what changed from one document to another, by section"
EXAMPLES = """\
  rag-assets documents diff standards/STD-1234_A.pdf standards/STD-1234_B.pdf"""

MOST_LINES = 6
"""Sentences of a section that are shown; --json has all."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    add_two(command, "OLD", "NEW")


def run(options: argparse.Namespace) -> Reply:
    """Compare the sections of two documents."""
    config, store = project_of(options)
    held = documents_read(config, store, variant=options.variant)
    older, newer = (named(held, name) for name in (options.one, options.other))
    recipe = config.variant(options.variant or serving_variant(store, config))
    elements = elements_table(config, recipe.parser)
    sections = [read_sections(store, elements, each.document_id) for each in (older, newer)]
    changes = section_changes(*sections)
    text = "\n\n".join(map(_section, changes)) or "No section differs."
    sections_record: Json = json.loads(json.dumps([asdict(each) for each in changes]))
    return Reply(
        record={"old": older.uri, "new": newer.uri, "sections": sections_record},
        text=f"From {older.uri} to {newer.uri}\n\n{text}",
    )


def _section(change: SectionChange) -> str:
    numbers = [
        f"  ~ {each.after} ({', '.join(f'{old} -> {new}' for old, new in each.numbers)})"
        for each in change.numbers
    ]
    lines = [
        *numbers,
        *(f"  - {line}" for line in change.removed),
        *(f"  + {line}" for line in change.added),
    ]
    more = len(lines) - MOST_LINES
    shown = [*lines[:MOST_LINES], *([f"  and {more:,} more: see --json"] if more > 0 else [])]
    return "\n".join([f"{change.section} ({change.kind})", *shown])
