"""The exceptions Lamina raises on purpose; all that a user can meet derive from `LaminaError`."""

from collections.abc import Sequence

from xdsl.utils.exceptions import DiagnosticException


class LaminaError(Exception):
    """Base of every error that is the input's fault: its text is the whole message."""


class InputError(LaminaError, DiagnosticException):
    """Malformed textual IR, an unknown op, pass or layer, or a program that fails verification."""


class UnreadableFileError(InputError, OSError):
    """A file of a program that cannot be read; made as OSError is: number, reason, file."""

    def __str__(self) -> str:
        return f"{self.filename}: error: cannot be read: {self.strerror}"


class MissingFileError(UnreadableFileError, FileNotFoundError):
    """A file of a program that is not there."""


class UnsupportedError(LaminaError, DiagnosticException):
    """A valid program that some layer cannot take further down.

    `op` is the op's full name, `types` its printed operand types, `location` where it stands, and
    `nearest` what would work instead.
    """

    def __init__(
        self,
        op: str,
        reason: str,
        *,
        types: Sequence[str] = (),
        location: str | None = None,
        nearest: str | None = None,
    ) -> None:
        self.op = op
        self.reason = reason
        self.types = tuple(types)
        self.location = location
        self.nearest = nearest
        lines = [f"{op}: {reason}"]
        if types:
            lines.append(f"  operand types: {', '.join(types)}")
        if location:
            lines.append(f"  at: {location}")
        if nearest:
            lines.append(f"  nearest supported: {nearest}")
        super().__init__("\n".join(lines))


class ArgumentError(LaminaError, TypeError):
    """A compiled program called with a wrong count, dtype, shape, stride or device of argument."""


class ExecutionError(LaminaError):
    """A run-time check inside compiled code failed, for example an index out of range."""


class OutOfMemoryError(LaminaError, MemoryError):
    """A program, or one of its calls, takes more memory than is free.

    `result` is the number of the result for which there is none; None where it is other memory.
    """

    def __init__(self, message: str, result: int | None = None) -> None:
        super().__init__(message)
        self.result = result


class CacheError(LaminaError):
    """The disk cache cannot be used at all (its folder cannot be made); bad entries never raise."""
