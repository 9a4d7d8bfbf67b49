"""The commands of README, and of the first list of the docs, run as they stand there."""

import http.server
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from rag_assets.serving import cli
from rag_assets_testing.ports import free_port

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
ACTIVATE = "source .venv/bin/activate"
OWN_DATA = "mkdir -p ~/index && cd ~/index"
ELSEWHERE = {"make test"}
"""What these tests are run by themselves."""
HELD = NOTHING_TO_GO_BACK_TO = 1
PARTLY = 3
STOPPED = 128 + signal.SIGTERM
CODES = {"rag-assets refresh": PARTLY, "rag-assets status": PARTLY}
"""What ends with another code than 0 as a file with a password lies among the documents."""
MARK = "=== "
ANY_ID = (
    "ID=$(rag-assets search %s --top-k 1 --json | grep -oE '[0-9a-f]{8}-[0-9a-f-]{27}' | head -1)"
)
CHANNEL = "alerts: {channels: [{type: json, url: 'http://127.0.0.1:%d/'}]}"


def commands_in(text: str) -> list[str]:
    """The lines of all blocks for a shell, then the commands that stand in sentences and tables."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line for kind, block in blocks if kind in ("", "sh") for line in block.splitlines()]
    in_blocks = [
        line.removeprefix("$ ").partition("  #")[0].strip()
        for line in lines
        if re.match(r"(\$ |make |source |mkdir |rag-assets )", line)
    ]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [*in_blocks, *re.findall(r"`((?:rag-assets|make) [a-z][^`]*)`", prose)]


COMMANDS = commands_in(README)
START, _, _ = (ROOT / "docs/README.md").read_text("utf-8").partition("**choose")


def without_demo() -> list[str]:
    """What README says of one's own data, from the folder to the UI."""
    return COMMANDS[COMMANDS.index(OWN_DATA) : COMMANDS.index("rag-assets ui") + 1]


def of_demo() -> list[str]:
    """What it says of the demo, in blocks and in sentences."""
    own = without_demo()
    others = [each for each in dict.fromkeys(COMMANDS) if each not in own]
    return [each for each in others if each not in ELSEWHERE]


@pytest.mark.parametrize("command", [*COMMANDS, *commands_in(START)])
def test_each_command_is_one(command):
    targets = re.findall(r"^(\w+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for part in re.split(r" && |; ", command):
        program, *words = [word.strip("\"'") for word in re.findall(r'"[^"]*"|\S+', part)]
        if program == "make":
            assert words[0] in targets
        elif program == "rag-assets" and words != ["--help"] and words[-1] != "--help":
            needed = {"init": ["--documents", "x"]} if len(words) == 1 else {}
            given = cli.spelled_now([*words, *needed.get(words[0], [])])
            assert cli.parser(given).parse_args(given).run
        else:
            assert program in ("rag-assets", "source", "mkdir", "cd")


@pytest.mark.parametrize("command", commands_in(START))
def test_what_the_docs_begin_with_is_run_as_readme_has_it(command):
    assert any(each.startswith(command) for each in [*without_demo(), *of_demo()])


def test_the_command_is_made_known_before_it_is_used():
    uses = [place for place, each in enumerate(COMMANDS) if each.startswith("rag-assets")]

    assert COMMANDS.index(ACTIVATE) < uses[0]


@dataclass(frozen=True)
class Shell:
    """A shell that knows where the system keeps its programs, and nothing else."""

    home: Path
    folder: Path

    def run(self, lines: Sequence[str], *, seconds: int) -> dict[str, tuple[int, str]]:
        """Exit code and output of each line, one after the other."""
        script = "\n".join(f"{line} 2>&1\necho '{MARK}'$?" for line in lines)
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", script],
            cwd=self.folder,
            env={
                "HOME": str(self.home),
                "PATH": "/usr/bin:/bin",
                "PYTHONPATH": str(ROOT),
                "RAG_ASSETS__GATE__QUERIES": "50",  # known items, of 500: half of what a gate takes
            },
            timeout=seconds,
            check=False,
            capture_output=True,
            text=True,
        )
        parts = re.split(rf"^{MARK}(\d+)\n", done.stdout, flags=re.MULTILINE)
        assert len(parts) == 2 * len(lines) + 1, done.stdout + done.stderr
        codes, said = map(int, parts[1::2]), parts[0::2]
        return dict(zip(lines, zip(codes, said, strict=False), strict=True))


@pytest.fixture
def shell(tmp_path) -> Shell:
    """In a copy of the project with a handbook and a database in the home folder."""
    if sys.prefix == sys.base_prefix:
        pytest.skip("needs the environment that make install makes")
    home, project = tmp_path / "home", tmp_path / "project"
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in filter(None, files.stdout.split("\0")):
        if not name.startswith("rag_assets_tests") and (ROOT / name).is_file():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, project / name)
    environment = project / ".venv"
    environment.mkdir()
    for each in Path(sys.prefix).iterdir():
        (environment / each.name).symlink_to(each)
    (environment / "installed").unlink(missing_ok=True)
    (environment / "installed").touch()  # as make install leaves it
    make_own_data(home)
    return Shell(home, project)


def make_own_data(home: Path) -> None:
    """A handbook with a file that has a password, a database, and questions of one's own."""
    offers = home / "handbook/offers"
    offers.mkdir(parents=True)
    (home / "handbook/coatings.md").write_text(
        "# Coatings\n\n## Cab sheet\n\nThe minimum coating thickness on cab sheet is 80 µm.\n"
    )
    (home / "handbook/repair.md").write_text(
        "# Repair\n\nA scratch is repaired with zinc paint within 24 hours.\n"
    )
    (offers / "locked.pdf").write_bytes(b"%PDF-1.7\nnothing more came")
    with sqlite3.connect(home / "lab.db") as database:
        database.execute("CREATE TABLE coatings (id INTEGER PRIMARY KEY, coating TEXT, cost REAL)")
        database.execute("ALTER TABLE coatings ADD COLUMN salt_spray_hours INTEGER")
        rows = [("KTL", 4.2, 720), ("zinc flake", 6.5, 960), ("powder", 3.1, 500)]
        database.executemany(
            "INSERT INTO coatings (coating, cost, salt_spray_hours) VALUES (?, ?, ?)", rows
        )
        database.execute("CREATE TABLE parts (id INTEGER PRIMARY KEY, part TEXT, coating TEXT)")
        database.execute("INSERT INTO parts VALUES (1, 'bracket', 'KTL')")
    index = home / "index"
    index.mkdir()
    asked = {
        "coatings": "How thick is the coating on cab sheet?",
        "repair": "When is a scratch repaired?",
    }
    questions = (
        {"id": name, "question": question, "gold": [f"doc:{name}.md"], "split": "test"}
        for name, question in asked.items()
    )
    (index / "questions.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in questions))


@contextmanager
def channel() -> Iterator[int]:
    """The port of a place that takes alerts."""

    class Taking(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.HTTPServer(("127.0.0.1", 0), Taking)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()


def served(command: str, *, port: int, option: str = "--port ", path: str = "") -> str:
    """A line that starts a server, waits until it answers and stops it."""
    answers = (
        f"import urllib.request as u; u.urlopen('http://127.0.0.1:{port}/{path}', timeout=9).read()"
    )
    return (
        f'{command} {option}{port} & until .venv-python -c "{answers}" 2>/dev/null; '
        f"do kill -0 $! || break; sleep 1; done; kill $!; wait $! || test $? -eq {STOPPED}"
    ).replace(".venv-python", sys.executable)


def test_a_new_shell_knows_the_command_and_a_project_begins(shell):
    begun = [ACTIVATE, "rag-assets --help", *without_demo()[:2], "rag-assets status"]

    done = shell.run(begun, seconds=300)

    assert {line: code for line, (code, _) in done.items() if code} == {}
    assert (shell.home / "index/rag_assets.yaml").exists()


@pytest.mark.nightly(guards=["README.md", "rag_assets/serving/commands", "Makefile"])
def test_all_that_readme_says_of_own_data_runs(shell):
    with channel() as port:
        lines = [ACTIVATE]
        for line in without_demo():
            if line in ("rag-assets serve", "rag-assets ui"):
                path = "server_info" if line.endswith("ui") else "healthz"
                lines.append(served(line, port=free_port(), path=path))
            elif "show ID" in line:
                lines += [ANY_ID % "coating", line.replace("ID", "$ID")]
            else:
                lines.append(line)
            if line.startswith("rag-assets init"):
                lines.append(f'echo "{CHANNEL % port}" >> rag_assets.yaml')
        done = shell.run(lines, seconds=3_000)

    wrong = {line: each for line, each in done.items() if each[0] != CODES.get(line, 0)}
    assert wrong == {}
    answer = done['rag-assets ask "Which coating has the highest cost?"'][1]
    assert "zinc flake" in answer
    assert "not an answer" not in answer
    assert (shell.home / "index/coatings.docx").exists()
    assert (shell.home / "index/parts.parquet").exists()


@pytest.mark.nightly(guards=["README.md", "Makefile"])
def test_all_that_readme_says_of_the_demo_runs(shell):
    lines = [of_demo()[0], ACTIVATE, ANY_ID % "weld"]
    for line in of_demo()[1:]:
        if line in ("make serve", "make ui") or line.startswith("make ui PORT"):
            program = " ".join(line.split()[:2])
            path = "server_info" if program.endswith("ui") else "healthz"
            lines.append(served(program, port=free_port(), option="PORT=", path=path))
        elif line != ACTIVATE:
            lines.append(line.replace("show ID", "show $ID"))
    done = shell.run(lines, seconds=7_000)

    wrong = {line: each for line, each in done.items() if each[0]}
    assert {line: code for line, (code, _) in wrong.items()} == {
        "rag-assets variants backfill english && rag-assets variants promote english": HELD,
        "rag-assets variants rollback": NOTHING_TO_GO_BACK_TO,
    }
