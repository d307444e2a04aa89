"""`HloOp`: the base of the ops of StableHLO and CHLO, which come from a table.

Operands, results and regions are as many as the text has; what must hold of them is the op's row
in the table to say. Attributes are properties by the names that StableHLO gives them.
"""

from __future__ import annotations

from typing import ClassVar, Protocol, Self

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.stablehlo.op_table import Row


class Form(Protocol):
    """How an op is written in its pretty form."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """The op, from what stands behind its name."""
        ...

    def print(self, printer: Printer, op: HloOp) -> None:
        """What `parse` reads."""
        ...


class HloOp(Operation):
    """An op of the table; subclasses are made on demand, one for each row."""

    row: ClassVar[Row]
    form: ClassVar[Form]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """The pretty form, as the op's row says."""
        return cls.form.parse(parser, cls)  # pyright: ignore

    def print(self, printer: Printer) -> None:
        """What `parse` reads; the generic form for ops that have no other."""
        self.form.print(printer, self)  # pyright: ignore[reportArgumentType]

    def attr(self, name: str) -> Attribute | None:
        """An attribute; older texts have all of them in one dictionary."""
        found = self.properties.get(name)
        return self.attributes.get(name) if found is None else found

    def ints(self, name: str, default: list[int] | None = None) -> list[int]:
        """A list of integers, row by row if the attribute has two dimensions."""
        given = self.attr(name)
        if isinstance(given, DenseArrayBase):
            return [int(n) for n in given.get_values()]
        if isinstance(given, DenseIntOrFPElementsAttr):
            return [int(n) for n in given.iter_values()]  # pyright: ignore[reportArgumentType]
        if given is None and default is not None:
            return default
        raise ValueError(f"attribute '{name}' is no list of integers")

    def int(self, name: str, default: int | None = None) -> int:
        """An integer."""
        given = self.attr(name)
        if isinstance(given, IntegerAttr):
            return given.value.data
        if given is None and default is not None:
            return default
        raise ValueError(f"attribute '{name}' is no integer")

    def flag(self, name: str) -> bool:
        """A boolean; false if it is left out."""
        given = self.attr(name)
        return isinstance(given, IntegerAttr) and bool(given.value.data)

    def verify_(self) -> None:
        """Numbers of operands, results, regions and blocks, and the types of elementwise ops."""
        row = self.row
        for what, count, wanted in (
            ("operands", len(self.operands), row.operands),
            ("results", len(self.results), row.results),
            ("regions", len(self.regions), row.regions),
        ):
            if wanted >= 0 and count != wanted:
                raise VerifyException(f"{self.name} has {wanted} {what}, not {count}")
        for region in self.regions:
            if len(region.blocks) != 1:
                raise VerifyException(
                    f"{self.name} has regions of one block, not {len(region.blocks)}"
                )
        if row.elementwise:
            self._verify_elementwise()

    def _verify_elementwise(self) -> None:
        result = self.results[0].type
        if not isinstance(result, TensorType):
            raise VerifyException(f"{self.name} gives a tensor, not {result}")
        first = self.operands[0].type
        for operand in self.operands:
            kind = operand.type
            if kind is result and kind is first:
                continue
            if not isinstance(kind, TensorType) or kind.get_shape() != result.get_shape():
                raise VerifyException(f"{self.name}: {kind} where the result is {result}")
            if kind != first:
                raise VerifyException(f"{self.name}: operands of types {first} and {kind}")
