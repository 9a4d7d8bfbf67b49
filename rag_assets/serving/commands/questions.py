"""`rag-assets questions`: a test set from one's own documents, tables, users and files."""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from textwrap import shorten

from rag_assets.config import Config
from rag_assets.config.questions import KNOWN_ITEMS
from rag_assets.reports.text_tables import table
from rag_assets.serving import disk_errors, job_runs, question_labels, refresh_run
from rag_assets.serving.language_model_costs import say_expected
from rag_assets.serving.replies import OK, PARTLY, Reply, UsageError, project_of
from rag_assets.store import Store

SUMMARY = "make questions from your data, review them, import others, collect those asked"
EXAMPLES = """\
  rag-assets questions make                make questions from documents and tables
  rag-assets questions review              keep, drop or reword those that were made
  rag-assets questions import mine.csv     take in questions of your own: JSONL or CSV
  rag-assets questions from-answers        say where the answers to asked questions stand
  rag-assets questions stats --json        how many there are, and what was left out"""
REASONS_SHOWN = 8
LONGEST_EXAMPLE = 60


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    command.add_argument(
        "action",
        nargs="?",
        choices=("make", "review", "import", "from-answers", "stats"),
        default="stats",
        help="what to do; stats (default): how many questions there are",
    )
    command.add_argument(
        "file",
        nargs="?",
        type=Path,
        help="of import: JSONL, or CSV with the columns question, gold",
    )


def run(options: argparse.Namespace) -> Reply:
    """Do the action."""
    config, _ = project_of(options)
    if (options.file is not None) != (options.action == "import"):
        raise UsageError("name a file with import, and with no other action")
    match options.action:
        case "make":
            return _made(config)
        case "review":
            return question_labels.review(config)
        case "import":
            return _imported(config, options.file)
        case "from-answers":
            return question_labels.from_answers(config)
    return _counted(config)


def _made(config: Config) -> Reply:
    """Make what is missing, and have the question sets read."""
    from rag_assets.change.quarantine import quarantined
    from rag_assets.questions.assets import JOB
    from rag_assets.schemas import GENERATED_QUESTIONS_TABLE

    if model := config.questions.model:
        # Each window is read twice: to ask, and to see whether it alone answers.
        say_expected(config, {model: (0, 2 * config.questions.from_documents)})
    with refresh_run.alone(config) as store:
        job_runs.execute_all(config, JOB)
    failed = quarantined(store, GENERATED_QUESTIONS_TABLE)
    counted = _counted(config)
    files, reasons = config.questions, Counter(one.reason for one in failed)
    example = {one.reason: one.label for one in failed}
    lines = [
        f"Nothing came yet of {count:,} (such as {example[reason]}), tried again the next time: "
        f"{reason}"
        for reason, count in reasons.most_common(REASONS_SHOWN)
    ]
    lines += [
        f"Review them with `rag-assets questions review` (decisions: {files.review_file}), and "
        "measure with `rag-assets evaluate`."
        if counted.record["questions"]
        else "Neither a document nor a table that was read gives a question: bring your own with "
        "`rag-assets questions import`."
    ]
    return Reply(
        {**counted.record, "failed": [one.label for one in failed]},
        "\n".join([counted.text, *lines]),
        PARTLY if failed else OK,
    )


def _imported(config: Config, file: Path) -> Reply:
    from rag_assets.questions.importing import import_questions, split_keys

    into = config.questions.people_file
    with disk_errors.writing(into.parent):
        found = import_questions(file, into=into, split_by=split_keys(Store.of(config), config))
    lines = [
        f"{found.added:,} questions were added to {into}, and {found.known:,} were there already.",
        *found.problems,
        "Next: rag-assets evaluate",
    ]
    record = {"added": found.added, "known": found.known, "problems": found.problems}
    return Reply({**record, "file": str(into)}, "\n".join(lines), PARTLY if found.problems else OK)


def _counted(config: Config) -> Reply:
    """How many questions there are of each sort, by origin."""
    from rag_assets.evaluation.questions import parse
    from rag_assets.evaluation.reviewed import read_review
    from rag_assets.questions import counts

    store, files = Store.of(config), config.questions
    made, reasons = counts.counted(store), counts.left_out(store)
    people = Counter(
        (one.question_set, "", one.language, one.split)
        for each in config.question_files
        for one in parse(each).questions
    )
    made += [
        dict(zip((*counts.SORTS, "questions"), (*sort, count), strict=True))
        for sort, count in sorted(people.items())
    ]
    review = read_review(files.review_file)
    decided = Counter(
        "reworded" if one.is_kept and one.question else "kept" if one.is_kept else "dropped"
        for one in review.decisions.values()
    )
    faults = [one.reason for one in review.failures.values()]
    return Reply(
        {"questions": made, "left_out": reasons, "decided": decided, "problems": faults},
        "\n".join([*_told(made, reasons, decided), *faults[:REASONS_SHOWN]]),
    )


def _told(
    made: list[dict[str, str | int]], reasons: list[dict[str, str | int]], decided: Counter[str]
) -> Iterator[str]:
    if not made:
        yield "There are no questions yet: refresh, then `rag-assets questions make`."
        return
    splits = sorted({str(row["split"] or "no split") for row in made})
    sorts: dict[tuple[str | int, ...], dict[str, str | int]] = {}
    for row in made:
        sort = {name: row[name] for name in ("origin", "kind", "language")}
        counts = sorts.setdefault(tuple(sort.values()), sort)
        counts[str(row["split"] or "no split")] = row["questions"]
    yield table([*sorts.values()], columns=["origin", "kind", "language", *splits])
    if any(row["origin"] == KNOWN_ITEMS for row in made):
        yield (
            "\nKnown items are sentences cut from documents, no questions for people: they tell "
            "whether anything is found at all. With `questions.model` set, a language model asks."
        )
    if reasons:
        yield "\nLeft out"
    for row in reasons[:REASONS_SHOWN]:
        example = shorten(str(row["question"]), LONGEST_EXAMPLE, placeholder=" ...")
        such_as = "" if example.startswith("(none") else f" (such as: {example})"
        yield f"  {row['questions']} of {row['origin']}: {row['left_out']}{such_as}"
    if decided:
        yield "\nDecided by people: " + ", ".join(f"{n} {what}" for what, n in decided.items())
