"""Loads that positions side by side share: windows of neighbours overlap.

Of a sum that is jammed along the lines of an image, line 5 belongs to the window of line 3 and to
that of line 4. Where loops over the window are written out, both are known to be the same element:
offsets are compared as a value and a number.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from lamina.dialects.loop.linear import Linear
from lamina.passes.schedule.body import Lane, load
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.stages import Access
from lamina.passes.schedule.strided_access import Elements


@dataclass
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


@dataclass
class SharedLoads:
    """The loads of one block, in which nothing is stored: each is made once."""

    memory: Memory
    positions: Positions
    _starts: dict[Hashable, Index] = field(default_factory=dict)
    _made: dict[Hashable, Lane] = field(default_factory=dict)

    def load(self, emit: Emitter, access: Access, env: Env, where: Elements) -> Lane:
        """The elements of an access at a position; `where` says all but where they begin."""
        form = self.memory.layout(access)
        parts = {dim: self.positions.split(env[dim]) for dim, _ in form.terms if dim in env}
        shift = sum(step * parts[dim][1] for dim, step in form.terms if dim in parts)
        start = tuple((dim, step, parts.get(dim, (None, 0))[0]) for dim, step in form.terms)
        key = access.memory, start, form.constant + shift, where.stride, where.lanes, where.mask
        found = self._made.get(key)
        if found is None:
            at = emit.plus(self._start(emit, access, form, env, parts), form.constant + shift)
            elements = Elements(where.memory, at, where.stride, where.lanes, where.mask)
            found = self._made[key] = load(emit, elements)
        return found

    def _start(
        self,
        emit: Emitter,
        access: Access,
        form: Linear,
        env: Env,
        parts: Mapping[int, tuple[Index, int]],
    ) -> Index:
        """The offset but for what is a number."""
        bases = {**env, **{dim: base for dim, (base, _) in parts.items()}}
        key = access.memory, tuple((d, c, bases.get(d)) for d, c in form.terms)
        if key not in self._starts:
            self._starts[key] = self.memory.at(emit, Linear(form.terms), bases)
        return self._starts[key]
