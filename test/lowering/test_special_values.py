"""Pointwise ops of torch on special values, beside eager mode: NaN, infinities, zeros of both
signs, subnormals, the largest and least numbers, halves, limits of integers.

A result is right if it is eager's, or nearer to eager's result in double precision, within a few
units in the last place. What else differs stands in `EXCEPTIONS`, with its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

import lamina

pytestmark = pytest.mark.one_in(2)

Function = Callable[..., torch.Tensor]
Where = Callable[[list[torch.Tensor], torch.Tensor, torch.Tensor], torch.Tensor]

UNARY = [
    "abs",
    "neg",
    "sign",
    "sgn",
    "ceil",
    "floor",
    "round",
    "trunc",
    "frac",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "square",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "erfinv",
    "sigmoid",
    "logit",
    "digamma",
    "lgamma",
    "isnan",
    "isinf",
    "isfinite",
    "isposinf",
    "isneginf",
    "signbit",
    "nan_to_num",
    "positive",
    "relu",
    "deg2rad",
    "rad2deg",
    "sinc",
    "bitwise_not",
    "logical_not",
    "i0",
]
SPECIAL = [
    "i0e",
    "i1",
    "i1e",
    "ndtr",
    "ndtri",
    "log_ndtr",
    "entr",
    "erfcx",
    "bessel_j0",
    "bessel_j1",
    "modified_bessel_k1",
]
ACTIVATIONS = [
    "softplus",
    "softsign",
    "softshrink",
    "hardshrink",
    "tanhshrink",
    "elu",
    "selu",
    "celu",
    "gelu",
    "silu",
    "mish",
    "hardtanh",
    "hardswish",
    "hardsigmoid",
    "relu6",
    "leaky_relu",
    "logsigmoid",
]
BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "fmod",
    "pow",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "atan2",
    "hypot",
    "copysign",
    "nextafter",
    "logaddexp",
    "logaddexp2",
    "ldexp",
    "xlogy",
    "heaviside",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "logical_and",
    "logical_or",
    "logical_xor",
    "gcd",
    "float_power",
]
DIVISIONS = {"div", "floor_divide", "remainder", "fmod", "divided_down", "divided_to_zero"}

UNARY_FUNCTIONS: dict[str, Function] = {
    **{name: getattr(torch, name) for name in UNARY},
    **{name: getattr(torch.special, name) for name in SPECIAL},
    **{name: getattr(functional, name) for name in ACTIVATIONS},
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "trigamma": lambda x: torch.polygamma(1, x),
    "clamp": lambda x: torch.clamp(x, -1, 1),
    "rounded_to_2": lambda x: torch.round(x, decimals=2),
    "root": lambda x: x**0.5,
    "inverse_root": lambda x: x**-0.5,
    "inverse_square": lambda x: x**-2,
    "cube": lambda x: x**3,
    "power_of_2": lambda x: 2**x,
}
BINARY_FUNCTIONS: dict[str, Function] = {
    **{name: getattr(torch, name) for name in BINARY},
    "xlog1py": torch.special.xlog1py,
    "zeta": torch.special.zeta,
    "divided_down": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "divided_to_zero": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "lerp": lambda x, y: torch.lerp(x, y, 0.3),
    "lerp_far": lambda x, y: torch.lerp(x, y, 0.7),
    "addcmul": lambda x, y: torch.addcmul(x, x, y),
    "where": lambda x, y: torch.where(x < y, x, y),
}
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int8, torch.int32, torch.int64, torch.uint8, torch.bool)


def _infinite(args: list[torch.Tensor], ours: torch.Tensor, eager: torch.Tensor) -> torch.Tensor:
    return torch.stack([a.isinf() for a in args]).any(0)


def _zeros(args: list[torch.Tensor], ours: torch.Tensor, eager: torch.Tensor) -> torch.Tensor:
    return (ours == 0) & (eager == 0)


def _nan(args: list[torch.Tensor], ours: torch.Tensor, eager: torch.Tensor) -> torch.Tensor:
    return eager.isnan() & ours.isfinite()


def _negative(args: list[torch.Tensor], ours: torch.Tensor, eager: torch.Tensor) -> torch.Tensor:
    return args[0] < -1


def _finite(args: list[torch.Tensor], ours: torch.Tensor, eager: torch.Tensor) -> torch.Tensor:
    return eager.isnan() | (ours.isfinite() & eager.isfinite())


def _overflown(args: list[torch.Tensor], ours: torch.Tensor, eager: torch.Tensor) -> torch.Tensor:
    return ours.isinf() & eager.isnan()


def _rounded_product(
    args: list[torch.Tensor], ours: torch.Tensor, eager: torch.Tensor
) -> torch.Tensor:
    if not ours.is_floating_point():
        return ours == eager
    unit = torch.finfo(ours.dtype).eps * args[0].double().abs()
    return ours.isinf() | ((ours.double() - eager.double()).abs() <= unit)


EXCEPTIONS: dict[str, tuple[Where, str]] = {
    "i0": (_infinite, "the limit; torch multiplies inf by 0"),
    "i1": (_infinite, "the limit; torch multiplies inf by 0"),
    "bessel_j0": (_finite, "torch's rational functions have 11 digits, and no limit"),
    "bessel_j1": (_finite, "torch's rational functions have 11 digits, and no limit"),
    "modified_bessel_k1": (_overflown, "too large for its type"),
    "logaddexp": (_finite, "near 0 both cancel, in f32 to the last place of the arguments"),
    "ndtr": (_negative, "exact in the tail, where torch takes 1 - erf"),
    "digamma": (_finite, "within 4 units near the zero at 1.46, torch is not"),
    "trigamma": (_finite, "torch's series is shorter"),
    "gelu": (_infinite, "the limit; torch's vector code multiplies inf by 0"),
    "root": (_infinite, "f16 is computed as f32 is, by a square root"),
    "inverse_root": (_infinite, "f16 is computed as f32 is, by a square root"),
    "remainder": (_nan, "exact; torch's vector code loses quotients that overflow"),
    "fmod": (_nan, "exact; torch's vector code loses quotients that overflow"),
    "fmax": (_zeros, "either zero is largest"),
    "fmin": (_zeros, "either zero is least"),
    "softshrink": (_zeros, "torch's dtypes differ in the sign of what is shrunk to 0"),
    "logaddexp2": (_finite, "exact near 0, torch cancels"),
    "zeta": (_nan, "the limit"),
    "addcmul": (_rounded_product, "the product is rounded before the sum, unless they are fused"),
    "lerp": (_zeros, "torch's fused product leaves the sign of what is below the least number"),
    "lerp_far": (_zeros, "torch's fused product leaves the sign of what is below the least number"),
    "ldexp": (_infinite, "torch multiplies by a power of two that is 0 in f16"),
    "divided_to_zero": (_finite, "exact in half floats; torch rounds the quotient first"),
    "gcd": (lambda args, ours, eager: ours == -eager, "positive also for the least number"),
}
"""Where results may differ otherwise, and why."""


class Each(torch.nn.Module):
    """Several functions of the same arguments."""

    def __init__(self, functions: list[Function]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, *args: torch.Tensor) -> list[torch.Tensor]:
        return [function(*args) for function in self.functions]


def special(dtype: torch.dtype) -> torch.Tensor:
    """The values of a dtype."""
    if dtype == torch.bool:
        return torch.tensor([False, True])
    if not dtype.is_floating_point:
        ends = torch.iinfo(dtype)
        negative = [-1, -2, -3, -7, -12] if ends.min else []
        values = [0, 1, 2, 3, 5, 7, 10, 12, ends.max, ends.max - 1, ends.min, ends.min + 1]
        return torch.tensor(values + negative, dtype=dtype)
    ends = torch.finfo(dtype)
    least = ends.tiny * ends.eps
    sizes = [0.0, float("inf"), ends.max, ends.tiny, ends.tiny / 2, least, 1 / ends.eps, 1e-3, 0.1]
    sizes += [0.25, 0.5, 1.0, 1 + ends.eps, 1.5, 2.0, 2.5, 3.0, 7.3, 10.0, 20.0, 88.0, 100.0]
    values = [float("nan"), *sizes, *(-size for size in sizes)]
    return torch.tensor(values, dtype=torch.float64).to(dtype)


def _right(name: str, args: list[torch.Tensor], ours: Any, eager: Any, double: Any) -> torch.Tensor:
    """Where a result may stand as it is."""
    if not eager.is_floating_point():
        right = ours == eager
    else:
        ends = torch.finfo(eager.dtype)
        units = 2 if eager.dtype.itemsize == 2 else 16
        signs = torch.signbit(ours) == torch.signbit(eager)
        right = (ours == eager) & signs | ours.isnan() & eager.isnan()
        wanted = eager.double()
        unit = (wanted.abs() * ends.eps).clamp(min=ends.tiny * ends.eps)
        right |= ((ours.double() - wanted).abs() <= units * unit) & ((ours != 0) | (eager != 0))
        if double is not None:
            distance = (ours.double() - double).abs()
            right |= (distance < (wanted - double).abs()) | (eager.isnan() & (distance < unit))
            right |= (distance <= ends.eps * double.abs()) & ours.isfinite()
    if name in EXCEPTIONS:
        right |= EXCEPTIONS[name][0](args, ours, eager)
    return right


def _check(functions: dict[str, Function], args: list[torch.Tensor]) -> None:
    usable: dict[str, Function] = {}
    for name, function in functions.items():
        try:
            function(*args)
        except (RuntimeError, NotImplementedError):
            continue  # torch has no such kernel
        usable[name] = function
    module = Each(list(usable.values()))
    results = lamina.compile(torch.export.export(module, tuple(args)))(*args)
    wide = [a.double() for a in args]
    for (name, function), ours in zip(usable.items(), results, strict=True):
        eager = function(*args)
        double = None
        if eager.is_floating_point() and name != "nextafter":
            double = function(*wide).double()
        wrong = ~_right(name, args, ours, eager, double)
        assert ours.dtype == eager.dtype
        found = [
            (*(a[i].item() for a in args), ours[i].item(), eager[i].item())
            for i in wrong.nonzero().flatten().tolist()[:5]
        ]
        assert not found, f"{name}: (arguments, ours, eager): {found}"


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS[:-1]], ids=str)
def test_unary(dtype: torch.dtype) -> None:
    _check(UNARY_FUNCTIONS, [special(dtype)])


@pytest.mark.parametrize("divides", [False, True])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_binary(dtype: torch.dtype, divides: bool) -> None:
    chosen = {n: f for n, f in BINARY_FUNCTIONS.items() if (n in DIVISIONS) == divides}
    values = special(dtype)
    x, y = (side.flatten() for side in torch.meshgrid(values, values, indexing="ij"))
    if not dtype.is_floating_point:
        usable = torch.ones_like(x, dtype=torch.bool)
        if divides:
            usable = y != 0
        elif dtype != torch.bool:
            for name in ("bitwise_left_shift", "bitwise_right_shift"):
                del chosen[name]
            _check_shifts(x, y)
        if dtype in (torch.int32, torch.int64):
            usable &= (x != torch.iinfo(dtype).min) & (y != torch.iinfo(dtype).min)  # torch crashes
        x, y = x[usable], y[usable]
    _check(chosen, [x.clone(), y.clone()])


def _check_shifts(x: torch.Tensor, y: torch.Tensor) -> None:
    usable = (y >= 0) & (y < torch.iinfo(x.dtype).bits)
    names = ("bitwise_left_shift", "bitwise_right_shift")
    _check({name: getattr(torch, name) for name in names}, [x[usable].clone(), y[usable].clone()])
