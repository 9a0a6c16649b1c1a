"""The examples on the page about ONNX run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

BLOCKS = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[2] / "docs" / "onnx.md").read_text(), re.DOTALL)


@pytest.mark.long  # `make test-all` installs what they need
@pytest.mark.filterwarnings("ignore")  # what skl2onnx and onnx say to each other
@pytest.mark.parametrize("code", BLOCKS, ids=lambda code: code.splitlines()[0])
def test_the_examples_run(code, capsys):
    for package in ("onnx", "onnxruntime", "skl2onnx"):
        pytest.importorskip(package, reason="the extra 'onnx' is not installed")
    exec(compile(code, "onnx.md", "exec"), {})
    for claim in re.findall(r"print\(.*?\)  +# (.+)\n", code):
        assert claim in capsys.readouterr().out
