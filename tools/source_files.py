"""The programs that tools are given: files of any format, textual IR from standard input."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from lamina.dialects.errors import InputError
from lamina.frontends.file_formats import FILE_FORMATS, read_program, with_sizes
from lamina.frontends.source_program import Bindings, SourceProgram
from lamina.runtime.layers import parse

FILES = f"textual IR of any layer, or a file ({', '.join(FILE_FORMATS)}),"
"""What the tools take, for their help."""


def read_source(file: str, sizes: Sequence[str] = ()) -> SourceProgram:
    """The program in a file; `-` is textual IR from the standard input.

    `sizes` are texts as `batch=4`. Raises InputError for others, and for bad programs.
    """
    bindings = Bindings(sizes=dict(map(_named_size, sizes)))
    if file == "-":
        return SourceProgram(with_sizes(parse(sys.stdin.buffer.read(), name="<stdin>"), bindings))
    return read_program(Path(file), bindings)


def bind_in_text(module: ModuleOp, sizes: Sequence[str]) -> ModuleOp:
    """The module of a text, changed in place, for `sizes` as `read_source` takes them."""
    return with_sizes(module, Bindings(sizes=dict(map(_named_size, sizes))))


def add_sizes_argument(parser: argparse.ArgumentParser) -> None:
    """`--sizes`, what `read_source` takes as its `sizes`."""
    parser.add_argument(
        "--sizes", nargs="+", default=[], metavar="NAME=N", help="numbers for named sizes"
    )


def _named_size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not name or not number.isdecimal():
        raise InputError(f"--sizes: error: {text}: a size is given as NAME=NUMBER")
    return name, int(number)
