"""Recall at the end of a refresh or a promotion, which it never stops."""

import sqlite3
from collections.abc import Callable

from rag_assets.answering.record.recalling import Recalled, recall
from rag_assets.config import Config
from rag_assets.process.errors import ExplainedError
from rag_assets.store import Store

RECALL_NOTICES = "recall_notices"
UNREADABLE = (ExplainedError, sqlite3.Error, OSError)
"""What a file that is damaged or busy raises, and what serves that cannot be read."""

Log = Callable[[str], None]


def recall_after(store: Store, config: Config, *, log: Log) -> Recalled:
    """What `recall` does. Kept answers that cannot be read stop nothing: the next one goes on."""
    try:
        done = recall(store, config, log=log)
    except UNREADABLE as error:
        done = Recalled(why_not=f"kept answers cannot be compared: {error}")
    log(in_words(done))
    return done


def news_of(done: Recalled) -> str:
    """What the end of a refresh says of it; empty where nobody is told anything."""
    if not done.told:
        return ""
    answers = (
        "1 kept answer is another one"
        if done.told == 1
        else f"{done.told:,} kept answers are others"
    )
    return f"{answers} now: `rag-assets answers notices` shows them."


def in_words(done: Recalled) -> str:
    """What a recall did, in a sentence."""
    if done.why_not:
        return f"No kept answer was compared: {done.why_not}."
    left = f"; {done.left:,} are left for the next refresh" if done.left else ""
    return (
        f"Of {done.compared:,} kept answers, {done.touched:,} rest on what changed, and "
        f"{done.told:,} are another answer now{left}."
    )
