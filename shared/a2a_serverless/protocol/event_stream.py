"""Server-sent events as a buffered window: an HTTP API cannot stream, so events go out together (DESIGN 8)."""

import logging
from collections.abc import Callable, Iterator
from typing import Final

from a2a_serverless.protocol.answers import LARGEST_ANSWER, cost
from a2a_serverless.types import StreamEvent

HEADERS: Final = {"content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no"}

Encode = Callable[[StreamEvent, bool], str]
"""The text of an event, told whether it is the last of the stream."""

log = logging.getLogger(__name__)


def window(events: Iterator[StreamEvent], encode: Encode) -> str:
    """The events as one body, each on one `data` line. It ends before an event that would make it too large.

    A failure behind the first event ends the window as well: what was gathered is true, and the caller subscribes
    again. A failure before it is raised, since there is nothing to answer yet.
    """
    lines: list[str] = []
    room = LARGEST_ANSWER
    held = next(events, None)
    while held is not None:
        following = _next(events)
        line = line_of(encode(held, following is None))
        room -= cost(line)
        if room < 0 and lines:
            log.info("the window is full", extra={"events": len(lines)})
            break
        lines.append(line)
        held = following
    return "".join(lines)


_LINE_BREAKS: Final = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
"""What Unicode takes for a line break and JSON for a character like others, escaped."""


def line_of(text: str) -> str:
    """One event. JSON text never holds a line break of SSE; but clients that read lines as Unicode has them (httpx, and
    the official Python client with it) would end the line in the middle of a text."""
    return f"data: {text if text.isascii() else text.translate(_LINE_BREAKS)}\n\n"


def _next(events: Iterator[StreamEvent]) -> StreamEvent | None:
    try:
        return next(events, None)
    except Exception:
        log.exception("the window ends early")
        return None
