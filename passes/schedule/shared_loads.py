"""Loads that positions side by side share: windows of neighbours overlap.

Of a sum that is jammed along the lines of an image, line 5 belongs to the window of line 3 and to
that of line 4. Where loops over the window are written out, both are known to be the same element:
offsets are compared as a value and a number.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field

from xdsl.ir import SSAValue

from lamina.dialects.loop.linear import Linear
from lamina.dialects.records import mutable_record, record
from lamina.passes.schedule.body import Lane, load
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.stages import Access
from lamina.passes.schedule.strided_access import Elements


@mutable_record
class Positions:
    """Positions that are known as another one and a number behind it."""

    _parts: dict[SSAValue, tuple[Index, int]] = field(default_factory=dict)

    def behind(self, emit: Emitter, at: Index, number: int) -> Index:
        """The position so many behind another."""
        found = emit.plus(at, number)
        if isinstance(found, SSAValue) and number:
            self._parts[found] = at, number
        return found

    def split(self, at: Index) -> tuple[Index, int]:
        """A position as another one and a number."""
        return (0, at) if isinstance(at, int) else self._parts.get(at, (at, 0))


@mutable_record
class SharedLoads:
    """The loads of one block, in which nothing is stored: each is made once."""

    memory: Memory
    positions: Positions
    _starts: dict[Hashable, Index] = field(default_factory=dict)
    _made: dict[Hashable, Lane] = field(default_factory=dict)

    def load(self, emit: Emitter, access: Access, env: Env, where: Elements) -> Lane:
        """The elements of an access at a position; `where` says all but where they begin."""
        form = self.memory.layout(access)
        walk = self._walk(form, env)
        shift = form.constant + walk.shift
        key = access.memory, walk.start, shift, walk.shifts, where.stride, where.lanes, where.mask
        found = self._made.get(key)
        if found is None:
            at = emit.plus(self._start(emit, access, form, walk), shift)
            for stride, number in walk.shifts:
                at = emit.plus(at, emit.times(stride, number))
            elements = Elements(where.memory, at, where.stride, where.lanes, where.mask)
            found = self._made[key] = load(emit, elements)
        return found

    def _walk(self, form: Linear, env: Env) -> _Walk:
        opened = self.memory.open_steps(form)
        parts = {dim: self.positions.split(at) for dim, at in env.items()}
        shift, shifts = 0, dict[SSAValue, int]()
        start: list[tuple[int, int, Index | None]] = []
        for dim, step in form.terms:
            stride, along = opened.get(dim, (None, dim))
            base, number = parts.get(along, (None, 0)) if along is not None else (None, 0)
            start.append((dim, step, base))
            if stride is None:
                shift += step * number
            elif number:
                shifts[stride] = shifts.get(stride, 0) + step * number
        bases = {**env, **{dim: base for dim, (base, _) in parts.items()}}
        return _Walk(tuple(start), shift, tuple(shifts.items()), bases)

    def _start(self, emit: Emitter, access: Access, form: Linear, walk: _Walk) -> Index:
        """The offset but for what is a number."""
        key = access.memory, walk.start
        if key not in self._starts:
            self._starts[key] = self.memory.at(emit, Linear(form.terms), walk.bases)
        return self._starts[key]


@record
class _Walk:
    """An offset at a position: terms with what positions are known by, and numbers behind these,
    of elements and of strides that are values."""

    start: tuple[tuple[int, int, Index | None], ...]
    shift: int
    shifts: tuple[tuple[SSAValue, int], ...]
    bases: Env
