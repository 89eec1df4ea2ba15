"""Exceptions. Their texts are the program's: one line that ends with what to do about it."""

from __future__ import annotations


class Error(Exception):
    """A job failed. The old output is still there, unless the text says otherwise."""

    __module__ = "xsort"


class Unsuitable(Error, ValueError):
    """An input is not what the arguments say, or these contradict each other or the machine.

    `path` is the input, or None.
    """

    __module__ = "xsort"

    def __init__(self, message: str, path: str | None = None) -> None:
        super().__init__(message, path)
        self.path = _text(path)

    def __str__(self) -> str:
        return str(self.args[0])


class BudgetTooSmall(Error, MemoryError):
    """No plan fits the memory. `needed` is the least number of bytes that does, or None."""

    __module__ = "xsort"

    def __init__(self, message: str, needed: int | None = None) -> None:
        super().__init__(message, needed)
        self.needed = needed

    def __str__(self) -> str:
        return str(self.args[0])


class Corrupt(Error):
    """Bytes came back other than they were written: in `path`, at byte `offset`, or None."""

    __module__ = "xsort"

    def __init__(self, message: str, path: str, offset: int | None) -> None:
        super().__init__(message, path, offset)
        self.path = _text(path)
        self.offset = offset

    def __str__(self) -> str:
        return str(self.args[0])


class NotReady(Error):
    """Nothing was written to shared memory yet."""

    __module__ = "xsort"


class FileError(Error, OSError):
    """An operation on a file failed. `errno` and `filename` are those of OSError."""

    __module__ = "xsort"

    def __init__(
        self, message: str, errno: int | None = None, filename: str | None = None
    ) -> None:
        super().__init__(errno, message, _text(filename))

    def __str__(self) -> str:
        return str(self.strerror)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.strerror, self.errno, self.filename)


class NotFound(FileError, FileNotFoundError):
    """There is no such file or directory."""

    __module__ = "xsort"


class NoPermission(FileError, PermissionError):
    """The system denies access to a file."""

    __module__ = "xsort"


class NoSpace(FileError):
    """A directory has too little free space."""

    __module__ = "xsort"


def _text(path: object) -> str | None:
    """A path as text, as the os module has it."""
    return None if path is None else str(path)
