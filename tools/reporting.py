"""How Lamina's command-line tools end: exit code 1 and a one-screen message, never a traceback."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

_MAXIMAL_LINES = 30


def run_tool(program: str, body: Callable[[], None]) -> int:
    """Run `body` and give the exit code; every failure is told on stderr in at most a screen.

    `LAMINA_DEBUG=1` in the environment shows the Python traceback as well.
    """
    try:
        body()
        sys.stdout.flush()
    except SystemExit as stop:
        return _exit_code(stop)
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output went away, for example `| head`; nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BaseException as error:
        if os.environ.get("LAMINA_DEBUG"):
            traceback.print_exc()
        print(clip(describe(program, error)), file=sys.stderr)
        return 1
    return 0


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None or isinstance(stop.code, int):
        return min(stop.code or 0, 1)  # argparse's 2 for usage errors is a 1 here
    print(stop.code, file=sys.stderr)
    return 1


def describe(program: str, error: BaseException) -> str:
    """The message for `error`: its own text if it was raised on purpose, else an internal error."""
    from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError

    from lamina.dialects.errors import LaminaError
    from lamina.dialects.source import describe_parse_error

    match error:
        case OSError():
            place = f" '{error.filename}'" if error.filename is not None else ""
            return f"{program}: error: cannot use{place}: {error.strerror or error}"
        case LaminaError():
            return str(error)
        case ParseError():
            return describe_parse_error(error)
        case ArgSpecParseError() | DiagnosticException():
            return f"{program}: error: {error}{_stage(error)}"
        case RecursionError():
            return f"{program}: error: the program is nested too deeply"
        case MemoryError():
            return f"{program}: error: out of memory{f': {error}' if str(error) else ''}"
    return (
        f"{program}: internal error: {type(error).__name__}: {error}{_stage(error)}\n"
        "  This is a bug in Lamina; LAMINA_DEBUG=1 shows where it happened."
    )


def _stage(error: BaseException) -> str:
    """What the tool was doing, if it noted that on the error (xDSL's notes hold whole modules)."""
    notes = [note for note in getattr(error, "__notes__", []) if note.startswith("while ")]
    return "".join(f"\n  {note}" for note in notes[:1])


def clip(message: str, lines: int = _MAXIMAL_LINES, columns: int = 400) -> str:
    """At most `lines` lines of at most `columns` characters."""
    kept = message.rstrip().split("\n")
    shown = [line if len(line) <= columns else line[: columns - 3] + "..." for line in kept[:lines]]
    if len(kept) > lines:
        shown.append(f"  ... {len(kept) - lines} more lines")
    return "\n".join(shown)
