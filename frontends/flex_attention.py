"""Torch's `flex_attention`, as the ATen ops that torch's own reference makes of it.

Scores are changed and masked by graphs on one element, which become ops on all scores. Block masks
only say which blocks need not be computed, and kernel options how to; neither changes the result.
"""

from typing import Any

import torch
from torch import fx
from torch._higher_order_ops.flex_attention import math_attention
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.experimental.proxy_tensor import make_fx


def traced_attention(node: fx.Node) -> tuple[fx.GraphModule, list[fx.Node]]:
    """The graph of a call of `flex_attention`, and the nodes that its placeholders stand for.

    Its results are those of the op: the output, log-sum-exp and maximum of each row of scores, the
    last two in units of ln 2. Raises what torch raises on tensors that have types but no values.
    """
    inputs = [one for one in node.all_input_nodes if "val" in one.meta]
    owner = node.graph.owning_module

    def call(*values: Any) -> Any:
        bound = dict(zip(inputs, values, strict=True))

        def given(source: fx.Node) -> Any:
            return bound[source] if source in bound else _module(owner, str(source.target))

        return math_attention(*fx.map_arg(node.args, given))  # pyright: ignore

    graph_module = make_fx(call)(*(one.meta["val"] for one in inputs))
    _write_out_numbers(graph_module)
    for inner in graph_module.graph.nodes:
        inner.meta["stack_trace"] = node.meta.get("stack_trace")
    return graph_module, inputs


def _write_out_numbers(graph_module: fx.GraphModule) -> None:
    """Let the graph say what numbers its 0-d constants are, -inf of masked scores above all.

    Blocks that a mask leaves without effect are left out where that number is known.
    """
    for node in graph_module.graph.nodes:
        value = getattr(graph_module, node.target, None) if node.op == "get_attr" else None
        if not isinstance(value, torch.Tensor) or value.dim() or value.is_complex():
            continue
        with graph_module.graph.inserting_before(node), unset_fake_temporarily():
            made = graph_module.graph.call_function(
                torch.ops.aten.scalar_tensor.default, (value.item(),), {"dtype": value.dtype}
            )
            made.meta.update(node.meta)
        node.replace_all_uses_with(made)


def _module(owner: Any, path: str) -> fx.GraphModule:
    """A graph on one element, whose reads of captured tensors are plain indexing."""
    module = owner.get_submodule(path)
    for node in module.graph.nodes:
        if node.target is torch.ops.higher_order.flat_apply:
            _, _, _, tensor, *places = node.args  # a function, its structure and a name
            node.target, node.args, node.kwargs = _index, (tensor, places), {}
    module.recompile()
    return module


def _index(tensor: torch.Tensor, places: list[torch.Tensor]) -> torch.Tensor:
    return torch.ops.aten.index.Tensor(tensor, places)
