"""Ops that read numbers which only a call tells, as ops that have a form for them.

What takes a number as its other operand (`mul.Scalar`) has a form with a tensor of rank 0. Others
are made of such here: what scales an operand (`alpha`, `value`), clamps, activations with a slope
or a threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from lamina.dialects import aten
from lamina.dialects.op_list import list_ops
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Builder

Expansion = Callable[[dict[str, Any], Builder, SchemaOp], SSAValue | None]
"""From the arguments of an op, a builder in front of it, and the op: None leaves it as it is."""

_EXPANSIONS: dict[str, Expansion] = {}


def expand_number_operands(function: FuncOp) -> None:
    """Replaces the ops of a function that read numbers and have no form for them, where it can."""
    for op in list_ops(function):
        expansion = _EXPANSIONS.get(op.name)
        if expansion is None or not isinstance(op, SchemaOp) or not _reads_numbers(op):
            continue
        made = expansion(op.args(), Builder(op, aten.op), op)
        if made is None:
            continue
        assert made.type == op.results[0].type, f"{op.name}: {made.type}"
        Rewriter.replace_op(op, [], [made])


def _reads_numbers(op: SchemaOp) -> bool:
    return any(not isinstance(operand.type, TensorType) for operand in op.operands)


def _expands(*names: str) -> Callable[[Expansion], Expansion]:
    def register(expansion: Expansion) -> Expansion:
        _EXPANSIONS.update({f"aten.{name}": expansion for name in names})
        return expansion

    return register


@_expands("add.Tensor", "sub.Tensor", "rsub.Tensor")
def _scaled_operand(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue:
    """self + alpha * other; `rsub` scales what it subtracts."""
    packet = op.overload_name.partition(".")[0]
    if packet == "rsub":
        return b("sub.Tensor", a["other"], b("mul.Scalar", a["self"], a["alpha"]))
    return b(f"{packet}.Tensor", a["self"], b("mul.Scalar", a["other"], a["alpha"]))


@_expands("add.Scalar", "sub.Scalar", "rsub.Scalar")
def _scaled_number(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue | None:
    """What is scaled is itself a number."""
    if not isinstance(a["alpha"], SSAValue):
        return None
    kind = op.results[0].type
    assert isinstance(kind, TensorType)
    other = b("full.default", [1] * len(kind.get_shape()), a["other"], dtype=kind.element_type)
    return _scaled_operand({**a, "other": other}, b, op)


@_expands("addmm.default", "addmv.default", "baddbmm.default")
def _scaled_product(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue:
    """beta * self + alpha * product."""
    factors = [value for name, value in a.items() if name not in ("self", "beta", "alpha")]
    product = {"addmm": "mm", "addmv": "mv", "baddbmm": "bmm"}[op.overload_name.partition(".")[0]]
    made = b(f"{product}.default", *factors[:2])
    return b("add.Tensor", b("mul.Scalar", a["self"], a["beta"]), b("mul.Scalar", made, a["alpha"]))


@_expands("addcmul.default", "addcdiv.default")
def _scaled_pair(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue:
    """self + value * (tensor1 * tensor2), or of their quotient."""
    name = "mul.Tensor" if "mul" in op.overload_name else "div.Tensor"
    pair = b(name, a["tensor1"], a["tensor2"])
    return b("add.Tensor", a["self"], b("mul.Scalar", pair, a["value"]))


@_expands("hardtanh.default")
def _hardtanh(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue:
    """A clamp; each bound by itself, as one of them may be a constant."""
    return b("clamp_max.default", b("clamp_min.default", a["self"], a["min_val"]), a["max_val"])


@_expands("clamp.default")
def _clamp(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue:
    """The lower bound first: where the bounds cross, the upper one is the result."""
    made = a["self"]
    if a["min"] is not None:
        made = b("clamp_min.default", made, a["min"])
    return made if a["max"] is None else b("clamp_max.default", made, a["max"])


@_expands("leaky_relu.default")
def _leaky_relu(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue:
    """x where it is above 0, else x * slope."""
    x = a["self"]
    return b("where.self", b("gt.Scalar", x, 0), x, b("mul.Scalar", x, a["negative_slope"]))


@_expands("threshold.default")
def _threshold(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue:
    """A value where x is not above the threshold."""
    low = b("le.Scalar", a["self"], a["threshold"])
    return b("where.ScalarSelf", low, a["value"], a["self"])


@_expands("elu.default")
def _elu(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue:
    """scale * x where it is above 0, else scale * alpha * (exp(input_scale * x) - 1)."""
    x, scale = a["self"], a["scale"]
    inner = b("expm1.default", b("mul.Scalar", x, a["input_scale"]))
    low = b("mul.Scalar", b("mul.Scalar", inner, a["alpha"]), scale)
    return b("where.self", b("gt.Scalar", x, 0), b("mul.Scalar", x, scale), low)


@_expands("celu.default")
def _celu(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue:
    """x where it is above 0, else alpha * (exp(x / alpha) - 1)."""
    x = a["self"]
    low = b("mul.Scalar", b("expm1.default", b("div.Scalar", x, a["alpha"])), a["alpha"])
    return b("where.self", b("gt.Scalar", x, 0), x, low)


@_expands("hardshrink.default")
def _hardshrink(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue:
    """0 within lambda of 0."""
    near = b("le.Scalar", b("abs.default", a["self"]), a["lambd"])
    return b("where.ScalarSelf", near, 0, a["self"])


@_expands("softshrink.default")
def _softshrink(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue:
    """x moved towards 0 by lambda, where it is further away; else 0, or NaN."""
    x = a["self"]
    far = b("gt.Scalar", b("abs.default", x), a["lambd"])
    moved = b("sub.Tensor", x, b("mul.Scalar", b("sign.default", x), a["lambd"]))
    return b("where.self", far, moved, b("mul.Scalar", x, 0))


@_expands("softplus.default")
def _softplus(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue:
    """log(1 + exp(beta * x)) / beta, x itself where beta * x is above the threshold."""
    x = a["self"]
    scaled = b("mul.Scalar", x, a["beta"])
    smooth = b("div.Scalar", b("log1p.default", b("exp.default", scaled)), a["beta"])
    return b("where.self", b("gt.Scalar", scaled, a["threshold"]), x, smooth)


@_expands("masked_fill.Scalar")
def _masked_fill(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue:
    """A choice."""
    return b("where.ScalarSelf", a["mask"], a["value"], a["self"])


@_expands("full_like.default", "new_full.default")
def _full(a: dict[str, Any], b: Builder, op: SchemaOp) -> SSAValue | None:
    """The number, repeated; sizes are static, or those of another tensor."""
    if not isinstance(a["fill_value"], SSAValue):
        return None  # its sizes are what the call tells
    kind = op.results[0].type
    assert isinstance(kind, TensorType)
    if not kind.has_static_shape() and "size" not in a:
        number = b("full.default", [], a["fill_value"], dtype=kind.element_type)
        return b("fill.Tensor", b("zeros_like.default", a["self"], dtype=kind.element_type), number)
    if not kind.has_static_shape():
        raise b.refuse("repeats a number that the call tells up to a size that depends on data")
    return b("full.default", list(kind.get_shape()), a["fill_value"], dtype=kind.element_type)
