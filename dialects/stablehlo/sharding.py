"""The annotations of `sdy` that JAX leaves in programs for one device."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, OpTraits
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure


class MeshOp(Operation):
    """`sdy.mesh @name = <[]>`: the devices of a program."""

    name = "sdy.mesh"
    traits = OpTraits(lambda: ())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """What the mesh is stays text."""
        name = parser.parse_symbol_name()
        parser.parse_punctuation("=")
        text = _bracketed(parser)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(
            properties={"sym_name": name, "mesh": StringAttr(text)}, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        """What `parse` reads."""
        printer.print_string(" ")
        printer.print_symbol_name(_text(self, "sym_name"))
        printer.print_string(f" = <{_text(self, 'mesh')}>")
        if self.attributes:
            printer.print_op_attributes(self.attributes)


class ShardingConstraintOp(Operation):
    """`sdy.sharding_constraint %x <@mesh, [{}]> : T`: where the parts of a tensor are."""

    name = "sdy.sharding_constraint"
    traits = OpTraits(lambda: (Pure(),))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """What the constraint is stays text."""
        operand = parser.parse_unresolved_operand()
        text = _bracketed(parser)
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        value = parser.resolve_operand(operand, kind)
        return cls.create(
            operands=[value], result_types=[kind], properties={"sharding": StringAttr(text)}
        )

    def print(self, printer: Printer) -> None:
        """What `parse` reads."""
        printer.print_string(" ")
        printer.print_ssa_value(self.operands[0])
        printer.print_string(f" <{_text(self, 'sharding')}> : ")
        printer.print_attribute(self.results[0].type)


def _bracketed(parser: Parser) -> str:
    """The text in `<...>`."""
    parser.parse_punctuation("<")
    text = parser._parse_unregistered_attr_body(None)  # pyright: ignore[reportPrivateUsage]
    parser.parse_punctuation(">")
    return text


def _text(op: Operation, name: str) -> str:
    found = op.properties.get(name)
    return found.data if isinstance(found, StringAttr) else ""
