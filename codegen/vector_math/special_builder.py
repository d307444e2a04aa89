"""What special functions need besides `MathBuilder`: loops, calls of each other, Chebyshev sums.

Every method can be overridden by a builder that computes with arrays at once, as the interpreters'
does: a function is written once and means the same in both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lamina.codegen.llvm_emitter.types import mangled
from lamina.codegen.vector_math.builder import MathBuilder, Value

State = list[Value]


class SpecialBuilder(MathBuilder):
    """Builds special functions; they call elementary ones as functions of their own (`apply`)."""

    def apply(self, stem: str, *operands: Value) -> Value:
        """Calls function `stem` of this folder, a function of its own, on values of this type."""
        from lamina.codegen.vector_math import function_name, function_text

        text, shared = function_text(stem, self.type, self.target)
        name = function_name(stem, self.type)
        self.shared.helpers.setdefault(name, text)
        for more, what in shared.helpers.items():
            self.shared.helpers.setdefault(more, what)
        for more, what in shared.declarations.items():
            self.shared.declarations.setdefault(more, what)
        arguments = ", ".join(f"{v.type} {v.text}" for v in operands)
        return self.emit(self.type, f"call {self.type} @{name}({arguments})")

    def floor(self, x: Value) -> Value:
        """Rounded down."""
        return self.intrinsic("floor", x)

    def trunc(self, x: Value) -> Value:
        """Rounded toward zero."""
        return self.intrinsic("trunc", x)

    def invert(self, condition: Value) -> Value:
        """The other truth."""
        return self.xor(condition, True)

    @property
    def integer_bits(self) -> int:
        """Width of the lanes, if they are integers."""
        return int(self.type.strip("<>").split()[-1].removeprefix("i"))

    def trailing_zeros(self, x: Value) -> Value:
        """How many of an integer's lowest bits are 0; 0 for the number 0."""
        name = f"llvm.cttz.{mangled(self.type)}"
        zeros = self.call(name, self.type, [x], ", i1 false")
        return self.both(zeros, self.integer_bits - 1)

    def shift_up(self, x: Value, bits: Value) -> Value:
        """Shift left by less than the width."""
        return self.binary("shl", x, bits)

    def shift_down(self, x: Value, bits: Value) -> Value:
        """Shift right by less than the width, no sign."""
        return self.binary("lshr", x, bits)

    def chebyshev(self, t: Value, coefficients: Sequence[float]) -> Value:
        """sum c[k] T_k(t), c[0] first, by Clenshaw's recurrence; |t| <= 1."""
        twice = t * 2.0
        later, latest = self.const(0.0), self.const(0.0)
        for coefficient in reversed(coefficients[1:]):
            later, latest = latest, self.fma(twice, latest, coefficient - later)
        return self.fma(t, latest, coefficients[0] - later)

    def repeat(
        self,
        trips: int,
        state: State,
        running: Value,
        body: Callable[[State], tuple[State, Value]],
    ) -> State:
        """Runs `body` while any lane is `running`, at most `trips` times, at least once.

        Lanes that stopped keep their state. `body` gives the next state and who goes on.
        """
        self.shared.counter += 1
        number = self.shared.counter
        before, header, after = self.shared.block, f"loop{number}", f"done{number}"
        count = self.emit("i64", "add i64 0, 0")
        self.shared.lines += [f"  br label %{header}", f"{header}:"]
        self.shared.block = header
        carried = [count, running, *state]
        at = len(self.shared.lines)
        names = [self._name(value.type) for value in carried]
        old_count, active, *old = names
        made, more = body(old)
        kept = [self.select(active, new, was) for new, was in zip(made, old, strict=True)]
        more = self.both(active, more)
        next_count = self.emit("i64", f"add i64 {old_count.text}, 1")
        any_left = more
        if self.count:
            any_left = self.call(f"llvm.vector.reduce.or.v{self.count}i1", "i1", [more])
        within = self.emit("i1", f"icmp slt i64 {next_count.text}, {trips}")
        again = self.emit("i1", f"and i1 {any_left.text}, {within.text}")
        last = self.shared.block
        phis = [
            f"  {name.text} = phi {name.type} [ {first.text}, %{before} ], [ {new.text}, %{last} ]"
            for name, first, new in zip(names, carried, [next_count, more, *kept], strict=True)
        ]
        self.shared.lines[at:at] = phis
        self.shared.lines += [f"  br i1 {again.text}, label %{header}, label %{after}", f"{after}:"]
        self.shared.block = after
        return kept

    def _name(self, type_: str) -> Value:
        self.shared.counter += 1
        return Value(self, type_, f"%m{self.shared.counter}")


def call(stem: str, b: MathBuilder, *operands: Value) -> Value:
    """`SpecialBuilder.apply` for what is given a builder of the general type, as by `in_double`."""
    assert isinstance(b, SpecialBuilder)
    return b.apply(stem, *operands)
