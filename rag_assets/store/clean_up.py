"""Old versions of tables are removed, and small parts merged, on a schedule of their own.

Each commit of a refresh makes a version; whoever opened an older one keeps reading it. The newest
version always stays, and so does one that a complete set or the serving pointer pins (see
`complete_sets`, `serving_pointer`) or that a Lance tag names; nothing here sets a tag, an operator
may. Any other stays for a while after a newer one took its place, however long ago it was written,
since a search or a refresh that began before may still read it. Whoever cleans a table up is its
one writer meanwhile: a file that no version names is what a killed writer left, and goes too. If a
clean-up is killed, versions that are still listed but needed by nobody go with the next one.

Merging pays when there are many small fragments (parts of a table that one commit wrote), since
each is opened by every read. It writes the rows anew, and the old files stay until the versions
that need them are removed. Where the disk has no room for that, it is left to another day.
"""

import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rag_assets.process.interrupts import stoppable
from rag_assets.store import MissingTableError, Store
from rag_assets.store.branches import drop_trials
from rag_assets.store.catalog import folder_of
from rag_assets.store.damage import DAMAGE, DamagedTablesError
from rag_assets.store.table_locations import UnreachableTablesError

if TYPE_CHECKING:
    from lance import LanceDataset, LanceFragment

SMALL_FRAGMENT = 100_000
"""A fragment with fewer rows is small."""
SMALL_FRAGMENTS = 20
"""With more small fragments than this a table is merged: every read opens each of them."""
MERGED_ROWS = 131_072
"""Fragments are merged up to so many rows. To write larger ones takes memory for each row: .46 GB
for a million units in one fragment, .3 GB in seven, with pylance 14.0."""
DELETED_SHARE = 0.1
"""Deleted rows stay in their fragment and are skipped; more than this share is written anew."""
RUNNING = timedelta(hours=1)
"""A version that was replaced less than this ago stays whatever is asked: a search or a refresh
that is running may read it."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What was done to one table."""

    table: str
    removed: int
    """The number of versions that were removed."""
    kept: int
    """Versions, the newest included."""
    tagged: int
    """The number of kept versions that have a tag."""
    merged: int
    """Fragments that were written together."""
    bytes_freed: int
    seconds: float


def clean_up_all(
    store: Store,
    *,
    keep_days: float,
    pinned: Mapping[str, Collection[int]] = MappingProxyType({}),
    log: Callable[[str], None],
) -> Iterator[Cleaned]:
    """Clean up every table; versions replaced less than `keep_days` ago stay.

    So do those that are `pinned`, by the generation of their table, and the newest of a table
    that is retired.

    Raises:
        DamagedTablesError: Some could not be read; the others have been cleaned up.
    """
    older_than = max(timedelta(days=keep_days), RUNNING)
    damaged: dict[str, BaseException | str] = {}
    for table in store.generations():
        try:
            with stoppable():  # or Lance's name for an interrupt would be taken for damage
                kept = pinned.get(table, ())
                done = clean_up(store, table, older_than=older_than, pinned=kept, log=log)
        except MissingTableError:  # a refresh is building it again
            continue
        except UnreachableTablesError:
            raise
        except DamagedTablesError as error:
            damaged |= error.errors
        except DAMAGE as error:
            damaged[folder_of(table)] = error
        else:
            yield done
    if damaged:
        raise DamagedTablesError(damaged)


def clean_up(
    store: Store,
    table: str,
    *,
    older_than: timedelta,
    pinned: Collection[int] = (),
    log: Callable[[str], None],
) -> Cleaned:
    """Merge the fragments of a table if that is due, and remove versions that nobody needs.

    Args:
        store: Where the table lies.
        table: The name of the table, or one of its generations.
        older_than: A version without a tag is removed when a newer one took its place longer ago.
        pinned: Versions that stay too.
        log: Receives a line if another process writes the table and must be waited for.

    Raises:
        MissingTableError: There is no such table.
    """
    started = time.monotonic()
    with store.lock(table, log=log):
        drop_trials(store, table)
        # Merged before old versions go: what it replaces is a version too, for the next clean-up.
        is_merged = _has_room(store, table) and _is_worth_merging(store.open(table).to_lance())
        merged = merge(store, table) if is_merged else 0
        dataset = store.open(table).to_lance()
        tagged = _tagged(dataset)
        replaced = _replaced(dataset)
        kept = tagged.union(pinned)
        unneeded = _unneeded(replaced, older_than=older_than, kept=kept)
        freed = _remove(dataset, unneeded)
    return Cleaned(
        table=folder_of(store.generation(table)),
        removed=len(unneeded),
        kept=len(replaced) + 1 - len(unneeded),
        tagged=len(tagged),
        merged=merged,
        bytes_freed=freed,
        seconds=time.monotonic() - started,
    )


def old_bytes(
    store: Store, table: str, *, older_than: timedelta, pinned: Collection[int] = ()
) -> int:
    """What `clean_up` with these arguments would free of old versions; nothing is removed."""
    dataset = store.dataset(table)
    replaced = _replaced(dataset)
    kept = _tagged(dataset).union(pinned)
    unneeded = _unneeded(replaced, older_than=older_than, kept=kept)
    if not unneeded:
        return 0
    explained = dataset.explain_cleanup_old_versions(
        versions=[*unneeded, dataset.version],
        delete_unverified=True,
        error_if_tagged_old_versions=False,
    )
    return explained.stats.bytes_removed


def _unneeded(
    replaced: Mapping[int, datetime], *, older_than: timedelta, kept: Collection[int]
) -> list[int]:
    """Versions that were replaced long enough ago and need not be `kept`."""
    oldest = datetime.now(UTC) - older_than
    return [version for version, at in replaced.items() if at < oldest and version not in kept]


def is_scattered(fragments: Sequence["LanceFragment"]) -> bool:
    """Whether a table has so many small fragments that a merge pays at once."""
    return sum(fragment.physical_rows < SMALL_FRAGMENT for fragment in fragments) > SMALL_FRAGMENTS


def merge(store: Store, table: str) -> int:
    """Write small fragments together, and what deletions left; returns how many.

    The caller is the table's one writer. The rows are the same: what was finished stays finished.
    """
    left = store.ended(table)
    is_as_left = left is not None and left.files == store.files(table)
    merged = _rewritten(store, table)
    if left and is_as_left:
        files, sizes = store.files(table), store.sizes(table)
        store.complete(table, replace(left, files=files, sizes=sizes))
    return merged


def write_anew(store: Store, table: str) -> None:
    """Write every fragment with deleted rows again, without them; the caller is the one writer.

    Nothing of the deleted rows is left in the newest version. The pass that the table is known by
    counts as forgotten.
    """
    _rewritten(store, table, materialize_deletions_threshold=0.0)


def _rewritten(store: Store, table: str, **options: float) -> int:
    """Let Lance write together what it finds to be scattered; returns how many fragments went.

    As `optimize.compact_files`, with a look at what was written before a version names it.
    """
    from lance.optimize import Compaction

    dataset = store.open(table).to_lance()
    plan = Compaction.plan(dataset, {"target_rows_per_fragment": MERGED_ROWS, **options})
    done = [task.execute(dataset) for task in plan.tasks]
    store.check_written(table, [each for one in done for each in one.new_fragments])
    return Compaction.commit(dataset, done).fragments_removed if done else 0


def keep_only(store: Store, table: str, *, versions: Collection[int]) -> int:
    """Remove all versions but the newest and `versions`, however lately they were replaced.

    Files that no version names go too. The caller is the one writer, and knows that no tag names a
    version that goes. Returns how many versions went.
    """
    dataset = store.open(table).to_lance()
    kept = {*versions, dataset.version}
    unneeded = [version for version in store.versions(table) if version not in kept]
    _remove(dataset, unneeded)
    return len(unneeded)


def _has_room(store: Store, table: str) -> bool:
    """Whether all rows of a table could be written once more; in an object store they can."""
    if not Path(store.uri(table)).is_dir():
        return True
    return shutil.disk_usage(store.uri(table)).free > 2 * sum(store.sizes(table).values())


def _is_worth_merging(dataset: "LanceDataset") -> bool:
    fragments = dataset.get_fragments()
    rows = sum(fragment.physical_rows for fragment in fragments)
    deleted = sum(fragment.num_deletions for fragment in fragments)
    return is_scattered(fragments) or deleted > rows * DELETED_SHARE


def _tagged(dataset: "LanceDataset") -> set[int]:
    return {tag["version"] for tag in dataset.tags.list().values()}


def _replaced(dataset: "LanceDataset") -> Mapping[int, datetime]:
    """When each version but the newest was replaced.

    A clock that was set back makes versions look older than those before them: the latest time so
    far counts.
    """
    written = {}
    for version in dataset.versions():
        at = version["timestamp"]
        assert isinstance(at, datetime), "Lance gives the time of a version as local time"
        written[int(version["version"])] = at.astimezone()
    numbers = sorted(written)
    latest = list(accumulate((written[number] for number in numbers), max))
    return dict(zip(numbers[:-1], latest[1:], strict=True))


def _remove(dataset: "LanceDataset", versions: Sequence[int]) -> int:
    """Remove `versions`, what only they need, and files that no version names.

    Returns the bytes that came free. Lance wants at least one version and never removes the newest.
    It leaves files that no version names for a week, or for ever where no version goes: they may be
    a commit under way, which the lock of the one writer rules out here.
    """
    done = dataset.cleanup_old_versions(
        versions=[*versions, dataset.version],
        delete_unverified=True,
        error_if_tagged_old_versions=False,
    )
    return done.bytes_removed
