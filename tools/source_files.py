"""The programs that tools are given: files of any format, textual IR from standard input."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lamina.dialects.errors import InputError
from lamina.frontends.file_formats import FILE_FORMATS, read_program
from lamina.frontends.source_program import Bindings, SourceProgram
from lamina.runtime.arguments import array_kind, kind_name
from lamina.runtime.entry import Slot
from lamina.runtime.layers import parse

FILES = f"textual IR of any layer, or a file ({', '.join(FILE_FORMATS)}),"
"""What the tools take, for their help."""


def read_source(file: str, sizes: Sequence[str] = ()) -> SourceProgram:
    """The program in a file; `-` is textual IR from the standard input.

    `sizes` are texts as `batch=4`. Raises InputError for others, and for bad programs.
    """
    if file == "-":
        return SourceProgram(parse(sys.stdin.buffer.read(), name="<stdin>"))
    return read_program(Path(file), Bindings(sizes=dict(map(_named_size, sizes))))


def add_sizes_argument(parser: argparse.ArgumentParser) -> None:
    """`--sizes`, what `read_source` takes as its `sizes`."""
    parser.add_argument(
        "--sizes", nargs="+", default=[], metavar="NAME=N", help="of ONNX inputs, as batch=4"
    )


def _named_size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not name or not number.isdecimal():
        raise InputError(f"--sizes: error: {text}: a size is given as NAME=NUMBER")
    return name, int(number)


def arrays_of(source: SourceProgram, slots: Sequence[Slot]) -> dict[str, np.ndarray]:
    """What the program binds to its arguments as NumPy arrays, views where memory is row-major."""
    return {
        slot.name: _array(source.constants[slot.name], slot)
        for slot in slots
        if slot.name in source.constants
    }


def _array(value: Any, slot: Slot) -> np.ndarray:
    kind = array_kind(kind_name(value) or "numpy")
    plain = kind.plain(value, slot)
    seen = kind.memory(plain).view(slot.numpy_dtype)
    return seen if plain is value else seen.copy()  # `plain` and its memory go with this call
