"""What is computed of vectors of totals while they are in registers, before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from lamina.passes.schedule.body import Lane
from lamina.passes.schedule.emitter import Emitter
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.memory import Env, Envs, Memory, Sweep
from lamina.passes.schedule.register_tile import Tile
from lamina.passes.schedule.stages import LOCAL_ROW, Access, Stage
from lamina.passes.schedule.step import Step
from lamina.passes.schedule.sweep import SweepEmitter
from lamina.passes.schedule.tile_fetch import TileFetch, verify_fetch

BESIDE = ("compute_with", "nontemporal", "nontemporal_from")
"""Clauses of a nest that is computed of totals; all else is said of the nest that adds them up."""

BESIDE_TILES = (*BESIDE, "prefetch", "prefetch_writes")
"""The same of a product's register tiles, which ask for what they will read when they begin."""


class TotalsEpilogue:
    """Pointwise stages that follow one another on vectors of totals.

    `followers` has for each its own dimension for those of the reduction that change from vector to
    vector, the last of which vectors run along; `envs` has its position in all others.
    """

    def __init__(
        self,
        followers: Mapping[Stage, Mapping[int, int]],
        envs: Envs,
        memory: Memory,
        outputs: set[SSAValue],
        lanes: int,
        column: int,
    ) -> None:
        self.followers = followers
        self.envs = envs
        self.vectors = {
            stage: _Follower(stage, dims[column], memory, outputs, lanes)
            for stage, dims in followers.items()
        }

    def run(
        self, emit: Emitter, at: Env, made: dict[SSAValue, Lane], mask: SSAValue | None
    ) -> None:
        """Compute and store what follows of the totals `made` at a position of the reduction."""
        for stage in self.followers:
            self.vectors[stage].vector(emit, self._env(stage, at), made, mask)

    def fetch(self, emit: Emitter, at: Env, row: int | None, tile: Tile) -> None:
        """Ask for the lines that stages will read of a tile whose first row and column are `at`.

        What waits for memory behind the last multiply-add is then near.
        """
        for stage, dims in self.followers.items():
            fetch = TileFetch(self.vectors[stage].memory, row if row is None else dims[row], tile)
            fetch.emit(emit, stage, self._env(stage, at))

    def _env(self, stage: Stage, at: Env) -> Env:
        """Where a stage is, at a position of the reduction."""
        own = {own: at[dim] for dim, own in self.followers[stage].items()}
        local = {LOCAL_ROW: at[LOCAL_ROW]} if LOCAL_ROW in at else {}
        return {**self.envs[stage], **own, **local}


class _Follower(SweepEmitter):
    """One stage, a vector at a time."""

    def __init__(
        self, stage: Stage, dim: int, memory: Memory, outputs: set[SSAValue], lanes: int
    ) -> None:
        super().__init__(Sweep([stage], {stage: (dim,)}), memory, outputs)
        self.lanes = lanes
        self._past_caches = all(self._is_aligned(write, dim) for write in stage.writes)

    def _is_aligned(self, write: Access, dim: int) -> bool:
        """Whether all vectors of a result begin at multiples of their length."""
        form, (columns,) = self.memory.layout(write), self.sweep.extents
        steps = [step for other, step in form.terms if other != dim]
        return all(step % self.lanes == 0 for step in (*steps, form.constant, columns))

    def vector(
        self, emit: Emitter, env: Env, made: dict[SSAValue, Lane], mask: SSAValue | None
    ) -> None:
        """The stage at the vector that begins at a position."""
        (stage,) = self.sweep.stages
        body = self._prepare(emit, stage, env)
        self.point(emit, Step(stage, body, env, self._vector_dim(stage), mask, made))


def verify_followers(stages: Sequence[Stage], clauses: Sequence[str] = BESIDE) -> None:
    """Raises InputError for clauses about loops that the stages have not: they may have these."""
    for stage in stages:
        if others := [name for name in stage.schedule.texts() if name not in clauses]:
            said, legal = ", ".join(others), f"it may have {', '.join(clauses)}"
            raise illegal(stage.op, f"{said}: of totals that another nest computes; {legal}")


def verify_tile_followers(stages: Mapping[Stage, int]) -> None:
    """Raises InputError for clauses of what is computed of register tiles that cannot be carried
    out; of each stage there is the dimension that their columns are."""
    verify_followers(list(stages), BESIDE_TILES)
    for stage, column in stages.items():
        verify_fetch(stage, column)


def run_in_registers(stages: Sequence[Stage]) -> bool:
    """Whether all that follows a product says that it shares its tiles."""
    return bool(stages) and all(stage.schedule.compute_with for stage in stages)
