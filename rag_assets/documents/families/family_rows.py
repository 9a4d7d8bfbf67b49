"""The table of families: what each document says of its version, and who is a version of whom.

Only new and changed documents are looked at. What the others said stands in the table itself, so
that all of them are linked anew without reading a text; rows that stay the same are not written.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa
from pydantic import TypeAdapter

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.change.steps import made_from
from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.config import Config
from rag_assets.config.addresses import families_table
from rag_assets.documents.chunks.document_texts import BLOCK_COLUMNS, blocks_of
from rag_assets.documents.families.candidates import Candidate
from rag_assets.documents.families.decisions import Decisions, read_decisions
from rag_assets.documents.families.members import Membership, memberships
from rag_assets.documents.head.facts import Stated, stated_by
from rag_assets.documents.step_tables import FILES, elements_of
from rag_assets.identity import fingerprint, fingerprints
from rag_assets.store import Store

CONTENT = pa.schema(
    [field for field in schemas.FAMILIES if field.name not in schemas.SYSTEM_COLUMNS]
)
"""Columns of the table of families, without those that `sync` keeps."""
REVISION = 2
KEY = "document_id"
ELEMENTS_READ = 120
"""At most so many elements of each document are read: a first page has fewer."""
_KNOWN = ["document_id", "content", "stated"]
STATED = TypeAdapter(Stated)
"""What a first page says, as the column `stated` has it."""


def refresh_families(
    store: Store, config: Config, *, parser: str, log: Callable[[str], None]
) -> sync.Report:
    """Link the versions of documents anew, where elements, files or decisions have changed.

    Raises:
        DecisionsError: The file of decisions cannot be read.
    """
    table = families_table(config, parser)
    elements = elements_of(config, parser).as_input
    decisions = read_decisions(config.documents.families)
    recipe = fingerprint("families", REVISION, decisions.content)
    work = _LinkingPass(store, elements=elements.table, target=table, decisions=decisions)
    return sync.refresh(
        sync.Work(
            store=store,
            target=sync.Target(table, schemas.FAMILIES, key=KEY, group=KEY),
            made_from=made_from(store, [elements, FILES], recipe=recipe),
            inputs=work.inputs,
            transform=work.transform,
        ),
        log=log,
    )


class _LinkingPass:
    """One pass over all documents that have elements."""

    def __init__(self, store: Store, *, elements: str, target: str, decisions: Decisions) -> None:
        self._store = store
        self._elements = elements
        self._target = target
        self._decisions = decisions
        self._rows: Mapping[str, Mapping[str, object]] = {}

    def inputs(self) -> pa.Table:
        """One input for each document: all that its row says."""
        documents = self._documents()
        found = memberships(documents, self._decisions)
        self._rows = {each.document_id: _row(each, found[each.document_id]) for each in documents}
        marks = [fingerprint(REVISION, json.dumps(row, default=str)) for row in self._rows.values()]
        return pa.table({"key": list(self._rows), "fingerprint": marks}, schema=sync.INPUTS)

    def transform(self, changed: pa.Table) -> Iterator[sync.Batch]:
        """The rows that are new or say something else, in one commit."""
        keys = changed["key"].to_pylist()
        yield sync.Batch(pa.Table.from_pylist([self._rows[key] for key in keys], CONTENT), keys)

    def _documents(self) -> list[Candidate]:
        files = self._store.read(
            schemas.DOCUMENT_FILES_TABLE, columns=["document_id", "source", "uri"]
        )
        contents = self._contents()
        known = self._known(contents)
        said = known | self._said([each for each in contents if each not in known])
        return [
            Candidate(
                file["document_id"],
                file["source"],
                file["uri"],
                contents[file["document_id"]],
                said[file["document_id"]],
            )
            for file in files.to_pylist()
            if file["document_id"] in contents
        ]

    def _contents(self) -> Mapping[str, str]:
        """What the elements of each document were made from, and by which rules they are read."""
        columns = ["document_id", "fingerprint"]
        rows = self._store.read(self._elements, columns=columns, where="`index` = 0")
        documents, marks = (rows[name].to_pylist() for name in columns)
        return dict(zip(documents, fingerprints(marks, REVISION), strict=True))

    def _known(self, contents: Mapping[str, str]) -> dict[str, Stated]:
        """What those documents said that were looked at before, and are as they were then."""
        if not self._store.exists(self._target):
            return {}
        rows = self._store.read(self._target, columns=_KNOWN).to_pylist()
        return {
            row["document_id"]: STATED.validate_json(row["stated"])
            for row in rows
            if contents.get(row["document_id"]) == row["content"]
        }

    def _said(self, documents: Sequence[str]) -> dict[str, Stated]:
        """What the first pages of `documents` say."""
        found: dict[str, Stated] = {}
        columns = ["document_id", *BLOCK_COLUMNS]
        for part in parts_of(documents):
            where = f"`index` < {ELEMENTS_READ} AND {is_one_of('document_id', part)}"
            rows = self._store.read(self._elements, columns=columns, where=where)
            blocks = blocks_of(rows, {})
            found |= {document: stated_by(held) for document, held in blocks.items()}
        return found


def _row(document: Candidate, membership: Membership) -> Mapping[str, object]:
    version = document.version
    return {
        "document_id": document.document_id,
        "source": document.source,
        "uri": document.uri,
        "content": document.content,
        "stated": STATED.dump_json(document.stated).decode(),
        "title": document.stated.title,
        "number": document.number[0],
        "version": version.label,
        "released": version.day or document.number[2],
        "family": membership.family,
        "place": membership.place,
        "status": membership.status,
        "linked_by": membership.linked_by,
        "evidence": membership.evidence,
    }
