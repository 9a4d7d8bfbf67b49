"""One read of a table of a database: what its ways have in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from rag_assets.sources.cells import MisfitError
from rag_assets.sources.databases.limits import Watch
from rag_assets.sources.landed import Landed
from rag_assets.sources.origins import Reading


@dataclass(kw_only=True, slots=True)
class TableRead(ABC):
    """All rows of a table, or those that may have moved since it was last read."""

    table: str
    kinds: Mapping[str, pa.DataType]
    """The type of each column, in the order of the source."""
    folder: Path
    """Takes the keys; it need not be there yet."""
    watch: Watch
    keys: Path | None = field(default=None, init=False)
    """File of the keys of all rows, where not all rows were read."""
    memory: str = ""
    """What the next read wants to be told."""

    @abstractmethod
    def rows(self) -> Iterator[pa.Table]:
        """The rows, columns named by position, in batches of bounded size.

        Raises:
            StreamError: ADBC does not give them.
            MisfitError: A value does not fit its column.
        """

    def fitted(self, columns: Mapping[str, pa.Array | None]) -> pa.Table:
        """A batch of these columns, named by position.

        Raises:
            MisfitError: Some are None: one of their values does not fit.
        """
        misfits = [name for name, column in columns.items() if column is None]
        if misfits:
            raise MisfitError(self.table, misfits)
        return pa.table([*columns.values()], names=[f"c{place}" for place in range(len(columns))])

    def land_keys(self, key: Sequence[str], batches: Iterable[pa.Table]) -> None:
        """Write the columns `key` of all rows, which come in `batches`, to a file."""
        import pyarrow.parquet as pq

        self.folder.mkdir(parents=True, exist_ok=True)
        self.keys = self.folder / "keys.parquet"
        schema = pa.schema([(f"c{place}", self.kinds[name]) for place, name in enumerate(key)])
        with pq.ParquetWriter(self.keys, schema, compression="lz4", use_dictionary=False) as file:
            for batch in batches:
                file.write_table(batch)

    def reading(self, name: str) -> Reading:
        """How dlt is to land it, as the resource `name`."""
        from dlt.extract import DltResource

        def batches() -> Iterator[pa.Table]:
            with self.watch.over(self.table):
                yield from self.rows()

        def landed(files: Mapping[str, Sequence[Path]]) -> Landed:
            keys = None if self.keys is None else [self.keys]
            schema = pa.schema([*self.kinds.items()])
            return Landed(schema, files[name], keys=keys, memory=self.memory)

        return Reading([DltResource.from_data(batches(), name=name)], landed)
