"""What a `loop.generic` reads and writes, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.printer import Printer

from lamina.dialects.loop.syntax import print_map

if TYPE_CHECKING:
    from lamina.dialects.loop.generic import GenericOp


def print_operands(printer: Printer, nest: GenericOp) -> None:
    """Print ` reads(...) sources(...) writes(...)`, those that a nest has."""

    def print_read(read: tuple[SSAValue, AffineMap, Attribute | None]) -> None:
        value, index_map, pad = read
        printer.print_ssa_value(value)
        print_map(printer, index_map)
        if pad is not None:
            printer.print_string(" pad ")
            printer.print_attribute(pad)
        printer.print_string(" : ")
        printer.print_attribute(value.type)

    def print_source(value: SSAValue) -> None:
        printer.print_ssa_value(value)
        printer.print_string(" : ")
        printer.print_attribute(value.type)

    def print_write(number: int) -> None:
        print_map(printer, nest.write_maps[number])
        printer.print_string(f" {nest.combiner_names[number]}")
        if nest.outs:
            printer.print_string(" into ")
            printer.print_ssa_value(nest.outs[number])
        printer.print_string(" : ")
        printer.print_attribute(nest.written_types[number])

    if nest.inputs:
        reads = list(zip(nest.inputs, nest.read_maps, nest.pad_values, strict=True))
        printer.print_string(" reads(")
        printer.print_list(reads, print_read)
        printer.print_string(")")
    if nest.sources:
        printer.print_string(" sources(")
        printer.print_list(nest.sources, print_source)
        printer.print_string(")")
    printer.print_string(" writes(")
    printer.print_list(range(len(nest.output_maps)), print_write)
    printer.print_string(")")
