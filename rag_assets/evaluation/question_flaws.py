"""The rules for flaws that look at the questions and at what each arm returned: see `flaws`.

`comparison_flaws` has those that look at differences between arms.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.arrow_sql import where
from rag_assets.config.questions import KNOWN_ITEMS
from rag_assets.evaluation import flaws
from rag_assets.evaluation.evidence import Evidence, IndexContents
from rag_assets.evaluation.flaws import Flaw
from rag_assets.evaluation.intervals import clusters_of, drawn_means, intervals_of
from rag_assets.evaluation.question_words import words_of

SHARE = 0.05
"""From this share of the questions on it counts that something is wrong with them."""
COPIED = 0.8
"""Containment from which on a question lies in the index."""
POOL_SHARE = 0.01
"""The largest share of documents and rows in one index alone that does not count: a file or two may
have failed."""
LEAST_SHARED = 0.05
"""Smaller differences of the share of common words do not matter."""
LEAST_QUESTIONS = 10
"""Questions of people, and generated ones, from which on their words are compared."""


def arm_returned_nothing(evidence: Evidence) -> Iterator[Flaw]:
    """E001: of each arm, those that were not chosen included."""
    counts = evidence.scores.group_by("retriever").aggregate([([], "count_all")])
    asked = dict(zip(*(counts[name].to_pylist() for name in counts.column_names), strict=True))
    empty = where(evidence.scores, items=0)
    unanswered: defaultdict[str, list[str]] = defaultdict(list)
    for arm, question in zip(
        empty["retriever"].to_pylist(), empty["question"].to_pylist(), strict=True
    ):
        unanswered[arm].append(question)
    for arm, questions in unanswered.items():
        if len(questions) > SHARE * asked[arm]:
            yield flaws.found(
                "arm_returned_nothing",
                f"{arm} returned nothing for {len(questions)} of {asked[arm]} questions",
                examples=questions,
            )


def unlike_runs(evidence: Evidence) -> Iterator[Flaw]:
    """E002: of the arms of one experiment."""
    rows = evidence.scores.select(["retriever", "question_id", "question"]).to_pylist()
    asked: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for row in rows:
        asked[row["retriever"]][row["question_id"]] = row["question"]
    yield from unlike_questions(asked)
    yield from unlike_contents(evidence.contents)


def unlike_questions(asked: Mapping[str, Mapping[str, str]]) -> Iterator[Flaw]:
    """E002, the questions: for each run the text of each question by its id."""
    names = list(asked)
    for name in names[1:]:
        one, other = asked[names[0]].items(), asked[name].items()
        if differing := sorted({text for _, text in one ^ other}):
            yield flaws.found(
                "unlike_runs",
                f"{names[0]} answered {len(one)} questions and {name} {len(other)}; "
                f"{len(one & other)} are the same",
                examples=differing,
            )
            return


def unlike_contents(contents: Mapping[str, IndexContents]) -> Iterator[Flaw]:
    """E002, the indexes: what that of each variant holds."""
    for (one, first), (other, second) in combinations(contents.items(), 2):
        alone = [(other, *each) for each in second.lacks(first)]
        alone += [(one, *each) for each in first.lacks(second)]
        count = sum(number for _, _, number in alone)
        if count > POOL_SHARE * max(first.size, second.size):
            yield flaws.found(
                "unlike_runs",
                f"{count} documents and rows are in the index of {one} or of {other} alone, which "
                f"hold {first.size} and {second.size}",
                examples=(f"{what}: {number} not in {variant}" for variant, what, number in alone),
            )


def question_in_index(evidence: Evidence) -> Iterator[Flaw]:
    """E003; of known items it is what makes them."""
    words = evidence.words.filter(pc.not_equal(evidence.words["question_set"], KNOWN_ITEMS))
    copied = words.filter(pc.greater_equal(words["copied"], COPIED))
    if copied.num_rows > SHARE * words.num_rows:
        yield flaws.found(
            "question_in_index",
            f"{copied.num_rows} of {words.num_rows} questions stand nearly word for word in a unit "
            "of the index",
            examples=(f"{row['question']} ({row['place']})" for row in copied.to_pylist()),
        )


def gold_not_in_index(evidence: Evidence) -> Iterator[Flaw]:
    """E004: of the reference's index; other indexes are compared by what they hold."""
    rows = evidence.questions
    lacking = rows.filter(pc.greater(pc.list_value_length(rows["missing"]), 0))
    if lacking.num_rows > SHARE * rows.num_rows:
        yield flaws.found(
            "gold_not_in_index",
            f"gold of {lacking.num_rows} of {rows.num_rows} questions is not in the index",
            examples=(missing[0] for missing in lacking["missing"].to_pylist()),
        )


def ties_decide(evidence: Evidence) -> Iterator[Flaw]:
    """E007: the main hit rate, with units of equal score ordered for the gold and against it."""
    for arm, rows in evidence.reported.items():
        earliest, latest = (
            pc.fill_null(rows[name], 2**31 - 1).to_numpy()
            for name in ("earliest_rank", "latest_rank")
        )
        moved = (earliest <= evidence.cutoff) & (latest > evidence.cutoff)
        if moved.sum() > SHARE * len(moved):
            yield flaws.found(
                "ties_decide",
                f"whether {arm} hits depends on the order of units with equal scores in "
                f"{moved.sum()} of {len(moved)} questions: its {evidence.hits} lies anywhere from "
                f"{(latest <= evidence.cutoff).mean():.3f} to "
                f"{(earliest <= evidence.cutoff).mean():.3f}",
                examples=rows["question"].filter(pa.array(moved)).to_pylist(),
            )


def generated_share_words(evidence: Evidence) -> Iterator[Flaw]:
    """E009: generated questions that share more words with their gold than those of people."""
    words = evidence.words.filter(pc.is_valid(evidence.words["shared"]))
    is_generated = np.array(
        [name in evidence.generated for name in words["question_set"].to_pylist()], dtype=bool
    )
    shared = words["shared"].to_numpy()
    if min(is_generated.sum(), (~is_generated).sum()) < LEAST_QUESTIONS:
        return
    means, drawn = [], []
    for part in (shared[is_generated], shared[~is_generated]):
        alone = [str(place) for place in range(len(part))]
        clusters = clusters_of(alone, alone)
        drawn.append(drawn_means(part[:, None], clusters, samples=evidence.samples))
        means.append(part.mean())
    difference = np.array([means[0] - means[1]])
    bounds = intervals_of(
        difference,
        drawn[0] - drawn[1],
        clusters=int(min(is_generated.sum(), (~is_generated).sum())),
    )
    if bounds.low[0] > 0 and difference[0] >= LEAST_SHARED:
        order = np.argsort(-shared * is_generated, kind="stable")
        texts = words["question"].to_pylist()
        yield flaws.found(
            "generated_questions_share_words",
            f"{means[0]:.0%} of the words of generated questions stand in their gold, of those of "
            f"people {means[1]:.0%}: {difference[0]:+.2f} "
            f"[{bounds.low[0]:+.2f}, {bounds.high[0]:+.2f}]",
            examples=(texts[place] for place in order.tolist() if is_generated[place]),
        )


def repeated_questions(evidence: Evidence) -> Iterator[Flaw]:
    """E012: the same words in any order, whatever their case and the punctuation."""
    columns = (evidence.words[name].to_pylist() for name in ("question_id", "question", "split"))
    alike: defaultdict[tuple[str, ...], list[tuple[str, str]]] = defaultdict(list)
    for identifier, question, split in zip(*columns, strict=True):
        alike[tuple(sorted(words_of(question)))].append((identifier, split))
    groups = [group for group in alike.values() if len(group) > 1]
    repeated = sum(len(group) - 1 for group in groups)
    across = sum(len({split for _, split in group}) > 1 for group in groups)
    if repeated > SHARE * evidence.words.num_rows:
        yield flaws.found(
            "repeated_questions",
            f"{repeated} of {evidence.words.num_rows} questions repeat another one"
            + (f"; {across} stand in two splits" if across else ""),
            examples=(" = ".join(identifier for identifier, _ in group) for group in groups),
        )
