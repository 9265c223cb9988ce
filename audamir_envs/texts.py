"""What all texts have in common: how they are read, and how errors quote them.

One rule for every game's actions and positions: upper and lower case, space around the text and line ends are forgiven,
and nothing else.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Sized
from typing import Any

_MOST = 80  # characters of a quoted value
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,8}")


def clean(text: Any, what: str) -> str:
    """The text in lower case without space and line ends around it. Raises: TypeError for what is no text.

    Args: what: what is read, with its article ("a move").
    """
    if not isinstance(text, str):
        raise TypeError(f"{what} is read from a text, not from {type(text).__name__}")
    text = text.strip()
    return text.lower() if text.isascii() else text  # other letters may turn into letters of ours


def whole(text: str) -> int | None:
    """The integer that a text is in its usual form (no -0, no leading zeros, up to 9 digits); else None."""
    return int(text) if _WHOLE.fullmatch(text) else None


def require_fields(text: str, names: tuple[str, ...], given: Any) -> list[str]:
    """The fields of a position, which single spaces separate. Raises: ValueError naming them where the number differs.

    Args: text: cleaned; given: the text as it came, for the message.
    """
    fields = text.split(" ")
    if len(fields) != len(names):
        raise ValueError(
            f"a position has {len(names)} fields separated by single spaces ({', '.join(names)}), "
            f"not {len(fields)}: {quoted(given)}"
        )
    return fields


def quoted(value: Any, most: int = _MOST) -> str:
    """The value as an error shows it: its ``repr``, cut to ``most`` characters with the length of what was given."""
    if isinstance(value, (str, bytes)) and len(value) > most:
        unit = "bytes" if isinstance(value, bytes) else "characters"
        return f"{value[:most]!r}... ({len(value):,} {unit})"
    if isinstance(value, int) and value.bit_length() > 4 * most:  # Python refuses to write out the largest
        return f"an integer of {value.bit_length():,} bits"
    try:
        text = _SHORT.repr(value) if isinstance(value, (list, tuple, dict)) else repr(value)
    except Exception:  # an object whose own repr fails
        return f"<{type(value).__name__}>"
    text = text.replace("\n", " ")  # an error is one line
    if len(text) <= most:
        return text
    elements = getattr(value, "size", None) if hasattr(value, "shape") else None
    if isinstance(value, Sized) and elements is None:
        elements = len(value)
    return f"{text[:most]}..." + ("" if elements is None else f" ({elements:,} elements)")


_SHORT = reprlib.Repr()  # of containers, whose whole repr may take long
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _MOST
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = _MOST
