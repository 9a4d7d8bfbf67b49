"""The names of search indexes, which say by which settings they were built."""

from rag_assets.config import STOP_WORDS, TextIndexSettings, VectorIndexSettings
from rag_assets.identity import fingerprint

VECTOR = "vector"
"""The column that an ANN index is of."""
FTS_REVISION = 3
"""Raise it when an index that lies there may count other units than its table holds, or words."""
DIGITS = 8
COMMON_TEXT = TextIndexSettings(stop_words="english_and_swedish")
"""The settings of the full-text index whose name says nothing of them."""


def text_index_name(settings: TextIndexSettings) -> str:
    """The name of the full-text index that `settings` give."""
    common = COMMON_TEXT.model_dump(mode="json")
    whole = settings.model_dump(mode="json")
    given = {name: value for name, value in whole.items() if value != common[name]}
    has_questions = settings.stop_words == "with_question_words"
    words = STOP_WORDS["with_question_words" if has_questions else "english_and_swedish"]
    named = "text" if given else "text_unstemmed"
    return f"{named}_{fingerprint(FTS_REVISION, words, *([given] if given else []))[:DIGITS]}"


def vector_index_name(settings: VectorIndexSettings) -> str:
    """The name of the ANN index that `settings` give."""
    given = settings.model_dump(mode="json", exclude_defaults=True)
    plain = f"{VECTOR}_{settings.type}"
    return f"{plain}_{fingerprint(given)[:DIGITS]}" if given else plain


COMMON_TEXT_INDEX = text_index_name(COMMON_TEXT)
COMMON_NAMES = frozenset({COMMON_TEXT_INDEX, vector_index_name(VectorIndexSettings())})
"""Of indexes that no record names."""
