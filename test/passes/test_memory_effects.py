"""xDSL's own clean-up passes, at every state of the pipeline, keep what a program means."""

import pytest
from pass_trials import PROGRAMS, STATES, trial
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.transforms.loop_invariant_code_motion import LoopInvariantCodeMotionPass

from lamina.dialects.context import Context
from lamina.passes.contracts.dominance import verify_dominance

CLEAN_UPS: tuple[type[ModulePass], ...] = (
    CanonicalizePass,
    CommonSubexpressionElimination,
    DeadCodeElimination,
    LoopInvariantCodeMotionPass,
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_meaning_is_kept(name: str) -> None:
    program = trial(name)
    seen: set[str] = set()
    for state in STATES:
        if program.texts[state] in seen:
            continue
        seen.add(program.texts[state])
        for clean_up in CLEAN_UPS:
            module = program.module(state)
            clean_up().apply(Context(), module)
            module.verify()
            verify_dominance(module)
            found = program.check(module)
            assert found is None, f"{clean_up.name} behind {state}: {found}\n{module}"
