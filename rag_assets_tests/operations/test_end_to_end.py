"""A project that is refreshed, evaluated and searched for real, and then loses a PDF."""

import json
import os
import subprocess
import sys

import pymupdf
import pytest

from rag_assets import config as configuration
from rag_assets_testing import small_project
from rag_assets_tests.operations.searching import places_of

NAME = "2019-offer.pdf"
GUARDED = (
    "operations/erasure",
    "serving/commands/documents/purge.py",
    "serving/dagster_instance.py",
)
NEEDLES = (NAME, "quoxite", "fortnights")


def command(home, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "rag_assets.serving.cli", *arguments, "--json"],
        cwd=home,
        env={**os.environ, configuration.PATH_VARIABLE: str(home / "rag_assets.yaml")},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


@pytest.mark.nightly(
    guards=["rag_assets/operations/erasure", "rag_assets/serving/commands/documents/purge.py"]
)
def test_a_pdf_is_gone_from_all_that_the_real_commands_left_behind(tmp_path):
    home, state = small_project.make(tmp_path), tmp_path / "state"
    pdf = pymupdf.open()
    pdf.new_page().insert_text((72, 72), "The alloy of Quoxite endures plasma for 900 fortnights.")
    pdf.save(home / "documents" / NAME)
    assert command(home, "refresh")[0] == 0
    assert command(home, "search", "alloy of Quoxite")[0] == 0
    assert {place.partition("/")[0] for place in places_of(state, *NEEDLES)} >= {
        "dagster",
        "indexes",
        "lance",
        "reports",
    }
    (home / "documents" / NAME).unlink()

    code, answer, said = command(home, "documents", "purge", NAME, "--yes")

    assert code == 0, said
    assert places_of(state, *NEEDLES) == []
    assert str(state / "reports" / "default") in answer["removed"]["files"]
    assert len(answer["removed"]["runs"]) == 1
    code, answer, said = command(home, "refresh")
    assert code == 0, said
    work = ("added", "changed", "removed", "embedded")
    done = {
        key: sum(counts.get(name, 0) for name in work) for key, counts in answer["assets"].items()
    }
    assert (state / "reports" / "default").exists(), "its questions are asked again"
    assert not any(done.values()), done
    assert places_of(state, *NEEDLES) == []
