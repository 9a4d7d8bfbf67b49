"""Judges: answers degraded in known ways, judges of known error, and a model that cannot judge.

usage: judges.py [--answers 200] [--embedded 20]

Every answer is known to be whole, or has a number changed, its citations removed, a sentence
dropped, or is about something else; so the right scores are known. Judges behind a scripted server
err in known ways: one never, one is lenient, one fails more often where answers are bad, one
prefers what it sees first. A project is evaluated twice by a judge. People who are always right
label a part: intervals of kappa, and of means by few labels and many judgments, must hold what is
true, and a judge may gate only if its kappa is shown. Then the embedded model judges a few answers:
it shows that the protocol holds, as no capable model judges here, and has to be refused.
"""

import argparse
import json
import random
import re
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bounds import Bound, at_least, equal, finish, within

from rag_assets import config as configuration
from rag_assets.config import LanguageModelSettings, RubricName
from rag_assets.config.language_models import EMBEDDED_MODEL
from rag_assets.evaluation.intervals import Clusters
from rag_assets.evaluation.questions import refresh_questions
from rag_assets.laboratory.answer_evaluation.evaluating import evaluate_answers, file_of
from rag_assets.laboratory.judges.asking import RubricJudge
from rag_assets.laboratory.judges.calibration import (
    kappa_text,
    labels_needed,
    powered,
    why_not,
    with_people,
)
from rag_assets.laboratory.judges.judged_means import (
    TIE,
    BoundedMean,
    bounded_difference,
    bounded_mean,
    scores_of,
)
from rag_assets.laboratory.judges.kappa import Kappa, kappa_of
from rag_assets.models.language.opening import open_entry
from rag_assets.questions.judging.labels import ItemLabel, task_of
from rag_assets.questions.judging.rubrics import read_rubric
from rag_assets.questions.judging.verdicts import JudgedItem, Judgment
from rag_assets.store import Store
from rag_assets_testing import small_project
from rag_assets_testing.faults import pipeline
from rag_assets_testing.scripted_language_model import (
    Behaviour,
    Script,
    ScriptedServer,
    answers,
    cut,
)

SAMPLES = 1_000
DIMENSIONS = ("correctness", "helpfulness", "informativeness")
RIGHT: Mapping[str, tuple[int, int, int]] = {
    "whole": (5, 5, 5),
    "number changed": (1, 3, 4),
    "citations removed": (5, 5, 4),
    "sentence dropped": (4, 3, 2),
    "something else": (1, 1, 1),
}
"""By what was done to an answer, the scores that it deserves, dimension by dimension."""
LENIENT = 0.4
"""Chance of the lenient judge to give a point more."""
FAILS: Mapping[str, float] = {"whole": 0.05}
"""Chance of the failing judge to write no usable reply; of degraded answers `FAILS_ELSE`."""
FAILS_ELSE = 0.4
DRAWS, DRAWN = 300, 60
"""Times that a sample is drawn, and answers of each: how often does an interval hold the truth?"""

KAPPA_DRAWS, LABELLED, ITEMS = 200, 100, 1_000
"""Times that labels are drawn, labels of each, and judgments that they are combined with."""
WORSE = 0.3
"""Chance of an answer of the second system to be a point worse."""
YES = 0.5
"""Share of the sentences that their sources say."""
HOLDS = (0.91, 0.985)
"""Share of 200 intervals of 95 % that hold what is true: 19 in 20 times it is within these."""


@dataclass(frozen=True)
class DegradedAnswer:
    """An answer of which it is known how good it is."""

    item: JudgedItem
    done: str
    """A key of `RIGHT`."""
    whole: str
    """The answer before."""

    @property
    def right(self) -> tuple[int, int, int]:
        return RIGHT[self.done]


def degraded_answers(count: int) -> list[DegradedAnswer]:
    """Answers about alloys that there are not, a fifth of them in each state of `RIGHT`."""
    draw = random.Random(0)
    found = []
    for place in range(count):
        name, strength, melting = (
            f"alloy QX-{place:03}",
            draw.randint(200, 900),
            draw.randint(9, 30),
        )
        sentences = [
            f"The tensile strength of {name} is {strength} MPa.",
            f"It melts at {melting * 50} degrees.",
        ]
        parts = {
            "question": f"How strong is {name}, and where does it melt?",
            "reference": " ".join(sentences),
            "context": "\n\n".join(f"[{n}] {text}" for n, text in enumerate(sentences, start=1)),
        }
        whole = f"{sentences[0]} [1] {sentences[1]} [2]"
        done = [*RIGHT][place % len(RIGHT)]
        made = {
            "whole": whole,
            "number changed": whole.replace(f"{strength} MPa", f"{strength + 70} MPa"),
            "citations removed": " ".join(sentences),
            "sentence dropped": f"{sentences[0]} [1]",
            "something else": f"{name} was first described in a letter to the editor. [1]",
        }[done]
        found.append(DegradedAnswer(JudgedItem("answer", {**parts, "answer": made}), done, whole))
    return found


Judging = Callable[[DegradedAnswer, random.Random], Behaviour]


def script_of(known: Sequence[DegradedAnswer], judging: Judging) -> Script:
    """A server that recognises each answer, and judges it with the same luck every time."""
    by_text = {each.item.parts["answer"]: each for each in known}

    def behave(body: dict) -> Behaviour:
        said = re.search(
            r"<answer-\w+>\n(.*)\n</answer-", body["messages"][1]["content"], re.DOTALL
        )
        assert said, "an answer is shown"
        return judging(by_text[said[1]], random.Random(said[1]))

    return behave


def reply(scores: Sequence[int]) -> Behaviour:
    """A reply by the schema of `answer_scores`."""
    pairs = zip(DIMENSIONS, scores, strict=True)
    return answers(json.dumps({name: {"evidence": "MPa", "score": each} for name, each in pairs}))


def exact(answer: DegradedAnswer, _luck: random.Random) -> Behaviour:
    return reply(answer.right)


def lenient(answer: DegradedAnswer, luck: random.Random) -> Behaviour:
    return reply([min(5, score + (luck.random() < LENIENT)) for score in answer.right])


def failing(answer: DegradedAnswer, luck: random.Random) -> Behaviour:
    fails = luck.random() < FAILS.get(answer.done, FAILS_ELSE)
    return cut('{"correctness": {"evidence": "') if fails else exact(answer, luck)


@contextmanager
def judge_of(
    script: Script, state: Path, *rubrics: RubricName
) -> Generator[tuple[RubricJudge, ScriptedServer]]:
    """A judge behind a scripted server, whose calls are kept in `state`."""
    with ScriptedServer(script, model=state.name) as server:
        entry = {"base_url": server.url, "model": state.name, "local": True, "attempts": 1}
        settings = LanguageModelSettings.model_validate(entry)
        with open_entry(state.name, settings, state=state) as model:
            yield RubricJudge(model, [read_rubric(name) for name in rubrics], 100_000), server


def judged(judge: RubricJudge, known: Sequence[DegradedAnswer]) -> list[Judgment]:
    return judge.judge_all([[each.item] for each in known], log=print)


def columns(
    judgments: Sequence[Judgment], known: Sequence[DegradedAnswer]
) -> dict[str, list[float | None]]:
    """The scores of each dimension, in the order of the answers."""
    scores = scores_of(judgments, read_rubric("answer_scores"))
    return {name: [scores[name][each.item.item_id] for each in known] for name in DIMENSIONS}


def right(known: Sequence[DegradedAnswer]) -> dict[str, list[float]]:
    """What a perfect judge says."""
    return {name: [float(each.right[at]) for each in known] for at, name in enumerate(DIMENSIONS)}


def alone(count: int) -> Clusters:
    return Clusters(np.arange(count), by="gold")


def said(name: str, truth: float, mean: BoundedMean) -> None:
    print(
        f"  {name}: right {truth:.3f}; scored {mean.mean:.3f}, bounds {mean.worst:.3f} to "
        f"{mean.best:.3f} ({mean.low:.3f} to {mean.high:.3f}), failed {mean.failed} of {mean.items}"
    )


def scored_bounds(known: Sequence[DegradedAnswer], folder: Path) -> Iterator[Bound]:
    """What judges of known error say of the same answers."""
    truth, clusters = right(known), alone(len(known))
    with judge_of(script_of(known, exact), folder / "exact", "answer_scores") as (judge, server):
        first = judged(judge, known)
        calls = server.calls
        again = judged(judge, known)
        yield equal("exact judge: scores that are wrong", _wrong(columns(first, known), truth), 0)
        yield equal("judged again: calls", server.calls - calls, 0)
        yield equal("judged again: judgments that differ", int(first != again), 0)
    with judge_of(script_of(known, lenient), folder / "lenient", "answer_scores") as (judge, _):
        found = columns(judged(judge, known), known)
    for name in DIMENSIONS:
        bias = LENIENT * float(np.mean([score < 5 for score in truth[name]]))
        change = bounded_difference(found[name], truth[name], (1, 5), clusters, samples=SAMPLES)
        said(f"lenient, {name}", bias, change)
        assert change.low is not None
        assert change.high is not None
        yield within(f"lenient judge: bias of {name}", bias, change.low, change.high)
    with judge_of(script_of(known, failing), folder / "failing", "answer_scores") as (
        judge,
        server,
    ):
        judgments = judged(judge, known)
        found = columns(judgments, known)
        failed = {each.item_id for each in judgments if each.score is None}
        yield equal(
            "failing judge: requests beyond two for each failure",
            server.calls,
            len(known) + len(failed),
        )
    yield equal("failing judge: answers left out", len(known) - len(found["correctness"]), 0)
    for name in DIMENSIONS:
        mean = bounded_mean(found[name], (1, 5), clusters, samples=SAMPLES)
        right_mean = float(np.mean(truth[name]))
        said(f"failing, {name}", right_mean, mean)
        yield within(f"failing judge: right mean of {name}", right_mean, mean.worst, mean.best)
        assert mean.mean is not None
        yield at_least(
            f"mean of {name} without failures is too high by", mean.mean - right_mean, 0.1
        )


def _wrong(
    found: Mapping[str, Sequence[float | None]], truth: Mapping[str, Sequence[float]]
) -> int:
    return sum(
        one != other
        for name in DIMENSIONS
        for one, other in zip(found[name], truth[name], strict=True)
    )


def coverage_bound(known: Sequence[DegradedAnswer]) -> Bound:
    """How often the interval of a sample with failures holds the mean of all."""
    draw = np.random.default_rng(0)
    scores = np.array(right(known)["correctness"])
    chance = np.array([FAILS.get(each.done, FAILS_ELSE) for each in known])
    held = 0
    for _ in range(DRAWS):
        rows = draw.integers(len(known), size=DRAWN)
        lost = draw.random(DRAWN) < chance[rows]
        sample = [
            None if gone else float(scores[row]) for row, gone in zip(rows, lost, strict=True)
        ]
        mean = bounded_mean(sample, (1, 5), alone(DRAWN), samples=SAMPLES)
        assert mean.low is not None
        assert mean.high is not None
        held += mean.low <= scores.mean() <= mean.high
    return at_least(
        "95 % intervals with failures that hold the right mean", float(held) / DRAWS, 0.95
    )


def pair_bounds(known: Sequence[DegradedAnswer], folder: Path) -> Iterator[Bound]:
    """Whole answers beside degraded ones: one judge knows, another one likes what is first."""
    rubric = read_rubric("answer_ranking")
    worse = [each for each in known if each.done != "whole"]
    pairs = [
        JudgedItem(
            "pair",
            {
                "question": each.item.parts["question"],
                "reference": each.item.parts["reference"],
                "answer 1": each.whole,
                "answer 2": each.item.parts["answer"],
            },
        )
        for each in worse
    ]
    whole = {each.whole for each in known}

    def knows(body: dict) -> Behaviour:
        shown = re.findall(
            r"<answer_([A-Z])-\w+>\n(.*?)\n</answer", body["messages"][1]["content"], re.DOTALL
        )
        ranks = {letter: 1 if text in whole else 2 for letter, text in shown}
        return answers(json.dumps({"evidence": "MPa", "ranks": ranks}))

    def likes_the_first(_body: dict) -> Behaviour:
        return answers(json.dumps({"evidence": "MPa", "ranks": {"A": 1, "B": 2}}))

    for name, script, expected in (
        ("a judge that knows", knows, 1.0),
        ("a judge that likes what is first", likes_the_first, TIE),
    ):
        with judge_of(script, folder / name.replace(" ", "_"), "answer_ranking") as (judge, _):
            found = judge.judge_all([[pair] for pair in pairs], log=print)
        scores = scores_of(found, rubric)["preference"]
        mean = float(np.mean([scores[pair.item_id] for pair in pairs]))
        yield equal(f"{name}: preference for the whole answer of a pair", mean, expected)


def evaluation_bound(folder: Path) -> Iterator[Bound]:
    """A whole evaluation of a small project, made twice."""
    folder.mkdir()
    small_project.make(folder)
    with ScriptedServer(_likes_all) as server:
        entry = {"base_url": server.url, "model": "scripted", "local": True, "attempts": 1}
        added = f"  judges: [{{model: judge}}]\nlanguage_models: {json.dumps({'judge': entry})}\n"
        (folder / "rag_assets.yaml").write_text(small_project.CONFIG + added)
        config = configuration.load(folder / "rag_assets.yaml")
        pipeline.refresh(config)
        store = Store.of(config)
        refresh_questions(store, config, log=print)
        first = evaluate_answers(store, config, variant="default", log=print)
        assert first is not None
        calls = server.calls
        yield at_least("whole evaluation: calls of the judge", calls, 1)
        file_of(store, "default").unlink()
        again = evaluate_answers(store, config, variant="default", log=print)
        assert again is not None
        yield equal("whole evaluation, made again: calls of the judge", server.calls - calls, 0)
        yield equal(
            "whole evaluation, made again: other means", int(first.judged != again.judged), 0
        )


def _likes_all(body: dict) -> Behaviour:
    names = body["response_format"]["json_schema"]["schema"]["properties"]
    best = {name: each["properties"]["score"]["enum"][-1] for name, each in names.items()}
    return answers(
        json.dumps({name: {"evidence": "x", "score": each} for name, each in best.items()})
    )


def of_kappa(
    kappa: float, items: int, draw: np.random.Generator
) -> tuple[list[float], list[float]]:
    """What people say of `items` sentences, and a judge whose true kappa is this: yes is 1.

    Half of the sentences are supported, so that chance agrees on half: it errs on (1 - kappa) / 2.
    """
    people = (draw.random(items) < YES).astype(float)
    errs = draw.random(items) < (1 - kappa) / 2
    return np.where(errs, 1 - people, people).tolist(), people.tolist()


def label_bounds(known: Sequence[DegradedAnswer]) -> Iterator[Bound]:
    """How often intervals by labels hold what is true."""
    draw = np.random.default_rng(0)
    for kappa in (0.3, 0.8):
        held = 0
        for _ in range(KAPPA_DRAWS):
            judge, people = of_kappa(kappa, LABELLED, draw)
            found = kappa_of(judge, people, scale=[0.0, 1.0], is_ordered=False)
            held += int(found.low <= kappa <= found.high)
        yield within(f"intervals that hold a kappa of {kappa:g}", held / KAPPA_DRAWS, *HOLDS)
    scores = np.array(right(known)["correctness"])
    true = {"mean": scores.mean(), "difference": -WORSE * (scores > 1).mean()}
    limits = {"mean": (1.0, 5.0), "difference": (-4.0, 4.0)}
    held = {"mean": 0, "difference": 0}
    widths, off = [], []
    for _ in range(KAPPA_DRAWS):
        people = draw.choice(scores, ITEMS)
        kind = np.minimum(people + (draw.random(ITEMS) < LENIENT), 5)
        worse = np.where(draw.random(ITEMS) < WORSE, np.maximum(people - 1, 1), people)
        kind_of_worse = np.minimum(worse + (draw.random(ITEMS) < LENIENT / 2), 5)
        is_labelled = np.isin(np.arange(ITEMS), draw.choice(ITEMS, LABELLED, replace=False))
        for name, judged, truth in (
            ("mean", kind, people),
            ("difference", kind_of_worse - kind, worse - people),
        ):
            said = np.where(is_labelled, truth, np.nan).tolist()
            found = powered(judged.tolist(), said, limits[name])
            alone = powered(np.zeros(ITEMS).tolist(), said, limits[name])
            assert found
            assert alone
            held[name] += int(found.low <= true[name] <= found.high)
            if name == "mean":
                off.append(found.judged - truth.mean())
                widths.append((found.high - found.low) / (alone.high - alone.low))
    print(f"  the lenient judge alone is off by {np.mean(off):+.3f}")
    for name, count in held.items():
        yield within(f"intervals of a {name} that hold the right one", count / KAPPA_DRAWS, *HOLDS)
    yield at_least("width that judgments save beside labels alone", 1 - float(np.mean(widths)), 0.3)


def gate_bounds() -> Iterator[Bound]:
    """Which judges may gate, by 200 labels, and how many labels one of kappa .8 needs."""
    draw = np.random.default_rng(1)
    task = task_of("sentence")
    for kappa, expected in ((0.3, 0), (0.8, 1)):
        passed = 0
        for turn in range(KAPPA_DRAWS):
            judge, people = of_kappa(kappa, 2 * LABELLED, draw)
            items = [f"{place:04}" for place in range(len(people))]
            words = {
                item: "yes" if each else "no" for item, each in zip(items, people, strict=True)
            }
            agreed = with_people(
                dict(zip(items, judge, strict=True)), labels_of(words, task.of), task
            )
            why = why_not(agreed, judge=f"a judge of kappa {kappa:g}", is_generator=False)
            passed += not why
            if not turn:
                print(f"  kappa {kappa:g}: {kappa_text(agreed)}: {why or 'may gate'}")
        share = passed / KAPPA_DRAWS
        yield within(
            f"judges of kappa {kappa:g} that may gate after 200 labels",
            share,
            0.95 * expected,
            expected,
        )
    for share in (0.7, 0.8, 0.9):
        width = 1.96 * np.sqrt((1 - share**2) / LABELLED)  # of half yes, half no
        found = Kappa(share, share - width, 1.0, LABELLED, LABELLED, share, LABELLED // 2)
        print(f"  a judge of kappa {share:g} may gate after about {labels_needed(found)} labels")


def labels_of(said: Mapping[str, str], of: str) -> list[ItemLabel]:
    """Labels of items that are all drawn."""
    return [
        ItemLabel(item, of, label, "anna", about=item, drawn=True, at="now")
        for item, label in said.items()
    ]


def embedded_bounds(known: Sequence[DegradedAnswer], folder: Path) -> Iterator[Bound]:
    """The embedded model, which is no judge: what it says is kept, and counts for nothing."""
    rubric = read_rubric("correctness")
    with open_entry("embedded", EMBEDDED_MODEL, state=folder) as model:
        judge = RubricJudge(model, [rubric], len(known))
        found = judged(judge, known)
    truth = {each.item.item_id: each.right[0] for each in known}
    for each in found:
        print(
            f"  right {truth[each.item_id]}, embedded {each.score}, {each.parse_state}: "
            f"{each.evidence!r}"
        )
    yield equal("embedded model: answers without a judgment", len(known) - len(found), 0)
    whole = all((each.score is None) == (each.parse_state == "failed") for each in found)
    yield equal("embedded model: failures that are named", int(whole), 1)
    task = task_of("correctness/correctness")
    labels = labels_of({item: str(score) for item, score in truth.items()}, task.of)
    scores = scores_of(found, rubric)["correctness"]
    why = why_not(with_people(scores, labels, task), judge="the embedded model", is_generator=False)
    print(f"  {why or 'it may gate'}")
    yield equal("embedded model: refused by a gate", int(bool(why)), 1)
    right_scores = {item: float(score) for item, score in truth.items()}
    may = not why_not(with_people(right_scores, labels, task), judge="people", is_generator=False)
    yield equal("as many labels let a judge gate that is always right", int(may), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument(
        "--embedded", type=int, default=20, help="answers that it judges; 0 for none"
    )
    arguments = parser.parse_args()
    known = degraded_answers(arguments.answers)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bounds = [
            *scored_bounds(known, folder),
            coverage_bound(known),
            *pair_bounds(known, folder),
            *label_bounds(known),
            *gate_bounds(),
            *evaluation_bound(folder / "project"),
            *(embedded_bounds(known[: arguments.embedded], folder) if arguments.embedded else ()),
        ]
    finish("judges", bounds)


if __name__ == "__main__":
    main()
