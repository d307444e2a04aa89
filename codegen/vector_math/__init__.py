"""Transcendental functions as LLVM IR of our own, for any lane count, in f32 and f64.

Within 2 ulp of the true value over the whole range; NaN, infinities, signed zeros, subnormals and
huge arguments as IEEE 754 and torch have them. Constants come from `fit.py`.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from lamina.codegen.llvm_emitter.types import mangled
from lamina.codegen.target import Target
from lamina.codegen.vector_math.builder import MathBuilder, Shared, Value

if TYPE_CHECKING:
    from lamina.codegen.llvm_emitter.writer import ModuleWriter

#: Function -> (file that writes it, number of operands).
FUNCTIONS: dict[str, tuple[str, int]] = {
    "acos": ("inverse_trigonometric", 1),
    "acosh": ("hyperbolic", 1),
    "asin": ("inverse_trigonometric", 1),
    "asinh": ("hyperbolic", 1),
    "atan": ("inverse_trigonometric", 1),
    "atan2": ("inverse_trigonometric", 2),
    "atanh": ("hyperbolic", 1),
    "cbrt": ("power", 1),
    "cos": ("trigonometric", 1),
    "cosh": ("hyperbolic", 1),
    "erf": ("error_function", 1),
    "erfc": ("error_function", 1),
    "exp": ("exponential", 1),
    "exp2": ("exponential", 1),
    "expm1": ("exponential", 1),
    "log": ("logarithm", 1),
    "log10": ("logarithm", 1),
    "log1p": ("logarithm", 1),
    "log2": ("logarithm", 1),
    "pow": ("power", 2),
    "rsqrt": ("power", 1),
    "sin": ("trigonometric", 1),
    "sinh": ("hyperbolic", 1),
    "tan": ("trigonometric", 1),
    "tanh": ("hyperbolic", 1),
}


def require(writer: "ModuleWriter", stem: str, type_: str) -> str:
    """Puts function `stem` on LLVM type `type_` into the program; gives its LLVM name."""
    name = f"lamina.{stem}.{mangled(type_)}"
    if name not in writer.helpers:
        text, shared = function_text(stem, type_, writer.target)
        writer.helpers[name] = text
        writer.helpers.update(shared.helpers)
        writer.declarations.update(shared.declarations)
    return name


@cache
def function_text(stem: str, type_: str, target: Target) -> tuple[str, Shared]:
    """(definition, what else it needs) of one function for one type and target."""
    module, operands = FUNCTIONS[stem]
    function: Callable[..., Value] = getattr(
        import_module(f"lamina.codegen.vector_math.{module}"), stem
    )
    builder = MathBuilder(type_, target)
    result = function(builder, *(Value(builder, type_, f"%x{i}") for i in range(operands)))
    parameters = ", ".join(f"{type_} %x{i}" for i in range(operands))
    name = f"lamina.{stem}.{mangled(type_)}"
    lines = [
        f"define internal {type_} @{name}({parameters}) #1 {{",
        "entry:",
        *builder.shared.lines,
        f"  ret {type_} {result.text}",
        "}",
    ]
    return "\n".join(lines), builder.shared
