"""The state that the previous release left, and a stand-in for the model that built it.

`previous_release.tar.gz` holds a project and its state as `rag-assets` of the commit before the
archive's left it: `refresh`, two answers of `ask` (one with a thumb up), an edited document, and
`refresh` again, so that the serving pointer has a history and a verdict. Its vectors are of the
path `cpu/torch/fp32`, which its `encoders/e5.json` had named before. What `status`, `answers` and
`history` of that commit said of it lies under `said/`. Caches, locks, Dagster's own records and
whatever names a folder of the machine are left out.
"""

import json
import shutil
from pathlib import Path

from pydantic import JsonValue

from rag_assets.index.encoders import IndexEncoder
from rag_assets_testing.faults.hashing import index_encoder
from rag_assets_testing.faults.project import Project

PACKED = Path(__file__).with_name("previous_release.tar.gz")


def unpacked(home: Path) -> Project:
    """The project with its state, in `home`."""
    shutil.unpack_archive(PACKED, home)
    return Project(home)


def said(held: Project, command: str) -> dict[str, JsonValue]:
    """What a command of the previous release said of the state, as JSON."""
    return json.loads((held.home / "said" / f"{command}.json").read_text())


def recorded(held: Project) -> dict[str, str]:
    """What the state says of its encoder."""
    kept = json.loads((held.home / "state/encoders/e5.json").read_text())
    return {"model_id": kept["model_id"], "encoder_id": f"{kept['model_id']}/{kept['path']}"}


def encoder(held: Project, *, ledger: Path) -> IndexEncoder:
    """Gives the vectors of new texts under the recorded identity, and writes them down."""
    known = recorded(held)
    return index_encoder(
        ledger, model_id=known["model_id"], encoder_id=known["encoder_id"], dimension=384
    )
