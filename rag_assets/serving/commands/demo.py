"""`rag-assets demo`: a project with documents, tables and questions, built, measured and asked."""

import argparse
import os
import shlex
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
COMMANDS = (
    "refresh",
    'search "shelf life of N75 seals" --top-k 3',
    'search "hur många gånger får en svets repareras" --top-k 3',
    'search "tensile strength of WR 500" --top-k 3',
    'ask "What is the highest stress amplitude of the fatigue tests?"',
    'ask "How many steel grades have a yield strength above 700 MPa?"',
)
"""What is run, and shown with what it replied."""


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
    from rag_assets.serving.cli import parser

    file = written(options.folder.absolute())
    os.environ[configuration.PATH_VARIABLE] = str(file)
    replies: dict[str, Reply] = {}
    for line in COMMANDS:
        words = shlex.split(line)
        command = parser(words).parse_args(words)
        replies[line] = command.run(command)
        if replies[line].code not in (OK, PARTLY):
            return replies[line]
    shown = [f"$ rag-assets {line}\n\n{reply.text}" for line, reply in replies.items()]
    next_ = (
        f"The project lies in {file.parent}. There, rag-assets serve opens a page to ask on, and "
        "rag-assets ui the lineage, the runs and the evaluation report."
    )
    record = {"config": str(file), "replies": {line: each.record for line, each in replies.items()}}
    return Reply(record, "\n\n".join([*shown, next_]))


def written(folder: Path) -> Path:
    """The config of the demo in `folder`, which is written with all its files unless it is there.

    Raises:
        CommandError: Something else lies there, or it cannot be written.
    """
    source = PACKAGED if PACKAGED.exists() else CHECKOUT
    file = folder / DEFAULT_FILE
    if folder.resolve() == source or (
        file.exists() and file.read_bytes() == (source / DEFAULT_FILE).read_bytes()
    ):
        return file
    if taken := [
        name
        for name in FILES
        if (folder / name).exists() and not _is_begun(folder / name, source / name)
    ]:
        raise CommandError(
            f"{folder / taken[-1]} is there already, and not the demo's: name an empty folder, or "
            "run rag-assets refresh there if it is your project"
        )
    try:
        for name in FILES:
            _copy(source / name, folder / name)
    except OSError as error:
        raise CommandError(
            f"{folder} cannot be written ({error.strerror or error}): make room there and give the "
            "right to write it, or name another folder"
        ) from error
    return file


def _is_begun(there: Path, ours: Path) -> bool:
    """Whether what lies `there` is what was copied of `ours` before that was broken off."""
    if there.is_dir():
        return ours.is_dir() and all(_is_begun(each, ours / each.name) for each in there.iterdir())
    return ours.is_file() and ours.read_bytes().startswith(there.read_bytes())


def _copy(ours: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if ours.is_dir():
        shutil.copytree(ours, to, dirs_exist_ok=True, copy_function=shutil.copyfile)
    else:
        shutil.copyfile(ours, to)
