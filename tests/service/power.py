"""A disk that can lose power: it records file calls, and makes what could be left of them after any of these.

Calls work on a real folder, and are recorded. What was written and not synced may be on the disk or not, block by block
and in any order; so may names that were made, renamed or removed in a folder that was not synced since. A rename within
a folder happens whole or not at all. ``image`` draws one of the folders that could be left at a moment.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import random
import threading
from collections import defaultdict
from itertools import count
from pathlib import Path
from unittest import mock

BLOCK = 512


class Disk:
    """Records what happens below a folder, while it is used in ``with``. What is there at the beginning is safe."""

    def __init__(self, root):
        self.root = Path(root).absolute()
        self.events = []
        self.fail_syncs = []  # errors that the next syncs of files raise; None: no error
        self._numbers = count(1)
        self._mutex = threading.RLock()
        self._files = {}  # the node behind every open file
        self._names = {0: {}}  # of every folder, as they are now
        self._base_names, self._base_content = {0: {}}, {}
        self._scan(self.root, 0)

    def _scan(self, folder, node):
        for path in folder.iterdir():
            child = next(self._numbers)
            self._names[node][path.name] = self._base_names[node][path.name] = child
            if path.is_dir():
                self._names[child], self._base_names[child] = {}, {}
                self._scan(path, child)
            else:
                self._base_content[child] = path.read_bytes()

    def note(self, *event):
        """Put an event of the test among those of the disk."""
        with self._mutex:
            self.events.append(event)

    # --- file calls ---------------------------------------------------------------------------------------------

    def __enter__(self):
        self._real = {name: getattr(os, name) for name in CALLS} | {"builtins": builtins.open}
        self._patches = [mock.patch.object(os, name, getattr(self, f"_{name}")) for name in CALLS]
        self._patches += [mock.patch.object(place, "open", self._open_file) for place in (builtins, io)]
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_):
        for patch in self._patches:
            patch.stop()

    def _place(self, path, dir_fd=None):
        """The node of the folder that a path is in, and the name there; None for a path that is not recorded."""
        if dir_fd is not None:
            return (self._files[dir_fd], os.fspath(path)) if dir_fd in self._files else None
        whole = Path(path).absolute()
        if whole == self.root or self.root not in whole.parents or whole.name == "lock":
            return None
        node = 0
        for part in whole.relative_to(self.root).parts[:-1]:
            node = self._names[node][part]
        return node, whole.name

    def _node(self, path, dir_fd=None):
        if dir_fd is None and Path(path).absolute() == self.root:
            return 0
        place = self._place(path, dir_fd)
        return None if place is None else self._names[place[0]].get(place[1])

    def _set_names(self, folder, names):
        for name, node in names.items():
            if node is None:
                self._names[folder].pop(name, None)
            else:
                self._names[folder][name] = node
        self.events.append(("names", folder, names))

    def _opened(self, path, file, *, truncated, dir_fd=None):
        place = self._place(path, dir_fd)
        node = self._node(path, dir_fd)
        if node is None and place is not None:
            node = next(self._numbers)
            self._set_names(place[0], {place[1]: node})
        elif node is not None and truncated:
            self.events.append(("truncate", node, 0))
        if node is None:
            self._files.pop(file, None)
        else:
            self._files[file] = node

    def _open(self, path, flags, mode=0o777, *, dir_fd=None):
        with self._mutex:
            file = self._real["open"](path, flags, mode, dir_fd=dir_fd)
            self._opened(path, file, truncated=flags & os.O_TRUNC, dir_fd=dir_fd)
            return file

    def _open_file(self, path, mode="r", *args, **options):
        if isinstance(path, int) or not set(mode) & set("wxa") or self._place(path) is None:
            return self._real["builtins"](path, mode, *args, **options)
        assert set(mode) <= set("wxb"), f"{path} is opened in mode {mode}, which is not recorded"
        with self._mutex:
            raw = _Raw(path, mode.replace("b", ""))
            raw.disk = self
            self._opened(path, raw.fileno(), truncated="w" in mode)
        return io.BufferedWriter(raw)

    def wrote(self, file, at, data):
        """Record bytes that were written."""
        if file in self._files:
            self.events.append(("write", self._files[file], at, bytes(data)))

    def _pwrite(self, file, data, at):
        with self._mutex:
            n = self._real["pwrite"](file, data, at)
            self.wrote(file, at, data[:n])
            return n

    def _ftruncate(self, file, size):
        with self._mutex:
            self._real["ftruncate"](file, size)
            if file in self._files:
                self.events.append(("truncate", self._files[file], size))

    def _fsync(self, file):
        with self._mutex:
            node = self._files.get(file)
            if node is None:
                return
            error = self.fail_syncs.pop(0) if self.fail_syncs and node not in self._names else None
            self.events.append(("sync" if error is None else "failed sync", node))
            if error is not None:
                raise OSError(error, os.strerror(error))

    def _rename(self, old, new):
        with self._mutex:
            (folder, name), (to, new_name) = self._place(old), self._place(new)
            assert folder == to, "a rename between folders can lose both names"
            node = self._names[folder][name]
            self._real["rename"](old, new)
            self._set_names(folder, {name: None, new_name: node})

    _replace = _rename

    def _unlink(self, path, *, dir_fd=None):
        with self._mutex:
            self._real["unlink"](path, dir_fd=dir_fd)
            self._gone(path, dir_fd)

    _remove = _unlink

    def _rmdir(self, path, *, dir_fd=None):
        with self._mutex:
            self._real["rmdir"](path, dir_fd=dir_fd)
            self._gone(path, dir_fd)

    def _gone(self, path, dir_fd):
        place = self._place(path, dir_fd)
        if place is not None and place[1] in self._names[place[0]]:
            self._set_names(place[0], {place[1]: None})

    def _mkdir(self, path, mode=0o777, *, dir_fd=None):
        with self._mutex:
            self._real["mkdir"](path, mode, dir_fd=dir_fd)
            place = self._place(path, dir_fd)
            if place is not None:
                node = next(self._numbers)
                self._names[node] = {}
                self._set_names(place[0], {place[1]: node})

    # --- power cuts ---------------------------------------------------------------------------------------------

    def image(self, at, target, seed):
        """Write a folder that a power cut after so many events could leave."""
        draw = random.Random(seed)
        chances = {
            "names": draw.choice([0, 0.5, 1]),
            "data": draw.choice([0, 0.2, 0.8, 1]),
            "zeros": draw.random() < 0.3,
        }
        names = defaultdict(dict, {node: dict(found) for node, found in self._base_names.items()})
        content = defaultdict(bytearray, {node: bytearray(data) for node, data in self._base_content.items()})
        waiting = defaultdict(list)
        for event in self.events[:at]:
            kind, node = event[0], event[1]
            if kind in ("names", "write", "truncate"):
                waiting[node].append(event)
            elif kind == "sync":
                _settle(waiting.pop(node, []), names[node], content[node], None, chances)
            elif kind == "failed sync":  # the system may forget what was not written, and never say so again
                _settle(waiting.pop(node, []), names[node], content[node], draw, chances)
        for node, events in waiting.items():
            _settle(events, names[node], content[node], draw, chances)
        _write_folder(Path(target), 0, names, content, set(self._names))


CALLS = ("open", "pwrite", "ftruncate", "fsync", "rename", "replace", "unlink", "remove", "rmdir", "mkdir")


class _Raw(io.FileIO):
    disk: Disk

    def write(self, data):
        with self.disk._mutex:
            at = self.tell()
            n = super().write(data)
            self.disk.wrote(self.fileno(), at, bytes(data[:n]))
            return n


def _settle(events, names, content, draw, chances):
    """Let events reach the disk: all of them, or (with ``draw``) some."""

    def reaches(kind):
        return draw is None or draw.random() < chances[kind]

    longest = len(content)
    for event in events:
        if event[0] == "names":
            if reaches("names"):
                names.update(event[2])
        elif event[0] == "truncate":
            if reaches("data"):
                del content[event[2] :]
                content.extend(bytes(event[2] - len(content)))
        else:
            _, _, at, data = event
            longest = max(longest, at + len(data))
            first = at - at % BLOCK
            for block in range(first, at + len(data), BLOCK):
                if reaches("data"):
                    start, end = max(block, at), min(block + BLOCK, at + len(data))
                    content.extend(bytes(max(0, end - len(content))))
                    content[start:end] = data[start - at : end - at]
    if draw is not None and chances["zeros"] and len(content) < longest:
        content.extend(bytes(draw.randint(0, longest - len(content))))  # the length is there before the bytes are


def _write_folder(folder, node, names, content, folders):
    folder.mkdir()
    for name, child in names[node].items():
        if child is None:
            continue
        if child in folders:
            _write_folder(folder / name, child, names, content, folders)
        else:
            (folder / name).write_bytes(content[child])


EIO, ENOSPC = errno.EIO, errno.ENOSPC
