"""One connection, from the first line to the end."""

from __future__ import annotations

import os
import threading

from . import _finish, _streams
from ._calls import Call, Event, Hook
from ._failure import Failure
from ._finish import Shutdown
from ._lines import BrokenLine, Splitter, decode, encode
from ._workers import Workers

PROTOCOL = "treewarden.plugin/1"

_CHUNK = 64 * 1024
_ANSWERS = 256 * 1024
_QUEUE = 256

_UNASKED = 1.8
"""Seconds the finalizers have when nobody gave a time: within it the keeper waits before it kills (SUP-22)."""


class Session:
    """The reading side."""

    def __init__(self, plugin) -> None:
        self._plugin = plugin
        self._host = plugin._host
        self._workers = Workers(plugin._workers, _QUEUE)
        self._inbound: dict = {}
        self._answers: list = []
        self._finishing = None
        self._finished = None
        self._told = False
        self._methods = {
            "service.call": self._service_call,
            "hook.run": self._hook_run,
            "event.deliver": self._event_deliver,
            "initialize": self._initialize,
            "shutdown": self._shutdown,
        }

    def run(self, source: int):
        """Serves until the input ends; a sentence for the log, or None."""
        self._host.reader = threading.get_ident()
        broken = None
        try:
            self._read(source)
        except BrokenLine as error:
            broken = f"the host sent a broken line: {error}"
        except KeyboardInterrupt:
            pass
        self._flush()
        # From here on this thread reads nothing, so that its finalizers fail with what is true: the connection is gone.
        self._host.reader = None
        self._host.close()
        _streams.stop_writing_to_nobody()
        if self._finishing is None:
            self._finish(Shutdown("broken_line" if broken else "end_of_input", _UNASKED))
        else:
            self._finishing.join()
        if broken is None and self._finished is not None and not self._told:
            return self._finished.message
        return broken

    def _read(self, source: int) -> None:
        splitter = Splitter()
        while True:
            chunk = os.read(source, _CHUNK)
            # A host that dies may leave half a line; that it is gone is all there is to know.
            if not chunk:
                return
            for line in splitter.split(chunk):
                self._handle(decode(line))
            self._flush()

    def _handle(self, message: dict) -> None:
        method = message.get("method")
        if method is None:
            self._host.complete(message)
        elif "id" in message:
            try:
                handle = self._methods.get(method)
                if handle is None:
                    raise Failure.method_not_found(method)
                handle(message["id"], message.get("params"))
            except Failure as failure:
                self._answer(self._error(message["id"], failure))
        elif method == "$/cancel":
            self._cancel(message.get("params"))

    # Answers

    def _answer(self, line: bytes) -> None:
        """An answer of the reading thread; those of one chunk leave together."""
        self._answers.append(line)
        if sum(map(len, self._answers)) >= _ANSWERS:
            self._flush()

    def _flush(self) -> None:
        if self._answers:
            lines, self._answers = b"".join(self._answers), []
            self._host.write(lines)

    def _result(self, id, result) -> bytes:
        try:
            line = encode(id=id, result=result)
        except (TypeError, ValueError, RecursionError) as error:
            return self._error(id, Failure("application", f"the result can't be written as JSON: {error}"))
        if len(line) - 1 > self._host.frame_bytes():
            message = f"the answer of {len(line) - 1} bytes is longer than a line of {self._host.frame_bytes()}"
            return self._error(id, Failure("capacity", message))
        return line

    def _error(self, id, failure: Failure) -> bytes:
        short = Failure(failure.kind, "the error's details can't be written into a line")
        try:
            line = encode(id=id, error=failure.object())
        except (TypeError, ValueError, RecursionError):
            return encode(id=id, error=short.object())
        return line if len(line) - 1 <= self._host.frame_bytes() else encode(id=id, error=short.object())

    # Starting

    def _initialize(self, id, params) -> None:
        instance = _object(params).get("instance")
        if not (isinstance(instance, dict) and isinstance(instance.get("id"), str) and _is_number(instance.get("generation"))):
            raise Failure.invalid("params do not fit: instance is no {id, generation}")
        if params.get("protocol") != PROTOCOL:
            raise Failure.invalid(f"this plugin speaks {PROTOCOL}, not {params.get('protocol')}")
        if self._host.start is not None:
            raise Failure.invalid("the plugin is initialized already")
        self._host.start = params
        plugin = self._plugin
        provides = {name: sorted(methods) for name, methods in plugin._services.items()}
        offer = {"provides": provides, "handlers": [*plugin._hooks, *plugin._events]}
        if not plugin._start:
            return self._answer(self._result(id, offer))

        def start() -> None:
            try:
                self._run_start_hooks()
                line = self._result(id, offer)
            except BaseException as error:
                line = self._error(id, Failure.of(error))
            self._host.write(line)

        # On a thread of the pool, since they may call services.
        self._submit(start)

    def _run_start_hooks(self) -> None:
        hooks, self._plugin._start = self._plugin._start, []
        for hook in hooks:
            hook()

    def _admit(self) -> None:
        """Whether a call may begin. Outside any node the first one is the start, as ``local``, 0 (SUP-14)."""
        if self._host.stopping:
            raise Failure("unavailable", "the plugin is shutting down")
        if self._host.start is None:
            self._host.start = {"instance": {"id": "local", "generation": 0}}
            try:
                self._run_start_hooks()
            except Exception as error:
                raise Failure.of(error) from error

    # Calls

    def _service_call(self, id, params) -> None:
        self._admit()
        service, method = _text(params, "service"), _text(params, "method")
        methods = self._plugin._services.get(service)
        if methods is None:
            raise Failure("unavailable", f"this plugin does not provide service {service}")
        handler = methods.get(method)
        if handler is None:
            raise Failure.method_not_found(f"{service}.{method}")
        self._dispatch(id, handler, Call(service, method, params.get("params"), params.get("timeout_ms")))

    def _hook_run(self, id, params) -> None:
        self._handler_call(id, params, self._plugin._hooks, Hook)

    def _event_deliver(self, id, params) -> None:
        self._handler_call(id, params, self._plugin._events, Event)

    def _handler_call(self, id, params, handlers: dict, kind) -> None:
        self._admit()
        name = _text(params, "handler")
        context = _object(params.get("context"))
        if name not in handlers:
            raise Failure.method_not_found(f"handler {name}")
        self._dispatch(id, handlers[name], kind(params, context.get("timeout_ms")))

    def _dispatch(self, id, handler, call: Call) -> None:
        function, inline = handler
        if inline:
            return self._answer(self._outcome(id, function, call))

        def run() -> None:
            line = self._outcome(id, function, call)
            self._inbound.pop(id, None)
            self._host.write(line)

        self._inbound[id] = call
        try:
            self._submit(run)
        except Failure:
            self._inbound.pop(id, None)
            raise

    def _outcome(self, id, function, call: Call) -> bytes:
        if call.cancelled:
            return self._error(id, Failure("deadline", "cancelled, or out of time, before it began"))
        try:
            return self._result(id, call._run(function))
        except Failure as failure:
            return self._error(id, failure)
        except BaseException as error:
            import traceback

            _streams.complain(traceback.format_exc())
            return self._error(id, Failure.of(error))

    def _submit(self, job) -> None:
        if not self._workers.submit(job):
            raise Failure("capacity", "every thread is busy and the queue is full")

    def _cancel(self, params) -> None:
        id = params.get("id") if isinstance(params, dict) else None
        call = self._inbound.get(id) if isinstance(id, (str, int, float)) else None
        if call is not None:
            call._cancelled = True

    # Ending

    def _shutdown(self, id, params) -> None:
        timeout = _object(params).get("timeout_ms")
        if not _is_number(timeout):
            raise Failure.invalid("params do not fit: timeout_ms is no number")
        if self._finishing is not None:
            raise Failure.invalid("the plugin is shutting down already")
        self._host.stopping = True
        shutdown = Shutdown("requested", timeout / 1000)

        def finish() -> None:
            self._finish(shutdown)
            failed = self._finished
            # Who was told need not be told again by the exit code.
            self._told = self._host.write(self._result(id, None) if failed is None else self._error(id, failed))

        # A thread of its own, since finalizers may call services and this one reads the answers.
        self._finishing = threading.Thread(target=finish, name="shutdown", daemon=True)
        self._finishing.start()

    def _finish(self, shutdown: Shutdown) -> None:
        """Waits for calls in flight for half of the time, tells the rest that nobody waits, then runs the finalizers."""
        self._host.stopping = True
        if not self._workers.wait_until_quiet(shutdown.remaining() / 2):
            for call in list(self._inbound.values()):
                call._cancelled = True
        self._finished = _finish.run(self._plugin._finalizers, shutdown)


def _is_number(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _object(value) -> dict:
    if not isinstance(value, dict):
        raise Failure.invalid("params do not fit: no object")
    return value


def _text(params, name: str) -> str:
    value = _object(params).get(name)
    if not isinstance(value, str):
        raise Failure.invalid(f"params do not fit: {name} is no string")
    return value
