"""The layers point one way, and tanager is light to import."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tanager

PACKAGE = Path(tanager.__file__).parent
LAYERS = [
    ("errors", "_kernels", "archive", "writing"),
    ("encoding",),
    ("counts",),
    ("networks",),
    ("structure",),
    ("scoring",),
    ("learning",),
    ("classifiers",),
    ("streams",),
    ("plot", "files"),
    ("evaluate", "datasets", "generate", "plain"),
    ("persist", "river"),
    ("service", "client"),
    ("cli",),
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
HEAVY = ["pyarrow", "pandas", "polars", "matplotlib", "river", "scipy.stats", "starlette", "msgspec", "httpx2"]


def imported_parts(path):
    """The parts of tanager that a file imports, anywhere in it."""
    parts = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports by dots; write the whole name"
            below = node.module == "tanager"
            names = [f"tanager.{alias.name}" for alias in node.names] if below else [node.module]
        else:
            continue
        parts |= {name.split(".")[1] for name in names if name.startswith("tanager.")}
    return parts


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_layers_point_one_way(path):
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if part == "__init__":
        return  # the door opens to all layers
    assert part in LEVEL, f"{part} has no place among the layers; give it one here and in ARCHITECTURE.md"
    above = {other for other in imported_parts(path) - {part} if LEVEL[other] > LEVEL[part]}
    assert not above, f"{part} is below {', '.join(sorted(above))} and must not import it"
    beside = {other for other in imported_parts(path) - {part} if LEVEL[other] == LEVEL[part] and LEVEL[part] > 0}
    assert not beside, f"{part} stands beside {', '.join(sorted(beside))}; neither imports the other"


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_importing_everything_in_tanager_imports_nothing_heavy():
    """Beyond what scikit-learn itself imports: some of its versions take in pandas and scipy.stats."""
    new = f"[name for name in {HEAVY!r} if name in sys.modules and name not in before]"
    assert run(f"import sys, sklearn.base; before = set(sys.modules); from tanager import *; print(*{new})") == ""


def test_importing_tanager_works_without_the_packages_that_only_some_tables_need():
    absent = [name for name in HEAVY if name != "scipy.stats"]  # scikit-learn cannot do without that one
    assert run(f"import sys; sys.modules.update(dict.fromkeys({absent!r})); from tanager import *; print('ok')") == "ok"


def test_importing_tanager_waits_for_no_other_package():
    assert run("import sys, tanager; print(*{'numpy', 'sklearn', 'pyarrow'} & set(sys.modules))") == ""


def test_importing_everything_in_tanager_is_quick():
    """Beyond NumPy and the parts of scikit-learn that estimators are made of; CPU time, as machines are busy."""
    code = (
        "import time, numpy, sklearn.base, sklearn.utils.validation; "
        "start = time.process_time(); from tanager import *; print(time.process_time() - start)"
    )
    assert min(float(run(code)) for _ in range(5)) < 0.3
