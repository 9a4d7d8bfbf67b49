"""What is left out of the index, or stale there, by reason: 16 ODT files are one line, not sixteen.

Two failures have one reason if they say the same, but for the name of the file or row and for
numbers, and are about the same kind of file or the same table.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath

from rag_assets import schemas
from rag_assets.change.quarantine import Failure, QuarantineEntry, all_entries
from rag_assets.config import Config
from rag_assets.findings.finding import Finding, named
from rag_assets.graph import STEPS
from rag_assets.operations.problems.acknowledged import NUMBER, Failing, acknowledged, failing, how
from rag_assets.store import Store
from rag_assets.store.catalog import is_of_recipe

EXPORTS = "exports/"
"""Prefix of the quarantine targets of table sources."""
WHOLE_TABLE = "*"
"""Key of a failure that concerns a whole table of a source."""
NO_PARSER = "no parser reads "
LONGEST_SUFFIX = 8
_UNTIL = re.compile(r"; (it is )?tried again .*$", re.DOTALL)
RETRY = "`rag-assets refresh --retry-failed`"


def entries_of(
    store: Store, config: Config, *, variants: Collection[str] | None = None
) -> list[QuarantineEntry]:
    """What stands in quarantine of the sources and recipes that `config` names.

    Of all its variants, or of some `variants`; what was acknowledged included.
    """
    named = _asset_of_targets(store, config, variants or config.variants)

    def is_named(target: str) -> bool:
        if target.startswith(EXPORTS):
            return target.split("/")[1] in config.table_sources
        return target in named or not is_of_recipe(target)

    return [entry for entry in all_entries(store) if is_named(entry.target)]


def unknown(store: Store, entries: Iterable[QuarantineEntry]) -> list[QuarantineEntry]:
    """The entries that nobody acknowledged."""
    accepted = acknowledged(store)
    return [each for each in entries if version_of(each) not in accepted]


def version_of(entry: QuarantineEntry) -> Failing:
    """What a person acknowledges of an entry."""
    version = "" if is_of_source(entry) else entry.fingerprint
    return failing(entry.failure.label, entry.failure.reason, version=version)


def is_of_source(entry: QuarantineEntry) -> bool:
    """Whether it says that a source, a table or a folder could not be read at all."""
    key = entry.failure.key
    if entry.target.startswith(EXPORTS):
        return key == WHOLE_TABLE
    return entry.target == schemas.DOCUMENT_FILES_TABLE and key.endswith("/")


def left_out(store: Store, config: Config, entries: Iterable[QuarantineEntry]) -> list[Finding]:
    """The problems of single files, rows or units, the largest groups first.

    A file that fails on the way to several tables is told once.
    """
    entries = [each for each in entries if not is_of_source(each)]
    if not entries:
        return []
    assets, refused = _asset_of_targets(store, config, config.variants), refused_files(store)
    lacking = {each.failure.key for each in entries if each.failure.stale_since is None}
    groups: defaultdict[tuple[str, str, str, bool], list[QuarantineEntry]] = defaultdict(list)
    known: set[tuple[str, bool]] = set()
    for each in entries:
        failure = each.failure
        asset = assets.get(each.target, each.target)
        document = failure.key.removesuffix(schemas.UNREAD)
        is_stale = failure.stale_since is not None and document not in lacking
        if (failure.label, is_stale) not in known:
            known.add((failure.label, is_stale))
            cause = NUMBER.sub("0", _cause(failure))
            groups[asset, _kind(failure.label), cause, is_stale].append(each)
    found = [
        _problem(asset, kind, members, is_stale=is_stale, refused=refused)
        for (asset, kind, _, is_stale), members in groups.items()
    ]
    return sorted(found, key=lambda each: (-len(each.names), each.assets, each.subject))


def is_retry_useful(asset: str, failure: Failure, *, refused: Collection[str]) -> bool:
    """Whether to try again what waits may end otherwise, though the input is the same.

    Args:
        asset: The asset that lacks it.
        failure: How it failed.
        refused: The `refused_files`.
    """
    if failure.kind == "limit":
        return True
    is_refused = failure.key in refused or failure.reason.startswith(NO_PARSER)
    kind = STEPS.kind(asset)
    is_beyond = kind is not None and kind.fails_beyond_input
    return failure.kind == "input" and is_beyond and not is_refused


def refused_files(store: Store) -> set[str]:
    """Ids of files that no parser is given: empty, encrypted, of a format that nobody reads."""
    if not store.exists(schemas.DOCUMENT_FILES_TABLE):
        return set()
    bad = store.read(schemas.DOCUMENT_FILES_TABLE, columns=["document_id"], where="status <> 'ok'")
    return set(bad["document_id"].to_pylist())


def _problem(
    asset: str,
    kind: str,
    members: Sequence[QuarantineEntry],
    *,
    is_stale: bool,
    refused: Collection[str],
) -> Finding:
    failures = [each.failure for each in members]
    step = STEPS.kind(asset)
    names, items = tuple(failure.label for failure in failures), step.counts if step else "rows"
    cause, _, remedy = _cause(failures[0]).rpartition(": ")
    remedies = [remedy if cause else _what_helps(failures[0])]
    days = [failure.tried_again for failure in failures if failure.tried_again]
    if days:
        remedies.append(f"tried again on {min(days)}, or at once with {RETRY}")
    elif any(is_retry_useful(asset, failure, refused=refused) for failure in failures):
        remedies.append(f"once the cause is gone: {RETRY}")
    remedies.append(f"if it is to stay so: {how(names[0] if len(names) == 1 else 'FILE')}")
    return Finding(
        "documents_stale" if is_stale else "units_failed",
        named(names, items=items),
        since=min(each.failure.stale_since or each.failed_at for each in members),
        reason=f"{kind}: {(cause or remedy).removeprefix('is ')}",
        remedy="; ".join(remedies),
        assets=(asset,),
        names=names,
        items=items,
    )


def _what_helps(failure: Failure) -> str:
    if failure.kind == "environment":
        return "nothing: it is tried again at the next refresh"
    if failure.kind == "limit":
        return "nothing, or raise the limit and use --retry-failed"
    return "correct it at the source"


def _cause(failure: Failure) -> str:
    """The reason without the name of what failed, and without when it is tried again."""
    text = _UNTIL.sub("", failure.reason)
    for name in (failure.label, PurePosixPath(failure.label).name):
        text = text.replace(name, "") if name else text
    return " ".join(text.split()).lstrip(":;, ")


def _kind(label: str) -> str:
    """The kind of a file by its suffix; of a row, its table."""
    table, mark, _ = label.partition(" row ")
    suffix = PurePosixPath(label).suffix[1:]
    if mark or not suffix.isalnum() or len(suffix) > LONGEST_SUFFIX:
        return table
    return suffix.upper()


def _asset_of_targets(store: Store, config: Config, variants: Collection[str]) -> dict[str, str]:
    """The asset of each table that a step writes or has beside it."""
    return {
        store.known_as(table): step.asset
        for step in STEPS.all_of(config, *variants)
        for table in step.tables
    }
