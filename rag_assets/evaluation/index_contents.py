"""What an index can return: the documents and tables that its units come from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow.compute as pc

from rag_assets.store import Store
from rag_assets.store.pins import Pin


@dataclass(frozen=True, slots=True)
class IndexContents:
    """The documents and rows of one index, whatever they were cut into."""

    documents: frozenset[str]
    """The name of each document, `source/uri`."""
    rows: Mapping[str, int]
    """Number of rows of each `source/table`."""

    @property
    def size(self) -> int:
        """Documents and rows together."""
        return len(self.documents) + sum(self.rows.values())

    def lacks(self, other: "IndexContents") -> Iterator[tuple[str, int]]:
        """What `other` has more of: a document, or a table with the number of rows."""
        yield from ((document, 1) for document in sorted(other.documents - self.documents))
        for table, count in other.rows.items():
            if count > self.rows.get(table, 0):
                yield table, count - self.rows.get(table, 0)


def contents_of(store: Store, joint: Pin) -> IndexContents:
    """What the units of a joint table come from, at one version."""
    names = ["domain", "source", "uri"]
    found = store.read(joint.table, columns=names, version=joint.version)
    counted = found.group_by(names).aggregate([([], "count_all")])
    label = pc.binary_join_element_wise(counted["source"], counted["uri"], "/")
    is_document = pc.equal(counted["domain"], "document")
    tables = counted.filter(pc.invert(is_document))
    return IndexContents(
        documents=frozenset(label.filter(is_document).to_pylist()),
        rows=dict(zip(tables["uri"].to_pylist(), tables["count_all"].to_pylist(), strict=True)),
    )
