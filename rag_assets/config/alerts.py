"""The section `alerts`: who is told that something is wrong, and where.

A channel is a webhook (Slack, Teams, or plain JSON), a mail server, or a ping: a URL that is called
after each good nightly refresh, for a service that raises the alarm when the call does not come.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeAlias, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from rag_assets.api import CustomChannel
from rag_assets.config.base import MOST_SECONDS, Section, Slug, duplicates
from rag_assets.config.custom import OrCustom

ProblemKind: TypeAlias = Literal[
    "source_unreadable",
    "source_shrank",
    "table_damaged",
    "check_failed",
    "index_stale",
    "promotion_held",
    "serving_lost",
    "units_failed",
    "documents_stale",
    "run_failed",
    "run_overlong",
    "asset_overdue",
]
"""The kinds of problems; the last three are told by Dagster's records, not by the state."""
ALL_KINDS: tuple[ProblemKind, ...] = get_args(ProblemKind)

Security: TypeAlias = Literal["starttls", "tls", "none"]
PORTS: Mapping[Security, int] = {"starttls": 587, "tls": 465, "none": 25}


def _web_address(value: SecretStr | None) -> SecretStr | None:
    if value is not None and not value.get_secret_value().startswith(("https://", "http://")):
        raise ValueError("give a URL that begins with https:// or http://")
    return value


def _one_line(value: str) -> str:
    if len(value.splitlines()) != 1:
        raise ValueError("give one line of text")
    return value


Line: TypeAlias = Annotated[str, AfterValidator(_one_line)]


class Channel(Section):
    """What all channels have."""

    name: Slug = Field(description="its type unless given")


class ProblemChannel(Channel):
    """A channel that is told of problems."""

    kinds: list[ProblemKind] = Field(
        list(ALL_KINDS), min_length=1, description="kinds of problems that are told here"
    )
    notices: list[str] = Field(
        [],
        description="users who are told here that an answer of theirs is another one by now; `*`: "
        "all of them, who gave no name too",
    )


class Webhook(ProblemChannel):
    """A URL that takes a message: of Slack, of a workflow of Teams, or of a program of your own."""

    type: Literal["slack", "teams", "json"]
    url: SecretStr = Field(description="its URL, a secret: ${NAME} of the environment")

    _url_is_one = field_validator("url")(_web_address)


class Email(ProblemChannel):
    """A mail server (SMTP)."""

    type: Literal["email"]
    host: Line = Field(description="name of the mail server")
    port: int | None = Field(
        None, gt=0, lt=65_536, description="587 unless given; tls 465, none 25"
    )
    security: Security = Field(
        "starttls", description="starttls, tls, or none: then nobody logs in"
    )
    user: str | None = Field(None, min_length=1, description="who logs in")
    password: SecretStr | None = Field(None, description="a secret: ${NAME} of the environment")
    sender: Line = Field(alias="from", description="address of the sender")
    to: list[Line] = Field(min_length=1, description="addresses of the receivers")

    @model_validator(mode="after")
    def _logs_in_safely(self) -> Self:
        if (self.user is None) != (self.password is None):
            raise ValueError("give both user and password, or none of them")
        if self.user is not None and self.security == "none":
            raise ValueError("a password needs security: starttls or tls")
        return self

    @property
    def port_or_default(self) -> int:
        """The port, or the usual one."""
        return self.port or PORTS[self.security]


class CustomAlerts(ProblemChannel):
    """A channel of somebody's own."""

    type: Literal["custom"]
    part: Annotated[str, OrCustom(CustomChannel)] = Field(description="module:NAME")


class Ping(Channel):
    """A dead man's switch: it raises the alarm when it is not called."""

    type: Literal["ping"]
    url: SecretStr = Field(description="called after each good nightly refresh")
    start_url: SecretStr | None = Field(None, description="called when one begins")
    fail_url: SecretStr | None = Field(None, description="called when one failed")

    _urls_are_some = field_validator("url", "start_url", "fail_url")(_web_address)


MessageChannel: TypeAlias = Webhook | Email | CustomAlerts
"""A channel that takes messages."""
AnyChannel: TypeAlias = Annotated[MessageChannel | Ping, Field(discriminator="type")]
CHANNELS: tuple[type[Channel], ...] = get_args(MessageChannel | Ping)


def _named(value: object) -> object:
    """A channel without a name has that of its type."""
    if not isinstance(value, list):
        return value
    for entry in value:
        if isinstance(entry, dict) and "type" not in entry:
            given = [get_args(one.model_fields["type"].annotation) for one in CHANNELS]
            types = [kind for kinds in given for kind in kinds]
            raise ValueError(f"each channel has a type: {', '.join(types[:-1])} or {types[-1]}")
    return [
        {"name": entry["type"], **entry} if isinstance(entry, dict) else entry for entry in value
    ]


class Alerts(Section):
    """Who is told that something is wrong."""

    ui_url: str | None = Field(
        None,
        pattern=r"^https?://\S+$",
        description="URL of the Dagster UI, for the links in messages",
    )
    overlong_seconds: int | None = Field(
        None,
        gt=0,
        le=MOST_SECONDS,
        description="a run that takes longer is a problem; unless given, one that takes three "
        "times as long as the longest of the last ten good ones, and more than an hour",
    )
    channels: Annotated[list[AnyChannel], BeforeValidator(_named)] = Field([])

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        if twice := duplicates(channel.name for channel in self.channels):
            raise ValueError(f"two channels are named {twice[0]}: give each a name of its own")
        return self

    @property
    def messages(self) -> list[MessageChannel]:
        """The channels that take messages."""
        return [channel for channel in self.channels if not isinstance(channel, Ping)]

    @property
    def pings(self) -> list[Ping]:
        """The channels that are called after a good refresh."""
        return [channel for channel in self.channels if isinstance(channel, Ping)]
