"""The section `index`, and how an approximate index is searched: `retrieval.ann`."""

from pathlib import Path
from typing import Literal, Self, TypeAlias

from pydantic import Field, TypeAdapter, model_validator

from rag_assets.config.base import ExtendedSection, Section, read_data

StopWords: TypeAlias = Literal["english_and_swedish", "with_question_words"]
"""The lists of words in `stop_words.yaml`."""
STOP_WORDS = {
    name: tuple(words.split())
    for name, words in TypeAdapter(dict[StopWords, str])
    .validate_python(read_data(Path(__file__).with_name("stop_words.yaml")))
    .items()
}
"""The words of each list, as they stand, accents folded: English and Swedish share one index, and a
stemmer for one language harms the other. hit@10 of documents/rows: ottqa .314/.601, materials
.878/.585; bm25s with English stop words .308/.577 and .884/.577."""

Language: TypeAlias = Literal[
    "Arabic",
    "Danish",
    "Dutch",
    "English",
    "Finnish",
    "French",
    "German",
    "Greek",
    "Hungarian",
    "Italian",
    "Norwegian",
    "Portuguese",
    "Romanian",
    "Russian",
    "Spanish",
    "Swedish",
    "Tamil",
    "Turkish",
]
VectorIndexType: TypeAlias = Literal["ivf_flat", "ivf_sq", "ivf_pq", "ivf_rq"]


class TextIndexSettings(ExtendedSection):
    """How texts and queries become words of the full-text index."""

    tokenizer: Literal["simple", "whitespace", "raw", "icu"] = Field(
        "simple",
        description="simple cuts at blanks and punctuation, whitespace at blanks alone, icu by "
        "Unicode's rules; raw leaves a text whole",
    )
    language: Language = Field("English", description="of the stemmer, and of its own stop words")
    stem: bool = Field(False, description="reduce words to their stems, by the rules of `language`")
    stop_words: StopWords | Literal["of_language", "none"] | list[str] = Field(
        "with_question_words",
        description="words that are left out: a list of ours or of your own, those of `language`, "
        "or none",
    )

    @model_validator(mode="after")
    def _settings_fit(self) -> Self:
        uses_language = self.stem or self.stop_words == "of_language"
        if self.language != "English" and not uses_language:
            raise ValueError("language needs stem: true or stop_words: of_language")
        if self.tokenizer == "raw" and self.stem:
            raise ValueError("stem: tokenizer raw leaves a text whole, so there is nothing to stem")
        return self


class VectorIndexSettings(ExtendedSection):
    """How an approximate (ANN) index of vectors is built."""

    type: VectorIndexType = Field(
        "ivf_flat",
        description="ivf_flat holds whole vectors; ivf_sq, ivf_pq and ivf_rq shorten them to a "
        "byte, a code or a few bits for each number, and lose some accuracy",
    )
    partitions: int | None = Field(
        None, gt=0, description="lists that vectors are sorted into; by the size of the table"
    )


class IndexSettings(Section):
    """How search indexes are built, when, and when they are maintained."""

    ann_from_rows: int | None = Field(
        None,
        gt=0,
        description="a table of so many units has an ANN index and is searched through it; one "
        "whose vectors take more than 512 MiB unless given; a smaller one is searched exactly",
    )
    maintain_from_share: float = Field(
        0.1,
        gt=0,
        le=1,
        description="the ANN index and those of filters take in new rows once this share of the "
        "table is unindexed; the full-text index does at every refresh",
    )
    text: TextIndexSettings = TextIndexSettings()
    vectors: VectorIndexSettings = VectorIndexSettings()


class AnnSearch(Section):
    """How an ANN index is searched; exact search does not use it."""

    probes: int = Field(
        40, gt=0, description="lists that each query looks into; recall@20 1.0 at 100,000 units"
    )
    refine: int | None = Field(
        None,
        gt=0,
        le=1_000,
        description="so many times the units asked for are compared by their whole vectors, for "
        "an index that shortens them",
    )
