"""`--load FILE.py` of the tools: the extensions that a file makes, active while the tool runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from lamina.dialects.errors import InputError, LaminaError
from lamina.dialects.extension_entries import place_in
from lamina.tools.reporting import run_tool

if TYPE_CHECKING:
    from lamina.runtime.extension import Extension


def add_load_argument(parser: argparse.ArgumentParser) -> None:
    """The option, for the help; `loaded_extensions` reads it before the others."""
    parser.add_argument(
        "--load",
        action="append",
        default=[],
        metavar="FILE.py",
        help="use the extensions that a file makes with lamina.extend; may be given again",
    )


def run_extended(program: str, arguments: Sequence[str] | None, body: Callable[[], None]) -> int:
    """`run_tool` of a tool that takes `--load`: its extensions are active while `body` runs."""

    def run() -> None:
        with loaded_extensions(arguments):
            body()

    return run_tool(program, run)


@contextmanager
def loaded_extensions(arguments: Sequence[str] | None) -> Iterator[None]:
    """Code in which the extensions of each `--load` of a command line are active.

    Raises InputError, one line, for a file that cannot be read or run, or that makes none.
    """
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    add_load_argument(early)
    try:
        files = early.parse_known_args(arguments)[0].load
    except argparse.ArgumentError:
        files = []  # the tool's own parser says what is wrong
    with ExitStack() as stack:
        for file in files:
            for extension in extensions_of(Path(file)):
                stack.enter_context(extension)
        yield


def extensions_of(path: Path) -> list[Extension]:
    """What `lamina.extend` made in a file, which is run once a process; InputError as above."""
    from lamina.runtime.extension import Extension

    module = _module(path)
    found = {id(value): value for value in vars(module).values() if isinstance(value, Extension)}
    if not found:
        raise InputError(f"--load {path}: the file makes no extension, as lamina.extend('mine')")
    return list(found.values())


def _module(path: Path) -> ModuleType:
    name = f"lamina_loaded:{path.resolve()}"
    if name in sys.modules:
        return sys.modules[name]
    if not path.is_file():
        raise InputError(f"--load {path}: there is no such file")
    spec = spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise InputError(f"--load {path}: it is no Python file, whose name ends in .py")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except LaminaError as error:
        del sys.modules[name]
        raise InputError(f"--load {path}: {error}") from error
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise InputError(f"--load {path}: {_described(error, path)}") from error
    return module


def _described(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    place = place_in(error, str(path.resolve()))
    said = " ".join(str(error).split())
    return f"{place}: {type(error).__name__}: {said}" if place else f"{said}"
