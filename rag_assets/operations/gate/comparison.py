"""What the configured questions say of a candidate: the paired comparison behind a verdict.

Flaws of the two evaluations (see `evaluation.flaws`) that block a verdict are looked for: a side
that returned nothing, question text in an index, ties that decide, and, where another recipe is
compared, an index that lacks what the other has, and questions that trained weights have learned
from.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.config.training import LEARNED, place_in_state
from rag_assets.evaluation import flaws, question_flaws
from rag_assets.evaluation.evidence import Evidence, contents_of
from rag_assets.evaluation.flaws import Flaw
from rag_assets.evaluation.gold import Gold, RowGold
from rag_assets.evaluation.non_inferiority import Outcome, Paired, PairedDifference, default_margin
from rag_assets.evaluation.projection import IndexedGold
from rag_assets.evaluation.question_words import question_words
from rag_assets.evaluation.questions import Question
from rag_assets.evaluation.scores import gold_items_by_level, scored, units_of
from rag_assets.evaluation.superseded_gold import split_superseded
from rag_assets.operations.gate.compared_rankings import Side, UnsearchableError
from rag_assets.operations.gate.gold_changes import (
    File,
    GoldChange,
    GoldSides,
    gold_changes,
)
from rag_assets.operations.gate.slices import SliceDifference, slices_of, status_of
from rag_assets.operations.gate.verdicts import (
    BeforeAndNow,
    DenseAlone,
    NamedQuestion,
    shortened,
)

REPLACED = "its gold lies in a version of a document that a newer one has replaced"
LOST_NAMED = 50
"""Questions that were lost are named up to so many."""


@dataclass(frozen=True, slots=True)
class Examined:
    """One side, with what it made of the questions."""

    side: Side
    scores: pa.Table
    """`evaluation.scores.QUESTION_COLUMNS` and the metrics, of one retriever and level."""
    gold: IndexedGold


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides on the same questions."""

    margin: float
    difference: PairedDifference | None = None
    """The difference on all questions; None if every question was left out."""
    measured: tuple[BeforeAndNow, ...] = ()
    dense: DenseAlone | None = None
    """What dense search alone finds; None unless it was asked for."""
    slices: tuple[SliceDifference, ...] = ()
    lost: tuple[NamedQuestion, ...] = ()
    left_out: tuple[NamedQuestion, ...] = ()
    superseded: tuple[NamedQuestion, ...] = ()
    is_identical: bool = False
    """Whether both sides returned the same units in the same order, for every question."""
    flaws: tuple[str, ...] = ()
    """Sentences on why no verdict may rest on it, each with its code and remedy."""

    @property
    def outcome(self) -> Outcome:
        """The verdict of all questions together; HOLD where there are none."""
        return self.difference.outcome(self.margin) if self.difference else "HOLD"


def compare(
    serving: Side,
    candidate: Side,
    questions: Sequence[Question],
    *,
    is_same_recipe: bool,
    with_dense: bool = False,
    log: Callable[[str], None],
) -> Comparison:
    """Hold the rankings of both sides against the gold of `questions`.

    Args:
        serving: What answers queries.
        candidate: What is to answer them; its config has the settings of the gate.
        questions: At least one.
        is_same_recipe: Whether only the contents differ.
        with_dense: Compare what their vectors find alone, too.
        log: Told about progress.
    """
    gate = candidate.config.gate
    gold = [piece for question in questions for piece in question.gold]
    sides = GoldSides(
        serving=serving.gold(gold),
        candidate=candidate.gold(gold),
        joint=candidate.complete_set.joint,
        is_changed=_changes_since(serving, candidate),
    )
    changes = gold_changes(candidate.store, questions, sides=sides)
    left = _without(questions, changes)
    judged, replaced = _current(left, (serving, sides.serving), (candidate, sides.candidate))
    apart = Comparison(
        margin=gate.margin or default_margin(len(judged)),
        left_out=_named(changes),
        superseded=tuple(_named_question(each, REPLACED) for each in replaced),
    )
    if not judged:
        return apart
    rankings, before, now = _answers(
        (serving, sides.serving), (candidate, sides.candidate), judged, log=log
    )
    paired = _paired(before.scores, now.scores, metric=gate.metric)
    is_identical = _units(rankings[0]) == _units(rankings[1])
    is_alike = is_identical and is_same_recipe
    return replace(
        apart,
        difference=paired.difference(),
        measured=_side_by_side(before.scores, now.scores, metric=gate.metric),
        dense=_dense_alone(before, now, judged, margin=apart.margin, log=log)
        if with_dense
        else None,
        slices=tuple(slices_of(paired, _groups(judged, sides), margin=apart.margin)),
        lost=_lost(before.scores, now.scores, paired.differences),
        is_identical=is_identical,
        flaws=()
        if is_alike
        else tuple(blocking_flaws(before, now, judged, is_same_recipe=is_same_recipe)),
    )


def _answers(
    serving: tuple[Side, IndexedGold],
    candidate: tuple[Side, IndexedGold],
    questions: Sequence[Question],
    *,
    log: Callable[[str], None],
) -> tuple[list[pa.Table], Examined, Examined]:
    """The rankings of both, and what they made of the questions."""
    texts, pairs = [question.text for question in questions], (serving, candidate)
    rankings = [side.rankings(texts, log=log) for side, _ in pairs]
    before, now = (
        Examined(side, _scores(side, questions, ranked, indexed), indexed)
        for (side, indexed), ranked in zip(pairs, rankings, strict=True)
    )
    return rankings, before, now


def _dense_alone(
    serving: Examined,
    candidate: Examined,
    questions: Sequence[Question],
    *,
    margin: float,
    log: Callable[[str], None],
) -> DenseAlone:
    """Compare the vectors of both sides alone on these questions."""
    alone = [(each.side.dense_alone(), each.gold) for each in (serving, candidate)]
    try:
        _, before, now = _answers(*alone, questions, log=log)
    except UnsearchableError as error:
        return DenseAlone("fine", unasked=str(error))
    metric = candidate.side.config.gate.metric
    paired = _paired(before.scores, now.scores, metric=metric)
    return DenseAlone(
        status=status_of(paired, margin=margin),
        measured=_side_by_side(before.scores, now.scores, metric=metric),
        lost=_lost(before.scores, now.scores, paired.differences),
    )


def _side_by_side(before: pa.Table, now: pa.Table, *, metric: str) -> tuple[BeforeAndNow, ...]:
    """Both by the metric of the gate, and by what a person reads first."""
    cutoff = metric.partition("@")[2]
    names = ("hit_rate@1", f"hit_rate@{cutoff}", f"mrr@{cutoff}", metric)
    return tuple(
        BeforeAndNow(
            metric=name,
            serving=pc.mean(before[name]).as_py(),
            candidate=pc.mean(now[name]).as_py(),
            difference=_paired(before, now, metric=name).difference(),
        )
        for name in dict.fromkeys(names)
    )


def _without(questions: Sequence[Question], changes: Sequence[GoldChange]) -> list[Question]:
    gone = {change.question.question_id for change in changes}
    return [question for question in questions if question.question_id not in gone]


def _current(
    questions: Sequence[Question], *sides: tuple[Side, IndexedGold]
) -> tuple[Sequence[Question], Sequence[Question]]:
    """The questions to judge by, and those whose gold either side leaves out as superseded."""
    left, apart = questions, []
    for side, indexed in sides:
        left, replaced = split_superseded(side.index, left, indexed=indexed)
        apart += replaced
    return left, apart


def _units(rankings: pa.Table) -> list[tuple[int, str]]:
    """What was ranked, in order: query and unit."""
    columns = (rankings[name].to_pylist() for name in ("query_index", "unit_id"))
    return list(zip(*columns, strict=True))


def _changes_since(serving: Side, candidate: Side) -> Callable[[File], bool]:
    """Whether a file may have changed since the index that serves was built.

    Where both cut the same texts, only a change at the source can make them differ.
    """
    first, second = serving.complete_set, candidate.complete_set
    is_same = (first.elements, first.chunks) == (second.elements, second.chunks)
    built = datetime.fromisoformat(first.recorded_at) if first.recorded_at else None
    return lambda file: is_same or (built is not None and file.modified > built)


def _scores(
    side: Side,
    questions: Sequence[Question],
    ranked: pa.Table,
    indexed: IndexedGold,
) -> pa.Table:
    """One row for each question, at the level of its gold: see `evaluation.scores`."""
    return scored(
        units_of(ranked, count=len(questions)),
        questions,
        gold_items_by_level(questions, indexed=indexed, levels=("gold",)),
        retriever=side.retriever,
        cutoffs=sorted({1, side.config.gate.cutoff}),
        depth=side.depth,
    )


def _paired(before: pa.Table, now: pa.Table, *, metric: str) -> Paired:
    return Paired(
        now[metric].to_numpy() - before[metric].to_numpy(),
        now["source_cluster"].to_pylist(),
        now["gold_cluster"].to_pylist(),
    )


def _groups(questions: Sequence[Question], sides: GoldSides) -> dict[str, list[str]]:
    """For each kind of slice the slice of each question."""
    return {
        "domain": [question.domain for question in questions],
        "language": [question.language for question in questions],
        "source": [_source_of(question.gold[0], sides) for question in questions],
    }


def _source_of(gold: Gold, sides: GoldSides) -> str:
    """The source that the gold lies in; where several hold it, all of them."""
    for indexed in (sides.candidate, sides.serving):
        sources = (
            {source for source, _, _ in indexed.rows.get((gold.table, gold.row_key), {}).values()}
            if isinstance(gold, RowGold)
            else {source for source, _ in indexed.documents.get(gold.uri, ())}
        )
        if sources:
            return " and ".join(sorted(sources))
    return "none"


def _lost(before: pa.Table, now: pa.Table, differences: np.ndarray) -> tuple[NamedQuestion, ...]:
    """The questions on which the candidate is worse, the greatest loss first."""
    places = [place for place in np.argsort(differences, kind="stable") if differences[place] < 0]
    columns = ["question_id", "question", "first_rank", "missing"]
    first, second = before.select(columns).to_pylist(), now.select(columns).to_pylist()
    return tuple(
        NamedQuestion(
            question_id=second[place]["question_id"],
            text=shortened(second[place]["question"]),
            reason=_loss(first[place]["first_rank"], second[place]),
        )
        for place in places[:LOST_NAMED]
    )


def _loss(rank_before: int | None, now: dict) -> str:
    then = "not found" if rank_before is None else f"rank {rank_before}"
    if now["missing"]:
        return f"{then} before; the candidate does not hold {now['missing'][0]}"
    return f"{then} before, {'not found' if now['first_rank'] is None else now['first_rank']} now"


def _named(changes: Sequence[GoldChange]) -> tuple[NamedQuestion, ...]:
    return tuple(
        _named_question(change.question, change.reason, found_now=change.found_now)
        for change in changes
    )


def _named_question(question: Question, reason: str, *, found_now: str = "") -> NamedQuestion:
    return NamedQuestion(question.question_id, shortened(question.text), reason, found_now)


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
    return f"{examined.side.complete_set.variant}: {flaw.sentence}. What to do: {flaw.rule.remedy}."


def _flaws(examined: Examined, questions: Sequence[Question]) -> list[Flaw]:
    config = examined.side.config
    evidence = Evidence(
        scores=examined.scores,
        compared=[examined.side.retriever],
        cutoff=config.gate.cutoff,
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
        yield flaws.found(
            "unlike_runs",
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
