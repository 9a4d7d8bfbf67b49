"""Editions of the defaults: what a file builds where it does not say how.

A release that finds a better default adds an edition, as Rust does. A file keeps the edition that
it names under `defaults`, and the first if it names none: no release changes by itself what an
existing file builds. Defaults of what is built belong to an edition, and so does what answers
searches: the gate would hold another retriever until the questions show that it is no worse.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from rag_assets.config.indexes import StopWords

Edition: TypeAlias = Literal[1, 2, 3]
FIRST: Edition = 1
"""That of a file that names none."""
NEWEST: Edition = 3
"""That of a file that is written now."""

CHUNKINGS: Mapping[Edition, str] = {
    1: "fixed_256",
    2: "sentences_256",
    3: "sentences_256",
}
"""The chunking of a variant that names none."""

MODELS: Mapping[Edition, str] = {1: "minilm", 2: "minilm", 3: "e5"}
"""The embedding model of a variant that names none."""
STOP_WORDS_OF: Mapping[Edition, StopWords] = {
    1: "english_and_swedish",
    2: "english_and_swedish",
    3: "with_question_words",
}
"""`index.text.stop_words` of a file that does not name them."""
RETRIEVERS_SINCE: Edition = 3
"""The first edition whose `best` and `fast` are those under `retrievers` in `retrieval.yaml`."""
