"""Loops of tasks that end at numbers of the call (`lamina.ends`), and masks that are true within.

All nests of a task end where they say or none does: a nest that walks on would read what one in
front of it has left out. Where some loops cannot end there, such as those of register tiles, all
run to the end of their dimensions, and the masks of their bodies are what they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.bounds import ENDS, FIRST_COUNT, Bound, ends_of, masks_of
from lamina.dialects.loop.counted_dims import counts_of, drop_ends, noted_ends, true_within
from lamina.dialects.loop.kernel_nests import live_rows_of, part_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.live_rows import MOST_PANEL, Digit
from lamina.dialects.loop.packing import is_packed
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.implied_masks import implied_masks
from lamina.passes.schedule.live_rows import digit_end, joined_live_rows
from lamina.passes.schedule.memory import Env, KernelNumbers, Memory, Sweep
from lamina.passes.schedule.stages import Stage

_FIRST_LIVE = 2 * FIRST_COUNT
"""Rows that count are one at least, as of tasks: what runs for the rows of another kernel, such as
a scatter at places that were masked, finds the first one made. They have numbers of their own
behind those of sums, which may be empty; so have the panels in which such numbers are."""


def kernel_numbers(
    emit: Emitter,
    function: func.FuncOp,
    nests: Sequence[GenericOp],
    flat: Mapping[SSAValue, SSAValue],
) -> KernelNumbers | None:
    """Read the numbers that ends of these nests name; None if there are none."""
    ended = [nest for nest in nests if ENDS in nest.attributes]
    rows = set[Digit]()
    if not any(map(is_packed, nests)):  # whose tasks are blocks of rows
        rows = {digit for nest in nests if (live := live_rows_of(nest)) for digit in live.digits}
    if not ended and not rows:
        return None
    block = function.body.block
    masks: dict[SSAValue, int] = {block.args[m]: n for m, n in masks_of(function).items()}
    forms = [b.form for n in ended for own in ends_of(n, n.extents).values() for b in own]
    named = {d for form in forms for d, _ in form.terms if d >= FIRST_COUNT}
    values: dict[int, Index] = {}
    counts = {digit.count for digit in rows if digit.count is not None}
    for number in sorted({dim - FIRST_COUNT for dim in named} | counts):
        values[FIRST_COUNT + number] = emit.read_index(flat[block.args[number]])
        own = {_live_number(digit): digit for digit in rows if digit.count == number}
        for place, digit in sorted(own.items()):
            least = emit.most(values[FIRST_COUNT + number], 1)
            values[place] = digit_end(emit, digit, least) if digit.panel > 1 else least
    return KernelNumbers(masks, counts_of(block), values)


def drop_scattered_ends(function: func.FuncOp, nests: Sequence[GenericOp]) -> None:
    """Forget ends where nests of one part stand in several loops: each is a task of its own."""
    if not any(ENDS in nest.attributes for nest in nests):
        return
    tasks: dict[int, set[Operation | None]] = {}
    for nest in nests:
        above: Operation = nest
        while (outer := above.parent_op()) is not function:
            assert outer is not None
            above = outer
        tasks.setdefault(part_of(nest), set()).add(None if above is nest else above)
    if any(len(found) > 1 for found in tasks.values()):
        drop_ends(nests)


def end_loops(sweeps: Sequence[Sweep], memory: Memory) -> None:
    """Note in `memory` where loops of a task end, if all of them can end where their nests say."""
    numbers = memory.numbers
    if numbers is None:
        return
    for stage in (stage for sweep in sweeps for stage in sweep.members):
        if implied := implied_masks(stage, numbers.masks):
            memory.within[stage] = implied
    found = common_ends(sweeps)
    if found is None:
        return
    memory.ends.update((sweep, ends) for sweep, ends in found.items() if ends)
    for sweep, ends in found.items():
        for stage in sweep.stages if ends else ():
            values = true_within(stage.op, noted_ends(stage.op), numbers.masks, numbers.counts)
            memory.within[stage] = [*memory.within.get(stage, ()), *values]


def common_ends(sweeps: Sequence[Sweep]) -> dict[Sweep, dict[int, tuple[Linear, ...]]] | None:
    """Where loops of the sweeps of a task end, by place; None if some cannot where nests say."""
    found: dict[Sweep, dict[int, tuple[Linear, ...]]] = {}
    for sweep in sweeps:
        if (ends := _ends(sweep)) is None:
            return None
        found[sweep] = ends
    for sweep, following in pairwise(sweeps):
        if sweep.schedule.online and not _alike(sweep, following):
            return None
    return found


def end_rows(
    sweeps: Sequence[Sweep], groups: Mapping[Stage, Mapping[int, Sequence[int]]], memory: Memory
) -> None:
    """Note in `memory` where loops over rows of a kernel end that are the task's own.

    `groups` are the rows that each such dimension of a stage stands for. Those behind may be run.
    """
    if memory.numbers is None:
        return
    for sweep in sweeps:
        for place in range(len(sweep.extents)):
            forms = {
                live_end(stage, groups[stage].get(sweep.order[stage][place], ()))
                for stage in sweep.stages
            }
            end = forms.pop()
            if end is not None and not forms and end.terms[0][0] in memory.numbers.values:
                ends = memory.ends.setdefault(sweep, {})
                ends[place] = (*ends.get(place, ()), end)


def live_end(stage: Stage, rows: Sequence[int]) -> Linear | None:
    """Where a loop over these rows ends, at a multiple of a number; None if all of them count."""
    live = joined_live_rows(stage.op, rows) if rows else None
    if live is None or live.digits[0].count is None:
        return None
    first, *rest = live.digits
    if any(digit.count is not None for digit in rest):
        return None
    return Linear.of({_live_number(first): prod(digit.extent for digit in rest)})


def _live_number(digit: Digit) -> int:
    """The pseudo-dimension of forms that is where a digit ends."""
    assert digit.count is not None
    panels = (digit.panel - 1) * (MOST_PANEL + 1) + digit.factor - 1
    return _FIRST_LIVE * (1 + panels) + digit.count


def _ends(sweep: Sweep) -> dict[int, tuple[Linear, ...]] | None:
    """Upper bounds of each loop of a sweep, by place; None if it does not end where nests say."""
    noted = {stage: ends_of(stage.op, stage.op.extents) for stage in sweep.members}
    if not any(noted.values()):
        return {}
    first = sweep.stages[0]
    found: dict[int, tuple[Linear, ...]] = {}
    left = {stage: set(ends) for stage, ends in noted.items()}
    for place in range(len(sweep.extents)):
        said: list[frozenset[Linear] | None] = []
        for stage in sweep.members:
            dims = sweep.followers.get(stage)
            if dims is not None and sweep.order[first][place] not in dims:
                continue
            dim = sweep.dim(stage, place)
            left[stage].discard(dim)
            said.append(_over_rows(stage, noted[stage].get(dim, ())))
        if None in said or len(set(said)) != 1:
            return None
        (own,) = set(said)
        if own:
            found[place] = tuple(b.form for b in noted[first][sweep.dim(first, place)])
    return None if any(left.values()) else found


def _alike(one: Sweep, other: Sweep) -> bool:
    """Whether the loops of two sweeps, of one stage each, end at the same places."""
    (first,), (second,) = one.stages, other.stages
    pairs = zip(one.order[first], other.order[second], strict=True)
    noted = [ends_of(stage.op, stage.op.extents) for stage in (first, second)]
    return all(
        _over_rows(first, noted[0].get(d, ())) == _over_rows(second, noted[1].get(e, ()))
        for d, e in pairs
    )


def _over_rows(stage: Stage, bounds: Sequence[Bound]) -> frozenset[Linear] | None:
    """Bounds over the places of rows; None where a task has loops over some that they are of."""
    places = {d: p for p, d in enumerate(stage.rows)}
    joined = [d for d in range(len(stage.extents)) if d not in stage.rows and d not in stage.inner]
    found: set[Linear] = set()
    for bound in bounds:
        terms: dict[int, int] = {}
        for dim, step in bound.form.terms:
            if dim >= FIRST_COUNT:
                terms[dim] = step
            elif dim in places:
                terms[places[dim]] = step
            elif dim not in joined:
                return None
        found.add(Linear.of(terms, bound.form.constant))
    return frozenset(found)


def narrowed(
    emit: Emitter,
    memory: Memory,
    sweep: Sweep,
    env: Env,
    ranges: Sequence[tuple[Index, Index]],
) -> list[tuple[Index, Index]]:
    """Ranges of a sweep's loops, which end where its nests say; `env` is of its first stage."""
    ends = memory.ends.get(sweep)
    if not ends or memory.numbers is None:
        return list(ranges)
    known = {**memory.numbers.values, **env}
    found = list(ranges)
    for place, forms in ends.items():
        low, high = ranges[place]
        for form in forms:
            there = Linear(tuple(t for t in form.terms if t[0] in known), form.constant)
            high = emit.least(high, emit.linear(there, known))
        found[place] = low, emit.most(high, low)
    return found


__all__ = [
    "common_ends",
    "drop_scattered_ends",
    "end_loops",
    "end_rows",
    "kernel_numbers",
    "live_end",
    "narrowed",
]
