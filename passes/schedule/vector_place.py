"""Which dimension of a nest vectors run along."""

from __future__ import annotations

from lamina.dialects.loop.kernel_nests import interleaves
from lamina.passes.cost.sweep_limits import LEAST_FOLD, STRIDE_SCORES
from lamina.passes.schedule.memory import Sweep


def vector_place(sweep: Sweep) -> int:
    """The nest's dimension to vectorize: the one that most accesses walk with stride 1."""
    scores: list[int] = []
    for place in range(len(sweep.extents)):
        score = 0
        for stage in sweep.stages:
            dim = sweep.order[stage][place]
            for access in stage.reads:
                score += STRIDE_SCORES.get(access.stride(dim), -2)
            if stage.is_pointwise:
                usual = 2 if interleaves(stage.op) else 1
                score += sum(4 if w.stride(dim) == usual else -6 for w in stage.writes)
            elif dim not in stage.reduced:
                # Totals are written once, however many there are: they only break ties.
                score += 1 if all(w.stride(dim) == 1 for w in stage.writes) else -1
            if dim in stage.reduced and stage.extents[dim] < LEAST_FOLD:
                score -= 6
        if sweep.extents[place] == 1:
            score -= 100
        scores.append(score)
    return max(range(len(scores)), key=lambda p: (scores[p], p)) if scores else 0
