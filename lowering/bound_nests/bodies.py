"""Nests whose parts change while they are bounded, and what their bodies compute of sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, TensorType, i1, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from lamina.dialects.loop import GenericOp, IndexOp, YieldOp
from lamina.dialects.loop.body_ops import element_type
from lamina.dialects.loop.generic import Read
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.sizes import Extent, Size
from lamina.lowering.bound_nests.size_tensors import SizeTensors, bound

INDEX = IndexType()


class BoundBody:
    """The body of a nest over the bounds of extents that are sizes.

    `live` are the extents of a call. What is read and looked up grows with what the body needs:
    `reads` and `sources` are the operands that go with its arguments.
    """

    def __init__(
        self,
        block: Block,
        live: Sequence[Extent],
        tensors: SizeTensors,
        reads: Sequence[Read] = (),
        sources: Sequence[SSAValue] = (),
    ) -> None:
        self.block, self.live = block, tuple(live)
        self.domain = tuple(map(bound, live))
        self.open_dims = [dim for dim, extent in enumerate(live) if isinstance(extent, Size)]
        self.reads: list[Read] = list(reads)
        self.sources: list[SSAValue] = list(sources)
        self._tensors = tensors
        assert self.block.first_op is not None
        self._first = self.block.first_op
        self._numbers: dict[Extent, SSAValue] = {}
        self._indices: dict[Extent, SSAValue] = {}
        self._positions: dict[int, SSAValue] = {}
        self._alive: dict[tuple[int, ...], SSAValue] = {}

    @staticmethod
    def of(op: GenericOp | OrderedNest, live: Sequence[Extent], tensors: SizeTensors) -> BoundBody:
        """That of a nest."""
        reads = list(zip(op.inputs, op.read_maps, op.pad_values, strict=True))
        return BoundBody(op.block, live, tensors, reads, op.sources)

    # Operands

    def add_read(self, value: SSAValue, index_map: AffineMap) -> BlockArgument:
        """One more read."""
        argument = self.block.insert_arg(element_type(value.type), len(self.reads))
        self.reads.append((value, index_map, None))
        return argument

    def add_source(self, value: SSAValue) -> BlockArgument:
        """The argument of a tensor that the body looks up in."""
        first = len(self.reads)
        if value in self.sources:
            return self.block.args[first + self.sources.index(value)]
        argument = self.block.insert_arg(value.type, first + len(self.sources))
        self.sources.append(value)
        return argument

    def replace_read(self, number: int, value: SSAValue) -> None:
        """What a read gave is computed; the read goes."""
        argument = self.block.args[number]
        argument.replace_all_uses_with(value)
        self.block.erase_arg(argument)
        del self.reads[number]

    # Values, in front of all ops that the body had

    def add(self, op: Operation) -> SSAValue:
        """An op's result."""
        self.block.insert_op_before(op, self._first)
        return op.results[0]

    def erase(self, op: Operation) -> None:
        """An op that the body had goes."""
        if op is self._first:
            following = op.next_op
            assert following is not None, "a body ends in a yield"
            self._first = following
        self.block.erase_op(op)

    def constant(self, number: Attribute) -> SSAValue:
        """A constant."""
        return self.add(arith.ConstantOp(number))  # pyright: ignore[reportArgumentType]

    def number(self, extent: Extent) -> SSAValue:
        """A size of the call, as an i64."""
        if extent not in self._numbers:
            if isinstance(extent, Size):
                at = AffineMap(len(self.domain), 0, ())
                self._numbers[extent] = self.add_read(self._tensors.of(extent), at)
            else:
                self._numbers[extent] = self.constant(IntegerAttr(extent, i64))
        return self._numbers[extent]

    def index(self, extent: Extent) -> SSAValue:
        """A size of the call, as an index."""
        if extent not in self._indices:
            self._indices[extent] = (
                self.add(arith.IndexCastOp(self.number(extent), INDEX))
                if isinstance(extent, Size)
                else self.constant(IntegerAttr(extent, INDEX))
            )
        return self._indices[extent]

    def position(self, dim: int) -> SSAValue:
        """The position along a dimension."""
        if dim not in self._positions:
            self._positions[dim] = self.add(IndexOp(dim))
        return self._positions[dim]

    def alive(self, dims: Sequence[int]) -> SSAValue | None:
        """Whether positions along dimensions count; None if all do."""
        asked = tuple(dim for dim in dims if dim in self.open_dims)
        if not asked:
            return None
        if asked not in self._alive:
            *others, dim = asked
            size = self.live[dim]
            assert isinstance(size, Size)
            place = AffineMap(len(self.domain), 0, (AffineDimExpr(dim),))
            found = self.add_read(self._tensors.mask(size), place)
            self._alive[asked] = self.both(self.alive(others), found) or found
        return self._alive[asked]

    def both(self, one: SSAValue | None, other: SSAValue | None) -> SSAValue | None:
        """Two conditions, of which either may always hold."""
        if one is None or other is None:
            return other if one is None else one
        assert one.type == i1
        return self.add(arith.AndIOp(one, other))

    def affine(self, expr: AffineExpr) -> SSAValue:
        """An index that is computed of positions and sizes, which stand as constants."""
        match expr:
            case AffineDimExpr():
                return self.position(expr.position)
            case AffineConstantExpr():
                return self.index(expr.value)
            case AffineBinaryOpExpr():
                return self._of_two(expr.kind, self.affine(expr.lhs), self.affine(expr.rhs))
            case _:
                raise AssertionError(f"no index expression: {expr}")

    def _of_two(self, kind: AffineBinaryOpKind, left: SSAValue, right: SSAValue) -> SSAValue:
        match kind:
            case AffineBinaryOpKind.Add:
                return self.add(arith.AddiOp(left, right))
            case AffineBinaryOpKind.Mul:
                return self.add(arith.MuliOp(left, right))
            case AffineBinaryOpKind.FloorDiv:
                return self.add(arith.FloorDivSIOp(left, right))
            case AffineBinaryOpKind.CeilDiv:
                return self.add(arith.CeilDivSIOp(left, right))
            case AffineBinaryOpKind.Mod:
                quotient = self.add(arith.FloorDivSIOp(left, right))
                whole = self.add(arith.MuliOp(quotient, right))
                return self.add(arith.SubiOp(left, whole))


def computed(
    live: Sequence[Extent],
    element: Attribute,
    name: str,
    tensors: SizeTensors,
    compute: Callable[[BoundBody], SSAValue],
) -> GenericOp:
    """A nest that computes each element of a tensor of a shape; it is called `name`."""
    end = YieldOp([])
    block = Block([end])
    body = BoundBody(block, live, tensors)
    end.operands = [compute(body)]
    nest = GenericOp(
        body.domain,
        [value for value, _, _ in body.reads],
        [index_map for _, index_map, _ in body.reads],
        [AffineMap.identity(len(live))],
        ["store"],
        [TensorType(element, body.domain)],
        Region(block),
        sources=body.sources,
    )
    nest.attributes["lamina.op"] = StringAttr(name)
    return nest
