"""Numbers that a graph rounds to integers: `int(x.item())`, `round`, `math.floor`, `math.ceil`.

They become ops on tensors of no dimensions, in f64 as Python computes, and the integer is read from
the last of these.
"""

import builtins
import math
import operator
from typing import Any

import torch
from torch import fx

_ATEN = torch.ops.aten

_ROUNDINGS: dict[object, Any] = {
    math.trunc: _ATEN.trunc.default,
    math.floor: _ATEN.floor.default,
    math.ceil: _ATEN.ceil.default,
    builtins.round: _ATEN.round.default,
}
"""From numbers to the integers above, below or next to them; halves go to even ones."""

_ARITHMETIC: dict[object, Any] = {
    operator.add: _ATEN.add,
    operator.sub: _ATEN.sub,
    operator.mul: _ATEN.mul,
    operator.truediv: _ATEN.div,
}

_MESSAGE = "a number that becomes an integer is not finite, or does not fit 64 bits"

_LIMIT = 2.0**63
"""Integers are smaller than this; Python's are not bounded, and ours do not wrap around."""


def round_as_tensors(graph_module: fx.GraphModule) -> None:
    """Rewrites, in place, roundings of numbers that a graph computes of elements of its tensors."""
    graph = graph_module.graph
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target not in _ROUNDINGS:
            continue
        if any(argument is not None for argument in node.args[1:]):
            continue  # to decimals
        with graph.inserting_before(node):
            number = _as_tensor(graph, node.args[0])
            if number is not None:
                _read_rounded(graph, node, number)
    for node in reversed(list(graph.nodes)):
        if node.target in _ARITHMETIC and not node.users:
            graph.erase_node(node)


def _read_rounded(graph: fx.Graph, node: fx.Node, number: fx.Node) -> None:
    rounded = _call(graph, node, _ROUNDINGS[node.target], number)
    size = _call(graph, node, _ATEN.abs.default, rounded)
    fits = _call(graph, node, _ATEN.lt.Scalar, size, _LIMIT)
    said = graph.call_function(_ATEN._assert_async.msg, (fits, _MESSAGE))
    said.meta = {**node.meta, "val": None}
    integer = _call(graph, node, _ATEN._to_copy.default, rounded, dtype=torch.int64)
    node.target = _ATEN._local_scalar_dense.default
    node.args = (integer,)


def _as_tensor(graph: fx.Graph, number: object) -> fx.Node | None:
    """A number as an f64 tensor; None for one that no element of a tensor goes into."""
    if not isinstance(number, fx.Node):
        return None
    if number.target is _ATEN._local_scalar_dense.default:
        source: Any = number.args[0]
        if not source.meta["val"].is_floating_point():
            return None  # integers have more bits than f64
        return _call(graph, number, _ATEN._to_copy.default, source, dtype=torch.float64)
    packet = _ARITHMETIC.get(number.target)
    if packet is None:
        return None
    first, second = number.args
    tensors = [_as_tensor(graph, value) for value in (first, second)]
    if tensors[0] is not None and tensors[1] is not None:
        return _call(graph, number, packet.Tensor, *tensors)
    if tensors[0] is not None and isinstance(second, int | float):
        return _call(graph, number, packet.Scalar, tensors[0], second)
    return None


def _call(graph: fx.Graph, place: fx.Node, target: Any, *args: Any, **keywords: Any) -> fx.Node:
    """A call at the source line of `place`."""
    made = graph.call_function(target, args, keywords)
    examples = fx.map_arg(args, lambda node: node.meta["val"])
    made.meta = {
        "val": target(*examples, **keywords),  # pyright: ignore[reportGeneralTypeIssues]
        "stack_trace": place.meta.get("stack_trace"),
    }
    return made
