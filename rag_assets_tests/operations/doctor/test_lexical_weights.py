"""The doctor looks at lexical weights as it looks at vectors."""

import numpy as np
import pyarrow as pa
import pytest

from rag_assets.graph import STEPS
from rag_assets.operations.doctor.table_scan import census_of
from rag_assets.store import Store
from rag_assets_tests.index.corpus import VARIANT
from rag_assets_tests.index.test_sparse_index import config, m3  # noqa: F401


@pytest.mark.parametrize(
    ("given", "is_bad"), [(0.5, False), (0.0, True), (float("nan"), True), (float("inf"), True)]
)
def test_a_spoiled_weight_spoils_its_unit_and_another_one_differs(
    tmp_path,
    config,  # noqa: F811
    given,
    is_bad,
):
    step = STEPS.of_variant(config, VARIANT)["chunk_vectors"]
    whole = Store(config.state_dir)
    rows = whole.read(step.table)
    weights = rows["sparse"].to_pylist()
    weights[3][0]["weight"] = given
    place = rows.schema.get_field_index("sparse")
    edited = rows.set_column(
        place, rows.schema.field(place), pa.array(weights, rows.schema.field(place).type)
    )
    copy = Store(tmp_path / "copy")
    copy.append(step.table, edited, schema=rows.schema)

    before, after = census_of(whole, step), census_of(copy, step)
    assert not np.isnan(before.length).any()
    assert np.flatnonzero(np.isnan(after.length)).tolist() == ([3] if is_bad else [])
    assert np.flatnonzero(before.vector != after.vector).tolist() == [3]
