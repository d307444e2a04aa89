"""Recurrent networks: cells, and layers unrolled over the time steps."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import rank_of, shape_of

State = list[SSAValue]
"""(h) or (h, c)."""

Weights = list[SSAValue | None]
"""w_ih, w_hh, b_ih, b_hh, and w_hr if hidden states are projected."""

Step = Callable[[CoreBuilder, SSAValue, State, Weights], State]
"""From the gates of the input, the state and the weights to the next state."""


def _linear(b: CoreBuilder, x: SSAValue, w: SSAValue, bias: SSAValue | None) -> SSAValue:
    """x W^T + bias for a matrix x."""
    turned = b.swap(w, 0, 1)
    return b("mm", x, turned) if bias is None else b("addmm", bias, x, turned)


def _gates(b: CoreBuilder, x: SSAValue, count: int) -> list[SSAValue]:
    size = shape_of(x)[1] // count
    return [b("slice.Tensor", x, 1, size * n, size * (n + 1)) for n in range(count)]


def _plain(activation: str) -> Step:
    def step(b: CoreBuilder, x: SSAValue, state: State, weights: Weights) -> State:
        assert weights[1] is not None
        inner = _linear(b, state[0], weights[1], weights[3])
        return [b(activation, b("add.Tensor", x, inner))]

    return step


def _gru(b: CoreBuilder, x: SSAValue, state: State, weights: Weights) -> State:
    """h' = n + z (h - n), n = tanh(x_n + r h_n)."""
    assert weights[1] is not None
    reset, update, new = _gates(b, x, 3)
    inner = _gates(b, _linear(b, state[0], weights[1], weights[3]), 3)
    r = b("sigmoid", b("add.Tensor", reset, inner[0]))
    z = b("sigmoid", b("add.Tensor", update, inner[1]))
    n = b("tanh", b("add.Tensor", new, b("mul.Tensor", r, inner[2])))
    return [b("add.Tensor", n, b("mul.Tensor", z, b("sub.Tensor", state[0], n)))]


def _lstm(b: CoreBuilder, x: SSAValue, state: State, weights: Weights) -> State:
    """c' = f c + i g, h' = o tanh(c'), projected if there are weights for it."""
    assert weights[1] is not None
    inner = _linear(b, state[0], weights[1], weights[3])
    i, f, g, o = _gates(b, b("add.Tensor", x, inner), 4)
    kept = b("mul.Tensor", b("sigmoid", f), state[1])
    c = b("add.Tensor", kept, b("mul.Tensor", b("sigmoid", i), b("tanh", g)))
    hidden = b("mul.Tensor", b("sigmoid", o), b("tanh", c))
    projection = weights[4] if len(weights) > 4 else None
    return [hidden if projection is None else _linear(b, hidden, projection, None), c]


STEPS: dict[str, Step] = {
    "rnn_tanh": _plain("tanh"),
    "rnn_relu": _plain("relu"),
    "gru": _gru,
    "lstm": _lstm,
}


@lowers("rnn_tanh_cell", "rnn_relu_cell", "gru_cell", "lstm_cell")
def cell(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """One step on one matrix of inputs, or on one vector."""
    x, state = op.arg("input"), op.arg("hx")
    state = list(state) if isinstance(state, list) else [state]
    weights: Weights = [op.arg(name) for name in ("w_ih", "w_hh", "b_ih", "b_hh")]
    flat = rank_of(x) == 1
    if flat:
        x, state = b("unsqueeze", x, 0), [b("unsqueeze", one, 0) for one in state]
    assert weights[0] is not None
    step = STEPS[op.overload_name.partition(".")[0].removesuffix("_cell")]
    result = step(b, _linear(b, x, weights[0], weights[2]), state, weights)
    return [b("squeeze.dim", one, 0) for one in result] if flat else result


@lowers("rnn_tanh.input", "rnn_relu.input", "gru.input", "lstm.input")
def layers(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Layers over each other, each unrolled; the second direction runs from the end.

    The products with the inputs of all steps are one matrix product.
    """
    name = op.overload_name.partition(".")[0]
    x, hidden = op.arg("input"), op.arg("hx")
    hidden = list(hidden) if isinstance(hidden, list) else [hidden]
    if op.arg("batch_first"):
        x = b.swap(x, 0, 1)
    directions = 2 if op.arg("bidirectional") else 1
    params = list(op.arg("params"))
    per_layer, rest = divmod(len(params), max(directions * op.arg("num_layers"), 1))
    least = 4 if op.arg("has_biases") else 2
    if rest or per_layer not in (least, least + (name == "lstm")):
        raise b.refuse(f"{len(params)} weights for {op.arg('num_layers')} layers")
    last: list[State] = []
    for layer in range(op.arg("num_layers")):
        outputs: list[SSAValue] = []
        for direction in range(directions):
            at = layer * directions + direction
            given: Weights = list(params[at * per_layer : (at + 1) * per_layer])
            weights = given[:least] + [None] * (4 - least) + given[least:]
            state = [b("select.int", one, 0, at) for one in hidden]
            steps, state = _unroll(b, STEPS[name], x, state, weights, direction == 1)
            outputs.append(steps)
            last.append(state)
        x = b("cat", outputs, 2) if len(outputs) > 1 else outputs[0]
        if op.arg("train") and op.arg("dropout") and layer + 1 < op.arg("num_layers"):
            x = b("native_dropout", x, op.arg("dropout"), True)
    if op.arg("batch_first"):
        x = b.swap(x, 0, 1)
    ends = [
        b("cat", [b("unsqueeze", state[n], 0) for state in last], 0) for n in range(len(hidden))
    ]
    return [x, *ends]


def _unroll(
    b: CoreBuilder, step: Step, x: SSAValue, state: State, weights: Weights, backward: bool
) -> tuple[SSAValue, State]:
    time, batch, features = shape_of(x)
    assert weights[0] is not None
    rows = b.view(x, [time * batch, features])
    gates = _linear(b, rows, weights[0], weights[2])
    gates = b.view(gates, [time, batch, shape_of(gates)[1]])
    order = range(time - 1, -1, -1) if backward else range(time)
    outputs: dict[int, SSAValue] = {}
    for moment in order:
        state = step(b, b("select.int", gates, 0, moment), state, weights)
        outputs[moment] = b("unsqueeze", state[0], 0)
    return b("cat", [outputs[moment] for moment in range(time)], 0), state
