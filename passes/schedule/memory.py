"""Where a kernel keeps its values, and the sweeps that its stages are grouped into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from lamina.dialects.errors import UnsupportedError
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.memory_ops import load_op, store_op
from lamina.dialects.loop.schedules import NestSchedule
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.stages import LOCAL_ROW, Access, Stage


@record
class KernelNumbers:
    """The numbers of a call that loops of a kernel end at, and its masks."""

    masks: Mapping[SSAValue, int]
    """Arguments that are false from the number in another argument on."""
    counts: Mapping[SSAValue, int]
    """Arguments that are numbers, and their own numbers."""
    values: Mapping[int, Index]
    """By the pseudo-dimensions of bounds."""


FIRST_STEP = -1000
"""Pseudo-dimensions from here down are positions times strides that are values."""

Env = dict[int, Index]
"""The position along each dimension of a stage."""
Envs = dict[Stage, Env]


@dataclass(eq=False)
class Memory:
    """Where the kernel keeps its buffers: flat memrefs, scratch layouts, values in registers."""

    flat: dict[SSAValue, SSAValue] = field(default_factory=dict)
    """The rank-1 memref of each memref argument or scratch buffer."""
    scratch: dict[SSAValue, dict[int, int]] = field(default_factory=dict)
    """For scratch: the stride of each of the buffer's axes in the scratch layout; 0 for rows."""
    local_row: dict[SSAValue, int] = field(default_factory=dict)
    """For scratch that spans a block of rows: elements from one row to the next."""
    strides: dict[SSAValue, tuple[Index, ...]] = field(default_factory=dict)
    """Of arguments with `lamina.extents`: elements from one position of each axis to the next."""
    edges: dict[SSAValue, tuple[Index, ...]] = field(default_factory=dict)
    """Of arguments with `lamina.limits`: where each axis ends for reads that have a pad."""
    _steps: dict[tuple[SSAValue, int | None], int] = field(default_factory=dict)
    """Pseudo-dimensions: a position along a dimension, or 1, times a stride that is a value."""
    shift: dict[SSAValue, Linear] = field(default_factory=dict)
    """For scratch that spans part of an axis: what to add to the offset."""
    scalars: dict[SSAValue, SSAValue] = field(default_factory=dict)
    """Row results with a single element, while that row is being computed."""
    streamed: dict[SSAValue, SSAValue | None] = field(default_factory=dict)
    """Buffers whose vectors are stored past the caches, with the truth value on which they are."""
    dead: set[SSAValue] = field(default_factory=set)
    """Buffers that nobody reads from memory: their stores are left out."""
    masks: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Arguments that are false from the number in another argument on."""
    numbers: KernelNumbers | None = None
    """Numbers of the call at which loops end."""
    ends: dict[Sweep, dict[int, tuple[Linear, ...]]] = field(default_factory=dict)
    """Upper bounds of a sweep's loops, by place, over rows and numbers of the call."""
    within: dict[Stage, list[SSAValue]] = field(default_factory=dict)
    """Truth values of bodies that are true wherever loops that end so come."""

    def offset(self, emit: Emitter, access: Access, env: Env, vector_dim: int | None) -> Index:
        """Element offset of an access at the given position, with the vector dimension at 0."""
        return self.at(emit, self.form(access, vector_dim), env)

    def at(self, emit: Emitter, form: Linear, env: Env) -> Index:
        """The value of an offset form at the given position."""
        if not self._steps or all(dim > FIRST_STEP for dim, _ in form.terms):
            return emit.linear(form, env)
        total = emit.linear(
            Linear(tuple(t for t in form.terms if t[0] > FIRST_STEP), form.constant), env
        )
        steps = {number: key for key, number in self._steps.items()}
        for number, factor in form.terms:
            if number <= FIRST_STEP:
                stride, dim = steps[number]
                times = factor if dim is None else emit.times(env[dim], factor)
                total = emit.plus(total, emit.times(times, stride))
        return total

    def read(self, emit: Emitter, access: Access, env: Env) -> SSAValue:
        """The element of an access at the given position."""
        at = emit.value(self.offset(emit, access, env, None))
        return emit.add(load_op(self.flat[access.memory], [at]))

    def write(self, emit: Emitter, access: Access, env: Env, value: SSAValue) -> None:
        """Store the element of an access at the given position."""
        at = emit.value(self.offset(emit, access, env, None))
        emit.run(store_op(value, self.flat[access.memory], [at]))

    def varies(self, access: Access, dim: int) -> bool:
        """Whether an access reaches other elements at other positions along a dimension."""
        along = self.layout(access).coefficient(dim) != 0
        return along or (access.memory in self.strides and access.walks_open_axis(dim))

    def lane_stride(self, access: Access, dim: int) -> int:
        """Elements from one lane to the next of vectors along a dimension.

        Raises UnsupportedError where that is a number of the call: `compact-arguments` leaves such
        accesses out.
        """
        if access.memory in self.strides and access.walks_open_axis(dim):
            raise UnsupportedError(
                "loop.generic",
                f"vectors run along d{dim}, whose stride is a number of the call (lamina.extents)",
                nearest="vectors along a dimension that is contiguous",
            )
        return self.layout(access).coefficient(dim)

    def step(self, emit: Emitter, access: Access, dim: int) -> Index:
        """Elements from one position of a dimension to the next."""
        form = self.layout(access)
        total: Index = form.coefficient(dim)
        for (stride, of), number in self._steps.items():
            if of == dim and (factor := form.coefficient(number)):
                total = emit.plus(total, emit.times(stride, factor))
        return total

    def open_steps(self, form: Linear) -> dict[int, tuple[SSAValue, int | None]]:
        """Of pseudo-dimensions of an offset the stride that is a value, and the dimension whose
        position it is multiplied by; None for 1."""
        steps = {number: key for key, number in self._steps.items()}
        return {number: steps[number] for number, _ in form.terms if number <= FIRST_STEP}

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
            steps = self.strides.get(access.memory)
            return access.offset if steps is None else self._open_layout(access, steps)
        form = Linear(())
        for axis, index in enumerate(access.axes):
            form = form.add(index.scale(strides.get(axis, 0)))
        shift = self.shift.get(access.memory)
        if shift is not None:
            form = form.add(shift)
        row = self.local_row.get(access.memory)
        return form if row is None else form.add(Linear(((LOCAL_ROW, row),)))

    def _open_layout(self, access: Access, strides: Sequence[Index]) -> Linear:
        """The offset form of an access some of whose strides are values."""
        total = Linear(())
        for index, stride in zip(access.axes, strides, strict=True):
            if isinstance(stride, int):
                total = total.add(index.scale(stride))
                continue
            terms = {self._step_dim(stride, dim): factor for dim, factor in index.terms}
            if index.constant:
                terms[self._step_dim(stride, None)] = index.constant
            total = total.add(Linear.of(terms))
        return total

    def _step_dim(self, stride: SSAValue, dim: int | None) -> int:
        return self._steps.setdefault((stride, dim), FIRST_STEP - len(self._steps))


@dataclass(eq=False)
class Sweep:
    """Stages that run in one nest; `order[stage]` lists its own dims in the nest's order."""

    stages: list[Stage]
    order: dict[Stage, tuple[int, ...]]
    run: int = 0
    """Which of the runs of neighbouring nests it is of: others hand on nothing in registers."""
    followers: dict[Stage, dict[int, int]] = field(default_factory=dict)
    """Pointwise stages that are computed of totals in registers, before these are stored: of each,
    its own dimension for each that the reduction keeps."""

    @property
    def members(self) -> list[Stage]:
        """All stages, in the order of their nests."""
        return [*self.stages, *self.followers]

    def dim(self, stage: Stage, place: int) -> int:
        """The dimension of a member that the nest's loop at `place`, a kept one, walks."""
        first = self.stages[0]
        dims = self.followers.get(stage)
        return self.order[stage][place] if dims is None else dims[self.order[first][place]]

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents of the nest, in its order."""
        first = self.stages[0]
        return tuple(first.extents[d] for d in self.order[first])

    @property
    def schedule(self) -> NestSchedule:
        """How its loops run: what its first stage says."""
        return self.stages[0].schedule

    @property
    def place(self) -> int:
        """The place of the dimension that vectors run along in the nest's order."""
        order, vectors = self.order[self.stages[0]], self.schedule.vectorize
        if not order:
            return 0
        return len(order) - 1 if vectors is None else order.index(vectors.dim)

    @property
    def lanes(self) -> int:
        """Elements of a vector; 1 for scalars."""
        vectors = self.schedule.vectorize
        return 1 if vectors is None else vectors.count

    @property
    def kept(self) -> list[int]:
        """Places of the dimensions that the sweep's reduction keeps, if it is one."""
        stage = self.stages[0]
        if stage.is_pointwise:
            return []
        return [p for p, d in enumerate(self.order[stage]) if d not in stage.reduced]
