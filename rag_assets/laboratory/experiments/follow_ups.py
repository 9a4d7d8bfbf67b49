"""Follow-ups as an experiment: the same questions, searched in several readings (P0, 4.4.4).

A line of the file is a question as in `evaluation.questions`, with `full` instead of `question`,
and with the conversation before it:

    {"id", "history": [{"question", "answer"}, ...], "follow_up", "full", "gold": [...]}

The question of an arm is the full one; what is searched is the arm's own reading of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from rag_assets.answering.condensation.by_model import condense
from rag_assets.answering.condensation.by_rules import condensed
from rag_assets.answering.condensation.conversation import Condensed, Turn
from rag_assets.config import Config, Experiment, QuestionSet
from rag_assets.evaluation import questions as question_sets
from rag_assets.evaluation.questions import Question
from rag_assets.laboratory.experiments.computed import Given
from rag_assets.laboratory.experiments.design import ExperimentError
from rag_assets.media.json_lines import QuestionsError
from rag_assets.models.hosted import asked_side_by_side
from rag_assets.models.language.embedded import MissingExtraError
from rag_assets.models.language.opening import open_language_model
from rag_assets.store.complete_sets import set_of_recipe
from rag_assets.table_lookup.arm import LookupArm

if TYPE_CHECKING:
    from rag_assets.table_lookup.tables.catalogue import Catalogue

SET = "follow_ups"
"""Name of the set of these questions."""
MOST_NOTES = 5
"""Reasons for which the rules stood in that a report lists."""


class _Said(BaseModel):
    """A turn of a conversation."""

    question: str
    answer: str = ""


class _FollowUpLine(BaseModel):
    """What a line of the file has beside a question."""

    id: str
    history: list[_Said]
    follow_up: str


@dataclass(frozen=True, slots=True)
class _FollowUp:
    """A question and what was said before it."""

    follow_up: str
    turns: tuple[Turn, ...]


def full_questions(experiment: Experiment) -> list[Question]:
    """The questions of the file, in full.

    Raises:
        ExperimentError: The file cannot be read, or a line is not of the form.
    """
    files = experiment.files
    asked = QuestionSet(name=SET, path=files["follow_ups"], documents=files.get("documents"))
    try:
        read = question_sets.parse(asked, text="full")
    except QuestionsError as error:
        raise ExperimentError(str(error)) from error
    for failure in read.failures.values():
        raise ExperimentError(failure.reason)
    return question_sets.questions_of(question_sets.questions_table([*read.rows.values()]))


def condensation(given: Given) -> Mapping[str, object]:
    """What is searched in each reading of the follow-ups, by the ids of their questions.

    Raises:
        ExperimentError: The file cannot be read, or the embedded model is not installed.
    """
    config, experiment = given.config, given.experiment
    readings = experiment.value("readings", list)
    conversations = _conversations(experiment.value("follow_ups", Path))
    texts: dict[str, Mapping[str, str]] = {
        "full": {},
        "typed": {key: each.follow_up for key, each in conversations.items()},
    }
    notes: list[str] = []
    if {"rules", "model"} & {*readings}:
        complete_set = set_of_recipe(given.store, config, given.base)
        catalogue = LookupArm(given.store, config).catalogue(complete_set)
        by_rules = {
            key: condensed(each.follow_up, each.turns, catalogue=catalogue)
            for key, each in conversations.items()
        }
        texts["rules"] = _questions(by_rules)
        if "model" in readings:
            by_model = _by_model(experiment, config, conversations, catalogue)
            texts["model"] = _questions(by_model)
            notes = [*_notes(by_model)]
    retriever = experiment.named("retriever").get("retriever", config.retrieval.retriever)
    return {
        "texts_by_reading": [(reading, texts[reading]) for reading in readings],
        "search": config.retrieval.retrievers[retriever],
        "searched_by": retriever,
        "notes": notes,
    }


def _conversations(file: Path) -> dict[str, _FollowUp]:
    """The follow-ups of the file, by the ids of their questions."""
    found: dict[str, _FollowUp] = {}
    lines = file.read_text("utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            read = _FollowUpLine.model_validate_json(line)
        except ValidationError as error:
            [problem, *_] = error.errors(include_url=False, include_input=False)
            place = ".".join(map(str, problem["loc"]))
            raise ExperimentError(f"{file} line {number}: {place}: {problem['msg']}") from error
        turns = tuple(Turn(each.question, each.answer) for each in read.history)
        found[f"{SET}/{read.id}"] = _FollowUp(read.follow_up, turns)
    return found


def _by_model(
    experiment: Experiment,
    config: Config,
    conversations: Mapping[str, _FollowUp],
    catalogue: "Catalogue",
) -> dict[str, Condensed]:
    """The follow-ups as the language model completes them, several at once."""
    every = config.source_names
    try:
        name = experiment.named("language_model").get("language_model")
        with open_language_model(config, name) as model:
            answers = asked_side_by_side(
                lambda each: condense(
                    each.follow_up, each.turns, model, every_source=every, catalogue=catalogue
                ),
                [*conversations.values()],
                at_once=model.settings.concurrency,
            )
            completed = [*answers]
    except MissingExtraError as error:
        raise ExperimentError(str(error)) from error
    return dict(zip(conversations, completed, strict=True))


def _questions(condensed: Mapping[str, Condensed]) -> dict[str, str]:
    return {key: each.question for key, each in condensed.items()}


def _notes(by_model: Mapping[str, Condensed]) -> Iterator[str]:
    """How often the rules stood in for the model, and why."""
    notes = [each.note for each in by_model.values() if each.note]
    yield f"The rules stood in for the language model for {len(notes)} of {len(by_model)}."
    yield from islice(dict.fromkeys(notes), MOST_NOTES)
