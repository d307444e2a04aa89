"""Index arithmetic in scheduled code, at an insertion point with the constants of a kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from lamina.dialects.ir_links import append_op
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.scalar_ops import binary_op, constant_integer, constant_op
from lamina.dialects.op_accessors import first_result

INDEX = IndexType()

Index = SSAValue | int
"""An index known at compile time, or a value."""


class IndexEmitter:
    """Appends ops to a block; `entry` is the kernel's own, where constants stand."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.entry: Block = block
        self.constants: dict[object, SSAValue] = {}
        self.indices: dict[int, SSAValue] = {}  # those of `constants`, whose attributes hash slowly
        self.divisors: dict[SSAValue, int] = {}
        self._computed: dict[tuple[type[Operation], SSAValue, SSAValue], SSAValue] = {}

    def add(self, op: Operation) -> SSAValue:
        """Append an op; returns its first result."""
        append_op(self.block, op)
        return first_result(op)

    def run(self, op: Operation) -> None:
        """Append an op without results."""
        append_op(self.block, op)

    # Constants stand once, at the top of the kernel.

    def constant(self, value: Attribute) -> SSAValue:
        """An SSA constant; each value stands once, at the top of the kernel."""
        found = self.constants.get(value)
        if found is None:
            op = constant_op(value)
            first = self.entry.first_op
            if first is None:
                self.entry.add_op(op)
            else:
                self.entry.insert_op_before(op, first)
            found = self.constants[value] = op.result
        return found

    def number(self, value: float, kind: Attribute) -> SSAValue:
        """A scalar constant of a float, integer or index type."""
        return self.constant(number_attribute(value, kind))

    # Index arithmetic folds what is known, and what a block has computed before is not again: rows
    # and vectors of a tile, unrolled, ask for the same places.

    def value(self, index: Index) -> SSAValue:
        """An index as an SSA value; known ones become constants."""
        return self._known(index) if isinstance(index, int) else index

    def _known(self, index: int) -> SSAValue:
        found = self.indices.get(index)
        if found is None:
            found = self.indices[index] = self.number(index, INDEX)
        return found

    def divisor(self, *indices: Index) -> int:
        """A number that divides all of these; 0, which every number divides, if all are 0."""
        return math.gcd(*(i if isinstance(i, int) else self.divisors.get(i, 1) for i in indices))

    def _divided(self, index: SSAValue, divisor: int) -> SSAValue:
        self.divisors[index] = divisor
        return index

    def plus(self, left: Index, right: Index) -> Index:
        """left + right."""
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if left == 0 and isinstance(left, int):
            return right
        if right == 0 and isinstance(right, int):
            return left
        key = (arith.AddiOp, self.value(left), self.value(right))
        total = self._computed.get(key)
        if total is None:
            total = self._computed[key] = self.add(binary_op(*key))
            self.divisors[total] = self.divisor(left, right)
        return total

    def minus(self, left: Index, right: Index) -> Index:
        """left - right."""
        if isinstance(left, int) and isinstance(right, int):
            return left - right
        if isinstance(right, int) and right == 0:
            return left
        rest = self.add(binary_op(arith.SubiOp, self.value(left), self.value(right)))
        return self._divided(rest, self.divisor(left, right))

    def times(self, left: Index, right: Index) -> Index:
        """left * right."""
        if isinstance(left, int):
            if isinstance(right, int):
                return left * right
            left, right = right, left
        if isinstance(right, int) and right in (0, 1):
            return left if right else 0
        key = (arith.MuliOp, left, self.value(right))
        product = self._computed.get(key)
        if product is None:
            product = self._computed[key] = self.add(binary_op(*key))
            self.divisors[product] = self.divisor(left) * self.divisor(right)
        return product

    def quotient(self, left: Index, right: int) -> Index:
        """left / right rounded toward zero, for non-negative `left` and a known divisor."""
        if isinstance(left, int):
            return left // right
        return left if right == 1 else self.add(binary_op(arith.DivUIOp, left, self.value(right)))

    def remainder(self, left: Index, right: int) -> Index:
        """left mod right, for non-negative `left` and a known divisor."""
        if isinstance(left, int):
            return left % right
        return 0 if right == 1 else self.add(binary_op(arith.RemUIOp, left, self.value(right)))

    def least(self, left: Index, right: Index) -> Index:
        """The smaller of two indices."""
        if isinstance(left, int) and isinstance(right, int):
            return min(left, right)
        least = self.add(binary_op(arith.MinSIOp, self.value(left), self.value(right)))
        return self._divided(least, self.divisor(left, right))

    def most(self, left: Index, right: Index) -> Index:
        """The larger of two indices."""
        if isinstance(left, int) and isinstance(right, int):
            return max(left, right)
        most = self.add(binary_op(arith.MaxSIOp, self.value(left), self.value(right)))
        return self._divided(most, self.divisor(left, right))

    def linear(self, form: Linear, env: Mapping[int, Index]) -> Index:
        """The value of a linear form, given the value of every dimension in it."""
        total: Index = form.constant
        for dim, coefficient in form.terms:
            total = self.plus(self.times(env[dim], coefficient), total)
        return total

    def split(self, index: Index, extents: Sequence[int]) -> list[Index]:
        """Row-major position of a flat index in a box."""
        position: list[Index] = []
        for extent in reversed(extents[1:]):
            position.append(self.remainder(index, extent))
            index = self.quotient(index, extent)
        if extents:
            position.append(index)
        return list(reversed(position))


def known_index(value: SSAValue) -> Index:
    """An index, as a number if it is a constant."""
    number = constant_integer(value)
    return value if number is None else number


def number_attribute(value: float, kind: Attribute) -> Attribute:
    """A typed number; booleans are 0 and 1."""
    if isinstance(kind, IndexType):
        return _index_attribute(int(value))
    if kind.name == "integer_type":
        return IntegerAttr(int(value), kind)  # pyright: ignore
    return FloatAttr(float(value), kind)  # pyright: ignore


@lru_cache(maxsize=4096)
def _index_attribute(value: int) -> Attribute:
    return IntegerAttr(value, INDEX)
