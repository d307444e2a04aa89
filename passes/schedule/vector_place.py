"""Which dimension of a nest vectors run along."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import BlockArgument, Operation, SSAValue

from lamina.dialects.loop import IndexOp, ReadOp
from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.loop.kernel_nests import interleaves
from lamina.passes.cost.fusion_cost import body_cost
from lamina.passes.cost.sweep_limits import LEAST_FOLD, LIGHT_BODY, STRIDE_SCORES
from lamina.passes.schedule.memory import Sweep
from lamina.passes.schedule.stages import Stage


def vector_place(sweep: Sweep) -> int:
    """The nest's dimension to vectorize: the one that most accesses walk with stride 1."""
    scores: list[int] = []
    for place in range(len(sweep.extents)):
        score = 0
        for stage in sweep.stages:
            dim = sweep.order[stage][place]
            for access in stage.reads:
                score += _score(access.stride(dim))
            score += sum(_score(step) for step in _looked_up(stage, dim))
            if stage.is_pointwise:
                usual = 2 if interleaves(stage.op) else 1
                score += sum(4 if w.stride(dim) == usual else -6 for w in stage.writes)
            elif dim not in stage.reduced:
                # Totals are written once, however many there are: they only break ties.
                score += 1 if all(w.stride(dim) == 1 for w in stage.writes) else -1
            if dim in stage.reduced and stage.extents[dim] < LEAST_FOLD:
                score -= 6
                if body_cost(stage.op) > LIGHT_BODY:  # few lanes do it, however reads suit them
                    runs = sum(access.stride(dim) == 1 for access in stage.reads)
                    score -= max(0, STRIDE_SCORES[1] * runs - 6)
        if sweep.extents[place] == 1:
            score -= 100
        scores.append(score)
    return max(range(len(scores)), key=lambda p: (scores[p], p)) if scores else 0


def _score(stride: int | None) -> int:
    return -2 if stride is None else STRIDE_SCORES.get(stride, -2)


def _looked_up(stage: Stage, dim: int) -> Iterator[int | None]:
    """Of each indirect read the elements from one position of a dimension to the next; None if an
    index that is no position varies along it."""
    for read in stage.op.block.ops:
        if not isinstance(read, ReadOp):
            continue
        stride: int | None = 0
        strides = row_major_strides(shape_of(read.source))
        for index, step in zip(read.indices, strides, strict=True):
            owner = index.owner
            if isinstance(owner, IndexOp):
                moved = step if owner.dim.value.data == dim else 0
                stride = None if stride is None else stride + moved
            elif _varies(index, stage, dim):
                stride = None
        yield stride


def _varies(value: SSAValue, stage: Stage, dim: int) -> bool:
    """Whether a value of a body may differ along a dimension."""
    pending, seen = [value], set[SSAValue]()
    while pending:
        found = pending.pop()
        if found in seen:
            continue
        seen.add(found)
        owner = found.owner
        if isinstance(found, BlockArgument):
            if found.index < len(stage.reads) and stage.reads[found.index].stride(dim):
                return True
        elif isinstance(owner, IndexOp):
            if owner.dim.value.data == dim:
                return True
        else:
            assert isinstance(owner, Operation)
            pending += owner.operands
    return False
