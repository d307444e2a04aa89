"""Transcendental functions as LLVM IR of our own, for any lane count, in f32 and f64.

Within 2 ulp of the true value over the whole range; NaN, infinities, signed zeros, subnormals and
huge arguments as IEEE 754 and torch have them. Constants come from `fit.py`.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING

from lamina.codegen.llvm_emitter.types import mangled
from lamina.codegen.target import Target
from lamina.codegen.vector_math.builder import Shared, Value
from lamina.codegen.vector_math.special_builder import SpecialBuilder, call
from lamina.dialects.elementwise import ROWS
from lamina.dialects.extension_entries import Entry
from lamina.dialects.extension_tables import extended

if TYPE_CHECKING:
    from lamina.codegen.llvm_emitter.writer import ModuleWriter

#: Function -> (file that writes it, number of operands).
FUNCTIONS: dict[str, tuple[str, int]] = {
    row.name: (row.vector, row.operands) for row in ROWS if row.vector and not row.outlined
}


#: Special functions: each is a function of its own in the program, not inlined. The f32 versions
#: call the f64 ones, but for those of `IN_OWN_PRECISION`.
SPECIAL: dict[str, tuple[str, int]] = {
    row.name: (row.vector, row.operands) for row in ROWS if row.outlined
}

#: f64 steps of f32 functions, each a function of its own: code of that size is not inlined.
STEPS: dict[str, tuple[str, int]] = {
    "cos_for_single": ("trigonometric", 1),
    "lgamma_for_single": ("gamma", 1),
    "sin_for_single": ("trigonometric", 1),
    "tan_for_single": ("trigonometric", 1),
}

IN_DOUBLE_FOR_SINGLE = {"lgamma": "lgamma_for_single"}
"""f64 functions by which those of f32 are computed, if they are shorter than those of f64."""
FLUSHING: dict[str, tuple[str, int]] = {"exp_flushed": ("exponential", 1)}
"""Functions whose subnormal results may be 0 (`lamina.flushed`), inlined as others are."""

_ALL = FUNCTIONS | SPECIAL | STEPS | FLUSHING

IN_OWN_PRECISION = frozenset({"orthogonal_polynomials", "integer", "remainder"})


def function_name(stem: str, type_: str) -> str:
    """The LLVM name of function `stem` on LLVM type `type_`."""
    return f"lamina.{stem}.{mangled(type_)}"


def require(writer: "ModuleWriter", stem: str, type_: str) -> str:
    """Puts function `stem` on LLVM type `type_` into the program; gives its LLVM name."""
    name = function_name(stem, type_)
    if name not in writer.helpers:
        text, shared = function_text(stem, type_, writer.target)
        writer.helpers[name] = text
        writer.helpers.update(shared.helpers)
        writer.declarations.update(shared.declarations)
    return name


def function_text(stem: str, type_: str, target: Target) -> tuple[str, Shared]:
    """(definition, what else it needs) of one function for one type and target."""
    entry = extended("vector function", stem)
    if entry is None:
        return _own_text(stem, type_, target)
    return _text(stem, type_, target, entry.operands)


@cache
def _own_text(stem: str, type_: str, target: Target) -> tuple[str, Shared]:
    return _text(stem, type_, target, _ALL[stem][1])


def _text(stem: str, type_: str, target: Target, operands: int) -> tuple[str, Shared]:
    builder = SpecialBuilder(type_, target)
    given = [Value(builder, type_, f"%x{i}") for i in range(operands)]
    result = build(stem, builder, *given)
    parameters = ", ".join(f"{type_} %x{i}" for i in range(operands))
    attributes = "#1" if stem in FUNCTIONS or stem in FLUSHING else _outlined(target)
    lines = [
        f"define internal {type_} @{function_name(stem, type_)}({parameters}) {attributes} {{",
        "entry:",
        *builder.shared.lines,
        f"  ret {type_} {result.text}",
        "}",
    ]
    return "\n".join(lines), builder.shared


def build(stem: str, builder: SpecialBuilder, *operands: Value) -> Value:
    """What function `stem` computes, appended to a builder; that of an active extension first."""
    entry = extended("vector function", stem)
    if entry is not None:
        return _extended(entry, stem, builder, *operands)
    module, _ = _ALL[stem]
    if stem in SPECIAL and builder.single and module not in IN_OWN_PRECISION:
        return builder.in_double(partial(call, IN_DOUBLE_FOR_SINGLE.get(stem, stem)), *operands)
    function: Callable[..., Value] = getattr(
        import_module(f"lamina.codegen.vector_math.{module}"), stem
    )
    return function(builder, *operands)


def _extended(entry: Entry, stem: str, builder: SpecialBuilder, *operands: Value) -> Value:
    about = f"the vector function '{stem}'"
    try:
        made = entry.value(builder, *operands)
    except Exception as error:
        raise entry.error(f"{about} raises", error) from error
    if not isinstance(made, Value) or made.type != operands[0].type:
        what = made.type if isinstance(made, Value) else type(made).__name__
        raise entry.error(f"{about} gives {what} for operands of {operands[0].type}")
    return made


def _outlined(target: Target) -> str:
    bits = target.vector_bits
    return f'noinline nounwind "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"'
