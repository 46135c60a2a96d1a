"""The way out."""

from __future__ import annotations

from ._failure import Failure
from ._workers import now


class Shutdown:
    """What a finalizer is given. ``reason``: ``requested``, ``end_of_input`` (SUP-22) or ``broken_line``."""

    def __init__(self, reason: str, timeout: float) -> None:
        self.reason = reason
        self._deadline = now() + timeout

    def remaining(self) -> float:
        """Seconds left before the process is ended from outside."""
        return max(self._deadline - now(), 0.0)


def run(finalizers, shutdown: Shutdown):
    """Runs all of them, the last registered first, whatever each does; a Failure that names those that failed, or None."""
    failed = []
    for name, function in reversed(finalizers):
        try:
            function(shutdown)
        except BaseException as error:
            failed.append((name, str(Failure.of(error))))
    if not failed:
        return None
    message = "; ".join(f"finalizer {name} failed: {why}" for name, why in failed)
    return Failure("application", message, finalizers=[name for name, _ in failed])
