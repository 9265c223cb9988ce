"""What error messages quote of other people's input: enough to recognise it, never all of it."""

from __future__ import annotations

from typing import Any

MOST = 80


def quoted(value: Any, most: int = MOST) -> str:
    """``repr(value)``, cut to ``most`` characters and then followed by the length of what it stands for."""
    if isinstance(value, (str, bytes, bytearray)):  # repr of a long one would be a second long one
        unit = "characters" if isinstance(value, str) else "bytes"
        if len(value) <= most:
            return repr(value)
        text = repr(value[:most])
        return f"{text[:-1]}…{text[-1]} ({len(value):,} {unit})"
    try:
        text = repr(value)
    except Exception:  # an integer of more digits than Python prints; an object whose own repr fails
        return f"<{type(value).__name__}>"
    if len(text) <= most:
        return text
    size = f"{len(value):,} entries" if hasattr(value, "__len__") else f"{len(text):,} characters"
    return f"{text[:most]}… ({size})"
