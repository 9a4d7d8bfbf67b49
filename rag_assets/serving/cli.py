"""The command line, `rag-assets`: a thin layer over the same code as the asset graph.

Answers go to stdout and progress to stderr. An error is one sentence that says what to do, never a
traceback. Exit codes: 0 all done, 1 failed, 2 wrong usage or config, 3 done with failed units.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TextIO

from rag_assets.config import ConfigError
from rag_assets.laboratory import commands as laboratory
from rag_assets.models.language.spending import noted
from rag_assets.process.errors import ExplainedError
from rag_assets.process.interrupts import stoppable
from rag_assets.serving import commands, disk_errors
from rag_assets.serving.language_model_costs import spent_lines
from rag_assets.serving.replies import (
    FAILED,
    INTERRUPTED,
    USAGE,
    CommandError,
    Reply,
    UsageError,
    say,
)

COMMANDS: Mapping[str, str] = {
    "The first day": "demo init refresh search ask show serve mcp status ui",
    "Look into it": "documents tables variants",
    "Measure and train": "questions evaluate experiment judge training",
    "Answers": "report answers",
    "Operate": "doctor alerts keys explain-access clean-up",
}
"""The commands by what they are for, in the order in which they are needed."""

MOVED: Mapping[str, str] = {
    "acknowledge": "alerts acknowledge",
    "answers --export": "answers export",
    "answers --forget-user": "answers forget",
    "answers ID": "answers show",
    "backfill": "variants backfill",
    "cite": "answers cite",
    "documents --confirm": "documents confirm",
    "documents --diff": "documents diff",
    "documents --reject": "documents reject",
    "explain": "show --lineage",
    "export": "tables export",
    "history": "variants history",
    "lookup": "tables lookup",
    "plan": "refresh --dry-run",
    "preview": "variants preview",
    "promote": "variants promote",
    "purge": "documents purge",
    "replay": "answers replay",
    "rollback": "variants rollback",
    "tables ID": "tables show",
    "variants --cost": "variants cost",
    "variants --drop": "variants drop",
    "verify": "answers verify",
}
"""Earlier spellings, which go on working, and those of now; `ID` is what no action is called."""

OFFLINE_DEFAULTS: Mapping[str, str] = {
    "GX_ANALYTICS_ENABLED": "false",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "RUNTIME__DLTHUB_TELEMETRY": "false",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Switch off telemetry of libraries, unless the user has set these variables."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; what language models took is told at its end."""
    with noted() as spent:
        try:
            return _run(arguments)
        finally:
            for line in spent_lines(spent):
                say(line)


def _run(arguments: Sequence[str] | None) -> int:
    for name, value in OFFLINE_DEFAULTS.items():
        os.environ.setdefault(name, value)
    given = spelled_now(sys.argv[1:] if arguments is None else arguments)
    options = parser(given).parse_args(given)
    try:
        with stoppable():
            reply: Reply = options.run(options)
    except (ConfigError, UsageError) as error:
        return _complain(error, code=USAGE)
    except CommandError as error:
        return _complain(error, code=FAILED)
    except KeyboardInterrupt:
        return _complain(
            "interrupted; what was committed is kept, run it again to go on", code=INTERRUPTED
        )
    except Exception as error:  # a disk error may come from any library
        remedy = disk_errors.remedy_now(error)
        if remedy is None and not isinstance(error, ExplainedError):
            raise
        return _complain(remedy or error, code=FAILED)
    try:
        _show(reply, as_json=options.json, stream=sys.stdout)
    except BrokenPipeError:  # the reader has stopped reading, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return reply.code


def spelled_now(given: Sequence[str]) -> list[str]:
    """What was `given`, as it is spelled now: see `MOVED`, of which a line on stderr tells.

    A command that does several things does the first of them unless told.
    """
    first, rest = next(iter(given), ""), [*given[1:]]
    actions = actions_of(first)
    for place, each in enumerate(rest if actions else ()):
        option, _, value = each.partition("=")
        if option.startswith("-") and f"{first} {option}" in MOVED:
            left = [*rest[:place], *filter(None, [value]), *rest[place + 1 :]]
            return _moved(f"{first} {option}", left)
    if first in MOVED:
        return _moved(first, rest)
    named = next((each for each in rest if each != "--json"), "-")
    if not named.startswith("-") and f"{first} ID" in MOVED and named not in actions:
        return _moved(f"{first} ID", rest)
    if actions and [*rest, "-"][0].startswith("-") and not {"-h", "--help"} & {*rest}:
        return [first, actions[0], *rest]
    return [*given]


def _moved(spelling: str, rest: Sequence[str]) -> list[str]:
    say(f"rag-assets: `rag-assets {spelling}` is spelled `rag-assets {MOVED[spelling]}` now")
    return [*MOVED[spelling].split(), *rest]


def parser(given: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of the whole command line, or of the command that `given` begins with alone.

    So only the module of that is loaded. What is no command is parsed by all, so that the error
    names them.
    """
    every = " ".join(COMMANDS.values()).split()
    top = argparse.ArgumentParser(
        prog="rag-assets",
        usage="rag-assets COMMAND ...",
        description=None if {*given[:1]} & {*every} else _overview(),
        epilog="The config is rag_assets.yaml in the working directory, or $RAG_ASSETS_CONFIG.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_commands(top, {name: _module(name) for name in _wanted(given, every)}, given[1:])
    return top


def _add_commands(
    above: argparse.ArgumentParser, modules: Mapping[str, ModuleType], given: Sequence[str]
) -> None:
    """Add commands, or the actions of one, to the parser `above` them."""
    subparsers = above.add_subparsers(
        help=argparse.SUPPRESS, required=True, dest="command", prog=above.prog, metavar="COMMAND"
    )
    for name, module in modules.items():
        actions = _wanted(given, getattr(module, "ACTIONS", ()))
        below = {each: _module(each, within=module) for each in actions}
        said = f"{module.SUMMARY[0].upper()}{module.SUMMARY[1:]}."
        command = subparsers.add_parser(
            name,
            usage=f"{above.prog} {name} COMMAND ..." if below else None,
            description="\n".join([said, *([""] if below else []), *_summaries(below)]),
            epilog=f"examples:\n{module.EXAMPLES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if below:
            _add_commands(command, below, given[1:])
        else:
            getattr(module, "add_arguments", lambda _: None)(command)
            command.add_argument("--json", action="store_true", help="answer with one JSON object")
            command.set_defaults(run=module.run)


def _wanted(given: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    return given[:1] if {*given[:1]} & {*names} else names


def actions_of(command: str) -> Sequence[str]:
    """What a command does, if it does several things and is one."""
    is_one = command in " ".join(COMMANDS.values()).split()
    return getattr(_module(command), "ACTIONS", ()) if is_one else ()


def _module(name: str, *, within: ModuleType | None = None) -> ModuleType:
    package = within or (laboratory if name in laboratory.NAMES else commands)
    return import_module(f"{package.__name__}.{name.replace('-', '_')}")


def _overview() -> str:
    """All commands under headings, a sentence for each, and the actions of those that have some."""
    lines = ["Keeps a retrieval index over documents and SQL tables fresh and measured."]
    for heading, names in COMMANDS.items():
        lines += ["", f"{heading}:"]
        for name, module in {each: _module(each) for each in names.split()}.items():
            lines += _summaries({name: module})
            if actions := getattr(module, "ACTIONS", ()):
                lines.append(f"{'':14}{name} {'|'.join(actions)}")
    return "\n".join(lines)


def _summaries(modules: Mapping[str, ModuleType]) -> Iterable[str]:
    return (f"  {name:15}{module.SUMMARY}" for name, module in modules.items())


def _show(reply: Reply, *, as_json: bool, stream: TextIO) -> None:
    text = json.dumps(reply.record, ensure_ascii=False) if as_json else reply.text
    if text:
        print(text, file=stream, flush=True)


def _complain(problem: Exception | str, *, code: int) -> int:
    print(f"rag-assets: {problem}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
