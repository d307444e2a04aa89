"""`loop.scan`: values handed from point to point along one dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, i64
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.body_ops import element_type
from lamina.dialects.loop.effects import WritesOuts
from lamina.dialects.loop.nest import (
    OrderedNest,
    nest_properties,
    parse_carried,
    parse_reads,
    print_carried,
    print_reads,
)
from lamina.dialects.loop.syntax import parse_domain, print_domain
from lamina.dialects.op_accessors import op_definition
from lamina.dialects.sizes import Extent


@op_definition
class ScanOp(OrderedNest):
    """Running values along a dimension: sums so far, the largest so far and where it was.

    `carries` are the values before the first point. The body gets them after its reads and
    sources, and yields the next ones, then an element for each result; results have the domain's
    shape.

    ```mlir
    %r = loop.scan (d0, d1) in [4, 10] along 1 reads(%x[d0, d1] : tensor<4x10xf32>)
        carries(0.0 : f64) gives(tensor<4x10xf32>) {
    ^bb0(%v: f32, %sum: f64):
      %wide = arith.extf %v : f32 to f64
      %next = arith.addf %sum, %wide : f64
      %out = arith.truncf %next : f64 to f32
      loop.yield %next, %out : f64, f32
    }
    ```
    """

    name = "loop.scan"
    along = prop_def(IntegerAttr)
    carries = prop_def(ArrayAttr)
    traits = traits_def(IsolatedFromAbove(), WritesOuts())

    def __init__(
        self,
        domain: Sequence[int],
        along: int,
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
        properties["along"] = IntegerAttr(along, i64)
        properties["carries"] = ArrayAttr(list(carries))
        super().__init__(
            operands=[list(inputs), list(sources), list(outs), list(sizes)],
            result_types=[list(result_types)],
            properties=properties,
            regions=[body],
        )

    @property
    def dim(self) -> int:
        """The dimension along which values are handed on."""
        return self.along.value.data

    @property
    def walked_dim(self) -> int | None:
        """That dimension: no position needs those behind it."""
        return self.dim

    @property
    def starts(self) -> tuple[FloatAttr | IntegerAttr, ...]:
        """The carried values before the first point."""
        return tuple(self.carries.data)  # pyright: ignore[reportReturnType]

    def into_memory(self, outs: Sequence[SSAValue], body: Region) -> ScanOp:
        """The same on memrefs."""
        return ScanOp(
            self.extents,
            self.dim,
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
        """Those of the domain."""
        return [tuple(extents)] * len(self.res)

    def verify_(self) -> None:
        if not 0 <= self.dim < len(self.extents):
            raise VerifyException(f"loop.scan: the domain has no dimension {self.dim}")
        if not all(isinstance(c, FloatAttr | IntegerAttr) for c in self.carries):
            raise VerifyException("loop.scan carries numbers")
        carried = [c.type for c in self.starts]
        self.verify_reads(carried)
        self.verify_written(self.extents, "the domain's shape")
        written = [v.type for v in (self.outs or self.res)]
        self.verify_yield(carried + [element_type(kind) for kind in written])
        if self.attributes:
            from lamina.dialects.loop.live_domains import verify_live_note

            verify_live_note(self)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_domain(printer, self.extents, self.sizes)
        printer.print_string(f" along {self.dim}")
        print_reads(printer, self)
        print_carried(printer, self, self.carries)

    @classmethod
    def parse(cls, parser: Parser) -> ScanOp:
        names, extents, sizes = parse_domain(parser)
        parser.parse_keyword("along")
        along = parser.parse_integer(allow_negative=False)
        inputs, maps, sources = parse_reads(parser, names, len(sizes))
        rest = parse_carried(parser)
        op = cls(
            extents,
            along,
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
