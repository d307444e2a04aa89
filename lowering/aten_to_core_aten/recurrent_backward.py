"""Gradients of the cells of recurrent networks (aten/src/ATen/native/RNN.cpp)."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.activation_backward import one_minus, times
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import element_of, shape_of


def _parts(b: CoreBuilder, x: SSAValue, bias: SSAValue | None, count: int) -> list[SSAValue]:
    """The gates, side by side along dimension 1."""
    x = x if bias is None else b("add.Tensor", x, bias)
    size = shape_of(x)[1] // count
    return [b("slice.Tensor", x, 1, n * size, (n + 1) * size) for n in range(count)]


def _through_sigmoid(b: CoreBuilder, grad: SSAValue, y: SSAValue) -> SSAValue:
    return times(b, grad, y, one_minus(b, y))


def _through_tanh(b: CoreBuilder, grad: SSAValue, y: SSAValue) -> SSAValue:
    return times(b, grad, one_minus(b, times(b, y, y)))


@lowers("_thnn_differentiable_lstm_cell_backward")
def lstm_cell(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Gradients for both gates, the cell before, and both biases."""
    grad_h, grad_c = op.arg("grad_hy"), op.arg("grad_cy")
    gates = b("add.Tensor", op.arg("input_gates"), op.arg("hidden_gates"))
    for name in ("input_bias", "hidden_bias"):
        if op.arg(name) is not None:
            gates = b("add.Tensor", gates, op.arg(name))
    i, f, g, o = _parts(b, gates, None, 4)
    i, f, g, o = b("sigmoid", i), b("sigmoid", f), b("tanh", g), b("sigmoid", o)
    size, element = shape_of(op.arg("cx")), element_of(op.arg("cx"))
    to_o, to_c = b.full(size, 0, element), grad_c
    if grad_h is not None:
        after = b("tanh", op.arg("cy"))
        to_o = _through_sigmoid(b, times(b, grad_h, after), o)
        through = _through_tanh(b, times(b, grad_h, o), after)
        to_c = through if grad_c is None else b("add.Tensor", through, grad_c)
    if to_c is None:
        raise b.refuse("neither gradient is given", "grad_hy or grad_cy")
    made = b(
        "cat",
        [
            _through_sigmoid(b, times(b, to_c, g), i),
            _through_sigmoid(b, times(b, to_c, op.arg("cx")), f),
            _through_tanh(b, times(b, to_c, i), g),
            to_o,
        ],
        1,
    )
    bias = b("sum.dim_IntList", made, [0])
    return [made, made, times(b, to_c, f), bias, bias]


@lowers("_thnn_differentiable_gru_cell_backward")
def gru_cell(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Gradients for both gates, the state before, and both biases."""
    grad, before = op.arg("grad_hy"), op.arg("hx")
    from_input = _parts(b, op.arg("input_gates"), op.arg("input_bias"), 3)
    from_state = _parts(b, op.arg("hidden_gates"), op.arg("hidden_bias"), 3)
    reset = b("sigmoid", b("add.Tensor", from_input[0], from_state[0]))
    keep = b("sigmoid", b("add.Tensor", from_input[1], from_state[1]))
    new = b("tanh", b("add.Tensor", from_input[2], times(b, reset, from_state[2])))
    to_keep = _through_sigmoid(b, times(b, grad, b("sub.Tensor", before, new)), keep)
    to_new = _through_tanh(b, times(b, grad, one_minus(b, keep)), new)
    to_reset = _through_sigmoid(b, times(b, to_new, from_state[2]), reset)
    inputs = b("cat", [to_reset, to_keep, to_new], 1)
    states = b("cat", [to_reset, to_keep, times(b, to_new, reset)], 1)
    sums = [b("sum.dim_IntList", one, [0]) for one in (inputs, states)]
    return [inputs, states, times(b, grad, keep), *sums]
