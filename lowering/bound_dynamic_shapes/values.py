"""What values of a program with dynamic shapes become: padded tensors, numbers in tensors."""

from __future__ import annotations

from dataclasses import field
from itertools import accumulate
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects.identity_cache import once_an_object
from lamina.dialects.records import mutable_record, record
from lamina.dialects.type_shapes import shape_of_type
from lamina.lowering.tensor_types import shape_of

Count: TypeAlias = SSAValue | None
"""How many positions of a dimension are elements: a 0-d tensor of i64, or None for all."""


@record
class Bounded:
    """A tensor of static size, of which the first `sizes[d]` positions of dimension d count."""

    value: SSAValue
    sizes: tuple[Count, ...]

    @property
    def shape(self) -> list[int]:
        """The padded shape."""
        return shape_of(self.value)

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.sizes)

    def is_known(self, dim: int) -> bool:
        """Whether all positions of a dimension are elements."""
        return self.sizes[dim] is None

    @property
    def is_static(self) -> bool:
        """Whether all positions are elements."""
        return not any(size is not None for size in self.sizes)

    @property
    def dynamic_dims(self) -> list[int]:
        """Dimensions with padding."""
        return [d for d, size in enumerate(self.sizes) if size is not None]

    def cut(self, value: SSAValue, dim: int) -> Bounded:
        """`value`, which is this tensor without the padding of one dimension."""
        return Bounded(value, (*self.sizes[:dim], None, *self.sizes[dim + 1 :]))


@record
class Grouped:
    """A tensor whose dimensions are groups of those of another: so many of them for each."""

    tensor: Bounded
    groups: tuple[int, ...]

    @property
    def dims(self) -> list[range]:
        """The dimensions that each group has."""
        ends = list(accumulate(self.groups))
        return [range(end - count, end) for end, count in zip(ends, self.groups, strict=True)]


def ungrouped(tensor: Bounded) -> Grouped:
    """A tensor as one each of whose dimensions is a group."""
    return Grouped(tensor, (1,) * tensor.rank)


def whole(value: SSAValue) -> Bounded:
    """A tensor without padding."""
    return Bounded(value, (None,) * len(shape_of(value)))


@record
class Number:
    """A number that a program computes: a 0-d tensor or a constant, and its range if known."""

    value: SSAValue | int | float
    most: int | None = None
    least: int | None = None

    @property
    def constant(self) -> int | None:
        """The number itself if it is a known integer."""
        return self.value if isinstance(self.value, int) else None


def known(number: int) -> Number:
    """A constant."""
    return Number(number, number, number)


@record
class Sum:
    """Multiples of 0-d tensors of i64, by their factors, and a number added to them."""

    factors: dict[SSAValue, int]
    offset: int = 0

    def __hash__(self) -> int:
        return hash((frozenset(self.factors.items()), self.offset))


@mutable_record
class State:
    """What is known in the middle of a function, by values of the program as written."""

    tensors: dict[SSAValue, Bounded] = field(default_factory=dict[SSAValue, Bounded])
    grouped: dict[SSAValue, Grouped] = field(default_factory=dict[SSAValue, Grouped])
    numbers: dict[SSAValue, Number] = field(default_factory=dict[SSAValue, Number])
    arguments: dict[str, Bounded] = field(default_factory=dict[str, Bounded])
    """Those of the function that have become padded tensors, by their names."""
    inputs: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """The names of the inputs that hold sizes."""
    rows: set[SSAValue] = field(default_factory=set[SSAValue])
    """Those of them that `lamina.padding` says no op masks."""
    limits: dict[object, int] = field(default_factory=dict[object, int])
    """Upper bounds that the program itself checks; keys are made by `limit_key`."""
    checks: list[tuple[SSAValue, str]] = field(default_factory=list[tuple[SSAValue, str]])
    """0-d tensors of i1 that must hold, with what to say if they do not."""
    masks: dict[tuple[SSAValue, int], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, int], SSAValue]
    )
    """Vectors of i1, by count and bound: which positions are elements."""
    least: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """What counts are at least, where the program says or checks it."""
    sums: dict[SSAValue, Sum] = field(default_factory=dict[SSAValue, "Sum"])
    """Counts as sums of multiples of others."""
    values: dict[Sum, SSAValue] = field(default_factory=dict["Sum", SSAValue])
    """The same the other way round."""
    quotients: dict[SSAValue, tuple[Sum, int]] = field(
        default_factory=dict[SSAValue, tuple["Sum", int]]
    )
    """Counts that are quotients of sums, rounded down: these, and by what they are divided."""
    quotient_values: dict[tuple[Sum, int], SSAValue] = field(
        default_factory=dict[tuple["Sum", int], SSAValue]
    )
    """The same the other way round."""
    products: dict[SSAValue, tuple[Number, Number]] = field(
        default_factory=dict[SSAValue, tuple[Number, Number]]
    )
    """Counts that are products of two others."""
    product_values: dict[tuple[int, frozenset[tuple[Count, int]]], SSAValue] = field(
        default_factory=dict[tuple[int, frozenset[tuple["Count", int]]], SSAValue]
    )
    """The same the other way round, by a constant and all counts with their powers."""
    positive: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Of counts that may come out negative, what they are then: 0."""
    ranges: dict[SSAValue, tuple[int | None, int | None]] = field(
        default_factory=dict[SSAValue, tuple[int | None, int | None]]
    )
    """What counts that sums are made of are at least and at most."""
    concerned: set[Operation] = field(default_factory=set[Operation])
    """The ops to look at, and those that hold them in their regions."""
    at: Operation | None = None
    """The op that is looked at."""

    def concerns(self, value: SSAValue) -> bool:
        """Whether a value of the program has become another."""
        return (
            value in self.tensors
            or (bool(self.grouped) and value in self.grouped)
            or (bool(self.numbers) and value in self.numbers)
        )


@once_an_object
def is_dynamic(kind: Attribute) -> bool:
    """Whether a type is a tensor with a dimension that only the data tell."""
    return isinstance(kind, TensorType) and DYNAMIC_INDEX in shape_of_type(kind)


def is_number(kind: Attribute) -> bool:
    """Whether a type is that of a number and no tensor."""
    return not isinstance(kind, TensorType)
