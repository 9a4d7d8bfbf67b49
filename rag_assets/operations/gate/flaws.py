"""Flaws of the two evaluations that a comparison rests on: see `evaluation.flaws`.

Those that block a verdict are looked for: a side that returned nothing, question text in an index,
ties that decide, and, where another recipe is compared, an index that lacks what the other has, and
questions that trained weights have learned from.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from rag_assets.config.training import LEARNED, place_in_state
from rag_assets.evaluation import flaws, question_flaws
from rag_assets.evaluation.evidence import Evidence
from rag_assets.evaluation.flaws import Flaw
from rag_assets.evaluation.index_contents import contents_of
from rag_assets.evaluation.projection import IndexedGold
from rag_assets.evaluation.question_words import question_words
from rag_assets.evaluation.questions import Question
from rag_assets.evaluation.summary import ALL_SPLITS, DIFFERENCES
from rag_assets.operations.gate.compared_rankings import Side


@dataclass(frozen=True, slots=True)
class Examined:
    """One side, with what it made of the questions."""

    side: Side
    scores: pa.Table
    """`evaluation.scores.QUESTION_COLUMNS` and the metrics, of one retriever and level."""
    gold: IndexedGold


def blocking_flaws(
    serving: Examined, candidate: Examined, questions: Sequence[Question], *, is_same_recipe: bool
) -> list[str]:
    """Sentences on what keeps a verdict from resting on these two.

    Of another state of the same recipe only flaws count that what serves does not have as well: an
    old flaw of the questions is no reason to stop bringing an index up to date.
    """
    before, now = (_flaws(each, questions) for each in (serving, candidate))
    if is_same_recipe:
        known = {flaw.code for flaw in before}
        return [_sentence(candidate, flaw) for flaw in now if flaw.code not in known]
    found = [(serving, flaw) for flaw in before] + [(candidate, flaw) for flaw in now]
    found += [(candidate, flaw) for flaw in _lacking(serving.side, candidate.side)]
    learned = [text for each in (serving, candidate) for text in _learned(each.side, questions)]
    return [*dict.fromkeys(_sentence(examined, flaw) for examined, flaw in found), *learned]


def _sentence(examined: Examined, flaw: Flaw) -> str:
    return f"{examined.side.complete_set.variant}: {flaw.sentence}. What to do: {flaw.remedy}."


def _flaws(examined: Examined, questions: Sequence[Question]) -> list[Flaw]:
    config = examined.side.config
    evidence = Evidence(
        scores=examined.scores,
        compared=[examined.side.retriever],
        split=ALL_SPLITS,
        cutoff=config.gate.cutoff,
        differences=DIFFERENCES.empty_table(),
        words=question_words(examined.side.index, questions, indexed=examined.gold),
    )
    looked_for = (
        question_flaws.arm_returned_nothing,
        question_flaws.question_in_index,
        question_flaws.ties_decide,
    )
    found = [flaw for rule in looked_for for flaw in rule(evidence)]
    return [flaw for flaw in found if flaw.blocking]


def _lacking(serving: Side, candidate: Side) -> Iterator[Flaw]:
    """E002, where the candidate searches less: it has fewer wrong units to choose from."""
    before, now = (
        contents_of(side.store, side.complete_set.joint) for side in (serving, candidate)
    )
    lacking = [*now.lacks(before)]
    count = sum(number for _, number in lacking)
    if count > question_flaws.POOL_SHARE * before.size:
        yield flaws.BY_NAME["unlike_runs"].found(
            f"it lacks {count:,} of the {before.size:,} documents and rows that "
            f"{serving.complete_set.variant} holds",
            examples=(f"{what}: {number}" for what, number in lacking),
        )


def _learned(side: Side, questions: Sequence[Question]) -> Iterator[str]:
    """Whether weights that were trained here learned from questions that are measured now."""
    settings = side.config.retrieval
    rerankers = settings.retrievers[side.retriever].rerankers
    models = (side.complete_set.settings, side.complete_set.row_settings)
    paths = [
        *(str(model["path"]) for model in models if model),
        *(settings.rerankers[name].path for name in rerankers),
    ]
    folders = [side.store.root / place for path in paths if (place := place_in_state(path))]
    files = [file for folder in folders if (file := folder / LEARNED).is_file()]
    known = {each for file in files for each in json.loads(file.read_text("utf-8"))}
    names = [each.question_id for each in questions if each.question_id in known]
    if names:
        variant = side.complete_set.variant
        yield (
            f"{variant}: its weights learned from {len(names)} of these questions ({names[0]}, for "
            "one), so what it finds for them says nothing. What to do: give them the split train "
            "again, or run `rag-assets training run`, then "
            f"`rag-assets refresh --variant {variant}`."
        )
