"""The names of search indexes, which say by which settings they were built."""

import re

from rag_assets.config import STOP_WORDS, TextIndexSettings, VectorIndexSettings
from rag_assets.identity import fingerprint

VECTOR = "vector"
"""The column that an ANN index is of."""
FTS_REVISION = 3
"""Raise it when an index that lies there may count other units than its table holds, or words."""
SPELLED_SINCE = 3
"""From this revision on, words are indexed in their usual spelling (`terms.spelling`)."""
NAMED_SINCE = 2
"""The revision by which the settings of an index are named; those of later ones are told apart."""
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
    by = fingerprint(NAMED_SINCE, words, *([given] if given else []))[:DIGITS]
    return f"{named}_{by}_r{FTS_REVISION}"


def vector_index_name(settings: VectorIndexSettings) -> str:
    """The name of the ANN index that `settings` give."""
    given = settings.model_dump(mode="json", exclude_defaults=True)
    plain = f"{VECTOR}_{settings.type}"
    return f"{plain}_{fingerprint(given)[:DIGITS]}" if given else plain


def settings_named(index: str) -> str:
    """By which settings an index is: its name but for the revision, as records have it.

    One that a release builds anew is of the same settings, and no other recipe for the gate.
    """
    return re.sub(r"_r\d+$", "", index)


def revision_of(index: str) -> int:
    """The revision that a full-text index was built by; names of the first ones do not say it."""
    found = re.search(r"_r(\d+)$", index)
    return int(found[1]) if found else NAMED_SINCE


COMMON_TEXT_INDEX = text_index_name(COMMON_TEXT)
COMMON_NAMES = frozenset(
    {settings_named(COMMON_TEXT_INDEX), vector_index_name(VectorIndexSettings())}
)
"""Of the settings that no record names."""
