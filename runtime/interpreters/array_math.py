"""The special functions of `codegen.vector_math` on NumPy arrays, from the same formulas.

`ArrayBuilder` computes at once where the compiler's builder writes instructions. What the formulas
call (exp, log, sin, ...) is NumPy's here, so that only the formula is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lamina.codegen.target import Target
from lamina.codegen.vector_math import FUNCTIONS, build
from lamina.codegen.vector_math.builder import Number, Operand, Shared, Value
from lamina.codegen.vector_math.special_builder import SpecialBuilder, State
from lamina.dialects.elementwise import ROWS
from lamina.runtime.interpreters import array_functions
from lamina.runtime.interpreters.values import Array

_DTYPES = {"float": np.float32, "double": np.float64, "i1": np.bool_, "i32": np.int32}
_TYPES = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}

_BINARY: dict[str, Callable[..., Any]] = {
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": np.divide,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_COMPARE: dict[str, Callable[..., Any]] = {
    "fcmp olt": np.less,
    "fcmp ole": np.less_equal,
    "fcmp ogt": np.greater,
    "fcmp oge": np.greater_equal,
    "fcmp oeq": np.equal,
    "fcmp uno": lambda x, y: np.isnan(x) | np.isnan(y),
}
_INTRINSICS: dict[str, Callable[..., Any]] = {
    row.intrinsic: array_functions.FUNCTIONS[row.name] for row in ROWS if row.intrinsic
}


@dataclass(slots=True)
class _Arrays(Shared):
    arrays: list[Array] = field(default_factory=list)


class ArrayBuilder(SpecialBuilder):
    """Computes; a value's text is the number of its array."""

    def array(self, value: Value) -> Array:
        """What a value stands for."""
        assert isinstance(self.shared, _Arrays)
        return self.shared.arrays[int(value.text)]

    def value(self, array: Any, type_: str | None = None) -> Value:
        """A value for an array."""
        assert isinstance(self.shared, _Arrays)
        self.shared.arrays.append(np.asarray(array))
        return Value(self, type_ or self.type, str(len(self.shared.arrays) - 1))

    @property
    def fused(self) -> bool:
        return False

    def constant(self, type_: str, number: Number) -> Value:
        return self.value(np.asarray(number).astype(_DTYPES[type_]), type_)

    def binary(self, instruction: str, a: Value, b: Operand) -> Value:
        other = self.array(self.like(a, b))
        return self.value(_BINARY[instruction](self.array(a), other), a.type)

    def compare(self, instruction: str, a: Value, b: Operand) -> Value:
        other = self.array(self.like(a, b))
        return self.value(_COMPARE[instruction](self.array(a), other), "i1")

    def negate(self, a: Value) -> Value:
        return self.value(np.negative(self.array(a)))

    def select(self, condition: Value, a: Operand, b: Operand) -> Value:
        model = a if isinstance(a, Value) else b
        assert isinstance(model, Value)
        sides = (self.array(self.like(model, side)) for side in (a, b))
        return self.value(np.where(self.array(condition), *sides), model.type)

    def intrinsic(self, stem: str, *operands: Value) -> Value:
        return self.value(_INTRINSICS[stem](*map(self.array, operands)))

    def in_double(self, function: Callable[..., Value], *operands: Value) -> Value:
        wide = self.other("double")
        assert isinstance(wide, ArrayBuilder)
        given = [wide.value(self.array(x).astype(np.float64)) for x in operands]
        return self.value(wide.array(function(wide, *given)).astype(np.float32))

    def apply(self, stem: str, *operands: Value) -> Value:
        if stem in FUNCTIONS:
            return self.value(array_functions.FUNCTIONS[stem](*map(self.array, operands)))
        return build(stem, self, *operands)

    def where_any(
        self, condition: Value, usual: Sequence[Value], rare: Callable[[], Sequence[Value]]
    ) -> list[Value]:
        return list(rare() if self.array(condition).any() else usual)

    def repeat(
        self,
        trips: int,
        state: State,
        running: Value,
        body: Callable[[State], tuple[State, Value]],
    ) -> State:
        for _ in range(trips):
            made, more = body(state)
            state = [self.select(running, new, old) for new, old in zip(made, state, strict=True)]
            running = self.both(running, more)
            if not self.array(running).any():
                break
        return state


def evaluate(function: str, operands: Sequence[Array]) -> Array:
    """A special function on arrays of one dtype; gcd on integers as unsigned, others on floats."""
    if function == "gcd":
        kind = operands[0].dtype
        unsigned = np.dtype(f"u{kind.itemsize}")
        return np.gcd(*(x.view(unsigned) for x in operands)).view(kind)
    if function == "fmod":
        with np.errstate(all="ignore"):
            return np.fmod(*operands)
    builder = ArrayBuilder(_TYPES[operands[0].dtype], Target.host(), _Arrays())
    with np.errstate(all="ignore"):
        return builder.array(builder.apply(function, *map(builder.value, operands)))
