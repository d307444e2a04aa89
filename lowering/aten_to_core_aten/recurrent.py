"""Recurrent networks: cells, and layers as scans over the time steps, one for each direction."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Region, SSAValue

from lamina.dialects.control import ScanOp, YieldOp
from lamina.dialects.control.scan import stacked
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.result_rules.shapes import tensor as shaped
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.sized_types import NewRegions
from lamina.lowering.tensor_types import element_of, rank_of, shape_of

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
    """Layers over each other, each a scan; the second direction runs from the end."""
    x = b.swap(op.arg("input"), 0, 1) if op.arg("batch_first") else op.arg("input")
    x, ends = _stack(op, b, x, partial(_walk, b))
    if op.arg("batch_first"):
        x = b.swap(x, 0, 1)
    return [x, *ends]


@lowers("rnn_tanh.data", "rnn_relu.data", "gru.data", "lstm.data")
def packed_layers(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """As `layers`, for sequences of several lengths, longest first.

    The rows of all steps stand one after the other, `batch_sizes` of them for each.
    """
    hidden = op.arg("hx")
    batch = shape_of(hidden[0] if isinstance(hidden, list) else hidden)[1]
    packing = Packing(b, op.arg("batch_sizes"), batch, shape_of(op.arg("data"))[0])
    x, ends = _stack(op, b, op.arg("data"), partial(_walk_packed, b, packing))
    return [x, *ends]


@lowers("mkldnn_rnn_layer")
def one_layer(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """One direction of one layer of an LSTM, as torch's decompositions for the CPU call it."""
    if op.arg("mode") != 2 or op.arg("num_layers") != 1 or op.arg("bidirectional"):
        raise b.refuse("is taken for one direction of one layer of an LSTM", "aten.lstm.input")
    x = b.swap(op.arg("input"), 0, 1) if op.arg("batch_first") else op.arg("input")
    weights: Weights = [op.arg(f"weight{n}") for n in range(4)]
    if not op.arg("has_biases"):
        weights[2:] = None, None
    given = [op.arg("hx_"), op.arg("cx_")]
    state = [b.view(one, shape_of(one)[-2:]) for one in given]
    y, ends = _walk(b, _lstm, x, state, weights, op.arg("reverse"))
    if op.arg("batch_first"):
        y = b.swap(y, 0, 1)
    kept = [b.view(end, shape_of(start)) for end, start in zip(ends, given, strict=True)]
    workspace = op.results[3]
    empty = b.full(shape_of(workspace), 0, element_of(workspace)) if workspace.uses else None
    return [y, *kept, empty]


Walk = Callable[[Step, SSAValue, State, Weights, bool], tuple[SSAValue, State]]
"""One direction of one layer: from the inputs and the first state to all outputs and the last
state; backwards if so asked."""


def _stack(op: SchemaOp, b: CoreBuilder, x: SSAValue, walk: Walk) -> tuple[SSAValue, State]:
    """The outputs of the last layer and the last states of all, one after the other."""
    name = op.overload_name.partition(".")[0]
    hidden = op.arg("hx")
    hidden = list(hidden) if isinstance(hidden, list) else [hidden]
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
            steps, state = walk(STEPS[name], x, state, weights, direction == 1)
            outputs.append(steps)
            last.append(state)
        x = b("cat", outputs, rank_of(x) - 1) if len(outputs) > 1 else outputs[0]
        if op.arg("train") and op.arg("dropout") and layer + 1 < op.arg("num_layers"):
            x = b("native_dropout", x, op.arg("dropout"), True)
    ends = [
        b("cat", [b("unsqueeze", state[n], 0) for state in last], 0) for n in range(len(hidden))
    ]
    return x, ends


def _walk(
    b: CoreBuilder, step: Step, x: SSAValue, state: State, weights: Weights, backward: bool
) -> tuple[SSAValue, State]:
    """Over x of (time, batch, features); the products with all inputs are one matrix product."""
    time, batch, features = shape_of(x)
    assert weights[0] is not None
    gates = _linear(b, b.view(x, [time * batch, features]), weights[0], weights[2])
    gates = b.view(gates, [time, batch, shape_of(gates)[1]])
    return _scan(b, step, [gates], state, weights, backward)


def _scan(
    b: CoreBuilder,
    step: Step,
    sequences: list[SSAValue],
    state: State,
    weights: Weights,
    backward: bool,
) -> tuple[SSAValue, State]:
    """Outputs and last state of `step` over the gates, which are the first of `sequences`.

    A second one has (batch, 1) truths for each step: rows that are false keep their state.
    """
    time = shape_of(sequences[0])[0]
    if backward:
        sequences = [b("flip", one, [0]) for one in sequences]
    inner = [weight for weight in weights[1:] if weight is not None]
    rows = [shaped(shape_of(one)[1:], element_of(one)) for one in sequences]
    types = [value.type for value in state]
    block = Block(arg_types=[*types, *rows, *(weight.type for weight in inner)])
    end = YieldOp([])
    end.location = b.anchor.location
    block.add_op(end)
    given = iter(block.args)
    carried: State = [next(given) for _ in state]
    gates, *kept = [next(given) for _ in rows]
    own: Weights = [None, *(None if weight is None else next(given) for weight in weights[1:])]
    inside = CoreBuilder(end)
    regions = NewRegions(inner)
    with regions.sizes_of(block):
        following = step(inside, gates, carried, own)
        for mask in kept:
            pairs = zip(following, carried, strict=True)
            following = [inside("where.self", mask, new, old) for new, old in pairs]
    end.operands = [*following, following[0]]
    kinds = [*types, stacked(types[0], time)]
    made = ScanOp(state, sequences, regions.inputs, kinds, Region(block))
    last: State = list(b.insert(made).results)
    outputs = last.pop()
    return (b("flip", outputs, [0]) if backward else outputs), last


class Packing:
    """Where the rows of `batch` sequences stand that are packed into `count` rows."""

    def __init__(self, b: CoreBuilder, sizes: SSAValue, batch: int, count: int) -> None:
        """`sizes` says how many sequences each step has, at most `batch`."""
        (time,) = shape_of(sizes)
        ends = b("cumsum", sizes, 0)
        starts = b("unsqueeze", b("sub.Tensor", ends, sizes), 1)
        lane = b("unsqueeze", b("arange.start_step", 0, batch, 1, dtype=i64), 0)
        held = b("lt.Tensor", lane, b("unsqueeze", sizes, 1))
        self.held = b("unsqueeze", held, 2)
        """[time, batch, 1]: which sequences have a row in each step."""
        rows = b("where.self", held, b("add.Tensor", starts, lane), b.full([], 0, i64))
        self.rows = b.view(rows, [time * batch])
        """[time * batch]: the packed row of each; any one where there is none."""
        number = b("arange.start_step", 0, count, 1, dtype=i64)
        passed = b("le.Tensor", b("unsqueeze", ends, 0), b("unsqueeze", number, 1))
        step = b("sum.dim_IntList", b("_to_copy", passed, dtype=i64), [1])
        begin = b("index_select", b("squeeze.dim", starts, 1), 0, step)
        lanes = b("sub.Tensor", number, begin)
        self.places = b("add.Tensor", b("mul.Scalar", step, batch), lanes)
        """[count]: where each packed row stands among time * batch ones."""
        self.time, self.batch = time, batch


def _walk_packed(
    b: CoreBuilder,
    packing: Packing,
    step: Step,
    x: SSAValue,
    state: State,
    weights: Weights,
    backward: bool,
) -> tuple[SSAValue, State]:
    """Over x of (rows, features), whose rows `packing` tells apart."""
    assert weights[0] is not None
    gates = b("index_select", _linear(b, x, weights[0], weights[2]), 0, packing.rows)
    gates = b.view(gates, [packing.time, packing.batch, shape_of(gates)[1]])
    outputs, last = _scan(b, step, [gates, packing.held], state, weights, backward)
    rows = b.view(outputs, [packing.time * packing.batch, shape_of(outputs)[2]])
    return b("index_select", rows, 0, packing.places), last
