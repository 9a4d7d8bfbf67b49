"""The section `questions`: the test set that is made from one's own documents and tables."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from rag_assets.config.base import Section, Slug

PEOPLE = "people"
"""The question set of the file of that name."""
KNOWN_ITEMS = "known_items"
"""The set of sentences cut from documents."""
GENERATED_SETS = ("from_documents", KNOWN_ITEMS, "from_tables")
"""The question sets that a program makes, by the origin of their questions."""


class Questions(Section):
    """How questions are made, and where people's own lie."""

    folder: Path = Field(
        Path("questions"),
        description="people's questions (people.jsonl) and what they decided on those that were "
        "made (review.jsonl); nothing in it is ever overwritten",
    )
    from_documents: int = Field(60, ge=0, le=10_000, description="how many, at most; 0 makes none")
    per_document: int = Field(2, gt=0, le=20, description="from one document, at most")
    from_tables: int = Field(60, ge=0, le=10_000, description="how many, at most; 0 makes none")
    rows: int = Field(10, gt=0, le=100, description="rows that answer a question, at most")
    languages: list[Literal["en", "sv"]] = Field(
        ["en"], min_length=1, description="in which questions to tables are worded"
    )
    train: float = Field(
        0,
        ge=0,
        le=1,
        description="share of documents and tables whose made questions are to train on, and "
        "measure nothing",
    )
    model: Slug | None = Field(
        None,
        description="entry of language_models that writes questions to documents; without one, "
        "they are sentences of them: a smoke test",
    )

    @property
    def people_file(self) -> Path:
        """The questions of people: the question set `people`, where the file is there."""
        return self.folder / f"{PEOPLE}.jsonl"

    @property
    def review_file(self) -> Path:
        """What people decided on questions that were made, where the file is there."""
        return self.folder / "review.jsonl"

    @property
    def asked_file(self) -> Path:
        """The questions of kept answers that people were asked about: their ids alone."""
        return self.folder / "asked.jsonl"

    @property
    def labels_file(self) -> Path:
        """What people said of what judges judge, without the words of either."""
        return self.folder / "labels.jsonl"
