"""Transposed convolution: the sum of the windows that each element spreads over the result."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from math import inf, prod

from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Region, SSAValue

from lamina.dialects.control import CondOp, YieldOp
from lamina.dialects.records import record
from lamina.lowering.core_aten_to_prims.polyphase import (
    Phase,
    by_phases,
    convolution_count,
    phase_windows,
    phases_along,
    reversed_window,
)
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type
from lamina.lowering.sized_types import NewRegions
from lamina.lowering.tensor_types import element_of, is_float, rank_of, shape_of
from lamina.passes.cost.kernel_model import FOLLOWED_STREAMS, WINDOW_BLOCKS, WINDOW_BYTES

MOST_PIECES = 32
"""Shifted pieces of overlapping windows that are added in one expression."""
MOST_PHASES = 32
"""Convolutions of a transposed one, at most: each is compiled for itself. With 32 of 4 by 6
channels of 9x9 a program takes 0.8 s of CPU time, with 16 0.5 (a thread of a Sapphire Rapids)."""


@record
class Windows:
    """How windows lie; each list has a number for each spatial dimension.

    `extra` elements at the end of the result are beyond the last window.
    """

    stride: list[int]
    padding: list[int]
    dilation: list[int]
    extra: list[int]
    groups: int

    def reach(self, kernel: list[int]) -> list[int]:
        """How far apart the first and the last element of a window land."""
        return [d * (k - 1) for d, k in zip(self.dilation, kernel, strict=True)]

    def padded(self, extents: list[int], kernel: list[int]) -> list[int]:
        """The extents of what the windows over an image of `extents` cover."""
        numbers = zip(extents, self.stride, self.reach(kernel), strict=True)
        return [(e - 1) * s + r + 1 for e, s, r in numbers]

    def cut(self, b: PrimsBuilder, made: SSAValue, covered: list[int]) -> SSAValue:
        """The result, from what the windows cover and perhaps more; spatial dims are the last."""
        shape = shape_of(made)
        first = len(shape) - len(covered)
        for p, length in enumerate(covered):
            wanted = length - 2 * self.padding[p] + self.extra[p]
            low = self.padding[p]
            made = b.pad(made, first + p, -low, low + wanted - shape[first + p])
        return made


def transposed(b: PrimsBuilder, x: SSAValue, weight: SSAValue, windows: Windows) -> SSAValue:
    """The transposed convolution of x (N, C, image) by weight (C, O / groups, window).

    In steps of one that is the convolution of x with the reversed window. In longer ones, most of
    its products would be with zeros between the elements: a product makes all windows, which are
    added, or each phase of the result is a convolution, where these would be many pieces.
    """
    runs = _runs(weight, windows)
    if runs is not None:
        blocks, outputs = _blocks(x, weight, windows, runs), shape_of(weight)[1]
        if blocks == 1:
            return _overlapped(b, x, weight, windows, runs)
        bounds = [outputs * n // blocks for n in range(blocks + 1)]
        parts = [b.slice(weight, 1, *both) for both in pairwise(bounds)]
        return b("cat", [_overlapped(b, x, part, windows, runs) for part in parts], 1)
    return _convolved(b, x, shape_of(weight), _turned(b, weight, windows), windows)


def transposed_exactly(
    b: PrimsBuilder, x: SSAValue, weight: SSAValue, windows: Windows
) -> SSAValue:
    """The same, of elements of x alone: no zero beside them meets an infinite weight.

    Where `transposed` would multiply zeros, weights that are not all finite take a slower form.
    """
    element = element_of(weight)
    if _runs(weight, windows) is not None or not _multiplies_zeros(weight, windows):
        return transposed(b, x, weight, windows)
    if not is_float(element) or not prod(shape_of(weight)) or not prod(shape_of(x)):
        return _convolved(b, x, shape_of(weight), _turned(b, weight, windows), windows)
    largest = b.reduce("amax", b("abs", weight), list(range(rank_of(weight))))
    finite = b("lt", largest, b.full([], inf, element))
    turned = _turned(b, weight, windows)
    inputs = [x, weight, *turned]
    regions: list[Region] = []
    new, kind = NewRegions(inputs), None
    for is_finite in (True, False):
        end = YieldOp([])
        end.location = b.anchor.location
        block = Block([end], arg_types=[value.type for value in inputs])
        image, whole, *parts = block.args
        inner = PrimsBuilder(end)
        with new.sizes_of(block):
            if is_finite:
                made = _convolved(inner, image, shape_of(weight), parts, windows)
            else:
                made = _scattered(inner, image, whole, windows)
        end.operands = [made]
        kind = made.type
        regions.append(Region(block))
    assert kind is not None
    return b.insert(CondOp(finite, new.inputs, [kind], *regions)).results[0]


def _multiplies_zeros(weight: SSAValue, windows: Windows) -> bool:
    """Whether the reversed window, as a convolution, meets zeros that are no elements."""
    reach = windows.reach(shape_of(weight)[2:])
    ends = zip(windows.padding, windows.extra, reach, strict=True)
    return max(windows.stride) > 1 or any(r + extra > p for p, extra, r in ends)


def _phases(kernel: Sequence[int], windows: Windows) -> list[list[Phase | None]] | None:
    """The phases of each dimension, None in steps of one, and where they are too many."""
    numbers = zip(kernel, windows.stride, windows.dilation, strict=True)
    phases = [phases_along(*sizes) for sizes in numbers]
    few = convolution_count(phases) <= MOST_PHASES
    return phases if max(windows.stride) > 1 and few else None


def _turned(b: PrimsBuilder, weight: SSAValue, windows: Windows) -> list[SSAValue]:
    """The reversed windows that `_convolved` takes: that of each phase, or one."""
    phases = _phases(shape_of(weight)[2:], windows)
    if phases is None:
        return [reversed_window(b, weight, windows.groups)]
    return phase_windows(b, weight, windows.groups, phases)


def _convolved(
    b: PrimsBuilder,
    x: SSAValue,
    shape: Sequence[int],
    turned: Sequence[SSAValue],
    windows: Windows,
) -> SSAValue:
    """The convolution with reversed windows of x with zeros around its elements: one for each phase
    of a longer step, or of x with zeros between its elements where phases are many.

    `shape` is that of the weight that was `turned`.
    """
    kernel = list(shape[2:])
    phases, reach = _phases(kernel, windows), windows.reach(kernel)
    if phases is not None:
        made = by_phases(b, x, turned, windows.groups, phases)
        return windows.cut(b, made, windows.padded(shape_of(x)[2:], kernel))
    for p, r in enumerate(reach):
        x = spread(b, x, p + 2, windows.stride[p])
        low = r - windows.padding[p]
        x = b.pad(x, p + 2, low, low + windows.extra[p])
    ones, zeros = [1] * len(reach), [0] * len(reach)
    return b("convolution", x, turned[0], ones, zeros, windows.dilation, windows.groups)


def spread(b: PrimsBuilder, x: SSAValue, dim: int, stride: int) -> SSAValue:
    """stride - 1 zeros between neighbours along `dim`."""
    if stride == 1:
        return x
    shape = shape_of(x)
    x = b.pad(b.reshape(x, [*shape[: dim + 1], 1, *shape[dim + 1 :]]), dim + 1, 0, stride - 1)
    x = b.reshape(x, [*shape[:dim], shape[dim] * stride, *shape[dim + 1 :]])
    return b.pad(x, dim, 0, 1 - stride)


def _made(b: PrimsBuilder, x: SSAValue, weight: SSAValue, groups: int) -> SSAValue:
    """The windows of all elements, (groups, O / groups, window, N, image); half floats as f32."""
    wide = accumulation_type(element_of(x))
    batch, channels, *extents = shape_of(x)
    _, outputs, *kernel = shape_of(weight)
    x = b.reshape(b.convert(x, wide), [batch, groups, channels // groups, *extents])
    split = [groups, channels // groups, outputs, *kernel]
    weight = b.reshape(b.convert(weight, wide), split)
    return b("contract", weight, x, [0], [1], [1], [2])


def _scattered(b: PrimsBuilder, x: SSAValue, weight: SSAValue, windows: Windows) -> SSAValue:
    """Each element of the windows is added where it lands: little code, one element at a time."""
    dims, element = rank_of(weight) - 2, element_of(x)
    batch, _, *extents = shape_of(x)
    _, outputs, *kernel = shape_of(weight)
    made = _made(b, x, weight, windows.groups)
    space = list(range(2, 2 + dims))
    order = [2 + dims, 0, 1, *space, *(p + dims + 1 for p in space)]
    planes, count = batch * windows.groups * outputs, prod(kernel) * prod(extents)
    values = b.reshape(b.transpose(made, order), [planes, count])
    covered = windows.padded(extents, kernel)
    shape = [*kernel, *extents]
    place: SSAValue | None = None
    for p, length in enumerate(covered):
        within = b.along(b.iota(kernel[p], i64, step=windows.dilation[p]), shape, p)
        start = b.along(b.iota(extents[p], i64, step=windows.stride[p]), shape, dims + p)
        at = b("add", within, start)
        place = at if place is None else b("add", b.with_number("mul", place, length), at)
    assert place is not None
    zeros = b.full([planes, prod(covered)], 0, element_of(values))
    total = b("put", zeros, b.reshape(place, [count]), values, 1, "add")
    total = b.reshape(total, [batch, windows.groups * outputs, *covered])
    return b.convert(windows.cut(b, total, covered), element)


@record
class _Run:
    """The elements `first .. first + count - 1` of a window, which land side by side.

    The first lands on `(q + shift) * stride + within` for the window that starts at `q * stride`,
    the last before the next multiple of the stride.
    """

    first: int
    count: int
    shift: int
    within: int


def _runs(weight: SSAValue, windows: Windows) -> list[list[_Run]] | None:
    """The runs of each dimension, if there are few and windows lie in steps of more than one."""
    numbers = zip(shape_of(weight)[2:], windows.stride, windows.dilation, strict=True)
    runs = [_runs_along(*sizes) for sizes in numbers]
    few = prod(map(len, runs)) <= MOST_PIECES
    return runs if max(windows.stride) > 1 and few else None


def _runs_along(kernel: int, stride: int, dilation: int) -> list[_Run]:
    """Whole steps of a dense window, else single elements."""
    if dilation == 1:
        firsts = range(0, kernel, stride)
        return [_Run(k, min(stride, kernel - k), k // stride, 0) for k in firsts]
    return [_Run(k, 1, *divmod(k * dilation, stride)) for k in range(kernel)]


def _blocks(x: SSAValue, weight: SSAValue, windows: Windows, runs: list[list[_Run]]) -> int:
    """Into how many blocks of channels the result is divided, so that windows stay in a cache.

    Each element of a window is a stream of its own to what adds them up. Few of those are fetched
    in time wherever they are, and windows that do not overlap are not added up.
    """
    channels, kernel = shape_of(weight)[1], shape_of(weight)[2:]
    if windows.groups > 1 or prod(map(len, runs)) == 1 or prod(kernel) <= FOLLOWED_STREAMS:
        return 1
    element = accumulation_type(element_of(x))
    size = getattr(element, "bitwidth", 32) // 8
    total = prod(shape_of(x)) // max(1, shape_of(x)[1]) * channels * prod(kernel) * size
    divisors = [n for n in range(1, WINDOW_BLOCKS + 1) if channels % n == 0]
    fitting = [n for n in divisors if total <= n * WINDOW_BYTES]
    return min(fitting, default=max(divisors))


def _overlapped(
    b: PrimsBuilder,
    x: SSAValue,
    weight: SSAValue,
    windows: Windows,
    runs: list[list[_Run]],
) -> SSAValue:
    """A product makes all windows, which are added where they overlap (col2im, without places).

    For each run of elements of a window, the windows are one piece of the result, shifted by as
    many steps.
    """
    stride, dims = windows.stride, len(windows.stride)
    batch, _, *extents = shape_of(x)
    _, outputs, *kernel = shape_of(weight)
    made = _made(b, x, weight, windows.groups)
    most = [along[-1].shift for along in runs]
    total: SSAValue | None = None
    for place in product(*runs):
        piece = made
        for p, run in enumerate(place):
            piece = b.slice(piece, 2 + p, run.first, run.first + run.count)
            piece = b.pad(piece, 2 + p, run.within, stride[p] - run.within - run.count)
            piece = b.pad(piece, 3 + dims + p, run.shift, most[p] - run.shift)
        total = piece if total is None else b("add", total, piece)
    assert total is not None
    order = [2 + dims, 0, 1]
    for p in range(dims):
        order += [3 + dims + p, 2 + p]
    total = b.transpose(total, order)
    lengths = [(e + m) * s for e, m, s in zip(extents, most, stride, strict=True)]
    total = b.reshape(total, [batch, windows.groups * outputs, *lengths])
    total = windows.cut(b, total, windows.padded(extents, kernel))
    return b.convert(total, element_of(x))
