"""Reshapes of what is not row-major: whether they copy is settled before the import.

An argument of a compiled program is row-major; in torch it has the strides it was exported with,
and `flatten`, `reshape` and `contiguous` copy where these ask for it. What the program then writes
does not reach the argument. In the IR such a call becomes a view that is surely one, or one of a
clone.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import fx

_ATEN = torch.ops.aten

_RESHAPES = (
    _ATEN.flatten.using_ints,
    _ATEN.ravel.default,
    _ATEN.reshape.default,
    _ATEN.reshape_as.default,
)
_CONTIGUOUS = _ATEN.contiguous.default


def with_copies_settled(graph_module: fx.GraphModule) -> fx.GraphModule:
    """The graph with reshapes of strided tensors as views, of a clone where torch copies.

    Graphs that write nothing, or are given row-major tensors only, stay as they are; the graph
    itself is not changed. Only the outermost graph is looked at: regions write nothing.
    """
    if not _is_given_strided(graph_module.graph) or not _writes(graph_module.graph):
        return graph_module
    graph = copy.deepcopy(graph_module.graph)
    for node in list(graph.nodes):
        if node.target is _CONTIGUOUS or node.target in _RESHAPES:
            _settle(graph, node)
    return fx.GraphModule(graph_module, graph)


def _is_given_strided(graph: fx.Graph) -> bool:
    given = (node.meta.get("val") for node in graph.nodes if node.op in ("placeholder", "get_attr"))
    return any(_has_static_strides(value) and not value.is_contiguous() for value in given)


def _writes(graph: fx.Graph) -> bool:
    targets = (node.target for node in graph.nodes)
    return any(t._schema.is_mutable for t in targets if isinstance(t, torch._ops.OpOverload))


def _has_static_strides(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and all(
        isinstance(n, int) for n in (*value.shape, *value.stride())
    )


def _settle(graph: fx.Graph, node: fx.Node) -> None:
    source: Any = node.args[0]
    given: Any = source.meta.get("val")
    made: Any = node.meta.get("val")
    if not _has_static_strides(given) or not _has_static_strides(made):
        return
    if node.target is _CONTIGUOUS and (len(node.args) > 1 or node.kwargs):
        return  # another memory format
    with graph.inserting_before(node):
        if not _is_seen_as(made, given):
            clone: Any = graph.call_function(
                _ATEN.clone.default, (source,), {"memory_format": torch.contiguous_format}
            )
            clone.meta = {**node.meta, "val": given.clone(memory_format=torch.contiguous_format)}
            source = clone
        view: Any = graph.call_function(_ATEN.view.default, (source, list(made.shape)))
    view.meta = dict(node.meta)
    node.replace_all_uses_with(view)
    graph.erase_node(node)


def _is_seen_as(made: Any, given: Any) -> bool:
    """Whether torch sees `given` in the shape of `made` without a copy."""
    memory: Any = torch.empty_strided(given.shape, given.stride(), device="meta")
    try:
        seen = memory.view(made.shape)
    except RuntimeError:
        return False
    strides = zip(made.shape, seen.stride(), made.stride(), strict=True)
    # Where there is one element, steps between elements may be any.
    return all(one == other for extent, one, other in strides if extent != 1)
