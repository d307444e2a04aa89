"""Reductions over axes, running sums, and places of extremes."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f32, i1

from lamina.frontends.onnx.element_types import FLOATS, LIMITS
from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import imports
from lamina.frontends.onnx.values import Value, element_of, shape_of


def _axes(n: Node) -> tuple[list[int], bool]:
    axes = n.known_or(1, "axes")
    if not axes:
        if n.attr("noop_with_empty_axes", 0):
            return [], False
        axes = list(range(n.rank()))
    return [n.counted(a) for a in axes], bool(n.attr("keepdims", 1))


def _total(n: Node, value: Value, axes: list[int], keep: bool) -> Value:
    if not axes:
        return value
    return n.op("sum.dim_IntList", value, axes, keep, dtype=element_of(value))


def _sum(n: Node, x: Value, axes: list[int], keep: bool) -> Value:
    return _total(n, x, axes, keep)


def _mean(n: Node, x: Value, axes: list[int], keep: bool) -> Value:
    if element_of(x) in FLOATS:
        return n.op("mean.dim", x, axes, keep) if axes else x
    count = 1
    for axis in axes:
        count *= shape_of(x)[axis]
    return n.op("div.Scalar_mode", _total(n, x, axes, keep), count, rounding_mode="trunc")


def _product(n: Node, x: Value, axes: list[int], keep: bool) -> Value:
    for axis in sorted(axes, reverse=True):
        x = n.op("prod.dim_int", x, axis, keep, dtype=element_of(x))
    return x


def _extreme(name: str) -> Callable[[Node, Value, list[int], bool], Value]:
    def run(n: Node, x: Value, axes: list[int], keep: bool) -> Value:
        if not axes:
            return x
        if 0 in [shape_of(x)[axis] for axis in axes]:
            sizes = [
                1 if i in axes else s for i, s in enumerate(shape_of(x)) if keep or i not in axes
            ]
            element = element_of(x)
            floats = (False, True) if element == i1 else (float("-inf"), float("inf"))
            worst = LIMITS.get(element, floats)
            return n.op("full.default", sizes, worst[name == "amin"], dtype=element)
        return n.op(f"{name}.default", x, axes, keep)

    return run


def _square(n: Node, x: Value) -> Value:
    return n.op("mul.Tensor", x, x)


def _sum_of_squares(n: Node, x: Value, axes: list[int], keep: bool) -> Value:
    return _total(n, _square(n, x), axes, keep)


def _l1(n: Node, x: Value, axes: list[int], keep: bool) -> Value:
    return _total(n, n.op("abs.default", x), axes, keep)


def _l2(n: Node, x: Value, axes: list[int], keep: bool) -> Value:
    return n.cast(n.op("sqrt.default", _sum_of_squares(n, x, axes, keep)), element_of(x))


def _log_sum(n: Node, x: Value, axes: list[int], keep: bool) -> Value:
    return n.cast(n.op("log.default", _total(n, x, axes, keep)), element_of(x))


def _log_sum_exp(n: Node, x: Value, axes: list[int], keep: bool) -> Value:
    if not axes:
        return x
    return n.cast(n.op("logsumexp.default", x, axes, keep), element_of(x))


_KINDS: dict[str, Callable[[Node, Value, list[int], bool], Value]] = {
    "ReduceSum": _sum,
    "ReduceMean": _mean,
    "ReduceProd": _product,
    "ReduceMax": _extreme("amax"),
    "ReduceMin": _extreme("amin"),
    "ReduceSumSquare": _sum_of_squares,
    "ReduceL1": _l1,
    "ReduceL2": _l2,
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
}


@imports(*_KINDS)
def reduce(n: Node) -> Value:
    """Over some axes, by default all; what a reduction does to each element it does anyway."""
    return _KINDS[n.proto.op_type](n, n[0], *_axes(n))


@imports("ArgMax", "ArgMin")
def extreme_place(n: Node) -> Value:
    """The first place of an extreme, or the last one."""
    axis, keep = n.axis(0), bool(n.attr("keepdims", 1))
    name = "argmax.default" if n.proto.op_type == "ArgMax" else "argmin.default"
    if not n.attr("select_last_index", 0):
        return n.op(name, n[0], axis, keep)
    size = n.shape()[axis]
    place = n.op(name, n.op("flip.default", n[0], [axis]), axis, keep)
    return n.op("rsub.Scalar", place, size - 1)


@imports("CumSum", "CumProd")
def running(n: Node) -> Value:
    """Running sums or products, from either end, with or without the element itself."""
    axis = n.counted(int(n.known(1).ravel()[0]))
    value, size = n[0], n.shape()[axis]
    one = n.proto.op_type == "CumProd"
    if n.attr("reverse", 0):
        value = n.op("flip.default", value, [axis])
    if n.attr("exclusive", 0):
        pads = [0, 0] * (n.rank() - 1 - axis) + [1, 0]
        value = n.op("constant_pad_nd.default", value, pads, int(one))
        value = n.op("slice.Tensor", value, axis, 0, size, 1)
    name = "cumprod.default" if one else "cumsum.default"
    value = n.op(name, value, axis, dtype=n.element())
    return n.op("flip.default", value, [axis]) if n.attr("reverse", 0) else value


@imports("LpNormalization")
def lp_normalization(n: Node) -> Value:
    """Divided by the norm along an axis; zeros stay zeros."""
    axis, p = n.axis(-1), int(n.attr("p", 2))
    norm = (_l1 if p == 1 else _l2)(n, n[0], [axis], True)
    zero = n.op("eq.Scalar", norm, 0)
    return (
        n.op("where.ScalarSelf", zero, 0.0, n.op("div.Tensor", n[0], norm))
        if (n.element() == f32)
        else n.op(
            "where.self", zero, n.op("zeros_like.default", n[0]), n.op("div.Tensor", n[0], norm)
        )
    )
