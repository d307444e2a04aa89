"""Results of a graph that share memory, are not row-major, or whose memory may grow.

A compiled graph gives every result row-major memory of its own. Code after a graph break writes
through views and resizes what was empty, so results that share a storage are given once, as a base,
and torch makes the views of it; results without elements get torch's memory, which grows. What
`reshape` shares or copies depends on strides, so other results get the strides of eager mode.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

import torch
from torch import fx

from lamina.dialects.errors import UnsupportedError
from lamina.dialects.records import record
from lamina.frontends.dynamo_storage import (
    Storages,
    is_static,
    is_strided,
    memory_order,
    open_memory_order,
    row_major_copy,
)
from lamina.passes.functionalize.view_inverses import overlaps

_View = Callable[[torch.Tensor], torch.Tensor]


@record
class Finish:
    """Makes the results of a graph of what its compiled form gives; see `shared_results`."""

    count: int
    empty: tuple[int, ...]
    views: tuple[tuple[int, int, _View], ...]
    """Positions of a result and of its base, and what makes one of the other."""

    def __call__(self, results: list[Any]) -> list[Any]:
        """Changes the list in place, and gives it."""
        for position in self.empty:
            results[position] = results[position].clone()
        for position, base, view in self.views:
            results[position] = view(results[base])
        del results[self.count :]
        return results


def shared_results(graph_module: fx.GraphModule, regenerated: Collection[int]) -> Finish | None:
    """Takes results that are not row-major or share memory out of a graph; gives what remakes them.

    Bases that are no result go to the end of the graph's results. AOTAutograd makes the results at
    the positions `regenerated` anew from inputs. None if nothing needs finishing. Raises
    UnsupportedError for shared memory of which no base can be given.
    """
    graph = graph_module.graph
    output = graph.output_node()
    entries: list[Any] = list(output.args[0])  # pyright: ignore[reportArgumentType]
    count = len(entries)
    storages = Storages(graph)
    groups: dict[fx.Node, list[int]] = {}
    empty: list[int] = []
    for position, node in enumerate(entries):
        if position in regenerated or not is_strided(node):
            continue
        root = storages.root(node)
        if _is_empty(root.meta["val"]):
            empty.append(position)
        elif root.op != "placeholder":
            groups.setdefault(root, []).append(position)
    views: list[tuple[int, int, _View]] = []
    for root, positions in groups.items():
        if len(positions) > 1:
            views += _share(storages, root, positions, entries)
        else:
            views += _restride(storages, root, positions[0], entries)
    if not empty and not views:
        return None
    output.args = (tuple(entries),)
    return Finish(count, tuple(empty), tuple(views))


def _share(
    storages: Storages, root: fx.Node, positions: list[int], entries: list[Any]
) -> Iterable[tuple[int, int, _View]]:
    """Puts the base of some entries among them, and None where they were."""
    made = {position: _view(root, entries[position]) for position in positions}
    if is_static(root.meta["val"]):
        base = storages.in_order(root)
        own = [p for p in positions if base is not None and _is_same(entries[p], base)]
    else:
        base = root
        own = [p for p in positions if made[p] is _itself]
    if base is None:
        raise _refusal(root, "results share memory that has gaps or several elements at a place")
    place = own[0] if own else len(entries)
    for position in positions:
        entries[position] = None
    entries[place : place + 1] = [base]
    return [(position, place, made[position]) for position in positions if position != place]


def _restride(
    storages: Storages, root: fx.Node, position: int, entries: list[Any]
) -> Iterable[tuple[int, int, _View]]:
    """Of a result that is alone in its storage: its strides, unless it is row-major."""
    node = entries[position]
    value = node.meta["val"]
    if not is_static(value):
        return _restride_open(position, entries)
    if value.is_contiguous():
        return []
    shape, stride = tuple(value.shape), value.stride()
    dims = memory_order(value)
    if dims is not None:
        entries[position] = row_major_copy(node.graph, node, dims)
        return [
            (position, position, partial(_strided, value.dtype, (shape, stride, 0), False, False))
        ]
    if not overlaps(shape, stride):
        return [(position, position, partial(_spread, stride))]
    return [] if storages.in_order(root) is None else _share(storages, root, [position], entries)


def _restride_open(position: int, entries: list[Any]) -> Iterable[tuple[int, int, _View]]:
    """The same of open sizes, where strides are the order of dimensions, or known."""
    node = entries[position]
    value = node.meta["val"]
    dims = open_memory_order(value)
    if dims is not None:
        if dims == sorted(dims):
            return []
        entries[position] = row_major_copy(node.graph, node, dims)
        back = [dims.index(dim) for dim in range(len(dims))]
        return [(position, position, partial(_permuted, back))]
    stride = value.stride()
    if not all(isinstance(step, int) for step in stride):
        return []
    outermost = max(range(value.dim()), key=lambda dim: stride[dim])
    shape = [2 if dim == outermost else size for dim, size in enumerate(value.shape)]
    if not all(isinstance(size, int) for size in shape) or overlaps(shape, stride):
        return []
    return [(position, position, partial(_spread, stride))]


def _permuted(back: list[int], values: torch.Tensor) -> torch.Tensor:
    return values.permute(back)


def _spread(stride: tuple[int, ...], values: torch.Tensor) -> torch.Tensor:
    """With gaps between the elements, where eager mode has those of the whole."""
    spread = torch.empty_strided(values.shape, stride, dtype=values.dtype)
    return spread.copy_(values)


def _is_empty(value: torch.Tensor) -> bool:
    return is_static(value) and value.numel() == 0


def _is_same(node: fx.Node, base: fx.Node) -> bool:
    value, whole = node.meta["val"], base.meta["val"]
    return _layout(value) == _layout(whole) and value.dtype is whole.dtype


def _layout(value: torch.Tensor) -> tuple[Any, ...]:
    lazy = value.is_conj(), value.is_neg()
    return tuple(value.shape), value.stride(), value.storage_offset(), lazy


def _view(root: fx.Node, node: fx.Node) -> _View:
    """What makes a view of its base: strides, or the ops themselves if sizes depend on data."""
    value = node.meta["val"]
    if is_static(root.meta["val"]):
        layout = tuple(value.shape), value.stride(), value.storage_offset()
        return partial(_strided, value.dtype, layout, value.is_conj(), value.is_neg())
    steps: list[_View] = []
    while node is not root:
        source, *others = node.args
        if not isinstance(source, fx.Node) or len(node.all_input_nodes) > 1:
            raise _refusal(node, "results share memory, and how depends on data")
        steps.append(partial(_applied, node.target, tuple(others), dict(node.kwargs)))
        node = source
    return partial(_replayed, tuple(reversed(steps))) if steps else _itself


def _strided(
    dtype: torch.dtype,
    layout: tuple[tuple[int, ...], tuple[int, ...], int],
    conjugated: bool,
    negated: bool,
    base: torch.Tensor,
) -> torch.Tensor:
    if base.dtype is not dtype:
        # Of one dimension, in which any dtype of the storage has its elements side by side.
        base = base.view(-1)
        base = torch.view_as_real(base).view(-1) if _is_part(base, dtype) else base.view(dtype)
    view = base.as_strided(*layout)
    if conjugated:
        view = view.conj()
    return torch.ops.aten._neg_view.default(view) if negated else view


def _is_part(base: torch.Tensor, dtype: torch.dtype) -> bool:
    return base.is_complex() and dtype is base.dtype.to_real()


def _itself(base: torch.Tensor) -> torch.Tensor:
    return base


def _applied(
    target: Any, others: tuple[Any, ...], keywords: dict[str, Any], source: Any
) -> torch.Tensor:
    return target(source, *others, **keywords)


def _replayed(steps: tuple[_View, ...], base: torch.Tensor) -> torch.Tensor:
    for step in steps:
        base = step(base)
    return base


def _refusal(node: fx.Node, reason: str) -> UnsupportedError:
    return UnsupportedError(
        "torch.compile(backend='lamina')", f"{node}: {reason}", nearest="a clone() of each but one"
    )
