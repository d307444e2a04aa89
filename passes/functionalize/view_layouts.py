"""Where the elements of a view lie in the memory of its storage: start and strides in bytes.

The storage counts as row-major, whatever its strides are: a view of a tensor picks elements, and
which elements two views share does not depend on where these lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ComplexType,
    FixedBitwidthType,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute

from lamina.dialects.records import record
from lamina.passes.functionalize.view_chains import LAZY_STEPS, PERMUTATIONS, SHAPE_ONLY, ViewStep
from lamina.passes.functionalize.view_inverses import CUT_DIM, dims_seen, overlaps

_WORK = 100_000
"""Candidates that are tried in the search for an element that two views share."""

_LISTED = 1 << 16
"""Elements of a target up to which all are looked at one by one."""


@record
class Layout:
    """Extents, strides and start of a view; `width` is the size of an element. All in bytes."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int
    width: int

    def is_at(self, other: Layout) -> bool:
        """Whether both have each element at the same place."""
        return self._steps() == other._steps() and self.shape == other.shape

    def _steps(self) -> tuple[int, ...]:
        """Start, width and the strides that lead anywhere."""
        moves = (s for s, n in zip(self.strides, self.shape, strict=True) if n != 1)
        return (self.start, self.width, *moves)

    def meets(self, other: Layout) -> bool:
        """Whether some byte belongs to both; yes as well if the search for one takes too long."""
        try:
            # NumPy takes any number; its stubs only know the two that mean "none" and "all".
            found = np.shares_memory(_array(self), _array(other), max_work=_WORK)  # pyright: ignore
            return bool(found)
        except np.exceptions.TooHardError:
            return True

    def meets_itself(self) -> bool:
        """Whether two elements are at one place; perhaps, of large layouts that are interleaved."""
        if not overlaps(self.shape, self.strides):
            return False
        if prod(self.shape) > _LISTED:
            return True
        return len(np.unique(_positions(self))) < prod(self.shape)

    def meets_in_place(self, target: Layout) -> bool:
        """Whether an element that this view shares with a target has one index in both.

        This view is broadcast to the target, whose elements are distinct. No for large targets.
        """
        if self.width != target.width or prod(target.shape) > _LISTED:
            return False
        if len(self.shape) > len(target.shape):
            return False
        ours, theirs = _positions(self), _positions(target)
        try:
            ours = np.broadcast_to(ours, theirs.shape).ravel()
        except ValueError:
            return False
        theirs = theirs.ravel()
        order = np.argsort(theirs)
        found = np.minimum(np.searchsorted(theirs, ours, sorter=order), theirs.size - 1)
        index = order[found]
        return bool(np.all((theirs[index] != ours) | (index == np.arange(theirs.size))))


def _positions(layout: Layout) -> np.ndarray:
    """Where each element begins."""
    found = np.full(layout.shape, layout.start, np.int64)
    for dim, (extent, stride) in enumerate(zip(layout.shape, layout.strides, strict=True)):
        along = [1] * len(layout.shape)
        along[dim] = extent
        found += (np.arange(extent) * stride).reshape(along)
    return found


@record
class _Memory:
    """NumPy's view of addresses, which are compared and never read."""

    __array_interface__: dict[str, object]


_ADDRESS = 1 << 20
"""Where the storage would begin."""


def _array(layout: Layout) -> np.ndarray:
    address = (_ADDRESS + layout.start, True)
    kind = {"typestr": f"|V{layout.width}", "version": 3, "data": address}
    return np.asarray(_Memory({**kind, "shape": layout.shape, "strides": layout.strides}))


def layout_of(whole: TensorType, chain: Sequence[ViewStep]) -> Layout | None:
    """The layout at the end of a chain of views; None where it is not one of strides.

    Also None for dynamic dims, and for views of which nothing is said here.
    """
    layout = dense(tuple(whole.get_shape()), width_of(whole.element_type))
    for step in chain:
        layout = None if layout is None else _seen(step, layout)
    return layout


def dense(shape: tuple[int, ...], width: int) -> Layout | None:
    """Row-major elements; None for dynamic dims."""
    if DYNAMIC_INDEX in shape:
        return None
    strides = tuple(width * prod(shape[dim + 1 :]) for dim in range(len(shape)))
    return Layout(shape, strides, 0, width)


def width_of(element: Attribute) -> int:
    """Bytes of an element."""
    if isinstance(element, ComplexType):
        return 2 * width_of(element.element_type)
    if isinstance(element, IntegerType):
        return max(element.width.data // 8, 1)
    assert isinstance(element, FixedBitwidthType)
    return element.bitwidth // 8


def _seen(step: ViewStep, layout: Layout) -> Layout | None:
    found = step.op.results[step.result_index].type
    assert isinstance(found, TensorType)
    shape = tuple(found.get_shape())
    if DYNAMIC_INDEX in shape or any(isinstance(o.type, IntegerType) for o in step.op.operands):
        return None
    if step.reads_bits:
        return _of_width(layout, shape, width_of(found.element_type))
    if step.packet in LAZY_STEPS:
        return layout
    if step.packet in SHAPE_ONLY:
        return reshaped(layout, shape)
    if step.packet in PERMUTATIONS:
        dims = dims_seen(step)
        return replace(layout, shape=shape, strides=tuple(layout.strides[d] for d in dims))
    rule = _RULES.get(step.packet)
    return None if rule is None else rule(step, layout, shape)


def reshaped(layout: Layout, shape: tuple[int, ...]) -> Layout | None:
    """The same elements under another shape, where they lie at equal steps in each new dim."""
    if 0 in shape:
        return Layout(shape, (0,) * len(shape), layout.start, layout.width)
    runs = _runs(layout)
    strides = [0] * len(shape)
    left, step = runs.pop() if runs else (1, layout.width)
    for dim in reversed(range(len(shape))):
        if shape[dim] == 1:
            continue
        if left == 1 and runs:
            left, step = runs.pop()
        if left % shape[dim]:
            return None
        strides[dim], left, step = step, left // shape[dim], step * shape[dim]
    return replace(layout, shape=shape, strides=tuple(strides))


def _runs(layout: Layout) -> list[tuple[int, int]]:
    """Neighbouring dims joined where they are one row of equal steps: (extent, stride) of each."""
    runs: list[tuple[int, int]] = []
    for extent, stride in zip(layout.shape, layout.strides, strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][1] == extent * stride:
            runs[-1] = (runs[-1][0] * extent, stride)
        else:
            runs.append((extent, stride))
    return runs


def _of_width(layout: Layout, shape: tuple[int, ...], width: int) -> Layout | None:
    """The same bytes as elements of another width."""
    if width == layout.width:
        return replace(layout, shape=shape)
    if not shape or layout.strides[-1] != layout.width:
        return None
    return Layout(shape, (*layout.strides[:-1], width), layout.start, width)


_Rule = Callable[[ViewStep, Layout, tuple[int, ...]], Layout | None]
"""Of a step, the layout that it sees and its result's shape."""


def _moved(layout: Layout, shape: tuple[int, ...], dim: int, index: int, step: int = 1) -> Layout:
    """From `index` on in steps of `step` along one dim."""
    strides = list(layout.strides)
    start = layout.start + index * strides[dim]
    strides[dim] *= step
    return replace(layout, shape=shape, strides=tuple(strides), start=start)


def _without(layout: Layout, shape: tuple[int, ...], dim: int, index: int) -> Layout:
    """At `index` of one dim, which goes away."""
    start = layout.start + index * layout.strides[dim]
    strides = layout.strides[:dim] + layout.strides[dim + 1 :]
    return replace(layout, shape=shape, strides=strides, start=start)


def _slice(step: ViewStep, layout: Layout, shape: tuple[int, ...]) -> Layout:
    dim = step.arg("dim") % len(layout.shape)
    between = step.arg("step")
    start, _, _ = slice(step.arg("start"), step.arg("end"), between).indices(layout.shape[dim])
    return _moved(layout, shape, dim, start, between)


def _narrow(step: ViewStep, layout: Layout, shape: tuple[int, ...]) -> Layout | None:
    dim, start = step.arg("dim") % len(layout.shape), step.arg("start")
    if not isinstance(start, int):
        return None
    return _moved(layout, shape, dim, start % max(layout.shape[dim], 1))


def _select(step: ViewStep, layout: Layout, shape: tuple[int, ...]) -> Layout:
    dim = step.arg("dim") % len(layout.shape)
    return _without(layout, shape, dim, step.arg("index") % layout.shape[dim])


def _unbound(step: ViewStep, layout: Layout, shape: tuple[int, ...]) -> Layout:
    return _without(layout, shape, step.arg("dim") % len(layout.shape), step.result_index)


def _piece(step: ViewStep, layout: Layout, shape: tuple[int, ...]) -> Layout:
    rank = len(layout.shape)
    dim = min(CUT_DIM[step.packet], rank - 1) if step.packet in CUT_DIM else step.arg("dim")
    dim %= rank
    before = step.op.results[: step.result_index]
    extents = [v.type.get_shape()[dim] for v in before if isinstance(v.type, TensorType)]
    return _moved(layout, shape, dim, sum(extents))


def _diagonal(step: ViewStep, layout: Layout, shape: tuple[int, ...]) -> Layout:
    rank, offset = len(layout.shape), step.arg("offset")
    row, column = step.arg("dim1") % rank, step.arg("dim2") % rank
    down, right = layout.strides[row], layout.strides[column]
    start = layout.start + (offset * right if offset >= 0 else -offset * down)
    kept = [s for d, s in enumerate(layout.strides) if d not in (row, column)]
    return replace(layout, shape=shape, strides=(*kept, down + right), start=start)


def _strided(step: ViewStep, layout: Layout, shape: tuple[int, ...]) -> Layout:
    """Counted from the storage: what is seen here begins there, or is refused elsewhere."""
    width = layout.width
    strides = tuple(stride * width for stride in step.arg("stride"))
    return Layout(shape, strides, (step.arg("storage_offset") or 0) * width, width)


def _windows(step: ViewStep, layout: Layout, shape: tuple[int, ...]) -> Layout:
    rank = len(layout.shape)
    if not rank:
        return replace(layout, shape=shape, strides=(layout.width,))
    dim = step.arg("dimension") % rank
    apart = _moved(layout, shape, dim, 0, step.arg("step"))
    return replace(apart, strides=(*apart.strides, layout.strides[dim]))


def _expanded(step: ViewStep, layout: Layout, shape: tuple[int, ...]) -> Layout:
    new = len(shape) - len(layout.shape)
    kept = zip(layout.strides, layout.shape, shape[new:], strict=True)
    strides = [stride if old == extent else 0 for stride, old, extent in kept]
    return replace(layout, shape=shape, strides=(*([0] * new), *strides))


def _as_pairs(step: ViewStep, layout: Layout, shape: tuple[int, ...]) -> Layout:
    width = layout.width // 2
    return Layout(shape, (*layout.strides, width), layout.start, width)


def _as_complex(step: ViewStep, layout: Layout, shape: tuple[int, ...]) -> Layout:
    return Layout(shape, layout.strides[:-1], layout.start, layout.width * 2)


def _part(step: ViewStep, layout: Layout, shape: tuple[int, ...]) -> Layout:
    if not isinstance(step.source_type.element_type, ComplexType):
        return layout
    width = layout.width // 2
    start = layout.start + (width if step.packet == "imag" else 0)
    return replace(layout, start=start, width=width)


_RULES: dict[str, _Rule] = {
    "slice": _slice,
    "narrow": _narrow,
    "select": _select,
    "split": _piece,
    "chunk": _piece,
    "split_with_sizes": _piece,
    "tensor_split": _piece,
    "hsplit": _piece,
    "vsplit": _piece,
    "dsplit": _piece,
    "unbind": _unbound,
    "diagonal": _diagonal,
    "linalg_diagonal": _diagonal,
    "as_strided": _strided,
    "unfold": _windows,
    "expand": _expanded,
    "expand_as": _expanded,
    "view_as_real": _as_pairs,
    "view_as_complex": _as_complex,
    "real": _part,
    "imag": _part,
}
