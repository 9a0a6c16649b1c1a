"""Connections that send nothing, or little, or take nothing: they end in time, and give way to others before that.

Time is a number that the tests move; where a real server is asked, they wait for what must happen.
"""

import contextlib
import resource
import socket
import ssl
import struct
import subprocess
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import ROWS, live, response
from test_serve_command import Process

from tanager.errors import OptionError
from tanager.service import server
from tanager.service.app import Limits
from tanager.service.connections import ConnectionLimits, ConnectionTable, Phase
from tanager.service.http_protocol import Written
from waiting import PATIENCE, wait_for

CERTIFICATE, KEY = (Path(__file__).parent / f"localhost-{what}.pem" for what in ("cert", "key"))
POST = b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
BODY = b'{"row": {"colour": "red"}}'
REQUEST = POST + b"content-length: %d\r\n\r\n" % len(BODY) + BODY
ONE_SIDED = ConnectionLimits(connections=4, head=10, taking=30)


class Clock:
    """A clock that stands still until somebody moves it."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Client:
    """A connection that only notes what becomes of it."""

    def __init__(self):
        self.end = None

    def late(self, phase):
        self.end = phase

    def give_way(self):
        self.end = "gave way"


# --- the table ------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from(["add", *Phase, "gone", "wait"]), st.integers(0, 7)), max_size=60))
def test_the_table_is_as_a_list_that_is_searched(steps):
    """Against a twin that keeps (client, phase, since) in a list and looks through all of it every time."""
    clock, limits = Clock(), ONE_SIDED
    table, twin, clients = ConnectionTable(limits, clock), [], [Client()]
    for what, n in steps:
        one = clients[n % len(clients)]
        mine = [entry for entry in twin if entry[0] is one]
        if what == "add":
            clients.append(Client())
            if len(twin) == limits.connections:
                order = {phase: at for at, phase in enumerate(Phase) if phase is not Phase.ANSWER}
                free = [entry for entry in twin if entry[1] in order]
                lost = min(free, key=lambda entry: (order[entry[1]], twin.index(entry)), default=None)
                assert table.add(clients[-1]) == (lost is not None)
                if lost is None:
                    continue
                assert lost[0].end == "gave way"
                twin.remove(lost)
            else:
                assert table.add(clients[-1])
            twin.append((clients[-1], Phase.HEAD, clock.now))
        elif what == "gone":
            table.remove(one)
            twin = [entry for entry in twin if entry[0] is not one]
        elif what == "wait":
            clock.now += 3 * n
            table.sweep()
            late = [e for e in twin if (most := limits.seconds(e[1])) is not None and clock.now - e[2] >= most]
            assert all(client.end is phase for client, phase, _ in late)
            twin = [entry for entry in twin if entry not in late]
        else:
            table.move(one, what)
            if mine and mine[0][1] is not what:
                twin = [entry for entry in twin if entry[0] is not one] + [(one, what, clock.now)]
        assert len(table) == len(twin)
        assert all(table.phase(client) is phase for client, phase, _ in twin)
        assert all(client.end is None for client, _, _ in twin)
    assert table.sizes() == {p.value: sum(phase is p for _, phase, _ in twin) for p in Phase}


# --- a real server --------------------------------------------------------------------------------------------------


@pytest.fixture
def place(service):
    """A server whose connections are timed by ``clock``; ``connect`` connects to it, and ``sizes`` counts phases."""
    with contextlib.ExitStack() as stack:
        yield Place(service, stack)


class Place:
    def __init__(self, service, stack):
        self.service, self.stack, self.clock = service, stack, Clock()

    def start(self, **limits):
        self.port = self.stack.enter_context(live(self.service, ConnectionLimits(**limits), clock=self.clock))
        return self

    def connect(self, sent=b""):
        wire = self.stack.enter_context(socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE))
        wire.sendall(sent)
        return wire

    def in_phase(self, phase):
        return self.service.connections.sizes()[phase.value]

    def predicts(self):
        return httpx2.post(f"http://127.0.0.1:{self.port}/predict", json={"row": {"colour": "red"}}).status_code == 200


def rest(wire):
    """All that still comes, up to the end."""
    heard = b""
    with contextlib.suppress(ConnectionResetError):
        while part := wire.recv(65536):
            heard += part
    return heard


def test_a_connection_that_sends_nothing_ends(place):
    silent = place.start(head=10).connect()
    wait_for(lambda: place.in_phase(Phase.HEAD) == 1)
    place.clock.now = 10
    assert rest(silent) == b""
    wait_for(lambda: 'why="sent nothing"} 1.0' in httpx2.get(f"http://127.0.0.1:{place.port}/metrics").text)


def test_a_head_has_its_time_in_all_however_it_trickles(place):
    slow = place.start(head=10).connect(b"GET /health")
    wait_for(lambda: place.in_phase(Phase.HEAD) == 1)
    for place.clock.now in range(1, 10):
        slow.sendall(b"x")
        assert place.predicts()
    place.clock.now = 10
    heard = rest(slow)
    assert heard.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive within 10 s" in heard


def test_the_next_request_on_a_connection_has_its_time_from_its_first_byte_on(place):
    kept = place.start(head=10).connect(REQUEST)
    assert response(kept).startswith(b"HTTP/1.1 200")
    wait_for(lambda: place.in_phase(Phase.IDLE) == 1)
    place.clock.now = 1000  # a rest between two requests is for uvicorn to end
    kept.sendall(REQUEST[:10])
    wait_for(lambda: place.in_phase(Phase.HEAD) == 1)
    place.clock.now = 1009
    kept.sendall(REQUEST[10:])
    assert response(kept).startswith(b"HTTP/1.1 200")
    kept.sendall(REQUEST[:10])
    wait_for(lambda: place.in_phase(Phase.HEAD) == 1)
    place.clock.now = 1019
    assert rest(kept).startswith(b"HTTP/1.1 408")


def test_a_rest_between_requests_ends(place):
    kept = place.start(idle=0).connect(REQUEST)
    assert rest(kept).startswith(b"HTTP/1.1 200")


def test_the_rest_of_a_body_that_is_not_wanted_comes_to_an_end(place):
    wire = place.start(head=10).connect(b"POST /nothing HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nsome")
    assert response(wire).startswith(b"HTTP/1.1 404")
    wait_for(lambda: place.in_phase(Phase.REST) == 1)
    wire.sendall(b"more")
    place.clock.now = 10
    assert rest(wire) == b""


def test_who_does_not_take_the_response_is_left(place):
    place.service.limits = Limits()
    body = b'{"columns": ["colour"], "rows": [' + b",".join([b'["red"]'] * 10_000) + b"]}"
    request = POST + b"content-length: %d\r\n\r\n" % len(body) + body
    wire = place.start(taking=30).connect()
    wire.setblocking(False)
    sent = 0

    def paused():  # more is asked for than the buffers of the system hold
        nonlocal sent
        with contextlib.suppress(BlockingIOError):
            sent = (sent + wire.send(request[sent:])) % len(request)
        return place.in_phase(Phase.TAKING) == 1

    wait_for(paused)
    place.clock.now = 30
    wait_for(lambda: len(place.service.connections) == 0)
    assert place.predicts()


def test_the_oldest_that_waits_for_a_head_gives_way_and_those_with_requests_stay(place):
    place.start(connections=3)
    kept = place.connect(REQUEST)
    assert response(kept).startswith(b"HTTP/1.1 200")
    first = place.connect()
    wait_for(lambda: place.in_phase(Phase.HEAD) == 1)
    second = place.connect(b"GET /")
    wait_for(lambda: place.in_phase(Phase.HEAD) == 2)
    third = place.connect(REQUEST)
    assert response(third).startswith(b"HTTP/1.1 200")
    assert rest(first) == b""
    kept.sendall(REQUEST)
    assert response(kept).startswith(b"HTTP/1.1 200")
    second.sendall(b"health HTTP/1.1\r\nhost: a\r\n\r\n")
    assert response(second).startswith(b"HTTP/1.1 200")


def test_many_silent_and_half_told_connections_keep_nobody_out(place):
    place.start(connections=50)
    for n in range(300):
        place.connect([b"", b"GET / HT", POST + b"content-length: 50\r\n\r\n{"][n % 3])
        assert n % 50 or place.predicts()
    assert len(place.service.connections) <= 50
    assert place.predicts()


def test_where_all_connections_are_answered_a_new_one_is_asked_to_come_again(place):
    place.start(connections=1)
    busy = place.connect()
    wait_for(lambda: place.in_phase(Phase.HEAD) == 1)
    served = place.service.served["pets"]
    with served.store.lock:  # nothing is answered meanwhile
        busy.sendall(REQUEST)
        wait_for(lambda: place.in_phase(Phase.ANSWER) == 1)
        assert b"all connections are busy" in rest(place.connect())
    assert response(busy).startswith(b"HTTP/1.1 200")


def test_what_is_no_http_does_not_become_the_answer_to_the_request_before_it(place):
    heard = rest(place.start().connect(REQUEST + b"garbage\r\n\r\n"))
    assert heard.startswith(b"HTTP/1.1 200")
    assert b"400" not in heard


@pytest.mark.parametrize("path", [b"/nothing", b"/predict", b"/learn", b"/models/pets/reload"])
def test_a_request_that_turns_out_to_be_no_http_gets_one_response_and_no_traceback(place, caplog, path):
    """Found by ``fuzz/requests.py``: the application answered on a connection that was closed already."""
    head = b"POST " + path + b" HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    place.start()
    for pieces in ((head + b"zz\r\n",), (head, b"zz\r\n")):  # before, and perhaps after it was answered
        wire = place.connect()
        for piece in pieces:
            wire.sendall(piece)
        assert rest(wire).count(b"HTTP/1.1 ") == 1
    assert place.predicts()
    assert "Traceback" not in caplog.text


def test_a_client_that_goes_in_the_same_moment_leaves_no_traceback(place, caplog):
    """Found by ``fuzz/requests.py``: uvloop ends a transport before the application hears of it."""
    transport = Gone()
    Written(transport).write(b"HTTP/1.1 200 OK")
    assert transport.written == []
    place.start()
    for _ in range(20):
        wire = place.connect(REQUEST)
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing resets the connection
        wire.close()
    assert place.predicts()
    wait_for(lambda: len(place.service.connections) == 0)
    assert "Traceback" not in caplog.text


class Gone:
    """A transport whose other side has gone."""

    def __init__(self):
        self.written = []

    def is_closing(self):
        return True

    def close(self):
        pass

    def write(self, data):
        self.written.append(data)


def test_few_requests_may_wait_behind_one_another(place):
    place.start()
    kept = place.connect(REQUEST * 16)
    heard = b""
    while heard.count(b"HTTP/1.1 200") < 16:
        heard += kept.recv(65536)
    assert rest(place.connect(REQUEST * 1000)).count(b"HTTP/1.1 200") < 50
    assert place.predicts()


# --- descriptors ----------------------------------------------------------------------------------------------------


def test_there_are_no_more_connections_than_descriptors(monkeypatch):
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (200, 200))
    few = server.within_descriptors(ConnectionLimits())
    assert 8 <= few.connections < 200
    assert server.within_descriptors(ConnectionLimits(connections=8)).connections == 8
    monkeypatch.setattr(resource, "getrlimit", lambda _: (40, 40))
    with pytest.raises(OptionError, match="only 40 files and connections"):
        server.within_descriptors(ConnectionLimits())


def test_descriptors_are_raised_where_the_system_allows_it(monkeypatch):
    now = [100, 5000]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(now))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: now.__setitem__(0, limits[0]))
    assert server.within_descriptors(ConnectionLimits()).connections == 1000
    assert 1000 < now[0] < 2000


@pytest.mark.long
@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_with_few_descriptors_silent_connections_lock_nobody_out(tmp_path, model_file, tls):
    words = ["--tls-cert", CERTIFICATE, "--tls-key", KEY] if tls else []
    few = ["bash", "-c", 'ulimit -n 200 && exec "$@"', "-"]
    one = Process(tmp_path, "pets.tanager", *words, before=few)
    verify = ssl.create_default_context(cafile=CERTIFICATE) if tls else True
    try:
        with contextlib.ExitStack() as stack:
            for _ in range(300):
                address = ("127.0.0.1", one.client.base_url.port)
                stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
            for _ in range(5):
                answer = httpx2.post(f"{one.client.base_url}/predict", json={"row": ROWS[0]}, verify=verify)
                assert answer.status_code == 200
            assert one.stop() == 0
            assert one.err == ""
    finally:
        one.process.kill()
        one.process.communicate()


# --- TLS ------------------------------------------------------------------------------------------------------------


def test_tls_serves_https_and_nothing_else(service):
    context = server.tls_context(str(CERTIFICATE), str(KEY))
    verify = ssl.create_default_context(cafile=CERTIFICATE)
    with live(service, tls=context) as port:
        with httpx2.Client(base_url=f"https://localhost:{port}", verify=verify) as client:
            for _ in range(2):
                assert client.post("/predict", json={"row": ROWS[0]}).status_code == 200
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as plain:
            plain.sendall(REQUEST)
            assert b"200" not in rest(plain)
        old = ssl.create_default_context(cafile=CERTIFICATE)
        old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        with pytest.warns(DeprecationWarning, match="TLS"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as wire, pytest.raises(ssl.SSLError):
            old.wrap_socket(wire, server_hostname="localhost")
        assert httpx2.get(f"https://localhost:{port}/health", verify=verify).status_code == 200


def test_tls_that_is_not_agreed_on_in_time_ends(service):
    clock = Clock()
    with live(service, ConnectionLimits(head=1000), server.tls_context(str(CERTIFICATE), str(KEY)), clock) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as silent:
            wait_for(lambda: service.connections.sizes()["head"] == 1)
            clock.now = 1000
            assert rest(silent) == b""
        wait_for(lambda: len(service.connections) == 0)


@pytest.mark.parametrize(
    ("certificate", "key", "why"),
    [(KEY, KEY, "no start line"), (CERTIFICATE, CERTIFICATE, "no start line"), (CERTIFICATE, "other", "mismatch")],
    ids=["certificate", "key", "mismatch"],
)
def test_a_certificate_that_cannot_be_used_is_told(tmp_path, certificate, key, why):
    if key == "other":
        key = tmp_path / "other.pem"
        done = subprocess.run(
            ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key], check=False
        )
        if done.returncode:
            pytest.skip("there is no openssl to make a key with")
    with pytest.raises(OptionError, match=r"cannot use --tls-cert .* with --tls-key"):
        server.tls_context(str(certificate), str(key))


@pytest.mark.long
def test_the_command_serves_https(tmp_path, model_file):
    one = Process(tmp_path, "pets.tanager", "--tls-cert", CERTIFICATE, "--tls-key", KEY)
    try:
        verify = ssl.create_default_context(cafile=CERTIFICATE)
        assert httpx2.get(f"{one.client.base_url}/health", verify=verify).json() == {"status": "ok"}
        assert one.stop() == 0
        assert one.err == ""
    finally:
        one.process.kill()
        one.process.communicate()
