"""Does the doctor of evaluations name each flaw, and stay silent where there is none?

usage: evaluation_doctor.py [--state FOLDER] [--clean 20]

On the indexes of the shared datasets, experiments are run as `rag-assets experiment` runs them: 20
on random parts of the questions with different retrievers, without a flaw that is known of; and one
for each of the twelve rules, into which its flaw was put on purpose (an index that lacks files, a
question file among the sources, questions whose gold was renamed, a fusion that gives every unit
the same score ...). Each flaw has to be named by its code, and no clean experiment may have one.
With --state the indexes are kept and found again.
"""

import argparse
import json
import random
import shutil
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeAlias
from unittest.mock import patch

import yaml
from bounds import at_least, at_most, dataset, equal, finish, rag_assets
from retrieval import write_config

from rag_assets import config as configuration
from rag_assets.evaluation.flaws import Flaw, rules
from rag_assets.evaluation.questions import refresh_questions
from rag_assets.laboratory.experiments import run as experiments
from rag_assets.laboratory.experiments.runs import recorded
from rag_assets.store import Store

Line: TypeAlias = dict
"""A question as it stands in its file."""
Arms: TypeAlias = Mapping[str, str | Mapping[str, object]]
"""The retriever of each arm: a name, or settings."""

ARMS: Arms = {
    "dense": "baseline",
    "bm25": "bm25",
    "hybrid": "hybrid",
    "relative": {
        "signals": ["dense", "bm25"],
        "signal_fusion": {"mode": "relative_score"},
    },
    "deep": {"signals": ["dense", "bm25"], "depth": 200},
}
SAME_SCORES: Arms = {
    "flat": {
        "signals": ["dense", "bm25"],
        "signal_fusion": {"mode": "max_norm", "weights": {"dense": 0.0, "bm25": 0.0}},
    }
}
LEXICAL: Arms = {
    "mostly_bm25": {
        "signals": ["dense", "bm25"],
        "signal_fusion": {"mode": "relative_score", "weights": {"dense": 0.1}},
    }
}
MARGIN = 0.2
"""A difference that these questions can show."""
OTHER = "pdfium"
"""The variant that lags behind the sources; of Markdown it has the same texts and vectors."""
UNREADABLE = "钢材的屈服强度是多少，第{}号"  # noqa: RUF001 - no index of English holds a word of it
LOST_FILES = 60


@dataclass(frozen=True, kw_only=True)
class Case:
    """An experiment: its questions by set, and its arms."""

    name: str
    sets: Mapping[str, Sequence[Line]]
    arms: Arms
    margin: float = MARGIN
    generated: frozenset[str] = frozenset()
    variants: Mapping[str, str] = field(default_factory=dict)
    """The variant of an arm, where it is not the first one."""


class Project:
    """The index of a shared dataset, and experiments on it."""

    def __init__(self, name: str, *, state: Path) -> None:
        self.data, self.state = dataset(name), state
        self.documents = state / "docs"
        if not self.documents.exists():
            shutil.copytree(self.data / "docs", self.documents)
        self.path = write_config(self.data, state=state)
        self.settings = yaml.safe_load(self.path.read_text())
        self.settings["sources"]["documents"] = str(self.documents)
        self.settings["evaluation"] = {}  # each case brings its own questions
        self.settings["variants"] = {"default": {}, OTHER: {"parser": "pdfium"}}
        self.path.write_text(yaml.safe_dump(self.settings))

    def refresh(self, *, variant: str = "default") -> None:
        done = rag_assets("refresh", "--variant", variant, "--json", config=self.path)
        if done.code not in (0, 3):
            raise SystemExit(f"the refresh failed: {done.output}")

    @cached_property
    def questions(self) -> list[Line]:
        lines = (self.data / "questions.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def flaws_of(self, case: Case) -> Sequence[Flaw]:
        """Run the experiment of `case` and return what the doctor says of it."""
        store, config = self._ready(case)
        with patch.object(experiments, "SMALLEST_MARGIN", case.margin):  # so few cannot show .02
            run = experiments.run_experiment(store, config, case.name, log=lambda _: None)
        return run.record.flaws

    def _ready(self, case: Case) -> tuple[Store, configuration.Config]:
        folder = self.state / "questions"
        folder.mkdir(exist_ok=True)
        sets = []
        for name, lines in case.sets.items():
            path = folder / f"{case.name}-{name}.jsonl"
            path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
            sets.append(
                {
                    "name": name,
                    "path": str(path),
                    "documents": str(self.data / "documents.jsonl"),
                    "generated": name in case.generated,
                }
            )
        arms = [
            {"name": name, "retriever": retriever}
            | ({"variant": case.variants[name]} if name in case.variants else {})
            for name, retriever in case.arms.items()
        ]
        settings = {
            **self.settings,
            "evaluation": {"questions": sets},
            "experiments": {case.name: {"design": "arms", "arms": arms}},
        }
        path = self.state / "case.yaml"
        path.write_text(yaml.safe_dump(settings, allow_unicode=True))
        config = configuration.load(path)
        store = Store.of(config)
        refresh_questions(store, config, log=lambda _: None)
        return store, config

    @cached_property
    def scores(self) -> Mapping[str, Mapping[str, Mapping[str, float | str]]]:
        """What each arm of `ARMS` scored, by question: hits, reciprocal ranks and the source."""
        case = Case(name="all", sets={"all": self.questions}, arms=ARMS)
        store, config = self._ready(case)
        run = experiments.run_experiment(store, config, case.name, log=lambda _: None)
        _, scores = recorded(store, case.name, run_id=run.record.id)
        found: defaultdict[str, dict[str, Mapping[str, float | str]]] = defaultdict(dict)
        for row in scores.to_pylist():
            if row["level"] == "gold":
                found[row["question_id"].partition("/")[2]][row["retriever"]] = {
                    "hit": row["hit_rate@10"],
                    "mrr": row["mrr@10"],
                    "source": row["source_cluster"],
                }
        return found


def only(arms: Arms, *names: str) -> Arms:
    return {name: arms[name] for name in names}


def on_test(lines: Sequence[Line]) -> list[Line]:
    return [line | {"split": "test"} for line in lines]


def clean(project: Project, *, count: int, seed: int) -> Iterator[Case]:
    """Random parts of the questions, with random retrievers; chosen on dev, reported on test."""
    drawn = random.Random(seed)
    for number in range(count):
        share = drawn.uniform(0.7, 1.0)
        part = drawn.sample(project.questions, round(share * len(project.questions)))
        names = drawn.sample(list(ARMS), drawn.randint(2, 4))
        yield Case(
            name=f"clean_{number}", sets={"part": part}, arms={name: ARMS[name] for name in names}
        )


def empty_arm(project: Project) -> Case:
    lines = [
        line | {"question": UNREADABLE.format(place)} if place % 10 == 0 else line
        for place, line in enumerate(project.questions)
    ]
    return Case(name="e001", sets={"part": lines}, arms=only(ARMS, "dense", "bm25"))


def lagging_variant(project: Project) -> Case:
    return Case(
        name="e002",
        sets={"part": project.questions},
        arms={"default": "bm25", "other": "bm25"},
        variants={"other": OTHER},
    )


def copied_questions(project: Project) -> Case:
    return Case(name="e003", sets={"part": project.questions}, arms=only(ARMS, "dense", "bm25"))


def lost_gold(project: Project) -> Case:
    lines = [
        line | {"gold": ["doc:renamed_since"]} if place % 10 == 0 else line
        for place, line in enumerate(project.questions)
    ]
    return Case(name="e004", sets={"part": lines}, arms=only(ARMS, "dense", "bm25"))


def easy_questions(project: Project) -> Case:
    easy = [
        line
        for line in project.questions
        if all(project.scores[line["id"]][arm]["hit"] == 1 for arm in ("hybrid", "bm25"))
    ]
    return Case(name="e005", sets={"part": easy}, arms=only(ARMS, "hybrid", "bm25"))


def one_source(project: Project) -> Case:
    """Two arms that hit the same questions, but for those on one document or table."""
    score = project.scores
    wins = Counter(
        (winner, loser, str(arms[winner]["source"]))
        for arms in score.values()
        for winner, loser in (("dense", "bm25"), ("bm25", "dense"))
        if float(arms[winner]["hit"]) > float(arms[loser]["hit"])
    )
    [((winner, loser, source), count)] = wins.most_common(1)
    won = [
        line
        for line in project.questions
        if score[line["id"]][winner]["source"] == source
        and float(score[line["id"]][winner]["hit"]) > float(score[line["id"]][loser]["hit"])
    ]
    alike = [
        line
        for line in project.questions
        if score[line["id"]][winner]["source"] != source
        and score[line["id"]][winner] == score[line["id"]][loser]
    ]
    usual = Counter(str(score[line["id"]][winner]["source"]) for line in alike)
    few = {name for name, _ in usual.most_common(15)}
    kept = [line for line in alike if score[line["id"]][winner]["source"] in few]
    lines = on_test([*won, *kept[: 5 * count]])
    return Case(name="e006", sets={"part": lines}, arms=only(ARMS, loser, winner))


def same_scores(project: Project) -> Case:
    return Case(
        name="e007",
        sets={"part": project.questions},
        arms={**only(ARMS, "dense"), **SAME_SCORES},
    )


def opposite_sets(project: Project) -> Case:
    def better(one: str, other: str) -> list[Line]:
        gains = {
            line["id"]: float(project.scores[line["id"]][one]["mrr"])
            - float(project.scores[line["id"]][other]["mrr"])
            for line in project.questions
        }
        return [line for line in project.questions if gains[line["id"]] > 0]

    sets = {"first": better("hybrid", "bm25"), "second": better("bm25", "hybrid")}
    return Case(
        name="e008",
        sets={name: on_test(lines) for name, lines in sets.items()},
        arms={**only(ARMS, "hybrid", "bm25"), **LEXICAL},
    )


def generated_set(project: Project) -> Case:
    """Questions made of the words of their gold, beside those of people."""
    drawn = random.Random(1)
    quoted = [line for line in project.questions if (line.get("evidence") or [{}])[0].get("text")]
    lines = []
    for line in quoted:
        words = line["evidence"][0]["text"].split()
        drawn.shuffle(words)
        lines.append(line | {"question": f"{' '.join(words[:12])}?"})
    return Case(
        name="e009",
        sets={"asked": project.questions, "machine": lines},
        generated=frozenset({"machine"}),
        arms=only(ARMS, "dense", "bm25"),
    )


def no_dev(project: Project) -> Case:
    return Case(name="e010", sets={"part": on_test(project.questions)}, arms=ARMS)


def few_questions(project: Project) -> Case:
    lines = random.Random(2).sample(project.questions, 60)
    return Case(
        name="e011", sets={"part": lines}, arms=only(ARMS, "hybrid", "relative"), margin=0.01
    )


def repeated(project: Project) -> Case:
    again = [
        line | {"id": f"{line['id']}-again", "question": line["question"].upper() + " !"}
        for line in project.questions[::5]
    ]
    return Case(
        name="e012",
        sets={"part": [*project.questions, *again]},
        arms=only(ARMS, "dense", "bm25"),
    )


ARTEFACTS: Mapping[str, tuple[str, Callable[[Project], Case]]] = {
    "E001": ("materials_demo", empty_arm),
    "E004": ("materials_demo", lost_gold),
    "E005": ("materials_demo", easy_questions),
    "E006": ("materials_demo", one_source),
    "E007": ("materials_demo", same_scores),
    "E008": ("materials_demo", opposite_sets),
    "E009": ("materials_demo", generated_set),
    "E010": ("materials_demo", no_dev),
    "E011": ("materials_demo", few_questions),
    "E012": ("materials_demo", repeated),
    "E002": ("ottqa", lagging_variant),
    "E003": ("ottqa", copied_questions),
}
"""Which dataset each flaw is put into, and how; the last two need other sources."""


def change_sources(project: Project) -> None:
    """The questions come among the documents, some of which go; one variant does not follow."""
    project.refresh(variant=OTHER)
    lines = [line["question"] for line in project.questions]
    (project.documents / "questions.md").write_text("\n\n".join(["# Questions", *lines]), "utf-8")
    for path in sorted(project.documents.glob("*.md"))[:LOST_FILES]:
        path.unlink()
    project.refresh()


def put_back(project: Project) -> None:
    """Let the documents be those of the dataset again."""
    (project.documents / "questions.md").unlink(missing_ok=True)
    for path in sorted((project.data / "docs").rglob("*")):
        copy = project.documents / path.relative_to(project.data / "docs")
        if path.is_file() and not copy.exists():
            shutil.copy2(path, copy)


def told(name: str, flaws: Sequence[Flaw]) -> None:
    print(f"{name:9} {'; '.join(flaw.sentence for flaw in flaws) or 'none'}", flush=True)


def measure(root: Path, *, clean_runs: int) -> tuple[int, list[str], float]:
    """Clean experiments with a flaw, flaws that were not named, seconds of all experiments."""
    projects = {name: Project(name, state=root / name) for name in ("materials_demo", "ottqa")}
    for project in projects.values():
        put_back(project)
        project.refresh()
    started = time.monotonic()
    false = 0
    for seed, project in enumerate(projects.values()):
        for case in clean(project, count=clean_runs // len(projects), seed=seed):
            flaws = project.flaws_of(case)
            told(case.name, flaws)
            false += bool(flaws)
    unnamed = []
    for code, (name, artefact) in ARTEFACTS.items():
        if code == "E002":
            change_sources(projects[name])
        flaws = projects[name].flaws_of(artefact(projects[name]))
        told(code, flaws)
        if code not in {flaw.code for flaw in flaws}:
            unnamed.append(code)
    return false, unnamed, time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, help="folder to keep indexes and results in")
    parser.add_argument("--clean", type=int, default=20, help="clean experiments, an even number")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        false, unnamed, seconds = measure(root, clean_runs=arguments.clean)
    print(f"{arguments.clean} clean experiments and {len(ARTEFACTS)} flaws in {seconds:,.0f} s")
    finish(
        "evaluation_doctor",
        [
            equal("rules with an artefact", len(ARTEFACTS), len(rules())),
            at_least("artefacts that were named", len(ARTEFACTS) - len(unnamed), len(rules())),
            at_most("clean experiments with a flaw", false, 0),
        ],
    )


if __name__ == "__main__":
    main()
