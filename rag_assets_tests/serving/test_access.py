"""What somebody may not see is nowhere: in no text, no count and no suggestion of any call."""

import json
import os
import random
import re
import shutil
import sqlite3
from collections import Counter
from dataclasses import replace
from functools import partial
from uuid import UUID

import pytest
import yaml
from starlette.testclient import TestClient

from rag_assets import config as configuration
from rag_assets.answering.assistant import AnswerModels
from rag_assets.answering.record.answer_rows import Prepared
from rag_assets.answering.record.kept import new_id
from rag_assets.answering.record.listing import one
from rag_assets.answering.record.notices import write
from rag_assets.answering.record.staleness import TouchedSentence
from rag_assets.identity import UnknownIdError
from rag_assets.questions.items_to_label import ItemSources
from rag_assets.retrieval.access import Access
from rag_assets.serving import callers, cli
from rag_assets.serving.http.app import app_of
from rag_assets.serving.keys import KeysFile
from rag_assets.serving.mcp.tools import AgentTools
from rag_assets.serving.replies import UsageError
from rag_assets.store import Store, serving_pointer
from rag_assets.table_lookup import verifying
from rag_assets.table_lookup.plans.sandbox import SandboxError
from rag_assets_testing import effort
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh

GROUPS = ["hr", "ops", "lab", "board"]
FOLDERS = ["", "hr/", "ops/", "lab/deep/"]
GLOBS = {
    "hr/**": lambda uri: uri.startswith("hr/"),
    "lab/**": lambda uri: uri.startswith("lab/"),
    "/*": lambda uri: "/" not in uri,
    "*5.md": lambda uri: uri.endswith("5.md"),
    "**": lambda _uri: True,
}
TABLES = {"staff": "staff".__eq__, "p*": lambda name: name[0] == "p", "*": lambda _name: True}
TEAMS = ["hr", "ops", "lab, hr", "board", "nobody knows", None]
NOWHERE = str(UUID(int=0))
CONFIG = """\
state_dir: state
sources:
  documents: {name: papers, url: papers}
  tables: {name: registry, url: "sqlite:///registry.sqlite"}
variants:
  default: {parser: pdfium, chunking: fixed_256, model: minilm}
retrieval:
  retriever: hybrid
  retrievers: {linked: {signals: [bm25], links: {}, arms: [lookup]}}
"""
RETRIEVERS = ["hybrid", "bm25", "baseline", "linked", "late_fusion"]
CONFIGS, CALLERS = (10, 20) if effort.is_night() else (4, 12)
"""By day 48 callers; at night 200 for each of ten seeds."""


def secret(kind, number):
    """A word that stands in one unit alone, with the number that stands beside it.

    No number is a round one between two others, nor the mean of two: these may be told.
    """
    least = {"d": 41_007, "s": 71_007, "p": 81_007}[kind]
    return f"zq{kind}{number:02}", str(least + 10 * number**3)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Units with a secret each, in folders and tables, that name and link to each other."""
    folder = tmp_path_factory.mktemp("access")
    (folder / "rag_assets.yaml").write_text(CONFIG)
    for number in range(12):
        word, force = secret("d", number)
        file = folder / "papers" / f"{FOLDERS[number % 4]}{word}-{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f"# Report NHS 31{number:02}\n\nThe needle {word} bears {force} newton. It is made as "
            f"NHS 31{(number + 5) % 12:02} says.\n"
        )
    with sqlite3.connect(folder / "registry.sqlite") as database:
        for table, kind in (("staff", "s"), ("parts", "p")):
            database.execute(
                f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT, "
                "team TEXT, kind TEXT, pay INTEGER)"
            )
            rows = [
                (n, secret(kind, n)[0], TEAMS[n % 6], "needle", int(secret(kind, n)[1]))
                for n in range(10)
            ]
            database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)", rows)
    database.close()
    a_while_ago = (1_700_000_000,) * 2
    for path in filter(os.path.isfile, folder.rglob("*")):
        os.utime(path, a_while_ago)
    with hashing():
        refresh(configuration.load(folder / "rag_assets.yaml"))
        yield folder


def changed(file, answer_id):
    """A notice that an answer is what it was, to see whom it is shown to."""
    kept = one(file, answer_id)
    at = kept.kept_at
    again = replace(
        kept, answer_id=new_id(at), context=replace(kept.context, recalls=kept.answer_id)
    )
    touched = [TouchedSentence(1, each.text, "it changed") for each in kept.answer.sentences[:1]]
    with file.writing() as connection:
        write(connection, kept, Prepared(again), notice=(answer_id, 1, touched))


class World:
    """The project under rules that are drawn, and what they let somebody see."""

    def __init__(self, home, draw):
        self.draw = draw
        settings = yaml.safe_load((home / "rag_assets.yaml").read_text())
        some = [name for name in GROUPS if draw.random() < 0.8]
        settings["groups"] = some

        def groups():
            return draw.sample(some, draw.randint(0, min(2, len(some))))

        self.globs = {glob: groups() for glob in draw.sample([*GLOBS], draw.randint(1, 4))}
        self.tables = {
            name: groups() if draw.random() < 0.4 else {"column": "team"}
            for name in draw.sample([*TABLES], draw.randint(1, 3))
        }
        is_open = draw.choice(["papers", "registry", *[""] * 6])
        self.is_open = {name: name == is_open for name in ("papers", "registry")}
        for kind, name, rules in (
            ("documents", "papers", self.globs),
            ("tables", "registry", self.tables),
        ):
            if not self.is_open[name]:
                settings["sources"][kind]["groups"] = rules
        self.known = {*some}
        file = home / "drawn.yaml"
        file.write_text(yaml.safe_dump(settings, sort_keys=False))
        self.config = configuration.load(file)
        joint = Store.of(self.config).read(
            self.config.tables_of("default").joint,
            columns=["unit_id", "domain", "source", "uri", "table", "row_key", "text"],
        )
        self.units = joint.to_pylist()

    def sees(self, unit, groups):
        """Said anew, without the code of the project."""
        if self.is_open[unit["source"]]:
            return True
        is_row = unit["domain"] == "table"
        rules, fits = (self.tables, TABLES) if is_row else (self.globs, GLOBS)
        name = unit["table"] if is_row else unit["uri"]
        said = next((named for each, named in rules.items() if fits[each](name)), [])
        if isinstance(said, dict):
            said = (TEAMS[int(unit["row_key"]) % 6] or "").split(", ")
        return bool({*said} & groups & self.known)


def secrets_of(unit):
    kind = {"staff": "s", "parts": "p", None: "d"}[unit["table"]]
    number = int(unit["row_key"] or unit["uri"].split("-")[-1][:-3])
    return {unit["unit_id"], *secret(kind, number)}


class Caller:
    """Somebody in some groups, who calls, and looks in all replies for what is hidden."""

    def __init__(self, world, client, groups):
        self.world, self.client, self.draw = world, client, world.draw
        self.access = Access(frozenset(groups))
        keys = KeysFile(world.config.state_dir)
        key, given = keys.create("anna", callers.SCOPES[:3], groups, None)
        callers.CALLER.set(key.caller)
        self.headers = {"Authorization": f"Bearer {given}"}
        self.seen = [unit for unit in world.units if world.sees(unit, groups)]
        self.hidden = [unit for unit in world.units if unit not in self.seen]
        self.secrets = set().union(*map(secrets_of, self.hidden))
        self.tools = AgentTools(client.app.state.service)

    def told(self, text):
        plain = re.sub(r"(\d),(\d\d\d)", r"\1\2", text)
        leaked = {*re.findall(r"(?<![\w.])[\w-]+", plain)} & (self.secrets)
        leaked |= {each for each in self.secrets if each[:2] == "zq" and each in text}
        assert not leaked, (self.world.globs, self.world.tables, self.access, leaked, text)
        return text

    def http(self, method, path, **sent):
        reply = self.client.request(method, path, headers=self.headers, **sent)
        assert reply.status_code < 500, reply.text
        return reply.status_code, reply.text

    def get(self, path, **query):
        return self.told(self.http("GET", path, params=query)[1])

    def post(self, path, **body):
        return json.loads(self.told(self.http("POST", f"/v1/{path}", json=body)[1]))

    def tool(self, name, **arguments):
        try:
            reply = getattr(self.tools, name)(**arguments)
        except (UnknownIdError, UsageError, LookupError, ValueError) as error:
            return f"{type(error).__name__}: {error}"
        return reply if isinstance(reply, bytes) else reply.model_dump_json()

    def alike(self, call, hidden, nothing):
        """A call about what is hidden says what it says about what is not there."""
        told = [str(call(each)).replace(str(each), "it") for each in (hidden, nothing)]
        assert told[0] == told[1], (self.world.globs, self.world.tables, self.access)

    def searches(self):
        retriever = self.draw.choice(RETRIEVERS)
        found = self.post(
            "search", query="needle NHS 3104", retriever=retriever, top_k=100, explain=True
        )
        if retriever in ("bm25", "hybrid"):
            wanted = {unit["unit_id"] for unit in self.seen}
            assert {hit["unit_id"] for hit in found["hits"]} == wanted
        self.get("/search", query="needle newton")
        self.told(self.tool("search", query="needle", k=50))

    def counts(self):
        wanted = Counter(unit["domain"] for unit in self.seen)
        found = json.loads(self.told(self.tool("count", text="needle")))
        assert (found["documents"], found["rows"]) == (wanted["document"], wanted["table"])
        found = json.loads(self.told(self.tool("grep", pattern="zq[a-z][0-9]+", is_pattern=True)))
        assert found["total"] == len(self.seen)

    def lists(self):
        places = {(unit["source"], unit["table"] or unit["uri"]) for unit in self.seen}
        assert json.loads(self.told(self.tool("outline")))["total"] == len(places)
        for path in ("/", "/sources", "/examples", "/history", "/label", "/v1/documents"):
            self.get(path)
        for path in ("/changed", "/changed/count", "/v1/notices"):
            self.get(path)
        tables = {unit["table"] for unit in self.seen if unit["table"]}
        told = json.loads(self.get("/v1/status"))
        named = {each["table"] for source in told["sources"] for each in source["tables"]}
        assert named <= tables
        assert bool(told["problems"] or told["shared"]) <= (not self.hidden)
        for name in ("status", "tables"):
            self.told(self.tool(name))

    def looks_up(self):
        table = self.draw.choice(["staff", "parts"])
        rows = [unit for unit in self.seen if unit["table"] == table]
        pay = [int(secret(table[0], int(unit["row_key"]))[1]) for unit in rows]
        listed = json.loads(self.get("/v1/tables", source="registry", table=table))
        assert listed["total"] == bool(rows)
        for operation, wanted in (("sum", sum(pay)), ("max", max(pay, default=0))):
            plan = {"source": "registry", "table": table, "operation": operation, "column": "pay"}
            found = self.post("lookup", plan=plan)
            assert str(wanted) in json.dumps(found).replace(",", "") or not rows
            self.get("/rows", plan=json.dumps(plan))
        self.post("tables/rows", source="registry", table=table)
        self.get("/v1/tables/values", source="registry", table=table, column="name")
        for question in (
            "What is the highest pay?",
            "How many staff are in the team hr?",
            "What is the pay of zqx77?",
        ):
            self.post("lookup", question=question)
            self.told(self.tool("lookup", question=question))

    def asks(self):
        found = self.post(
            "answers",
            question=self.draw.choice(
                [
                    "What is the highest pay of the staff?",
                    "What does the needle bear?",
                    "How many parts have the kind needle?",
                ]
            ),
        )
        self.get(f"/v1/history/{found['id']}")
        self.get(f"/history/{found['id']}")
        changed(self.client.app.state.service.answers, found["id"])
        self.post(f"history/{found['id']}/replay", on="current")
        self.told(self.tool("answer", question="What does the needle bear?"))
        for each in json.loads(self.get("/v1/history", limit=50))["answers"]:
            self.get(f"/v1/history/{each['answer_id']}")
        if self.draw.random() < 0.1:
            self.post("reports", prompt="Tell what needles bear, and how they are made.")

    def opens(self):
        for unit in self.draw.sample(self.seen, min(2, len(self.seen))):
            status, text = self.http("GET", f"/v1/units/{unit['unit_id']}?neighbours=10")
            assert status == 200, self.told(text)
            self.told(text)
            self.get(f"/u/{unit['unit_id']}")
            self.told(self.tool("fetch", id=unit["unit_id"]))

    def pries(self):
        if not self.hidden:
            return
        places = {unit["table"] or unit["uri"] for unit in self.seen}
        wholly = [unit for unit in self.hidden if (unit["table"] or unit["uri"]) not in places]
        unit = self.draw.choice(wholly or self.hidden)
        for path in ("/v1/units/{}", "/v1/units/{}/page.png", "/u/{}", "/u/{}/page"):
            self.alike(
                lambda each, path=path: self.http("GET", path.format(each)),
                unit["unit_id"],
                NOWHERE,
            )
        for name in ("fetch", "view_page"):
            self.alike(lambda each, name=name: self.tool(name, id=each), unit["unit_id"], NOWHERE)
        name, nothing = unit["table"] or unit["uri"], "none/such"
        if name in places:
            return  # a part of the table is there
        self.alike(
            lambda each: self.tool("outline", place=f"{unit['source']}/{each}"), name, nothing
        )
        self.alike(
            lambda each: self.tool("verify", text=f"It bears 5 [1].\n\nSources:\n[1] {each}"),
            name,
            nothing,
        )
        self.alike(
            lambda each: self.http(
                "POST", "/v1/tables/rows", json={"source": unit["source"], "table": each}
            ),
            name,
            nothing,
        )
        for key in ("uri", "table"):

            def search(each, key=key):
                sent = {"query": "needle", "filters": {key: each}}
                reply = json.loads(self.http("POST", "/v1/search", json=sent)[1])
                return {**reply, "seconds": None}

            self.alike(search, name, nothing)


CALLS = [
    Caller.searches,
    Caller.counts,
    Caller.lists,
    Caller.looks_up,
    Caller.asks,
    Caller.opens,
    Caller.pries,
]


@effort.sweep(10)
def test_what_is_hidden_is_told_nowhere(home, seed):
    draw = random.Random(seed)
    for _ in range(CONFIGS):
        world = World(home, draw)
        client = TestClient(
            app_of(world.config, AnswerModels(), user="anna", is_loopback=True),
            base_url="http://localhost:8000",
            raise_server_exceptions=False,
        )
        for _ in range(CALLERS):
            caller = Caller(world, client, {*draw.sample(GROUPS, draw.randint(0, 3))})
            for call in draw.sample(CALLS, 2):
                call(caller)


@pytest.mark.parametrize(
    ("groups", "code", "says"),
    [
        ("lab", 0, r"row 0\notto: not seen: sources\.tables\.registry\.groups\.staff .* names hr$"),
        ("lab,hr", 0, r"row 0\notto: seen: .*groups\.staff takes the column team"),
        ("ops", 2, r"--groups: the config has no group ops; it has hr, lab"),
    ],
)
def test_it_is_told_by_which_rule_a_unit_is_seen(home, monkeypatch, capsys, groups, code, says):
    settings = yaml.safe_load((home / "rag_assets.yaml").read_text())
    settings["sources"]["tables"]["groups"] = {"staff": {"column": "team"}}
    file = home / "explained.yaml"
    file.write_text(yaml.safe_dump({**settings, "groups": ["hr", "lab"]}))
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(file))
    config = configuration.load(file)
    joint, where = config.tables_of("default").joint, "`table` = 'staff' AND row_key = '0'"
    [unit] = Store.of(config).read(joint, columns=["unit_id"], where=where)["unit_id"].to_pylist()

    assert cli.main(["explain-access", "otto", unit, "--groups", groups]) == code
    told = capsys.readouterr()
    assert re.search(says, told.out.strip() or told.err.strip())
    for user, groups_of_key, scope in (("anna", ["lab"], "read"), ("root", [], "admin")):
        KeysFile(config.state_dir).create(user, [scope], groups_of_key, None)
        assert cli.main(["explain-access", user, unit]) == 0
        assert re.search(
            rf"{user} \(key \w+\): {'not ' * (user == 'anna')}seen", capsys.readouterr().out
        )
    assert cli.main(["explain-access", "otto", unit]) == 2
    assert "no key of otto is good" in capsys.readouterr().err


@pytest.fixture
def serves(home):
    """Serves the project under some rules to somebody in some groups."""

    def serves(*groups, home=home, **rules):
        settings = yaml.safe_load((home / "rag_assets.yaml").read_text())
        settings["groups"] = [*GROUPS, "guests"]
        for kind, said in rules.items():
            settings["sources"][kind]["groups"] = said
        file = home / "served.yaml"
        file.write_text(yaml.safe_dump(settings, sort_keys=False))
        config = configuration.load(file)
        _, given = KeysFile(config.state_dir).create("anna", callers.SCOPES[:3], groups, None)
        return TestClient(
            app_of(config, AnswerModels(), user="anna"),
            base_url="http://localhost:8000",
            headers={"Authorization": f"Bearer {given}"},
        )

    return serves


def service_of(client):
    """What a server knows of somebody in the group `hr`."""
    caller = callers.Caller("anna", frozenset({"read"}), frozenset({"hr"}))
    return client.app.state.service.asked_by(caller)


def sources_told_to(client):
    """The sources that the state, the counters and a filter that names none tell of."""
    filters = {"filters": {"source": "none such"}}
    refused = client.post("/v1/search", json={"query": "needle", **filters}).json()["detail"]
    return (
        {each["source"] for each in client.get("/v1/status").json()["sources"]},
        {*re.findall(r'source="(\w+)"', client.get("/metrics").text)},
        {*refused.rpartition(": ")[2].split(", ")},
    )


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        (["guests"], {"none"}),
        ([], {"none"}),
        (["ops"], {"registry"}),
        (["lab", "board"], {"papers", "registry"}),
    ],
)
def test_a_source_of_which_nothing_is_seen_is_not_named(serves, groups, told):
    by_row = {"staff": {"column": "team"}}
    client = serves(*groups, documents={"**": ["lab"]}, tables=by_row)
    assert sources_told_to(client) == (told - {"none"}, told - {"none"}, told)


def test_who_sees_a_part_is_not_told_the_reasons_and_verdicts_of_others(serves):
    client = serves("hr", documents={"**": ["lab"]})
    pointer = client.get("/v1/status").json()["pointer"]
    assert [pointer[each] for each in ("reason", "verdict", "stale")] == [None] * 3


def test_who_sees_a_part_gathers_nothing_to_label_for_others(serves, monkeypatch):
    gathered = []
    monkeypatch.setattr(ItemSources, "items", lambda _self, task: gathered.append(task) or {})
    part = serves("hr", documents={"**": ["lab"]})
    assert "There is nothing to label yet" in part.get("/label").text
    assert not part.app.state.service.to_label
    assert not gathered


BY_ROW = {"staff": {"column": "team"}}


def test_a_kept_value_is_hidden_once_rows_are_hidden_that_it_was_computed_from(serves):
    """Other rules hold by now: the user and their groups are those of then."""
    asked = serves("hr", tables={"staff": ["hr"]})
    question = {"question": "What is the lowest pay of the staff?"}
    told = asked.post("/v1/answers", json=question).json()
    kept = told["id"]
    assert "71007 (zqs00), from 10 rows" in told["answer"]["sentences"][0]["text"]
    assert asked.get(f"/v1/history/{kept}").status_code == 200

    now = serves("hr", tables=BY_ROW)
    listed = now.get("/v1/history", params={"limit": 1}).json()["answers"]
    assert kept not in [each["answer_id"] for each in listed]
    assert kept not in now.get("/history").text
    found = service_of(asked).own(kept)
    alone = replace(found, answer=replace(found.answer, shown=()))
    assert service_of(asked).may_see(alone)
    assert not service_of(now).may_see(alone), "nor by what was found beside it"
    for method, path, body in (
        ("GET", "/v1/history/{}", None),
        ("GET", "/history/{}", None),
        ("POST", "/v1/history/{}/replay", {"on": "kept"}),
        ("POST", "/v1/answers", {"question": "And the lowest?", "after": "{}"}),
        ("POST", "/v1/feedback", {"answer_id": "{}", "kind": "up"}),
        ("PUT", "/v1/history/{}/watch", {"tolerance": 0.1}),
        ("DELETE", "/v1/history/{}/watch", None),
        ("POST", "/v1/notices/seen", {"answer_ids": ["{}"]}),
        ("POST", "/changed/{}/seen", None),
        ("DELETE", "/v1/history/{}", None),
        ("DELETE", "/history/{}", None),
    ):

        def call(answer, method=method, path=path, body=body):
            sent = json.dumps(body).replace("{}", answer)
            headers = {"Content-Type": "application/json"}
            reply = now.request(method, path.format(answer), content=sent, headers=headers)
            return reply.status_code, reply.text.replace(answer, "it")

        assert call(kept) == call(NOWHERE), path
        assert call(kept)[0] == 404, path


def test_a_value_that_takes_too_long_to_compute_again_hides_itself_alone(serves, monkeypatch):
    asked = serves("hr", tables=BY_ROW)
    questions = ("What is the lowest pay of the staff?", "Who wrote the handbook?")
    ids = [asked.post("/v1/answers", json={"question": each}).json()["id"] for each in questions]

    def too_long(*_):
        raise SandboxError("the lookup took too long")

    monkeypatch.setattr(verifying, "verify_again", too_long)
    listed = asked.get("/v1/history", params={"limit": 2}).json()["answers"]
    assert [each["answer_id"] for each in listed if each["answer_id"] in ids] == ids[1:]


def test_words_of_a_document_that_is_hidden_by_now_are_hidden_though_it_was_edited(serves):
    """Its units have other ids by now, so that the index knows no more where those were from."""
    body = {"question": "What does the needle bear?", "filters": {"domain": "document"}}
    asked = serves("hr", documents={"**": ["hr"]}).post("/v1/answers", json=body).json()
    before, now = (serves("hr", documents={"**": [group]}) for group in ("hr", "ops"))
    kept = service_of(before).own(asked["id"])
    assert kept.answer.citations
    edited = replace(
        kept,
        answer=replace(
            kept.answer,
            shown=(),
            sentences=[
                replace(
                    sentence,
                    citations=[replace(each, unit_id=NOWHERE) for each in sentence.citations],
                )
                for sentence in kept.answer.sentences
            ],
        ),
    )
    assert service_of(before).may_see(edited)
    assert not service_of(now).may_see(edited)


def test_a_row_that_moved_to_another_team_is_hidden_as_it_was_too(home, serves, tmp_path):
    copied = shutil.copytree(home, tmp_path / "home")
    config = configuration.load(copied / "rag_assets.yaml")
    joint, where = config.tables_of("default").joint, "`table` = 'staff' AND row_key = '1'"
    [unit] = Store.of(config).read(joint, columns=["unit_id"], where=where)["unit_id"].to_pylist()
    ask = partial(serves, "ops", home=copied, tables=BY_ROW)
    assert ask().get(f"/u/{unit}?v=1").status_code == 200

    with sqlite3.connect(copied / "registry.sqlite") as database:
        database.execute("UPDATE staff SET team = 'board' WHERE id = 1")
    database.close()
    with hashing():
        refresh(config)
        assert serving_pointer.number_now(Store.of(config)) == 2
        client = ask()
        replies = [client.get(f"/u/{each}?v=1") for each in (unit, NOWHERE)]
    told, nothing = (reply.text.replace(unit, NOWHERE) for reply in replies)
    assert (replies[0].status_code, told) == (404, nothing)
