"""The keys of a state: who may ask its server, what they may do, and until when.

A key is `rag_ID_SECRET`. Its secret is 32 random bytes, which nobody can guess. So a fast hash
(SHA-256, without salt) keeps it: slow ones are for passwords, which people choose. The id is no
secret: by it a key is listed, revoked and told in logs.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from rag_assets.serving.callers import Caller, Scope
from rag_assets.serving.replies import CommandError
from rag_assets.store.atomic import write_atomically

FOLDER, FILE, LOCK = "keys", "keys.json", "keys.lock"
PRIVATE = 0o700
SECONDS_TO_WAIT = 10.0
SECRET_BYTES, ID_BYTES = 32, 4
FORM = re.compile(r"rag_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")


class KeysFileError(CommandError):
    """The file of keys cannot be used; the message names it, and says what to do."""


class KeyRefusedError(Exception):
    """A key lets nobody in; the message says why, and what to do."""


class Key(BaseModel):
    """What is kept of a key: its hash, never the key."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    name: str
    scopes: tuple[Scope, ...]
    groups: tuple[str, ...] = ()
    created: datetime
    expires: date | None = None
    """The last day on which it is good, in UTC; None: it stays good."""
    revoked: datetime | None = None
    sha256: str
    """Of the whole key, in hexadecimal digits."""

    @property
    def refusal(self) -> str:
        """Why it is not good any more; empty while it is."""
        if self.revoked:
            return f"was revoked on {self.revoked:%Y-%m-%d}"
        if self.expires and self.expires < datetime.now(UTC).date():
            return f"expired after {self.expires}"
        return ""

    @property
    def caller(self) -> Caller:
        """Who asks with it: an *admin* sees what every group sees."""
        groups = None if "admin" in self.scopes else frozenset(self.groups)
        return Caller(self.name, frozenset(self.scopes), groups)


_KEYS = TypeAdapter(tuple[Key, ...])


class KeysFile:
    """The file of keys of one state; it is written whole, so that a kill leaves the old or the new.

    What another process changes takes effect at the next look.
    """

    def __init__(self, state_dir: Path) -> None:
        """Use the file below `state_dir`; the first key makes it, readable by its owner alone."""
        self.path = state_dir / FOLDER / FILE
        self._seen: tuple[object, tuple[Key, ...]] = (None, ())

    def read(self) -> tuple[Key, ...]:
        """All keys that were ever made, the oldest first.

        Raises:
            KeysFileError: The file cannot be read: then nobody is let in.
        """
        try:
            found = self.path.stat()
            version = (found.st_ino, found.st_mtime_ns, found.st_size)
            if self._seen[0] != version:
                self._seen = (version, _KEYS.validate_json(self.path.read_bytes()))
        except FileNotFoundError:
            self._seen = (None, ())
        except (OSError, ValidationError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no list of keys"
            what = "bring it back from a backup, or move it away and make new keys"
            if isinstance(error, PermissionError):
                what = (
                    f"give {self.path.parent} to the user that serves, and make keys as that user"
                )
            raise KeysFileError(
                f"{self.path} cannot be read ({why}), so that nobody is let in: {what}"
            ) from error
        return self._seen[1]

    def create(
        self, name: str, scopes: Iterable[Scope], groups: Iterable[str], expires: date | None
    ) -> tuple[Key, str]:
        """Make a key.

        Returns:
            What is kept of it, and the key itself, which nobody can read again.

        Raises:
            KeysFileError: The file cannot be read, or others keep it busy.
        """
        with self._alone() as keys:
            taken = {each.id for each in keys}
            while (key_id := secrets.token_hex(ID_BYTES)) in taken:
                pass
            given = f"rag_{key_id}_{secrets.token_urlsafe(SECRET_BYTES)}"
            made = Key(
                id=key_id,
                name=name,
                scopes=tuple(scopes),
                groups=tuple(groups),
                created=datetime.now(UTC),
                expires=expires,
                sha256=_hash(given),
            )
            self._write([*keys, made])
        return made, given

    def revoke(self, called: str) -> list[Key]:
        """Have the key of an id, or all keys of a name, let nobody in any more.

        Returns:
            Those that were good until now.

        Raises:
            KeysFileError: No key is called so; or the file cannot be read, or others keep it busy.
        """
        with self._alone() as keys:
            meant = [each for each in keys if called in (each.id, each.name)]
            if not meant:
                raise KeysFileError(f"no key is called {called}: rag-assets keys list shows all")
            good = [each for each in meant if not each.revoked]
            now = datetime.now(UTC)
            self._write(
                each.model_copy(update={"revoked": now}) if each in good else each for each in keys
            )
        return good

    def of(self, given: str) -> Key:
        """What is kept of a key that somebody gave.

        Raises:
            KeyRefusedError: It is none, is not known, was revoked, or expired.
            KeysFileError: The file cannot be read.
        """
        key_id = id_of(given)
        if not key_id:
            raise KeyRefusedError("this is no key: one looks like rag_ID_SECRET, as it was printed")
        for each in self.read():
            if each.id == key_id and hmac.compare_digest(each.sha256, _hash(given)):
                if each.refusal:
                    raise KeyRefusedError(f"this key {each.refusal}: ask who made it for another")
                return each
        raise KeyRefusedError("this key is not known here: it is misspelt, or of another server")

    def _write(self, keys: Iterable[Key]) -> None:
        write_atomically(self.path, _KEYS.dump_json(tuple(keys), indent=1))

    @contextmanager
    def _alone(self) -> Generator[Sequence[Key]]:
        """The keys, while no other process changes them."""
        from filelock import FileLock, Timeout

        self.path.parent.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        try:
            with FileLock(self.path.with_name(LOCK), timeout=SECONDS_TO_WAIT):
                yield self.read()
        except Timeout as error:
            raise KeysFileError(f"another process keeps {self.path} busy: try again") from error


def id_of(given: str) -> str:
    """The id of a key, which is no secret; empty where it is no key."""
    found = FORM.fullmatch(given)
    return found[1] if found else ""


def _hash(given: str) -> str:
    return hashlib.sha256(given.encode()).hexdigest()
