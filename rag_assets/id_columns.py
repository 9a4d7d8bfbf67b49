"""Ids of many things at once, as a column: those that `identity` gives one by one.

A table of elements or chunks has tens of thousands: their digests are spelled out together.
"""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from rag_assets.identity import NAMESPACE, canonical_json

_HYPHEN = ord("-")
_GROUPS = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
"""What of its 32 digits stands between the hyphens of a UUID."""


def element_ids(documents: Sequence[str], parser: str, *, counts: Sequence[int]) -> pa.StringArray:
    """Ids of the elements that `parser` found in each document, by their position.

    Args:
        documents: Ids of documents.
        parser: Its name in the config.
        counts: How many elements each document has.
    """
    heads = (canonical_json(["element", document, parser])[:-1] for document in documents)
    return _uuids(
        f"{head},{index}]"
        for head, count in zip(heads, counts, strict=True)
        for index in range(count)
    )


def chunk_ids(
    documents: Iterable[str], chunking: str, hashes: Iterable[str], repeats: Iterable[int]
) -> pa.StringArray:
    """`chunk_id` of many chunks, each by its document, the `text_hash` of its text and repeat."""
    tail = canonical_json(chunking)
    heads: dict[str, str] = {}

    def names() -> Iterable[str]:
        for document, text, occurrence in zip(documents, hashes, repeats, strict=True):
            head = heads.get(document)
            if head is None:
                head = heads[document] = f"{canonical_json(['chunk', document])[:-1]},{tail}"
            yield f'{head},"{text}",{occurrence}]'

    return _uuids(names())


def _uuids(names: Iterable[str]) -> pa.StringArray:
    """`str(uuid.uuid5(NAMESPACE, name))` for each of `names`."""
    of_all = hashlib.sha1(NAMESPACE.bytes, usedforsecurity=False)
    digests = []
    for name in names:
        of_name = of_all.copy()
        of_name.update(name.encode("utf-8", "surrogatepass"))
        digests.append(of_name.digest())
    octets = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, of_all.digest_size)[:, :16]
    octets = octets.copy()
    octets[:, 6] = octets[:, 6] & 0x0F | 0x50  # version 5
    octets[:, 8] = octets[:, 8] & 0x3F | 0x80  # the variant of RFC 9562
    digits = np.frombuffer(octets.tobytes().hex().encode(), np.uint8).reshape(-1, 32)
    length = 32 + len(_GROUPS) - 1
    spelled = np.full((len(octets), length), _HYPHEN, np.uint8)
    for hyphens, (start, end) in enumerate(_GROUPS):
        spelled[:, start + hyphens : end + hyphens] = digits[:, start:end]
    ends = np.arange(0, spelled.size + 1, length, dtype=np.int32)
    return pa.StringArray.from_buffers(len(octets), pa.py_buffer(ends), pa.py_buffer(spelled))
