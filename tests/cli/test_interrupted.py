"""Ctrl-C in commands that evaluate: the table so far is printed, and the exit code is 130."""

import pytest

import tanager.evaluate


@pytest.fixture
def interrupted_at(monkeypatch):
    """KeyboardInterrupt, as Ctrl-C raises it, when a function has told its progress for the n-th time."""

    def arrange(function, step):
        evaluate, calls = getattr(tanager.evaluate, function), []

        def interrupting(*given, progress, **options):
            def tick(*done):
                progress(*done)
                calls.append(done)
                if len(calls) == step:
                    raise KeyboardInterrupt

            return evaluate(*given, progress=tick, **options)

        monkeypatch.setattr(tanager.evaluate, function, interrupting)

    return arrange


def test_compare_prints_the_folds_that_are_done(run, iris, interrupted_at):
    interrupted_at("cross_validate_all", 4)
    done = run("compare", iris, "--models", "nb,tan", "--jobs", "1")
    assert done.code == 130
    assert [line.split()[0] for line in done.out.splitlines()[3:5]] in (["nb", "tan"], ["tan", "nb"])
    assert "note: interrupted: 3 of 10 folds were done by all classifiers.\n" in done.err
    assert done.err.endswith("tanager compare: interrupted.\n")


def test_compare_before_the_first_fold_has_nothing_to_print(run, iris, interrupted_at):
    interrupted_at("cross_validate_all", 1)
    done = run("compare", iris, "--models", "nb,tan", "--jobs", "1")
    assert (done.code, done.out, done.err) == (130, "", "tanager compare: interrupted.\n")


def test_prequential_prints_the_rows_that_are_done(run, interrupted_at, monkeypatch):
    monkeypatch.setattr("tanager.evaluate.model_run.FIRST_SLICE", 10**9)  # rows, so that nothing depends on the clock
    monkeypatch.setattr("tanager.evaluate.model_run.SLICE_SECONDS", float("inf"))
    interrupted_at("prequential", 2)
    done = run("prequential", "generate:tan", "--rows", "50k", "--model", "nb,tan", "--json")
    assert done.code == 130
    assert done.document["rows"] == 32600
    assert [model["model"] for model in done.document["models"]] == ["nb", "tan"]
    assert done.err.endswith("tanager prequential: interrupted.\n")
