"""The names of search indexes, which say by which settings they were built.

The names of indexes by the default settings are those of earlier releases.
"""

from collections.abc import Iterable

from rag_assets.config import STOP_WORDS, TextIndexSettings, VectorIndexSettings
from rag_assets.identity import fingerprint
from rag_assets.store.pins import Pin
from rag_assets.store.store import Store
from rag_assets.store.text_parts import TEXT

VECTOR = "vector"
"""The column that an ANN index is of."""
FTS_REVISION = 3
"""Raise it when an index that lies there may count other units than its table holds, or words."""
DIGITS = 8


def text_index_name(settings: TextIndexSettings) -> str:
    """The name of the full-text index that `settings` give."""
    given = settings.model_dump(mode="json", exclude_defaults=True)
    has_questions = settings.stop_words == "with_question_words"
    words = STOP_WORDS["with_question_words" if has_questions else "english_and_swedish"]
    named = "text" if given else "text_unstemmed"
    return f"{named}_{fingerprint(FTS_REVISION, words, *([given] if given else []))[:DIGITS]}"


def vector_index_name(settings: VectorIndexSettings) -> str:
    """The name of the ANN index that `settings` give."""
    given = settings.model_dump(mode="json", exclude_defaults=True)
    plain = f"{VECTOR}_{settings.type}"
    return f"{plain}_{fingerprint(given)[:DIGITS]}" if given else plain


DEFAULT_TEXT_INDEX = text_index_name(TextIndexSettings())
DEFAULT_NAMES = frozenset({DEFAULT_TEXT_INDEX, vector_index_name(VectorIndexSettings())})


def uncommon_indexes(store: Store, pins: Iterable[Pin]) -> list[str]:
    """The names of indexes of text and vectors of `pins` by other settings, each once, sorted."""
    return sorted({name for pin in pins for name in _index_names(store, pin)} - DEFAULT_NAMES)


def _index_names(store: Store, pin: Pin) -> list[str]:
    """The names of the indexes of text and vectors of a table at its pinned version."""
    dataset = store.dataset(pin.table, version=pin.version)
    columns = ([TEXT], [VECTOR])
    return [each.name for each in dataset.describe_indices() if each.field_names in columns]
