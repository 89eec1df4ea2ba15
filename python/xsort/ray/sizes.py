"""Sizes as people write them: the program's own rules, for what Python has to count itself."""

from __future__ import annotations

import re

_UNITS = "KMGTPE"


def parse_size(text: str | int | float) -> int:
    """Bytes of `"2GB"` (powers of 1000), `"2GiB"` or `"2G"` (of 1024), or of a number."""
    if isinstance(text, int | float):
        return int(text)
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGTPE]?)(i?B?)\s*", text, re.IGNORECASE)
    if match is None or (match[3].lower() == "i"):
        raise ValueError(f"{text!r} is no size: write it as 2GB, 2GiB or 2G")
    power = _UNITS.index(match[2].upper()) + 1 if match[2] else 0
    base = 1000 if match[3].lower() == "b" and power else 1024
    return int(float(match[1]) * base**power)


def show_size(count: float) -> str:
    """`"1.5 TB"`: three digits, powers of 1000."""
    power = 0
    while count >= 999.5 and power < len(_UNITS):
        count /= 1000
        power += 1
    unit = f" {_UNITS[power - 1]}B" if power else " B"
    return f"{count:.3g}{unit}"


def show_seconds(seconds: float) -> str:
    """`"1 h 29 min"`, `"4 min 12 s"`, `"8.3 s"`."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
