"""Where the file of a document stands now, however often it was moved since it was cited.

What served pins the manifest of files that it was made from. A file that is gone in one of them,
and whose bytes stand at another place in that or a later one, was moved there.
"""

from collections.abc import Collection, Mapping
from functools import cached_property, lru_cache

from rag_assets.retrieval.versions import DocumentKey
from rag_assets.store import Store, serving_pointer
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.pins import Pin, holds

MANIFESTS = 40
"""Manifests, the newest, by which a file is followed."""
PLACES_KEPT = 1_000
"""Documents whose places are remembered."""


class MovedFiles:
    """The places of files until one complete set."""

    def __init__(self, store: Store, complete_set: CompleteSet) -> None:
        """Follow files until `complete_set`."""
        self._store = store
        self._now = complete_set.manifest
        self.hashes = lru_cache(maxsize=2 * MANIFESTS)(self._read_hashes)
        self._places = lru_cache(maxsize=PLACES_KEPT)(self._read_places)

    def places(self, document: DocumentKey, then: CompleteSet) -> Collection[DocumentKey]:
        """Where a document of then stands, or stood since.

        Its own place alone, where a file stands now.
        """
        return self._places(document, then.manifest, then.recorded_at)

    def _read_places(
        self, document: DocumentKey, then: Pin | None, since: str
    ) -> Collection[DocumentKey]:
        if document in self.hashes(self._now):
            return {document}
        later = (each.manifest for each in self._served if each.recorded_at >= since)
        places, last = {document}, dict[DocumentKey, str | None]()
        for manifest in (then, *[*dict.fromkeys(later)][-MANIFESTS:], self._now):
            if files := self.hashes(manifest):
                last |= {place: files[place] for place in places if place in files}
                gone = {last.get(place) for place in places if place not in files} - {None}
                if gone:
                    places |= {place for place, hash_ in files.items() if hash_ in gone}
        return places

    @cached_property
    def _served(self) -> list[CompleteSet]:
        """What served until now, the oldest first."""
        found = [each.complete_set for each in reversed(serving_pointer.history(self._store))]
        return sorted(found, key=lambda each: each.recorded_at)

    def _read_hashes(self, pin: Pin | None) -> Mapping[DocumentKey, str | None]:
        """The hash of each file of a manifest; nothing where that is not known."""
        if pin is None or not holds(self._store, pin):
            return {}
        columns = ["source", "uri", "sha256"]
        rows = self._store.read(pin.table, columns=columns, version=pin.version)
        source, uri, hashes = (rows[name].to_pylist() for name in columns)
        return dict(zip(zip(source, uri, strict=True), hashes, strict=True))
