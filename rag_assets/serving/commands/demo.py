"""`rag-assets demo`: a project with documents, tables and questions, built, measured and asked."""

import argparse
import os
import shutil
from pathlib import Path

from rag_assets import config as configuration
from rag_assets.config.loading import DEFAULT_FILE
from rag_assets.serving.replies import OK, PARTLY, CommandError, Reply

SUMMARY = "write a demo project, build its index, measure it, search and ask"
EXAMPLES = """\
  rag-assets demo
  rag-assets demo ~/demo"""

FILES = (
    "data/README.md",
    "data/documents",
    "data/glossary.csv",
    "data/headings.csv",
    "data/materials.sqlite",
    "data/questions.jsonl",
    DEFAULT_FILE,
)
"""What the project consists of; the config comes last, so that with it all is there."""
PACKAGED = Path(__file__).parents[2] / "demo"
"""Where an installed package has them."""
CHECKOUT = Path(__file__).parents[3]
QUERIES = (
    "shelf life of N75 seals",
    "hur många gånger får en svets repareras",
    "tensile strength of WR 500",
)
QUESTIONS = (
    "What is the highest stress amplitude of the fatigue tests?",
    "How many steel grades have a yield strength above 700 MPa?",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path("rag_assets_demo"),
        help="where the project is written, unless it is there (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> Reply:
    """Write the project unless it is there, refresh it, search three times and ask twice."""
    file = written(options.folder.absolute())
    os.environ[configuration.PATH_VARIABLE] = str(file)
    refreshed = _reply("refresh")
    if refreshed.code not in (OK, PARTLY):
        return refreshed
    searches = {query: _reply("search", query, "--top-k", "3") for query in QUERIES}
    answers = {question: _reply("ask", question) for question in QUESTIONS}
    told = {
        "Three searches: rag-assets search QUERY --top-k 3": searches,
        "Two answers: rag-assets ask QUESTION": answers,
    }
    sections = [refreshed.text]
    for heading, replies in told.items():
        sections += [heading, *(f"> {asked}\n\n{reply.text}" for asked, reply in replies.items())]
    sections.append(
        f"The project lies in {file.parent}. There, rag-assets serve opens a page to ask on, and "
        "rag-assets ui the lineage, the runs and the evaluation report."
    )
    record = {
        "config": str(file),
        "refresh": refreshed.record,
        "searches": [reply.record for reply in searches.values()],
        "answers": [reply.record for reply in answers.values()],
    }
    return Reply(record, "\n\n".join(sections))


def written(folder: Path) -> Path:
    """The config of the demo in `folder`, which is written with all its files unless it is there.

    Raises:
        CommandError: Something else lies there.
    """
    source = PACKAGED if PACKAGED.exists() else CHECKOUT
    file = folder / DEFAULT_FILE
    if folder.resolve() == source or (
        file.exists() and file.read_bytes() == (source / DEFAULT_FILE).read_bytes()
    ):
        return file
    if taken := [name for name in FILES if (folder / name).exists()]:
        raise CommandError(
            f"{folder / taken[-1]} is there already, and not the demo's: name an empty folder, or "
            "run rag-assets refresh there if it is your project"
        )
    for name in FILES:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (source / name).is_dir() else shutil.copyfile
        copy(source / name, target)
    return file


def _reply(*arguments: str) -> Reply:
    """What another command replies."""
    from rag_assets.serving.cli import parser

    options = parser(only=arguments[0]).parse_args(arguments)
    return options.run(options)
