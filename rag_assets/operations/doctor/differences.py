"""Whether a table holds a row of each input, of the input as it is, and no other."""

from collections.abc import Iterator

from rag_assets.operations.doctor.faults import Fault
from rag_assets.operations.doctor.subjects import Practice, StepTable


def faults_of(practice: Practice, table: StepTable) -> Iterator[Fault]:
    """What its step would add, change or remove, although its record says that nothing is due."""
    yield from ()
