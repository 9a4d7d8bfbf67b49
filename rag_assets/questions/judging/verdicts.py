"""What is judged, and the record of each judgment: the table that labels are compared with."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa

from rag_assets.identity import fingerprint
from rag_assets.schemas import column
from rag_assets.store.atomic import put

ItemKind: TypeAlias = Literal["answer", "report", "context", "hit", "sentence", "pair"]
"""What is judged: an answer to a question; a report; all units that were found for a question; one
of them; a sentence with the source that it cites; answers to one question, side by side."""
ParseState: TypeAlias = Literal["parsed", "repaired", "failed"]
"""`parsed`: the first reply followed the schema. `repaired`: a later one did, or its ranks had to
be counted again. `failed`: there is no score."""
Order: TypeAlias = Literal["", "ab", "ba"]
"""The answer of a pair that was shown first; empty for all else."""

JUDGMENTS = pa.schema(
    [
        column("item_id", pa.string(), "what was judged: SHA-256 of its kind and texts"),
        column("kind", pa.string(), "answer, report, context, hit, sentence or pair"),
        column("rubric", pa.string(), "name of the rubric"),
        column("rubric_hash", pa.string(), "SHA-256 of all of the rubric, its prompt included"),
        column("judge", pa.string(), "the judge's name in the config: one of language_models"),
        column("judge_identity", pa.string(), "which model it is, as its server states it"),
        column("prompt_hash", pa.string(), "SHA-256 of the first messages, as they were sent"),
        column("parameters", pa.string(), "JSON: temperature, seed and the like"),
        column("dimension", pa.string(), "what was scored, a name of the rubric"),
        column(
            "score",
            pa.float64(),
            "on the scale of the dimension; of a pair 1 if its first answer is better, 0 if the "
            "second is, .5 for a tie; NULL where it failed",
        ),
        column("parse_state", pa.string(), "parsed, repaired or failed"),
        column("attempts", pa.int32(), "requests that were made; 0 where none may be sent"),
        column("evidence", pa.string(), "what the judge wrote before it scored"),
        column("raw", pa.string(), "its last reply, as it came"),
        column("reason", pa.string(), "why there is no score; else empty"),
        column("order", pa.string(), "of a pair ab or ba; else empty"),
        column("is_generator", pa.bool_(), "whether the judge's own model wrote what is judged"),
        column("seconds", pa.float64(), "until the last reply was there, all requests together"),
    ]
)
"""The judgments: one row for each item, judge, rubric, dimension and order."""


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """Something to be judged."""

    kind: ItemKind
    parts: Mapping[str, str]
    """The texts by their names, such as question, answer, reference, context: a rubric says which
    it shows. A pair has `answer 1`, `answer 2`, and so on where more than two are ranked."""
    sources: frozenset[str] = frozenset()
    """Names of the sources whose text stands in the parts."""
    writers: frozenset[str] = frozenset()
    """The language models that wrote it, as their servers state them; two may have written a
    pair."""

    @property
    def item_id(self) -> str:
        """The id of the item: see `item_id`."""
        return item_id(self.kind, self.parts)


def item_id(kind: ItemKind, parts: Mapping[str, str]) -> str:
    """The id of an item: the same for the same texts, whoever judges or labels it."""
    return fingerprint(kind, dict(parts))


@dataclass(frozen=True, slots=True)
class Judgment:
    """A row of `JUDGMENTS`."""

    item_id: str
    kind: ItemKind
    rubric: str
    rubric_hash: str
    judge: str
    judge_identity: str
    prompt_hash: str
    parameters: str
    dimension: str
    score: float | None
    parse_state: ParseState
    attempts: int
    evidence: str = ""
    raw: str = ""
    reason: str = ""
    order: Order = ""
    is_generator: bool = False
    seconds: float = 0.0
    may_pass: bool = False
    """Whether it failed in a way that may pass, so that it is worth asking again; not in the
    table."""


def judgments_table(judgments: Iterable[Judgment]) -> pa.Table:
    """`judgments` in the schema `JUDGMENTS`."""
    return pa.Table.from_pylist([asdict(each) for each in judgments], schema=JUDGMENTS)


def save_judgments(judgments: Iterable[Judgment], file: Path) -> None:
    """Write `judgments` to a Parquet file, whose folder is there."""
    import pyarrow.parquet as pq

    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    pq.write_table(judgments_table(judgments), fresh, compression="zstd")
    put(fresh, file)


ANSWER = "answer "
"""How the names of the answers begin that are ranked."""


def pair_of(answer: str, other: str) -> dict[str, str]:
    """The parts of two answers side by side."""
    return {f"{ANSWER}1": answer, f"{ANSWER}2": other}
