"""Nightly runs of a graph with one asset, recorded by a real instance of Dagster."""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg

from rag_assets.config import Config
from rag_assets.findings.finding import Finding
from rag_assets.operations.alerts.dispatch import Teller
from rag_assets.operations.problems.runs import NIGHTLY_JOB
from rag_assets.serving import dagster_instance
from rag_assets_testing.alert_servers import Web
from rag_assets_testing.dagster_records import make_ready

VARIANTS = dg.StaticPartitionsDefinition(["default", "other"])


class BrokenError(Exception):
    """What a night fails with."""


def config_of(state: Path, channels: Sequence[dict[str, object]], **alerts: object) -> Config:
    """A config with these channels."""
    return Config.model_validate(
        {
            "state_dir": state,
            "variants": {"default": {}, "other": {"serializer": "json"}},
            "alerts": {"channels": channels, **alerts},
        }
    )


@dataclass
class Nights:
    """Runs, one after the other."""

    config: Config
    instance: dg.DagsterInstance
    log: list[str] = field(default_factory=list)

    def run(
        self,
        *,
        error: BaseException | None = None,
        variant: str = "default",
        job: str = NIGHTLY_JOB,
        tags: dict[str, str] | None = None,
    ) -> str:
        """A run that ends well, or with `error`; returns its id."""

        @dg.asset(partitions_def=VARIANTS)
        def joint_index() -> None:
            if error:
                raise error

        made = dg.Definitions(
            assets=[joint_index], jobs=[dg.define_asset_job(job, selection=[joint_index])]
        )
        result = made.resolve_job_def(job).execute_in_process(
            instance=self.instance, partition_key=variant, tags=tags, raise_on_error=False
        )
        return result.run_id

    def fail(self, text: str = "it broke", **options: str) -> str:
        """A run that fails."""
        return self.run(error=BrokenError(text), **options)

    def begin(self, *, seconds_ago: float = 0, tags: dict[str, str] | None = None) -> str:
        """A run that began so long ago and goes on; returns its id."""

        @dg.asset(partitions_def=VARIANTS)
        def joint_index() -> None:
            """It is not executed."""

        made = dg.Definitions(
            assets=[joint_index], jobs=[dg.define_asset_job(NIGHTLY_JOB, selection=[joint_index])]
        )
        run = self.instance.create_run_for_job(
            made.resolve_job_def(NIGHTLY_JOB), tags={"dagster/partition": "default", **(tags or {})}
        )
        self.instance.handle_new_event(_started(run, at=time.time() - seconds_ago))
        return run.run_id

    def tell(self, *, config: Config | None = None, failure: Finding | None = None) -> None:
        """What the sensor does every minute, and a command when it ends."""
        Teller(config or self.config, log=self.log.append).tell(self.instance, failure=failure)


def _started(run: dg.DagsterRun, *, at: float) -> dg.EventLogEntry:
    """The event that a run has started."""
    event = dg.DagsterEvent(dg.DagsterEventType.RUN_START.value, run.job_name, message="started")
    return dg.EventLogEntry(
        error_info=None,
        level=logging.INFO,
        user_message="",
        run_id=run.run_id,
        timestamp=at,
        job_name=run.job_name,
        dagster_event=event,
    )


@contextmanager
def nights(config: Config) -> Iterator[Nights]:
    """Nights in the instance of the state folder, as the command line and the daemon open it."""
    make_ready(config)
    with dagster_instance.opened(config) as instance:
        yield Nights(config, instance)


def told(web: Web, path: str = "/hook") -> list[tuple[list[str], list[str]]]:
    """The messages that arrived: the subjects of problems and of what was resolved."""
    return [
        (
            [one["subject"] for one in request.json["problems"]],
            [one["subject"] for one in request.json["resolved"]],
        )
        for request in web.at(path)
    ]
