"""What is landed, and how landing is stopped."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import dlt
import pyarrow as pa
import pytest

from rag_assets.sources.landing import land
from rag_assets_tests.sources.conftest import Stopped


@dlt.resource(name="rows")
def rows() -> Iterator[pa.Table]:
    yield pa.table({"id": [1, 2]})


@pytest.mark.usefixtures("stoppable_run")
@pytest.mark.parametrize("stage", ["normalize/extracted", "load/normalized"])
def test_a_run_can_be_stopped_while_a_table_lands(stage, tmp_path):
    def stop_then() -> None:
        while not any((tmp_path / "pipelines" / "landing" / stage).glob("*")):
            time.sleep(0.0005)
        os.kill(os.getpid(), signal.SIGINT)

    watching = threading.Thread(target=stop_then, daemon=True)
    watching.start()
    with pytest.raises(Stopped):
        land([rows()], folder=tmp_path)
    watching.join()
