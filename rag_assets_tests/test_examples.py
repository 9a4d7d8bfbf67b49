"""The docstring of each room shows what the room does, by an example that runs."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import rag_assets

PACKAGE = Path(rag_assets.__file__).parent
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_the_example_of_a_room_gives_what_it_shows(room):
    module = import_module(f"{rag_assets.__name__}.{room}")
    [example] = [
        found
        for found in doctest.DocTestFinder(recurse=False).find(module)
        if found.name == module.__name__
    ]
    assert example.examples, f"{room}/__init__.py shows no example: write one into its docstring"
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)

    result = runner.run(example)

    assert result.failed == 0, "pytest shows above what the example gave"
