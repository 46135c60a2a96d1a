"""What a handler is given."""

from __future__ import annotations

import threading

from ._failure import Failure
from ._workers import now

_REQUIRED = object()
_current = threading.local()


def remaining_of_current_call():
    """Seconds left to the call this thread is running; None outside of one, or where it has no bound."""
    call = getattr(_current, "call", None)
    return call.remaining() if call is not None else None


class Call:
    """A call of one of the plugin's methods."""

    def __init__(self, service: str, method: str, params, timeout_ms) -> None:
        self.service = service
        self.method = method
        self.params = params
        self._cancelled = False
        self._deadline = now() + timeout_ms / 1000 if isinstance(timeout_ms, (int, float)) else None

    @property
    def cancelled(self) -> bool:
        """Whether the caller waits no longer: it cancelled, or the time is over. A long handler looks now and then."""
        return self._cancelled or (self._deadline is not None and now() >= self._deadline)

    def remaining(self):
        """Seconds left, counted from receipt; None without a bound."""
        return None if self._deadline is None else max(self._deadline - now(), 0.0)

    def param(self, name: str, kind: type = object, default=_REQUIRED):
        """One parameter by name, of a type; raises Failure ``invalid``. One that is absent or null reads as the default."""
        value = self.params.get(name) if isinstance(self.params, dict) else None
        if value is None:
            if default is _REQUIRED:
                raise Failure.invalid(f"params do not fit: {name} is missing")
            return default
        if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, float)):
            raise Failure.invalid(f"params do not fit: {name} is no {kind.__name__}")
        return value

    def _run(self, function):
        outer, _current.call = getattr(_current, "call", None), self
        try:
            return function(self)
        finally:
            _current.call = outer


class Hook(Call):
    """A run of one of the plugin's hook handlers. Answer with ``proceed()``, ``deny(…)`` or ``observed()``."""

    def __init__(self, params, timeout_ms) -> None:
        super().__init__("", params["handler"], params, timeout_ms)
        self.point = params.get("point")
        self.phase = params.get("phase")
        self.context = params["context"]
        self.input = params.get("input")

    def proceed(self) -> dict:
        """Go on."""
        return {"decision": "continue"}

    def deny(self, classification: str) -> dict:
        """A veto, with a short stable word for why."""
        return {"decision": "deny", "classification": classification}

    def observed(self) -> dict:
        """Seen; for the phases that decide nothing."""
        return {"decision": "observed"}


class Event(Call):
    """A delivery to one of the plugin's event handlers. It comes again until one is acknowledged."""

    def __init__(self, params, timeout_ms) -> None:
        super().__init__("", params["handler"], params, timeout_ms)
        self.context = params["context"]
        self.delivery = params.get("delivery")
        self.payload = self.delivery.get("payload") if isinstance(self.delivery, dict) else None

    def acknowledged(self) -> dict:
        """Handled; there is nothing more to do."""
        return {"outcome": "acknowledged"}

    def publish(self, contract_id: str, contract_version: str, payload) -> dict:
        """Handled; publish this, once."""
        publication = {"contract_id": contract_id, "contract_version": contract_version, "payload": payload}
        return {"outcome": "publish", "publication": publication}

    def apply_owned(self, *upserts: tuple) -> dict:
        """Handled; write these rows of the plugin's own collections together, once: ``(collection_code, values)`` each."""
        operations = [{"upsert": {"collection_code": code, "values": values}} for code, values in upserts]
        return {"outcome": "apply_owned", "operations": operations}

    def failed(self, classification: str) -> dict:
        """Not handled, with a short stable word for why."""
        return {"outcome": "failed", "classification": classification}
