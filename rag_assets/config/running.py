"""The sections of operation: `serving`, `schedule`, `execution` and `clean_up`."""

import re
from ipaddress import ip_address, ip_network
from typing import Literal, Self, TypeAlias

from pydantic import Field, JsonValue, field_validator, model_validator

from rag_assets.config.base import MOST_SECONDS, ExtendedSection, Section, Slug

SECONDS_A_DAY = 86_400
LONGEST_RUN = SECONDS_A_DAY
"""The longest run in seconds: by then the next nightly run is due."""
MOST_DAYS = 36_500
"""Longest time for which something is kept: a hundred years, which every calendar knows."""

ExecutionPlace: TypeAlias = Literal["in_process", "processes", "ray"]


class Proxy(Section):
    """A proxy before the server, whose headers are believed."""

    addresses: tuple[str, ...] = Field(
        min_length=1, description="its addresses or networks: from others no header is believed"
    )
    user_header: str | None = Field(
        None, description="its header with the name of who logged in there; none: keys alone count"
    )
    groups_header: str | None = Field(
        None, description="its header with their groups, separated by commas"
    )
    scopes: tuple[Literal["read", "feedback", "label"], ...] = Field(
        ("read", "feedback"), description="what those may do who logged in there"
    )

    @field_validator("addresses")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            try:
                ip_network(each)
            except ValueError as error:
                raise ValueError(
                    f"{each} is no address or network such as 127.0.0.1 or 10.1.0.0/16"
                ) from error
        return value

    @model_validator(mode="after")
    def _groups_are_of_users(self) -> Self:
        if self.groups_header and not self.user_header:
            raise ValueError("groups_header: give user_header too, or nobody is in these groups")
        return self

    def is_at(self, address: str) -> bool:
        """Whether an address is one of its own."""
        try:
            found = ip_address(address)
        except ValueError:
            return False
        plain = getattr(found, "ipv4_mapped", None) or found
        return any(plain in ip_network(each) for each in self.addresses)


class Serving(Section):
    """What answers queries."""

    variant: Slug | None = Field(None, description="the first variant unless given")
    root_path: str = Field(
        "", description="the path below which a proxy shows the page and the API, such as /rag"
    )
    public_url: str = Field(
        "", description="where people open the page: citations of agents lead there"
    )
    proxy: Proxy | None = Field(None, description="a proxy before the server")

    @field_validator("root_path")
    @classmethod
    def _begins_with_a_slash(cls, value: str) -> str:
        if not re.fullmatch(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*", value):
            raise ValueError(
                "not a path such as /rag: / and a name of letters, digits, -, _, . and ~, no / last"
            )
        return value

    @field_validator("public_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        if value and not re.fullmatch(r"https?://[^\s/@?#]+(/[^\s@?#]*[^\s@?#/])?", value):
            raise ValueError("not an address such as https://search.example.com/rag, no / last")
        return value


class Schedule(Section):
    """When the nightly refresh runs."""

    cron: str = "0 2 * * *"
    timezone: str = "UTC"
    sensor_seconds: int = Field(
        300, ge=30, le=SECONDS_A_DAY, description="how often sources are looked at"
    )

    @field_validator("timezone")
    @classmethod
    def _timezone_exists(cls, value: str) -> str:
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # the last: a folder of them
            raise ValueError("not an IANA time zone such as Europe/Stockholm") from error
        return value


class Execution(Section):
    """Where documents are parsed and texts embedded; the result is the same everywhere."""

    parsing: ExecutionPlace = Field(
        "processes",
        description="worker processes, with limits of time and memory, here or on a Ray cluster; "
        "in_process has no limits",
    )
    embedding: ExecutionPlace = Field(
        "in_process", description="this process uses all cores and GPUs; the others are for more"
    )
    workers: int | None = Field(
        None,
        gt=0,
        description="most processes (one for each core, up to 4) or Ray workers (what fits)",
    )
    ray_address: str | None = Field(
        None,
        pattern=r"^(auto|[^/\s]+:\d+)$",
        description="of the Ray cluster that this machine is a node of: auto, or HOST:PORT of its "
        "head; one is started on this machine unless given",
    )
    steps: str | None = Field(
        None,
        pattern=r"^\w+(\.\w+)*:\w+$",
        description="Dagster executor that does the steps of a run, such as "
        "dagster_k8s:k8s_job_executor; the process of the run does unless given",
    )
    steps_config: dict[str, JsonValue] = Field({}, description="config of that executor")
    max_runtime_seconds: int | None = Field(
        LONGEST_RUN,
        gt=0,
        le=MOST_SECONDS,
        description="a run that takes longer is stopped; null lets it go on",
    )


class CleanUp(ExtendedSection):
    """When old versions of tables and old runs of experiments are removed, and which of them."""

    keep_days: int = Field(
        7,
        ge=1,
        le=MOST_DAYS,
        description="versions replaced less than so many days ago stay, and so do tables that a "
        "variant named less than so many days ago",
    )
    keep_records_days: int = Field(
        90,
        ge=1,
        le=MOST_DAYS,
        description="runs and arms of experiments, calls of language models, and runs in Dagster's "
        "records used, made or ended less than so many days ago stay, and so does every run that "
        "holds the newest event of an asset",
    )
    cron: str = Field("0 4 * * 0", description="in the time zone of `schedule`")
