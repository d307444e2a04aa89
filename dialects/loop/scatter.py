"""`loop.scatter`: writes at places that the body computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IndexType, MemRefType, TensorType, i1
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import base, operand_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.body_ops import IndexOp, ReadOp, Shaped
from lamina.dialects.loop.effects import WritesOuts
from lamina.dialects.loop.nest import (
    OrderedNest,
    nest_properties,
    parse_reads,
    parse_typed,
    print_body,
    print_reads,
    print_typed,
)
from lamina.dialects.loop.syntax import parse_domain, print_domain
from lamina.dialects.op_accessors import op_definition
from lamina.dialects.sizes import Extent


@op_definition
class ScatterOp(OrderedNest):
    """A copy of `into` in which each point of the domain replaces one element.

    The body yields the element's index in each dimension, then its new value, and gets the element
    as it is as its last argument: that way it adds, multiplies or takes the larger one. Indices
    must not depend on that argument; they are checked at run time. Points that write the same
    element do so in row-major order of the domain.

    The body may yield a boolean behind the value, a mask as that of `vector.scatter`: where it is
    false the point writes nothing, and its indices are not looked at. It must not depend on the
    element either, nor on anything read at an index.

    ```mlir
    %r = loop.scatter (d0, d1) in [5, 4] reads(%at[d0] : tensor<5xi64>, %x[d0, d1] : tensor<5x4xf32>)
        into(%table : tensor<10x4xf32>) {
    ^bb0(%i: i64, %v: f32, %old: f32):
      %row = arith.index_cast %i : i64 to index
      %column = loop.index 1 : index
      %sum = arith.addf %old, %v : f32
      loop.yield %row, %column, %sum : index, index, f32
    }
    ```

    On memrefs it copies `into` to the memref after `->` and writes there; to the same one it copies
    nothing.
    """  # noqa: E501 - an op on one line

    name = "loop.scatter"
    into = operand_def(base(TensorType) | base(MemRefType))
    traits = traits_def(IsolatedFromAbove(), WritesOuts())

    def __init__(
        self,
        domain: Sequence[int],
        inputs: Sequence[SSAValue],
        input_maps: Sequence[AffineMap],
        into: SSAValue,
        body: Region,
        *,
        sources: Sequence[SSAValue] = (),
        outs: Sequence[SSAValue] = (),
        sizes: Sequence[SSAValue] = (),
    ) -> None:
        super().__init__(
            operands=[into, list(inputs), list(sources), list(outs), list(sizes)],
            result_types=[[] if outs else [into.type]],
            properties=nest_properties(domain, input_maps),
            regions=[body],
        )

    @property
    def places(self) -> tuple[SSAValue, ...]:
        """The index values that the body yields."""
        return self.yielded[: self._rank]

    @property
    def value(self) -> SSAValue:
        """The new element that the body yields."""
        return self.yielded[self._rank]

    @property
    def mask(self) -> SSAValue | None:
        """Whether the point writes, if the body yields that."""
        rest = self.yielded[self._rank + 1 :]
        return rest[0] if rest else None

    @property
    def _rank(self) -> int:
        kind = self.into.type
        assert isinstance(kind, Shaped)
        return kind.get_num_dims()

    @property
    def distinct_dims(self) -> tuple[int, ...]:
        """Dimensions that are themselves an index: their points never meet at one element."""
        found = {v.owner.dim.value.data for v in self.places if isinstance(v.owner, IndexOp)}
        return tuple(sorted(found))

    def into_memory(self, outs: Sequence[SSAValue], body: Region) -> ScatterOp:
        """The same on memrefs."""
        return ScatterOp(
            self.extents,
            list(self.inputs),
            self.read_maps,
            self.into,
            body,
            sources=list(self.sources),
            outs=outs,
        )

    def shapes_at(
        self, extents: Sequence[Extent], shape_of: Callable[[SSAValue], Sequence[Extent]]
    ) -> list[tuple[Extent, ...]]:
        """That of `into`."""
        return [tuple(shape_of(self.into))]

    def verify_(self) -> None:
        kind = self.into.type
        assert isinstance(kind, Shaped)
        self.verify_reads([kind.element_type])
        wanted = [IndexType()] * self._rank + [kind.element_type]
        is_masked = len(self.yielded) == len(wanted) + 1
        self.verify_yield([*wanted, i1] if is_masked else wanted)
        if [v.type for v in (self.outs or self.res)] != [kind]:
            raise VerifyException("loop.scatter gives one result of the type it scatters into")
        old = self.block.args[-1]
        if not self._followed([old]).isdisjoint(self.places):
            raise VerifyException("loop.scatter: the index depends on the element it finds")
        if self.mask is not None:
            reads = (op.result for op in block_ops(self.block) if isinstance(op, ReadOp))
            if self.mask in self._followed([old, *reads]):
                raise VerifyException(
                    "loop.scatter: the mask depends on the element it finds, or on one at an index"
                )
        if self.attributes:
            from lamina.dialects.loop.live_domains import verify_live_note

            verify_live_note(self, tuple(kind.get_shape()))

    def _followed(self, values: Sequence[SSAValue]) -> set[SSAValue]:
        """Values of the body, and what is computed of them."""
        reached = set(values)
        for op in self.block.ops:
            if any(o in reached for o in op.operands):
                reached.update(op.results)
        return reached

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_domain(printer, self.extents, self.sizes)
        print_reads(printer, self)
        printer.print_string(" into(")
        print_typed(printer, self.into)
        if self.outs:
            printer.print_string(" -> ")
            print_typed(printer, self.outs[0])
        printer.print_string(")")
        print_body(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> ScatterOp:
        names, extents, sizes = parse_domain(parser)
        inputs, maps, sources = parse_reads(parser, names, len(sizes))
        parser.parse_keyword("into")
        parser.parse_punctuation("(")
        into = parse_typed(parser)
        outs = [parse_typed(parser)] if parser.parse_optional_punctuation("->") else []
        parser.parse_punctuation(")")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        op = cls(extents, inputs, maps, into, body, sources=sources, outs=outs, sizes=sizes)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


def written_element(op: ScatterOp) -> Attribute:
    """The element type of what a scatter writes."""
    kind = op.into.type
    assert isinstance(kind, Shaped)
    return kind.element_type
