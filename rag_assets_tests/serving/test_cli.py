import json
import re
import sqlite3
import subprocess
import sys
import urllib.parse
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from jsonschema import Draft202012Validator

from rag_assets import config as configuration
from rag_assets.models import openvino
from rag_assets.reports.text_tables import table
from rag_assets.serving import cli
from rag_assets.serving.replies import FAILED, OK, USAGE
from rag_assets.store import Store
from rag_assets_tests.retrieval import corpus


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A working directory of one's own, without a config."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    return tmp_path


NAMES = " ".join(cli.COMMANDS.values()).split()
COMMANDS = [
    (name, *action)
    for name in NAMES
    for action in [(each,) for each in cli.actions_of(name)] or [()]
]
MOST_AT_THE_TOP = 26


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_with_an_example_and_speaks_json(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([*command, "--help"])

    text = capsys.readouterr().out
    assert stopped.value.code == 0
    is_first = cli.actions_of(command[0])[:1] == command[1:]
    assert f"  rag-assets {' '.join(command[:1] if is_first else command)}" in text
    assert f"usage: rag-assets {' '.join(command)} " in text
    assert "--json" in text


@pytest.mark.parametrize("name", [each for each in NAMES if cli.actions_of(each)])
def test_a_command_of_several_things_lists_them(name, capsys):
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])

    text = capsys.readouterr().out
    assert all(f"\n  {each} " in text for each in cli.actions_of(name))


@pytest.mark.parametrize("spelling", cli.MOVED)
def test_an_earlier_spelling_is_told_in_a_line_and_goes_on_working(spelling, capsys):
    given = spelling.replace("ID", "5f0c").split()
    now = cli.spelled_now([*given, "steel"])

    assert now[:2] == cli.MOVED[spelling].split()[:2]
    assert now[-1] == "steel"
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"spelled `rag-assets {cli.MOVED[spelling]}` now" in told
    assert cli.spelled_now(now) == now
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("given", "now"),
    [
        (["answers"], ["answers", "list"]),
        (["answers", "--stale"], ["answers", "list", "--stale"]),
        (["answers", "--yes", "--forget-user=anna"], ["answers", "forget", "--yes", "anna"]),
        (
            ["documents", "--variant", "a", "--diff", "b", "c"],
            ["documents", "diff", "--variant", "a", "b", "c"],
        ),
        (["answers", "--json", "5f0c"], ["answers", "show", "--json", "5f0c"]),
        (["tables", "--json", "parts"], ["tables", "show", "--json", "parts"]),
        (["variants", "--help"], ["variants", "--help"]),
        (["search", "plan"], ["search", "plan"]),
    ],
)
def test_what_is_given_is_read_as_it_is_spelled_now(given, now):
    assert cli.spelled_now(given) == now


def test_help_lists_all_commands_and_imports_nothing_heavy():
    code = (
        "import sys; from rag_assets.serving import cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'dagster', 'lancedb', 'torch', 'dlt', 'great_expectations', 'pandas', 'mcp'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    headings = [line for line in done.stdout.splitlines() if re.fullmatch(r"[A-Z].*:", line)]
    assert headings[0] == "The first day:"
    assert len(headings) == len(cli.COMMANDS)
    assert len(NAMES) <= MOST_AT_THE_TOP
    assert all(f"\n  {name} " in done.stdout for name in NAMES)
    assert all(len(line) < 100 for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["status"], "write one with `rag-assets init`"),
        (["init"], "--documents"),
    ],
)
def test_wrong_usage_is_one_sentence_with_the_remedy(home, capsys, arguments, said):
    assert cli.main(arguments) == USAGE

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("rag-assets: ")
    assert said in captured.err
    assert "Traceback" not in captured.err


def test_an_unknown_config_key_is_named(home, capsys):
    (home / "rag_assets.yaml").write_text("retrieval: {top: 3}\n")

    assert cli.main(["refresh"]) == USAGE
    assert "unknown key retrieval.top" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["refresh"], ["search", "steel"], ["status"]])
def test_an_unknown_variant_is_named_with_those_there_are(home, capsys, command):
    (home / "rag_assets.yaml").write_text("state_dir: state\n")

    assert cli.main([*command, "--variant", "nope"]) == USAGE
    assert "no variant is named 'nope'; the config has default" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["search", "steel"], ["show", "5f0c1e5e"]])
def test_a_command_before_the_first_refresh_says_what_to_do(home, capsys, command):
    (home / "rag_assets.yaml").write_text("state_dir: state\n")
    assert cli.main(command) == FAILED
    said = capsys.readouterr().err
    assert "no complete index of variant default" in said
    assert "run `rag-assets refresh`, or `rag-assets variants backfill default`" in said


@pytest.mark.parametrize(
    ("settings", "retriever", "remedy"),
    [
        ("", "baseline", "run `rag-assets refresh`"),
        ("", "bm25", "run `rag-assets refresh`"),
        ("models: {minilm: {path: ./nowhere}}", "baseline", "models.<name>.path"),
        ("models: {minilm: {engine: openvino}}", "baseline", "pip install 'rag-assets[openvino]'"),
    ],
    ids=["other model", "no text index", "no weights", "no engine"],
)
def test_what_cannot_be_searched_is_one_sentence_with_the_remedy(
    home, capsys, monkeypatch, settings, retriever, remedy
):
    monkeypatch.setattr(openvino, "is_installed", lambda: False)
    recipe = "variants: {default: {model: minilm}}"
    (home / "rag_assets.yaml").write_text(f"state_dir: state\n{recipe}\n{settings}\n")
    corpus.write(
        Store(home / "state"),
        configuration.load(),
        [corpus.chunk("steel")],
        corpus.random_vectors(1, dimension=384),
    )
    (home / "questions.jsonl").write_text(
        json.dumps({"id": "1", "question": "steel", "gold": ["doc:handbook.pdf"]})
    )

    for command in (["search", "steel"], ["evaluate", "--questions", "questions.jsonl"]):
        assert cli.main([*command, "--retriever", retriever]) == FAILED
        said = capsys.readouterr().err
        assert remedy in said
        assert "Traceback" not in said


def test_an_index_without_lexical_weights_is_named_with_the_remedy(home, capsys):
    retrieval = "{retrievers: {lexical: {signals: [sparse]}}}"
    (home / "rag_assets.yaml").write_text(f"state_dir: state\nretrieval: {retrieval}\n")
    vectors = corpus.random_vectors(1, dimension=384)
    store = Store(home / "state")
    corpus.write(store, configuration.load(), [corpus.chunk("steel")], vectors)

    assert cli.main(["search", "steel", "--retriever", "lexical"]) == FAILED
    assert "sparse: true, such as BAAI/bge-m3" in capsys.readouterr().err


def test_a_choice_needs_questions_an_index_and_all_retrievers(home, capsys):
    (home / "rag_assets.yaml").write_text("state_dir: state\n")
    question = {"id": "1", "question": "steel", "gold": ["doc:a.md"]}
    (home / "questions.jsonl").write_text(json.dumps(question))
    choose = ["evaluate", "--choose"]

    assert cli.main(choose) == FAILED
    assert "there are no questions" in capsys.readouterr().err
    assert cli.main([*choose, "--questions", "questions.jsonl"]) == FAILED
    assert "no complete index of variant default" in capsys.readouterr().err
    assert cli.main([*choose, "--retriever", "bm25"]) == USAGE
    assert "leave out --retriever" in capsys.readouterr().err


def test_a_question_file_that_cannot_be_read_is_named_with_its_option(home, capsys):
    (home / "rag_assets.yaml").write_text("state_dir: state\n")
    assert cli.main(["evaluate", "--questions", "nosuch.jsonl"]) == FAILED
    said = capsys.readouterr().err
    assert "question file nosuch.jsonl cannot be read (No such file" in said
    assert "correct --questions" in said


def test_clean_up_says_what_it_removed_and_left(home, capsys):
    (home / "rag_assets.yaml").write_text("state_dir: state\n")
    assert cli.main(["clean-up"]) == OK
    assert "no table yet" in capsys.readouterr().out

    rows = pa.table({"key": ["a"]})
    for _ in range(2):
        Store(home / "state").append("words", rows, schema=rows.schema)
    assert cli.main(["clean-up", "--keep-days", "0", "--json"]) == OK

    answer = json.loads(capsys.readouterr().out)
    (said,) = answer["tables"]
    assert (answer["runs_removed"], answer["arms_removed"]) == (0, 0)
    assert (said["table"], said["removed"], said["kept"]) == ("words", 0, 2)
    assert cli.main(["clean-up", "--keep-days", "-1"]) == FAILED
    assert "give 0 to 36500" in capsys.readouterr().err


def test_clean_up_names_a_damaged_table_and_the_remedy(home, capsys):
    (home / "rag_assets.yaml").write_text("state_dir: state\n")
    rows = pa.table({"key": ["a"]})
    Store(home / "state").append("words", rows, schema=rows.schema)
    (manifest,) = (home / "state/lance/words.lance/_versions").glob("*.manifest")
    manifest.write_bytes(b"damaged")

    assert cli.main(["clean-up"]) == FAILED

    said = capsys.readouterr().err
    assert said.startswith("rag-assets: tables that cannot be read: words (")
    assert "run `rag-assets refresh`" in said
    assert "Traceback" not in said


def test_init_writes_a_config_that_loads_and_points_at_the_sources(home, capsys, monkeypatch):
    url = "postgresql+psycopg://me:secret@host/db"
    assert cli.main(["init", "--documents", "reports", "--database", url, "--json"]) == OK

    file = home / "rag_assets.yaml"
    assert json.loads(capsys.readouterr().out) == {
        "config": str(file),
        "set": ["DATABASE_PASSWORD"],
    }
    assert "secret" not in file.read_text()
    monkeypatch.setenv("DATABASE_PASSWORD", "secret")
    config = configuration.load()
    assert config.sources.documents[0].url == str(home / "reports")
    assert config.sources.tables[0].url.get_secret_value() == url


@pytest.mark.parametrize(
    "url", ["postgresql://h/db?user=me&password=secret", "mysql://h/d?pwd=secret"]
)
def test_init_keeps_passwords_among_parameters_out(home, url, monkeypatch):
    assert cli.main(["init", "--database", url]) == OK
    assert "secret" not in (home / "rag_assets.yaml").read_text()
    monkeypatch.setenv("DATABASE_PASSWORD", "secret")
    [source] = configuration.load().sources.tables
    assert source.url.get_secret_value() == url


def test_init_takes_several_of_each_kind_and_keeps_all_passwords_out(home, capsys, monkeypatch):
    sqlite3.connect(home / "lab.db").execute("CREATE TABLE t (a)").connection.close()
    for folder in ("handbook", "offers", "old/Offers"):
        (home / folder).mkdir(parents=True)
    urls = [f"postgresql+psycopg://me:secret{number}@host/erp" for number in (1, 2)]
    documents = ["--documents", "handbook", "offers", "--documents", "old/Offers"]
    databases = ["--database", "lab.db", "csv files", *urls]

    assert cli.main(["init", *documents, *databases]) == OK

    said, text = capsys.readouterr().out, (home / "rag_assets.yaml").read_text()
    assert "There is no csv files yet." in said
    assert "set in the environment ERP_PASSWORD and ERP_2_PASSWORD." in said
    assert "secret" not in text
    monkeypatch.setenv("ERP_PASSWORD", "secret1")
    monkeypatch.setenv("ERP_2_PASSWORD", "secret2")
    sources = configuration.load().sources
    assert {source.name: source.url for source in sources.documents} == {
        "handbook": str(home / "handbook"),
        "offers": str(home / "offers"),
        "offers_2": str(home / "old/Offers"),
    }
    assert {source.name: source.url.get_secret_value() for source in sources.tables} == {
        "lab": f"sqlite:///{home / 'lab.db'}",
        "csv_files": str(home / "csv files"),
        "erp": urls[0],
        "erp_2": urls[1],
    }


def test_what_init_writes_is_known_to_editors_and_lies_where_the_docs_say(home):
    assert cli.main(["init", "--documents", "reports", "--database", "lab"]) == OK

    file = home / configuration.DEFAULT_FILE
    first = file.read_text().splitlines()[0]
    place = first.removeprefix("# yaml-language-server: $schema=")
    schema = json.loads(Path(urllib.parse.urlparse(place).path).read_text())
    said = yaml.safe_load(file.read_text())
    assert first != place
    assert list(Draft202012Validator(schema).iter_errors(said)) == []
    assert configuration.load().state_dir == home / configuration.Config().state_dir


def test_init_sets_the_tokenizer_that_text_without_blanks_needs(home, capsys):
    reports = home / "reports"
    reports.mkdir()
    (reports / "pump.md").write_text("这台泵每分钟输送四十升水。", "utf-8")

    assert cli.main(["init", "--documents", str(reports)]) == OK
    assert "tokenizer: icu" in capsys.readouterr().out
    assert configuration.load().index.text.tokenizer == "icu"


@pytest.mark.parametrize(
    "arguments", [["--documents", "a: b #c"], ["--database", "sqlite:///x.sqlite"]]
)
def test_init_takes_one_kind_of_source_alone(home, arguments):
    assert cli.main(["init", *arguments]) == OK

    sources = configuration.load().sources
    assert len(sources.documents) + len(sources.tables) == 1


def test_the_alerts_that_init_writes_as_a_comment_load(home, monkeypatch):
    assert cli.main(["init", "--documents", "reports"]) == OK
    file = home / configuration.DEFAULT_FILE
    before, mark, alerts = file.read_text().partition("# alerts:\n")
    lines = [line.removeprefix("# ").removeprefix("#") for line in (mark + alerts).splitlines()]
    file.write_text("\n".join([before, *lines]))
    monkeypatch.setenv("SLACK_WEBHOOK", "https://hooks.example.com/T0")
    monkeypatch.setenv("SMTP_PASSWORD", "geheim")

    alerts = configuration.load(file).alerts
    assert [channel.type for channel in alerts.channels] == ["slack", "email"]
    assert alerts.ui_url


def test_init_never_overwrites(home, capsys):
    (home / "rag_assets.yaml").write_text("state_dir: mine\n")

    assert cli.main(["init", "--documents", "reports"]) == FAILED
    assert "is there already" in capsys.readouterr().err
    assert (home / "rag_assets.yaml").read_text() == "state_dir: mine\n"


def test_a_path_of_init_holds_wherever_the_config_lies(home, monkeypatch):
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "elsewhere/rag.yaml"))

    assert cli.main(["init", "--documents", "reports", "--database", "sqlite:///lab.db"]) == OK
    sources = configuration.load().sources
    assert sources.documents[0].url == str(home / "reports")
    assert sources.tables[0].url.get_secret_value() == f"sqlite:///{home / 'lab.db'}"


def test_tables_align_words_left_and_numbers_right():
    rows = [{"asset": "chunks", "added": 1200}, {"asset": "rows", "added": None}]

    assert table(rows, columns=["asset", "added"]).splitlines() == [
        "asset   added",
        "------  -----",
        "chunks  1,200",
        "rows",
    ]


def test_status_names_variants_whose_parser_is_not_there(home, capsys):
    (home / configuration.DEFAULT_FILE).write_text(
        "parsers: {marker: {python: nowhere/bin/python}}\n"
        "variants: {default: {parser: pdfium}, second: {parser: marker}}\n"
    )
    assert cli.main(["status", "--json"]) == OK
    unavailable = json.loads(capsys.readouterr().out)["unavailable"]
    assert list(unavailable) == ["second"]
    assert str(home / "nowhere/bin/python") in unavailable["second"]
    assert cli.main(["status"]) == OK
    assert "Unavailable: the parser marker cannot be used" in capsys.readouterr().out


@pytest.mark.parametrize("days", ["nan", "inf", "-1", "1e9"])
def test_days_that_are_none_are_refused(days, home, capsys):
    (home / "rag_assets.yaml").write_text("state_dir: state\n")

    assert cli.main(["clean-up", "--keep-days", days]) == 1
    assert "give 0 to 36500" in capsys.readouterr().err


def rag_assets(*arguments: str | bytes, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "rag_assets.serving.cli", *arguments]
    return subprocess.run(command, input=given, capture_output=True, check=False)


@pytest.mark.parametrize(("query", "given"), [("-", b"\xff\n"), (b"\xff", b"")])
def test_a_query_that_is_no_text_is_refused(query, given, home):
    (home / "rag_assets.yaml").write_text("state_dir: state\n")

    done = rag_assets("search", query, given=given)

    assert done.returncode == 1
    assert b"rag-assets: the query is not valid UTF-8" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_reader_that_has_seen_enough_is_no_error(home):
    (home / "rag_assets.yaml").write_text("state_dir: state\n")
    command = [sys.executable, "-m", "rag_assets.serving.cli", "status"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        said = process.stderr.read()

    assert (process.returncode, said) == (0, b"")
