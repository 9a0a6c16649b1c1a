"""The layers point one way, parts use each other by public names, and tanager is light to import."""

import ast
import subprocess
import sys
from collections import Counter

import pytest

import layers
import tanager
from tanager import _core, _learners, _searches

MODULES = [_core, _learners, _searches]

HEAVY = ["pyarrow", "pandas", "polars", "matplotlib", "river", "scipy.stats", "starlette", "msgspec", "httpx2"]
HEAVY += ["onnx", "onnxruntime", "skl2onnx", "duckdb"]


HOW = {
    "upward": "uses a part above or beside its own. Move the code up, or what it needs down; see ARCHITECTURE.md",
    "private": "uses a private name of another part. Give the other part a public function or method for it",
    "inherited": "uses a private name that it inherits from another part. Give the base a public method",
}


def test_parts_use_each_other_downwards_and_by_public_names():
    """Also by a bare ``import tanager`` and inside functions."""
    for kind, uses_of in layers.KINDS.items():
        uses = uses_of()
        assert not uses, f"{HOW[kind]}:\n" + "\n".join(f"{path}: {', '.join(names)}" for path, names in uses.items())


def test_uses_of_other_parts_are_seen_in_every_form(monkeypatch, tmp_path):
    monkeypatch.setattr(layers, "PACKAGE", tmp_path)
    (tmp_path / "__init__.pyi").write_text("from tanager.persist import save as save\n")
    for part in ("counts", "learning"):
        (tmp_path / part).mkdir()
    low, high = tmp_path / "counts" / "low.py", tmp_path / "learning" / "high.py"
    high.write_text("_SIZE = 1\nclass Base:\n    def _hook(self):\n        self._state = 2\n")
    low.write_text(
        "import tanager\n"
        "def f(model):\n"
        "    from tanager.learning.high import _SIZE\n"
        "    tanager.save(model, model._state)\n"
        "class Sub:\n"
        "    def g(self):\n"
        "        self._own = self._hook()\n"
    )
    layers.homes.cache_clear()
    try:
        assert layers.upward_uses() == {"counts/low.py": ["learning", "persist"]}
        assert layers.private_uses(inherited=False) == {"counts/low.py": ["_SIZE", "_state"]}
        assert layers.private_uses(inherited=True) == {"counts/low.py": ["_hook"]}
    finally:
        layers.homes.cache_clear()


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_importing_everything_in_tanager_brings_little_and_nothing_heavy_beside_scikit_learn():
    """Some of its versions take in pandas and scipy.stats. Modules and not seconds, as machines are busy."""
    code = (
        "import sys, numpy, sklearn.base, sklearn.utils.validation; before = set(sys.modules); from tanager import *; "
        "print(*(name for name in set(sys.modules) - before if not name.startswith('tanager')))"
    )
    new = set(run(code).split())
    assert not new & set(HEAVY)
    assert len(new) < 60


def test_importing_tanager_works_without_the_packages_that_only_some_tables_need():
    absent = [name for name in HEAVY if name != "scipy.stats"]  # scikit-learn cannot do without that one
    assert run(f"import sys; sys.modules.update(dict.fromkeys({absent!r})); from tanager import *; print('ok')") == "ok"


def test_importing_tanager_waits_for_no_other_package():
    assert run("import sys, tanager; print(*{'numpy', 'sklearn', 'pyarrow'} & set(sys.modules))") == ""


def test_learning_and_answering_wait_for_no_random_numbers():
    """While NumPy imports those, code of Cython's swallows a KeyboardInterrupt, and a command went on after Ctrl-C."""
    code = "model = tanager.AODE().fit([['u'], ['v']], [0, 1]); model.predict([['u']])"
    assert run(f"import sys, tanager; {code}; print('numpy.random' in sys.modules)") == "False"


def test_the_package_offers_its_public_names_alone():
    """Also after parts of it were imported, and public names used."""
    code = "import tanager, tanager.files; tanager.AODE; print(*(n for n in dir(tanager) if not n.startswith('__')))"
    assert run(code).split() == sorted(tanager.__all__)


def test_names_of_kernels_are_those_of_the_stub_each_in_one_module():
    stub = ast.parse((layers.PACKAGE / "_kernels.pyi").read_text(encoding="utf-8"))
    named = {node.name for node in stub.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    found = Counter(name for module in MODULES for name in vars(module) if not name.startswith("_"))
    assert set(found) == named
    assert set(found.values()) == {1}


@pytest.mark.parametrize("module", ["_core", "_searches"])
def test_kernels_that_are_not_compiled_are_told_by_name(module):
    """As in a folder where the demo was shown, and nothing built."""
    code = (
        f"import sys; sys.modules['tanager.{module}'] = None\n"
        "try:\n    from tanager import _kernels; _kernels.KeptJoints, _kernels.Sample\n"
        "except ImportError as error: print(error)"
    )
    assert run(code).startswith(
        f"tanager.{module} is not compiled. In a folder with the source 'make build' compiles it"
    )


def test_type_checkers_are_told_that_the_package_has_types():
    assert (layers.PACKAGE / "py.typed").is_file()


def test_files_of_tests_have_names_of_their_own():
    """Folders of tests are no packages: pytest imports a file by its name alone, and refuses a second one."""
    names = Counter(path.name for path in (layers.ROOT / "tests").rglob("test_*.py"))
    assert [name for name, n in names.items() if n > 1] == []
