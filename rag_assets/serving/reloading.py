"""Has a running Dagster UI load its definitions anew once the config changed, or what serves.

Dagster reads a code location once. Its web server is asked to reload through its public API; the
daemon follows within a minute. Runs that are going on go on with what they began with.
"""

from collections.abc import Callable
from pathlib import Path

from rag_assets.config import Config, load
from rag_assets.serving.dagster_instance import LOCATION
from rag_assets.serving.replies import CommandError
from rag_assets.store import Store
from rag_assets.store.serving_pointer import serving_variant


class Reloading:
    """Keeps the definitions of one UI up to date."""

    def __init__(self, host: str, port: int, *, file: Path, say: Callable[[str], None]) -> None:
        """The UI at `host` and `port` shows the config in `file` as it is now."""
        self._host, self._port, self._file, self._say = host, port, file, say
        self._shown = self._now()
        self._problem = ""

    def look(self) -> None:
        """Reload if need be; where that fails, the UI stays as it is, and it is tried again."""
        from rag_assets.definitions import definitions

        problem = ""
        try:
            now = self._now()
            if now != self._shown:
                definitions(now[0])
                self._reload()
                self._shown = now
                self._say(f"The UI follows {self._file.name}; variant {now[1]} serves.")
        except Exception as error:  # whatever a config leads to that is being edited
            problem = str(error)
            if problem != self._problem:
                self._say(f"The UI keeps the config that it has: {problem}")
        self._problem = problem

    def _now(self) -> tuple[Config, str]:
        """The config, and the variant that serves."""
        config = load(self._file)
        return config, serving_variant(Store.of(config), config)

    def _reload(self) -> None:
        """Ask the web server.

        Raises:
            CommandError: It cannot reload.
        """
        from dagster_graphql import DagsterGraphQLClient

        client = DagsterGraphQLClient(self._host, port_number=self._port)
        if reason := client.reload_repository_location(LOCATION).message:
            raise CommandError(reason)
