"""What a handler fails with."""

from __future__ import annotations

METHOD_NOT_FOUND = -32601

_CODES = {
    "application": -32000,
    "connection": -32001,
    "unavailable": -32002,
    "denied": -32003,
    "deadline": -32004,
    "stale_generation": -32005,
    "capacity": -32006,
    "invalid": -32602,
}


class Failure(Exception):
    """An error as the peer reads it: a kind, a sentence, and details.

    Kinds: connection unavailable denied deadline stale_generation capacity invalid application. Any other exception a handler
    raises is answered as kind ``application``.
    """

    def __init__(self, kind: str, message: str, **details) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.details = details
        self.code = _CODES.get(kind, -32000)

    @classmethod
    def invalid(cls, message: str) -> "Failure":
        """The request itself is wrong."""
        return cls("invalid", message)

    @classmethod
    def method_not_found(cls, name: str) -> "Failure":
        """Nobody knows the method."""
        failure = cls("invalid", f"unknown method {name!r}")
        failure.code = METHOD_NOT_FOUND
        return failure

    @classmethod
    def of(cls, error: BaseException) -> "Failure":
        """Any exception as a failure."""
        if isinstance(error, Failure):
            return error
        return cls("application", f"{type(error).__name__}: {error}")

    @classmethod
    def from_object(cls, error) -> "Failure":
        """The failure a peer answered with."""
        data = error.get("data")
        details = {str(key): value for key, value in data.items()} if isinstance(data, dict) else {}
        kind = details.pop("kind", None)
        if not isinstance(kind, str):
            kind = "invalid" if -32700 <= error["code"] <= -32600 else "application"
        failure = cls(kind, error["message"])
        failure.details, failure.code = details, error["code"]
        return failure

    def object(self) -> dict:
        """The error object of JSON-RPC."""
        return {"code": self.code, "message": self.message, "data": {**self.details, "kind": self.kind}}


def connection_gone() -> Failure:
    return Failure("connection", "the connection to the host is gone")
