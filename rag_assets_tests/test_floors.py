"""The plan of the house: imports run down its floors, without circles, and no name stands twice.

Imports inside functions and those for the type checker count as well.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import rag_assets

PACKAGE = Path(rag_assets.__file__).parent
ROOT = PACKAGE.name

FLOORS = (
    ("laboratory",),
    ("serving",),
    ("component", "defs"),
    ("definitions", "automation"),
    ("operations",),
    ("graph",),
    ("questions",),
    ("answering",),
    ("evaluation", "table_lookup"),
    ("sources", "documents", "tables", "index", "knowledge", "retrieval"),
    ("asset_checks", "lineage", "resources", "dagster_internals", "quality"),
    ("change",),
    ("store", "models", "workers", "reports"),
    (
        "config",
        "findings",
        "citations",
        "terms",
        "columns",
        "process",
        "media",
        "identity",
        "schemas",
        "api",
    ),
)
"""Rooms and root modules, from the top floor to the bottom."""
FLOOR_OF = {name: number for number, names in enumerate(FLOORS) for name in names}
APART = (
    frozenset({"sources", "documents", "tables", "index", "knowledge"}),
    frozenset({"evaluation", "table_lookup"}),
)
"""Rooms of one floor that do not import each other."""
RETRIEVAL_KNOWS = frozenset({"store", "models", *FLOORS[-1]})
"""All that the library of retrieval imports."""
NAME_THE_LABORATORY = frozenset({"definitions", "graph", "serving.cli"})
"""Who below the laboratory imports it: the definitions, the list of steps and that of commands."""
AT_THE_ROOT = frozenset(
    {
        "component",
        "definitions",
        "automation",
        "lineage",
        "resources",
        "asset_checks",
        "dagster_internals",
        "graph",
        "schemas",
        "identity",
        "api",
    }
)
MOST_NAMES = {"evaluation": 115, "operations": 90, "answering": 91}
"""Rooms that say which of their modules are their doors (`DOORS`, in the `__init__` of each), and
the most names that other rooms may import from them."""
NOT_LOADED = {"rag_assets.workers": "rag_assets.workers.ray_pool"}
"""A package, and the module that it must not import itself: it would load what few need."""

# What is known to break the plan, with the reason. Each line goes with what it names.
KNOWN_CIRCLES: set[frozenset[str]] = set()
KNOWN_CLIMBS: set[tuple[str, str]] = set()
KNOWN_AT_THE_ROOT: set[str] = set()
KNOWN_TWICE: set[str] = set()


@cache
def modules() -> Mapping[str, ast.Module]:
    """The syntax tree of each module of the package, by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text("utf-8"))
    return found


def imported_by(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """All that a module imports of the package, wherever in it: a module, and a name of it.

    The name is `*` where the module itself is imported.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [(alias.name, "*") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name modules in full"
            names = [(f"{node.module}.{alias.name}", alias.name) for alias in node.names]
            found = [
                (inner, "*") if inner in modules() else (str(node.module), name)
                for inner, name in names
            ]
        else:
            continue
        yield from (each for each in found if each[0] in modules())


@cache
def names_imported() -> Mapping[str, frozenset[tuple[str, str]]]:
    """For each module of the package the names that it imports, with the module of each."""
    return {name: frozenset(imported_by(tree)) for name, tree in modules().items()}


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """For each module of the package those that it imports."""
    return {
        name: frozenset(module for module, _ in found) - {name}
        for name, found in names_imported().items()
    }


def short(module: str) -> str:
    return module.removeprefix(f"{ROOT}.")


def room(module: str) -> str:
    return short(module).partition(".")[0]


def reached_from(module: str) -> set[str]:
    """Whatever a module imports, at once or through others."""
    reached: set[str] = set()
    waiting = [module]
    while waiting:
        new = imports()[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached


def circles() -> set[frozenset[str]]:
    """Groups of modules each of which leads to all others of its group."""
    reached = {name: reached_from(name) for name in modules()}
    return {
        frozenset(short(other) for other in below if name in reached[other])
        for name, below in reached.items()
        if name in below
    }


def test_no_module_leads_back_to_itself():
    assert circles() == KNOWN_CIRCLES


def climbs() -> set[tuple[str, str]]:
    """Imports that do not run down the floors: importer and imported."""
    return {
        (short(module), short(other))
        for module, below in imports().items()
        for other in below
        if is_climb(room(module), room(other))
        if not (room(other) == "laboratory" and short(module) in NAME_THE_LABORATORY)
    }


def is_climb(upper: str, lower: str) -> bool:
    """Whether `upper` must not import `lower`; modules on no floor may import anything."""
    if upper == lower or upper not in FLOOR_OF or lower not in FLOOR_OF:
        return False
    if FLOOR_OF[lower] < FLOOR_OF[upper]:
        return True
    if upper == "retrieval":
        return lower not in RETRIEVAL_KNOWS
    return any({upper, lower} <= rooms for rooms in APART)


def test_imports_run_down_the_floors():
    assert climbs() == KNOWN_CLIMBS


def names_entered(name: str) -> set[tuple[str, str]]:
    """What other rooms import from a room: module and name."""
    return {
        (short(module), each)
        for importer, found in names_imported().items()
        for module, each in found
        if room(module) == name != room(importer)
    }


def doors_of(name: str) -> set[str]:
    """The modules of a room that its `DOORS` name."""
    for node in modules()[f"{ROOT}.{name}"].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DOORS":
            return {f"{name}.{door}" for door in ast.literal_eval(node.value).split()}
    return set()


@pytest.mark.parametrize("name", MOST_NAMES)
def test_other_rooms_come_in_by_the_doors(name):
    """And there is no door that nobody uses."""
    assert {module for module, _ in names_entered(name)} == doors_of(name)


@pytest.mark.parametrize("name", MOST_NAMES)
def test_other_rooms_import_no_more_names_than_before(name):
    """Give a caller the finished thing, instead of one more piece of it."""
    assert len(names_entered(name)) <= MOST_NAMES[name]


def test_only_what_all_need_stands_at_the_root():
    at_the_root = {short(name) for name in modules() if name.count(".") == 1}
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert at_the_root - rooms == AT_THE_ROOT | KNOWN_AT_THE_ROOT
    assert rooms <= FLOOR_OF.keys()


def test_no_two_classes_have_one_name():
    places = defaultdict(list)
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(short(module))
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert twice.keys() == KNOWN_TWICE, twice


def test_packages_do_not_load_what_few_need():
    for package, module in NOT_LOADED.items():
        assert module not in reached_from(package)
