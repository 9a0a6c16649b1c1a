"""What an attacker would send: two meanings for one request, strange versions, names, paths and chunks."""

import re
import socket

import pytest
from serving import close, live, make_service, write_model

from tanager.service.connections import ConnectionLimits
from waiting import PATIENCE

BODY = b'{"row":{"colour":"red"}}'
EVIL = b'{"row":{"colour":"red"},"label":"evil"}'
HEAD = b"Host: localhost\r\nContent-Type: application/json\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
HIDDEN = b"POST /learn HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s" % (HEAD, len(EVIL), EVIL)
LEARN = b'{"row":{"colour":"red"},"label":"fish"}'


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    service = make_service(write_model(tmp_path_factory.mktemp("attacks") / "pets.tanager"))
    with live(service, ConnectionLimits(head=PATIENCE, idle=0.05)) as port:
        yield service, port
    close(service)


def talk(port, sent):
    """All that comes back until the service ends the connection."""
    heard = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as wire:
        wire.sendall(sent)
        while part := wire.recv(65536):
            heard += part
    return heard


def statuses(heard):
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", heard)]


def predict(fields, body=BODY, version=b"1.1", head=HEAD):
    return b"POST /predict HTTP/%s\r\n%s%s\r\n%s" % (version, head, fields, body)


TWO_MEANINGS = {
    "length and chunks": predict(LENGTH + b"Transfer-Encoding: chunked\r\n", CHUNKS + HIDDEN),
    "chunks and length": predict(b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", b"0\r\n\r\n" + HIDDEN),
    "two lengths": predict(LENGTH + b"Content-Length: 0\r\n", BODY + HIDDEN),
    "one length twice": predict(LENGTH * 2),
    "a list of lengths": predict(b"Content-Length: 24, 24\r\n"),
    "a length with a sign": predict(b"Content-Length: +24\r\n"),
    "a negative length": predict(b"Content-Length: -1\r\n"),
    "a length beyond 64 bits": predict(b"Content-Length: 18446744073709551617\r\n"),
    "a space before the colon": predict(b"Content-Length : 24\r\n"),
    "almost chunked": predict(b"Transfer-Encoding: xchunked\r\n", CHUNKS + HIDDEN),
    "chunked, then identity": predict(b"Transfer-Encoding: chunked, identity\r\n", CHUNKS + HIDDEN),
    "an odd blank before chunked": predict(b"Transfer-Encoding: \x0bchunked\r\n", CHUNKS + HIDDEN),
    "lines that end in LF": predict(LENGTH).replace(b"\r\n", b"\n"),
    "one line that ends in LF": predict(b"X: a\n" + LENGTH),
    "a CR within a line": predict(b"X: a\r" + LENGTH),
    "a folded line": predict(b"X: a\r\n b\r\n" + LENGTH),
    "a folded length": predict(b"Content-Length:\r\n 24\r\n"),
    "a chunk beyond 64 bits": predict(b"Transfer-Encoding: chunked\r\n", b"FFFFFFFFFFFFFFFFF\r\n" + BODY),
    "a negative chunk": predict(b"Transfer-Encoding: chunked\r\n", b"-5\r\n" + BODY),
    "a chunk as 0x18": predict(b"Transfer-Encoding: chunked\r\n", b"0x18\r\n%s\r\n0\r\n\r\n" % BODY),
    "chunks that end in LF": predict(b"Transfer-Encoding: chunked\r\n", CHUNKS.replace(b"\r\n", b"\n")),
    "a chunk longer than it says": predict(b"Transfer-Encoding: chunked\r\n", b"18\r\n%sXX\r\n0\r\n\r\n" % BODY),
    "long trailers": predict(b"Transfer-Encoding: chunked\r\n", CHUNKS[:-2] + b"X: %s\r\n\r\n" % (b"y" * 70_000)),
    "NUL in a header": predict(b"X: a\x00b\r\n" + LENGTH),
    "an escape in the path": b"GET /models/\x1b[31m HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "HTTP 0.9": b"GET /models\r\n\r\n",
    "HTTP 2.0": predict(LENGTH, version=b"2.0"),
    "HTTP 2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "CONNECT": b"CONNECT evil:443 HTTP/1.1\r\nHost: evil:443\r\n\r\n",
    "no host": predict(LENGTH, head=b"Content-Type: application/json\r\n"),
    "two hosts": predict(b"Host: evil.example\r\n" + LENGTH),
    "two origins": predict(b"Origin: http://evil.example\r\nOrigin: http://localhost\r\n" + LENGTH),
    "two sites": predict(b"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none\r\n" + LENGTH),
    "two types": predict(b"Content-Type: text/plain\r\n" + LENGTH),
    "two tokens": predict(b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n" + LENGTH),
    "two keys": b"POST /learn HTTP/1.1\r\n%sIdempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: %d\r\n\r\n%s"
    % (HEAD, len(LEARN), LEARN),
}


@pytest.mark.parametrize("name", TWO_MEANINGS)
def test_a_request_that_others_may_read_otherwise_is_refused_and_nothing_behind_it_is_read(served, name):
    service, port = served
    assert statuses(talk(port, TWO_MEANINGS[name])) == [400]
    store = service.served["pets"].store
    assert (store.sequence, "evil" in store.model.classes_) == (0, False)


@pytest.mark.parametrize(
    "host",
    [b"localhost:80@evil.example", b"localhost@evil.example", b"[::1]evil.example", b":evil.example", b"2130706433"],
)
def test_a_host_that_only_begins_like_a_known_one_is_a_strange_one(served, host):
    assert statuses(talk(served[1], predict(LENGTH, head=HEAD.replace(b"localhost", host)))) == [421]


@pytest.mark.parametrize(
    "host", [b"localhost:8000", b"LOCALHOST", b"localhost.", b"127.0.0.1:1", b"[::1]:80", b"", b"[::1]"]
)
def test_known_hosts_are_known_however_they_are_written(served, host):
    assert statuses(talk(served[1], predict(LENGTH, head=HEAD.replace(b"localhost", host)))) == [200]


@pytest.mark.parametrize(
    "path",
    [
        b"/models/../models",
        b"/models/%2e%2e/%2e%2e/etc/passwd",
        b"/models/..%2f..%2fetc%2fpasswd",
        b"/models/pets%00",
        b"/models/a%0d%0aX:%20y",
        b"/models/%zz",
        b"/models/%ff%fe",
        b"/models/" + b"a" * 60_000,
        b"//models",
        b"*",
    ],
    ids=lambda path: path[:30].decode(),
)
def test_no_path_leads_out_of_the_service(served, path):
    heard = talk(served[1], b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path)
    assert statuses(heard) == [404]
    assert len(heard) < 2000
    assert b"\r\nX: y" not in heard


def test_requests_behind_one_another_are_answered_in_order_and_bodies_of_get_are_no_requests(served):
    health = b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(HIDDEN), HIDDEN)
    assert statuses(talk(served[1], predict(LENGTH) + health + predict(LENGTH))) == [200, 200, 200]
    assert served[0].served["pets"].store.sequence == 0
