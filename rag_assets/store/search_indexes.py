"""The names of search indexes, which say by which settings they were built."""

from collections.abc import Iterable

from rag_assets.config import STOP_WORDS, TextIndexSettings, VectorIndexSettings
from rag_assets.identity import fingerprint
from rag_assets.store.pins import Pin
from rag_assets.store.store import Store
from rag_assets.store.text_parts import TEXT

VECTOR = "vector"
"""The column that an ANN index is of."""
FTS_REVISION = 2
"""Raise it when an index that lies there may count other units than its table holds."""
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


def uncommon_indexes(store: Store, pins: Iterable[Pin]) -> list[str]:
    """The names of indexes of text and vectors of `pins` by other settings, each once, sorted."""
    return sorted({name for pin in pins for name in _index_names(store, pin)} - COMMON_NAMES)


def _index_names(store: Store, pin: Pin) -> list[str]:
    """The names of the indexes of text and vectors of a table at its pinned version."""
    dataset = store.dataset(pin.table, version=pin.version)
    columns = ([TEXT], [VECTOR])
    return [each.name for each in dataset.describe_indices() if each.field_names in columns]
