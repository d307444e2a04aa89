"""Tensors of a program that is bounded: their sizes in a call, and what masks their padding."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.loop import GenericOp, IndexOp, YieldOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.body_ops import element_type
from lamina.dialects.loop.predicates import SLT
from lamina.dialects.sizes import Extent, Size
from lamina.lowering.bound_nests.size_tensors import NUMBER, SizeTensors

Shape = tuple[Extent, ...]


class Values:
    """The shapes in sizes of what is padded; `tensors` holds the sizes."""

    def __init__(self, tensors: SizeTensors) -> None:
        self.tensors = tensors
        self._shapes: dict[SSAValue, Shape] = {}
        self._filled: dict[tuple[SSAValue, int, Attribute], SSAValue] = {}

    def note(self, value: SSAValue, shape: Shape) -> None:
        """A tensor has this shape in a call."""
        self._shapes[value] = shape

    def shape(self, value: SSAValue) -> Shape:
        """The shape of a tensor in a call: numbers where all of it counts."""
        return self._shapes.get(value) or shape_of(value)

    def filled(
        self, value: SSAValue, axes: Sequence[int], number: Attribute, op: Operation
    ) -> SSAValue:
        """A tensor with a number in its padding along axes, made in front of an op.

        Each axis is filled for itself: loops end at each of the sizes then.
        """
        for axis in axes:
            extent = self.shape(value)[axis]
            if not isinstance(extent, Size):
                continue
            key = (value, axis, number)
            if key not in self._filled:
                self._filled[key] = self._fill(value, axis, self.tensors.of(extent), number, op)
            value = self._filled[key]
        return value

    def _fill(
        self, value: SSAValue, axis: int, count: SSAValue, number: Attribute, op: Operation
    ) -> SSAValue:
        shape = shape_of(value)
        same = AffineMap.identity(len(shape))
        block = Block(arg_types=[element_type(value.type), i64])
        index = IndexOp(axis)
        position = arith.IndexCastOp(index.result, i64)
        counts = arith.CmpiOp(position, block.args[1], SLT)
        padding = arith.ConstantOp(number)  # pyright: ignore[reportArgumentType]
        chosen = arith.SelectOp(counts, block.args[0], padding)
        block.add_ops([index, position, counts, padding, chosen, YieldOp([chosen.result])])
        nest = GenericOp(
            shape,
            [value, count],
            [same, AffineMap(len(shape), 0, ())],
            [same],
            ["store"],
            [TensorType(element_type(value.type), shape)],
            Region(block),
        )
        nest.attributes["lamina.op"] = StringAttr("mask")
        nest.location = op.location
        parent = op.parent
        assert parent is not None and count.type == NUMBER
        parent.insert_op_before(nest, op)
        self.note(nest.res[0], self.shape(value))
        return nest.res[0]
