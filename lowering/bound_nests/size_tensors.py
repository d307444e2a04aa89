"""Sizes of a call as 0-d tensors: inputs of the program, and what is computed of these in front."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, i1, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.loop import GenericOp, IndexOp, YieldOp
from lamina.dialects.loop.predicates import SLT
from lamina.dialects.sizes import Extent, Size, SizeName
from lamina.lowering.bound_dynamic_shapes.arguments import bound_of

NUMBER = TensorType(i64, [])
"""The type of a size that a call brings."""


def fixed(extent: Extent) -> Extent:
    """A size that has one number only is that number."""
    if isinstance(extent, Size) and extent.range[0] == extent.range[1]:
        return int(extent.range[0])
    return extent


def bound(extent: Extent) -> int:
    """The most that a size is, which all sizes have whose arguments are padded."""
    most = bound_of(extent)
    assert most is not None, "arguments without a bound are refused"
    return max(most, 0)


class SizeTensors:
    """The sizes of one function as tensors of one i64, each made once.

    What follows from the numbers of a call is computed in front of all else, so that loops may end
    at it.
    """

    def __init__(self, block: Block, inputs: Mapping[SizeName, SSAValue]) -> None:
        self._block, self._inputs = block, inputs
        self._made: dict[Size, SSAValue] = {}
        self._masks: dict[Size, SSAValue] = {}
        self._last: Operation | None = None

    @property
    def names(self) -> list[SizeName]:
        """The sizes of arguments."""
        return list(self._inputs)

    def of(self, size: Size) -> SSAValue:
        """The tensor that holds a size."""
        if size not in self._made:
            self._made[size] = self._compute(size)
        return self._made[size]

    def mask(self, size: Size) -> SSAValue:
        """A vector of i1 as long as the bound of a size: which positions are below it."""
        if size not in self._masks:
            extent = bound(size)
            block = Block(arg_types=[i64])
            index = IndexOp(0)
            position = arith.IndexCastOp(index.result, i64)
            below = arith.CmpiOp(position, block.args[0], SLT)
            block.add_ops([index, position, below, YieldOp([below.result])])
            here, one = AffineMap.identity(1), AffineMap(1, 0, ())
            kind = TensorType(i1, [extent])
            read = [self.of(size)]
            nest = GenericOp([extent], read, [one], [here], ["store"], [kind], Region(block))
            nest.attributes["lamina.op"] = StringAttr("mask")
            self._masks[size] = self._placed(nest)
        return self._masks[size]

    def _compute(self, size: Size) -> SSAValue:
        if size.is_name:
            (name,) = size.names
            if name.quotient is None:
                return self._inputs[name]
            divided, by = name.quotient
            numbers = _Numbers([self.of(divided)])
            (value,) = numbers.block.args
            quotient = arith.DivSIOp if divided.range[0] >= 0 else arith.FloorDivSIOp
            return self._nest(numbers, numbers.add(quotient(value, numbers.constant(by))))
        names = sorted(size.names, key=lambda name: name.text)
        numbers = _Numbers([self.of(Size.of(name)) for name in names])
        values = dict(zip(names, numbers.block.args, strict=True))
        return self._nest(numbers, numbers.polynomial(size, values))

    def _nest(self, numbers: _Numbers, value: SSAValue) -> SSAValue:
        """A nest of one point."""
        numbers.block.add_op(YieldOp([value]))
        at = AffineMap(0, 0, ())
        maps = [at] * len(numbers.read)
        nest = GenericOp([], numbers.read, maps, [at], ["store"], [NUMBER], Region(numbers.block))
        nest.attributes["lamina.op"] = StringAttr("size")
        return self._placed(nest)

    def _placed(self, nest: GenericOp) -> SSAValue:
        if self._last is not None:
            self._block.insert_op_after(nest, self._last)
        else:
            assert self._block.first_op is not None
            self._block.insert_op_before(nest, self._block.first_op)
        self._last = nest
        return nest.res[0]


class _Numbers:
    """The body of a nest of one point."""

    def __init__(self, read: list[SSAValue]) -> None:
        self.read = read
        self.block = Block(arg_types=[i64] * len(read))

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def constant(self, number: int) -> SSAValue:
        return self.add(arith.ConstantOp(IntegerAttr(number, i64)))

    def polynomial(self, size: Size, values: Mapping[SizeName, SSAValue]) -> SSAValue:
        total: SSAValue | None = None
        for names, coefficient in size.terms:
            term: SSAValue | None = None
            for name in names:
                factor = values[name]
                term = factor if term is None else self.add(arith.MuliOp(term, factor))
            if term is None:
                term = self.constant(coefficient)
            elif coefficient != 1:
                term = self.add(arith.MuliOp(term, self.constant(coefficient)))
            total = term if total is None else self.add(arith.AddiOp(total, term))
        assert total is not None, "a size has terms"
        return total
