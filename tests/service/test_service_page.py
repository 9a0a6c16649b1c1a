"""What docs/service.md says is so: its requests work, its answers come, its tables are complete."""

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from serving import Asker
from sklearn.datasets import load_iris

from tanager import AODE
from tanager.service.app import Limits
from tanager.service.errors import CODES
from tanager.service.routes import ROUTES

PAGE = (Path(__file__).parent.parent.parent / "docs" / "service.md").read_text()
LINES = [line for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
ANSWERS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


@pytest.fixture
def ask(services, tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = load_iris().target_names
    AODE().fit(X, [names[c] for c in y]).save(tmp_path / "iris.tanager")
    return Asker(services(tmp_path / "iris.tanager"))


def sent(ask, line):
    """Sends what a line with curl says."""
    words = shlex.split(line)
    assert words[0] == "curl"
    headers = dict(word.split(": ", 1) for flag, word in pairwise(words) if flag == "-H")
    body = words[words.index("--json") + 1] if "--json" in words else None
    path = words[1].removeprefix("http://127.0.0.1:8000")
    return ask("POST" if body else "GET", path, body=body and body.encode(), **headers)


def test_the_requests_on_the_page_are_answered(ask):
    assert len(LINES) >= 9
    said = [sent(ask, line) for line in LINES]
    assert [one.status for one in said] == [200] * len(LINES)
    assert said[-1].data["learned"] == 1


def test_the_answers_on_the_page_are_those_that_come(ask):
    asked = sent(ask, LINES[0]).data
    asked["probabilities"] = [[round(p, 4) for p in row] for row in asked["probabilities"]]
    for answer in (asked, ANSWERS[0]):
        del answer["time_us"]
    assert asked == ANSWERS[0]
    learned = [sent(ask, line).data for line in LINES if "/learn" in line]
    assert ANSWERS[1] in learned
    wrong = ask.predict({"row": {"petal widht (cm)": 1}})
    assert wrong.data == ANSWERS[2]


def test_the_tables_are_complete():
    for code, (status, _) in CODES.items():
        rows = [row for row in PAGE.splitlines() if row.startswith("| ") and f"`{code}`" in row]
        assert any(str(status) in row.split("|")[1] for row in rows), code
    for path in ROUTES:
        assert f"{path.method} {path.path.replace('{name}', 'NAME')}`" in PAGE


def test_the_limits_are_those_of_the_service(ask):
    limits = Limits()
    assert f"{limits.body >> 20} MB" in PAGE
    assert f"{limits.rows:,} rows" in PAGE
    assert f"within {limits.seconds:g} seconds" in PAGE
    assert f"{limits.queue} requests" in PAGE
    metrics = ask("GET", "/metrics").body.decode()
    for name in re.findall(r"`(tanager_\w+?)(?:_total)?(?:\{.*?\})?`", PAGE):
        assert f"# TYPE {name}" in metrics, name
