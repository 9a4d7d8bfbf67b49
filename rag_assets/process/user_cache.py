"""The folder that all projects of a user share: what comes from packages and weights alone.

Names of what lies in it say what it was made from, so that projects and releases share what is
equal and never change what another one uses. Everything in it can be made again.
"""

import os
from pathlib import Path

VARIABLE = "RAG_ASSETS_CACHE"
"""Names another folder; empty, each state keeps its own."""


def shared_folder(state: Path) -> Path:
    """The folder; `state` where the user has none that can be written."""
    import platformdirs

    named = os.environ.get(VARIABLE)
    usual = platformdirs.user_cache_path("rag_assets", appauthor=False)
    folder = usual if named is None else Path(named).expanduser()
    if not folder.is_absolute():  # it is empty, or there is no home
        return state
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return state
    return folder if os.access(folder, os.W_OK) else state
