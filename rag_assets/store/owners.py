"""Which state folder writes the tables of an object store: one alone, as its locks lie in it.

A marker below `tables_url` names it. It is a table of one row, since the commit of a table is what
an object store does if absent, atomically.
"""

import socket
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from rag_assets.process.errors import ExplainedError
from rag_assets.store.atomic import write_atomically
from rag_assets.store.locks import locked
from rag_assets.store.table_locations import Place

MARKER = "_owner/state"
"""A folder that is no table, so that nothing takes the marker for one."""
TAKEN = "takes_over"
ID = "state_id"
"""The file of a state's id: it goes with the folder where that is moved, or restored. A copy has it
too; on another machine nothing tells the two apart."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A state folder."""

    state_id: str
    folder: str
    host: str
    since: str


class OtherStateError(ExplainedError):
    """Another state folder writes the tables."""

    def __init__(self, place: str, owner: Owner) -> None:
        super().__init__(
            f"the tables at {place} are written by the state folder {owner.folder} on {owner.host} "
            f"(id {owner.state_id}, since {owner.since}), and two would double their rows: give "
            "this one a `tables_url` of its own, or, once nothing runs on the other, write them "
            "from here: rag-assets refresh --take-over-tables"
        )


def own(place: Place, root: Path, *, locks: Path, takes_over: bool) -> None:
    """Let the state at `root` be the one that writes the tables of `place`.

    Raises:
        OtherStateError: Another one is, and is not to be replaced.
        UnreachableTablesError: The object store does not answer.
    """
    import lance

    since = datetime.now(UTC).isoformat(timespec="seconds")
    this = Owner(_id_of(root, locks), str(root.absolute()), socket.gethostname(), since)
    marker = place.uri(MARKER)
    if not place.exists(MARKER):
        try:
            lance.write_dataset(_row(this, takes_over=False), marker, mode="create")
        except OSError:
            if not place.exists(MARKER):  # else another state was faster
                raise
    found = _owner(marker)
    if found.state_id == this.state_id and not _is_beside(found, root):
        return
    if not takes_over:
        raise OtherStateError(marker.removesuffix(f"/{MARKER}.lance"), found)
    lance.write_dataset(_row(this, takes_over=True), marker, mode="overwrite")


def _is_beside(owner: Owner, root: Path) -> bool:
    """Whether the owner's folder is another one of this machine with its id: one is a copy."""
    other = Path(owner.folder)
    with suppress(OSError):  # it was moved
        is_there = (other / ID).read_text("utf-8", "replace").strip() == owner.state_id
        return is_there and owner.host == socket.gethostname() and not other.samefile(root)
    return False


def _row(owner: Owner, *, takes_over: bool) -> pa.Table:
    return pa.Table.from_pylist([{**asdict(owner), TAKEN: takes_over}])


def _owner(marker: str) -> Owner:
    """Who wrote the first version, or last took over: who came second makes a version, too."""
    import lance

    rows: list[dict[str, str]] = []
    for version in lance.dataset(marker).versions():
        [row] = lance.dataset(marker, version=version["version"]).to_table().to_pylist()
        if row.pop(TAKEN) or not rows:
            rows.append(row)
    return Owner(**rows[-1])


def _id_of(root: Path, locks: Path) -> str:
    """The id of the state at `root`, which is given one when it is first asked for."""
    file = root / ID
    with locked(locks / f"{ID}.lock", log=lambda _: None):
        if not file.exists() or not file.read_text("utf-8").strip():
            write_atomically(file, str(uuid4()))
    return file.read_text("utf-8").strip()
