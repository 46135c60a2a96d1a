#!/usr/bin/env python3
"""The plugin of the conformance tests: every feature once, nothing useful. Its twin is `sdk/rust/examples/conformance.rs`."""

import os
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from treewarden import Failure, Plugin  # noqa: E402

plugin = Plugin("conformance")
early = plugin.instance()
gate = threading.Event()
started = threading.Event()


@plugin.on_start
def refuse():
    if isinstance(plugin.config, dict) and "refuse" in plugin.config:
        raise Failure.invalid(plugin.config["refuse"])
    started.set()


def identity(instance):
    return {"id": instance.id, "generation": instance.generation}


service = plugin.service("conformance")
service.method(lambda call: "pong", name="ping", inline=True)
service.method(lambda call: started.is_set(), name="started", inline=True)
service.method(lambda call: identity(early), name="early", inline=True)
service.method(lambda call: identity(plugin.instance()), name="instance", inline=True)
service.method(lambda call: call.params, name="inline_echo", inline=True)
service.method(lambda call: gate.wait(20), name="hold")
service.method(lambda call: gate.set(), name="release", inline=True)
service.method(lambda call: plugin.config, name="config")
service.method(lambda call: plugin.log("info", "hello", n=1), name="log", inline=True)
service.method(lambda call: print("a stray print"), name="print")


@plugin.service("conformance")
class Conformance:
    """The other way to declare methods."""

    @plugin.method
    def echo(self, call):
        return call.params

    @plugin.method(inline=True)
    def big(self, call):
        if not isinstance(call.params, int):
            raise Failure.invalid("params do not fit: no number")
        return "x" * call.params

    @plugin.method
    def fail(self, call):
        raise Failure("application", "failed on purpose", detail=7)

    @plugin.method(name="panic")
    def raise_something(self, call):
        raise RuntimeError("raised on purpose")

    @plugin.method(inline=True)
    def inline_panic(self, call):
        raise RuntimeError("raised on purpose")

    @plugin.method(inline=True)
    def remaining(self, call):
        return int(call.remaining() * 1000)

    @plugin.method
    def read_stdin(self, call):
        return len(sys.stdin.read())

    @plugin.method
    def until_cancelled(self, call):
        for _ in range(4000):
            if call.cancelled:
                return "cancelled"
            time.sleep(0.005)
        raise Failure("application", "never cancelled")


def relay(call):
    timeout = call.param("timeout_ms", int, 20_000) / 1000
    return plugin.call(call.param("service", str), call.param("method", str), call.params["params"], timeout=timeout)


service.method(relay)
service.method(relay, name="inline_relay", inline=True)


@service.method
def data(call):
    return plugin.data_get(call.param("collection_code", str), call.params["key"])


@plugin.hook("veto")
def veto(hook):
    return hook.deny("bad_code") if hook.input["code"] == "bad" else hook.proceed()


@plugin.event("apply")
def apply(event):
    return event.apply_owned(("rows", event.payload))


def trace(what):
    path = os.environ.get("CONFORMANCE_TRACE")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(what + "\n")


def finalize(name):
    trace(name)
    what = os.environ.get("CONFORMANCE_FINALIZER", "")
    if what == f"{name}:fail":
        raise Failure("application", "failed on purpose")
    if what == f"{name}:panic":
        raise RuntimeError("raised on purpose")
    if what == f"{name}:print":
        print("goodbye")
        trace("printed")
    if what == f"{name}:call":
        answer = plugin.call("witness", "note", {"from": name})
        trace(f'"{answer}"')


@plugin.finalizer
def first(shutdown):
    finalize("first")


@plugin.finalizer(name="second")
def the_second(shutdown):
    finalize("second")


plugin.run()
