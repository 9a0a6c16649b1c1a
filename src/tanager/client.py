"""A client for a running ``tanager serve``. Needs the extra ``serve``; no other module of tanager imports this one."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx2
import msgspec
import numpy as np

from tanager.encoding.frames import is_arrow, is_pandas
from tanager.encoding.values import is_missing, number, plain
from tanager.errors import DataError, OptionError, TanagerError

RETRY_PAUSES = (0.05, 0.2)  # seconds before a request is sent again
CONNECTION_ERRORS = (httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ConnectTimeout)

# The two clients have the same methods. What they return is a value in one and an awaitable in the other.
A = TypeVar("A")  # of predict: Answer
L = TypeVar("L")  # of learn and label: LearnResult
E = TypeVar("E")  # of explain: list of dict
D = TypeVar("D")  # of models, model and health: dict


class ServiceError(TanagerError):
    """The service refused a request, or did not respond.

    ``code`` and ``status`` are for programs, ``message`` says what was wrong and what to do, and ``where`` is the place
    in the request. Without a response the status is 0 and the code "unreachable" or "timeout".
    """

    def __init__(self, code: str, message: str, where: str | None = None, status: int = 0) -> None:
        super().__init__(f"{message} ({code})")
        self.code, self.message, self.where, self.status = code, message, where, status


@dataclass(frozen=True)
class Answer:
    """Predictions of the service, one for each row.

    Attributes
    ----------
    labels : list
        The predicted classes.
    proba : array of shape (n_rows, n_classes)
        Probabilities of the classes, in the order of ``classes``.
    members : array of int, or None
        How many members were used in addition to naive Bayes; None where the model has none.
    budget, seconds : float
        The time that the model was given (None where it takes no budget), and the time that it took.
    complete : bool
        Whether nothing was left out for lack of time.
    warnings : list of str
        Which columns were ignored or missing, and which values were never seen in training.
    model, sequence : str, int
        The name of the model, and how many requests to learn it had learned.
    """

    model: str
    sequence: int
    classes: list[Any]
    labels: list[Any]
    proba: np.ndarray
    members: np.ndarray | None
    budget: float | None
    seconds: float
    complete: bool
    warnings: list[str] = field(default_factory=list)

    @property
    def label(self) -> Any:
        """The predicted class of the first row, for requests with one row."""
        return self.labels[0]


@dataclass(frozen=True)
class LearnResult:
    """How many rows were learned and are safe on disk; rows of ``unknown_ids`` are not remembered (any more).

    ``repeated``: they were learned by an earlier request with the same key, and not again.
    """

    model: str
    learned: int
    sequence: int
    unknown_ids: list[str]
    repeated: bool = False


@dataclass(frozen=True)
class _Call:
    """A request that is ready to be sent."""

    method: str
    path: str
    read: Callable[[dict[str, Any]], Any] = dict
    body: Mapping[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    key: str | None = None  # of a request to learn

    @property
    def tries(self) -> Iterator[float | None]:
        """The pause after each attempt that fails; None after the last one."""
        yield from RETRY_PAUSES
        yield None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of ``request`` of httpx2."""
        headers, content = dict(self.headers), None
        if self.key is not None:
            headers["Idempotency-Key"] = self.key
        if self.body is not None:
            headers["Content-Type"] = "application/json"
            content = msgspec.json.encode({key: value for key, value in self.body.items() if value is not None})
        return {"method": self.method, "url": self.path, "headers": headers, "content": content}


class _Calls(Generic[A, L, E, D]):
    """The requests of both clients; each client has its own way of sending them."""

    def _client_options(self, url: str, token: str | None, model: str | None, timeout: float) -> dict[str, Any]:
        """Check the address; returns the options for the client of httpx2."""
        if not _is_url(url):
            raise OptionError(f"url={url!r}: write it as 'http://127.0.0.1:8000' or with https://.")
        self.url, self.name, self.timeout = url.rstrip("/"), model, timeout
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return {"base_url": self.url, "timeout": timeout, "headers": headers}

    def _send(self, call: _Call) -> Any:
        raise NotImplementedError

    def predict(
        self,
        rows: Any,
        *,
        columns: Iterable[str] | None = None,
        budget: float | None = None,
        members: int | None = None,
        deadline: float | None = None,
        ids: str | Iterable[str] | None = None,
    ) -> A:
        """Predict rows: a dict, a list of dicts, a frame, or lists or an array with the names of its ``columns``.

        Parameters
        ----------
        budget : float, optional
            Seconds that the model may take at most; the load may leave it less.
        members : int, optional
            How many members of the ensemble to use in addition to naive Bayes, whatever the load.
        deadline : float, optional
            When the response should be ready, on the clock of ``time.time()``.
        ids : str or list of str, optional
            Ids of the rows, for labels that come later.
        """
        headers = {} if deadline is None else {"X-Deadline": repr(float(deadline))}
        body = _table(rows, columns) | _one_or_many("id", ids)
        body |= {"budget_us": None if budget is None else 1e6 * budget, "members": members}
        answer: A = self._send(_Call("POST", self._path("predict"), _answer, body, headers))
        return answer

    def explain(
        self,
        rows: Any,
        *,
        columns: Iterable[str] | None = None,
        answer: Any = None,
        against: Any = None,
        what_if: bool | Mapping[str, Any] = False,
    ) -> E:
        """Explain the answers for rows (as in ``predict``): for each a dict with what columns add to the log-odds.

        Parameters
        ----------
        answer, against : label, optional
            The class to explain, and the one to set it against; by default the prediction and the most probable other.
        what_if : bool or mapping, default=False
            Also say which other values would turn the answer at the least cost, under "changes". A mapping has options
            of ``tanager.nearest_changes``: wanted, columns, fixed, costs, max_columns.
        """
        body = _table(rows, columns) | {"answer": _label(answer), "against": _label(against)}
        if what_if is not False:
            body["what_if"] = {} if what_if is True else dict(what_if)
        told: E = self._send(_Call("POST", self._path("explain"), _explanations, body))
        return told

    def importance(
        self,
        rows: Any,
        labels: Any,
        *,
        columns: Iterable[str] | None = None,
        weights: Any = None,
        learned: bool = True,
    ) -> D:
        """How much each column matters to the model, by rows (as in ``predict``, but several) with their labels.

        A dict with the ``log_loss`` of the rows, and under "columns" a dict for each column: by how much the log loss
        rises where it is not known (``increase``), and an interval (``low``, ``high``); see ``tanager.importance``.

        Parameters
        ----------
        learned : bool, default=True
            Whether the model has learned these rows. Each is then answered as if it had not.
        """
        body = _table([rows] if isinstance(rows, Mapping) else rows, columns)
        body |= {"labels": [plain(label) for label in labels], "weights": _numbers(weights), "learned": learned}
        found: D = self._send(_Call("POST", self._path("importance"), body=body))
        return found

    def nomogram(self, row: Mapping[str, Any] | None = None, *, answer: Any = None, against: Any = None) -> D:
        """What each value of each column adds to the log-odds of an answer: a dict with ``prior`` and ``axes``.

        Parameters
        ----------
        row : mapping, optional
            The row whose values are marked (``at`` of an axis); by default all is missing.
        answer, against : label, optional
            The two classes; by default the prediction and the most probable other.
        """
        body = {"row": None if row is None else _row(row), "answer": _label(answer), "against": _label(against)}
        found: D = self._send(_Call("POST", self._path("nomogram"), body=body))
        return found

    def learn(
        self,
        rows: Any,
        labels: Any,
        *,
        columns: Iterable[str] | None = None,
        weights: Any = None,
        times: Any = None,
        key: str | None = None,
    ) -> L:
        """Let the model learn rows (as in ``predict``) with their labels; they are safe on disk when this returns.

        They are learned once, however often they are sent under the same key: where the connection breaks, the request
        is sent again. Where no response came in the end, call again with the same ``key``.

        Parameters
        ----------
        key : str, optional
            A key of your own for this request, such as the number of an order; 1 to 200 printable ASCII characters.
            By default a random one.
        """
        body = _table(rows, columns) | _one_or_many("label", labels)
        body |= {"weights": _numbers(weights), "times": _numbers(times)}
        return self._learn(body, key)

    def label(self, ids: str | Iterable[str], labels: Any, *, key: str | None = None) -> L:
        """Let the model learn rows that were predicted with these ids, as in ``learn``."""
        return self._learn(_one_or_many("id", ids) | _one_or_many("label", labels), key)

    def _learn(self, body: dict[str, Any], key: str | None) -> L:
        key = secrets.token_hex(16) if key is None else key
        result: L = self._send(_Call("POST", self._path("learn"), _learn_result, body, key=key))
        return result

    def __repr__(self) -> str:
        model = "" if self.name is None else f", model={self.name!r}"
        return f"{type(self).__name__}({self.url!r}{model})"

    def models(self) -> D:
        """All models that are served."""
        return self._get("/models")

    def model(self, name: str | None = None) -> D:
        """One model: its classes, columns and options, and what it has learned."""
        name = name or self.name
        if name is None:
            raise OptionError("which model? Name it here or in the client; models() lists them.")
        return self._get(f"/models/{quote(name, safe='')}")

    def health(self) -> D:
        """Whether the service is up."""
        return self._get("/health")

    def _get(self, path: str) -> D:
        content: D = self._send(_Call("GET", path))
        return content

    def _path(self, verb: str) -> str:
        return f"/{verb}" if self.name is None else f"/models/{quote(self.name, safe='')}/{verb}"

    def _no_response(self, call: _Call, error: httpx2.TransportError) -> ServiceError:
        """The error for a request without a response."""
        doubt = (
            ""
            if call.key is None
            else f" It is not known whether the rows were learned; with key={call.key!r} they can be sent again."
        )
        if isinstance(error, httpx2.TimeoutException):
            return ServiceError("timeout", f"no response from {self.url} within {self.timeout:g} seconds.{doubt}")
        why = str(error) or type(error).__name__
        return ServiceError(
            "unreachable", f"no response from {self.url}: {why}. Is tanager serve running there?{doubt}"
        )


class Client(_Calls[Answer, LearnResult, list[dict[str, Any]], dict[str, Any]]):
    """A client whose calls wait for the response. It keeps its connection; close it, or use it in ``with``.

    A request is sent again when the connection breaks; what is learned counts once, by its key. What is refused raises
    ``ServiceError``.

    Parameters
    ----------
    url : str
        Address of the service, for example ``"http://127.0.0.1:8000"``.
    token : str, optional
        The bearer token, where the service needs one.
    model : str, optional
        The name of the model; not needed where only one is served.
    timeout : float, default=10
        Seconds to wait for a response.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        model: str | None = None,
        timeout: float = 10,
        *,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._http = httpx2.Client(transport=transport, **self._client_options(url, token, model, timeout))

    def _send(self, call: _Call) -> Any:
        for pause in call.tries:
            try:
                return _read(call, self._http.request(**call.arguments))
            except httpx2.TransportError as error:
                if pause is None or not isinstance(error, CONNECTION_ERRORS):
                    raise self._no_response(call, error) from error
            time.sleep(pause)

    def close(self) -> None:
        """End the connection."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncClient(
    _Calls[Awaitable[Answer], Awaitable[LearnResult], Awaitable[list[dict[str, Any]]], Awaitable[dict[str, Any]]]
):
    """The same for ``async`` code: every call is awaited, and many can be under way at a time."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        model: str | None = None,
        timeout: float = 10,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = httpx2.AsyncClient(transport=transport, **self._client_options(url, token, model, timeout))

    async def _send(self, call: _Call) -> Any:
        for pause in call.tries:
            try:
                return _read(call, await self._http.request(**call.arguments))
            except httpx2.TransportError as error:
                if pause is None or not isinstance(error, CONNECTION_ERRORS):
                    raise self._no_response(call, error) from error
            await asyncio.sleep(pause)

    async def close(self) -> None:
        """End the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def _read(call: _Call, response: httpx2.Response) -> Any:
    """The content of a response; an error response is raised."""
    try:
        content = msgspec.json.decode(response.content)
        if response.is_success:
            return call.read(content)
        error = content["error"]
        code, message, where = error["code"], error["message"], error.get("where")
    except (msgspec.DecodeError, LookupError, TypeError, AttributeError):
        message = f"{response.url} is not a tanager service. Check the address."
        raise ServiceError("not_tanager", message, status=response.status_code) from None
    raise ServiceError(code, message, where, response.status_code)


def _answer(content: dict[str, Any]) -> Answer:
    budget, members = content["budget_us"], content["members"]
    return Answer(
        **{key: content[key] for key in ("model", "sequence", "classes", "labels", "complete")},
        proba=np.array(content["probabilities"], dtype=float).reshape(-1, len(content["classes"])),
        members=None if members is None else np.array(members, dtype=int),
        budget=None if budget is None else budget / 1e6,
        seconds=content["time_us"] / 1e6,
        warnings=content.get("warnings", []),
    )


def _explanations(content: dict[str, Any]) -> list[dict[str, Any]]:
    return list(content["explanations"])


def _label(label: Any) -> Any:
    return None if label is None else plain(label)


def _learn_result(content: dict[str, Any]) -> LearnResult:
    names = ("model", "learned", "sequence", "unknown_ids")
    return LearnResult(**{name: content[name] for name in names}, repeated=bool(content.get("repeated")))


def _table(rows: Any, columns: Iterable[str] | None) -> dict[str, Any]:
    """Rows in one of the forms that the service takes: ``row``, ``rows``, or ``columns`` and ``rows``."""
    if isinstance(rows, Mapping):
        return {"row": _row(rows)}
    if is_pandas(rows):
        if rows.ndim == 1:
            return {"row": _row(rows.to_dict())}
        rows, columns = zip(*(rows[name] for name in rows), strict=True), [str(name) for name in rows]
    elif is_arrow(rows):
        import pyarrow as pa

        table = pa.table(rows)
        rows, columns = zip(*(column.to_pylist() for column in table.columns), strict=True), table.column_names
    rows = list(rows) if isinstance(rows, Iterable) else [rows]
    if columns is None and all(isinstance(row, Mapping) for row in rows):
        return {"rows": [_row(row) for row in rows]}
    if columns is None:
        raise DataError("rows without column names: give dicts or a frame, or columns=[...] with a name for each cell.")
    if any(isinstance(row, str) or not isinstance(row, Iterable) for row in rows):
        raise DataError("columns=[...] goes with a list of rows, each a list of cells; put a single row into a list.")
    return {"columns": list(columns), "rows": [[_cell(value) for value in row] for row in rows]}


def _row(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): _cell(value) for name, value in row.items()}


def _cell(value: object) -> Any:
    return None if is_missing(value) else plain(value)


def _one_or_many(name: str, given: Any) -> dict[str, Any]:
    """``{"id": "a"}`` or ``{"ids": ["a", "b"]}``."""
    if given is None:
        return {}
    if isinstance(given, str) or not isinstance(given, Iterable):
        return {name: plain(given)}
    return {f"{name}s": [plain(value) for value in given]}


def _numbers(given: Any) -> list[float] | None:
    """Weights or times as numbers; one for a single row, dates as seconds."""
    if given is None:
        return None
    return [number(value) for value in (given if isinstance(given, Iterable) else [given])]


def _is_url(url: object) -> bool:
    try:
        return isinstance(url, str) and url.startswith(("http://", "https://")) and bool(httpx2.URL(url).host)
    except httpx2.InvalidURL:
        return False
