"""Where the time of a command goes: clocks of nested parts, which its functions start and stop."""

from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import wraps
from types import ModuleType


class Clocks:
    """Seconds of nested parts by one clock; a part's own time leaves out those inside it."""

    def __init__(self, clock: Callable[[], float], *, rest: str, since: float) -> None:
        """Begin with the part called `rest`, as if since the time `since` of the clock."""
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._clock = clock
        self._running = [rest]
        self._since = since

    @contextmanager
    def part(self, name: str) -> Generator[None]:
        self._switch(lambda: self._running.append(name))
        try:
            yield
        finally:
            self._switch(self._running.pop)

    def watch(self, module: ModuleType, function: str, *, name: str) -> None:
        """Count what a function of a module does as `name` from now on."""
        setattr(module, function, self._timed(getattr(module, function), name))

    def stop(self) -> None:
        self._switch(lambda: None)

    def _timed(self, function: Callable, name: str) -> Callable:
        """`function` counted as `name`; what a generator does at each step as well."""

        @wraps(function)
        def call(*args: object, **options: object) -> object:
            with self.part(name):
                result = function(*args, **options)
            return self._steps(result, name) if isinstance(result, Generator) else result

        return call

    def _steps(self, results: Iterator, name: str) -> Iterator:
        while True:
            with self.part(name):
                try:
                    result = next(results)
                except StopIteration:
                    return
            yield result

    def _switch(self, change: Callable[[], object]) -> None:
        now = self._clock()
        self.seconds[self._running[-1]] += now - self._since
        self._since = now
        change()
