"""The list of steps: which tables there are, in the order in which they are built.

The only place that names them all. Assets, plan, status, explain, doctor and clean-up walk it; to
add a step, write its kind in the `steps.py` of its room and name it here.
"""

from rag_assets.change.steps import StepList
from rag_assets.documents.steps import CHUNKS, FIGURE_DESCRIPTIONS, PARSED_DOCUMENTS
from rag_assets.evaluation.steps import QUESTION_SETS
from rag_assets.index.steps import CHUNK_VECTORS, JOINT_INDEX, ROW_VECTORS
from rag_assets.knowledge.steps import UNIT_LINKS
from rag_assets.laboratory.training.steps import TRAINING_PAIRS
from rag_assets.questions.steps import GENERATED_QUESTIONS
from rag_assets.sources.steps import DOCUMENT_FILES
from rag_assets.tables.steps import SERIALIZED_ROWS, TABLE_ROWS

STEPS = StepList(
    DOCUMENT_FILES,
    PARSED_DOCUMENTS,
    FIGURE_DESCRIPTIONS,
    CHUNKS,
    TABLE_ROWS,
    SERIALIZED_ROWS,
    CHUNK_VECTORS,
    ROW_VECTORS,
    UNIT_LINKS,
    JOINT_INDEX,
    GENERATED_QUESTIONS,
    QUESTION_SETS,
    TRAINING_PAIRS,
)
