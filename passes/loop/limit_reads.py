"""`limit-reads`: indirect reads of a table whose rows come with the call end at that number.

`bound-dynamic-shapes` makes places that are not below the size of a padded dimension its bound,
which the check of the read refuses, and those of padding 0. Followed through the nests that do so,
these choices say how far a table is read: `loop.read %table[%i below %n, %j]`. The read then checks
that itself, so that what is behind need not be there (`limit-arguments`), and nothing has to make
it (`limit-rows`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.ir import BlockArgument, OpResult, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from lamina.dialects.loop import GenericOp, ReadOp, ReshapeOp
from lamina.dialects.loop.access import shape_of
from lamina.passes.defined_functions import defined_functions
from lamina.passes.loop.loop_rewriting import rebuild

_MOST_STEPS = 64
"""Ops and nests that are followed from an index: those of a bounded program are a dozen."""

_COPIES = (arith.IndexCastOp, arith.ExtSIOp)
"""What hands an integer on as it is."""


@dataclass(frozen=True)
class LimitReadsPass(ModulePass):
    """Note on indirect reads at which numbers of the call their indices end."""

    name = "limit-reads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for nest in [inner for inner in function.walk() if isinstance(inner, GenericOp)]:
                if nest.sources:
                    _limit(nest)


def _limit(nest: GenericOp) -> None:
    found: dict[ReadOp, list[SSAValue | None]] = {}
    for read in [op for op in nest.block.ops if isinstance(op, ReadOp) and not op.limits]:
        ends = [
            _Search(extent).end(index, nest) if extent else None
            for index, extent in zip(read.indices, shape_of(read.source), strict=True)
        ]
        if any(end is not None for end in ends):
            found[read] = ends
    if not found:
        return
    reads = nest.reads
    numbers: dict[SSAValue, SSAValue] = {}
    first = nest.block.first_op
    assert first is not None
    for count in dict.fromkeys(end for ends in found.values() for end in ends if end is not None):
        argument = nest.block.insert_arg(i64, len(reads))
        reads.append((count, AffineMap(len(nest.extents), 0, ()), None))
        cast = arith.IndexCastOp(argument, IndexType())
        nest.block.insert_op_before(cast, first)
        numbers[count] = cast.result
    for read, ends in found.items():
        limits = [None if end is None else numbers[end] for end in ends]
        made = ReadOp(read.source, list(read.indices), limits)
        made.attributes.update(read.attributes)
        made.location = read.location
        nest.block.insert_op_before(made, read)
        read.result.replace_all_uses_with(made.result)
        nest.block.erase_op(read)
    rebuild(nest, reads=reads)


_Place: TypeAlias = tuple[SSAValue, GenericOp | None, AffineMap]
"""A scalar of a nest's body at a point of its domain; without a nest, the element of a tensor. The
map gives the point, or the element, from the point at which the search began."""


class _Search:
    """Where the values of an index end, of a dimension of some extent."""

    def __init__(self, extent: int) -> None:
        self._extent = extent
        self._steps = 0

    def end(self, index: SSAValue, nest: GenericOp) -> SSAValue | None:
        """A tensor of one integer below which all values of an index are, or are 0; others are the
        extent or more. None if there is none known."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return None
        value, at, point = self._origin(index, nest, AffineMap.identity(len(nest.extents)))
        owner = value.owner
        if at is None:
            made = _maker(owner.source) if isinstance(owner, ReshapeOp) else None
            return None if made is None else self.end(*made)
        if isinstance(owner, _COPIES):
            return self.end(owner.input, at)
        if not isinstance(owner, arith.SelectOp):
            return None
        condition, chosen, other = ((operand, at, point) for operand in owner.operands)
        if self._constant(other) == 0:
            return self.end(owner.lhs, at)
        if (number := self._constant(chosen)) is not None and number >= self._extent:
            return self._guard(condition, other)
        if self._is_negative(condition, other):
            return self.end(owner.rhs, at)  # one that ends is not
        return None

    def _guard(self, condition: _Place, index: _Place) -> SSAValue | None:
        """What an index is compared with by a condition which holds wherever it is outside."""
        value, at, point = self._origin(*condition)
        if at is None or not isinstance(value.owner, arith.OrIOp):
            return None
        sides = [(side, at, point) for side in value.owner.operands]
        for low, high in (sides, sides[::-1]):
            if self._is_negative(low, index):
                return self._compared(high, index)
        return None

    def _is_negative(self, condition: _Place, index: _Place) -> bool:
        """Whether a condition holds where an index is negative."""
        found = self._comparison(condition, "slt", index)
        return found is not None and self._constant(found) == 0

    def _compared(self, condition: _Place, index: _Place) -> SSAValue | None:
        """The integer of which a condition says that an index is not below it."""
        found = self._comparison(condition, "sge", index)
        if found is None:
            return None
        value, nest, _ = self._origin(*found)
        return value if nest is None and value.type == TensorType(i64, []) else None

    def _comparison(self, condition: _Place, predicate: str, index: _Place) -> _Place | None:
        """What an index is compared with, if a condition does that."""
        value, at, point = self._origin(*condition)
        owner = value.owner
        if at is None or not isinstance(owner, arith.CmpiOp):
            return None
        relation = arith.CMPI_COMPARISON_OPERATIONS[owner.predicate.value.data]
        same = self._origin(owner.lhs, at, point) == self._origin(*index)
        return (owner.rhs, at, point) if relation == predicate and same else None

    def _constant(self, place: _Place) -> int | None:
        """A constant integer."""
        value, nest, _ = self._origin(*place)
        owner = value.owner
        if nest is None or not isinstance(owner, arith.ConstantOp):
            return None
        return owner.value.value.data if isinstance(owner.value, IntegerAttr) else None

    def _origin(self, value: SSAValue, nest: GenericOp | None, point: AffineMap) -> _Place:
        """Where a value is made: elements are followed to the nests that give them, one by one."""
        while nest is not None and isinstance(value, BlockArgument):
            number = value.index
            if value.block is not nest.block or number >= len(nest.inputs):
                break
            if nest.pad_values[number] is not None:
                break
            tensor, element = nest.inputs[number], nest.read_maps[number].compose(point)
            maker = _maker(tensor)
            if maker is None:
                return tensor, None, element
            value, nest, point = *maker, element
        return value, nest, point


def _maker(tensor: SSAValue) -> tuple[SSAValue, GenericOp] | None:
    """The nest that gives each element of a tensor at its own point, and the value it gives."""
    owner = tensor.owner
    if not isinstance(tensor, OpResult) or not isinstance(owner, GenericOp):
        return None
    write = owner.write_maps[tensor.index]
    if not owner.is_pointwise or write != AffineMap.identity(len(owner.extents)):
        return None
    return owner.yielded[tensor.index], owner
