"""Recurrent layers: one step after the other, written out."""

from __future__ import annotations

from collections.abc import Callable

from lamina.frontends.onnx.control_flow import MOST_ITERATIONS
from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import Result, imports
from lamina.frontends.onnx.values import Known, Value, shape_of

Activation = Callable[[Node, Value], Value]

_ACTIVATIONS: dict[str, Activation] = {
    "sigmoid": lambda n, v: n.op("sigmoid.default", v),
    "tanh": lambda n, v: n.op("tanh.default", v),
    "relu": lambda n, v: n.op("relu.default", v),
}
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_DEFAULTS = {
    "RNN": ["tanh"],
    "GRU": ["sigmoid", "tanh"],
    "LSTM": ["sigmoid", "tanh", "tanh"],
}


class _Layer:
    """One direction of a layer; its weights are those of ONNX's documents (W, R, B, P)."""

    def __init__(self, n: Node, direction: int) -> None:
        self.n = n
        kind = n.proto.op_type
        self.hidden = int(n.attr("hidden_size", n.shape(2)[-1]))
        self.w, self.r = self._part(1, direction), self._part(2, direction)
        gates = _GATES[kind]
        self.b: Value | None = None
        self.rb: Value | None = None
        if n.get(3) is not None:
            both = self._part(3, direction)
            width = gates * self.hidden
            self.b = n.op("slice.Tensor", both, 0, 0, width, 1)
            self.rb = n.op("slice.Tensor", both, 0, width, 2 * width, 1)
        names = [a.decode() if isinstance(a, bytes) else a for a in n.attr("activations", [])]
        names = [a.lower() for a in names] or _DEFAULTS[kind] * 2
        count = len(_DEFAULTS[kind])
        chosen = names[direction * count : (direction + 1) * count]
        unknown = [a for a in chosen if a not in _ACTIVATIONS]
        if unknown:
            raise n.refuse(f"activation {unknown[0]}")
        self.activations = [_ACTIVATIONS[a] for a in chosen]

    def _part(self, index: int, direction: int) -> Value:
        return self.n.op("select.int", self.n[index], 0, direction)

    def product(self, x: Value, weight: Value, bias: Value | None) -> Value:
        turned = self.n.transpose(weight, [1, 0])
        if bias is None:
            return self.n.op("mm.default", x, turned)
        return self.n.op("addmm.default", bias, x, turned)

    def gate(self, value: Value, place: int) -> Value:
        axis = len(shape_of(value)) - 1
        return self.n.op(
            "slice.Tensor", value, axis, place * self.hidden, (place + 1) * self.hidden, 1
        )

    def plus(self, a: Value, b: Value) -> Value:
        return self.n.op("add.Tensor", a, b)

    def times(self, a: Value, b: Value) -> Value:
        return self.n.op("mul.Tensor", a, b)


def _rnn(layer: _Layer, x: Value, states: list[Value]) -> list[Value]:
    total = layer.plus(
        layer.product(x, layer.w, layer.b), layer.product(states[0], layer.r, layer.rb)
    )
    return [layer.activations[0](layer.n, total)]


def _gru(layer: _Layer, x: Value, states: list[Value]) -> list[Value]:
    n, h = layer.n, states[0]
    f, g = layer.activations
    given, kept = layer.product(x, layer.w, layer.b), layer.product(h, layer.r, layer.rb)
    z = f(n, layer.plus(layer.gate(given, 0), layer.gate(kept, 0)))
    r = f(n, layer.plus(layer.gate(given, 1), layer.gate(kept, 1)))
    if n.attr("linear_before_reset", 0):
        inner = layer.times(r, layer.gate(kept, 2))
    else:
        weight = n.op("slice.Tensor", layer.r, 0, 2 * layer.hidden, 3 * layer.hidden, 1)
        bias = None if layer.rb is None else layer.gate(layer.rb, 2)
        inner = layer.product(layer.times(r, h), weight, bias)
    new = g(n, layer.plus(layer.gate(given, 2), inner))
    return [layer.plus(new, layer.times(z, n.op("sub.Tensor", h, new)))]


def _lstm(layer: _Layer, x: Value, states: list[Value], peepholes: list[Value]) -> list[Value]:
    n = layer.n
    f, g, last = layer.activations
    h, c = states
    total = layer.plus(layer.product(x, layer.w, layer.b), layer.product(h, layer.r, layer.rb))
    i, o, forget, new = (layer.gate(total, place) for place in range(4))
    if peepholes:
        i = layer.plus(i, layer.times(peepholes[0], c))
        forget = layer.plus(forget, layer.times(peepholes[2], c))
    c = layer.plus(layer.times(f(n, forget), c), layer.times(f(n, i), g(n, new)))
    if peepholes:
        o = layer.plus(o, layer.times(peepholes[1], c))
    return [layer.times(f(n, o), last(n, c)), c]


@imports("RNN", "GRU", "LSTM")
def recurrent(n: Node) -> Result:
    """All steps of all directions; sequences of unequal lengths are refused."""
    kind, batch_first = n.proto.op_type, bool(n.attr("layout", 0))
    x = n.transpose(n[0], [1, 0, 2]) if batch_first else n[0]
    steps, batch, _ = shape_of(x)
    _check(n, steps)
    direction = n.attr("direction", "forward")
    count = 2 if direction == "bidirectional" else 1
    outputs: list[Value] = []
    finals: list[list[Value]] = []
    for d in range(count):
        layer = _Layer(n, d)
        states = [_initial(n, 5 + i, d, batch, layer.hidden) for i in range(1 + (kind == "LSTM"))]
        peepholes: list[Value] = []
        if kind == "LSTM" and n.get(7) is not None:
            p = n.op("select.int", n[7], 0, d)
            peepholes = [layer.gate(p, place) for place in range(3)]
        order = range(steps)
        if direction == "reverse" or d == 1:
            order = order[::-1]
        made: dict[int, Value] = {}
        for step in order:
            given = n.op("select.int", x, 0, step)
            if kind == "LSTM":
                states = _lstm(layer, given, states, peepholes)
            else:
                states = (_rnn if kind == "RNN" else _gru)(layer, given, states)
            made[step] = states[0]
        outputs.append(n.op("stack.default", [made[step] for step in range(steps)], 0))
        finals.append(states)
    y = n.op("stack.default", outputs, 1)  # steps, directions, batch, hidden
    last = [n.op("stack.default", list(parts), 0) for parts in zip(*finals, strict=True)]
    if batch_first:
        y = n.transpose(y, [2, 0, 1, 3])
        last = [n.transpose(v, [1, 0, 2]) for v in last]
    return [y, *last]


def _initial(n: Node, index: int, direction: int, batch: int, hidden: int) -> Value:
    if n.get(index) is None:
        return n.op("full.default", [batch, hidden], 0.0, dtype=n.element())
    axis = 1 if n.attr("layout", 0) else 0
    return n.op("select.int", n[index], axis, direction)


def _check(n: Node, steps: int) -> None:
    if n.attr("clip") is not None or n.attr("input_forget", 0):
        raise n.refuse("clip and input_forget are not imported")
    lengths = n.get(4)
    if lengths is not None and not isinstance(lengths, Known):
        raise n.needs(lengths, "sequence_lens")
    if lengths is not None and (lengths.array != steps).any():
        raise n.refuse("sequences of unequal lengths")
    if steps > MOST_ITERATIONS:
        raise n.refuse(f"sequences of more than {MOST_ITERATIONS} steps are not written out")
