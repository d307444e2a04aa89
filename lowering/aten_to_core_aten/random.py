"""Draws from distributions, made of core_aten's rand and randn. See docs/random.md.

Tensors only lend their shape and dtype, but for probabilities, means and deviations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log1p, pi, sqrt

from xdsl.dialects.builtin import ComplexType, f32, f64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import element_of, is_complex, is_float, shape_of

EPSILON = {"f32": 2.0**-23, "f64": 2.0**-52}
"""Distance of 1 to the next number."""


@lowers("rand", "rand.generator", "rand_like", "rand_like.generator")
def rand(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Uniform in [0, 1); both parts of complex numbers."""
    return _made(op, b, "rand", 1.0)


@lowers("randn", "randn.generator", "randn_like", "randn_like.generator")
def randn(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Standard normal; complex numbers have variance 1, half of it in each part."""
    return _made(op, b, "randn", sqrt(0.5))


def _complex_affine(
    op: SchemaOp, b: CoreBuilder, name: str, scale: float, start: float
) -> SSAValue:
    """start + scale * draw, for both parts."""
    _no_generator(op, b)
    element = element_of(op.results[0])
    assert isinstance(element, ComplexType)
    parts = b(name, [*shape_of(op.results[0]), 2], dtype=element.element_type)
    return b("view_as_complex", _affine(b, parts, scale, start))


def _made(op: SchemaOp, b: CoreBuilder, name: str, scale: float) -> SSAValue:
    _no_generator(op, b)
    shape, element = shape_of(op.results[0]), element_of(op.results[0])
    if not is_complex(element):
        return b(name, shape, dtype=_need_float(b, element))
    assert isinstance(element, ComplexType)
    parts = b(name, [*shape, 2], dtype=element.element_type)
    return b("view_as_complex", b("mul.Scalar", parts, scale) if scale != 1 else parts)


@lowers("uniform")
def uniform(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """from + (to - from) u; both parts of complex numbers."""
    start, end = op.arg("from"), op.arg("to")
    if start > end:
        raise b.refuse(f"an empty range from {start} to {end}", "from <= to")
    if is_complex(element_of(op.results[0])):
        return _complex_affine(op, b, "rand", end - start, start)
    return _of_result(op, b, lambda wide: _affine(b, _uniform(op, b, wide), end - start, start))


@lowers("normal_functional", "normal.float_float")
def normal(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """mean + std z; complex numbers have half of the variance in each part."""
    mean, std = op.arg("mean"), op.arg("std")
    if is_complex(element_of(op.results[0])):
        made = _complex_affine(op, b, "randn", std * sqrt(0.5), 0.0)
        return b("add.Scalar", made, mean) if mean != 0 else made
    return _of_result(op, b, lambda wide: _affine(b, _normal(op, b, wide), std, mean))


@lowers("normal.Tensor_Tensor", "normal.Tensor_float", "normal.float_Tensor")
def normal_of_tensors(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """mean + std z, for each element its own."""

    def value(wide: Attribute) -> SSAValue:
        made = _normal(op, b, wide)
        for name, argument in (("mul", op.arg("std")), ("add", op.arg("mean"))):
            if isinstance(argument, SSAValue):
                made = b(f"{name}.Tensor", made, b.cast(argument, wide))
            else:
                made = b(f"{name}.Scalar", made, argument)
        return made

    return _of_result(op, b, value)


@lowers("log_normal")
def log_normal(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """exp(mean + std z)."""
    mean, std = op.arg("mean"), op.arg("std")
    return _of_result(op, b, lambda w: b("exp", _affine(b, _normal(op, b, w), std, mean)))


@lowers("cauchy")
def cauchy(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """median + sigma tan(pi (u - 1/2)), in f64."""
    median, sigma = op.arg("median"), op.arg("sigma")
    angle = _affine(b, _uniform(op, b, f64), pi, -pi / 2)
    return b.cast(_affine(b, b("tan", angle), sigma, median), _result_float(op, b))


@lowers("exponential")
def exponential(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """-log(1 - u) / lambd, never 0: what divides by it stays finite."""
    rate = op.arg("lambd")
    return _of_result(op, b, lambda w: b("mul.Scalar", _exponential(op, b, w), 1 / rate))


@lowers("geometric")
def geometric(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """ceil(log(1 - u) / log(1 - p)), at least 1: trials up to the first success, in f64."""
    p = op.arg("p")
    if not 0 < p <= 1:
        raise b.refuse(f"p = {p}", "0 < p <= 1")
    element = element_of(op.results[0])
    if p == 1:
        return b.cast(b.full(shape_of(op.results[0]), 1.0, f64), element)
    trials = b("mul.Scalar", b("log1p", b("neg", _uniform(op, b, f64))), 1 / log1p(-p))
    return b.cast(b("clamp", b("ceil", trials), 1.0), element)


@lowers("bernoulli", "bernoulli.p", "bernoulli.Tensor")
def bernoulli(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """u < p, with 53 bits of u: small probabilities keep their value."""
    element = element_of(op.results[0])
    p = op.arg("p") if op.schema.arg("p") is not None else op.arg("self")
    drawn = _uniform(op, b, f64)
    if isinstance(p, SSAValue):
        return b.cast(b("lt.Tensor", drawn, b.cast(p, f64)), element)
    if not 0 <= p <= 1:
        raise b.refuse(f"p = {p}", "0 <= p <= 1")
    return b.cast(b("lt.Scalar", drawn, p), element)


@lowers("multinomial")
def multinomial(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """With replacement: places of u times the total in the running sums of weights.

    Without: the largest of weight / e, where e is exponential (Efraimidis and Spirakis 2006).
    """
    _no_generator(op, b)
    weights, count = b.cast(op.arg("self"), f64), op.arg("num_samples")
    shape = shape_of(weights)
    if not op.arg("replacement"):
        if count > shape[-1]:
            raise b.refuse(
                f"{count} of {shape[-1]} categories without replacement", "replacement = true"
            )
        race = b("div.Tensor", weights, _exponential_of(b, shape, f64))
        return b.op("topk", race, count, -1).results[1]
    sums = b("cumsum", weights, -1)
    total = b("slice.Tensor", sums, -1, shape[-1] - 1, shape[-1])
    drawn = b("mul.Tensor", b("rand", [*shape[:-1], count], dtype=f64), total)
    place = b("searchsorted.Tensor", sums, drawn, right=True)
    return b("clamp", place, None, shape[-1] - 1)


@lowers("rrelu")
def rrelu(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """In evaluation leaky_relu with the mean slope, else a random slope for each element."""
    x, lower, upper = op.arg("self"), op.arg("lower"), op.arg("upper")
    if not op.arg("training"):
        return b("leaky_relu", x, (lower + upper) / 2)
    return b("mul.Tensor", x, _slopes(op, b))


@lowers("rrelu_with_noise_functional")
def rrelu_with_noise(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """rrelu, and the slopes that it took; the noise as it was in evaluation."""
    x, lower, upper = op.arg("self"), op.arg("lower"), op.arg("upper")
    if not op.arg("training"):
        return [b("leaky_relu", x, (lower + upper) / 2), op.arg("noise")]
    slopes = _slopes(op, b)
    return [b("mul.Tensor", x, slopes), slopes]


def _slopes(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """1 for positive numbers, else uniform between the bounds."""
    x, lower, upper = op.arg("self"), op.arg("lower"), op.arg("upper")
    element = element_of(x)
    slope = b.cast(_affine(b, _uniform(op, b, _wide(element)), upper - lower, lower), element)
    return b("where.self", b("gt.Scalar", x, 0), b.full([], 1.0, element), slope)


def _uniform(op: SchemaOp, b: CoreBuilder, element: Attribute) -> SSAValue:
    _no_generator(op, b)
    return b("rand", shape_of(op.results[0]), dtype=element)


def _normal(op: SchemaOp, b: CoreBuilder, element: Attribute) -> SSAValue:
    _no_generator(op, b)
    return b("randn", shape_of(op.results[0]), dtype=element)


def _exponential(op: SchemaOp, b: CoreBuilder, element: Attribute) -> SSAValue:
    _no_generator(op, b)
    return _exponential_of(b, shape_of(op.results[0]), element)


def _exponential_of(b: CoreBuilder, shape: Sequence[int], element: Attribute) -> SSAValue:
    drawn = b("rand", list(shape), dtype=element)
    value = b("neg", b("log1p", b("neg", drawn)))
    return b("clamp", value, EPSILON[str(element)] / 2)


def _affine(b: CoreBuilder, x: SSAValue, scale: float, start: float) -> SSAValue:
    """start + scale * x."""
    x = b("mul.Scalar", x, scale) if scale != 1 else x
    return b("add.Scalar", x, start) if start != 0 else x


def _of_result(op: SchemaOp, b: CoreBuilder, value: Callable[[Attribute], SSAValue]) -> SSAValue:
    """What `value` makes in f32 or f64, in the result's own type."""
    element = _result_float(op, b)
    return b.cast(value(_wide(element)), element)


def _result_float(op: SchemaOp, b: CoreBuilder) -> Attribute:
    return _need_float(b, element_of(op.results[0]))


def _wide(element: Attribute) -> Attribute:
    return f64 if element == f64 else f32


def _need_float(b: CoreBuilder, element: Attribute) -> Attribute:
    if not is_float(element):
        raise b.refuse(f"random numbers of type {element}", "a float dtype")
    return element


def _no_generator(op: SchemaOp, b: CoreBuilder) -> None:
    if op.schema.arg("generator") is not None and op.arg("generator") is not None:
        raise b.refuse("a generator of its own", "no generator, and lamina.manual_seed")
