"""`rag-assets alerts test`: whether messages arrive."""

import argparse

from rag_assets.operations.alerts.dispatch import try_channels
from rag_assets.serving.commands.alerts.list import NO_CHANNEL
from rag_assets.serving.replies import FAILED, OK, Json, Reply, UsageError, project_of

SUMMARY = "send a test message to each channel"
EXAMPLES = """\
  rag-assets alerts test"""


def run(options: argparse.Namespace) -> Reply:
    """Try all channels; exit code 1 if one fails."""
    config, _ = project_of(options)
    if not config.alerts.channels:
        raise UsageError(NO_CHANNEL)
    answers = try_channels(config)
    lines = [f"{name}: {one.words}" for name, one in answers.items()]
    channels: dict[str, Json] = {
        name: {"accepted": one.accepted, "answer": one.answer, "lacking": one.lacking or None}
        for name, one in answers.items()
    }
    is_good = all(one.accepted and not one.lacking for one in answers.values())
    return Reply({"channels": channels}, "\n".join(lines), OK if is_good else FAILED)
