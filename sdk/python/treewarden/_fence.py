"""A fence for a system outside the node."""

from __future__ import annotations

import threading


class StaleGeneration(Exception):
    """A generation smaller than one already seen."""

    def __init__(self, offered: int, greatest: int) -> None:
        super().__init__(f"generation {offered} is stale, {greatest} has been seen")
        self.offered = offered
        self.greatest = greatest


class Fence:
    """Remembers the greatest generation seen of one instance and refuses smaller ones (SUP-16).

    It belongs into the *outside system*, where the writes arrive: a check on the plugin's own side proves nothing, since an old
    process may be slow rather than gone. The outside system must keep ``greatest`` as durably as what it guards, and admit and
    write in one step of its own. A fence undoes no write already made, and makes no call exactly-once. Generations of
    different instances, or of one instance on different runners, can't be compared: one fence each.
    """

    def __init__(self, greatest: int = 0) -> None:
        self._greatest = greatest
        self._lock = threading.Lock()

    @property
    def greatest(self) -> int:
        """The greatest generation admitted."""
        return self._greatest

    def admit(self, offered: int) -> None:
        """Admits a generation at least as great as every earlier one; raises StaleGeneration, and changes nothing, else."""
        with self._lock:
            if offered < self._greatest:
                raise StaleGeneration(offered, self._greatest)
            self._greatest = offered
