"""The programs that tools are given: files of any format, textual IR from standard input."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lamina.dialects.errors import InputError
from lamina.frontends.file_formats import FILE_FORMATS, read_program
from lamina.frontends.source_program import Bindings, SourceProgram
from lamina.runtime.layers import parse

FILES = f"textual IR of any layer, or a file ({', '.join(FILE_FORMATS)}),"
"""What the tools take, for their help."""


def read_source(file: str, sizes: Sequence[str] = ()) -> SourceProgram:
    """The program in a file; `-` is textual IR from the standard input.

    `sizes` are texts as `batch=4`. Raises InputError for others, and for bad programs.
    """
    if file == "-":
        refuse_sizes("<stdin>", sizes)
        return SourceProgram(parse(sys.stdin.buffer.read(), name="<stdin>"))
    return read_program(Path(file), Bindings(sizes=dict(map(_named_size, sizes))))


def add_sizes_argument(parser: argparse.ArgumentParser) -> None:
    """`--sizes`, what `read_source` takes as its `sizes`."""
    parser.add_argument(
        "--sizes", nargs="+", default=[], metavar="NAME=N", help="of ONNX inputs, as batch=4"
    )


def refuse_sizes(file: str, sizes: Sequence[str]) -> None:
    """InputError if any are given for a file that has none to bind."""
    if sizes:
        raise InputError(f"{file}: error: sizes are bound in ONNX models only")


def _named_size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not name or not number.isdecimal():
        raise InputError(f"--sizes: error: {text}: a size is given as NAME=NUMBER")
    return name, int(number)
