"""The job `plan` shows at each asset what a refresh would do to it."""

import dagster as dg

from rag_assets.operations.jobs import plan_job
from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh


def test_each_asset_is_told_what_would_be_done_to_it_and_why(tmp_path):
    made = project.make(tmp_path)
    with hashing():
        refresh(made.config)
        made.write("new.md", project.report(20))
        with dg.DagsterInstance.ephemeral() as instance:
            done = plan_job(made.config).execute_in_process(instance=instance)
            records = instance.fetch_observations(
                dg.AssetRecordsFilter(
                    asset_key=dg.AssetKey("parsed_documents"), asset_partitions=["default"]
                ),
                limit=1,
            ).records
    assert done.success
    observed = records[0].asset_observation
    assert observed is not None
    assert observed.metadata["documents to add"].value == "1"
    assert observed.metadata["documents to change"].value == "0"
    assert "1 new" in str(observed.metadata["why"].value)
