"""Ids and fingerprints of many things at once, as columns; `identity` computes them one by one.

A table of elements or chunks has tens of thousands of ids: they are formatted together, in numpy.
"""

import hashlib
from binascii import hexlify, unhexlify
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from rag_assets.identity import NAMESPACE, canonical_json

OCTETS = 32
"""The number of bytes of a SHA-256."""
_HYPHEN = ord("-")
_GROUPS = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
"""Start and end of the groups of digits between the hyphens of a UUID."""


def element_ids(documents: Sequence[str], parser: str, *, counts: Sequence[int]) -> pa.StringArray:
    """Ids of the elements that `parser` found in each document, by their position.

    Args:
        documents: Ids of documents.
        parser: The name of the parser in the config.
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
    """`identity.chunk_id` of many chunks.

    Args:
        documents: The document of each chunk.
        chunking: The seed of their chunking (`addresses.seed_of`).
        hashes: The `text_hash` of each chunk.
        repeats: For each chunk how many earlier chunks of its document have the same text.
    """
    tail = canonical_json(chunking)
    heads: dict[str, str] = {}

    def names() -> Iterable[str]:
        for document, text, occurrence in zip(documents, hashes, repeats, strict=True):
            head = heads.get(document)
            if head is None:
                head = heads[document] = f"{canonical_json(['chunk', document])[:-1]},{tail}"
            yield f'{head},"{text}",{occurrence}]'

    return _uuids(names())


def octets(fingerprints: pa.ChunkedArray) -> np.ndarray:
    """The bytes that the hexadecimal digits of fingerprints stand for: (n, `OCTETS`), uint8.

    Raises:
        ValueError: There are other digits, or digits in upper case, which bytes do not give back.
    """
    return np.concatenate(
        [np.empty((0, OCTETS), np.uint8), *map(_unhexlified, fingerprints.chunks)]
    )


def _unhexlified(texts: pa.Array) -> np.ndarray:
    digits = texts.cast(pa.binary()).cast(pa.binary(2 * OCTETS)).buffers()[1]
    raw = unhexlify(digits or b"")
    if raw and not digits.equals(pa.py_buffer(hexlify(raw))):
        raise ValueError("upper case would come back as lower case")
    return np.frombuffer(raw, np.uint8).reshape(-1, OCTETS)


def _uuids(names: Iterable[str]) -> pa.StringArray:
    """`str(uuid.uuid5(NAMESPACE, name))` for each of `names`."""
    of_all = hashlib.sha1(NAMESPACE.bytes, usedforsecurity=False)
    digests = []
    for name in names:
        of_name = of_all.copy()
        of_name.update(name.encode("utf-8", "surrogatepass"))
        digests.append(of_name.digest())
    whole = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, of_all.digest_size)
    kept = whole[:, :16].copy()
    kept[:, 6] = kept[:, 6] & 0x0F | 0x50  # version 5
    kept[:, 8] = kept[:, 8] & 0x3F | 0x80  # the variant of RFC 9562
    digits = np.frombuffer(hexlify(kept.tobytes()), np.uint8).reshape(-1, 32)
    length = 32 + len(_GROUPS) - 1
    spelled = np.full((len(kept), length), _HYPHEN, np.uint8)
    for hyphens, (start, end) in enumerate(_GROUPS):
        spelled[:, start + hyphens : end + hyphens] = digits[:, start:end]
    ends = np.arange(0, spelled.size + 1, length, dtype=np.int32)
    return pa.StringArray.from_buffers(len(kept), pa.py_buffer(ends), pa.py_buffer(spelled))
