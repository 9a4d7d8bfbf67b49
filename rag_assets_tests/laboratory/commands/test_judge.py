"""`rag-assets judge`: labels that outlive every kill, and what judges are worth by them."""

import json
import os
import re
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rag_assets import config as configuration
from rag_assets.answering.checks import judging
from rag_assets.laboratory.judges.asking import open_judges
from rag_assets.models.language import kept_calls
from rag_assets.models.language.kept_calls import calls_file
from rag_assets.questions.items_to_label import ItemSources
from rag_assets.questions.judging.labels import read_labels
from rag_assets.serving import cli
from rag_assets.serving.replies import FAILED, OK, USAGE
from rag_assets.store import purges
from rag_assets_testing.faults import project
from rag_assets_testing.scripted_language_model import ScriptedServer, answers
from rag_assets_tests.questions.judged import WRITER, kept, said, source, written
from rag_assets_tests.questions.labellers import Labeller

ITEMS, FEWER = 200, 100
NUMBER = re.compile(r"Zq(\d{3})")
ASKED = re.compile(r"^[\d,]+ of [\d,]+: ")


def truth(text):
    """The key of the right label."""
    return "2" if int(NUMBER.search(text)[1]) % 2 else "1"


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A project with `ITEMS` kept answers, of a sentence each."""
    made = project.make(tmp_path / "project", documents=0, rows=1)
    kept(made.store, map(written, range(ITEMS)))
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.file))
    return made


@pytest.fixture
def run(capsys, monkeypatch):
    """Runs the command in this process; gives its exit code and what it printed."""

    def run(*arguments, labeller=None):
        with monkeypatch.context() as patched:
            if labeller:
                patched.setattr(sys, "stdin", labeller)
                patched.setattr(sys, "stderr", labeller.screen)
            code = cli.main(["judge", *arguments])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def labelled_by(made, name, *, killed_behind=None):
    """Labels in a process, which is killed as soon as it has so many answers; what it asked."""
    command = Path(sys.executable).with_name("rag-assets")
    process = subprocess.Popen(
        [command, "judge", "label", "sentence", "--user", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "RAG_ASSETS_CONFIG": str(made.file)},
    )
    assert process.stdin
    assert process.stderr
    asked = []
    for line in process.stderr:
        if ASKED.match(line):
            asked.append(ASKED.sub("", line).strip())
        elif line.rstrip().endswith("q = quit"):
            process.stdin.write(f"{truth(asked[-1])}\n")
            process.stdin.flush()
            if len(asked) == killed_behind:
                process.kill()
                break
    process.stdin.close()
    process.stderr.close()
    process.wait()
    return asked


def decides_wrongly(share):
    """A labeller who errs on this share of the sentences."""
    rng = np.random.default_rng(0)

    def decide(question, _items):
        right = truth(question)
        return {"1": "2", "2": "1"}[right] if rng.random() < share else right

    return decide


def test_two_hundred_items_are_labelled_by_two_people_one_of_whom_is_killed_twice(made, run):
    sessions = [
        labelled_by(made, "anna", killed_behind=60),
        labelled_by(made, "anna", killed_behind=70),
        labelled_by(made, "anna"),
    ]
    *_, last = sessions

    labels = read_labels(made.config.questions.labels_file).labels
    assert len(labels) == ITEMS
    assert {each.label for each in labels} == {"yes", "no"}
    # Nothing lost: whatever was followed by another question is kept; so nothing is asked twice.
    answered = [text for session in sessions for text in session[:-1]] + last[-1:]
    assert len({*answered}) == len(answered) in (ITEMS, ITEMS - 1, ITEMS - 2)
    lines = made.config.questions.labels_file.read_text().splitlines()
    assert len(lines) == ITEMS

    code, text = run("label", "sentence", "--user", "bo", labeller=Labeller(decides_wrongly(0.1)))

    assert code == OK
    assert "Labelled by bo: 200; left: 0." in text
    row = next(line for line in text.splitlines() if line.startswith("anna"))
    who, other, items, agreed, estimate, low, high = row.split()
    assert (who, other, items) == ("anna", "bo", "200")
    assert float(agreed) == pytest.approx(0.9, abs=0.05)
    assert float(low) < float(estimate) < float(high)
    assert "Zq0" not in made.config.questions.labels_file.read_text()


@pytest.fixture
def labelled(tmp_path, run, monkeypatch):
    """A project with `FEWER` sentences, which somebody has labelled."""
    made = project.make(tmp_path / "labelled", documents=0, rows=1)
    kept(made.store, map(written, range(FEWER)))
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.file))
    run("label", "sentence", "--user", "anna", labeller=Labeller(lambda text, _: truth(text)))
    return made


def with_judge(made, url):
    """Names a judge in the config."""
    made.file.write_text(
        f"{made.file.read_text()}\nlanguage_models:\n  strict: {{base_url: {url}, model: scripted, "
        "local: true, attempts: 1}\nevaluation:\n  judges: [{model: strict, rubrics: "
        "[sentence_support], most: 50}]\n"
    )


def replies(*, error):
    """A judge that errs on this share of what it is asked."""
    rng = np.random.default_rng(1)

    def script(body):
        right = truth(body["messages"][1]["content"]) == "1"
        says = right != (rng.random() < error)
        score = {"evidence": "", "score": "yes" if says else "no"}
        return answers(json.dumps({"support": score}))

    return script


def judged(run):
    code, text = run("agreement", "--json")
    assert code == OK, text
    [found] = json.loads(next(line for line in text.splitlines() if line[0] == "{")).values()
    return {each["who"]: each for each in found["judges"]}


def test_a_good_judge_may_gate_and_is_asked_once(labelled, run):
    with ScriptedServer(replies(error=0.05)) as server:
        with_judge(labelled, server.url)
        found = judged(run)
        calls = server.calls
        assert judged(run) == found
        assert server.calls == calls == FEWER

    assert found["strict"]["may gate"] == "yes"
    assert found["strict"]["low"] > 0.6
    assert found["strict"]["failed"] == 0
    # The checks find nothing wrong with any sentence, so that they tell nothing by themselves.
    assert found["the checks"]["may gate"] == "no"
    assert found["the checks"]["errors"]["misses"] == {"hits": FEWER // 2, "of": FEWER // 2}


def test_what_was_read_before_a_purge_is_judged_and_not_kept(labelled, run, monkeypatch):
    items = ItemSources.items

    def items_of_a_purged_state(sources, task):
        found = items(sources, task)
        purges.begin(labelled.store.root)
        return found

    monkeypatch.setattr(ItemSources, "items", items_of_a_purged_state)
    with ScriptedServer(replies(error=0.05)) as server:
        with_judge(labelled, server.url)
        assert judged(run)["strict"]["failed"] == 0
    assert server.calls == FEWER
    assert list(kept_calls.texts(calls_file(labelled.store.root))) == []


def test_a_judge_of_kappa_three_tenths_is_refused_with_its_reason(labelled, run):
    with ScriptedServer(replies(error=0.35)) as server:
        with_judge(labelled, server.url)
        found = judged(run)["strict"]
        _, text = run("agreement")

    assert found["kappa"] == pytest.approx(0.3, abs=0.15)
    assert found["may gate"] == "no"
    assert "strict decides nothing: its kappa with people is 0." in text
    assert "must be 0.6 at least" in text


def test_the_writer_of_the_sentences_may_not_judge_them(labelled, run):
    with ScriptedServer(replies(error=0)) as server:
        with_judge(labelled, server.url)
        with open_judges(labelled.config) as [strict]:
            itself = replace(WRITER, identity=strict.model.identity)
        kept(labelled.store, [replace(written(FEWER), generation=itself)])
        run("label", "sentence", "--user", "anna", labeller=Labeller(lambda text, _: truth(text)))
        found = judged(run)["strict"]

    assert found["agreed"] == 1
    assert (found["may gate"], found["refusal"]) == (
        "no",
        "strict judges what it wrote itself, and models prefer their own words: name another model",
    )


def test_a_judge_that_answers_nothing_usable_is_refused(labelled, run):
    with ScriptedServer(answers("I would rather not say.")) as server:
        with_judge(labelled, server.url)
        found = judged(run)["strict"]
        _, text = run("agreement")

    assert (found["failed"], found["agreed"], found["may gate"]) == (FEWER, 0, "no")
    assert "strict gave no score to 100 items: they count as wrong." in text


def test_a_judge_whose_server_is_down_is_not_called_wrong(labelled, run):
    with ScriptedServer(answers("")) as server:
        with_judge(labelled, server.url)
    found = judged(run)["strict"]

    assert (found["failed"], found["may gate"]) == (FEWER, "no")
    assert found["refusal"].startswith("it cannot judge now: ")


def test_a_judge_is_asked_about_the_sample_and_what_comes_next_by_chance(made, run):
    kept(made.store, (written(number, judged=False) for number in range(ITEMS, ITEMS + 30)))
    count = iter(range(FEWER))
    forty = Labeller(lambda text, _: truth(text) if next(count) < 40 else "q")
    run("label", "sentence", "--user", "anna", labeller=forty)
    given = read_labels(made.config.questions.labels_file).labels
    reached = max(each.item for each in given if each.drawn)
    early = {each.item for each in given if each.item > reached}
    with ScriptedServer(replies(error=0)) as server:
        with_judge(made, server.url)
        found = judged(run)["strict"]

    assert len(early) > 5, "they are disputed"
    assert found["mean"]["labels"] == 40 - len(early)
    assert server.calls == found["mean"]["judgments"] == 40 - len(early) + 50


@pytest.mark.parametrize("name", [" ", "an\udcffa"])
def test_a_name_that_no_file_holds_is_refused_before_anything_is_asked(made, run, name):
    code, text = run("label", "sentence", "--user", name)
    assert (code, "--user" in text) == (USAGE, True)
    assert not made.config.questions.labels_file.exists()


def test_the_judge_of_answers_is_measured_and_gets_a_threshold(labelled, run, monkeypatch):
    def scores(pairs):
        return np.array([0.7 - 0.3 * (truth(sentence) == "2") for _, sentence in pairs])

    judge = judging.ScoringJudge(scores, 0.3)
    monkeypatch.setattr(
        "rag_assets.laboratory.judges.agreement.open_judge", lambda _config: nullcontext(judge)
    )
    found = judged(run)["the judge of answers"]
    _, text = run("agreement")

    assert found["errors"]["false_alarms"] == {"hits": 0, "of": FEWER // 2}
    assert found["errors"]["misses"] == {"hits": FEWER // 2, "of": FEWER // 2}
    assert found["threshold"] == pytest.approx(0.55)
    assert "false alarms 0 of 50 (0% to 7%), misses 50 of 50 (93% to 100%)" in text
    assert "answering.judge.threshold: the labels suggest 0.550 (kappa 1.00" in text


def test_without_labels_or_items_the_next_step_is_named(tmp_path, run, monkeypatch):
    made = project.make(tmp_path / "empty", documents=0, rows=1)
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.file))

    assert "`rag-assets judge label sentence`" in run("agreement")[1]
    assert "answering.writer" in run("label", "sentence", "--user", "anna")[1]
    code, text = run("label", "answer_scores/correctness", "--user", "anna")
    assert (code, "evaluation.judges" in text) == (OK, True)
    assert run("label", "hit", "--user", "anna")[0] == FAILED  # there is no index


@pytest.mark.parametrize("arguments", [("label",), ("label", "taste"), ("agreement", "hit")])
def test_a_wrong_call_names_what_is_right(made, run, arguments):
    code, text = run(*arguments)
    assert code == USAGE
    assert "sentence" in text


def test_a_sentence_is_shown_with_its_source(made, run):
    labeller = Labeller(lambda _text, items: "1" if "bears salt" in items[0] else "2")
    run("label", "sentence", "--user", "anna", labeller=labeller)

    screen = labeller.screen.getvalue()
    assert said(7) in screen
    assert source(7) in screen
    assert "1 = yes; 2 = no; s = skip; v 2 = all of 2; q = quit" in screen
    assert "reword" not in screen
