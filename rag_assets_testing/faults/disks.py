"""A folder on a disk that is too small, or that may not be written."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class SmallDisk:
    """A file system in memory, mounted at a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def resize(self, size: str) -> None:
        """Make room, or take it: `4m`."""
        self._remount(f"size={size}")

    def fill(self, *, free: int = 8) -> None:
        """Leave room for so many KiB."""
        found = os.statvfs(self._folder)
        used = (found.f_blocks - found.f_bfree) * found.f_frsize // 1024
        self.resize(f"{used + free}k")

    def forbid_writing(self) -> None:
        """Let it be read only."""
        self._remount("ro")

    def _remount(self, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", self._folder], check=True)


@contextmanager
def small_disk(folder: Path, *, size: str) -> Iterator[SmallDisk | None]:
    """Mount a disk of `size` at `folder`; None where this user may not mount."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    try:
        mounted = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        yield None
        return
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
