"""Lines: reading and writing one message."""

from __future__ import annotations

import json
import re

MAX_LINE = 1024 * 1024
"""Most bytes of one line, its newline not counted."""

MAX_DEPTH = 128
"""Deepest nesting of one line."""

MAX_ID = 256

_MEMBERS = ("jsonrpc", "id", "method", "params", "result", "error")
_QUOTED = tuple(f'"{name}"'.encode() for name in _MEMBERS)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


class BrokenLine(Exception):
    """A line that is no message. The connection is not to be trusted further."""


def _refuse_constant(name: str):
    raise ValueError(f"{name} is no number of JSON")


_plain = json.JSONDecoder(parse_constant=_refuse_constant)
_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_ascii = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def dumps(value) -> bytes:
    """A value as JSON on one line. A lone surrogate can't be UTF-8, so such text is escaped."""
    try:
        return _compact.encode(value).encode()
    except UnicodeEncodeError:
        return _ascii.encode(value).encode()


def encode(**members) -> bytes:
    """A message as a line, its newline included."""
    return dumps({"jsonrpc": "2.0", **members}) + b"\n"


def decode(line: bytes) -> dict:
    """Reads one line, without its newline; raises BrokenLine."""
    if len(line) > MAX_LINE:
        raise BrokenLine(f"line is longer than {MAX_LINE} bytes")
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise BrokenLine("line is not UTF-8") from None
    if line.count(b"{") + line.count(b"[") > MAX_DEPTH and _depth(line) > MAX_DEPTH:
        raise BrokenLine(f"line is nested deeper than {MAX_DEPTH}")
    message = _parse(_plain, text)
    if isinstance(message, list):
        raise BrokenLine("batches are not part of the protocol")
    if not isinstance(message, dict):
        raise BrokenLine("message is not an object")
    # A key is rarely seen twice or escaped, and only then is it worth looking where it stands.
    if b"\\u" in line or any(line.count(name) > 1 for name in _QUOTED):
        _refuse_duplicates(text)
    _check(message)
    return message


def _parse(decoder: json.JSONDecoder, text: str):
    # JSON's white space only: Python's own strip would take more.
    try:
        return decoder.decode(text.strip(" \t\r\n"))
    except (ValueError, RecursionError) as error:
        raise BrokenLine(f"line is not JSON: {error}") from None


def _depth(line: bytes) -> int:
    depth = deepest = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", line)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _refuse_duplicates(text: str) -> None:
    outermost: list = []

    def remember(pairs):
        # Called for inner objects first, so the message's own is the last.
        outermost[:] = pairs
        return None

    _parse(json.JSONDecoder(object_pairs_hook=remember, parse_constant=_refuse_constant), text)
    names = [name for name, _ in outermost]
    for name in _MEMBERS:
        if names.count(name) > 1:
            raise BrokenLine(f"member {name} stands there twice")


def _check(message: dict) -> None:
    if message.get("jsonrpc") != "2.0":
        raise BrokenLine('member jsonrpc is not "2.0"')
    kinds = [name for name in ("method", "result", "error") if name in message]
    if not kinds:
        raise BrokenLine("message has none of method, result and error")
    if len(kinds) > 1:
        raise BrokenLine("message has more than one of method, result and error")
    if kinds == ["method"]:
        if not isinstance(message["method"], str):
            raise BrokenLine("member method is not a string")
    elif "id" not in message:
        raise BrokenLine("answer has no id")
    if "id" in message and not _is_id(message["id"]) and not (kinds == ["error"] and message["id"] is None):
        raise BrokenLine("member id is neither a string nor a number of at most 256 bytes")
    if kinds == ["error"]:
        error = message["error"]
        if not (isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str)):
            raise BrokenLine("member error is not an error object")


def _is_id(value) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and len(dumps(value)) <= MAX_ID


class Splitter:
    """Cuts chunks of a stream into lines of at most MAX_LINE bytes, and keeps no more than that."""

    def __init__(self) -> None:
        self._partial = bytearray()

    def split(self, chunk: bytes):
        """The whole lines so far; raises BrokenLine as soon as one passes the limit."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            if self._partial:
                self._partial += line
                line, self._partial = bytes(self._partial), bytearray()
            yield line
        self._partial += rest
        if len(self._partial) > MAX_LINE:
            raise BrokenLine(f"line is longer than {MAX_LINE} bytes")
