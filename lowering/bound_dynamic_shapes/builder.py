"""The builder of bounded ops: `aten` ops in front of the one replaced, masks, sizes, checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import Any

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects import aten
from lamina.lowering.bound_dynamic_shapes.values import (
    Bounded,
    Count,
    Grouped,
    Number,
    State,
    known,
    ungrouped,
    whole,
)
from lamina.lowering.conversion import Builder
from lamina.lowering.tensor_types import broadcast_shapes, element_of, is_bool, shape_of


class BoundBuilder(Builder):
    """Makes `aten` ops on static tensors in front of one on dynamic ones."""

    def __init__(self, anchor: Operation, state: State) -> None:
        super().__init__(anchor, aten.op)
        self.state = state

    def insert(self, op: Operation) -> Operation:
        """As for all builders; refuses the anchor if the op would read what is to be bounded."""
        concerns = self.state.concerns
        for operand in op._operands:  # pyright: ignore[reportPrivateUsage]
            if concerns(operand):
                raise self.refuse(
                    f"takes no {operand.type} here: its size or value depends on data"
                )
        return super().insert(op)

    # What operands have become

    def tensor(self, value: SSAValue) -> Bounded:
        """A tensor operand with its padding."""
        found = self.state.tensors.get(value)
        return found if found is not None else whole(value)

    def grouped(self, value: SSAValue) -> Grouped:
        """A tensor operand, whose elements may stand in groups."""
        found = self.state.grouped.get(value)
        if found is not None:
            return found
        return ungrouped(self.tensor(value))

    def number(self, value: SSAValue | float) -> Number:
        """A number among the operands, or a constant."""
        if not isinstance(value, SSAValue):
            return known(value) if isinstance(value, int) else Number(value)
        found = self.state.numbers.get(value)
        return Number(value) if found is None else found

    def as_tensor(self, number: Number, element: Attribute = i64) -> SSAValue:
        """A number as a 0-d tensor of that element type."""
        if not isinstance(number.value, SSAValue) or not isinstance(number.value.type, TensorType):
            return self("scalar_tensor.default", number.value, dtype=element)
        return self.converted(number.value, element)

    def static(self, value: SSAValue, what: str) -> SSAValue:
        """An operand that must not be padded; refuses the op otherwise."""
        found = self.tensor(value)
        if not found.is_static:
            raise self.refuse(f"{what} has a size that depends on data")
        return found.value

    # Arithmetic in short

    def converted(self, value: SSAValue, element: Attribute) -> SSAValue:
        """The value in that element type."""
        if element_of(value) == element:
            return value
        return self("_to_copy.default", value, dtype=element)

    def constant(self, number: int) -> SSAValue:
        """A 0-d tensor of i64."""
        return self("scalar_tensor.default", number, dtype=i64)

    def full(self, shape: Sequence[int], number: Any, element: Attribute) -> SSAValue:
        """A constant tensor."""
        return self("full.default", list(shape), _number_of(number, element), dtype=element)

    def iota(self, extent: int) -> SSAValue:
        """0, 1, ... as a vector of i64."""
        return self("arange.default", extent, dtype=i64)

    def where(self, condition: SSAValue, value: SSAValue, other: Any) -> SSAValue:
        """Elements of one or the other; a number stands for a constant of `value`'s type."""
        if not isinstance(other, SSAValue):
            element = element_of(value)
            other = self("scalar_tensor.default", _number_of(other, element), dtype=element)
        return self("where.self", condition, value, other)

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The elements in another shape; the value itself if it is the same."""
        shape = list(shape)
        return value if shape == shape_of(value) else self("reshape.default", value, shape)

    def expand(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Dimensions of one repeated; the value itself if nothing is."""
        shape = list(shape)
        return value if shape == shape_of(value) else self("expand.default", value, shape)

    def along(self, vector: SSAValue, dim: int, rank: int) -> SSAValue:
        """A vector as a tensor of that rank, along one dimension."""
        (extent,) = shape_of(vector)
        return self.reshape(vector, [extent if d == dim else 1 for d in range(rank)])

    def slice(self, value: SSAValue, dim: int, start: int, end: int) -> SSAValue:
        """A part of one dimension; the value itself if that is all of it."""
        if start == 0 and end >= shape_of(value)[dim]:
            return value
        return self("slice.Tensor", value, dim, start, end)

    def resized(self, value: SSAValue, dim: int, extent: int) -> SSAValue:
        """One dimension cut or padded with zeros to `extent`."""
        shape = shape_of(value)
        if extent <= shape[dim]:
            return self.slice(value, dim, 0, extent)
        shape[dim] = extent - shape[dim]
        return self("cat.default", [value, self.full(shape, 0, element_of(value))], dim)

    def broadcast(self, *shapes: Sequence[int]) -> list[int]:
        """The common shape; refuses the op where there is none."""
        try:
            return broadcast_shapes(*shapes)
        except ValueError as error:
            raise self.refuse(str(error)) from None

    # Counts

    def size(self, tensor: Bounded, dim: int) -> Number:
        """How many elements a dimension has."""
        count = tensor.sizes[dim]
        extent = tensor.shape[dim]
        least = 0 if count is None else self.state.least.get(count, 0)
        return known(extent) if count is None else Number(count, extent, least)

    def elements(self, tensor: Bounded, dims: Sequence[int] | None = None) -> Number:
        """The product of sizes, all of them by default."""
        dims = range(tensor.rank) if dims is None else dims
        return self.product(*(self.size(tensor, dim) for dim in dims))

    def product(self, *numbers: Number) -> Number:
        """The product of numbers that are not negative."""
        return reduce(self._twofold, numbers, known(1))

    def _twofold(self, one: Number, other: Number) -> Number:
        if one.constant is not None and other.constant is not None:
            return known(one.constant * other.constant)
        if 1 in (one.constant, other.constant):
            return other if one.constant == 1 else one
        most = None if one.most is None or other.most is None else one.most * other.most
        left, right = self._factors(one), self._factors(other)
        factors = left[0] * right[0], frozenset((left[1] + right[1]).items())
        made = self.state.product_values.get(factors)
        if made is None:
            made = self("mul.Tensor", self.as_tensor(one), self.as_tensor(other))
            self.state.products[made] = one, other
            self.state.product_values[factors] = made
        return Number(made, most, 0)

    def _factors(self, number: Number) -> tuple[int, Counter[Count]]:
        """A constant and counts, with their powers, of which a number is the product."""
        if number.constant is not None:
            return number.constant, Counter()
        value = self.as_tensor(number)
        if value in self.state.products:
            (one, left), (other, right) = map(self._factors, self.state.products[value])
            return one * other, left + right
        return 1, Counter([value])

    def bounded(self, value: SSAValue, sizes: Sequence[Number | Count]) -> Bounded:
        """A padded tensor with these sizes; constants are sizes of dimensions without padding."""
        counts: list[Count] = []
        for dim, size in enumerate(sizes):
            if isinstance(size, Number):
                if isinstance(size.value, SSAValue):
                    size = size.value
                elif size.value == shape_of(value)[dim]:
                    size = None
                else:
                    size = self.as_tensor(size)
            counts.append(size)
        return Bounded(value, tuple(counts))

    # Padding

    def is_element(self, count: SSAValue, extent: int) -> SSAValue:
        """A vector of i1: which of `extent` positions are elements."""
        found = self.state.masks.get((count, extent))
        if found is None:
            found = self("lt.Tensor", self.iota(extent), count)
            self.state.masks[count, extent] = found
        return found

    def mask(self, tensor: Bounded, dims: Sequence[int] | None = None) -> SSAValue | None:
        """Which positions are elements, of a shape that broadcasts; None if all are.

        With `dims`, only padding along these counts.
        """
        found: SSAValue | None = None
        for dim, count in enumerate(tensor.sizes):
            if count is None or (dims is not None and dim not in dims):
                continue
            one = self.along(self.is_element(count, tensor.shape[dim]), dim, tensor.rank)
            found = one if found is None else self("logical_and.default", found, one)
        return found

    def filled(self, tensor: Bounded, number: Any, dims: Sequence[int] | None = None) -> SSAValue:
        """The padded tensor with `number` in the padding, along `dims` or everywhere.

        Each dimension is filled for itself: loops end at each of the sizes then.
        """
        found = tensor.value
        for dim in tensor.dynamic_dims if dims is None else dims:
            mask = self.mask(tensor, [dim])
            found = found if mask is None else self.where(mask, found, number)
        return found

    # Checks

    def require(self, condition: SSAValue, message: str) -> None:
        """A 0-d tensor of i1 that must hold when the program runs."""
        self.state.checks.append((condition, message))

    def require_equal(self, one: Number, other: Number, what: str) -> None:
        """Two sizes that must be the same."""
        if one.value is other.value or (one.constant is not None and one == other):
            return
        same = self("eq.Tensor", self.as_tensor(one), self.as_tensor(other))
        self.require(same, f"{self.place}{what}")

    def require_least(self, size: Number, least: int, what: str) -> None:
        """A size that must not be below `least`, and is not from there on."""
        if size.least is not None and size.least >= least:
            return
        holds = self("ge.Scalar", self.as_tensor(size), least)
        self.require(holds, f"{self.place}{what}")
        if isinstance(size.value, SSAValue):
            self.state.least[size.value] = max(least, self.state.least.get(size.value, least))

    @property
    def place(self) -> str:
        """Where the op stands and its name, for messages at run time."""
        from lamina.dialects.places import place_of

        place = place_of(self.anchor)
        return f"{place}: {self.anchor.name}: " if place else f"{self.anchor.name}: "

    def static_size(self, tensor: Bounded, dim: int, extent: int) -> Bounded:
        """A dimension made static, which the program says is `extent` long."""
        size = self.size(tensor, dim)
        if size.constant is not None:
            return tensor
        message = f"the size of dimension {dim} is not {extent}"
        self.require_equal(size, known(extent), message)
        sizes = list(tensor.sizes)
        sizes[dim] = None
        return Bounded(self.resized(tensor.value, dim, extent), tuple(sizes))


def _number_of(number: Any, element: Attribute) -> Any:
    return bool(number) if is_bool(element) else number
