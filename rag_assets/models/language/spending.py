"""What the calls of one run used, and where they end."""

from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition, Lock

from rag_assets.config import BudgetSettings, TokenPrices
from rag_assets.models.language.calls import Completion, Outcome

MILLION = 1_000_000


def cost_of(
    price: TokenPrices | None, *, prompt_tokens: int, completion_tokens: int
) -> float | None:
    """What tokens cost; None without prices."""
    if price is None:
        return None
    read = prompt_tokens * price.per_million_prompt
    return (read + completion_tokens * price.per_million_completion) / MILLION


@dataclass(slots=True)
class Spending:
    """Sums over the calls of one run; safe to share between threads."""

    currency: str = ""
    """The currency of the prices; empty without prices."""
    calls: int = 0
    """Calls that were sent."""
    kept: int = 0
    """Calls that were made before: nothing was sent, nothing is added below."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    milliseconds: float = 0.0
    """The duration of all calls, one after the other."""
    cost: float = 0.0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    """How many calls, kept ones included, had which outcome."""
    within: "Spending | None" = None
    """The sums of a command, which these are a part of: see `noted`."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    def add(self, completion: Completion, *, was_sent: bool) -> None:
        """Count a call."""
        if self.within is not None:
            self.within.add(completion, was_sent=was_sent)
        with self._lock:
            self.outcomes[completion.outcome] += 1
            self.kept += completion.is_kept
            if was_sent:
                self.calls += 1
                self.prompt_tokens += completion.prompt_tokens
                self.completion_tokens += completion.completion_tokens
                self.milliseconds += completion.milliseconds
                self.cost += completion.cost or 0.0

    @property
    def tokens(self) -> int:
        """Read and written."""
        return self.prompt_tokens + self.completion_tokens

    def record(self) -> Mapping[str, int | float | str]:
        """What was spent, by names in plain words: metadata of an asset."""
        found: dict[str, int | float | str] = {
            "language model calls": self.calls,
            "language model calls kept from before": self.kept,
            "tokens read": self.prompt_tokens,
            "tokens written": self.completion_tokens,
            "language model seconds": round(self.milliseconds / 1_000, 3),
        }
        if self.currency:
            found[f"cost [{self.currency}]"] = round(self.cost, 6)
        failed = {name: count for name, count in self.outcomes.items() if name != "done"}
        return found | {f"calls {name}": count for name, count in sorted(failed.items())}


_NOTED: list[dict[str, Spending]] = []
"""What commands note that run in this process: one, as a rule."""


@contextmanager
def noted() -> Generator[Mapping[str, Spending]]:
    """What all language models that are opened inside use, by their name in the config."""
    found: dict[str, Spending] = {}
    _NOTED.append(found)
    try:
        yield found
    finally:
        _NOTED.pop()


def spending_of(name: str, currency: str) -> Spending:
    """The sums of a model that is opened now, counted into those of the command."""
    within = _NOTED[-1].setdefault(name, Spending(currency)) if _NOTED else None
    return Spending(currency, within=within)


class Budget:
    """Lets calls begin while there is something left: the call that reaches the end is the last.

    Calls that run side by side are counted with the most that they may use; while that might be too
    much, the next one waits until one of them has ended and it is known what it took.
    """

    def __init__(
        self, settings: BudgetSettings, spending: Spending, price: TokenPrices | None
    ) -> None:
        self._settings = settings
        self._spending = spending
        self._price = price
        self._running: list[tuple[int, int]] = []
        """For each call that runs, the tokens that it may read and write."""
        self._changed = Condition()

    @contextmanager
    def call(self, *, prompt_tokens: int, completion_tokens: int) -> Generator[str]:
        """A call that may read and write so many tokens, from before it is sent until it counts.

        Yields:
            Why it must not be sent; empty if it may.
        """
        most = (prompt_tokens, completion_tokens)
        with self._changed:
            while not (over := self._over([])) and self._running and self._over(self._running):
                self._changed.wait()
            if not over:
                self._running.append(most)
        try:
            yield over
        finally:
            if not over:
                with self._changed:
                    self._running.remove(most)
                    self._changed.notify_all()

    def _over(self, running: list[tuple[int, int]]) -> str:
        """The limit that is reached once calls that run have used all that they may, in words."""
        read, written = (sum(part) for part in zip(*running, strict=True)) if running else (0, 0)
        limit, most = self._settings.max_tokens, self._settings.max_cost
        if limit is not None and self._spending.tokens + read + written >= limit:
            return f"budget.max_tokens ({limit:,}) of this run is used up"
        more = cost_of(self._price, prompt_tokens=read, completion_tokens=written) or 0.0
        if most is not None and self._spending.cost + more >= most:
            return f"budget.max_cost ({most:g} {self._spending.currency}) of this run is used up"
        return ""
