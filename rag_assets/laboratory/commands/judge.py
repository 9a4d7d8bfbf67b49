"""`rag-assets judge`: how good answers are, what people say of them, and who judges as they do."""

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from rag_assets.config import Config
from rag_assets.reports.text_tables import table
from rag_assets.serving import disk_errors, job_runs, refresh_run
from rag_assets.serving.language_model_costs import (
    Calls,
    added,
    of_answers,
    of_judges,
    say_expected,
)
from rag_assets.serving.question_labels import asked
from rag_assets.serving.replies import (
    CommandError,
    Json,
    Reply,
    UsageError,
    add_variant,
    login,
    project_of,
    say,
)
from rag_assets.store import MissingIndexError, Store
from rag_assets.store.serving_pointer import serving_variant

if TYPE_CHECKING:
    from rag_assets.laboratory.judges.agreement import JudgeAgreement
    from rag_assets.laboratory.judges.kappa import Kappa
    from rag_assets.questions.items_to_label import ItemSources, ToJudge
    from rag_assets.questions.judging.labels import LabelFile, LabelTask

SUMMARY = "measure answers, label what judges judge, see how far they and people agree"
EXAMPLES = """\
  rag-assets judge answers                 answer your questions, and measure the answers
  rag-assets judge label sentence          do the sources say what was written?
  rag-assets judge label hit               does what was found answer the question?
  rag-assets judge label pair --user anna  which of two is better, blind
  rag-assets judge label chunk             which units shown does a sentence refer to?
  rag-assets judge label answer_scores/correctness    what a judge scored, from 1 to 5
  rag-assets judge agreement               kappa with intervals, and who may gate"""

NOTHING = {
    "sentence": "No kept answer has a sentence of a language model with a source: name a writer "
    "(answering.writer), and ask something.",
    "hit": "Nothing was evaluated yet: `rag-assets evaluate`, then label what was found.",
    "pair": "No two retrievers were evaluated yet, and no question has two kept answers that "
    "differ: `rag-assets evaluate`.",
}
"""What to do where there is nothing to label."""
OTHERS = "name one under evaluation.judges, then `rag-assets judge answers`."


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    command.add_argument("action", choices=("answers", "label", "agreement"), help="what to do")
    command.add_argument(
        "of",
        nargs="?",
        help="of label: sentence, hit, pair, chunk, or RUBRIC/DIMENSION",
    )
    command.add_argument("--user", help="who labels (default: your login)")
    add_variant(command, "of answers: variant that answers")


def run(options: argparse.Namespace) -> Reply:
    """Do the action."""
    from rag_assets.questions.judging.labels import TASKS, task_of
    from rag_assets.questions.matching_labels import OF

    if (options.of is not None) != (options.action == "label"):
        raise UsageError(
            f"name one of {', '.join((*TASKS, OF))} with label, and with no other action"
        )
    config, store = project_of(options)
    if options.action == "answers":
        return _answers(config, variant=options.variant or serving_variant(store, config))
    with disk_errors.writing(config.questions.folder):
        if options.action == "agreement":
            return _agreement(config)
        if options.of == OF:
            return _matched(config, _name_of(options.user or login()))
        try:
            task = task_of(options.of)
        except ValueError as error:
            raise UsageError(str(error)) from error
        return _label(config, task, _name_of(options.user or login()))


def _answers(config: Config, *, variant: str) -> Reply:
    """Answer the questions by a variant, and tell how good the answers are."""
    from rag_assets.evaluation.questions import read_questions, refresh_questions
    from rag_assets.laboratory.answer_evaluation.assets import JOB, NO_QUESTIONS
    from rag_assets.laboratory.answer_evaluation.evaluating import file_of, read_evaluation
    from rag_assets.laboratory.answer_evaluation.report import report_of

    with refresh_run.alone(config) as store:
        refresh_questions(store, config, log=say)
        count = len(read_questions(store))
        if not count:
            raise CommandError(NO_QUESTIONS)
        say_expected(config, added(of_answers(config, count), of_judges(config, count)))
        job_runs.execute_all(config, JOB, variant=variant)
    file = file_of(store, variant)
    found = read_evaluation(file)
    assert found is not None, "there are questions, and no step failed"
    record = json.loads(json.dumps(asdict(found)))
    return Reply({**record, "file": str(file)}, f"{report_of(found)}\n\nRecord: {file}")


def _name_of(labeller: str) -> str:
    """As it stands in the file of labels, where a blank one would be no label."""
    if not labeller.strip() or not labeller.isprintable():
        raise UsageError(f"--user {labeller!r}: name who labels by letters")
    return labeller.strip()


def _label(config: Config, task: "LabelTask", labeller: str) -> Reply:
    """Ask a person, and say how far the labellers agree by now."""
    from rag_assets.questions.items_to_label import Labelling
    from rag_assets.questions.judging.labels import read_labels

    file = config.questions.labels_file
    labelling = Labelling(task, _items(config, task), file, labeller)
    if not labelling.items:
        why = NOTHING.get(task.kind, f"No judge was asked about a {task.kind} yet: {OTHERS}")
        return Reply({"labelled": 0, "left": 0, "file": str(file)}, why)
    said = labelling.said()
    count = labelling.left(said)
    done = asked(labelling.screens(said), count=count).total() if count else 0
    labels = read_labels(file)
    text = (
        f"Labelled by {labeller}: {done:,}; left: {count - done:,}. Labels are in {file}. "
        "Next: rag-assets judge agreement"
    )
    record = {"labelled": done, "left": count - done, "file": str(file)}
    people = _people(labels, task)
    return Reply({**record, "people": people}, "\n".join([text, *_lines(people, labels.problems)]))


def _matched(config: Config, labeller: str) -> Reply:
    """Ask a person which units each sentence refers to."""
    from rag_assets.questions.matching_labels import left_to_match, screens

    file = config.questions.labels_file
    every = _sources(config).to_match()
    if not every:
        return Reply({"labelled": 0, "left": 0, "file": str(file)}, NOTHING["sentence"])
    left = left_to_match(every, file, labeller)
    done = asked(screens(left, file, labeller), count=len(left)).total() if left else 0
    text = f"Labelled by {labeller}: {done:,}; left: {len(left) - done:,}. Labels are in {file}."
    return Reply({"labelled": done, "left": len(left) - done, "file": str(file)}, text)


def _agreement(config: Config) -> Reply:
    """Hold people, rules and judges against each other, task by task."""
    from rag_assets.laboratory.judges.agreement import agreements
    from rag_assets.questions.judging.labels import read_labels, sample_of, task_of

    labels = read_labels(config.questions.labels_file)
    record, lines = {}, [*labels.problems]
    for name in sorted({each.of for each in labels.labels}):
        task, own = task_of(name), labels.on(name)
        counted = len({each.item for each in sample_of(own)})
        say_expected(config, _expected(config, task, counted))
        found = list(agreements(config, task, own, partial(_items, config, task), log=say))
        people = _people(labels, task)
        record[name] = {"people": people, "judges": [_record(each) for each in found]}
        lines += [f"\n{name}: {counted:,} items labelled in an order of chance, which count"]
        lines += _lines([*people, *map(_row, found)], [])
        lines += [line for each in found for line in _told(each)]
    matching = _matching(config, labels)
    if matching:
        record["reference_matching"] = {"thresholds": matching}
        lines += ["\nReference matching, by the units that people ticked (P1, table 7, figure 10)"]
        lines += _lines(matching, [])
    if not record:
        lines.append("Nobody labelled anything yet: `rag-assets judge label sentence`")
    return Reply(record, "\n".join(lines))


def _matching(config: Config, labels: "LabelFile") -> list[Mapping[str, Json]]:
    """The precision of reference matching at several thresholds; none without labels of units."""
    from rag_assets.answering.assistant import Assistant
    from rag_assets.laboratory.judges.matching import matched_by_labels, precision_rows
    from rag_assets.questions.judging.labels import task_of

    own, assistant = labels.on(task_of("sentence").of), Assistant(Store.of(config), config)
    with suppress(MissingIndexError):  # there are no units that a sentence may refer to
        every = _sources(config).to_match() if own else []
        if matched := matched_by_labels(every, own, assistant.matched):
            return [*map(dict, precision_rows(matched))]
    return []


def _expected(config: Config, task: "LabelTask", labelled: int) -> Calls:
    """What judges are asked: of the labelled items, and of as many others as each is allowed."""
    judges = [each for each in config.evaluation.judges if task.rubric in each.rubrics]
    return {each.model: (0, 2 * (labelled + each.most)) for each in judges}


def _items(config: Config, task: "LabelTask") -> Mapping[str, "ToJudge"]:
    return _sources(config).items(task)


def _sources(config: Config) -> "ItemSources":
    from rag_assets.answering.assistant import Assistant
    from rag_assets.questions.items_to_label import ItemSources

    assistant = Assistant(Store.of(config), config)
    return ItemSources.of(config, lambda: assistant.index)


def _people(labels: "LabelFile", task: "LabelTask") -> list[dict[str, Json]]:
    from rag_assets.laboratory.judges.calibration import between_labellers

    return [
        {"who": each.first, "with": each.second, **_figures(each.kappa)}
        for each in between_labellers(labels.on(task.of), task)
    ]


def _row(found: "JudgeAgreement") -> dict[str, Json]:
    gates = "no" if found.refusal else "yes"
    return {"who": found.judge, "with": "people", **_figures(found.kappa), "may gate": gates}


def _record(found: "JudgeAgreement") -> dict[str, Json]:
    errors, mean = found.errors, found.mean
    return {
        **_row(found),
        "refusal": found.refusal,
        "failed": found.failed,
        "errors": asdict(errors) if errors else None,
        "threshold": found.threshold.value if found.threshold else None,
        "scores": [*map(dict, found.spread)],
        "mean": {name: _known(value) for name, value in asdict(mean).items()} if mean else None,
    }


def _figures(kappa: "Kappa") -> dict[str, Json]:
    names = {"agreed": "agreed", "kappa": "estimate", "low": "low", "high": "high"}
    figures = {name: _known(getattr(kappa, field)) for name, field in names.items()}
    return {"items": kappa.items, **figures}


def _known(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else value


def _lines(rows: Sequence[Mapping[str, Json]], problems: Sequence[str]) -> Iterator[str]:
    yield from problems
    if rows:
        columns = dict.fromkeys(name for row in rows for name in row)
        yield table(rows, columns=[*columns])


def _told(found: "JudgeAgreement") -> Iterator[str]:
    """What a judge is worth, in sentences."""
    if found.refusal:
        yield f"{found.judge} decides nothing: {found.refusal}."
    if found.errors:
        alarms, misses = found.errors.false_alarms, found.errors.misses
        yield f"{found.judge}: false alarms {alarms}, misses {misses}"
    if found.failed:
        yield f"{found.judge} gave no score to {found.failed:,} items: they count as wrong."
    if found.threshold:
        yield (
            f"answering.judge.threshold: the labels suggest {found.threshold.value:.3f} (kappa "
            f"{found.threshold.kappa:.2f} on these labels, less on others)."
        )
    if found.spread:
        yield f"How often people and {found.judge} give each score (P1, figure 8):"
        yield table(list(map(dict, found.spread)), columns=[*found.spread[0]])
    if mean := found.mean:
        yield (
            f"The mean of {mean.judgments:,} items is {mean.judged:.2f} by {found.judge}, and "
            f"{mean.estimate:.2f} [{mean.low:.2f}, {mean.high:.2f}] as people would score them "
            f"({mean.labels:,} labels)."
        )
