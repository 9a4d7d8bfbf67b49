"""A plugin of pytest for the run of each change: `make test`.

The longest files start first, and what the tests took is written to `durations.json`. Of what is
left to the night, the sweeps that guard a file which changed since the last green night run too,
the nearest first, while there is time for them.
"""

from collections.abc import Generator, Iterable

import pytest

from rag_assets_tests import durations, nightly
from rag_assets_tests.touched import (
    CHANGED,
    REPOSITORY,
    REST_OF_ROOM,
    Tree,
    UnknownCommitError,
    changed_files,
    touched,
)

SECONDS = 240.0
"""What sweeps of the night may take by day, by `durations.json`."""
STOPWATCH = "stopwatch"
_NEAR = pytest.StashKey[dict[str, int]]()


def pytest_configure(config: pytest.Config) -> None:
    """Look at what changed, and begin to count the time, in the first process alone."""
    if sent := getattr(config, "workerinput", None):
        config.stash[_NEAR] = sent["near"]
        return
    config.stash[_NEAR] = near_to_changes(nightly.last_green())
    config.pluginmanager.register(durations.Stopwatch(), STOPWATCH)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    """Tell it each process of pytest-xdist, so that all choose the same tests."""
    node.workerinput["near"] = node.config.stash[_NEAR]


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Take from the night what guards the changes; the longest files of what is left first."""
    config.stash[nightly.BY_DAY] = guarding(items, near=config.stash[_NEAR], seconds=SECONDS)
    yield
    durations.put_longest_first(items)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what was left out."""
    night = nightly.last_green()
    since = f"the last green one was at {night:.10}" if night else "none is known to be green"
    terminalreporter.write_line(f"Sweeps and long searches are left to make nightly; {since}.")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write what the tests took, once all of them passed."""
    stopwatch = session.config.pluginmanager.get_plugin(STOPWATCH)
    if stopwatch and exitstatus == pytest.ExitCode.OK:
        stopwatch.write()


def near_to_changes(night: str | None) -> dict[str, int]:
    """Files of tests, and what changed since that night: how near each is to a change."""
    try:
        changed = changed_files(night, root=REPOSITORY) if night else []
    except UnknownCommitError:
        changed = []  # a clone without history: the next night looks at all
    places = touched(changed, Tree(REPOSITORY)).places if changed else {}
    return {**{str(file): CHANGED for file in changed}, **{str(f): p for f, p in places.items()}}


def guarding(items: list[pytest.Item], *, near: dict[str, int], seconds: float) -> set[str]:
    """The ids of tests of the night that guard a change, as many as there is time for."""
    places = {
        item.nodeid: _place(item.nodeid, mark.kwargs.get("guards", ()), near)
        for item in items
        if (mark := item.get_closest_marker(nightly.MARK))
    }
    known, taken = durations.known(), set()
    for node_id in sorted(places, key=lambda node_id: (places[node_id], node_id)):
        takes = known.get(durations.name_of(node_id), durations.UNKNOWN)
        if places[node_id] < REST_OF_ROOM and takes <= seconds:
            taken.add(node_id)
            seconds -= takes
    return taken


def _place(node_id: str, guards: Iterable[str], near: dict[str, int]) -> int:
    if any(changed.startswith(guard) for guard in guards for changed in near):
        return CHANGED
    return near.get(node_id.partition("::")[0], REST_OF_ROOM)
