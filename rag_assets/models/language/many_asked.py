"""A language model that is asked once for each of many things in one pass of a table.

A server that does not answer is given up after a few of them: the others wait for the next pass.
"""

from threading import Lock

from rag_assets.models.language.calls import Completion, Request
from rag_assets.models.language.client import LanguageModelClient

UNANSWERED_IN_A_ROW = 5
"""After so many requests without an answer, each with all its attempts, no other one is sent in
this pass."""
LOST = frozenset({"unavailable", "malformed"})
"""Outcomes of a call that a server did not answer, or answered with what is no answer."""
OF_INPUT = frozenset({"refused", "too_long"})
"""Outcomes of a call that another attempt would not change, though no model answered."""
NEXT = "tried again at the next refresh"


class ManyAsked:
    """Asks a model; gives up on a server that does not answer. Safe to share between threads."""

    def __init__(self, client: LanguageModelClient, *, things: str, retry: bool) -> None:
        """Ask nothing yet.

        Args:
            client: Who is asked.
            things: What it is asked about, such as `figures`.
            retry: Whether to ask again too what was answered before, and is of no use.
        """
        self.client = client
        self._things = things
        self._retry = retry
        self._unanswered = 0
        self._lock = Lock()

    def complete(self, request: Request) -> Completion:
        """The answer to one request, whatever becomes of it."""
        if self._unanswered >= UNANSWERED_IN_A_ROW:
            reason = (
                f"not sent, since the language model {self.client.name} did not answer for "
                f"{UNANSWERED_IN_A_ROW} {self._things} in a row"
            )
            return Completion("", None, "unavailable", reason)
        answer = self.client.complete(request, retry=self._retry)
        if not answer.is_kept:
            with self._lock:
                is_lost = answer.outcome in LOST and not answer.is_answered
                self._unanswered = self._unanswered + 1 if is_lost else 0
        return answer

    def left_line(self) -> str:
        """What is to be said of things that the budget left; empty where it left none."""
        left = self.client.spending.outcomes["over_budget"]
        name = self.client.name
        return (
            f"the budget of the language model {name} is used up: {left:,} {self._things} are left "
            "for the next refresh"
            if left
            else ""
        )


def blame_of(answer: Completion) -> tuple[bool, str]:
    """Whether a failed call lies at what was asked, as the model would say the same again; why."""
    is_of_input = answer.is_answered or answer.outcome in OF_INPUT
    return is_of_input, answer.reason if is_of_input else f"{answer.reason}; {NEXT}"
