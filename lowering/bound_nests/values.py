"""Tensors of a program that is bounded: their sizes in a call, and what masks their padding."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.body_ops import element_type
from lamina.dialects.sizes import Extent, Size
from lamina.lowering.bound_nests.bodies import BoundBody, computed
from lamina.lowering.bound_nests.size_tensors import SizeTensors
from lamina.lowering.bound_nests.weights import Weights

Shape = tuple[Extent, ...]


class Values:
    """The shapes in sizes of what is padded; `tensors` holds the sizes."""

    def __init__(self, tensors: SizeTensors) -> None:
        self.tensors = tensors
        self.weights = Weights()
        self.pending: set[Operation] = set()
        """Ops that are still to be bounded."""
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
                self._filled[key] = self._fill(value, axis, number, op)
            value = self._filled[key]
        return value

    def _fill(self, value: SSAValue, axis: int, number: Attribute, op: Operation) -> SSAValue:
        shape = shape_of(value)

        def chosen(body: BoundBody) -> SSAValue:
            element = body.add_read(value, AffineMap.identity(len(shape)))
            counts = body.alive([axis])
            assert counts is not None
            return body.add(arith.SelectOp(counts, element, body.constant(number)))

        live = [
            own if dim == axis else most
            for dim, (own, most) in enumerate(zip(self.shape(value), shape, strict=True))
        ]
        nest = computed(live, element_type(value.type), "where", self.tensors, chosen)
        nest.location = op.location
        parent = op.parent
        assert parent is not None
        parent.insert_op_before(nest, op)
        self.note(nest.res[0], self.shape(value))
        return nest.res[0]
