"""Ops on small arrays that are known at import, with NumPy: sizes come from chains of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina.frontends.onnx.element_types import DTYPES, ELEMENT_TYPES
from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.values import FOLDED_ELEMENTS, Known

Fold = Callable[..., Any]


def fold(node: Node) -> list[Known] | None:
    """What a node makes of known arrays; None if that is not for import to say."""
    run = FOLDS.get(node.proto.op_type)
    arrays = [v.array if isinstance(v, Known) else None for v in node.held]
    if run is None or not arrays:
        return None
    with np.errstate(all="ignore"):
        made = run(node, *arrays)
    if made is None:
        return None
    results = made if isinstance(made, list) else [made]
    if any(np.size(array) > FOLDED_ELEMENTS for array in results):
        return None
    return [Known(np.asarray(array)) for array in results]


def _same(function: Callable[..., Any]) -> Fold:
    """A function of arrays of one dtype, whose result keeps it."""
    return lambda node, a, *others: np.asarray(function(a, *others)).astype(a.dtype)


def _plain(function: Callable[..., Any]) -> Fold:
    return lambda node, *arrays: function(*arrays)


def _divide(node: Node, a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    if a.dtype.kind not in "iu":
        return a / b
    if not np.all(b):
        return None
    return (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)


def _cast(node: Node, a: np.ndarray) -> np.ndarray | None:
    element = ELEMENT_TYPES.get(node.attr("to"))
    if element is None or (a.dtype.kind not in "iub" and DTYPES[element].kind in "iu"):
        limit = 2**31
        if element is None or not np.all(np.abs(a.astype(np.float64)) < limit):
            return None
    return a.astype(DTYPES[element])


def _cast_like(node: Node, a: np.ndarray, like: np.ndarray) -> np.ndarray | None:
    if a.dtype.kind == "f" and like.dtype.kind in "iu":
        return None
    return a.astype(like.dtype)


def _gather(node: Node, a: np.ndarray, index: np.ndarray) -> np.ndarray | None:
    axis = node.axis(0)
    if np.any((index < -a.shape[axis]) | (index >= a.shape[axis])):
        return None
    return np.take(a, index, axis=axis)


def _axes(node: Node, axes: np.ndarray | None) -> list[int] | None:
    return [int(v) for v in np.ravel(axes)] if axes is not None else node.ints("axes")


def _unsqueeze(node: Node, a: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
    return np.expand_dims(a, tuple(_axes(node, axes) or ()))


def _squeeze(node: Node, a: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
    given = _axes(node, axes)
    return np.squeeze(a, None if given is None else tuple(given))


def _slice(node: Node, a: np.ndarray, *rest: np.ndarray | None) -> np.ndarray:
    starts, ends, axes, steps = (*[None if r is None else r.tolist() for r in rest], *[None] * 4)[
        :4
    ]
    starts, ends = starts or node.ints("starts") or [], ends or node.ints("ends") or []
    axes = axes or node.ints("axes") or list(range(len(starts)))
    places = [slice(None)] * a.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps or [1] * len(starts), strict=True):
        size = a.shape[axis]
        first, last, step = slice_bounds(size, start, end, step)
        places[axis] = slice(first, last if last >= 0 else None, step)
    return a[tuple(places)]


def slice_bounds(size: int, start: int, end: int, step: int) -> tuple[int, int, int]:
    """Bounds of a slice as Python's range has them; the end may be -1, before the first."""
    return slice(start, end, step).indices(size)


def _reshape(node: Node, a: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return a.reshape(reshaped(node, a.shape, [int(v) for v in shape]))


def reshaped(node: Node, sizes: tuple[int, ...], wanted: list[int]) -> list[int]:
    """The shape that Reshape asks for: 0 keeps a size, -1 is what remains."""
    if not node.attr("allowzero", 0):
        wanted = [sizes[i] if size == 0 else size for i, size in enumerate(wanted)]
    if -1 in wanted:
        others = int(np.prod([size for size in wanted if size != -1]))
        total = int(np.prod(sizes))
        wanted = [total // others if others and size == -1 else size for size in wanted]
        wanted = [0 if size == -1 else size for size in wanted]
    if int(np.prod(wanted)) != int(np.prod(sizes)):
        raise node.refuse(f"a tensor of sizes {list(sizes)} has no shape {wanted}")
    return wanted


def _split(node: Node, a: np.ndarray, sizes: np.ndarray | None = None) -> list[np.ndarray]:
    axis = node.axis(0)
    parts = split_sizes(node, a.shape[axis], None if sizes is None else sizes.tolist())
    return np.split(a, np.cumsum(parts)[:-1], axis)


def split_sizes(node: Node, size: int, given: list[int] | None) -> list[int]:
    """Sizes of the parts that Split makes along its axis."""
    given = given or node.ints("split")
    if given is not None:
        return given
    count = int(node.attr("num_outputs", len(node.proto.output)))
    part = -(-size // count)
    return [min(part, size - part * i) for i in range(count)]


def _constant_of_shape(node: Node, shape: np.ndarray) -> np.ndarray | None:
    from onnx import numpy_helper

    value = node.attr("value")
    filled = np.zeros(1, np.float32) if value is None else numpy_helper.to_array(value)
    if int(np.prod(shape)) > FOLDED_ELEMENTS:
        return None
    return np.full([int(v) for v in shape], filled.ravel()[0])


def _range(node: Node, start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> Any:
    if np.ravel(delta)[0] == 0:
        raise node.refuse("a step of 0")
    values = [np.ravel(v)[0] for v in (start, limit, delta)]
    if (values[1] - values[0]) / values[2] > FOLDED_ELEMENTS:
        return None
    return np.arange(*values).astype(start.dtype)


def _reduction(function: Callable[..., Any]) -> Fold:
    def run(node: Node, a: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray | None:
        given = _axes(node, axes)
        if not given and node.attr("noop_with_empty_axes", 0):
            return a
        over = tuple(given) if given else None
        if a.dtype.kind not in "iu" or not a.size:
            return None
        return function(a, axis=over, keepdims=bool(node.attr("keepdims", 1))).astype(a.dtype)

    return run


def _expand(node: Node, a: np.ndarray, shape: np.ndarray) -> np.ndarray | None:
    wanted = np.broadcast_shapes(a.shape, tuple(int(v) for v in shape))
    return None if int(np.prod(wanted)) > FOLDED_ELEMENTS else np.broadcast_to(a, wanted)


def _all_of(function: Callable[..., Any]) -> Fold:
    def run(node: Node, *arrays: np.ndarray) -> np.ndarray:
        found = arrays[0]
        for other in arrays[1:]:
            found = function(found, other)
        return found

    return run


def _where(node: Node, condition: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(condition, a, b)


def _tile(node: Node, a: np.ndarray, repeats: np.ndarray) -> np.ndarray | None:
    if a.size * int(np.prod(repeats)) > FOLDED_ELEMENTS:
        return None
    return np.tile(a, [int(v) for v in repeats])


def _integers_only(function: Callable[..., Any]) -> Fold:
    def run(node: Node, a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
        return function(a, b) if a.dtype.kind in "iu" and np.all(b) else None

    return run


FOLDS: dict[str, Fold] = {
    "Add": _same(np.add),
    "Sub": _same(np.subtract),
    "Mul": _same(np.multiply),
    "Div": _divide,
    "Mod": lambda node, a, b: _integers_only(np.fmod if node.attr("fmod", 0) else np.mod)(
        node, a, b
    ),
    "Neg": _same(np.negative),
    "Abs": _same(np.abs),
    "Floor": _same(np.floor),
    "Ceil": _same(np.ceil),
    "Sqrt": _same(np.sqrt),
    "Reciprocal": _same(np.reciprocal),
    "Equal": _plain(np.equal),
    "Less": _plain(np.less),
    "LessOrEqual": _plain(np.less_equal),
    "Greater": _plain(np.greater),
    "GreaterOrEqual": _plain(np.greater_equal),
    "And": _plain(np.logical_and),
    "Or": _plain(np.logical_or),
    "Not": _plain(np.logical_not),
    "Min": _all_of(np.minimum),
    "Max": _all_of(np.maximum),
    "Where": _where,
    "Cast": _cast,
    "CastLike": _cast_like,
    "Gather": _gather,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Slice": _slice,
    "Reshape": _reshape,
    "Concat": lambda node, *a: np.concatenate(a, node.axis(0)),
    "Transpose": lambda node, a: np.transpose(a, node.ints("perm")),
    "Split": _split,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "ReduceProd": _reduction(np.prod),
    "ReduceSum": _reduction(np.sum),
    "ReduceMin": _reduction(np.min),
    "ReduceMax": _reduction(np.max),
    "Expand": _expand,
    "Tile": _tile,
}
"""By op. Shape, Size, Constant and Identity do not look at elements: they have importers."""
