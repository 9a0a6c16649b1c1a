"""Numbers at the end of what a computer can hold, over HTTP: a finite answer, or a sentence and nothing learned."""

import json
import math

import pytest
from serving import Asker, close, make_service, write_model

from tanager import AODE, TAN, NaiveBayes
from tanager.service.messages import LearnResponse, ModelInfo, PredictResponse

MODELS = {
    "NaiveBayes": lambda: NaiveBayes(gaussian=True),
    "TAN": lambda: TAN(gaussian=True),
    "AODE": lambda: AODE(gaussian=True),
    "window": lambda: NaiveBayes(gaussian=True, window=30),
    "decay": lambda: NaiveBayes(gaussian=True, decay=20),
}
LARGE = ["1e155", "-1e155", "1e200", "1e308", "-1.7976931348623157e308", "5e-324", "-0", "-0.0", "9223372036854775807"]
LARGE += ['"1e400"', '"nan"', '"-Infinity"']  # as text, which counts as missing where it is no finite number
REFUSED = ["1e400", "-1e400", "1" + "0" * 400, "-1" + "0" * 400, "9223372036854775808", "NaN", "Infinity", "-Infinity"]
GOOD = '{"colour": "red", "size": 2.0}'


@pytest.fixture(params=MODELS)
def ask(request, tmp_path):
    service = make_service(write_model(tmp_path / "pets.tanager", MODELS[request.param]()))
    yield Asker(service)
    close(service)


def rows_of(ask):
    info = ask("GET", "/models/pets").as_(ModelInfo)
    return info.rows, info.sequence


def check_answers(ask, *numbers):
    """Every probability is finite, and those of a row sum to one; for a row alone and for several."""
    for number in ("2.0", *numbers):
        row = f'{{"colour": "red", "size": {number}}}'
        for body in (f'{{"row": {row}}}', f'{{"rows": [{row}, {GOOD}]}}'):
            said = ask.predict(body=body.encode())
            for proba in said.as_(PredictResponse).probabilities:
                assert all(map(math.isfinite, proba)), said.body
                assert sum(proba) == pytest.approx(1)


def learn(ask, number):
    body = f'{{"rows": [{GOOD}, {{"colour": "blue", "size": {number}}}], "labels": ["fish", "bird"]}}'
    return ask.learn(body=body.encode())


def test_large_numbers_are_answered_and_learned_and_ordinary_ones_are_answered_after_them(ask):
    check_answers(ask, *LARGE)
    for number in LARGE:
        before, _ = rows_of(ask)
        assert learn(ask, number).as_(LearnResponse).learned == 2
        assert rows_of(ask)[0] <= before + 2
        check_answers(ask, number)
    check_answers(ask, *LARGE)


@pytest.mark.parametrize("number", REFUSED, ids=[text[:12] for text in REFUSED])
def test_what_is_no_finite_number_of_64_bits_is_refused_with_its_whole_request(tmp_path, number):
    service = make_service(write_model(tmp_path / "pets.tanager", NaiveBayes(gaussian=True)))
    ask = Asker(service)
    before = rows_of(ask)
    for said in (learn(ask, number), ask.learn(body=f'{{"row": {{"size": {number}}}, "label": "fish"}}'.encode())):
        assert said.status in (400, 422), said.body
        assert json.loads(said.body)["error"]["message"].endswith((".", "json.tool"))
    assert rows_of(ask) == before
    said = ask.predict(body=f'{{"row": {{"size": {number}}}}}'.encode())
    assert said.status in (400, 422), said.body
    check_answers(ask)
    close(service)


@pytest.mark.parametrize("weights", ["[1, 1e400]", "[1, 1e308]", "[1, NaN]", "[1, -1]", "[1, 1e101]"])
def test_weights_that_cannot_be_summed_are_refused(tmp_path, weights):
    service = make_service(write_model(tmp_path / "pets.tanager", NaiveBayes(gaussian=True)))
    ask = Asker(service)
    body = f'{{"rows": [{GOOD}, {GOOD}], "labels": ["fish", "bird"], "weights": {weights}}}'
    assert ask.learn(body=body.encode()).status in (400, 422)
    assert rows_of(ask) == (40, 0)
    check_answers(ask)
    close(service)
