"""A project with a document that is to be erased, beside others that share something with it."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from rag_assets import config as configuration
from rag_assets.serving import cli, dagster_instance
from rag_assets_testing.built_once import built_once
from rag_assets_testing.dagster_records import make_ready
from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project

SECRET = "offers/quoxite offer.md"
NEEDLES = ("quoxite", "zwetschgen", "kelvinoids", "fortnights")
"""What only the secret document says; its name says the first."""
WRITTEN = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
SHARED = "All prices are without value added tax and hold for thirty days from today."
TEXT = f"""\
# Zwetschgen alloy

The alloy of Quoxite endures plasma for 900 fortnights “without a scratch”.

![The furnace of Quoxite](own.png)

![The logo](../logo.png)

It melts at 4711 kelvinoids & bears more than any steel.

## Conditions

{SHARED}
"""


def make(home: Path, *, with_secret: bool = True) -> Project:
    """Write the project."""
    made = project.make(home, documents=4, rows=6)
    made.write(
        "offers/steel offer.md",
        f"# Steel\n\nA plain steel.\n\n![The logo](../logo.png)\n\n## Conditions\n\n{SHARED}\n",
    )
    made.write("logo.png", _png(64, 48))
    made.write("offers/own.png", _png(80, 60))
    if with_secret:
        made.write(SECRET, TEXT)
    for path in made.documents.rglob("*"):
        os.utime(path, (WRITTEN, WRITTEN))
    return made


def build(made: Project, *variants: str, ledger: Path | None = None) -> None:
    """Refresh variants, `default` unless named."""
    with hashing(ledger):
        for variant in variants or ("default",):
            refresh(made.config, variant=variant)


@built_once
def with_the_document(home: Path) -> Project:
    """The project, whose variant `default` serves, and records of Dagster."""
    made = make(home)
    build(made)
    make_ready(made.config)
    return made


def withdraw(made: Project) -> None:
    """Remove the document from its source."""
    (made.documents / SECRET).unlink(missing_ok=True)


def run_recorded(made: Project, *texts: str) -> str:
    """Record a run of Dagster that shows `texts`; returns its id."""
    import dagster as dg

    @dg.asset
    def chunks() -> dg.MaterializeResult:
        return dg.MaterializeResult(metadata={"preview": dg.MetadataValue.md("\n\n".join(texts))})

    with dagster_instance.opened(made.config) as opened:
        return dg.materialize([chunks], instance=opened).run_id


def purge(
    made: Project, capsys, monkeypatch, *options: str, document: str = SECRET
) -> tuple[int, dict, str]:
    """Run the command; returns its code, its answer as JSON and what it said on the way."""
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.file))
    capsys.readouterr()
    code = cli.main(["documents", "purge", document, "--json", *options])
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out.strip() else {}, said.err


def _png(width: int, height: int) -> bytes:
    import pymupdf

    picture = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, width, height), 0)
    picture.clear_with(width)
    return picture.tobytes("png")
