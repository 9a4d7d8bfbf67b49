"""A maker that needs no model: the first sentence of a document is its question."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from rag_assets import schemas
from rag_assets.change.sync import INPUTS
from rag_assets.evaluation.gold import DocumentGold
from rag_assets.questions.draft import MadeQuestions, Maker, QuestionDraft


@dataclass
class FirstSentences:
    """Makes a question of each document of the manifest, and knows of which it was asked to."""

    asked: list[str] = field(default_factory=list)
    dies_after: int | None = None
    """Of how many documents it still makes questions; then its process is as good as killed."""
    failing: set[str] = field(default_factory=set)
    """Documents for which no answer came."""
    origin: str = "known_items"

    @property
    def maker(self) -> Maker:
        return Maker(self._inputs, lambda _: True, self._made)

    def _inputs(self, store, config) -> pa.Table:
        columns = ["document_id", "sha256"]
        files = store.read(schemas.DOCUMENT_FILES_TABLE, columns=columns, where="status = 'ok'")
        return pa.table([files[name] for name in columns], schema=INPUTS)

    def _made(self, store, config, keys: Sequence[str], model) -> Iterator[MadeQuestions]:
        files = store.read(schemas.DOCUMENT_FILES_TABLE, columns=["document_id", "uri"])
        uri_of = dict(zip(*(files[name].to_pylist() for name in files.column_names), strict=True))
        for key in keys:
            if self.dies_after is not None and len(self.asked) >= self.dies_after:
                raise KeyboardInterrupt
            self.asked.append(key)
            if uri_of[key] in self.failing:
                yield MadeQuestions(key, failure="no answer came: try again later")
                continue
            root = config.sources.documents[0].url
            text = (config.state_dir.parent / root / uri_of[key]).read_text("utf-8")
            drafts = [self._draft(sentence, uri_of[key]) for sentence in text.split(". ")[:2]]
            yield MadeQuestions(key, drafts)

    def _draft(self, sentence: str, uri: str) -> QuestionDraft:
        return QuestionDraft(
            origin=self.origin,
            kind="sentence",
            question=sentence,
            language="en",
            gold=(DocumentGold(uri, quote=sentence),),
            maker="first_sentences",
            left_out="" if len(sentence) > 10 else "too short: no words",
        )
