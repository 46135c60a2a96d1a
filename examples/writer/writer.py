#!/usr/bin/env python3
"""Example plugin: uses the service `ledger` and provides the service `writer`.

| method   | params -> result                                        |
| -------- | ------------------------------------------------------- |
| `write`  | `{text}` -> the line's index                            |
| `status` | -> `{written, last_index, instance, generation}`        |

A thread of its own appends a heartbeat every few seconds (config `{"interval_seconds": 5}`). The finalizer ends that thread
and writes a last line: when this plugin is stopped, what it uses still answers (SUP-04).
"""

import sys
import threading
from pathlib import Path

# The SDK beside this example; an installed plugin has it installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sdk" / "python"))

from treewarden import Failure, Plugin  # noqa: E402

plugin = Plugin("writer")


class Written:
    """What this launch has written."""

    def __init__(self):
        self._lock = threading.Lock()
        self._count = 0
        self._last_index = None

    def append(self, text):
        instance = plugin.instance()
        line = {"text": text, "writer": f"{instance.id}/{instance.generation}"}
        index = plugin.call("ledger", "append", line, timeout=5)["index"]
        with self._lock:
            self._count += 1
            self._last_index = index
        return index

    def snapshot(self):
        with self._lock:
            return {"written": self._count, "last_index": self._last_index}


class Heartbeat(threading.Thread):
    """Writes a line now and then, until told to stop."""

    def __init__(self, interval):
        super().__init__(name="heartbeat", daemon=True)
        self._interval = interval
        self._stop_asked = threading.Event()

    def run(self):
        while not self._stop_asked.wait(self._interval):
            try:
                written.append("heartbeat")
            except Failure as failure:
                # The next beat tries again. Whether this one was written nobody knows: it is not repeated.
                plugin.log("warn", "heartbeat not written", kind=failure.kind, error=failure.message)

    def stop(self, within):
        self._stop_asked.set()
        self.join(within)


written = Written()
heartbeat = None


@plugin.on_start
def start():
    global heartbeat
    interval = (plugin.config or {}).get("interval_seconds", 5)
    if isinstance(interval, bool) or not isinstance(interval, (int, float)) or interval <= 0:
        raise Failure.invalid("interval_seconds is no positive number")
    heartbeat = Heartbeat(interval)
    heartbeat.start()


@plugin.service("writer")
class Writer:
    @plugin.method
    def write(self, call):
        return written.append(call.param("text", str))

    @plugin.method(inline=True)
    def status(self, call):
        instance = plugin.instance()
        return {**written.snapshot(), "instance": instance.id, "generation": instance.generation}


@plugin.finalizer
def last_line(shutdown):
    if heartbeat is not None:
        heartbeat.stop(shutdown.remaining() / 2)
        if shutdown.reason == "requested":
            written.append("goodbye")
    plugin.log("info", "writer ends", reason=shutdown.reason, **written.snapshot())


plugin.run()
