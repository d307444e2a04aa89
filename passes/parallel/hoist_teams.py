"""`hoist-teams`: a loop whose steps start teams of threads becomes the work of one team.

All threads go through the steps of the loop and share the kernels of each; what one thread runs
there, a short kernel or a small copy, is the first one's. Barriers stand as in a team
(`merge-parallel-regions`), between the end of a step and the next one's beginning, too. So a step
forks no threads, and kernels that are too short for a team of their own are shared.

Steps of a loop in a team have no chunks that a thread could take from a late one, which matters
more than a fork where steps are long: those stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from lamina.codegen.target import Target
from lamina.dialects.ir_links import block_ops, erase_op
from lamina.dialects.loop.team import BarrierOp, SingleOp, TeamOp, team_of
from lamina.dialects.op_list import ops_of
from lamina.dialects.records import record
from lamina.passes.cost.team_cost import LONGEST_SINGLE, LONGEST_STEP
from lamina.passes.fusion.outline_kernels import KERNEL
from lamina.passes.kernel_passes import EntryPass
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.memory.memory_accesses import Access, EntryMemory, conflict
from lamina.passes.memory.plan_memory import byte_size
from lamina.passes.parallel.team_calls import FREE_OPS, Kernel, kernel_of


@record
class Part:
    """A kernel call or a copy of a step, what it touches, and whether threads share it."""

    op: func.CallOp | memref.CopyOp
    accesses: Sequence[Access]
    nanoseconds: int
    """At least, on one core; of a copy, which is small, none are counted."""
    is_shared: bool = False


@dataclass(frozen=True)
class HoistTeamsPass(EntryPass):
    """Give loops of each entry function whose steps are short one team for all of them.

    What is small for one thread follows from `target` (a name that `Target.parse` knows).
    """

    name = "hoist-teams"

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        entries = [f for f in functions if ENTRY in f.attributes]
        loops = {entry: list(ops_of(entry, scf.ForOp)) for entry in entries}
        if not any(loops.values()):
            return
        target = Target.parse(self.target)
        kernels = {
            f.sym_name.data: kernel_of(f)
            for f in functions
            if KERNEL in f.attributes and f.body.blocks
        }
        for entry, found in loops.items():
            memory = EntryMemory.of(entry)
            for loop in found:
                if team_of(loop) is None and (parts := _parts(loop, kernels, memory, target)):
                    _hoist(loop, parts)


def _parts(
    loop: scf.ForOp, kernels: Mapping[str, Kernel], memory: EntryMemory, target: Target
) -> list[Part]:
    """What a step of a loop does, in order; nothing if no team is to go through its steps."""
    if loop.iter_args:
        return []
    found: list[Part] = []
    teams = 0
    for op in block_ops(loop.body.block):
        if op.name in FREE_OPS or isinstance(op, scf.YieldOp):
            continue
        teams += isinstance(op, TeamOp)
        parts = _parts_of(op, kernels, memory, target)
        if parts is None:
            return []
        found += parts
    alone = sum(part.nanoseconds for part in found if not part.is_shared)
    whole = sum(part.nanoseconds for part in found)
    return found if alone <= LONGEST_SINGLE and whole <= teams * LONGEST_STEP else []


def _parts_of(
    op: Operation, kernels: Mapping[str, Kernel], memory: EntryMemory, target: Target
) -> list[Part] | None:
    """The parts of an op of a step; None if it is none that threads of a team may come by."""
    if isinstance(op, BarrierOp):
        return []
    if isinstance(op, TeamOp | SingleOp):
        if isinstance(op, TeamOp) and (op.live is not None or op.max_threads is not None):
            return None
        found: list[Part] = []
        for inner in block_ops(op.body.block):
            parts = _parts_of(inner, kernels, memory, target)
            if parts is None:
                return None
            found += parts
        return found
    if isinstance(op, memref.CopyOp):
        size = byte_size(op.source.type)  # pyright: ignore[reportArgumentType]
        if size > target.l1d_bytes:
            return None
        touched = [memory.access(op.source, False), memory.access(op.destination, True)]
        return [Part(op, touched, 0)]
    if not isinstance(op, func.CallOp):
        return None
    kernel = kernels.get(op.callee.root_reference.data)
    if kernel is None or kernel.nanoseconds is None:
        return None
    return [Part(op, memory.of_call(op, kernel.written), kernel.nanoseconds, kernel.shared)]


def _barriers(parts: Sequence[Part]) -> set[int]:
    """The numbers of the parts that a barrier stands in front of, in each step."""
    found: set[int] = set()
    pending: list[tuple[Part, Access]] = []
    for number, part in [*enumerate(parts), *enumerate(parts)]:
        if number in found or any(_must_wait(part, other, access) for other, access in pending):
            found.add(number)
            pending = []
        pending += [(part, access) for access in part.accesses]
    return found


def _must_wait(part: Part, other: Part, access: Access) -> bool:
    """Whether a part must wait for an earlier one; one thread keeps its own order."""
    return (part.is_shared or other.is_shared) and conflict([access], part.accesses)


def _hoist(loop: scf.ForOp, parts: Sequence[Part]) -> None:
    """One team around a loop, whose steps are these parts."""
    block, body = loop.parent, loop.body.block
    assert block is not None
    waits = _barriers(parts)
    for number, part in enumerate(parts):
        place = _outermost(part.op, body)
        if number in waits:
            body.insert_op_before(BarrierOp(), place)
        if part.op is place and part.is_shared:
            continue
        single = None if part.is_shared else SingleOp([])
        if single is not None:
            body.insert_op_before(single, place)
        part.op.detach()
        if single is None:
            body.insert_op_before(part.op, place)
        else:
            single.body.block.add_op(part.op)
    for op in list(block_ops(body)):
        if isinstance(op, TeamOp):
            erase_op(op)
    team = TeamOp([])
    block.insert_op_before(team, loop)
    loop.detach()
    team.body.block.add_op(loop)


def _outermost(op: Operation, block: Block) -> Operation:
    """The op of a block that an op is, or stands in."""
    while op.parent is not block:
        outer = op.parent_op()
        assert outer is not None
        op = outer
    return op
