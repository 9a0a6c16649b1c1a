"""Who may send a request: by the token, by the name under which the service was asked for, and by the page it is from.

A web page that somebody opens can make their browser send requests to services on their own machine or network. Two
things give such requests away. The name: a page can let its own name point to the address of this service (DNS
rebinding), but cannot change that the request then asks for that name. And the origin: browsers say from which page a
request that could change something comes.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tanager.service.errors import ServiceError, quoted

Headers = Sequence[tuple[bytes, bytes]]


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
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) > 1:
            raise ServiceError("bad_http", "the request has two Host headers. Send one.", "Host")
        host = hosts[0] if hosts else b""
        if not self._knows(host_name(host)):
            sentence = f"this service is not known as {quoted(host_name(host))}. Start it with --allowed-host NAME."
            raise ServiceError("wrong_host", sentence, "Host")
        if changes:
            _check_origin(dict(headers), host)

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


def _matches(name: str, host: str) -> bool:
    return host in ("*", name) or (host.startswith("*.") and name.endswith(host[1:]))


@lru_cache(maxsize=256)
def host_name(value: bytes) -> str:
    """The name in a Host header, without the port.

    >>> host_name(b"Example.com:8000"), host_name(b"[::1]:80"), host_name(b"127.0.0.1")
    ('example.com', '::1', '127.0.0.1')
    """
    text = value.decode("latin-1").strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].removesuffix(".")


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
