"""Which passes may run on a program in which state; others are refused, not tried.

Below the tensor layers, passes know how far a program has come only by what stands in it: kernels
as functions, values in memory, explicit loops. Each takes what comes before it in the pipeline.
"""

from __future__ import annotations

from enum import Enum

from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation

from lamina.dialects.errors import InputError
from lamina.dialects.ir_links import block_ops
from lamina.passes.contracts.stages import stages_of
from lamina.passes.refusal import invalid, unsupported
from lamina.passes.registry import PASSES


class State(Enum):
    """How far a program has come."""

    TENSORS = "ops on tensors"
    KERNELS = "kernels that are functions on tensors"
    BUFFERS = "kernels on buffers"
    TASKS = "kernels whose nests stand in loops"
    LOOPS = "explicit loops"


_LATE: dict[str, frozenset[State]] = {
    "outline-kernels": frozenset({State.TENSORS, State.KERNELS}),
    "outline-regions": frozenset({State.TENSORS, State.KERNELS}),
    "inline-regions": frozenset({State.TENSORS, State.KERNELS}),
    "unroll-layers": frozenset({State.TENSORS, State.KERNELS}),
    "sink-row-factors": frozenset({State.TENSORS, State.KERNELS}),
    "stream-dims": frozenset({State.TENSORS, State.KERNELS}),
    "bound-dims": frozenset({State.TENSORS, State.KERNELS}),
    "limit-rows": frozenset({State.TENSORS, State.KERNELS}),
    "drop-row-masks": frozenset({State.TENSORS, State.KERNELS}),
    "elide-masks": frozenset({State.TENSORS, State.KERNELS}),
    "bufferize": frozenset({State.TENSORS, State.KERNELS}),
    "elide-copies": frozenset({State.BUFFERS, State.LOOPS}),
    "mutate-in-place": frozenset({State.BUFFERS, State.LOOPS}),
    "fuse-borders": frozenset({State.BUFFERS, State.LOOPS}),
    "plan-memory": frozenset({State.BUFFERS, State.LOOPS}),
    "split-domains": frozenset({State.BUFFERS, State.LOOPS}),
    "pair-results": frozenset({State.BUFFERS, State.LOOPS}),
    "choose-schedule": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "choose-directions": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "alternate-directions": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "limit-panels": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "limit-padded-reads": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "derive-sizes": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "limit-arguments": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "compact-arguments": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "compact-buffers": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "merge-equal-kernels": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "elide-joins": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "explain-schedule": frozenset({State.BUFFERS, State.LOOPS}),
    "parallelize": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "cache-read": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "rfactor": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "jam": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "tile-nests": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "compute-at": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "vectorize": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "mask-cut-sums": frozenset({State.KERNELS, State.BUFFERS, State.TASKS, State.LOOPS}),
    "apply-schedule": frozenset({State.BUFFERS, State.TASKS, State.LOOPS}),
    "guard-accesses": frozenset({State.LOOPS}),
    "share-kernels": frozenset({State.LOOPS}),
    "merge-parallel-regions": frozenset({State.LOOPS}),
    "hoist-teams": frozenset({State.LOOPS}),
    "plan-scratch": frozenset({State.LOOPS}),
    "link-callees": frozenset({State.LOOPS}),
    "convert-scheduled-to-mlir": frozenset({State.LOOPS}),
}
"""What passes behind the tensor layers take; those that are not named here take ops on tensors."""


_OF_STAGES = frozenset(
    {
        "allow-lower-ops",
        "bind-sizes",
        "bound-dynamic-shapes",
        "choose-stages",
        "functionalize",
        "inline-calls",
        "limit-sizes",
        "number-arguments",
        "outline-callees",
        "outline-stages",
        "roll-layers",
        "roll-loops",
    }
)
"""What takes programs in stages."""


_OF_OPEN_NESTS = frozenset(
    {
        "allow-lower-ops",
        "batch-scans",
        "bind-sizes",
        "bound-nests",
        "canonicalize-loop",
        "choose-padding",
        "convert-aten-to-core-aten",
        "convert-core-aten-to-prims",
        "convert-prims-to-loop",
        "flush-exponentials",
        "fold-batch-norm",
        "functionalize",
        "inline-calls",
        "limit-reads",
        "expect-runs",
        "split-places",
        "limit-sizes",
        "loop-cse",
        "materialize-random-state",
        "narrow-scatters",
        "number-arguments",
        "outline-callees",
        "outline-literals",
        "outline-regions",
        "split-complex",
        "widen-half-floats",
    }
)
"""What takes nests that have sizes; others form and schedule kernels, of numbers."""


def state_of(module: ModuleOp) -> State:
    """The state of a program; kernels that are not scheduled count for all of it."""
    # The tools import this module, and start without the dialects.
    from xdsl.dialects import func

    from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp
    from lamina.passes.fusion.outline_kernels import KERNEL
    from lamina.passes.memory.bufferize import ENTRY

    functions = [f for f in block_ops(module.body.block) if isinstance(f, func.FuncOp)]
    kernels = [f for f in functions if KERNEL in f.attributes]
    on_buffers = any(isinstance(k, MemRefType) for f in kernels for k in f.function_type.inputs)
    if not on_buffers and not any(ENTRY in f.attributes for f in functions):
        return State.KERNELS if kernels else State.TENSORS
    ops: list[Operation] = []
    for kernel in kernels:
        _list_around(kernel, GenericOp, ops)
    # Classes are asked, of which there are few: loops are many ops, and this is asked by each pass.
    kinds = {
        kind for kind in set(map(type, ops)) if issubclass(kind, (GenericOp, *UNSTRUCTURED_OPS))
    }
    if not kinds:
        return State.LOOPS
    blocks = {block for kernel in kernels for block in kernel.body.blocks}
    if any(
        op.symbols or op.parent not in blocks
        for op in ops
        if type(op) in kinds and isinstance(op, GenericOp)
    ):
        return State.TASKS
    return State.BUFFERS


def _list_around(holder: Operation, kind: type[Operation], found: list[Operation]) -> None:
    """List the ops under `holder`, but not what those of a class hold, which are scalars."""
    for region in holder.regions:
        for block in region.blocks:
            ops = block_ops(block)
            found += ops
            for op in ops:
                if op.regions and type(op) is not kind:
                    _list_around(op, kind, found)


def verify_state(module: ModuleOp, name: str) -> None:
    """Raises InputError if the pass of that name is not for a program in this state.

    Contracts (`verify-...`) say themselves what they find; passes of others are not known, but for
    one that makes several blocks of what must be one.
    """
    if name == "convert-scf-to-cf" and _has_parallel_loops(module):
        raise InputError(
            f"{name}: the body of an scf.parallel is one block, and cannot hold branches\n"
            "  code is made from loops and branches of scf as they stand: leave the pass out"
        )
    if name not in PASSES or name.startswith("verify-"):
        return
    if name != "convert-scheduled-to-mlir":
        _verify_blocks(module, name)
    if name not in _OF_STAGES and stages_of(module):
        raise InputError(
            f"{name}: the program is in stages by now\n"
            "  each is a program of its own, compiled for the sizes that calls bring"
        )
    if name not in _OF_OPEN_NESTS:
        _refuse_open_nests(module, name)
    taken = _LATE.get(name, frozenset({State.TENSORS}))
    found = state_of(module)
    if found not in taken:
        wanted = " or ".join(state.value for state in State if state in taken)
        raise InputError(f"{name}: the program is {found.value} by now; the pass takes {wanted}")


def asks_the_same(one: str, other: str) -> bool:
    """Whether `verify_state` asks the same of a program in front of two passes."""
    return (
        _LATE.get(one) == _LATE.get(other)
        and (one in _OF_STAGES) == (other in _OF_STAGES)
        and (one in _OF_OPEN_NESTS) == (other in _OF_OPEN_NESTS)
        and not one.startswith("verify-")
    )


def _refuse_open_nests(module: ModuleOp, name: str) -> None:
    """Kernels are formed of nests whose extents are numbers."""
    from xdsl.dialects import func

    from lamina.dialects.loop.open_nests import is_open
    from lamina.passes.contracts.argument_sizes import NUMBERS, has_open_sizes

    for function in module.body.block.ops:
        if not isinstance(function, func.FuncOp) or not function.body.blocks:
            continue
        if not has_open_sizes(function):
            continue
        for op in function.walk():
            if is_open(op):
                reason = f"{name} takes extents that are numbers"
                raise unsupported(op, reason, NUMBERS)


def _verify_blocks(module: ModuleOp, name: str) -> None:
    """A function has one block; one that is only declared is no kernel and no entry."""
    from xdsl.dialects import func

    from lamina.passes.fusion.outline_kernels import KERNEL
    from lamina.passes.memory.bufferize import ENTRY

    for op in module.body.block.ops:
        if isinstance(op, ModuleOp):
            _verify_blocks(op, name)
        if not isinstance(op, func.FuncOp):
            continue
        count = len(op.body.blocks)
        if count > 1:
            said = f"has {count} blocks; a program branches by ops with regions"
        elif count == 0 and (KERNEL in op.attributes or ENTRY in op.attributes):
            said = "is declared without a body"
        else:
            continue
        raise invalid(op, f"@{op.sym_name.data} {said}\n  in front of pass '{name}'")


def _has_parallel_loops(module: ModuleOp) -> bool:
    return any(op.name == "scf.parallel" for op in module.walk())
