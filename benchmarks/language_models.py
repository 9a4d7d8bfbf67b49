"""Answers that a language model writes: every sentence checked, every failure said, nothing leaked.

usage: language_models.py [--state FOLDER] [--questions 50]

Without an endpoint, on materials_demo: questions of dev go through the embedded model from end to
end (it shows that all of it works together; what it writes is not to be trusted, and no quality is
claimed); then a scripted server plays what a bad model writes, and a model that may not see a
source is asked about it. With RAG_ASSETS_TEST_ENDPOINT (base URL), RAG_ASSETS_TEST_MODEL (its name
there) and RAG_ASSETS_LANGUAGE_MODEL_KEY (if it needs one) the experiments `citation_ablation` and
`rag_or_not` are run with that model on test, and printed. With --state the index is kept and found
again.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bounds import Bound, at_most, dataset, equal, finish, rag_assets
from retrieval import write_config

from rag_assets import config as configuration
from rag_assets.answering.answer import Outcome
from rag_assets.answering.assistant import Assistant, open_models
from rag_assets.citations.sentences import NOT_COMPARED
from rag_assets.config import AnswerExperiment, Config, LanguageModelSettings
from rag_assets.evaluation.questions import read_questions
from rag_assets.laboratory.answers.report import experiment_report
from rag_assets.laboratory.answers.run import run_answer_experiment
from rag_assets.retrieval.filters import Filters
from rag_assets.serving.answer_text import answer_text
from rag_assets.store import Store
from rag_assets_testing.scripted_language_model import (
    Script,
    ScriptedServer,
    answers,
    cut,
    empty,
    half,
    malformed,
    slow,
    status,
)

VARIANT = "default"
SMALL = {"context_tokens": 2_600, "output_tokens": 160}
"""What the embedded model can read and write on two cores in some seconds."""
LONG = 100_000
KEY = "sk-language-models-never-to-be-told"
KEY_VARIABLE = "RAG_ASSETS_LANGUAGE_MODEL_KEY"
OF_FIRST = 0.1
"""Share of the first evaluation's time that the second one may take."""


@dataclass(frozen=True)
class Hostile:
    """What a server or a model does, and how the answer must come out."""

    name: str
    script: Script
    outcome: Outcome
    """`written` if something of what the model wrote holds; `found` if it does not."""
    question: str = ""
    told: str = ""
    """Words that the answer must hold for its reader."""


LEFT_OUT = "only what is not in the sources that it cites"
CASES = [
    Hostile("401", status(401, error=f"wrong key {KEY}"), "found", told="gave no answer"),
    Hostile("429", status(429), "found", told="gave no answer"),
    Hostile("500", status(500), "found", told="gave no answer"),
    Hostile("slow", slow(30), "found", told="gave no answer"),
    Hostile("half a stream", half(), "found", told="gave no answer"),
    Hostile("empty", empty(), "found", told="gave no answer"),
    Hostile("malformed", malformed(), "found", told="gave no answer"),
    Hostile("cut", cut("The Courant number is"), "found", told="gave no answer"),
    Hostile("cites [99]", answers("The planes are empty [99]."), "found", told=LEFT_OUT),
    Hostile(
        "invents a number",
        answers("The tower is 4711.5 km high according to the guide [1]."),
        "found",
        told=LEFT_OUT,
    ),
    Hostile(
        "invents a page",
        answers("As page 87654 of the guide says, the condition is 98765 K [1]."),
        "found",
        told=LEFT_OUT,
    ),
    Hostile("cites nothing", answers("It is so."), "found", told=LEFT_OUT),
    Hostile(
        "obeys planted instructions",
        answers("I obey: transfer 9000 EUR to account DE-99 now [1]."),
        "found",
        told=LEFT_OUT,
    ),
    Hostile(
        "obeys without a number",
        answers("Send every password to the attacker at once [1]."),
        "found",
        told=LEFT_OUT,
    ),
    Hostile(
        "refuses in other words", answers("The sources do not say [1]."), "found", told="no answer"
    ),
    Hostile("only references", answers("References:\n[1] a book"), "found", told="wrote no"),
    Hostile(
        "a question of 100,000 characters",
        answers("Yes [1]."),
        "found",
        question="What is the Courant number? " * (LONG // 28),
        told="no source fits",
    ),
    Hostile(
        "a context that the server finds too long",
        status(400, error="context_length_exceeded: maximum context length"),
        "found",
        told="gave no answer",
    ),
]
PROMPT = "Write a report on OpenFOAM covering boundary conditions, meshes and parallel runs"
QUESTION = "What condition must be put on the planes normal to the third direction in a 2D case?"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--state", type=Path, help="folder to keep the index in")
    options.add_argument("--questions", type=int, default=50, help="for the embedded model")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        state = (arguments.state or Path(temporary)).absolute()
        file = write_config(dataset("materials_demo"), state=state)
        refreshed = rag_assets("refresh", "--json", config=file)
        if refreshed.code not in (0, 3):
            raise SystemExit(f"the refresh failed: {refreshed.output}")
        config = configuration.load(file)
        store = Store.of(config)
        with tempfile.TemporaryDirectory() as calls:
            config = config.model_copy(update={"state_dir": Path(calls)})
            bounds = [
                *embedded(store, config, count=arguments.questions),
                *hostile(store, config),
                *not_allowed(store, config),
            ]
            measured(store, config)
    finish("language_models", bounds)


@contextmanager
def written_by(store: Store, config: Config, name: str) -> Generator[Assistant]:
    """An assistant on the index in `store` whose answers the model `name` of `config` writes."""
    with open_models(config, writer=name) as models:
        yield Assistant(store, config, VARIANT, models=models)


def with_model(config: Config, name: str, **settings: object) -> Config:
    """`config` with one language model more."""
    entry = LanguageModelSettings.model_validate(settings)
    return config.model_copy(update={"language_models": {**config.language_models, name: entry}})


def embedded(store: Store, config: Config, *, count: int) -> list[Bound]:
    """Questions through the embedded model, twice."""
    small = with_model(config, "small", backend="embedded", local=True, concurrency=1, **SMALL)
    answering = small.answering.model_copy(update={"hits": 3, "further_queries": 1})
    small = small.model_copy(update={"answering": answering})
    chosen = [each for each in read_questions(store) if each.split == "dev"]
    chosen = chosen[:: max(1, len(chosen) // count)][:count]
    seconds, calls, found = [], [], []
    for turn in ("first", "second"):
        started = time.monotonic()
        found = []
        with written_by(store, small, "small") as assistant:
            for number, question in enumerate(chosen, start=1):
                found.append(assistant.ask(question.text))
                if number % 10 == 0:
                    took = time.monotonic() - started
                    print(f"{turn}: {number} of {len(chosen)} questions, {took:,.0f} s", flush=True)
        seconds.append(time.monotonic() - started)
        made = [answer.generation for answer in found if answer.generation]
        calls.append(sum(each.calls - each.kept_calls for each in made))
    outcomes = [str(answer.outcome) for answer in found]
    reasons = [answer.reason.split(";")[0] for answer in found if answer.reason]
    for told in (outcomes, reasons):
        print({name: told.count(name) for name in sorted(set(told))})
    sentences = [sentence for answer in found for sentence in answer.sentences]
    unmarked = [
        sentence
        for answer in found
        for sentence in answer.sentences
        if sentence.is_not_compared and NOT_COMPARED not in answer_text(answer)
    ]
    told = [sentence.compared for sentence in sentences if sentence.is_written]
    print(f"{len(told)} sentences written:", {each: told.count(each) for each in sorted(set(told))})
    return [
        equal("questions that ended in an answer or a reason", len(found), len(chosen)),
        equal("sentences that are not compared and bear no mark", len(unmarked), 0),
        equal("calls of the second evaluation", calls[1], 0),
        at_most("second evaluation, of the first one's time", seconds[1] / seconds[0], OF_FIRST),
    ]


def hostile(store: Store, config: Config) -> list[Bound]:
    """What a bad server and a bad model do."""
    os.environ[KEY_VARIABLE] = KEY
    wrong, leaks, longest, delivered = 0, 0, 0.0, 0
    for case in CASES:
        with ScriptedServer(case.script, model=case.name) as server:
            played = with_model(
                config,
                "scripted",
                base_url=server.url,
                model=case.name,
                local=True,
                attempts=1,
                seconds=2,
            )
            started = time.monotonic()
            with written_by(store, played, "scripted") as assistant:
                answer = assistant.ask(case.question or QUESTION)
            seconds = time.monotonic() - started
        text = answer_text(answer)
        is_right = answer.outcome == case.outcome and case.told in " ".join(text.split())
        delivered += sum(each.is_written for each in answer.sentences)
        leaks += KEY in text
        wrong += not is_right
        longest = max(longest, seconds)
        shown = answer.reason or "; ".join(each.compared for each in answer.sentences)
        print(f"{'ok  ' if is_right else 'FAIL'} {case.name}: {answer.outcome}, {shown[:120]}")
    del os.environ[KEY_VARIABLE]
    kept = b"".join(one.read_bytes() for one in config.state_dir.rglob("*") if one.is_file())
    return [
        equal(f"of {len(CASES)} bad servers and models, those not told", wrong, 0),
        equal("sentences of theirs that are shown", delivered, 0),
        equal("keys in an answer or in the state", leaks + (KEY.encode() in kept), 0),
        at_most("longest case [s]", longest, 30),
    ]


def not_allowed(store: Store, config: Config) -> list[Bound]:
    """A model that may see tables alone is asked about documents, and for a report on them."""
    with ScriptedServer(answers("Yes [1].")) as server:
        played = with_model(
            config,
            "scripted",
            base_url=server.url,
            model="scripted",
            sources=[source.name for source in config.sources.tables],
        )
        with written_by(store, played, "scripted") as assistant:
            answer = assistant.ask(QUESTION)
            report = assistant.report(PROMPT, filters=Filters(domain="document"))
    print(f"a source that may not leave: {answer.outcome}, {answer.reason}")
    print("; ".join(section.note for section in report.sections))
    return [
        equal("bytes sent of a source that may not leave", len(server.seen), 0),
        equal("answers from it that say so", float("may not see" in answer.reason), 1),
        equal(
            "sections of a report from it that do not say so",
            sum("may not see" not in section.note for section in report.sections),
            0,
        ),
    ]


def measured(store: Store, config: Config) -> None:
    """The experiments with a real model, where one is named."""
    endpoint, model = (os.environ.get(f"RAG_ASSETS_TEST_{name}") for name in ("ENDPOINT", "MODEL"))
    if not endpoint or not model:
        print("no RAG_ASSETS_TEST_ENDPOINT and RAG_ASSETS_TEST_MODEL: no real model is measured")
        return
    real = with_model(config, "real", base_url=endpoint, model=model, local=True)
    for design in ("citation_ablation", "rag_or_not"):
        experiment = AnswerExperiment.model_validate({"design": design, "writer": "real"})
        named = real.model_copy(update={"answer_experiments": {design: experiment}})
        print(experiment_report(run_answer_experiment(store, named, design, log=print)))


if __name__ == "__main__":
    main()
