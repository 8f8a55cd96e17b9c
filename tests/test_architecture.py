"""The house rules: imports only go down, `import t1` stays light, only scripts print."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "t1"

# from the ground up: a module may import from lower floors and from its own
FLOORS = [
    {"arrays", "errors", "registry", "durations"},
    {"panel"},
    {"data", "missing", "metrics", "synthetic"},
    {"checkpoint", "device", "drawing", "jobs", "memory", "progress"},
    {"models"},
    {"train", "average", "run_state", "schedule", "source", "validation", "workers", "weights", "onnx"},
    {"methods"},
    {"fill", "pretrain"},
    {"report", "bench", "live", "sense"},
    {"options"},
    {"api", "client", "explaining", "imputer"},
    {"adapters", "bulk", "serve"},
    {"cli", "__main__"},
]
FLOOR = {room: i for i, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(p for p in SRC.rglob("*.py") if p not in (SRC / "__init__.py", SRC / "__main__.py"))


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "t1":
                rooms |= {alias.name for alias in node.names if alias.name in FLOOR}
            elif node.module.startswith("t1."):
                rooms.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            rooms |= {a.name.split(".")[1] for a in node.names if a.name.startswith("t1.")}
    return rooms


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SRC)))
def test_imports_only_go_down(path):
    room = room_of(path)
    assert room in FLOOR, f"{room} has no floor: add it to FLOORS and to docs/architecture.md"
    above = {r for r in imported_rooms(path) if FLOOR[r] > FLOOR[room]}
    assert not above, f"{room} imports from above: {above}"


def test_a_class_has_a_name_of_its_own():
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name.lstrip("_"), []).append(str(path.relative_to(SRC)))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


# how options become flags; the commands that gave the results; CSS; the flags of git and of ray
WITH_DASHES = {"errors.py", "bench/page.py", "bench/sheet.py", "bench/machine.py", "jobs/on_ray.py"}


@pytest.mark.parametrize(
    "path", [p for p in MODULES if room_of(p) not in ("cli", "serve")], ids=lambda p: str(p.relative_to(SRC))
)
def test_only_the_command_line_knows_flags(path):
    if str(path.relative_to(SRC)) in WITH_DASHES:
        return
    texts = [
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert [text for text in texts if re.search(r"(?<![\w-])--[a-z]", text)] == []


@pytest.mark.parametrize("room", ["data", "missing", "synthetic"])
def test_rows_know_nothing_of_torch(room):
    for path in (SRC / room).rglob("*.py"):
        assert "import torch" not in path.read_text(), path


def test_import_is_light():
    code = "import sys, t1; print(*{'torch', 'pandas', 'sklearn', 'rich'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == ""


def test_public_names_exist():
    import t1

    for name in t1.__all__:
        assert getattr(t1, name) is not None
    assert set(t1.__all__) <= set(dir(t1))
    with pytest.raises(AttributeError, match="nothing_like_that"):
        _ = t1.nothing_like_that
