"""Transposed convolutions in steps, as a convolution for each phase of the result.

Elements of a result whose places leave the same remainder by the stride are a phase: they meet the
elements of a window whose offset leaves it, too, and no others. Each phase is a convolution of the
image itself, without zeros between its elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import gcd, prod

from xdsl.ir import SSAValue

from lamina.dialects.records import record
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder
from lamina.lowering.tensor_types import element_of, shape_of


@record
class Phase:
    """The elements `first`, `first + step`, ... of a window, `count` of them.

    The first lands `shift` strides and the remainder of the phase behind where its window starts,
    each other `spacing` strides behind the one in front of it.
    """

    first: int
    step: int
    count: int
    shift: int
    spacing: int

    @property
    def reach(self) -> int:
        """How many strides lie between the first and the last element."""
        return self.spacing * (self.count - 1)


def phases_along(kernel: int, stride: int, dilation: int) -> list[Phase | None]:
    """Which elements of a window along one dimension land on each remainder, None where none do."""
    common = gcd(dilation, stride)
    step = stride // common
    found: list[Phase | None] = []
    for remainder in range(stride):
        firsts = (k for k in range(min(kernel, step)) if k * dilation % stride == remainder)
        first = next(firsts, None)
        if first is None:
            found.append(None)
            continue
        count = len(range(first, kernel, step))
        shift = first * dilation // stride
        found.append(Phase(first, step, count, shift, dilation // common))
    return found


def convolution_count(phases: Sequence[Sequence[Phase | None]]) -> int:
    """How many convolutions phases of so many dimensions are."""
    return prod(sum(phase is not None for phase in along) for along in phases)


def phase_windows(
    b: PrimsBuilder, weight: SSAValue, groups: int, phases: Sequence[Sequence[Phase | None]]
) -> list[SSAValue]:
    """The reversed window of each phase, of a weight (C, O / groups, window).

    Phases that no element lands on have none; the last dimension changes first.
    """
    found: list[SSAValue] = []
    for place in product(*phases):
        chosen = [phase for phase in place if phase is not None]
        if len(chosen) == len(place):
            part = weight
            for p, phase in enumerate(chosen):
                end = phase.first + (phase.count - 1) * phase.step + 1
                part = b.slice(part, p + 2, phase.first, end, phase.step)
            found.append(reversed_window(b, part, groups))
    return found


def by_phases(
    b: PrimsBuilder,
    x: SSAValue,
    turned: Sequence[SSAValue],
    groups: int,
    phases: Sequence[Sequence[Phase | None]],
) -> SSAValue:
    """What windows, `turned` by `phase_windows`, cover of images x (N, C, image): (N, O, covered).

    Each dimension is a whole number of strides: zeros may be behind what is covered.
    """
    lengths = [
        extent + max(p.shift + p.reach for p in along if p is not None)
        for extent, along in zip(shape_of(x)[2:], phases, strict=True)
    ]
    outputs = shape_of(turned[0])[0]
    shape = [shape_of(x)[0], outputs, *(n for length in lengths for n in (length, 1))]
    pieces: list[SSAValue] = []
    waiting = iter(turned)
    for place in product(*phases):
        chosen = [phase for phase in place if phase is not None]
        if len(chosen) < len(place):
            pieces.append(b.full(shape, 0, element_of(x)))
            continue
        made = _phase(b, x, next(waiting), groups, chosen, lengths)
        pieces.append(b.reshape(made, shape))
    for dim in reversed(range(len(lengths))):
        stride = len(phases[dim])
        rows = [pieces[at : at + stride] for at in range(0, len(pieces), stride)]
        pieces = [b("cat", row, 3 + 2 * dim) if stride > 1 else row[0] for row in rows]
    strides = map(len, phases)
    covered = [n * s for n, s in zip(lengths, strides, strict=True)]
    return b.reshape(pieces[0], [shape[0], outputs, *covered])


def _phase(
    b: PrimsBuilder,
    x: SSAValue,
    turned: SSAValue,
    groups: int,
    phases: Sequence[Phase],
    lengths: Sequence[int],
) -> SSAValue:
    """One phase of the result, (N, O, lengths)."""
    extents = shape_of(x)[2:]
    for p, phase in enumerate(phases):
        low = phase.shift + phase.reach
        x = b.pad(x, p + 2, low, lengths[p] - extents[p] - phase.shift)
    ones, zeros = [1] * len(lengths), [0] * len(lengths)
    spacing = [phase.spacing for phase in phases]
    return b("convolution", x, turned, ones, zeros, spacing, groups)


def reversed_window(b: PrimsBuilder, weight: SSAValue, groups: int) -> SSAValue:
    """(C, O / groups, window) to (O, C / groups, reversed window)."""
    channels, out, *kernel = shape_of(weight)
    dims: list[int] = list(range(3, 3 + len(kernel)))
    grouped = b.reshape(weight, [groups, channels // groups, out, *kernel])
    swapped = b.transpose(grouped, [0, 2, 1, *dims])
    merged = b.reshape(swapped, [groups * out, channels // groups, *kernel])
    return b("rev", merged, [d - 1 for d in dims])
