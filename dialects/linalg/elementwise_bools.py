"""Ops of `arith` that have bools for each element, of which xDSL's ops have no form."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, TensorType, VectorType, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.linalg.structured_text import element_of
from lamina.dialects.op_accessors import op_definition


@op_definition
class SelectOp(IRDLOperation):
    """`%r = arith.select %c, %a, %b : tensor<4xi1>, tensor<4xf32>`.

    With one condition for all, text becomes xDSL's op.
    """

    name = "arith.select"
    cond = operand_def()
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    traits = traits_def(Pure())

    @classmethod
    def create(cls, **given: Any) -> Operation:  # pyright: ignore[reportIncompatibleMethodOverride]
        """xDSL's op where the condition is one bool."""
        operands = given.get("operands", ())
        if operands and operands[0].type == i1:
            return arith.SelectOp.create(**given)
        return super().create(**given)

    def verify_(self) -> None:
        if not self.lhs.type == self.rhs.type == self.result.type:
            raise VerifyException("arith.select: both values and the result are of one type")
        if element_of(self.cond.type) != i1:
            raise VerifyException(f"arith.select: a condition of {self.cond.type}")

    @classmethod
    def parse(cls, parser: Parser) -> Operation:  # pyright: ignore[reportIncompatibleMethodOverride]
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        if len(operands) != 3:
            parser.raise_error(f"arith.select takes 3 values, {len(operands)} given")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kinds: list[Attribute] = [parser.parse_type()]
        if parser.parse_optional_punctuation(","):
            kinds.append(parser.parse_type())
        condition = kinds[0] if len(kinds) == 2 else i1
        types = [condition, kinds[-1], kinds[-1]]
        values: list[SSAValue] = [
            parser.resolve_operand(name, kind) for name, kind in zip(operands, types, strict=True)
        ]
        return cls.create(operands=values, result_types=[kinds[-1]], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list([self.cond.type, self.result.type], printer.print_attribute)


class _Compare(IRDLOperation):
    """`%r = arith.cmpf olt, %a, %b : tensor<4xf32>`; on numbers, text becomes xDSL's op."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    predicate = prop_def(IntegerAttr)
    fastmath = opt_prop_def(arith.FastMathFlagsAttr)
    traits = traits_def(Pure())

    @classmethod
    def create(cls, **given: Any) -> Operation:  # pyright: ignore[reportIncompatibleMethodOverride]
        """xDSL's op where one bool is the result."""
        types = given.get("result_types", ())
        if len(types) == 1 and types[0] == i1:
            return _COMPARISONS[cls.name].create(**given)
        return super().create(**given)

    def verify_(self) -> None:
        kind = self.lhs.type
        if self.rhs.type != kind or not isinstance(kind, TensorType | VectorType):
            raise VerifyException(f"{self.name} compares {kind} with {self.rhs.type}")
        if self.result.type != _bools(kind):
            raise VerifyException(f"{self.name} of {kind} gives {self.result.type}")

    @classmethod
    def parse(cls, parser: Parser) -> Operation:  # pyright: ignore[reportIncompatibleMethodOverride]
        names = _PREDICATES[cls.name]
        at = parser.pos
        word = parser.parse_identifier()
        if word not in names:
            parser.raise_error(f"there is no predicate {word}, only {', '.join(names)}", at)
        parser.parse_punctuation(",")
        left = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        right = parser.parse_unresolved_operand()
        properties: dict[str, Attribute] = {
            "predicate": IntegerAttr(names.index(word), i64),
        }
        if cls.name == "arith.cmpf":
            properties["fastmath"] = arith.FastMathFlagsAttr("none")
            if parser.parse_optional_keyword("fastmath"):
                flags = arith.FastMathFlagsAttr.parse_parameter(parser)
                properties["fastmath"] = arith.FastMathFlagsAttr(flags)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        return cls.create(
            operands=[parser.resolve_operand(left, kind), parser.resolve_operand(right, kind)],
            result_types=[_bools(kind)],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {_PREDICATES[self.name][self.predicate.value.data]}, ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


@op_definition
class CmpfOp(_Compare):
    """Floats, element by element."""

    name = "arith.cmpf"


@op_definition
class CmpiOp(_Compare):
    """Integers, element by element."""

    name = "arith.cmpi"


_PREDICATES: dict[str, tuple[str, ...]] = {
    "arith.cmpf": tuple(arith.CMPF_COMPARISON_OPERATIONS),
    "arith.cmpi": tuple(arith.CMPI_COMPARISON_OPERATIONS),
}

_COMPARISONS: dict[str, type[Operation]] = {"arith.cmpf": arith.CmpfOp, "arith.cmpi": arith.CmpiOp}


def _bools(kind: Attribute) -> Attribute:
    """A bool for each element of a type."""
    if isinstance(kind, TensorType):
        return TensorType(i1, kind.get_shape(), kind.encoding)
    return VectorType(i1, kind.get_shape()) if isinstance(kind, VectorType) else i1


PLAIN: dict[str, type[Operation]] = {**_COMPARISONS, "arith.select": arith.SelectOp}
"""The ops of numbers."""
