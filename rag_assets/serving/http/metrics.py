"""Counters for Prometheus: requests, seconds by stage, and how old what is served is."""

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from rag_assets.config import Config
from rag_assets.sources.readability import readability
from rag_assets.store import Store

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The counters of one process."""

    def __init__(self, config: Config) -> None:
        """Count nothing yet; the freshness of sources is read when it is asked for."""
        self._config = config
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "rag_assets_requests", "Requests.", ["route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "rag_assets_request_seconds",
            "Seconds of a request.",
            ["route"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._stages = Histogram(
            "rag_assets_stage_seconds",
            "Seconds of a stage of a search or an answer.",
            ["stage"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self.running = Gauge(
            "rag_assets_requests_running", "Requests in work.", registry=self._registry
        )
        self.waiting = Gauge(
            "rag_assets_requests_waiting", "Requests that wait.", registry=self._registry
        )

    def request(self, route: str, *, status: int, seconds: float) -> None:
        """Count a request that ended."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def stages(self, seconds: Mapping[str, float]) -> None:
        """Count the stages of a search or an answer."""
        for stage, took in seconds.items():
            self._stages.labels(stage).observe(took)

    def text(self, sources: Collection[str]) -> bytes:
        """All of them in the text format of Prometheus, and the freshness of some sources."""
        freshness = CollectorRegistry()
        freshness.register(_Freshness(self._config, sources))
        return generate_latest(self._registry) + generate_latest(freshness)


class _Freshness(Collector):
    """When each of some sources was last read in full."""

    def __init__(self, config: Config, sources: Collection[str]) -> None:
        self._config, self._sources = config, sources

    def collect(self) -> Iterator[Metric]:
        """One gauge, a line for each source that was ever read."""
        store = Store.of(self._config)
        family = GaugeMetricFamily(
            "rag_assets_source_age_seconds", "Since a source was read in full.", labels=["source"]
        )
        now = datetime.now(UTC)
        for name in sorted(self._sources):
            found = readability(store, name)
            times = [each.last_read for each in (found.whole, *found.parts.values())]
            if read := max(filter(None, times), default=None):
                family.add_metric([name], (now - read).total_seconds())
        yield family
