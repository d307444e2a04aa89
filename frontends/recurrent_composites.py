"""Composite ATen ops that tracing leaves whole or takes apart: recurrent layers.

Torch's decompositions of recurrent layers are a copy of a step's ops for each step. Their shapes
follow from the arguments, so that tracing need not walk the steps either.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, fx
from torch._export.utils import _get_decomp_for_cia, _special_op_to_preserve_cia
from torch._subclasses.fake_impls import _is_op_registered_to_fake_rule, register_op_impl
from torch.export.exported_program import _override_composite_implicit_decomp

from lamina.frontends.inlined_ops import traced

_ATEN = torch.ops.aten
_AUTOCAST = torch.amp.autocast_mode._enter_autocast

WHOLE: tuple[torch._ops.OpOverload, ...] = tuple(
    getattr(packet, overload)
    for packet in (_ATEN.gru, _ATEN.lstm, _ATEN.rnn_relu, _ATEN.rnn_tanh)
    for overload in ("input", "data")
)
"""The ops that are not taken apart."""


CELLS: tuple[torch._ops.OpOverload, ...] = (
    _ATEN.gru_cell.default,
    _ATEN.lstm_cell.default,
    _ATEN.rnn_relu_cell.default,
    _ATEN.rnn_tanh_cell.default,
)


def take_apart(graph_module: fx.GraphModule) -> None:
    """Rewrites, in place, recurrent ops in regions of autocast as the ops that they are made of.

    Autocast rounds their products; below it, where torch would decompose them, it has no effect.
    """
    for part in graph_module.modules():
        if not isinstance(part, fx.GraphModule):
            continue
        for node in part.graph.nodes:
            if node.target is torch.ops.higher_order.wrap_with_autocast:
                region: Any = part.get_submodule(node.args[4].target)
                _expand_in(region)


def _expand_in(region: fx.GraphModule) -> None:
    graph = region.graph
    for node in list(graph.nodes):
        if node.target not in (*WHOLE, *CELLS):
            continue
        made, inputs = traced(node, _get_decomp_for_cia(node.target))
        places = [inner for inner in made.graph.nodes if inner.op == "placeholder"]
        with graph.inserting_before(node):
            results: Any = graph.graph_copy(made.graph, dict(zip(places, inputs, strict=True)))
        if isinstance(results, fx.Node):
            node.replace_all_uses_with(results)
        else:
            for user in list(node.users):  # which name one of the results
                user.replace_all_uses_with(results[user.args[1]])
                graph.erase_node(user)
        graph.erase_node(node)
    region.recompile()


def kept_whole(graph_module: fx.GraphModule) -> AbstractContextManager[None]:
    """While it holds, tracing records calls of the ops `WHOLE` as they are.

    Not in a graph with regions of autocast, which takes effect on the ops that they are made of.
    """
    modules = [part for part in graph_module.modules() if isinstance(part, fx.GraphModule)]
    if any(node.target is _AUTOCAST for part in modules for node in part.graph.nodes):
        return nullcontext()
    for op in WHOLE:
        if not _is_op_registered_to_fake_rule(op):
            register_op_impl(op)(_shapes)
    return _override_composite_implicit_decomp(dict.fromkeys(WHOLE, _special_op_to_preserve_cia))


def _shapes(mode: Any, op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """Outputs and last states of a recurrent layer, without values."""
    names = [argument.name for argument in op._schema.arguments]
    given = dict(zip(names, args, strict=False)) | kwargs
    source: Tensor = given["input" if "input" in given else "data"]
    states: Sequence[Tensor] = given["hx"]
    if isinstance(states, Tensor):
        states = (states,)
    width = states[0].shape[-1] * (2 if given["bidirectional"] else 1)
    with mode:
        outputs = source.new_empty((*source.shape[:-1], width))
        if given.get("batch_first"):
            outputs = outputs.transpose(0, 1).contiguous().transpose(0, 1)
        return outputs, *(state.new_empty(state.shape) for state in states)
