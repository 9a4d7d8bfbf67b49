"""What is landed, and how landing is stopped."""

import signal
from collections.abc import Iterator

import dlt
import pyarrow as pa
import pytest
from dlt.load import Load
from dlt.normalize import Normalize

from rag_assets.sources.landing import land
from rag_assets_tests.sources.conftest import Stopped


@dlt.resource(name="rows")
def rows() -> Iterator[pa.Table]:
    yield pa.table({"id": [1, 2]})


@pytest.mark.usefixtures("stoppable_run")
@pytest.mark.parametrize("step", [Normalize, Load])
def test_a_run_can_be_stopped_while_a_table_lands(step, tmp_path, monkeypatch):
    begin = step.run

    def stopped(self, pool):
        signal.raise_signal(signal.SIGINT)
        return begin(self, pool)

    monkeypatch.setattr(step, "run", stopped)
    with pytest.raises(Stopped):
        land([rows()], folder=tmp_path)
