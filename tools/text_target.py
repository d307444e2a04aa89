"""The text of a module, as `lamina-opt` prints it: each op's location once, where it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Operation
from xdsl.printer import Printer
from xdsl.syntax_printer import SyntaxPrinter
from xdsl.targets.mlir import MLIRTarget


class _OneLocation(Printer):
    """Leaves the location out of the type of an op that has a form of its own.

    xDSL prints it after the type, for the generic form, and once more after the op's own form: of
    `scf.while`, where the type stands in the middle, no text could be read back.
    """

    def print_operation_type(self, op: Operation) -> None:
        """`(operands) -> (results)`, and the location if nothing prints it later."""
        own_form = type(op).print is not Operation.print
        if self.print_generic_format or isinstance(op, UnregisteredOp) or not own_form:
            super().print_operation_type(op)
        else:
            self.print_function_type(op.operand_types, op.result_types)


class _ColoredOneLocation(_OneLocation, SyntaxPrinter):
    """The same with colours."""


@dataclass(frozen=True)
class TextTarget(MLIRTarget):
    """MLIR's textual form."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the module and what it has of resources."""
        printer = (_ColoredOneLocation if self.syntax_highlight else _OneLocation)(
            stream=output,
            print_generic_format=self.print_generic_format,
            print_properties_as_attributes=self.print_properties_as_attributes,
            print_debuginfo=self.print_debuginfo,
        )
        printer.print_op(module)
        printer.print_metadata(ctx.loaded_dialects)
        print("\n", file=output)
