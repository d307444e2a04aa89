"""A small language for writing vector math: values with operators that append LLVM instructions.

A function is written once for any lane count; `bits` (32 or 64) tells the precision. Multiply-adds
are fused where the target can; what needs the fused rounding asks `fused`, or goes another way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lamina.codegen.llvm_emitter.types import float_literal, mangled, splat, vector_of
from lamina.codegen.target import Target
from lamina.dialects.errors import UnsupportedError

Number = float | int

_RARELY = ', !prof !{!"branch_weights", i32 1, i32 4095}'


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """An operand of LLVM type `type`; operators append to the builder it came from."""

    b: MathBuilder
    type: str
    text: str

    def __add__(self, other: Operand) -> Value:
        return self.b.binary("fadd", self, other)

    def __radd__(self, other: Number) -> Value:
        return self.b.binary("fadd", self, other)

    def __sub__(self, other: Operand) -> Value:
        return self.b.binary("fsub", self, other)

    def __rsub__(self, other: Number) -> Value:
        return self.b.binary("fsub", self.b.like(self, other), self)

    def __mul__(self, other: Operand) -> Value:
        return self.b.binary("fmul", self, other)

    def __rmul__(self, other: Number) -> Value:
        return self.b.binary("fmul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return self.b.binary("fdiv", self, other)

    def __rtruediv__(self, other: Number) -> Value:
        return self.b.binary("fdiv", self.b.like(self, other), self)

    def __neg__(self) -> Value:
        return self.b.negate(self)

    def __lt__(self, other: Operand) -> Value:
        return self.b.compare("fcmp olt", self, other)

    def __le__(self, other: Operand) -> Value:
        return self.b.compare("fcmp ole", self, other)

    def __gt__(self, other: Operand) -> Value:
        return self.b.compare("fcmp ogt", self, other)

    def __ge__(self, other: Operand) -> Value:
        return self.b.compare("fcmp oge", self, other)

    def equals(self, other: Operand) -> Value:
        """Ordered equality of floats."""
        return self.b.compare("fcmp oeq", self, other)

    def is_nan(self) -> Value:
        """Whether it is NaN."""
        return self.b.compare("fcmp uno", self, self)


Operand = Value | float | int


@dataclass(slots=True)
class Shared:
    """What builders of one function in several types have in common."""

    lines: list[str] = field(default_factory=list)
    declarations: dict[str, str] = field(default_factory=dict)
    helpers: dict[str, str] = field(default_factory=dict)
    counter: int = 0
    block: str = "entry"


@dataclass(slots=True)
class MathBuilder:
    """Collects the instructions of one function on values of LLVM type `type`."""

    type: str
    target: Target
    shared: Shared = field(default_factory=Shared)

    @property
    def count(self) -> int:
        """Lanes; 0 for a scalar."""
        return int(self.type[1:].split()[0]) if self.type.startswith("<") else 0

    @property
    def bits(self) -> int:
        """32 or 64: the precision."""
        return 64 if "double" in self.type else 32

    @property
    def single(self) -> bool:
        """Whether the precision is f32."""
        return self.bits == 32

    @property
    def int_type(self) -> str:
        """Integers as wide as the floats."""
        return vector_of(f"i{self.bits}", self.count)

    @property
    def bool_type(self) -> str:
        """What comparisons give."""
        return vector_of("i1", self.count)

    @property
    def mantissa(self) -> int:
        """Stored bits of the significand."""
        return 23 if self.single else 52

    @property
    def bias(self) -> int:
        """The exponent's bias."""
        return 127 if self.single else 1023

    def pick(self, single: Number, double: Number) -> float:
        """A constant by precision."""
        return single if self.single else double

    # Instructions.

    def emit(self, type_: str, text: str) -> Value:
        """Appends an instruction; gives its result."""
        self.shared.counter += 1
        name = f"%m{self.shared.counter}"
        self.shared.lines.append(f"  {name} = {text}")
        return Value(self, type_, name)

    def other(self, type_: str) -> MathBuilder:
        """A builder of the same function for values of another type."""
        return type(self)(type_, self.target, self.shared)

    def in_double(self, function: Callable[..., Value], *operands: Value) -> Value:
        """f32 through an f64 function, in as many parts as fill the vector registers."""
        count, most = self.count, self.target.lanes(64)
        if count <= most:
            return self._through(function, operands)
        if count & (count - 1):
            raise UnsupportedError("vector math", f"{count} lanes: a power of two splits evenly")
        parts: list[Value] = []
        for start in range(0, count, most):
            part = self.other(f"<{most} x float>")
            lanes = range(start, start + most)
            parts.append(part._through(function, [self._lanes(x, lanes) for x in operands]))
        while len(parts) > 1:
            parts = [_joined(self, a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return Value(self, self.type, parts[0].text)

    def _lanes(self, x: Value, lanes: range) -> Value:
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        text = f"shufflevector {x.type} {x.text}, {x.type} poison, <{len(lanes)} x i32> <{mask}>"
        return self.emit(f"<{len(lanes)} x float>", text)

    def _through(self, function: Callable[..., Value], operands: Sequence[Value]) -> Value:
        wide = self.other(vector_of("double", self.count))
        extended = [
            wide.emit(wide.type, f"fpext {x.type} {x.text} to {wide.type}") for x in operands
        ]
        result = function(wide, *extended)
        return self.emit(self.type, f"fptrunc {wide.type} {result.text} to {self.type}")

    def where_any(
        self, condition: Value, usual: Sequence[Value], rare: Callable[[], Sequence[Value]]
    ) -> list[Value]:
        """`usual`, or what `rare` computes (for all lanes) if the condition holds in any lane."""
        test = condition.text
        if self.count:
            name = f"llvm.vector.reduce.or.v{self.count}i1"
            test = self.call(name, "i1", [condition]).text
        self.shared.counter += 1
        label, after = f"rare{self.shared.counter}", f"after{self.shared.counter}"
        before = self.shared.block
        branch = f"  br i1 {test}, label %{label}, label %{after}{_RARELY}"
        self.shared.lines += [branch, f"{label}:"]
        self.shared.block = label
        computed = rare()
        last = self.shared.block
        self.shared.lines += [f"  br label %{after}", f"{after}:"]
        self.shared.block = after
        return [
            self.emit(a.type, f"phi {a.type} [ {a.text}, %{before} ], [ {b.text}, %{last} ]")
            for a, b in zip(usual, computed, strict=True)
        ]

    def like(self, value: Value, other: Operand) -> Value:
        """`other` as a value of the same type: numbers become constants."""
        return other if isinstance(other, Value) else self.constant(value.type, other)

    def constant(self, type_: str, number: Number) -> Value:
        """A constant of any LLVM type."""
        scalar = type_[1:-1].split()[2] if type_.startswith("<") else type_
        if scalar in ("float", "double"):
            text = float_literal(float(number), scalar)
        elif scalar == "i1":
            text = "true" if number else "false"
        else:
            text = str(int(number))
        return Value(self, type_, splat(scalar, text) if type_.startswith("<") else text)

    def const(self, number: Number) -> Value:
        """A float constant."""
        return self.constant(self.type, number)

    def binary(self, instruction: str, a: Value, b: Operand) -> Value:
        """Appends a two-operand instruction."""
        b = self.like(a, b)
        return self.emit(a.type, f"{instruction} {a.type} {a.text}, {b.text}")

    def negate(self, a: Value) -> Value:
        """The other sign, of zeros and NaN too."""
        return self.emit(a.type, f"fneg {a.type} {a.text}")

    def compare(self, instruction: str, a: Value, b: Operand) -> Value:
        """Appends a comparison."""
        b = self.like(a, b)
        return self.emit(self.bool_type, f"{instruction} {a.type} {a.text}, {b.text}")

    def select(self, condition: Value, a: Operand, b: Operand) -> Value:
        """`a` where the condition holds, else `b`; one of them must be a value."""
        model = a if isinstance(a, Value) else b
        assert isinstance(model, Value)
        a, b = self.like(model, a), self.like(model, b)
        text = f"select {condition.type} {condition.text}, {a.type} {a.text}, {b.type} {b.text}"
        return self.emit(model.type, text)

    def call(self, name: str, result: str, operands: Sequence[Value], extra: str = "") -> Value:
        """Calls a function, declared on the way; `extra`: literal operands, `, type value` each."""
        kinds = ", ".join([v.type for v in operands])
        self.shared.declarations.setdefault(
            name, f"declare {result} @{name}({kinds}{_kinds(extra)})"
        )
        arguments = ", ".join(f"{v.type} {v.text}" for v in operands) + extra
        return self.emit(result, f"call {result} @{name}({arguments})")

    def intrinsic(self, stem: str, *operands: Value) -> Value:
        """Calls an LLVM intrinsic whose operands and result have one type."""
        type_ = operands[0].type
        return self.call(f"llvm.{stem}.{mangled(type_)}", type_, operands)

    # Floats.

    @property
    def fused(self) -> bool:
        """Whether `fma` rounds once."""
        return self.target.has_fma

    def fma(self, a: Value, b: Operand, c: Operand) -> Value:
        """a * b + c."""
        b, c = self.like(a, b), self.like(a, c)
        return self.intrinsic("fma", a, b, c) if self.fused else a * b + c

    def abs(self, x: Value) -> Value:
        """The magnitude."""
        return self.intrinsic("fabs", x)

    def sqrt(self, x: Value) -> Value:
        """The square root, correctly rounded."""
        return self.intrinsic("sqrt", x)

    def nearest(self, x: Value) -> Value:
        """Rounded to an integer, ties to even."""
        return self.intrinsic("roundeven", x)

    def copysign(self, magnitude: Operand, sign: Value) -> Value:
        """`magnitude` with the sign of `sign`."""
        return self.intrinsic("copysign", self.like(sign, magnitude), sign)

    def at_most(self, x: Value, limit: Number) -> Value:
        """min(x, limit), NaN kept: one instruction on x86."""
        return self.select(x > limit, limit, x)

    def at_least(self, x: Value, limit: Number) -> Value:
        """max(x, limit), NaN kept."""
        return self.select(x < limit, limit, x)

    def horner(self, x: Value, coefficients: Sequence[float]) -> Value:
        """A polynomial by Horner's rule, highest coefficient first."""
        first, *rest = coefficients
        total = self.like(x, first)
        for coefficient in rest:
            total = self.fma(total, x, coefficient)
        return total

    # Bits.
    def as_bits(self, x: Value) -> Value:
        """The bits of a float."""
        return self.emit(self.int_type, f"bitcast {x.type} {x.text} to {self.int_type}")

    def as_float(self, x: Value) -> Value:
        """The float of some bits."""
        return self.emit(self.type, f"bitcast {x.type} {x.text} to {self.type}")

    def integer(self, number: int) -> Value:
        """An integer constant as wide as the floats."""
        return self.constant(self.int_type, number)

    def to_int(self, x: Value) -> Value:
        """A float that is an integer in range, as an integer; any for others (LLVM: poison)."""
        made = self.emit(self.int_type, f"fptosi {x.type} {x.text} to {self.int_type}").text
        return self.emit(self.int_type, f"freeze {self.int_type} {made}")

    def to_float(self, x: Value) -> Value:
        """An integer as a float."""
        return self.emit(self.type, f"sitofp {x.type} {x.text} to {self.type}")

    def add(self, a: Value, b: Operand) -> Value:
        """Integer sum."""
        return self.binary("add", a, b)

    def sub(self, a: Value, b: Operand) -> Value:
        """Integer difference."""
        return self.binary("sub", a, b)

    def shl(self, a: Value, bits: int) -> Value:
        """Shift left."""
        return self.binary("shl", a, bits)

    def ashr(self, a: Value, bits: int) -> Value:
        """Shift right, sign kept."""
        return self.binary("ashr", a, bits)

    def both(self, a: Value, b: Operand) -> Value:
        """Bitwise and."""
        return self.binary("and", a, b)

    def either(self, a: Value, b: Operand) -> Value:
        """Bitwise or."""
        return self.binary("or", a, b)

    def xor(self, a: Value, b: Operand) -> Value:
        """Bitwise exclusive or."""
        return self.binary("xor", a, b)

    def icmp(self, predicate: str, a: Value, b: Operand) -> Value:
        """Integer comparison."""
        return self.compare(f"icmp {predicate}", a, b)

    # Powers of two.

    def power_of_two(self, n: Value) -> Value:
        """2^n for integral floats n in the normal exponent range."""
        biased = self.add(self.to_int(n), self.bias)
        return self.as_float(self.shl(biased, self.mantissa))

    def scale(self, x: Value, n: Value) -> Value:
        """x * 2^n for x near 1 and |n| up to twice the exponent range, rounded once."""
        name = self.scaling_instruction()
        if name is not None:
            return self._call_scalef(name, x, n)
        integer = self.to_int(n)
        half = self.ashr(integer, 1)
        rest = self.sub(integer, half)
        for part in (half, rest):
            power = self.as_float(self.shl(self.add(part, self.bias), self.mantissa))
            x = x * power
        return x

    def scaling_instruction(self) -> str | None:
        """The AVX-512 instruction for `scale`, if the target has it for this type."""
        width = self.count * self.bits
        if self.target.vector_bits < 512 or self.target.architecture != "x86_64":
            return None
        if width not in (128, 256, 512):
            return None
        return f"llvm.x86.avx512.mask.scalef.p{'s' if self.single else 'd'}.{width}"

    def _call_scalef(self, name: str, x: Value, n: Value) -> Value:
        mask = f"i{max(8, self.count)}"
        rounding = ", i32 4" if name.endswith("512") else ""
        return self.call(name, self.type, [x, n, x], f", {mask} -1{rounding}")


def _joined(b: MathBuilder, low: Value, high: Value) -> Value:
    count = 2 * int(low.type[1:].split()[0])
    mask = ", ".join(f"i32 {lane}" for lane in range(count))
    text = f"shufflevector {low.type} {low.text}, {high.type} {high.text}, <{count} x i32> <{mask}>"
    return b.emit(f"<{count} x float>", text)


def _kinds(extra: str) -> str:
    """Types of literal operands written as `, type value`."""
    return "".join(f", {part.split()[0]}" for part in extra.split(",") if part.strip())
