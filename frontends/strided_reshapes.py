"""Reshapes of what is not row-major: whether they copy is settled before the import.

An argument of a compiled program is row-major; in torch it has the strides it was exported with,
and `flatten`, `reshape` and `contiguous` copy where these ask for it. What the program then writes
does not reach the argument. In the IR such a call becomes a view that is surely one, or one of a
clone. Of open sizes, those of the export tell the order of strides.
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
    layouts = (_layout(value) for value in given)
    return any(not _laid_out(*at).is_contiguous() for at in layouts if at is not None)


def _writes(graph: fx.Graph) -> bool:
    targets = (node.target for node in graph.nodes)
    return any(t._schema.is_mutable for t in targets if isinstance(t, torch._ops.OpOverload))


_Layout = tuple[list[int], list[int]]
"""Sizes and strides."""


def _layout(value: Any) -> _Layout | None:
    """How a tensor lies in memory, open sizes as they were when it was traced; None if unknown."""
    if not isinstance(value, torch.Tensor):
        return None
    numbers = (*value.shape, *value.stride())
    found = [n if isinstance(n, int) else n.node.hint for n in numbers if _is_known(n)]
    if len(found) < len(numbers):
        return None
    return found[: value.ndim], found[value.ndim :]


def _is_known(number: Any) -> bool:
    return isinstance(number, int) or number.node.has_hint()


def _laid_out(shape: list[int], strides: list[int]) -> Any:
    return torch.empty_strided(shape, strides, device="meta")


def _settle(graph: fx.Graph, node: fx.Node) -> None:
    source: Any = node.args[0]
    given: Any = source.meta.get("val")
    made: Any = node.meta.get("val")
    before, after = _layout(given), _layout(made)
    if before is None or after is None:
        return
    if node.target is _CONTIGUOUS and (len(node.args) > 1 or node.kwargs):
        return  # another memory format
    is_open = any(not isinstance(n, int) for n in (*given.shape, *made.shape))
    is_seen = _is_seen_as(after, before)
    if is_seen and is_open:
        return  # its sizes are no constants of a view
    with graph.inserting_before(node):
        if not is_seen:
            clone: Any = graph.call_function(
                _ATEN.clone.default, (source,), {"memory_format": torch.contiguous_format}
            )
            clone.meta = {**node.meta, "val": given.clone(memory_format=torch.contiguous_format)}
            source = clone
        if is_open:
            node.args = (source, *node.args[1:])
            return
        view: Any = graph.call_function(_ATEN.view.default, (source, list(made.shape)))
    view.meta = dict(node.meta)
    node.replace_all_uses_with(view)
    graph.erase_node(node)


def _is_seen_as(made: _Layout, given: _Layout) -> bool:
    """Whether torch sees `given` in the shape of `made` without a copy."""
    shape, strides = made
    try:
        seen = _laid_out(*given).view(shape)
    except RuntimeError:
        return False
    # Where there is one element, steps between elements may be any.
    return all(
        one == other
        for extent, one, other in zip(shape, seen.stride(), strides, strict=True)
        if extent != 1
    )
