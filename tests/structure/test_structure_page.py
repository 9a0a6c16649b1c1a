"""What the guide says about structure learning is true."""

import re
from pathlib import Path

import pytest

from exact_samples import diamond
from tanager import CBL

PAGE = (Path(__file__).parents[2] / "docs" / "structure-learning.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=lambda code: code.splitlines()[0])
def test_the_examples_run(code):
    exec(compile(code, "structure-learning.md", "exec"), {})


def test_the_trace_is_that_of_the_diamond():
    (shown,) = re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)
    assert shown == CBL(threshold=0.001).learn(diamond()).trace()
