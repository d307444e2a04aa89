"""Special functions in bodies of loop nests: one op, the function by name."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.elementwise import ROWS
from lamina.dialects.extension_tables import extended
from lamina.dialects.op_accessors import op_definition

UNARY = frozenset(row.name for row in ROWS if row.is_special and row.operands == 1)
BINARY = frozenset(row.name for row in ROWS if row.is_special and row.operands == 2)
"""Names of functions of two operands. `gcd` takes integers and counts them as unsigned, the others
take f32 or f64."""


@op_definition
class SpecialOp(IRDLOperation):
    """A special function of scalars or of vectors lane by lane, all of one type.

    `%y = loop.special "digamma"(%x) : f32`
    """

    name = "loop.special"
    function = prop_def(StringAttr)
    operands_ = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, function: str, operands: Sequence[SSAValue]) -> None:
        super().__init__(
            operands=[list(operands)],
            result_types=[operands[0].type],
            properties={"function": StringAttr(function)},
        )

    def verify_(self) -> None:
        name = self.function.data
        entry = extended("vector function", name)
        if entry is None and name not in UNARY and name not in BINARY:
            raise VerifyException(f'loop.special has no function "{name}"')
        wanted = entry.operands if entry is not None else 1 if name in UNARY else 2
        if len(self.operands_) != wanted:
            raise VerifyException(f'loop.special "{name}" takes {wanted} operands')
        if any(operand.type != self.result.type for operand in self.operands_):
            raise VerifyException(f'loop.special "{name}": operands and result differ in type')

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.function.data}"(')
        printer.print_list(self.operands_, printer.print_ssa_value)
        printer.print_string(")")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> SpecialOp:
        function = parser.parse_str_literal()
        given = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        op = cls(function, [parser.resolve_operand(value, kind) for value in given])
        op.attributes.update(attributes)
        return op
