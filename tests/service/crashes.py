"""Lives of a served model on a disk that loses power, and what must be true of all that could be left."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from unittest import mock

from power import EIO, ENOSPC, Disk

from tanager import NaiveBayes, load
from tanager.persist import to_bytes
from tanager.service.backup import back_up
from tanager.service.check import check_state
from tanager.service.durable import DurableModel
from tanager.service.journal import JournalError
from tanager.service.keys import request_key

MOST = 400  # lessons of a story
SMALL = {"sync_every": 0.0, "segment_bytes": 700, "snapshot_rows": 10**9}


def crash(durable):
    """What is left when a process dies: nothing is synced, written or closed any more."""
    durable._queue.put(None)
    durable._writer.join()
    with durable._snapshot_lock:
        durable._closed = True
        durable._journal._release()
        durable._state.release()


def base(version):
    """A model file of this version: it knows all lessons, and the version is the number of its rows of one value."""
    rows = [{"lesson": f"n{n}"} for n in range(MOST)] + [{"lesson": "base"}] * version
    return to_bytes(NaiveBayes().fit(rows, ["yes", "no"] * (MOST // 2) + ["yes"] * version))


class Lesson:
    """Rows that are sent in one request, some of them under a key."""

    def __init__(self, n, draw):
        self.n, self.n_rows = n, draw.choice([1, 1, 2, 7, 40])
        self.key = request_key(f"key {n}", str(n).encode()) if draw.random() < 0.6 else None

    def arguments(self):
        return [{"lesson": f"n{self.n}"}] * self.n_rows, ["yes"] * self.n_rows, None, None, self.key


def counts(durable):
    """How often every lesson was learned, in what is retired too; and the version of the model that is served."""
    retired = durable.folder.glob("retired-*")
    models = [durable.model, *(load(max(folder.glob("snapshot-*.tanager"))) for folder in retired)]
    places = places_of_values(durable.model)
    found = [model.counts_.joint("lesson").sum(axis=0) for model in models]
    times = sum(found) - len(models)
    return {n: float(times[places[f"n{n}"]]) for n in range(MOST)}, float(found[0][places["base"]])


def retired_counts(durable):
    """How often every lesson was learned in what is retired."""
    total, _ = counts(durable)
    now = durable.model.counts_.joint("lesson").sum(axis=0)
    places = places_of_values(durable.model)
    return {n: total[n] - float(now[places[f"n{n}"]]) + 1 for n in range(MOST)}


def places_of_values(model):
    """The same in all models: all values are known from the beginning."""
    return {value: place for place, value in enumerate(model.encoder_.schema["lesson"].values)}


class Story:
    """A model that is served, killed, cut off from power, and served again."""

    def __init__(self, folder, seed):
        self.folder, self.draw = folder, random.Random(seed)
        self.n_lessons = self.n_images = self.version = self.n_copies = 0
        self.lessons = {}
        self.known = {}  # what became of the lessons of earlier lives: "learned", "refused" or "unknown"
        self.served_version = 0
        self.root = folder / "life-0"
        self.root.mkdir()
        (self.root / "model.tanager").write_bytes(base(self._next_version()))

    def _next_version(self):
        self.version += 1
        return self.version

    def live(self, n_steps, n_cuts):
        """One life with its restarts; checks so many power cuts, and goes on from one of them."""
        self.disk = Disk(self.root)
        with self.disk:
            durable = self._open()
            for _ in range(n_steps):
                durable = self._step(durable)
            crash(durable)
        cuts = [self.draw.randint(0, len(self.disk.events)) for _ in range(n_cuts)]
        for cut in cuts:
            seed = self.draw.random()
            target = self.folder / "image"
            self.disk.image(cut, target, seed)
            self._check(target, cut)
            shutil.rmtree(target)
        self.known, self.served_version = self._outcomes(cut)
        following = self.folder / f"life-{self.n_images}"
        self.disk.image(cut, following, seed)
        shutil.rmtree(self.root)
        self.root = following
        for copy in following.glob("copy-*"):
            shutil.rmtree(copy)

    def _open(self):
        durable = DurableModel(self.root / "model.tanager", **SMALL)
        self.disk.note("served", counts(durable)[1])
        return durable

    def _step(self, durable):
        kind = self.draw.choices(
            ["learn", "again", "snapshot", "kill", "close", "reload", "watermark", "trouble", "copy"],
            [12, 2, 2, 1, 1, 1, 1, 1, 1],
        )[0]
        if kind == "learn":
            self._learn(durable, [self._new_lesson() for _ in range(self.draw.choice([1, 1, 1, 3]))])
        elif kind == "again" and self.lessons:
            keyed = [lesson for lesson in self.lessons.values() if lesson.key is not None]
            self._learn(durable, self.draw.sample(keyed, min(3, len(keyed))))
        elif kind == "snapshot":
            durable.snapshot()
        elif kind == "copy":
            self._back_up()
        elif kind == "watermark":
            durable._journal.sync_watermark()
        elif kind == "reload":
            self._replace_file()
            durable.reload()
            self.disk.note("served", counts(durable)[1])
        elif kind == "trouble":
            self.disk.fail_syncs = self.draw.choice([[EIO], [None, ENOSPC], [EIO, EIO]])
            self._learn(durable, [self._new_lesson()])
            self.disk.fail_syncs = []
        elif kind in ("kill", "close"):
            (crash if kind == "kill" else DurableModel.close)(durable)
            if self.draw.random() < 0.2:
                self._replace_file()
            return self._open()
        return durable

    def _back_up(self):
        """What ``tanager backup`` does; the copy must last once it is made."""
        self.n_copies += 1
        name = f"copy-{self.n_copies}"
        self.disk.note("copying", name)
        checked = back_up(self.root / "model.tanager", self.root / "model.tanager.state", self.root / name)
        assert not checked.damaged, checked.damaged
        self.disk.note("copied", name)

    def _replace_file(self):
        """As ``mv`` does: without a sync of the folder."""
        path = self.root / "model.tanager.new"
        with open(path, "wb") as file:
            file.write(base(self._next_version()))
            if self.draw.random() < 0.5:
                file.flush()
                os.fsync(file.fileno())
        os.replace(path, self.root / "model.tanager")

    def _new_lesson(self):
        lesson = Lesson(self.n_lessons, self.draw)
        self.lessons[lesson.n] = lesson
        self.n_lessons += 1
        return lesson

    def _learn(self, durable, lessons):
        async def one(lesson):
            self.disk.note("sent", lesson.n)
            try:
                await durable.learn(*lesson.arguments())
            except JournalError as error:
                self.disk.note("doubtful" if "found again after a crash" in str(error) else "refused", lesson.n)
            else:
                self.disk.note("learned", lesson.n)

        asyncio.run(_all(map(one, lessons)))

    def _outcomes(self, cut):
        """What is known of every lesson after so many events, and the version that is served at least."""
        known, served = dict(self.known), self.served_version
        for kind, *rest in self.disk.events[:cut]:
            if kind == "served":
                served = rest[0]
            elif kind in ("sent", "doubtful") and known.get(rest[0]) != "learned":
                known[rest[0]] = "unknown" if kind == "doubtful" or known.get(rest[0]) != "doubtful" else "doubtful"
            elif kind == "refused" and known.get(rest[0]) == "unknown":
                known[rest[0]] = "refused"
            elif kind == "learned":
                known[rest[0]] = "learned"
        return known, served

    def _check(self, folder, cut):
        """Nothing acknowledged is lost, nothing is there twice, and what is sent again under its key is there once."""
        self.n_images += 1
        known, served = self._outcomes(cut)
        if (folder / "model.tanager.state" / "current").is_dir():
            checked = check_state(folder / "model.tanager.state")
            assert (checked.damaged, checked.lost) == ([], 0)
        with mock.patch.object(os, "fsync"):
            durable = DurableModel(folder / "model.tanager", **SMALL)
            times, version = counts(durable)
            assert version >= served, f"the model file of version {served} was served, and {version} is now"
            for n in range(self.n_lessons):
                rows, what = self.lessons[n].n_rows, known.get(n)
                allowed = {"learned": [rows], "unknown": [0, rows]}.get(what, [0])
                assert times[n] in allowed, f"lesson {n}, {what}: {times[n]:g} of {rows} rows"
            self._check_copies(folder, cut, retired_counts(durable))
            keyed = [self.lessons[n] for n in known if self.lessons[n].key is not None]
            asyncio.run(_all(durable.learn(*lesson.arguments()) for lesson in keyed))
            times, _ = counts(durable)
            for lesson in keyed:
                again = f"lesson {lesson.n}, {known[lesson.n]}, sent again: {times[lesson.n]:g} of {lesson.n_rows} rows"
                assert times[lesson.n] == lesson.n_rows, again
            durable.close()

    def _check_copies(self, folder, cut, retired):
        """A copy that was made has all that was acknowledged before it was begun, and nothing twice."""
        begun = {}
        for at, (kind, *rest) in enumerate(self.disk.events[:cut]):
            if kind == "copying":
                begun[rest[0]] = at
            elif kind == "copied":
                known, _ = self._outcomes(begun[rest[0]])
                copy = DurableModel(folder / rest[0] / "model.tanager", **SMALL)
                times, _ = counts(copy)
                copy.close()
                for n in range(self.n_lessons):
                    rows = self.lessons[n].n_rows
                    assert times[n] in (0, rows), f"lesson {n} in {rest[0]}: {times[n]:g} of {rows} rows"
                    there = times[n] or retired[n]
                    assert known.get(n) != "learned" or there, f"lesson {n} is not in {rest[0]}"


async def _all(learning):
    await asyncio.gather(*learning)


def run_story(folder, seed, n_lives, n_steps, n_cuts):
    """A story of several lives; returns how many power cuts were checked."""
    story = Story(folder, seed)
    for _ in range(n_lives):
        story.live(n_steps, n_cuts)
    return story.n_images
