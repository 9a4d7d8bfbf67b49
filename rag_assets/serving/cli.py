"""The command line, `rag-assets`: a thin layer over the same code as the asset graph.

Answers go to stdout and progress to stderr. An error is one sentence that says what to do, never a
traceback. Exit codes: 0 all done, 1 failed, 2 wrong usage or config, 3 done with failed units.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TextIO

from rag_assets.config import ConfigError
from rag_assets.identity import UnknownIdError
from rag_assets.laboratory import commands as laboratory
from rag_assets.process.interrupts import stoppable
from rag_assets.serving import commands
from rag_assets.serving.replies import FAILED, INTERRUPTED, USAGE, CommandError, Reply, UsageError
from rag_assets.store import MissingTableError
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.owners import OtherStateError
from rag_assets.store.serving_pointer import ServingPointerError
from rag_assets.store.state_format import StateFormatError
from rag_assets.store.table_locations import UnreachableTablesError

COMMANDS: Mapping[str, str] = {
    "The first day": "init refresh search ask show serve mcp status ui",
    "Build and inspect": "plan documents tables export",
    "Search and measure": "lookup explain questions evaluate experiment judge",
    "Swap a model or a setting": "training variants preview backfill promote rollback history",
    "Operate": "acknowledge doctor alerts keys clean-up purge",
    "Answers": "report answers replay verify cite",
}
"""The commands by what they are for, in the order in which they are needed; each is a module."""

OFFLINE_DEFAULTS: Mapping[str, str] = {
    "GX_ANALYTICS_ENABLED": "false",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "RUNTIME__DLTHUB_TELEMETRY": "false",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Switch off telemetry of libraries, unless the user has set these variables."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for name, value in OFFLINE_DEFAULTS.items():
        os.environ.setdefault(name, value)
    given = sys.argv[1:] if arguments is None else [*arguments]
    options = parser(only=next(iter(given), None)).parse_args(given)
    try:
        with stoppable():
            reply: Reply = options.run(options)
    except (ConfigError, UsageError) as error:
        return _complain(error, code=USAGE)
    except (
        CommandError,
        DamagedTablesError,
        MissingTableError,
        OtherStateError,
        ServingPointerError,
        StateFormatError,
        UnknownIdError,
        UnreachableTablesError,
    ) as error:
        return _complain(error, code=FAILED)
    except KeyboardInterrupt:
        return _complain(
            "interrupted; what was committed is kept, run it again to go on", code=INTERRUPTED
        )
    try:
        _show(reply, as_json=options.json, stream=sys.stdout)
    except BrokenPipeError:  # the reader has stopped reading, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return reply.code


def parser(*, only: str | None = None) -> argparse.ArgumentParser:
    """The parser of the whole command line, or of one command, so that only its module is loaded.

    What is no command is parsed by all, so that the error names them.
    """
    every = " ".join(COMMANDS.values()).split()
    top = argparse.ArgumentParser(
        prog="rag-assets",
        usage="rag-assets COMMAND ...",
        description=None if only in every else _overview(),
        epilog="The config is rag_assets.yaml in the working directory, or $RAG_ASSETS_CONFIG.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subparsers = top.add_subparsers(help=argparse.SUPPRESS, required=True, dest="command")
    for name in [only] if only in every else every:
        module = _module(name)
        command = subparsers.add_parser(
            name,
            description=f"{module.SUMMARY[0].upper()}{module.SUMMARY[1:]}.",
            epilog=f"examples:\n{module.EXAMPLES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.add_argument("--json", action="store_true", help="answer with one JSON object")
        command.set_defaults(run=module.run)
    return top


def _module(command: str) -> ModuleType:
    package = laboratory if command in laboratory.NAMES else commands
    return import_module(f"{package.__name__}.{command.replace('-', '_')}")


def _overview() -> str:
    """All commands under headings, a sentence for each."""
    lines = ["Keeps a retrieval index over documents and SQL tables fresh and measured."]
    for heading, names in COMMANDS.items():
        lines += ["", f"{heading}:"]
        lines += [f"  {name:12}{_module(name).SUMMARY}" for name in names.split()]
    return "\n".join(lines)


def _show(reply: Reply, *, as_json: bool, stream: TextIO) -> None:
    text = json.dumps(reply.record, ensure_ascii=False) if as_json else reply.text
    if text:
        print(text, file=stream, flush=True)


def _complain(problem: Exception | str, *, code: int) -> int:
    print(f"rag-assets: {problem}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
