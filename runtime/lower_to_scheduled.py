"""A program of any layer taken down to scheduled loops, with what is kept of it on the way."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from lamina.codegen.target import Target
from lamina.dialects.errors import InputError
from lamina.lowering.pass_runner import Finished
from lamina.runtime.early_memory import EarlyMemory
from lamina.runtime.extern_kernels.calls import refused_calls
from lamina.runtime.kernels import Kernels, kernels_of
from lamina.runtime.layers import layer_of, verify_program
from lamina.runtime.lowering_options import LoweringOptions
from lamina.runtime.recipes import recipes_of
from lamina.runtime.shared_constants import Recipe


def lower_to_scheduled(
    module: ModuleOp,
    target: Target,
    options: LoweringOptions,
    recipes: dict[str, Recipe] | None = None,
    finished: Finished | None = None,
    early: EarlyMemory | None = None,
) -> Kernels:
    """Lowers in place; gives the kernels with their schedules, and puts recipes where asked.

    `finished` is told of kernels (see `run_pipeline`). `early` begins as soon as it is known what
    `@setup` makes.
    """
    start = layer_of(module)
    if start == "scheduled":
        if options.schedules:
            raise InputError("schedules: the kernels of the program are loops already")
        verify_program(module)
        options.lower(module, start, "scheduled", target)
        return kernels_of(module, target)
    from lamina.passes.schedule.schedule_texts import schedule_texts

    if start == "bufferized":
        options.lower(module, start, "bufferized", target, enters=True)
        kernels = kernels_of(module, target)
    else:
        _lower_to_fused(module, start, target, options)
        kernels = kernels_of(module, target)
        if recipes is not None:
            recipes.update(recipes_of(module))
            if early is not None:
                early.begin(module, recipes)
        options.lower(module, "fused", "bufferized", target, enters=False)
        kernels = kernels.on_buffers(module, target)
    kernels = kernels.with_schedules(schedule_texts(module))
    options.lower(module, "bufferized", "scheduled", target, enters=False, finished=finished)
    return kernels


def _lower_to_fused(module: ModuleOp, start: str, target: Target, options: LoweringOptions) -> None:
    """Lowers; refuses unknown extern kernels where their calls still have lines."""
    reached = start if start in ("loop", "fused") else "loop"
    options.lower(module, start, reached, target)
    for error in refused_calls(module):
        raise error
    options.lower(module, reached, "fused", target, enters=False)
