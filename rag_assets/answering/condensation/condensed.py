"""A question that needs no history: what the rules and a language model make of a follow-up."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Condensed:
    """A question that needs no history."""

    question: str
    """What is searched and looked up."""
    is_follow_up: bool
    """Whether anything was carried over."""
    note: str = ""
    """Why the rules made it although a language model was asked; else empty."""
