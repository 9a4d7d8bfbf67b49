"""A backfill that is killed at 90 % goes on at 90 %."""

import signal
import subprocess
import sys

import yaml

from rag_assets.config import Config
from rag_assets.store import Store
from rag_assets_testing.derived_models import save_static
from rag_assets_testing.embedding import refresh_rows
from rag_assets_testing.faults.pipeline import build_index
from rag_assets_tests.index.corpus import put_chunks, put_rows

ROWS, A_PART = 300, 10
BACKFILL = """\
import os, re, signal, sys
import yaml
from rag_assets.config import Config
from rag_assets.index import parts
from rag_assets_testing.embedding import refresh_rows
from rag_assets.store import Store

parts.UNITS_PER_PART = int(sys.argv[2])

def log(line):
    done = re.search(r"(\\d+) of (\\d+) done", line)
    if done and int(done[1]) >= 0.9 * int(done[2]):
        os.kill(os.getpid(), signal.SIGKILL)

config = Config.model_validate(yaml.safe_load(open(sys.argv[1])))
refresh_rows(Store(config.state_dir), config, variant="candidate", log=log)
"""


def test_a_killed_backfill_embeds_only_what_it_had_not_committed(tmp_path):
    static = {"path": str(save_static(tmp_path / "model", contextual=False)), "backend": "static"}
    settings = {
        "state_dir": str(tmp_path / "state"),
        "models": {"static": static, "short": static | {"dimensions": 64}},
        "variants": {"default": {"model": "static"}, "candidate": {"model": "short"}},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))
    config, store = Config.model_validate(settings), Store(tmp_path / "state")
    put_chunks(store, config, ["A document."])
    put_rows(store, config, [f"The steel of number {n} bears {7 * n} MPa." for n in range(ROWS)])
    build_index(config)

    command = [sys.executable, "-c", BACKFILL, str(tmp_path / "config.yaml"), str(A_PART)]
    killed = subprocess.run(command, check=False)
    assert killed.returncode == -signal.SIGKILL
    table = config.tables_of("candidate").rows
    committed = Store(tmp_path / "state").count(table)
    assert 0.9 * ROWS - 2 * A_PART <= committed < ROWS

    rest = refresh_rows(Store(tmp_path / "state"), config, variant="candidate", log=lambda _: None)
    assert rest.embedded == ROWS - committed
    assert store.count(table) == ROWS
