"""Declaring and running a plugin."""

from __future__ import annotations

import sys

from . import _streams
from ._host import DEFAULT_TIMEOUT, Host, Identity
from ._session import Session

_MARK = "_treewarden_method"


class Service:
    """A service being declared. Also a decorator for a class whose methods are marked with ``plugin.method``."""

    def __init__(self, plugin: "Plugin", name: str) -> None:
        self._plugin = plugin
        self._name = name
        plugin._services.setdefault(name, {})

    def method(self, function=None, *, name=None, inline: bool = False):
        """Adds a method, ``function(call)``; its result is any JSON.

        ``inline``: it runs on the thread that reads, which is cheaper. While it runs nothing else is read, so it must neither
        block nor call a service.
        """

        def add(function):
            methods, of = self._plugin._services[self._name], name or function.__name__
            if of in methods:
                raise ValueError(f"method {self._name}.{of} is declared twice")
            methods[of] = (function, inline)
            return function

        return add if function is None else add(function)

    def __call__(self, described: type):
        instance = described()
        for attribute in dir(described):
            options = getattr(getattr(described, attribute), _MARK, None)
            if options is not None:
                name, inline = options
                self.method(getattr(instance, attribute), name=name or attribute, inline=inline)
        return described


class Plugin:
    """A plugin being declared. Takes over the process's stdin and stdout: once a process, and before anything prints.

    The name is for logs; who the plugin is, ``instance()`` tells.
    """

    def __init__(self, name: str, *, workers: int = 32) -> None:
        self.name = name
        self._source, sink = _streams.take()
        self._host = Host(sink)
        self._workers = workers
        self._services: dict = {}
        self._hooks: dict = {}
        self._events: dict = {}
        self._start: list = []
        self._finalizers: list = []

    # Declaring

    def service(self, name: str) -> Service:
        """Declares a service; see Service."""
        return Service(self, name)

    def method(self, function=None, *, name=None, inline: bool = False):
        """Marks a method of a class that ``@plugin.service(…)`` decorates. It takes ``(self, call)``."""

        def mark(function):
            setattr(function, _MARK, (name, inline))
            return function

        return mark if function is None else mark(function)

    def hook(self, name: str, *, inline: bool = False):
        """Declares a hook handler, ``function(hook)``."""
        return self._handler(self._hooks, name, inline)

    def event(self, name: str, *, inline: bool = False):
        """Declares an event handler, ``function(event)``. An event may come more than once: its ``event_id`` tells."""
        return self._handler(self._events, name, inline)

    def _handler(self, handlers: dict, name: str, inline: bool):
        def add(function):
            if name in self._hooks or name in self._events:
                raise ValueError(f"handler {name} is declared twice")
            handlers[name] = (function, inline)
            return function

        return add

    def on_start(self, function):
        """Runs once after ``initialize`` and before its answer, when identity and config are known and services may be called.
        An exception refuses the start, with its message on the entry's status. Within 10 seconds, all of them."""
        self._start.append(function)
        return function

    def finalizer(self, function=None, *, name=None):
        """Registers a finalizer, ``function(shutdown)``. On the way out all of them run, the last registered first, after the
        calls in flight have had half of the time to end. What the plugin uses still answers. One that raises is reported by
        its name and keeps no other from running."""

        def add(function):
            self._finalizers.append((name or function.__name__, function))
            return function

        return add if function is None else add(function)

    # What the host said

    def instance(self) -> Identity:
        """Who this plugin is. Before ``initialize``, and outside any node: ``local``, 0 (SUP-14)."""
        return self._host.instance()

    @property
    def config(self):
        """The entry's config, any JSON; None before ``initialize``, where there is none, and outside any node."""
        return self._host.config()

    @property
    def stopping(self) -> bool:
        """Whether the plugin is on its way out. Calls still work for the finalizers."""
        return self._host.stopping

    # Asking the host

    def call(self, service: str, method: str, params=None, *, timeout: float = DEFAULT_TIMEOUT):
        """Calls a service this plugin uses, and waits for at most ``timeout`` seconds, or what is left to the call it is made in.

        Raises Failure: the service's own; ``denied`` for a service that is not in the entry's ``uses``; ``unavailable``,
        ``connection``, ``deadline``; ``invalid`` from inside an inline method. The node never retries: after ``connection``
        and ``deadline`` the call may have happened.
        """
        return self._host.request("service.call", {"service": service, "method": method, "params": params}, timeout)

    def data_get(self, collection_code: str, key):
        """A row of the plugin's own collections as a dict, or None; managed plugins only. Raises as ``call``."""
        row = self._host.request("data.get", {"collection_code": collection_code, "key": key}, DEFAULT_TIMEOUT)
        return None if row is None else row["values"]

    def log(self, level: str, message: str, **fields) -> None:
        """Writes a structured log record: level ``trace debug info warn error``, a sentence, details. Never fails: a record that
        does not fit into a line is shortened, and without a host it goes nowhere."""
        self._host.log(level, message, fields)

    # Running

    def serve(self) -> int:
        """Serves the host until it is done, runs the finalizers, and answers the exit code: 0, or 1 after a broken line, or a
        finalizer that failed with no host left to tell."""
        reason = Session(self).run(self._source)
        if reason is None:
            return 0
        _streams.complain(f"{self.name}: {reason}")
        return 1

    def run(self):
        """Serves the host, then exits. Threads the plugin itself started, unless daemons, must have ended in a finalizer."""
        sys.exit(self.serve())
