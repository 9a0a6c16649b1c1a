"""Who may send a request: by the token, by the name under which the service was asked for, and by the page it is from.

A web page that somebody opens can make their browser send requests to services on their own machine or network. Two
things give such requests away. The name: a page can let its own name point to the address of this service (DNS
rebinding), but cannot change that the request then asks for that name. And the origin: browsers say from which page a
request that could change something comes.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tanager.service.errors import ServiceError, quoted

Headers = Sequence[tuple[bytes, bytes]]
_ONCE = {
    text.lower().encode(): text
    for text in (
        "Host",
        "Origin",
        "Sec-Fetch-Site",
        "Authorization",
        "Content-Type",
        "Idempotency-Key",
        "X-Deadline",
    )
}
_HOST = re.compile(r"(?:\[([0-9a-f:.]*)\]|([^:@/\[\]]+))(?::\d*)?")  # a name or an address, and a port


@dataclass(frozen=True)
class Access:
    """What a request must show.

    Parameters
    ----------
    token : str, default=None
        What ``Authorization: Bearer`` must give. None: nothing.
    hosts : tuple of str, default=()
        Names under which the service may be asked for, beside ``localhost`` and addresses written as numbers: a name,
        ``*.name`` for all below it, or ``*`` for any. Without any, a service with a token can be asked for under every
        name: who knows the token is not a web page.
    """

    token: str | None = None
    hosts: tuple[str, ...] = ()

    def check_sender(self, headers: Headers, *, changes: bool) -> None:
        """Refuse requests under a strange name, and where something may change those from the pages of others."""
        found = dict(headers)
        if len(found) < len(headers):
            _refuse_repeated(headers)
        host = found.get(b"host", b"")
        if not self._knows(host_name(host)):
            sentence = f"this service is not known as {quoted(host_name(host))}. Start it with --allowed-host NAME."
            raise ServiceError("wrong_host", sentence, "Host")
        if changes:
            _check_origin(found, host)

    def check_token(self, headers: Headers) -> None:
        """Refuse requests without the token, where there is one."""
        if self.token is None:
            return
        given = next((value for name, value in headers if name == b"authorization"), b"")
        if not hmac.compare_digest(given, b"Bearer " + self.token.encode()):
            raise ServiceError("unauthorized", "send the token of this service: Authorization: Bearer TOKEN.")

    def _knows(self, name: str) -> bool:
        if _is_safe(name) or (self.token is not None and not self.hosts):
            return True
        return any(_matches(name, host.lower()) for host in self.hosts)


def _refuse_repeated(headers: Headers) -> None:
    """Refuse headers that come twice and decide something: whoever is in front of the service may believe the other."""
    names = [name for name, _ in headers]
    for name, text in _ONCE.items():
        if names.count(name) > 1:
            raise ServiceError("bad_http", f"the request has two {text} headers. Send one.", text)


def _matches(name: str, host: str) -> bool:
    return host in ("*", name) or (host.startswith("*.") and name.endswith(host[1:]))


@lru_cache(maxsize=256)
def host_name(value: bytes) -> str:
    """The name in a Host header, without the port; all of it where it is none.

    >>> host_name(b"Example.com:8000"), host_name(b"[::1]:80"), host_name(b"127.0.0.1"), host_name(b"localhost:1@evil")
    ('example.com', '::1', '127.0.0.1', 'localhost:1@evil')
    """
    text = value.decode("latin-1").strip().lower()
    found = _HOST.fullmatch(text)
    return text if found is None else found[1] or found[2].removesuffix(".")


@lru_cache(maxsize=256)
def _is_safe(name: str) -> bool:
    """Whether a page cannot have made this name its own: an address, localhost, or none at all (HTTP/1.0)."""
    if name in ("", "localhost") or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _check_origin(headers: dict[bytes, bytes], host: bytes) -> None:
    """Refuse a request that a browser sends for a page of another origin; other programs name none."""
    origin = headers.get(b"origin")
    own = origin is None or origin.lower().partition(b"://")[2] == host.lower().strip()
    if not own or headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
        sentence = "the request comes from a web page of another origin, which this service does not answer."
        raise ServiceError("wrong_origin", sentence, "Origin")
