"""The real stdin and stdout, and what stands in their place."""

from __future__ import annotations

import os
import sys


def take() -> tuple[int, int]:
    """Moves the real stdin and stdout to descriptors of their own that no child process inherits, and puts the null device
    and stderr in their place."""
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(null, 1)
    os.close(null)
    # Block-buffered, as for a pipe, a stray print would reach the log only at the end.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)
    return source, sink


def stop_writing_to_nobody() -> None:
    """When the host died, whoever read stderr may have died with it. print raises on a broken pipe, which would cut
    finalizers short (SUP-22): from here on it writes to the null device."""
    import select

    if not hasattr(select, "poll"):
        return
    poll = select.poll()
    poll.register(2, 0)
    if any(state & (select.POLLERR | select.POLLNVAL) for _, state in poll.poll(0)):
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.close(null)


def complain(text: str) -> None:
    """Tells the log, if somebody reads it."""
    try:
        os.write(2, (text + "\n").encode(errors="replace"))
    except OSError:
        pass
