"""Which tensors of a graph share memory, and in what order that memory has their elements.

AOTAutograd traces with fake tensors, which share storages and have strides as eager mode's tensors
would. Compiled tensors are row-major and begin their memory, so what depends on a storage is said
of a row-major tensor that has its elements in the order of the storage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

_ATEN = torch.ops.aten


class Storages:
    """The nodes of one graph by the storage that they are tensors in."""

    def __init__(self, graph: fx.Graph) -> None:
        self._graph = graph
        self._roots: dict[int, fx.Node] = {}
        self._ordered: dict[fx.Node, fx.Node] = {}
        for node in graph.nodes:
            if is_strided(node):
                self._roots.setdefault(_storage(node), node)

    def root(self, node: fx.Node) -> fx.Node:
        """The node that made the storage of `node`, which has a strided tensor."""
        return self._roots[_storage(node)]

    def in_order(self, root: fx.Node) -> fx.Node | None:
        """A row-major copy of a root, with its elements in the order of the storage.

        None if the storage has places that are no element of the root, or of several.
        """
        if root in self._ordered:
            return self._ordered[root]
        dims = memory_order(root.meta["val"])
        if dims is None or (root.op != "placeholder" and not _fills(root.meta["val"])):
            return None
        ordered = self._ordered[root] = row_major_copy(self._graph, root, dims)
        return ordered


def row_major_copy(graph: fx.Graph, node: fx.Node, dims: Sequence[int]) -> fx.Node:
    """New nodes after `node`: a copy of it with these dimensions, contiguous, in its own memory."""
    example = node.meta["val"]
    with graph.inserting_after(node):
        permuted = inserted(graph, node, _ATEN.permute.default, list(dims))
    permuted.meta["val"] = example.permute(dims)
    with graph.inserting_after(permuted):
        copied = inserted(
            graph, permuted, _ATEN.clone.default, memory_format=torch.contiguous_format
        )
    copied.meta["val"] = permuted.meta["val"].clone(memory_format=torch.contiguous_format)
    return copied


def inserted(graph: fx.Graph, source: fx.Node, target: Any, *args: Any, **keywords: Any) -> fx.Node:
    """A call of `target` on `source`, with the source's place in the program."""
    made = graph.call_function(target, (source, *args), keywords)
    made.meta["stack_trace"] = source.meta.get("stack_trace")
    return made


def is_strided(node: object) -> bool:
    """Whether a node gives one tensor with strides."""
    value = node.meta.get("val") if isinstance(node, fx.Node) else None
    return isinstance(value, torch.Tensor) and value.layout is torch.strided


def is_static(value: torch.Tensor) -> bool:
    """Whether no size of a fake tensor depends on data."""
    return all(isinstance(size, int) for size in (*value.shape, *value.stride()))


def memory_order(value: torch.Tensor) -> list[int] | None:
    """The dimensions from the outermost in memory to the innermost.

    None if elements share memory, or have gaps between them.
    """
    if not is_static(value):
        return None
    dims = sorted(range(value.dim()), key=lambda dim: -value.stride(dim))
    expected = 1
    for dim in reversed(dims):
        if value.shape[dim] > 1:
            if value.stride(dim) != expected and value.numel():
                return None
            expected *= value.shape[dim]
    return dims


def open_memory_order(value: torch.Tensor) -> list[int] | None:
    """`memory_order` where sizes are symbols: as their formulas say, or else the sizes of the call
    that is traced, without a guard.

    None, too, if neither says that elements stand next to each other.
    """
    sizes, strides = list(value.shape), list(value.stride())
    ones = [dim for dim, size in enumerate(sizes) if _formula(size) == 1]
    rest = [dim for dim in range(len(sizes)) if dim not in ones]
    expected: Any = 1
    inner: list[int] = []
    while rest:
        found = [dim for dim in rest if _formula(strides[dim]) == _formula(expected)]
        found = found or [dim for dim in rest if _traced(strides[dim]) == _traced(expected)]
        if len(found) != 1:
            return None
        rest.remove(found[0])
        inner.append(found[0])
        expected = strides[found[0]] * sizes[found[0]]
    order = list(reversed(inner))
    # Dimensions of one element stand where they are named, so that row-major stays row-major.
    return list(range(len(sizes))) if order == sorted(order) else ones + order


def _formula(number: int | torch.SymInt) -> Any:
    """What a size is by its symbols."""
    return number.node.expr if isinstance(number, torch.SymInt) else number


def _traced(number: int | torch.SymInt) -> Any:
    """What a size was in the call that is traced; what data decide has only its formula."""
    known = not isinstance(number, torch.SymInt) or number.node.has_hint()
    return (number if isinstance(number, int) else number.node.hint) if known else _formula(number)


def _storage(node: fx.Node) -> int:
    return node.meta["val"].untyped_storage()._cdata


def _fills(value: torch.Tensor) -> bool:
    return value.untyped_storage().nbytes() == value.numel() * value.element_size()
