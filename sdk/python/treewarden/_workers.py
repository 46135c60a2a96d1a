"""Threads for what may take its time."""

from __future__ import annotations

import threading
import time
from collections import deque

_IDLE = 5.0


class Workers:
    """A pool that grows to a bound with the work that is open, and shrinks to nothing."""

    def __init__(self, threads_bound: int, queue_bound: int) -> None:
        self._threads_bound = max(threads_bound, 1)
        self._queue_bound = queue_bound
        self._queue: deque = deque()
        self._threads = self._idle = self._open = 0
        self._lock = threading.Lock()
        self._submitted = threading.Condition(self._lock)
        self._finished = threading.Condition(self._lock)

    def submit(self, job) -> bool:
        """Takes a job, which must not raise; false where neither a thread nor a place in the queue is free."""
        with self._lock:
            if len(self._queue) >= self._queue_bound:
                return False
            if len(self._queue) >= self._idle and self._threads < self._threads_bound:
                try:
                    threading.Thread(target=self._work, name="worker", daemon=True).start()
                    self._threads += 1
                except RuntimeError:
                    if not self._threads:
                        return False
            self._queue.append(job)
            self._open += 1
            self._submitted.notify()
            return True

    def wait_until_quiet(self, at_most: float) -> bool:
        """Waits until nothing is open, at most for a time in seconds; answers whether that was reached."""
        with self._lock:
            return self._finished.wait_for(lambda: not self._open, at_most)

    def _work(self) -> None:
        with self._lock:
            while True:
                if self._queue:
                    job = self._queue.popleft()
                    self._lock.release()
                    try:
                        job()
                    finally:
                        job = None
                        self._lock.acquire()
                        self._open -= 1
                        if not self._open:
                            self._finished.notify_all()
                    continue
                self._idle += 1
                woken = self._submitted.wait_for(lambda: self._queue, _IDLE)
                self._idle -= 1
                if not woken:
                    self._threads -= 1
                    return


def now() -> float:
    """The plugin's clock, in seconds; it never goes back."""
    return time.monotonic()
