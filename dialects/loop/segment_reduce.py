"""`loop.segment_reduce`: values handed on over segments of rows whose bounds the data say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import base, operand_def, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.body_ops import Shaped, element_type
from lamina.dialects.loop.effects import WritesOuts
from lamina.dialects.loop.nest import (
    OrderedNest,
    nest_properties,
    parse_carried,
    parse_reads,
    parse_typed,
    print_carried,
    print_reads,
    print_typed,
)
from lamina.dialects.loop.syntax import parse_domain, print_domain
from lamina.dialects.op_accessors import op_definition
from lamina.dialects.sizes import Extent


@op_definition
class SegmentReduceOp(OrderedNest):
    """What is left after each segment of the second dimension: sums and extremes of ragged rows.

    The first dimension numbers the segments. Of the second, segment s runs over the positions
    from `offsets[s]` up to `offsets[s + 1]`, one after the other; offsets are checked at run time:
    they must not fall, nor leave the dimension. `carries` are the values before the first
    position, which the body gets after its reads and sources; it yields the next ones. Results are
    the first of the carried values after the last position, over the domain without its second
    dimension: an empty segment gives what `carries` says.

    ```mlir
    %r = loop.segment_reduce (d0, d1, d2) in [4, 10, 8] offsets(%o : tensor<5xi64>)
        reads(%x[d1, d2] : tensor<10x8xf32>) carries(0.0 : f32) gives(tensor<4x8xf32>) {
    ^bb0(%v: f32, %sum: f32):
      %next = arith.addf %sum, %v : f32
      loop.yield %next : f32
    }
    ```
    """

    name = "loop.segment_reduce"
    offsets = operand_def(base(TensorType) | base(MemRefType))
    carries = prop_def(ArrayAttr)
    traits = traits_def(IsolatedFromAbove(), WritesOuts())

    def __init__(
        self,
        domain: Sequence[int],
        offsets: SSAValue,
        inputs: Sequence[SSAValue],
        input_maps: Sequence[AffineMap],
        carries: Sequence[Attribute],
        result_types: Sequence[Attribute],
        body: Region,
        *,
        sources: Sequence[SSAValue] = (),
        outs: Sequence[SSAValue] = (),
        sizes: Sequence[SSAValue] = (),
    ) -> None:
        properties = nest_properties(domain, input_maps)
        properties["carries"] = ArrayAttr(list(carries))
        super().__init__(
            operands=[offsets, list(inputs), list(sources), list(outs), list(sizes)],
            result_types=[list(result_types)],
            properties=properties,
            regions=[body],
        )

    @property
    def starts(self) -> tuple[FloatAttr | IntegerAttr, ...]:
        """The carried values before the first position of each segment."""
        return tuple(self.carries.data)  # pyright: ignore[reportReturnType]

    @property
    def kept_extents(self) -> tuple[int, ...]:
        """The shape of the results: the domain without its second dimension."""
        return (self.extents[0], *self.extents[2:])

    @property
    def possible_rows(self) -> tuple[int, ...]:
        """Positions are those of the segments, and vectors run along the last dimension."""
        return (0, *range(2, len(self.extents) - 1))

    @property
    def points(self) -> int:
        """Segments do not overlap: each position is in one at most."""
        return prod(self.extents[1:])

    def into_memory(self, outs: Sequence[SSAValue], body: Region) -> SegmentReduceOp:
        """The same on memrefs."""
        return SegmentReduceOp(
            self.extents,
            self.offsets,
            list(self.inputs),
            self.read_maps,
            self.starts,
            [],
            body,
            sources=list(self.sources),
            outs=outs,
        )

    def shapes_at(
        self, extents: Sequence[Extent], shape_of: Callable[[SSAValue], Sequence[Extent]]
    ) -> list[tuple[Extent, ...]]:
        """Those of the domain without its second dimension."""
        (offsets,), segments = shape_of(self.offsets), extents[0]
        if offsets != segments + 1:
            raise VerifyException(
                f"{self.name}: {segments} segments have {segments + 1} offsets, not {offsets}"
            )
        return [(segments, *extents[2:])] * len(self.res)

    def verify_(self) -> None:
        if len(self.extents) < 2:
            raise VerifyException("loop.segment_reduce needs a domain of segments and positions")
        bounds, segments = self.offsets.type, self.extents[0]
        assert isinstance(bounds, Shaped)
        if segments < 0 and (bounds.element_type != i64 or bounds.get_num_dims() != 1):
            raise VerifyException(
                "loop.segment_reduce: offsets are a vector of i64, of one more than there are "
                f"segments, not {bounds}"
            )
        if segments >= 0 and (bounds.element_type != i64 or bounds.get_shape() != (segments + 1,)):
            raise VerifyException(
                f"loop.segment_reduce: {segments} segments have {segments + 1} offsets of i64, not "
                f"{bounds}"
            )
        if not all(isinstance(c, FloatAttr | IntegerAttr) for c in self.carries):
            raise VerifyException("loop.segment_reduce carries numbers")
        carried = [c.type for c in self.starts]
        self.verify_reads(carried)
        self.verify_yield(carried)
        self.verify_written(self.kept_extents, "the domain's shape without its second dimension,")
        written = [v.type for v in (self.outs or self.res)]
        given = [element_type(kind) for kind in written]
        if given != carried[: len(given)]:
            raise VerifyException(
                f"loop.segment_reduce: results are the first of what is carried, "
                f"({', '.join(map(str, carried))}), not ({', '.join(map(str, given))})"
            )
        if self.attributes:
            from lamina.dialects.loop.live_domains import verify_live_note

            verify_live_note(self)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_domain(printer, self.extents, self.sizes)
        printer.print_string(" offsets(")
        print_typed(printer, self.offsets)
        printer.print_string(")")
        print_reads(printer, self)
        print_carried(printer, self, self.carries)

    @classmethod
    def parse(cls, parser: Parser) -> SegmentReduceOp:
        names, extents, sizes = parse_domain(parser)
        parser.parse_keyword("offsets")
        parser.parse_punctuation("(")
        offsets = parse_typed(parser)
        parser.parse_punctuation(")")
        inputs, maps, sources = parse_reads(parser, names, len(sizes))
        rest = parse_carried(parser)
        op = cls(
            extents,
            offsets,
            inputs,
            maps,
            rest.carries,
            rest.types,
            rest.body,
            sources=sources,
            outs=rest.outs,
            sizes=sizes,
        )
        op.attributes.update(rest.attributes)
        return op
