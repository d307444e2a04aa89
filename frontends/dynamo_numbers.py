"""Numbers that a graph computes of elements of its tensors, and of sizes: `2 * x.item()`, and what
is rounded to integers, `int(x.item())`, `round`, `math.floor`, `math.ceil`.

They become ops on tensors of no dimensions, in f64 as Python computes, and the number is read from
the last of these. An argument of the program that is a Python number is an element of a tensor.
"""

import builtins
import math
import operator
from contextlib import nullcontext
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

_ATEN = torch.ops.aten
_TORCH: Any = torch

_ROUNDINGS: dict[object, Any] = {
    math.trunc: _ATEN.trunc.default,
    math.floor: _ATEN.floor.default,
    math.ceil: _ATEN.ceil.default,
    builtins.round: _ATEN.round.default,
}
"""From numbers to the integers above, below or next to them; halves go to even ones."""

_ARITHMETIC: dict[object, tuple[Any, Any]] = {
    operator.add: (_ATEN.add.Tensor, _ATEN.add.Scalar),
    operator.sub: (_ATEN.sub.Tensor, _ATEN.sub.Scalar),
    operator.mul: (_ATEN.mul.Tensor, _ATEN.mul.Scalar),
    operator.truediv: (_ATEN.div.Tensor, _ATEN.div.Scalar),
    operator.pow: (_ATEN.pow.Tensor_Tensor, _ATEN.pow.Tensor_Scalar),
}
"""Of two numbers; the second of which may be a constant."""

_FUNCTIONS: dict[object, Any] = {
    operator.neg: _ATEN.neg.default,
    _TORCH._sym_sqrt: _ATEN.sqrt.default,
    _TORCH._sym_log2: _ATEN.log2.default,
    _TORCH._sym_sin: _ATEN.sin.default,
    _TORCH._sym_cos: _ATEN.cos.default,
    _TORCH._sym_tan: _ATEN.tan.default,
    _TORCH._sym_asin: _ATEN.asin.default,
    _TORCH._sym_acos: _ATEN.acos.default,
    _TORCH._sym_atan: _ATEN.atan.default,
    _TORCH._sym_sinh: _ATEN.sinh.default,
    _TORCH._sym_cosh: _ATEN.cosh.default,
    _TORCH._sym_tanh: _ATEN.tanh.default,
}
"""Of one number: what torch makes of Python's minus and of `math`."""

_MESSAGE = "a number that becomes an integer is not finite, or does not fit 64 bits"

_LIMIT = 2.0**63
"""Integers are smaller than this; Python's are not bounded, and ours do not wrap around."""


def numbers_as_tensors(graph_module: fx.GraphModule) -> None:
    """Rewrites, in place, arithmetic on floats that a graph computes of its tensors and sizes, and
    what it rounds of these."""
    graph = graph_module.graph
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        if node.target in _ROUNDINGS:
            if any(argument is not None for argument in node.args[1:]):
                continue  # to decimals
            with graph.inserting_before(node):
                number = _as_tensor(graph, node.args[0])
                if number is not None:
                    _read_rounded(graph, node, number)
        elif _is_computed(node):
            with graph.inserting_before(node):
                number = _as_tensor(graph, node)
                if number is not None:
                    node.target, node.args = _ATEN._local_scalar_dense.default, (number,)
    for node in reversed(list(graph.nodes)):
        if (node.target in _ARITHMETIC or _is_read(node)) and not node.users:
            graph.erase_node(node)


def _is_computed(node: fx.Node) -> bool:
    """Whether a node makes a float of others, of which more than the next such node is to know."""
    if not isinstance(node.meta.get("val"), torch.SymFloat):
        return False
    return node.target in _ARITHMETIC or node.target in _FUNCTIONS or node.target is torch.sym_float


def _is_read(node: fx.Node) -> bool:
    return node.target is _ATEN._local_scalar_dense.default


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
    """A number as an f64 tensor; None for one that is no float, nor computed of one."""
    if not isinstance(number, fx.Node):
        return None
    if _is_read(number):
        source: Any = number.args[0]
        kind = source.meta["val"].dtype
        if kind is torch.float64:
            return source
        if not kind.is_floating_point:
            return None  # integers have more bits than f64
        return _call(graph, number, _ATEN._to_copy.default, source, dtype=torch.float64)
    if number.target is torch.sym_float:
        return _whole(graph, number.args[0])
    if number.target in _FUNCTIONS:
        operand = _as_tensor(graph, number.args[0])
        return None if operand is None else _call(graph, number, _FUNCTIONS[number.target], operand)
    return _arithmetic(graph, number) if number.target in _ARITHMETIC else None


def _arithmetic(graph: fx.Graph, number: fx.Node) -> fx.Node | None:
    if not isinstance(number.meta.get("val"), torch.SymFloat | float):
        return None
    first, second = number.args
    of_tensors, by_constant = _ARITHMETIC[number.target]
    tensors = [_as_tensor(graph, value) or _whole(graph, value) for value in (first, second)]
    if tensors[0] is not None and isinstance(second, int | float):
        return _call(graph, number, by_constant, tensors[0], second)
    if isinstance(first, int | float) and tensors[1] is not None:
        like = _ATEN.full_like.default
        tensors[0] = _call(graph, number, like, tensors[1], first)
    if tensors[0] is not None and tensors[1] is not None:
        return _call(graph, number, of_tensors, *tensors)
    return None


def _whole(graph: fx.Graph, number: object) -> fx.Node | None:
    """An integer as an f64 tensor: a size is smaller than what these hold exactly."""
    if not isinstance(number, fx.Node) or not isinstance(number.meta.get("val"), torch.SymInt):
        return None
    return _call(graph, number, _ATEN.scalar_tensor.default, number, dtype=torch.float64)


def _call(graph: fx.Graph, place: fx.Node, target: Any, *args: Any, **keywords: Any) -> fx.Node:
    """A call at the source line of `place`."""
    made = graph.call_function(target, args, keywords)
    examples: Any = fx.map_arg(args, lambda node: node.meta["val"])
    known = (node.meta.get("val") for node in graph.nodes)
    mode = next((value.fake_mode for value in known if isinstance(value, FakeTensor)), None)
    with mode or nullcontext():
        value = target(*examples, **keywords)
    made.meta = {
        "val": value,
        "stack_trace": place.meta.get("stack_trace"),
    }
    return made
