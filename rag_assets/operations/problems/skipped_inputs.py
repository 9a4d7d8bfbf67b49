"""What is left out of the index, or stale there, by reason: 16 ODT files are one line, not sixteen.

Two failures have one reason if they say the same, but for the name of the file or row and for
numbers, and are about the same kind of file or the same table.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import PurePosixPath

from rag_assets import schemas
from rag_assets.change.quarantine import Blame, Failure, QuarantineEntry, all_entries
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.store import Store
from rag_assets.store.catalog import is_of_recipe

EXPORTS = "exports/"
"""Prefix of the quarantine targets of table sources."""
WHOLE_TABLE = "*"
"""Key of a failure that concerns a whole table of a source."""
NO_PARSER = "no parser reads "
EXAMPLES = 3
LONGEST_SUFFIX = 8
_UNTIL = re.compile(r"; (it is )?tried again .*$", re.DOTALL)
_NUMBER = re.compile(r"\d[\d,.]*")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Inputs that failed on the way to one asset for one reason."""

    asset: str
    """The asset that lacks them; `exports/SOURCE/TABLE` for a table of a source."""
    of: str
    """Their kind of file, such as ODT, or their table."""
    cause: str
    """What happened, without their names."""
    remedy: str
    blame: Blame
    count: int
    examples: Sequence[str]
    """The first few by name."""
    since: datetime
    """When the first of them failed (UTC)."""
    tried_again: date | None
    """The day (UTC) from which the first of them is tried again unasked."""
    is_stale: bool
    """Whether they are not left out: the index has an earlier version of them."""
    is_retry_useful: bool
    """Whether `rag-assets refresh --retry-failed` may help without a change of the inputs."""

    @property
    def line(self) -> str:
        """All of them in a few words."""
        return f"{self.count:,} {self.of}: {self.cause}"


def entries_of(
    store: Store, config: Config, *, variants: Collection[str] | None = None
) -> list[QuarantineEntry]:
    """What stands in quarantine of the sources and recipes that `config` names.

    Of all its variants, or of some `variants`.
    """
    named = _asset_of_targets(store, config, variants or config.variants)

    def is_named(target: str) -> bool:
        if target.startswith(EXPORTS):
            return target.split("/")[1] in config.table_sources
        return target in named or not is_of_recipe(target)

    return [entry for entry in all_entries(store) if is_named(entry.target)]


def is_of_source(entry: QuarantineEntry) -> bool:
    """Whether it says that a source, a table or a folder could not be read at all."""
    key = entry.failure.key
    if entry.target.startswith(EXPORTS):
        return key == WHOLE_TABLE
    return entry.target == schemas.DOCUMENT_FILES_TABLE and key.endswith("/")


def left_out(store: Store, config: Config, entries: Iterable[QuarantineEntry]) -> list[LeftOut]:
    """Those of `entries` that are single files, rows or units, the largest groups first."""
    entries = [each for each in entries if not is_of_source(each)]
    if not entries:
        return []
    assets, refused = _asset_of_targets(store, config, config.variants), refused_files(store)
    lacking = {each.failure.key for each in entries if each.failure.stale_since is None}
    groups: defaultdict[tuple[str, str, str, bool], dict[str, QuarantineEntry]] = defaultdict(dict)
    for each in entries:
        asset = assets.get(each.target, each.target)
        failure = each.failure
        cause = _NUMBER.sub("0", _cause(failure))
        document = failure.key.removesuffix(schemas.UNREAD)
        is_stale = failure.stale_since is not None and document not in lacking
        groups[asset, _kind(failure.label), cause, is_stale].setdefault(failure.label, each)
    found = [
        _group(asset, kind, list(members.values()), is_stale=is_stale, refused=refused)
        for (asset, kind, _, is_stale), members in groups.items()
    ]
    return sorted(found, key=lambda each: (-each.count, each.asset, each.of))


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


def _group(
    asset: str,
    kind: str,
    members: Sequence[QuarantineEntry],
    *,
    is_stale: bool,
    refused: Collection[str],
) -> LeftOut:
    failures = [each.failure for each in members]
    cause, _, remedy = _cause(failures[0]).rpartition(": ")
    days = [failure.tried_again for failure in failures if failure.tried_again]
    return LeftOut(
        asset=asset,
        of=kind,
        cause=(cause or remedy).removeprefix("is "),
        remedy=remedy if cause else _what_helps(failures[0]),
        blame=failures[0].kind,
        count=len(failures),
        examples=[failure.label for failure in failures[:EXAMPLES]],
        since=min(each.failure.stale_since or each.failed_at for each in members),
        tried_again=min(days, default=None),
        is_stale=is_stale,
        is_retry_useful=any(
            is_retry_useful(asset, failure, refused=refused) for failure in failures
        ),
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
