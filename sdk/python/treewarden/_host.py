"""The way to the host."""

from __future__ import annotations

import os
import threading
from collections import namedtuple

from ._calls import remaining_of_current_call
from ._failure import Failure, connection_gone
from ._lines import MAX_LINE, encode


DEFAULT_TIMEOUT = 30.0
"""Seconds a call of ours has unless told otherwise, or the call it is made in ends sooner."""

_SHORTENED_MESSAGE = 8 * 1024

Identity = namedtuple("Identity", ["id", "generation"])
Identity.__doc__ = "An instance: its id and generation (SUP-14)."


class _Waiter:
    def __init__(self) -> None:
        self.answered = threading.Event()
        self.message = None


class Host:
    """Lines out, and answers to what the plugin asks."""

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._writing = threading.Lock()
        self._lock = threading.Lock()
        self._waiting: dict = {}
        self._last_id = 0
        self._closed = False
        self.start = None
        self.stopping = False
        self.reader = None

    def instance(self) -> Identity:
        start = self.start
        if start is None:
            return Identity("local", 0)
        return Identity(start["instance"]["id"], start["instance"]["generation"])

    def config(self):
        return None if self.start is None else self.start.get("config")

    def frame_bytes(self) -> int:
        limits = self.start.get("limits") if self.start else None
        bound = limits.get("frame_bytes") if isinstance(limits, dict) else None
        return min(bound, MAX_LINE) if isinstance(bound, int) else MAX_LINE

    def write(self, lines: bytes) -> bool:
        """Writes whole lines, and waits while the host reads nothing; false once the host is gone."""
        with self._writing:
            rest = memoryview(lines)
            try:
                while rest and self._sink is not None:
                    rest = rest[os.write(self._sink, rest) :]
            except OSError:
                self._sink = None
            return self._sink is not None

    def request(self, method: str, params, timeout: float):
        """Asks the host and waits for its answer."""
        if threading.get_ident() == self.reader:
            raise Failure.invalid("an inline handler can't wait for an answer: it runs on the thread that reads it")
        waiter = _Waiter()
        with self._lock:
            if self._closed:
                raise connection_gone()
            self._last_id += 1
            id = self._last_id
            self._waiting[id] = waiter
        try:
            line = encode(id=id, method=method, params=params)
            if len(line) - 1 > self.frame_bytes():
                raise Failure("capacity", f"line of {len(line) - 1} bytes is longer than {self.frame_bytes()}")
            if not self.write(line):
                raise connection_gone()
            left = remaining_of_current_call()
            left = timeout if left is None else min(left, timeout)
            if not waiter.answered.wait(left):
                raise Failure("deadline", f"no answer to {method} within {left * 1000:.0f} ms")
        finally:
            with self._lock:
                self._waiting.pop(id, None)
        message = waiter.message
        if message is None:
            raise connection_gone()
        if "error" in message:
            raise Failure.from_object(message["error"])
        return message["result"]

    def complete(self, message: dict) -> None:
        """Hands an answer to who waits for it. One that was never asked for, or came twice, is ignored."""
        with self._lock:
            waiter = self._waiting.pop(message["id"], None)
        if waiter is not None:
            waiter.message = message
            waiter.answered.set()

    def close(self) -> None:
        """The connection is gone: whoever waits, or asks later, gets ``connection``."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = list(self._waiting.values()), {}
        for waiter in waiting:
            waiter.answered.set()

    def log(self, level: str, message: str, fields) -> None:
        params = {"level": level, "message": message}
        try:
            line = encode(method="log", params={**params, "fields": fields} if fields else params)
        except (TypeError, ValueError):
            line = encode(method="log", params={**params, "fields": {key: repr(value) for key, value in fields.items()}})
        if len(line) - 1 > self.frame_bytes():
            line = encode(method="log", params={"level": level, "message": message[:_SHORTENED_MESSAGE]})
        self.write(line)
