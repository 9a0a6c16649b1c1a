"""Builds what is published, and tries it: `python tools/packages.py python3.11 python3.12` (minutes).

A source archive, and from it a wheel for each Python, both in `dist/`. Each wheel is installed into an environment of
its own, first with what it cannot do without and then with the extra `serve`, and `tools/try_wheel.py` uses it from an
empty folder. With `--test` the tests in the source archive are run with the first wheel; `--define NAME=VALUE` is
passed on to CMake.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
TRY = ROOT / "tools" / "try_wheel.py"


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """What a command prints; where it fails, everything ends with what it has printed."""
    done = subprocess.run([*map(str, command)], cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"{done.stdout}\nfailed: {' '.join(map(str, command))}")
    return done.stdout


def build_source(out: Path) -> Path:
    """The source archive."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", out, ROOT)
    return max(out.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime)


def build_wheel(python: str, source: Path, out: Path, defines: list[str]) -> Path:
    """A wheel from the source archive."""
    with tempfile.TemporaryDirectory() as folder:
        settings = [part for define in defines for part in ("-C", f"cmake.define.{define}")]
        run(python, "-m", "pip", "wheel", "--no-deps", *settings, "-w", folder, source)
        (made,) = Path(folder).glob("*.whl")
        return Path(shutil.move(made, out / made.name))


def try_wheel(python: str, wheel: Path) -> str:
    """What the wheel did in an environment with hard dependencies alone, and with the extra of the service."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "env" / "bin" / "python"
        run(python, "-m", "venv", own.parent.parent)
        run(own, "-m", "pip", "install", "--quiet", wheel)
        said = run(own, "-I", TRY, cwd=Path(folder))
        run(own, "-m", "pip", "install", "--quiet", f"{wheel}[serve]")
        return said + run(own, "-I", TRY, "--serve", cwd=Path(folder))


def test_source(python: str, source: Path, wheel: Path, tests: list[str]) -> str:
    """The end of what the tests in the source archive print, run with the wheel."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        (unpacked,) = Path(folder).glob("tanager-*")
        own = Path(folder) / "env" / "bin" / "python"
        run(python, "-m", "venv", own.parent.parent)
        run(own, "-m", "pip", "install", "--quiet", f"{wheel}[dev]")
        return run(own, "-m", "pytest", "-n", "2", "-q", *tests, cwd=unpacked)[-300:]


def main() -> None:
    """Build and try."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="*", default=[sys.executable])
    parser.add_argument("--test", nargs="*", metavar="TESTS", help="run the tests in the source archive, or these")
    parser.add_argument("--define", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    source = build_source(options.out)
    print(f"{source.name}: {source.stat().st_size / 1e6:.1f} MB", flush=True)
    for at, python in enumerate(options.pythons):
        wheel = build_wheel(python, source, options.out, options.define)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB\n{try_wheel(python, wheel)}", end="", flush=True)
        if at == 0 and options.test is not None:
            print(test_source(python, source, wheel, options.test or ["tests"]), flush=True)


if __name__ == "__main__":
    main()
