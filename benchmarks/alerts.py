"""One alert for each cause and one when it is cured, nothing else; status, UI and exit code agree.

usage: alerts.py [--nights 3] [--without-ui] [--month-only]

A project with documents and a PostgreSQL is refreshed by the real command, with real servers for
webhook, mail and ping. Then, one after the other: the server is down for three nights, a right is
revoked, a table vanishes from a pattern, a document is half copied over, a check fails, a command
is killed, everything of the real UI and its daemon is killed in the middle of a run, a run of the
UI alone is killed, a file of questions is emptied, a webhook never ends its answer, and the disk is
full. During each cause, and after its cure, the exit code of the refresh, `rag-assets status`,
`rag-assets alerts` and the records that the UI shows are held against each other. What the tests
need must be installed.

A month of thirty nights follows, with the daemon's own sensor and real runs: new, known and
acknowledged bad files, documents that are gone, a source that is down, weekends without runs,
a killed run, several causes at once. Each night must tell what it brought, once, and nothing else.
The clock is moved only for nights without a run.
"""

import argparse
import json
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Thread
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dagster as dg
import psutil
from bounds import Bound, equal, finish
from dagster._core.definitions.freshness import FreshnessState, FreshnessStateChange
from sqlalchemy.exc import OperationalError

from rag_assets import config as configuration
from rag_assets.definitions import definitions
from rag_assets.operations.problems.lost_runs import ORIGIN
from rag_assets.operations.problems.runs import NIGHTLY_JOB
from rag_assets.process import clock
from rag_assets.serving import dagster_instance, refresh_run
from rag_assets.serving.replies import FAILED, OK, PARTLY
from rag_assets.store import Store
from rag_assets_testing.alert_servers import Mail, Web, mail_server, web_server
from rag_assets_testing.faults.disks import small_disk
from rag_assets_testing.faults.project import age
from rag_assets_testing.faults.servers import Postgres, running
from rag_assets_testing.ports import free_port

say = partial(print, flush=True)
CONFIG = """\
state_dir: state
sources:
  documents: documents
{tables}
variants:
  default: {{parser: pdfium, chunking: fixed_256, model: minilm}}
checks:
  chunks:
    expectations:
      - expect: ExpectColumnValuesToNotMatchRegex
        column: text
        arguments: {{regex: confidential}}
        severity: error
        name: nothing_confidential
schedule: {{cron: "0 3 1 1 *"}}
alerts:
  ui_url: http://dagster.example.com
  channels:
    - {{type: json, url: "{web}/hook"}}
    - type: email
      host: 127.0.0.1
      port: {mail}
      security: none
      from: index@example.com
      to: [team@example.com]
    - {{type: ping, url: "{web}/night", start_url: "{web}/begun", fail_url: "{web}/failed"}}
"""
TABLES = """\
  tables:
    - {{name: plant, url: "{url}", tables: [parts, suppliers, "stock_*"]}}
"""
QUESTIONS = """\
evaluation: {questions: [{path: questions.jsonl}]}
"""
QUESTION = '{"id": "salt", "question": "How long does AlMg3 bear salt?", "gold": ["doc:salt.md"]}\n'
WHERE = """{ repositoriesOrError {
  ... on RepositoryConnection { nodes { name location { name } } } } }"""
LAUNCH = """mutation($of: ExecutionParams!) { launchPipelineExecution(executionParams: $of) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
COMMAND = [sys.executable, "-m", "rag_assets.serving.cli"]
QUIET = subprocess.DEVNULL
ROOMY = "1g"
"""Size of a disk with room for the exported model."""
SMALLEST_FILE = 65_536
"""Bytes: no file may have more where a full disk cannot be made."""
PATIENCE = 600
"""Seconds that something of the UI may take on a busy machine."""


@dataclass
class Project:
    """A project, and the servers that its alerts go to."""

    home: Path
    web: Web
    mail: Mail
    exits: list[int] = field(default_factory=list)
    """How each night ended; one that was killed has failed."""
    seen: int = 0
    """Messages that a scene was held against."""

    @property
    def state(self) -> Path:
        return self.home / "state"

    @property
    def environment(self) -> dict[str, str]:
        file = self.home / "rag_assets.yaml"
        return {**os.environ, configuration.PATH_VARIABLE: str(file)}

    def command(self, *arguments: str, most_bytes: int | None = None) -> tuple[int, dict]:
        """Exit code and answer of a command that speaks JSON."""
        limit = None
        if most_bytes:
            limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        done = subprocess.run(
            [*COMMAND, *arguments, "--json"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
            preexec_fn=limit,
        )
        lines = done.stdout.strip().splitlines()
        return done.returncode, json.loads(lines[-1]) if lines else {}

    def refresh(self, *, most_bytes: int | None = None) -> int:
        code, _ = self.command("refresh", most_bytes=most_bytes)
        self.exits.append(code)
        return code

    def write(self, name: str, text: str) -> None:
        file = self.home / "documents" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        age(file, seconds=60 + len(text) % 1_000)

    def news(self) -> list[dict]:
        """The messages that arrived since the last scene."""
        messages = [request.json for request in self.web.at("/hook")][self.seen :]
        self.seen += len(messages)
        return messages


@contextmanager
def project(home: Path, *, tables: str) -> Generator[Project]:
    home.mkdir()
    with web_server() as web, mail_server() as mail:
        made = Project(home, web, mail)
        text = CONFIG.format(tables=tables, web=web.url, mail=mail.port)
        (home / "rag_assets.yaml").write_text(text)
        made.write("salt.md", "# Salt spray\n\nThe alloy AlMg3 bears salt for 500 hours.\n")
        made.write("heat.md", "# Heat\n\nInvar hardly expands up to 200 degrees.\n")
        yield made


@dataclass(frozen=True)
class Cause:
    """Something that goes wrong, and how it is cured."""

    name: str
    kind: str
    begin: Callable[[], object]
    cure: Callable[[], object]
    refresh: Callable[[], int]
    """What a night does while it lasts; returns the exit code."""
    code: int
    """The exit code of each such night."""
    in_ui: Callable[[], bool]
    """Whether the records that the UI shows say that something is wrong."""
    nights: int = 1
    status: int = PARTLY


def scene(made: Project, cause: Cause) -> list[Bound]:
    """A cause, its nights, its cure and a good night."""
    started = time.monotonic()
    wrong: list[str] = []
    cause.begin()
    for night in range(cause.nights):
        wrong += unequal(f"exit code of night {night + 1}", cause.refresh(), cause.code)
        wrong += looked(made, cause.status, PARTLY, kind=cause.kind)
        wrong += unequal("UI: something is wrong", cause.in_ui(), True)
    cause.cure()
    wrong += unequal("exit code after the cure", made.refresh(), OK)
    wrong += looked(made, OK, OK, kind=None)
    wrong += unequal("UI: something is wrong after the cure", cause.in_ui(), False)
    bounds = told(made, cause.name, kind=cause.kind)
    show(wrong)
    seconds = time.monotonic() - started
    say(f"{cause.name}: {cause.nights} nights and a cure in {seconds:.0f} s")
    return [*bounds, equal(f"{cause.name}: status, UI or exit code disagree", len(wrong), 0)]


def looked(made: Project, status: int, alerts: int, *, kind: str | None) -> Iterator[str]:
    """What `status` and `alerts` say that they should not."""
    code, answer = made.command("status")
    kinds = {one["kind"] for one in answer.get("problems", ())}
    yield from unequal("exit code of status", code, status)
    yield from unequal("kinds in status", kinds - {"index_stale"}, {kind} if kind else set())
    code, answer = made.command("alerts")
    kinds = {one["kind"] for one in answer.get("problems", ())}
    yield from unequal("exit code of alerts", code, alerts)
    yield from unequal("kinds in alerts", kinds, {kind} if kind else set())


def told(made: Project, name: str, *, kind: str) -> list[Bound]:
    """What the channels were told during a scene."""
    messages = made.news()
    problems = [one for message in messages for one in message["problems"]]
    resolved = [one for message in messages for one in message["resolved"]]
    others = [one for one in (*problems, *resolved) if one["kind"] != kind]
    for one in (*problems, *resolved):
        over = " is over" if "ended" in one else ""
        say(f"  {one['kind']}: {one['subject']}{over}: {one['reason'].splitlines()[0][:90]}")
    return [
        equal(f"{name}: alerts", len(problems), 1),
        equal(f"{name}: resolved", len(resolved), 1),
        equal(f"{name}: messages of another kind", len(others), 0),
    ]


def unequal(what: str, found: object, expected: object) -> list[str]:
    return [] if found == expected else [f"{what}: {found} instead of {expected}"]


def show(lines: Sequence[str]) -> None:
    for line in lines:
        say(f"  disagrees: {line}")


def records(made: Project) -> dg.DagsterInstance:
    """What the UI reads."""
    return dg.DagsterInstance.from_config(str(made.state / "dagster"))


def has_failures(made: Project, asset: str) -> bool:
    """Whether the newest materialization of an asset shows something that failed."""
    with records(made) as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey(asset))
    assert event
    assert event.asset_materialization
    return bool(event.asset_materialization.metadata["failed"].value)


def newest_run_failed(made: Project) -> bool:
    with records(made) as instance:
        [run] = instance.get_runs(limit=1)
    return run.status == dg.DagsterRunStatus.FAILURE


def check_failed(made: Project, *asset: str, check: str) -> bool:
    """Whether the newest evaluation of an asset check says so."""
    key = dg.AssetCheckKey(dg.AssetKey([*asset]), check)
    with records(made) as instance:
        found = instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
    event = found[0].event.dagster_event if found and found[0].event else None
    return event is not None and not event.asset_check_evaluation_data.passed


def database_scenes(made: Project, postgres: Postgres, *, nights: int) -> list[Bound]:
    """A server that is down, and a table that may not be read."""
    readable = partial(check_failed, made, "exports", "plant", "parts", check="source_readable")
    down = Cause(
        "server down",
        "source_unreadable",
        begin=postgres.stop,
        cure=postgres.start,
        refresh=made.refresh,
        code=PARTLY,
        in_ui=readable,
        nights=nights,
    )
    revoked = Cause(
        "right revoked",
        "source_unreadable",
        begin=partial(postgres.execute, "REVOKE SELECT ON parts FROM reader"),
        cure=partial(postgres.execute, "GRANT SELECT ON parts TO reader"),
        refresh=made.refresh,
        code=PARTLY,
        in_ui=readable,
    )
    vanished = Cause(
        "table vanished",
        "source_unreadable",
        begin=partial(postgres.execute, "ALTER TABLE stock_steel RENAME TO steel"),
        cure=partial(postgres.execute, "ALTER TABLE steel RENAME TO stock_steel"),
        refresh=made.refresh,
        code=PARTLY,
        in_ui=partial(check_failed, made, "exports", "plant", check="source_readable"),
    )
    return [*scene(made, down), *scene(made, revoked), *scene(made, vanished)]


def half_copied(made: Project) -> list[Bound]:
    """A document that cannot be read any more: what it said is served, and told as stale."""
    salt = (made.home / "documents" / "salt.md").read_text()
    cause = Cause(
        "document half copied",
        "documents_stale",
        begin=partial(made.write, "salt.md", "%PDF-1.7\nhalf a file"),
        cure=partial(made.write, "salt.md", salt),
        refresh=made.refresh,
        code=PARTLY,
        in_ui=partial(has_failures, made, "parsed_documents"),
    )
    return scene(made, cause)


def failed_check(made: Project) -> list[Bound]:
    heat = "# Heat\n\nInvar hardly expands up to 200 degrees.\n"
    cause = Cause(
        "failed check",
        "check_failed",
        begin=partial(made.write, "heat.md", f"{heat}\nThis is confidential.\n"),
        cure=partial(made.write, "heat.md", heat),
        refresh=made.refresh,
        code=FAILED,
        in_ui=lambda: newest_run_failed(made) and check_failed(made, "chunks", check="must_hold"),
    )
    return scene(made, cause)


def full_disk(home: Path) -> list[Bound]:
    """In a project of its own, whose state lies on a small disk."""
    with project(home, tables="") as made, small_disk(made.state, size=ROOMY) as small:
        first_night(made)
        long = "New words of a new document. " * 2_000
        limit = None if small else SMALLEST_FILE
        cause = Cause(
            "full disk" if small else "full disk (a limit on files)",
            "run_failed",
            begin=lambda: (made.write("new.md", long), small and small.fill()),
            cure=lambda: small and small.resize(ROOMY),
            refresh=partial(made.refresh, most_bytes=limit),
            code=FAILED,
            in_ui=lambda: not ended_well(made),
            nights=2,
        )
        return [*scene(made, cause), *calls(made)]


def emptied_questions(home: Path) -> list[Bound]:
    """In a project of its own, as its nights are measured: nothing is promoted unmeasured."""
    with project(home, tables="") as made:
        config, questions = made.home / "rag_assets.yaml", made.home / "questions.jsonl"
        config.write_text(config.read_text() + QUESTIONS)
        questions.write_text(QUESTION)
        first_night(made)
        made.news()
        cause = Cause(
            "questions emptied",
            "units_failed",
            begin=partial(questions.write_text, ""),
            cure=partial(questions.write_text, QUESTION),
            refresh=made.refresh,
            code=PARTLY,
            in_ui=partial(has_failures, made, "question_sets"),
        )
        return [*scene(made, cause), *endless_answer(made)]


def endless_answer(made: Project) -> list[Bound]:
    """A webhook that sends a byte now and then: every command ends, and says what it did."""
    config = made.home / "rag_assets.yaml"
    usual = config.read_text()
    with socket.create_server(("127.0.0.1", 0)) as server:
        config.write_text(
            usual.replace(
                made.web.url + "/hook", f"http://127.0.0.1:{server.getsockname()[1]}/hook"
            )
        )
        Thread(target=trickle, args=(server,), daemon=True).start()
        made.write("broken.pdf", "%PDF-1.7\nhalf a file")
        started = time.monotonic()
        codes = [made.refresh(), *(made.command(name)[0] for name in ("status", "alerts"))]
        seconds = time.monotonic() - started
        config.write_text(usual)
    say(f"endless answer: exit codes {codes} within {seconds:.0f} s")
    wrong = unequal("exit codes of refresh, status, alerts", codes, [PARTLY] * 3)
    (made.home / "documents" / "broken.pdf").unlink()
    wrong += unequal("exit code after the cure", made.refresh(), OK)
    wrong += looked(made, OK, OK, kind=None)
    show(wrong)
    return [equal("endless answer: status, alerts or exit code disagree", len(wrong), 0)]


def trickle(server: socket.socket) -> None:
    """Answer each request with a byte every second, until it is given up."""
    while True:
        with suppress(OSError):
            client, _ = server.accept()
            Thread(target=drip, args=(client,), daemon=True).start()


def drip(client: socket.socket) -> None:
    with client, suppress(OSError):
        client.recv(65_536)
        client.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while True:
            client.sendall(b"x")
            time.sleep(1)


def first_night(made: Project) -> None:
    if made.refresh() != OK:
        sys.exit("the first refresh of the project failed")


def ended_well(made: Project) -> bool:
    """Whether the UI shows a good run after the newest document was written.

    On a full disk, it cannot show anything.
    """
    written = (made.home / "documents").stat().st_mtime
    try:
        with records(made) as instance:
            [run] = instance.get_run_records(limit=1)
    except OperationalError:
        return False
    is_good = run.dagster_run.status == dg.DagsterRunStatus.SUCCESS
    return is_good and run.create_timestamp.timestamp() > written


def killed_command(made: Project) -> list[Bound]:
    """`kill -9` of a refresh; the next one finds out and cures it."""
    started = time.monotonic()
    add_work(made, "killed")
    begun = len(made.web.at("/begun"))
    command = subprocess.Popen([*COMMAND, "refresh"], env=made.environment, stderr=QUIET)
    wait_for(lambda: len(made.web.at("/begun")) > begun and bool(started_runs(made)))
    command.kill()
    command.wait()
    made.exits.append(FAILED)
    wrong = unequal("exit code of the next refresh", made.refresh(), OK)
    wrong += looked(made, OK, OK, kind=None)
    with records(made) as instance:
        statuses = [run.status.value for run in instance.get_runs(limit=2)]
    wrong += unequal("runs in the UI", statuses, ["SUCCESS", "FAILURE"])
    show(wrong)
    say(f"killed command: in {time.monotonic() - started:.0f} s")
    name = "killed command"
    return [
        *told(made, name, kind="run_failed"),
        equal(f"{name}: status, UI or exit code disagree", len(wrong), 0),
    ]


def add_work(made: Project, name: str) -> None:
    """Documents that keep a run busy for a while."""
    for number in range(60):
        made.write(f"{name}/{number}.md", f"# {name} {number}\n\n" + f"Words of {number}. " * 300)


def started_runs(made: Project) -> list[dg.DagsterRun]:
    started = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])
    with records(made) as instance:
        return list(instance.get_runs(started))


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"nothing happened within {PATIENCE} s")
        time.sleep(0.2)


def killed_in_the_ui(made: Project) -> list[Bound]:
    """All of the UI is killed in the middle of a run, then a run alone; each is tried again."""
    add_work(made, "daemon")
    with ui(made) as (process, url):
        launch(url)
        wait_for(lambda: of_the_ui(made))
        kill_all(process)
    with ui(made) as (_, url):
        bounds = [*cured_by_itself(made, "killed daemon")]
        add_work(made, "run")
        launch(url)
        wait_for(lambda: of_the_ui(made))
        [run] = of_the_ui(made)
        os.kill(pid_of(made, run), signal.SIGKILL)
        return [*bounds, *cured_by_itself(made, "killed run")]


def cured_by_itself(made: Project, name: str) -> Iterator[Bound]:
    """What was told of a run that was killed, once Dagster has tried it again."""
    started = time.monotonic()
    wait_for(lambda: len(messages_with(made, "resolved")) > 0)
    wrong = list(looked(made, OK, OK, kind=None))
    wrong += unequal("UI: the newest run failed", newest_run_failed(made), False)
    show(wrong)
    say(f"{name}: told and cured in {time.monotonic() - started:.0f} s")
    yield from told(made, name, kind="run_failed")
    yield equal(f"{name}: status and UI disagree", len(wrong), 0)


def of_the_ui(made: Project) -> list[dg.DagsterRun]:
    """The runs that the UI started and that go on."""
    return [run for run in started_runs(made) if not ORIGIN.items() <= run.tags.items()]


def pid_of(made: Project, run: dg.DagsterRun) -> int:
    """The process that does a run of the UI, as its log says."""
    with records(made) as instance:
        log = " ".join(entry.message for entry in instance.all_logs(run.run_id))
    found = re.search(r"\(pid: (\d+)\)", log)
    if not found:
        sys.exit(f"the log of run {run.run_id} names no process")
    return int(found[1])


def messages_with(made: Project, part: str) -> list[dict]:
    arrived = [request.json for request in made.web.at("/hook")][made.seen :]
    return [message for message in arrived if message[part]]


@contextmanager
def ui(made: Project) -> Generator[tuple[subprocess.Popen, str]]:
    """The real UI with its daemon, once it answers."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [*COMMAND, "ui", "--port", str(port)], env=made.environment, stdout=QUIET, stderr=QUIET
    )
    try:
        wait_for(lambda: query(url, "{ version }"))
        yield process, url
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait()


def query(url: str, text: str, **variables: object) -> dict:
    """The answer of the UI; empty while it is starting."""
    request = urllib.request.Request(
        f"{url}/graphql",
        data=json.dumps({"query": text, "variables": variables}).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response).get("data") or {}
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return {}


def launch(url: str) -> None:
    """Start the nightly job as a person does in the UI."""
    wait_for(lambda: query(url, WHERE).get("repositoriesOrError", {}).get("nodes"))
    [repository] = query(url, WHERE)["repositoriesOrError"]["nodes"]
    launched = query(
        url,
        LAUNCH,
        of={
            "selector": {
                "repositoryName": repository["name"],
                "repositoryLocationName": repository["location"]["name"],
                "jobName": NIGHTLY_JOB,
            },
            "mode": "default",
            "executionMetadata": {"tags": [{"key": "dagster/partition", "value": "default"}]},
        },
    )
    kind = launched["launchPipelineExecution"]["__typename"]
    if kind != "LaunchRunSuccess":
        sys.exit(f"the UI did not start the run: {launched}")


def kill_all(process: subprocess.Popen) -> None:
    """`kill -9` of a process and all that it started."""
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    for member in family:
        member.kill()
    psutil.wait_procs(family)
    process.wait()


def calls(made: Project) -> list[Bound]:
    """The pings: one for each night, by how it ended."""
    good = sum(code in (OK, PARTLY) for code in made.exits)
    bad = len(made.exits) - good
    name = made.home.name
    return [
        equal(f"{name}: nights that were good, less calls", good - len(made.web.at("/night")), 0),
        equal(f"{name}: nights that failed, less calls", bad - len(made.web.at("/failed")), 0),
        equal(
            f"{name}: messages by webhook, less mails",
            len(made.web.at("/hook")) - len(made.mail.received),
            0,
        ),
    ]


BROKEN = "%PDF-1.7\nhalf a file"
SQLITE = """\
  tables:
    - {name: plant, url: "sqlite:///plant.sqlite"}
"""


@dataclass(frozen=True)
class Night:
    """What happens before and in a night, and the changes that it must tell."""

    name: str
    begin: Callable[[], object] = lambda: None
    begun: frozenset[str] = frozenset()
    """Keys of the problems that are told."""
    over: frozenset[str] = frozenset()
    days_without_run: float | None = None
    """No run; the clock stands so many days after the last one."""


def keys(*names: str) -> frozenset[str]:
    return frozenset(names)


def month(made: Project) -> list[Night]:
    """Thirty nights; the two days after today are the weekend of the schedule."""
    documents, database = made.home / "documents", made.home / "plant.sqlite"
    heat = "# Heat\n\nInvar hardly expands up to 200 degrees.\n"
    wiki, salt = documents / "wiki", (documents / "salt.md").read_text()
    accept = partial(made.command, "alerts", "acknowledge")
    gone, down = "source_shrank:documents", "source_unreadable:plant"
    first, second, third = (f"units_failed:{name}.pdf" for name in ("first", "second", "third"))
    stale, night = "documents_stale:salt.md", "run_failed:nightly_refresh of variant default"
    check = "check_failed:chunks of default: nothing_confidential"
    late = "asset_overdue:joint_index"
    write = made.write
    return [
        Night("the first one"),
        Night("nothing changed"),
        Night("an edit", partial(write, "heat.md", heat + "\nSo it is said.\n")),
        Night("a bad file", partial(write, "first.pdf", BROKEN), keys(first)),
        Night("it is known"),
        Night("another version of it is bad", partial(write, "first.pdf", BROKEN + " 2")),
        Night("it is acknowledged", partial(accept, "first.pdf"), over=keys(first)),
        Night("it is still bad"),
        Night("a second bad file", partial(write, "second.pdf", BROKEN), keys(second)),
        Night(
            "a third one, and a good document breaks",
            lambda: (write("third.pdf", BROKEN + " 3"), write("salt.md", BROKEN + " 4")),
            keys(third, stale),
        ),
        Night("all three are known"),
        Night("the document is mended", partial(write, "salt.md", salt), over=keys(stale)),
        Night(
            "the two are taken away",
            lambda: [(documents / f"{name}.pdf").unlink() for name in ("second", "third")],
            over=keys(second, third),
        ),
        Night("the first is bad in a new way", partial(write, "first.pdf", "%PDF"), keys(first)),
        Night("it can be read", partial(write_pdf, documents / "first.pdf"), over=keys(first)),
        Night("one document goes", (wiki / "0.md").unlink),
        Night("one more", (wiki / "1.md").unlink),
        Night("a folder goes", partial(wiki.rename, made.home / "away"), keys(gone)),
        Night("it is still away"),
        Night("it is back", lambda: (made.home / "away").rename(wiki), over=keys(gone)),
        Night("the database goes", partial(database.rename, made.home / "off"), keys(down)),
        Night("it is still down"),
        Night(
            "it is back; a bad file and a check that fails",
            lambda: (
                (made.home / "off").rename(database),
                write("second.pdf", BROKEN + " 5"),
                write("heat.md", heat + "\nThis is confidential.\n"),
            ),
            keys(second, check),
            over=keys(down),
        ),
        Night(
            "both are mended",
            lambda: (write("heat.md", heat), (documents / "second.pdf").unlink()),
            over=keys(second, check),
        ),
        Night("the run is killed", partial(kill_a_run, made), keys(night), days_without_run=0),
        Night("the next one is good", over=keys(night)),
        Night("the weekend", partial(look, made, FreshnessState.WARN), days_without_run=1),
        Night("its second day", partial(look, made, FreshnessState.WARN), days_without_run=2),
        Night(
            "two nights did not happen",
            partial(look, made, FreshnessState.FAIL),
            keys(late),
            days_without_run=4.5,
        ),
        Night("the daemon is back", partial(look, made, FreshnessState.PASS), over=keys(late)),
    ]


def thirty_nights(home: Path) -> list[Bound]:
    with project(home, tables=SQLITE) as made, patch.dict(os.environ, made.environment):
        weekend = {(datetime.now(UTC).isoweekday() + day) % 7 for day in (1, 2)}
        days = ",".join(str(day) for day in range(7) if day not in weekend)
        file = made.home / "rag_assets.yaml"
        file.write_text(file.read_text().replace("0 3 1 1 *", f"0 3 * * {days}"))
        for number in range(20):
            folder = "wiki" if number < 8 else "shelf"
            made.write(f"{folder}/{number}.md", f"# Part {number}\n\nIt weighs {number} kg.\n")
        with sqlite3.connect(made.home / "plant.sqlite") as database:
            database.execute("CREATE TABLE parts (id INTEGER PRIMARY KEY, name TEXT)")
            database.executemany("INSERT INTO parts (name) VALUES (?)", [("a",), ("b",)])
        age(made.home / "plant.sqlite")
        nights = month(made)
        wrong = [line for number, one in enumerate(nights, 1) for line in slept(made, one, number)]
        show(wrong)
        quiet = sum(not (one.begun or one.over) for one in nights)
        say(f"{len(nights)} nights, {quiet} of them to be quiet")
        return [
            equal("a month: nights", len(nights), 30),
            equal("a month: changes told wrongly, twice or not at all", len(wrong), 0),
        ]


def slept(made: Project, night: Night, number: int) -> list[str]:
    """One night as the daemon has it: a run, then its sensor again and again."""
    night.begin()
    config = configuration.load()
    if night.days_without_run is None:
        with Store.of(config).lock(refresh_run.LOCK, log=say):
            refresh_run.refresh(config, variant="default", allow_shrink=False, retry_failed=False)
    moved = datetime.now(UTC) + timedelta(days=night.days_without_run or 0)
    sensor = definitions(config).resolve_sensor_def("alerts")
    with dagster_instance.opened(config) as instance, patch.object(clock, "now", lambda: moved):
        for _ in range(3):
            sensor.evaluate_tick(dg.build_sensor_context(instance=instance))
    news = made.news()
    told = [one for message in news for one in (*message["problems"], *message["resolved"])]
    found = sorted((f"{one['kind']}:{one['subject']}", "ended" in one) for one in told)
    expected = sorted([(key, False) for key in night.begun] + [(key, True) for key in night.over])
    titles = [message["title"].partition(": ")[2] for message in news]
    say(f"  {number:2} {night.name}: {'; '.join(titles) or 'nothing is told'}")
    most = 1 if expected else 0
    wrong = unequal(f"night {number} ({night.name})", found, expected)
    return wrong + ([] if len(news) <= most else [f"night {number}: {len(news)} messages"])


def write_pdf(path: Path) -> None:
    import pymupdf

    with pymupdf.open() as pdf:
        pdf.new_page().insert_text((72, 72), "Invar hardly expands up to 200 degrees.")
        path.write_bytes(pdf.tobytes())
    age(path)


def kill_a_run(made: Project) -> None:
    """A refresh in a process of its own ends without a word."""
    add_work(made, "killed")
    command = subprocess.Popen([*COMMAND, "refresh"], env=made.environment, stderr=QUIET)
    wait_for(lambda: started_runs(made))
    command.kill()
    command.wait()


def look(made: Project, state: FreshnessState) -> None:
    """What Dagster's daemon says of the index, by its freshness policy."""
    key, before = dg.AssetKey("joint_index"), FreshnessState.UNKNOWN
    with records(made) as instance:
        instance._report_runless_asset_event(
            FreshnessStateChange(
                key=key, new_state=state, previous_state=before, state_change_timestamp=time.time()
            )
        )


def prepared(postgres: Postgres) -> str:
    """Fill the server; returns the part of the config that names it."""
    postgres.execute(
        "CREATE TABLE parts (id integer PRIMARY KEY, name text)",
        "CREATE TABLE suppliers (id integer PRIMARY KEY, city text)",
        "INSERT INTO parts SELECT n, 'part ' || n FROM generate_series(1, 40) AS n",
        "INSERT INTO suppliers SELECT n, 'city ' || n FROM generate_series(1, 20) AS n",
        "CREATE ROLE reader LOGIN PASSWORD 'secret'",
        "CREATE TABLE stock_steel (id integer PRIMARY KEY, amount integer)",
        "CREATE TABLE stock_zinc (id integer PRIMARY KEY, amount integer)",
        "INSERT INTO stock_steel SELECT n, 10 * n FROM generate_series(1, 30) AS n",
        "INSERT INTO stock_zinc SELECT n, 10 * n FROM generate_series(1, 30) AS n",
        "GRANT SELECT ON parts, suppliers, stock_steel, stock_zinc TO reader",
    )
    import sqlalchemy as sa

    url = sa.make_url(postgres.url).set(username="reader", password="secret")
    return TABLES.format(url=url.render_as_string(hide_password=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nights", type=int, default=3, help="that the server is down")
    parser.add_argument("--without-ui", action="store_true", help="do not start UI and daemon")
    parser.add_argument("--month-only", action="store_true", help="only the thirty nights")
    arguments = parser.parse_args()
    bounds: list[Bound] = []
    if arguments.month_only:
        with tempfile.TemporaryDirectory() as name:
            finish("alerts", thirty_nights(Path(name) / "month"))
    with tempfile.TemporaryDirectory() as name, running() as postgres:
        home = Path(name)
        with project(home / "plant", tables=prepared(postgres)) as made:
            first_night(made)
            bounds += [equal("messages of a good night", len(made.news()), 0)]
            bounds += database_scenes(made, postgres, nights=arguments.nights)
            bounds += half_copied(made)
            bounds += failed_check(made)
            bounds += killed_command(made)
            bounds += calls(made)
            if not arguments.without_ui:
                bounds += killed_in_the_ui(made)
        bounds += emptied_questions(home / "measured")
        bounds += full_disk(home / "small")
        bounds += thirty_nights(home / "month")
    finish("alerts", bounds)


if __name__ == "__main__":
    main()
