"""What some rows hold, as one hash that does not depend on their order."""

from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from rag_assets.columns.arrow_sql import query
from rag_assets.identity import fingerprint


@dataclass(frozen=True, slots=True)
class Content:
    """What a data version says of some rows."""

    rows: int
    bits: int
    """XOR over a hash of each row."""

    @classmethod
    def of(cls, rows: pa.Table | pa.RecordBatchReader) -> Self:
        """The content of `rows`: keys in their first column, fingerprints in the second."""
        key, content = rows.schema.names[:2]
        result = query(
            "SELECT count(*) AS rows, "
            f"coalesce(bit_xor(md5_number({key} || ':' || {content})), 0)::VARCHAR AS bits "
            "FROM identities",
            identities=rows,
        )
        return cls(result["rows"][0].as_py(), int(result["bits"][0].as_py()))

    @property
    def data_version(self) -> str:
        """The hash that stands for this content and no other."""
        return fingerprint(self.rows, str(self.bits) if self.rows else None)[:32]
