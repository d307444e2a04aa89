"""Where a kernel keeps its values, and the sweeps that its stages are grouped into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from lamina.dialects.loop.linear import Linear
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.stages import LOCAL_ROW, Access, Stage

Env = dict[int, Index]


@dataclass(eq=False)
class Memory:
    """Where the kernel keeps its buffers: flat memrefs, scratch layouts, values in registers."""

    forks: bool = True
    """Whether the kernel may run on several threads."""
    flat: dict[SSAValue, SSAValue] = field(default_factory=dict)
    """The rank-1 memref of each memref argument or scratch buffer."""
    scratch: dict[SSAValue, dict[int, int]] = field(default_factory=dict)
    """For scratch: the stride of each of the buffer's axes in the scratch layout; 0 for rows."""
    local_row: dict[SSAValue, int] = field(default_factory=dict)
    """For scratch that spans a block of rows: elements from one row to the next."""
    shift: dict[SSAValue, Linear] = field(default_factory=dict)
    """For scratch that spans part of an axis: what to add to the offset."""
    scalars: dict[SSAValue, SSAValue] = field(default_factory=dict)
    """Row results with a single element, while that row is being computed."""
    streamed: frozenset[SSAValue] = frozenset()
    """Buffers whose vectors are stored past the caches."""
    dead: set[SSAValue] = field(default_factory=set)
    """Buffers that nobody reads from memory: their stores are left out."""

    def offset(self, emit: Emitter, access: Access, env: Env, vector_dim: int | None) -> Index:
        """Element offset of an access at the given position, with the vector dimension at 0."""
        return emit.linear(self.form(access, vector_dim), env)

    def form(self, access: Access, vector_dim: int | None) -> Linear:
        """The offset form of an access without its term in the vector dimension."""
        form = self.layout(access)
        if vector_dim is None:
            return form
        terms = form.coefficients
        terms.pop(vector_dim, None)
        return Linear.of(terms, form.constant)

    def layout(self, access: Access) -> Linear:
        """The offset form of an access in the buffer's actual layout."""
        strides = self.scratch.get(access.memory)
        if strides is None:
            return access.offset
        form = Linear(())
        for axis, index in enumerate(access.axes):
            form = form.add(index.scale(strides.get(axis, 0)))
        shift = self.shift.get(access.memory)
        if shift is not None:
            form = form.add(shift)
        row = self.local_row.get(access.memory)
        return form if row is None else form.add(Linear(((LOCAL_ROW, row),)))


@dataclass(eq=False)
class Sweep:
    """Stages that run in one nest; `order[stage]` lists its own dims in the nest's order."""

    stages: list[Stage]
    order: dict[Stage, tuple[int, ...]]

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents of the nest, in its order."""
        first = self.stages[0]
        return tuple(first.extents[d] for d in self.order[first])


def sweep_lanes(stages: Sequence[Stage], extent: int, vector_lanes: int) -> int:
    """Vector length: the target's, but no longer than the extent's next power of two."""
    lanes = vector_lanes
    while lanes > 1 and lanes // 2 >= extent:
        lanes //= 2
    return lanes
