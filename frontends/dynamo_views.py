"""Ops of a graph whose meaning depends on strides, as ops on row-major tensors.

`as_strided` reads the memory behind a tensor; it becomes `as_strided` of a copy that has the
elements in the order of that memory. Writes through views that torch's own functionalization does
not get right are refused: AOTAutograd turns a write through a view into an op that puts the new
elements back into the base, and for two views that op is not eager mode's write. What the windows
of `unfold` leave out comes back as zeros, and elements of `as_strided` that share memory are
written from one of several values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from lamina.dialects.errors import UnsupportedError
from lamina.frontends.dynamo_storage import (
    Storages,
    inserted,
    is_static,
    memory_order,
    row_major_copy,
)
from lamina.passes.functionalize.view_inverses import overlaps

_ATEN = torch.ops.aten

Refuse = Callable[[fx.Node, str, str], UnsupportedError]
"""The error of a node, for a reason, with what is supported."""


def wrong_write(node: fx.Node) -> str | None:
    """Why the op of an inference graph is a write that went wrong; None for any other node."""
    if _is_of_gradient(node):
        return None
    if node.target is _ATEN.unfold_backward.default and not _covers(node.args):
        return "torch's functionalization loses what the windows of a written unfold leave out"
    if node.target is _ATEN.as_strided_scatter.default:
        arguments: Any = node.args
        known = all(type(n) is int for n in (*arguments[2], *arguments[3]))  # others are refused
        if known and overlaps(arguments[2], arguments[3]):
            return "writes through as_strided, whose elements share memory"
    return None


def read_in_memory_order(graph_module: fx.GraphModule, refuse: Refuse) -> dict[fx.Node, int]:
    """Rewrites, in place, each `as_strided` and `as_strided_scatter` for row-major tensors.

    Gives the placeholders that have to begin where they did in their storage, as an op counts from
    the begin of that, and where. Raises what `refuse` makes of a node and a reason for ops on
    memory that no tensor of the graph has.
    """
    rewriter = _Rewriter(graph_module.graph, refuse)
    for node in list(graph_module.graph.nodes):
        if node.target is _ATEN.as_strided.default:
            rewriter.read(node)
        elif node.target is _ATEN.as_strided_scatter.default:
            rewriter.write(node)
    return rewriter.begins


class _Rewriter:
    def __init__(self, graph: fx.Graph, refuse: Refuse) -> None:
        self._graph = graph
        self._storages = Storages(graph)
        self._refuse = refuse
        self.begins: dict[fx.Node, int] = {}

    def read(self, node: fx.Node) -> None:
        arguments: Any = node.args
        source, size, stride, *start = arguments
        root = self._storages.root(source)
        seen, whole = source.meta["val"], root.meta["val"]
        if seen.dtype is not whole.dtype or seen.is_conj() or seen.is_neg():
            raise self._refusal(node, "reads memory as other numbers than were written")
        ordered = self._storages.in_order(root)
        if ordered is None:
            raise self._refusal(node, "reads memory that is not just the elements of a tensor")
        begin = self._begin(node, root, seen.storage_offset(), size, stride, start)
        node.args = (ordered, size, stride, begin)
        node.kwargs = {}

    def write(self, node: fx.Node) -> None:
        """Writes to a copy in memory order, whose dimensions are put back."""
        arguments: Any = node.args
        source, value, size, stride, *start = arguments
        dims = memory_order(source.meta["val"])
        if dims is None:
            raise self._refusal(node, "writes memory that is not just the elements of a tensor")
        begin = self._begin(node, source, source.meta["val"].storage_offset(), size, stride, start)
        ordered = row_major_copy(self._graph, source, dims)
        scatter = _ATEN.as_strided_scatter.default
        with self._graph.inserting_before(node):
            written = inserted(self._graph, ordered, scatter, value, size, stride, begin)
        written.meta = {**node.meta, "val": ordered.meta["val"]}
        # The node stays, as it is the root of a storage.
        node.target = _ATEN.permute.default
        node.args = (written, [dims.index(dim) for dim in range(len(dims))])
        node.kwargs = {}

    def _begin(
        self,
        node: fx.Node,
        whole: fx.Node,
        default: int,
        size: Sequence[Any],
        stride: Sequence[Any],
        start: Sequence[Any],
    ) -> int:
        """The first element's place, counted from the begin of `whole`, which has all of them."""
        known = whole.meta["val"]
        given = start[0] if start else node.kwargs.get("storage_offset")
        wanted = default if given is None else given
        if not is_static(known) or not all(type(n) is int for n in (*size, *stride, wanted)):
            raise self._refusal(node, "sizes and strides depend on data")
        begin = wanted - known.storage_offset()
        reach = sum((extent - 1) * step for extent, step in zip(size, stride, strict=True))
        if 0 in size:
            return 0
        if not 0 <= begin <= begin + reach < known.numel():
            raise self._refusal(node, "reaches beyond the tensor, into memory passed with it")
        root = self._storages.root(whole)
        if root.op == "placeholder" and given is not None:
            self.begins[root] = root.meta["val"].storage_offset()
        return begin

    def _refusal(self, node: fx.Node, reason: str) -> UnsupportedError:
        return self._refuse(node, reason, "a clone() of the tensor before it")


def _is_of_gradient(node: fx.Node) -> bool:
    """Whether a formula of autograd made the op, which has written through no view of a user."""
    sources = node.meta.get("source_fn_stack") or [(None, None)]
    function = sources[-1][1]
    return getattr(function, "__name__", "") == "_autograd_grad"


def _covers(arguments: Any) -> bool:
    """Whether windows (`size` elements, `step` apart) have every element along their dimension."""
    _, sizes, dim, size, step = arguments
    if not sizes:
        return True
    length = sizes[dim]
    windows = (length - size) // step + 1
    return (windows - 1) * step + size == length and (step <= size or windows == 1)
