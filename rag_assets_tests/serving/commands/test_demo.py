"""The demo project: what the wheel holds, and where it is written."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from rag_assets import config
from rag_assets.serving import cli
from rag_assets.serving.commands import demo
from rag_assets.serving.replies import FAILED

ROOT = Path(__file__).parents[3]
IN_WHEEL = "rag_assets/demo/"


def files_of_the_demo() -> dict[str, bytes]:
    paths = [path for name in demo.FILES for path in (ROOT / name, *(ROOT / name).rglob("*"))]
    return {
        path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths if path.is_file()
    }


def test_the_wheel_has_what_the_demo_writes_and_nothing_that_was_built(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = [name for name in wheel.namelist() if name.startswith(IN_WHEEL)]
        held = {name.removeprefix(IN_WHEEL): wheel.read(name) for name in names}

    assert held == files_of_the_demo()


def test_the_project_is_written_once_and_loads(tmp_path):
    folder = tmp_path / "demo"

    file = demo.written(folder)
    (folder / "data/documents/memos/pm_byte_av_zinkskikt_2024.txt").unlink()
    again = demo.written(folder)

    assert again == file
    assert config.load(file).sources.documents[0].url == str(folder / "data/documents")
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert len(files_of_the_demo()) == len(written) + 1


def test_one_that_was_broken_off_is_completed(tmp_path, monkeypatch):
    folder = tmp_path / "demo"
    copied = shutil.copyfile

    def break_off(source, target, **options):
        if Path(source).name == "materials.sqlite":
            Path(target).write_bytes(Path(source).read_bytes()[:1000])
            raise KeyboardInterrupt
        copied(source, target, **options)

    monkeypatch.setattr(shutil, "copyfile", break_off)
    with pytest.raises(KeyboardInterrupt):
        demo.written(folder)
    monkeypatch.undo()

    demo.written(folder)

    held = files_of_the_demo()
    assert {name: (folder / name).read_bytes() for name in held} == held


@pytest.mark.parametrize("name", ["", "below"])
def test_a_file_in_the_place_of_the_folder_is_named(name, tmp_path, capsys):
    (tmp_path / "demo").write_text("mine")

    assert cli.main(["demo", str(tmp_path / "demo" / name)]) == FAILED

    assert f"{tmp_path / 'demo' / name} cannot be written" in capsys.readouterr().err


def test_a_checkout_is_the_demo_itself():
    assert demo.written(ROOT) == ROOT / "rag_assets.yaml"


@pytest.mark.parametrize("name", ["rag_assets.yaml", "data/documents"])
def test_what_is_no_demo_is_left_alone(name, tmp_path, capsys):
    own = tmp_path / name
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("mine")

    assert cli.main(["demo", str(tmp_path)]) == FAILED

    assert f"{own} is there already, and not the demo's" in capsys.readouterr().err
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [own]
