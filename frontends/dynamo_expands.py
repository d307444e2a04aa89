"""`expand` that repeats nothing, as the view that it is.

A write through `expand` reaches the base of AOTAutograd's graph as a sum of what each element got,
less what it was, so that an infinite element becomes NaN. Where each element is there once, `view`
says the same, and its writes are copied back.
"""

from __future__ import annotations

import torch
from torch import fx

_EXPANDING = ("expand", "expand_as")


def expands_as_views(graph_module: fx.GraphModule) -> None:
    """Rewrites, in place, what Dynamo captured: each `expand` to as many elements is a `view`."""
    changed = False
    for node in graph_module.graph.nodes:
        if _expands(node) and _repeats_nothing(node):
            node.op, node.target = "call_method", "view"
            node.args = (node.args[0], tuple(node.meta["example_value"].shape))
            node.kwargs = {}
            changed = True
    if changed:
        graph_module.recompile()


def _expands(node: fx.Node) -> bool:
    if node.op == "call_method":
        return node.target in _EXPANDING
    return node.op == "call_function" and node.target in (
        torch.Tensor.expand,
        torch.Tensor.expand_as,
        torch.ops.aten.expand.default,
    )


def _repeats_nothing(node: fx.Node) -> bool:
    """Whether sizes are known, and those of the base with ones before them."""
    source, made = (
        n.meta.get("example_value") if isinstance(n, fx.Node) else None
        for n in (node.args[0], node)
    )
    if not isinstance(source, torch.Tensor) or not isinstance(made, torch.Tensor):
        return False
    sizes = [*source.shape, *made.shape]
    return all(type(n) is int for n in sizes) and source.numel() == made.numel()
