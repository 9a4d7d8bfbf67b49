"""Whether units are what they were made from: their texts, and the joint table its two parts."""

from collections.abc import Iterator, Sequence

import numpy as np

from rag_assets.columns.keys import ABSENT, DigestIndex
from rag_assets.operations.doctor import fault_rules
from rag_assets.operations.doctor.examined_tables import ExaminedTable, Practice
from rag_assets.operations.doctor.faults import Fault, reopened
from rag_assets.operations.doctor.row_faults import found
from rag_assets.operations.doctor.table_scan import Census


def other_texts(
    practice: Practice, table: ExaminedTable, units: Census, *, texts: Census
) -> Iterator[Fault]:
    """Units whose text is not that of the chunk or the serialized row of the same id.

    Their vectors are of a text that nobody knows: they are deleted, and made again.
    """
    assert units.hashed is not None, "units have texts"
    assert texts.hashed is not None, "so have chunks and serialized rows"
    places = DigestIndex(texts.keys).places(units.keys)
    is_there = places != ABSENT
    is_other = np.zeros(len(units), bool)
    is_other[is_there] = units.hashed[is_there] != texts.hashed[places[is_there]]
    yield from found(practice, table, fault_rules.OTHER_TEXT, delete=units.rows(is_other))


def joint_faults(
    practice: Practice, table: ExaminedTable, joint: Census, *, parts: Sequence[Census]
) -> Iterator[Fault]:
    """Units that the joint table lacks, has beyond its parts, or has otherwise."""
    is_met = np.zeros(len(joint), bool)
    is_other = np.zeros(len(joint), bool)
    index = DigestIndex(joint.keys)
    lacking = 0
    for part in parts:
        places = index.places(part.keys)
        is_there = places != ABSENT
        lacking += int(np.sum(~is_there))
        here = places[is_there]
        is_met[here] = True
        is_other[here] |= part.content[is_there] != joint.content[here]
        if joint.vector is not None and part.vector is not None:
            is_other[here] |= part.vector[is_there] != joint.vector[here]
    beyond = ~is_met & (index.places(joint.keys) == np.arange(len(joint)))
    wrong = joint.rows(beyond | is_other)
    if lacking or len(wrong.row_ids):
        yield Fault(
            rule=fault_rules.JOINT_DIFFERS,
            subject=table.subject(practice.store),
            count=lacking + len(wrong.row_ids),
            detail=f"{lacking:,} units are lacking, {int(beyond.sum()):,} are in no part, "
            f"{int(is_other.sum()):,} differ",
            variants=table.variants,
            delete=wrong if len(wrong.row_ids) else None,
            mends=[reopened(table.step.table)],
            is_redone=True,
        )


def mixed_parts(
    practice: Practice, table: ExaminedTable, joint: Census, *, parts: Sequence[Census]
) -> Iterator[Fault]:
    """Documents and rows in one table of vectors that come from different models or paths."""
    encoders = {encoder for part in parts for _, encoder in part.encoders}
    if joint.vector is None or len(encoders) < 2:
        return
    if any(len({encoder for _, encoder in part.encoders}) > 1 for part in parts):
        return  # told of the part
    yield Fault(
        rule=fault_rules.MIXED_MODELS,
        subject=table.subject(practice.store),
        count=len(encoders),
        examples=sorted(encoders),
        variants=table.variants,
        mends=[reopened(part.step.table) for part in parts],
        is_redone=True,
    )
