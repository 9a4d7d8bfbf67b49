"""Look what is wrong, compare it with what was told, and tell what changed.

The daemon does this every minute, a command when it ends. Both share the record and take turns, so
that a change is told once. Nothing here stops a refresh: an error is a line of the log.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.answering.record.notices import Notices
from rag_assets.config import Config, MessageChannel, ProblemKind, redacted
from rag_assets.findings.finding import Finding
from rag_assets.operations.alerts import channels
from rag_assets.operations.alerts.channels import Delivery, Signal
from rag_assets.operations.alerts.messages import message_of, message_of_notices, trial_message
from rag_assets.operations.alerts.record import (
    RUN_KINDS,
    AlertRecord,
    Change,
    ChannelRecord,
    RecordFile,
)
from rag_assets.operations.problems.current import state_problems
from rag_assets.operations.problems.runs import (
    RUN_REMEDY,
    healed_failures,
    is_history,
    is_running,
    name_of_nightly,
    newest_nightly,
    run_problems,
)
from rag_assets.store import Store
from rag_assets.store.serving_pointer import serving_variant

if TYPE_CHECKING:
    import dagster as dg

CAUSES: frozenset[ProblemKind] = frozenset(
    {"table_damaged", "check_failed", "run_failed", "run_overlong"}
)
"""Kinds of problems each of which keeps the index and its assets from being brought up to date."""
SECONDS_TO_SETTLE = 3_600
"""A run changes what is wrong while it goes on: one that is younger is waited for."""
FIRST_WAIT, LONGEST_WAIT = timedelta(minutes=2), timedelta(hours=1)
"""Until a channel that gave no answer is tried again; each wait is twice the last one."""
MOST_DOUBLED = 10
SIGNALS: Mapping[str, Signal] = {"SUCCESS": "good", "FAILURE": "failed", "STARTED": "started"}
"""What a ping is called for, by the status of the nightly run."""


class Teller:
    """Tells the channels of one config."""

    def __init__(
        self, config: Config, *, log: Callable[[str], None], file: RecordFile | None = None
    ) -> None:
        """Keep the record in the state folder.

        Args:
            config: Names the channels.
            log: Receives a line for each message, and for what went wrong with one.
            file: The record; whoever tells again and again keeps it, for the time in which the
                disk cannot be written.
        """
        self._config = config
        self._log = log
        self._file = file or RecordFile(config.state_dir)

    def tell(
        self, instance: "dg.DagsterInstance | None", *, failure: Finding | None = None
    ) -> None:
        """Tell what changed since the last look.

        Args:
            instance: Dagster's records; None if they cannot be opened: then what they told last
                still counts.
            failure: Of a command (see `failed_command`), if Dagster may have no run of it.
        """
        if not self._config.alerts.channels:
            return
        with self._turn():
            before = self._file.read()
            record = _noting(before, failure) if failure else before
            instance, is_settled = self._settled(instance)
            if is_settled:
                record = self._looked(record, instance)
            record = self._pinged_for(record, instance)
            # Before anything is sent: what is killed on the way tells a change once more, and never
            # not at all.
            if record != before:
                self._file.write(record)
            if due := [one for one in self._channels if _is_due(self._of(one, record))]:
                record = self._delivered(record, due)
                self._file.write(record)
            self._tell_notices(record)

    def _tell_notices(self, record: AlertRecord) -> None:
        """Tell of answers that changed those channels that are for who asked.

        A message that is killed on its way is sent once more; the ids in it are the same.
        """
        notices = Notices.of(Store.of(self._config))
        for channel in filter(lambda each: each.notices, self._channels):
            told = self._of(channel, record)
            users = None if "*" in channel.notices else channel.notices
            waiting = notices.found(users=users, unseen=True, channel=channel.name)
            while waiting and not _is_left(told):
                message, count = message_of_notices(waiting, names=self._config.dagster)
                delivery = channels.deliver(message, channel)
                said = f"{channel.name}: {message.title}"
                if not delivery.accepted:
                    self._log(f"alerts: {said}: tried again later: {delivery.answer}")
                    told = _after_failure(told, delivery)
                    record = replace(record, channels={**record.channels, channel.name: told})
                    self._file.write(record)
                    break
                notices.mark_told(waiting[:count], channel.name)
                self._log(f"alerts: {said}")
                waiting = waiting[count:]

    def nightly_began(self, run_id: str) -> None:
        """Call the pings that want to know when a refresh begins."""
        if not self._config.alerts.pings:
            return
        with self._turn():
            self._file.write(self._pinged(self._file.read(), run_id, "started"))

    @contextmanager
    def _turn(self) -> Generator[None]:
        """One process at a time; an error is a line of the log."""
        try:
            with _alone(self._config.state_dir):
                yield
        except Exception as error:  # whatever it was: a refresh does not end with it
            self._log(f"alerts: {type(error).__name__}: {redacted(str(error))}")

    def _settled(
        self, instance: "dg.DagsterInstance | None"
    ) -> tuple["dg.DagsterInstance | None", bool]:
        """Dagster's records, if they can be read, and whether no run is changing things now."""
        if instance is None:
            return None, True
        try:
            return instance, not is_running(
                instance, self._config, within_seconds=SECONDS_TO_SETTLE
            )
        except Exception as error:  # on a full disk its databases cannot be read either
            self._log(f"alerts: Dagster's records cannot be read: {redacted(str(error))}")
            return None, True

    @property
    def _channels(self) -> list[MessageChannel]:
        return self._config.alerts.messages

    def _of(self, channel: MessageChannel, record: AlertRecord) -> ChannelRecord:
        """What `channel` was told; to one that is new, everything open is news."""
        new = [Change(problem) for problem in record.open if problem.kind in channel.kinds]
        return record.channels.get(channel.name, ChannelRecord(waiting=new))

    def _looked(self, record: AlertRecord, instance: "dg.DagsterInstance | None") -> AlertRecord:
        """`record` with what is open now, and each channel's share of what changed."""
        noted = [one for one in record.noted if not _has_run_since(instance, self._config, one)]
        seen = open_problems(self._config, instance, before=record.open, log=self._log)
        found: dict[str, Finding] = {}
        for problem in (*seen, *noted):
            found.setdefault(problem.key, problem)
        now = datetime.now(UTC)
        dated = list(record.dated(found.values(), now=now))
        changes = [
            change
            for change in record.changes(dated, now=now)
            if not (
                change.ended and instance and is_history(instance, self._config, change.problem)
            )
        ]
        news = [*self._unseen(record, instance), *changes]
        told = {one.name: _with(news, one, self._of(one, record)) for one in self._channels}
        looked = replace(record, open=dated, noted=noted, channels=told)
        return replace(looked, looked_at=now) if looked != record else record

    def _unseen(
        self, record: AlertRecord, instance: "dg.DagsterInstance | None"
    ) -> Iterator[Change]:
        """What began and ended since the last look."""
        if instance is None or record.looked_at is None:
            return
        known = {problem.key for problem in record.open}
        for problem, ended in healed_failures(instance, self._config, after=record.looked_at):
            if problem.key not in known:
                yield Change(problem)
                yield Change(problem, ended=ended)

    def _delivered(self, record: AlertRecord, waiting: Sequence[MessageChannel]) -> AlertRecord:
        """Tell each of the channels what waits for it, all at the same time."""

        def attempt(channel: MessageChannel) -> Delivery:
            changes = self._of(channel, record).waiting
            settings = self._config
            message = message_of(changes, ui_url=settings.alerts.ui_url, names=settings.dagster)
            return channels.deliver(message, channel)

        with ThreadPoolExecutor(len(waiting)) as threads:
            deliveries = list(threads.map(attempt, waiting))
        told = dict(record.channels)
        for channel, delivery in zip(waiting, deliveries, strict=True):
            told[channel.name] = self._after(delivery, channel, self._of(channel, record))
        return replace(record, channels=told)

    def _after(
        self, delivery: Delivery, channel: MessageChannel, told: ChannelRecord
    ) -> ChannelRecord:
        """What `channel` was told after an attempt."""
        count = len(told.waiting)
        if not delivery.accepted:
            self._log(
                f"alerts: {channel.name} cannot be told of {_counted(count)} now and is "
                f"tried again: {delivery.answer}"
            )
            return _after_failure(told, delivery)
        lacking = f" ({delivery.lacking})" if delivery.lacking else ""
        self._log(f"alerts: {channel.name} was told of {_counted(count)}{lacking}")
        now, known = datetime.now(UTC), dict(told.told)
        for change in told.waiting:
            for key in change.problem.keys:
                if change.ended is None:
                    known[key] = now
                else:
                    known.pop(key, None)
        return ChannelRecord(told=known, failure=delivery.lacking)

    def _pinged_for(
        self, record: AlertRecord, instance: "dg.DagsterInstance | None"
    ) -> AlertRecord:
        """Call the pings for the newest nightly run, or for the failure of a command."""
        variant = serving_variant(Store.of(self._config), self._config)
        nightly = name_of_nightly(self._config, variant=variant)
        failed = [one for one in record.noted if one.subject == nightly]
        if failed:
            return self._pinged(record, failed[0].since.isoformat(), "failed")
        run = newest_nightly(instance, self._config, variant=variant) if instance else None
        signal = SIGNALS.get(run.dagster_run.status.value) if run else None
        if run is None or signal is None:
            return record
        return self._pinged(record, run.dagster_run.run_id, signal)

    def _pinged(self, record: AlertRecord, run: str, signal: Signal) -> AlertRecord:
        """`record` after each ping was called for `signal` of `run`, unless it was before.

        A ping that the record does not know is called from the next run on: nobody can tell
        whether it was called for this one.
        """
        said = f"{run} {signal}"
        calls = dict(record.pings)
        for ping in self._config.alerts.pings:
            known = calls.setdefault(ping.name, "" if signal == "started" else said)
            delivery = channels.call(ping, signal) if known != said else None
            if delivery is None or delivery.accepted:
                calls[ping.name] = said
            else:
                self._log(f"alerts: {ping.name} cannot be called now: {delivery.answer}")
        return replace(record, pings=calls)


def failed_command(reason: str, config: Config, *, variant: str) -> Finding:
    """The failure of a nightly refresh that a command should have done."""
    return Finding(
        "run_failed",
        name_of_nightly(config, variant=variant),
        since=datetime.now(UTC),
        reason=reason,
        remedy=RUN_REMEDY,
    )


def try_channels(config: Config) -> dict[str, Delivery]:
    """Send a test message to each channel; returns the answers, by name.

    A ping is not called: whoever waits for it would take that for a good refresh.
    """
    message = trial_message(ui_url=config.alerts.ui_url)
    answers = {one.name: channels.deliver(message, one) for one in config.alerts.messages}
    return answers | {one.name: Delivery(True, channels.NOT_CALLED) for one in config.alerts.pings}


def problems_of_runs(
    config: Config, instance: "dg.DagsterInstance | None", *, log: Callable[[str], None]
) -> list[Finding]:
    """What is wrong with runs and assets now, whether or not the config names a channel.

    Args:
        config: Describes the project.
        instance: Dagster's records; None if there are none, or they cannot be opened: then what was
            told last counts.
        log: Receives why they could not be looked at.
    """
    record = RecordFile(config.state_dir).read() if config.alerts.channels else AlertRecord()
    before = [one for one in record.open if one.kind in RUN_KINDS]
    found = _of_runs(config, instance, before=before, log=log)
    noted = [one for one in record.noted if not _has_run_since(instance, config, one)]
    known = {one.key: one for one in before}
    by_key = {one.key: known.get(one.key, one) for one in (*noted, *found)}
    return list(by_key.values())


def open_problems(
    config: Config,
    instance: "dg.DagsterInstance | None",
    *,
    before: Sequence[Finding] = (),
    log: Callable[[str], None],
) -> list[Finding]:
    """What is wrong now, without what only follows from another problem.

    Args:
        config: Describes the project.
        instance: Dagster's records; None if they cannot be opened.
        before: What was open at the last look. It counts as open still where nobody can look now.
        log: Receives why something could not be looked at.
    """
    of_state = [one for one in before if one.kind not in RUN_KINDS]
    of_runs = [one for one in before if one.kind in RUN_KINDS]
    try:
        of_state = state_problems(Store.of(config), config)
    except Exception as error:  # a store that cannot be read is told by the run that needs it
        log(f"alerts: the state cannot be looked at: {redacted(str(error))}")
    of_runs = _of_runs(config, instance, before=of_runs, log=log)
    return _without_consequences([*of_state, *of_runs], before=before)


def _of_runs(
    config: Config,
    instance: "dg.DagsterInstance | None",
    *,
    before: list[Finding],
    log: Callable[[str], None],
) -> list[Finding]:
    """What Dagster's records tell; what was open `before` where they cannot be read."""
    try:
        return run_problems(instance, config) if instance else before
    except Exception as error:  # on a full disk Dagster's databases cannot be read
        log(f"alerts: Dagster's records cannot be read: {redacted(str(error))}")
        return before


def _without_consequences(found: Sequence[Finding], *, before: Sequence[Finding]) -> list[Finding]:
    """`found` without problems that others explain, unless they were open before those were."""
    has_cause = any(one.kind in CAUSES for one in found)
    unreadable = {key for one in found if one.kind == "source_unreadable" for key in one.assets}
    known = {one.key for one in before}

    def is_consequence(one: Finding) -> bool:
        if one.kind == "asset_overdue":
            return has_cause or bool(unreadable.intersection(one.assets))
        return one.kind == "index_stale" and (has_cause or bool(unreadable))

    return [one for one in found if one.key in known or not is_consequence(one)]


def _noting(record: AlertRecord, failure: Finding) -> AlertRecord:
    """`record` with the failure of a command."""
    others = [one for one in record.noted if one.key != failure.key]
    return replace(record, noted=[*others, failure])


def _with(news: Iterable[Change], channel: MessageChannel, told: ChannelRecord) -> ChannelRecord:
    """What `channel` was told, with its share of `news` waiting."""
    mine = [change for change in news if change.problem.kind in channel.kinds]
    return replace(told, waiting=[*told.waiting, *mine])


def _is_due(told: ChannelRecord) -> bool:
    """Whether something waits, and a channel that gave no answer was left in peace for a while."""
    return bool(told.waiting) and not _is_left(told)


def _is_left(told: ChannelRecord) -> bool:
    """Whether a channel that gave no answer is left in peace for a while."""
    now = datetime.now(UTC)
    return told.again_at is not None and now < told.again_at <= now + LONGEST_WAIT


def _after_failure(told: ChannelRecord, delivery: Delivery) -> ChannelRecord:
    """What takes long to answer may have taken the message: it is not sent again every minute."""
    if not delivery.is_unanswered:
        return replace(told, failure=delivery.answer, unanswered=0, again_at=None)
    wait = min(FIRST_WAIT * 2**told.unanswered, LONGEST_WAIT)
    return replace(
        told,
        failure=delivery.answer,
        unanswered=min(told.unanswered + 1, MOST_DOUBLED),
        again_at=datetime.now(UTC) + wait,
    )


def _has_run_since(instance: "dg.DagsterInstance | None", config: Config, noted: Finding) -> bool:
    """Whether a run of the same work ended after the failure that was `noted`: it tells more."""
    if instance is None:
        return False
    runs = [
        newest_nightly(instance, config, variant=variant)
        for variant in config.variants
        if name_of_nightly(config, variant=variant) == noted.subject
    ]
    ended = [run for run in runs if run is not None and run.dagster_run.is_finished]
    return not runs or any(run.create_timestamp > noted.since for run in ended)


@contextmanager
def _alone(root: Path) -> Generator[None]:
    """One process at a time. Where no lock can be made, nothing else can be written either."""
    from filelock import FileLock

    place = root / "locks"
    lock = FileLock(place / "alerts.lock")
    with ExitStack() as stack:
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            stack.enter_context(lock)
        yield


def _counted(changes: int) -> str:
    return "1 change" if changes == 1 else f"{changes:,} changes"
