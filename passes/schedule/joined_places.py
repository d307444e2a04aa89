"""Places that are digits of a position: what quotients and remainders by numbers of a call are.

Elements of padded dimensions that a program joins are moved together: position p of the joined
dimension is read at (p / (h * w), p / w mod h, p mod w) of the dimensions. Programs compute that in
steps, with what keeps a place inside whatever the numbers are (`min(p / w, h - 1)`, `max(w, 1)`).
Where there is a position at all, each of the numbers is 1 at least, and these change nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith, func, memref
from xdsl.ir import BlockArgument, Operation, SSAValue

from lamina.dialects.loop import GenericOp, IndexOp
from lamina.dialects.loop.access import forms_of, shape_of
from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.dialects.records import mutable_record, record
from lamina.dialects.sizes import Formula
from lamina.passes.cost.fusion_limits import MOST_FOLLOWED_OPS
from lamina.passes.loop.body_origins import COPIES
from lamina.passes.schedule.derive_sizes import writers_of

Scalars: TypeAlias = Callable[[SSAValue], Formula | None]
"""How a number in memory of the program follows from those that a call brings."""
Vectors: TypeAlias = Callable[[SSAValue], tuple[func.CallOp, int, func.FuncOp] | None]
"""The only call that writes a buffer of the program, which argument it is, and the kernel."""


@record
class Product:
    """A positive number times numbers of a call."""

    number: int = 1
    counts: tuple[tuple[Formula, int], ...] = ()
    """Each with its power, in one order for all."""

    @classmethod
    def of(cls, formula: Formula) -> Product | None:
        """What a formula is where each number that it multiplies is 1 at least."""
        if formula.kind == "number":
            return cls(formula.value) if formula.value > 0 else None
        if formula.kind == "mul":
            left, right = (cls.of(part) for part in formula.parts)
            return None if left is None or right is None else left * right
        if formula.kind == "max" and any(part == Formula.number(1) for part in formula.parts):
            (other,) = [p for p in formula.parts if p != Formula.number(1)] or [Formula.number(1)]
            return cls.of(other)
        return cls(1, ((formula, 1),))

    def __mul__(self, other: Product) -> Product:
        powers = Counter(dict(self.counts))
        powers.update(dict(other.counts))
        return Product(self.number * other.number, _sorted(powers))

    def over(self, other: Product) -> Product | None:
        """The quotient, if it is a product, too."""
        powers = Counter(dict(self.counts))
        powers.subtract(dict(other.counts))
        if self.number % other.number or min(powers.values(), default=0) < 0:
            return None
        return Product(self.number // other.number, _sorted(powers))


def _sorted(powers: Counter[Formula]) -> tuple[tuple[Formula, int], ...]:
    return tuple(sorted(((f, n) for f, n in powers.items() if n), key=lambda p: str(p[0])))


@record
class Digit:
    """`factor` times (position / `step` mod `size`), which is below `size` anyway where it is all
    that is left of the position."""

    step: Product
    size: Product
    factor: Product = Product()


@mutable_record
class JoinedPlaces:
    """What nests of an entry's kernels compute of a position in 0 to `size`."""

    size: Product
    scalars: Scalars
    vectors: Vectors
    steps: int = 0

    def of(self, value: SSAValue, nest: GenericOp, call: func.CallOp, dim: int) -> Digit | None:
        """A value of a nest's body as a digit of the position along `dim`; None for any other."""
        found = self._of(value, nest, call, dim)
        return found if isinstance(found, Digit) and found.factor == Product() else None

    def _of(
        self, value: SSAValue, nest: GenericOp, call: func.CallOp, dim: int
    ) -> Digit | Formula | None:
        self.steps += 1
        if self.steps > MOST_FOLLOWED_OPS:
            return None
        if isinstance(value, BlockArgument):
            return self._read(value, nest, call, dim)
        if (number := constant_integer(value)) is not None:
            return Formula.number(number)
        op = value.owner
        if isinstance(op, IndexOp):
            own = op.dim.value.data == dim
            return Digit(Product(), self.size) if own else None
        if isinstance(op, COPIES):
            return self._of(op.input, nest, call, dim)
        if not isinstance(op, Operation) or len(op.operands) != 2:
            return None
        left, right = (self._of(operand, nest, call, dim) for operand in op.operands)
        if isinstance(op, arith.MuliOp) and isinstance(left, Formula):
            left, right = right, left
        if isinstance(op, arith.MaxSIOp | arith.MinSIOp) and isinstance(left, Formula):
            left, right = right, left
        if not isinstance(left, Digit) or right is None:
            return None
        return _computed(op, left, right)

    def _read(
        self, value: BlockArgument, nest: GenericOp, call: func.CallOp, dim: int
    ) -> Digit | Formula | None:
        """What a nest finds in memory: a number of the program, or what another nest computed."""
        number = value.index
        if value.block is not nest.block or number >= len(nest.inputs):
            return None
        held, forms = nest.inputs[number], forms_of(nest.read_maps[number], nest.extents)
        if nest.pad_values[number] is not None or forms is None:
            return None
        if not shape_of(held):
            passed = self._passed(held, call)
            return None if passed is None else self.scalars(passed)
        if len(forms) != 1 or forms[0].pure_dim != dim:
            return None
        made = self._maker(held, call)
        if made is None:
            return None
        maker, memory, by = made
        place = list(maker.outs).index(memory)
        written = forms_of(maker.write_maps[place], maker.extents)
        along = written[0].pure_dim if written is not None and len(written) == 1 else None
        if along is None or not maker.is_pointwise or maker.monoids:
            return None
        return self._of(maker.yielded[place], maker, by, along)

    def _passed(self, held: SSAValue, call: func.CallOp) -> SSAValue | None:
        """What a call passes as an argument of its kernel."""
        return call.arguments[held.index] if isinstance(held, BlockArgument) else None

    def _maker(
        self, held: SSAValue, call: func.CallOp
    ) -> tuple[GenericOp, SSAValue, func.CallOp] | None:
        """The nest that writes what is held in memory, what it calls that, and in which call."""
        memory = held
        if isinstance(held, BlockArgument):
            found = self.vectors(call.arguments[held.index])
            if found is None:
                return None
            call, place, kernel = found
            memory = kernel.body.block.args[place]
        elif not isinstance(held.owner, memref.AllocOp):
            return None
        writers = writers_of(memory)
        if len(writers) != 1 or not isinstance(writers[0], GenericOp):
            return None
        nest = writers[0]
        alone = memory not in nest.inputs and isinstance(nest.parent_op(), func.FuncOp)
        return (nest, memory, call) if alone and list(nest.outs).count(memory) == 1 else None


def _computed(op: Operation, left: Digit, right: Digit | Formula) -> Digit | None:
    if isinstance(op, arith.SubiOp):
        return _remainder(left, right) if isinstance(right, Digit) else None
    if isinstance(right, Digit):
        return None
    if isinstance(op, arith.MaxSIOp):
        below = right.kind == "number" and right.value <= 0
        return left if below and left.factor == Product() else None
    if isinstance(op, arith.MinSIOp):
        one_more = right.parts[0] if right.parts[1:] == (Formula.number(-1),) else right + 1
        last = Product.of(one_more)
        return left if last == left.size and left.factor == Product() else None
    by = Product.of(right)
    if by is None:
        return None
    if isinstance(op, arith.MuliOp):
        return Digit(left.step, left.size, left.factor * by)
    rest = left.size.over(by)
    if rest is None or left.factor != Product():
        return None
    if isinstance(op, arith.DivSIOp):
        return Digit(left.step * by, rest)
    return Digit(left.step, by) if isinstance(op, arith.RemSIOp) else None


def _remainder(left: Digit, right: Digit) -> Digit | None:
    """`x - x / n * n`."""
    by = right.factor
    alike = right.step == left.step * by and left.size.over(by) == right.size
    return Digit(left.step, by) if alike and left.factor == Product() else None


def are_digits(digits: Sequence[Digit], sizes: Sequence[Product]) -> bool:
    """Whether some digits are those of a position in mixed radix, the first of which is the
    largest."""
    step = Product()
    for digit, size in zip(reversed(digits), reversed(sizes), strict=True):
        if digit.step != step or digit.size != size:
            return False
        step = step * size
    return True
