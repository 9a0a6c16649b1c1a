"""Prequential evaluation as it is written down: row after row, and every measure anew from a list of all answers."""

import math


def answers_of(model, rows, labels, delay=0, batch=1):
    """The dict that the model answers with for every row, before it learns the rows whose labels have come."""
    answers = []
    for start in range(0, len(rows), batch):
        stop = min(start + batch, len(rows))
        answers += [dict(model.predict_proba_one(row)) for row in rows[start:stop]]
        for late in range(max(0, start - delay), max(0, stop - delay)):
            if labels[late] is not None:
                model.learn_one(rows[late], labels[late])
    return answers


def decisions(answers, labels, classes, delay=0, batch=1):
    """The class that each answer comes down to, and the probability of the true one; (None, 1/2) for no answer."""
    out = []
    for r, answer in enumerate(answers):
        come = labels[: max(0, r // batch * batch - delay)]
        if not answer and classes is None:
            out.append((None, 0.5))
            continue
        answer = answer or dict.fromkeys(classes, 1 / len(classes))
        best = max(answer.values())
        near = [label for label in sorted(answer) if answer[label] >= best - 1e-12]
        out.append((max(near, key=come.count), answer.get(labels[r], 0.0)))
    return out


def measures(pairs, weights):
    """accuracy, kappa, log loss and recall from (true, answered, probability of the true one), weighted."""
    n = sum(weights)
    right = sum(w for (true, answered, _), w in zip(pairs, weights, strict=True) if true == answered)
    classes = sorted({true for true, _, _ in pairs} | {answered for _, answered, _ in pairs if answered is not None})

    def weight(keep):
        return sum(w for pair, w in zip(pairs, weights, strict=True) if keep(*pair[:2]))

    chance = sum(weight(lambda t, a, c=c: t == c) * weight(lambda t, a, c=c: a == c) for c in classes) / n**2
    loss = sum(-math.log(max(p, 1e-15)) * w for (_, _, p), w in zip(pairs, weights, strict=True)) / n
    recall = {}
    for c in classes:
        own = weight(lambda t, a, c=c: t == c)
        recall[c] = weight(lambda t, a, c=c: t == c == a) / own if own else math.nan
    kappa = (right / n - chance) / (1 - chance) if chance < 1 else math.nan
    return {"accuracy": right / n, "kappa": kappa, "log_loss": loss, "recall": recall}


def reports(answers, labels, classes, every, fade, window, delay=0, batch=1):
    """{rows: {way: measures}} at every report."""
    decided = decisions(answers, labels, classes, delay, batch)
    out = {}
    for row in sorted({*range(every, len(labels) + 1, every), len(labels)}):
        done = [(labels[r], *decided[r]) for r in range(row) if labels[r] is not None]
        if not done:
            continue
        fading = [fade ** (len(done) - 1 - at) for at in range(len(done))]
        out[row] = {
            "whole": measures(done, [1.0] * len(done)),
            "fading": measures(done, fading),
            "window": measures(done[-window:], [1.0] * len(done[-window:])),
        }
    return out
