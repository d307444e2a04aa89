"""What scatters, scans and reductions of segments share with `loop.generic`: a domain and a body.

Reads have affine index maps without pads; tensors that the body indexes itself are sources.
Extents, and numbers in index maps, may be values, as those of `loop.generic` (see `open_nests`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from math import prod

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    MemRefType,
    TensorType,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    prop_def,
    region_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.body_ops import Shaped, YieldOp, element_type, yielded_by
from lamina.dialects.loop.index_maps import verify_map
from lamina.dialects.loop.segments import array64, index_maps
from lamina.dialects.loop.syntax import parse_map, print_map
from lamina.dialects.records import mutable_record
from lamina.dialects.sizes import Extent


class OrderedNest(IRDLOperation, ABC):
    """A nest whose points depend on one another: they take effect in row-major order."""

    inputs = var_operand_def(base(TensorType) | base(MemRefType))
    sources = var_operand_def(base(TensorType) | base(MemRefType))
    outs = var_operand_def(MemRefType)
    sizes = var_operand_def(IndexType)
    domain = prop_def(DenseArrayBase)
    input_maps = prop_def(ArrayAttr[AffineMapAttr])
    res = var_result_def(TensorType)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents of the domain; that which is value `n` of `sizes` is -1 - n."""
        return tuple(self.domain.get_values())  # pyright: ignore

    @property
    def row_extents(self) -> tuple[int, ...]:
        """The extents of the dimensions by which rows are named: its own."""
        return self.extents

    @property
    def possible_rows(self) -> tuple[int, ...]:
        """The dimensions that may end at a count: what is below it needs nothing behind."""
        return tuple(range(len(self.extents)))

    @property
    def walked_dim(self) -> int | None:
        """The dimension along which values are handed on from the first position, if there is."""
        return None

    @property
    def points(self) -> int:
        """How many points of the domain the body is run at, at most."""
        return prod(self.extents)

    @property
    def read_maps(self) -> tuple[AffineMap, ...]:
        """The index map of each read."""
        return tuple(m.data for m in self.input_maps)

    @property
    def pad_values(self) -> tuple[None, ...]:
        """The pad of each read: there is none."""
        return (None,) * len(self.inputs)

    @property
    def block(self) -> Block:
        """The body."""
        return self.body.block

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        """What the body gives at each point."""
        return yielded_by(self.block)

    @abstractmethod
    def into_memory(self, outs: Sequence[SSAValue], body: Region) -> OrderedNest:
        """The same nest writing into memrefs."""

    @abstractmethod
    def shapes_at(
        self, extents: Sequence[Extent], shape_of: Callable[[SSAValue], Sequence[Extent]]
    ) -> list[tuple[Extent, ...]]:
        """The shapes of the results over a domain of these extents, of operands of these shapes.

        Raises VerifyException where an operand does not go with the domain.
        """

    def verify_written(self, shape: Sequence[int], what: str) -> None:
        """Check that results have a shape; of those extents that are sizes nothing is asked."""
        for written in [v.type for v in (self.outs or self.res)]:
            assert isinstance(written, Shaped)
            found = written.get_shape()
            if len(found) != len(shape) or any(
                extent >= 0 and extent != given for given, extent in zip(found, shape, strict=True)
            ):
                texts = [str(e) if e >= 0 else f"s{-1 - e}" for e in shape]
                raise VerifyException(
                    f"{self.name}: results have {what} [{', '.join(texts)}], not {written}"
                )

    def verify_reads(self, carried: Sequence[Attribute]) -> None:
        """Check maps and body arguments: elements of the reads, sources, then `carried`."""
        if self.outs and self.res:
            raise VerifyException(f"{self.name} writes into memrefs or gives tensors, not both")
        if len(self.inputs) != len(self.input_maps):
            raise VerifyException(f"{self.name}: one map for each read")
        if self.sizes or any(e < 0 for e in self.extents):
            from lamina.dialects.loop.open_nests import verify_open_domain

            verify_open_domain(self)  # pyright: ignore[reportArgumentType] - Self
        else:
            for number, (value, held) in enumerate(zip(self.inputs, self.read_maps, strict=True)):
                verify_map(
                    f"read {number}", value.type, held, self.extents, padded=False, op=self.name
                )
        expected = [element_type(v.type) for v in self.inputs] + [v.type for v in self.sources]
        expected += carried
        actual = [a.type for a in self.block.args]
        if expected != actual:
            raise VerifyException(
                f"{self.name}: body arguments must be ({', '.join(map(str, expected))}), "
                f"got ({', '.join(map(str, actual))})"
            )
        if not isinstance(self.block.last_op, YieldOp):
            raise VerifyException(f"{self.name}: the body must end in loop.yield")

    def verify_yield(self, wanted: Sequence[Attribute]) -> None:
        """Check the types of what the body gives."""
        given = [v.type for v in self.yielded]
        if list(wanted) != given:
            raise VerifyException(
                f"{self.name}: the body must yield ({', '.join(map(str, wanted))}), "
                f"it yields ({', '.join(map(str, given))})"
            )


def nest_properties(domain: Sequence[int], maps: Sequence[AffineMap]) -> dict[str, Attribute]:
    """The properties that every ordered nest has."""
    return {
        "domain": array64(*domain),
        "input_maps": index_maps(*maps),
    }


def print_typed(printer: Printer, value: SSAValue) -> None:
    """Print `%x : type`."""
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)


def parse_typed(parser: Parser) -> SSAValue:
    """Parse `%x : type`."""
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return parser.resolve_operand(operand, parser.parse_type())


def print_reads(printer: Printer, op: OrderedNest) -> None:
    """Print ` reads(...) sources(...)`, each only if there are any."""

    def print_read(read: tuple[SSAValue, AffineMap]) -> None:
        printer.print_ssa_value(read[0])
        print_map(printer, read[1])
        printer.print_string(" : ")
        printer.print_attribute(read[0].type)

    if op.inputs:
        printer.print_string(" reads(")
        printer.print_list(list(zip(op.inputs, op.read_maps, strict=True)), print_read)
        printer.print_string(")")
    if op.sources:
        printer.print_string(" sources(")
        printer.print_list(op.sources, lambda v: print_typed(printer, v))
        printer.print_string(")")


def parse_reads(
    parser: Parser, names: Sequence[str], sizes: int
) -> tuple[list[SSAValue], list[AffineMap], list[SSAValue]]:
    """Parse `reads(...) sources(...)`: values read, their maps, and sources.

    The last `sizes` of the names are those of sizes.
    """
    inputs: list[SSAValue] = []
    maps: list[AffineMap] = []

    def parse_read() -> None:
        operand = parser.parse_unresolved_operand()
        maps.append(parse_map(parser, names, sizes))
        parser.parse_punctuation(":")
        inputs.append(parser.resolve_operand(operand, parser.parse_type()))

    if parser.parse_optional_keyword("reads"):
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_read)
    sources: list[SSAValue] = []
    if parser.parse_optional_keyword("sources"):
        sources = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parse_typed(parser)
        )
    return inputs, maps, sources


def print_body(printer: Printer, op: OrderedNest) -> None:
    """Print attributes and body."""
    if op.attributes:
        printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" ")
    printer.print_region(op.body, print_empty_block=False)


def print_carried(printer: Printer, op: OrderedNest, carries: Iterable[Attribute]) -> None:
    """Print ` carries(...)`, then ` outs(...)` or ` gives(...)`, attributes and body."""
    printer.print_string(" carries(")
    printer.print_list(carries, printer.print_attribute)
    printer.print_string(")")
    if op.outs:
        printer.print_string(" outs(")
        printer.print_list(op.outs, lambda v: print_typed(printer, v))
    else:
        printer.print_string(" gives(")
        printer.print_list(op.res, lambda r: printer.print_attribute(r.type))
    printer.print_string(")")
    print_body(printer, op)


@mutable_record
class Carried:
    """What `print_carried` prints: values carried, buffers or types of results, and the rest."""

    carries: list[Attribute]
    outs: list[SSAValue]
    types: list[Attribute]
    attributes: dict[str, Attribute]
    body: Region


def parse_carried(parser: Parser) -> Carried:
    """Parse `carries(...)`, then `outs(...)` or `gives(...)`, attributes and body."""
    parser.parse_keyword("carries")
    carries = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_attribute)
    outs: list[SSAValue] = []
    types: list[Attribute] = []
    if parser.parse_optional_keyword("outs"):
        outs = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parse_typed(parser)
        )
    else:
        parser.parse_keyword("gives")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    noted = parser.parse_optional_attr_dict_with_keyword()
    attributes = {} if noted is None else dict(noted.data)
    return Carried(carries, outs, types, attributes, parser.parse_region())
