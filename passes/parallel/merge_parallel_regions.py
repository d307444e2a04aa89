"""`merge-parallel-regions`: neighbouring kernel calls of an entry become the work of one team.

A team of threads is started once for them (`loop.team`), and a barrier stands only where a kernel
touches what one before it wrote, or writes what one before it touched. Kernels that one thread runs
go into the team too, on its first thread, if they stand between others and are short. A team must
pay: kernels with too little work for several threads stay calls of one thread. `share-kernels` has
noted which ones threads share. Where rows of a call count in part, there is a team where enough do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from lamina.codegen.target import Target
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.team import BarrierOp, SingleOp, TeamOp
from lamina.dialects.records import record
from lamina.passes.cost.team_cost import (
    LONGEST_SINGLE,
    least_paying,
    team_pays,
)
from lamina.passes.fusion.outline_kernels import KERNEL
from lamina.passes.kernel_passes import EntryPass
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.memory.memory_accesses import Access, EntryMemory
from lamina.passes.parallel.team_calls import FREE_OPS, Call, Kernel, kernel_of, must_wait


@dataclass(frozen=True)
class MergeParallelRegionsPass(EntryPass):
    """Give adjacent parallel kernels of each entry function one team of threads.

    What a team costs is `target`'s (a name that `Target.parse` knows).
    """

    name = "merge-parallel-regions"

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.parse(self.target)
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        kernels = {
            f.sym_name.data: kernel_of(f)
            for f in functions
            if KERNEL in f.attributes and f.body.blocks
        }
        for function in functions:
            if ENTRY in function.attributes:
                memory = EntryMemory.of(function)
                for block in _blocks(function.body.block):
                    for run in _runs(block, kernels, memory):
                        for team in teams_of(run, target):
                            _merge(team, target)


def _blocks(block: Block) -> list[Block]:
    """A block and those in the regions of its ops: branches and loops of the program."""
    found = [block]
    for op in block.ops:
        for region in op.regions:
            for inner in region.blocks:
                found += _blocks(inner)
    return found


def _runs(block: Block, kernels: dict[str, Kernel], memory: EntryMemory) -> list[list[Call]]:
    """Kernel calls with nothing between them but ops that name memory."""
    runs: list[list[Call]] = [[]]
    for op in block.ops:
        kernel = None
        if isinstance(op, func.CallOp):
            kernel = kernels.get(op.callee.root_reference.data)
        if kernel is not None:
            assert isinstance(op, func.CallOp)
            runs[-1].append(Call(op, kernel, memory.of_call(op, kernel.written)))
        elif op.name not in FREE_OPS:
            runs.append([])
    return runs


@record
class Team:
    """Calls that one team runs, and the numbers of those that a barrier stands in front of."""

    calls: Sequence[Call]
    barriers: frozenset[int]

    @staticmethod
    def of(calls: Sequence[Call]) -> Team:
        """With barriers where calls touch what others write."""
        return Team(calls, frozenset(_barriers(calls)))


def teams_of(run: Sequence[Call], target: Target) -> list[Team]:
    """The parts of a run that a team is worth starting for; each begins and ends in parallel."""
    parts: list[list[Call]] = []
    waiting: list[Call] = []
    for call in run:
        if not call.kernel.shared:
            waiting.append(call)
            continue
        if parts and sum(c.kernel.nanoseconds or 0 for c in waiting) <= LONGEST_SINGLE:
            parts[-1] += [*waiting, call]
        else:
            parts.append([call])
        waiting = []
    return [team for part in parts if _pays(team := Team.of(part), target)]


def _pays(team: Team, target: Target) -> bool:
    times = [call.kernel.nanoseconds for call in team.calls if call.kernel.shared]
    work = sum(time or 0 for time in times)
    return None in times or team_pays(work, len(team.barriers), target)


def _barriers(part: Sequence[Call]) -> set[int]:
    """The numbers of the calls that a barrier stands in front of."""
    found: set[int] = set()
    written: list[tuple[Call, Access]] = []
    read: list[tuple[Call, Access]] = []
    # Most memory is of weights, which no call of the part writes.
    homes = {access.home for call in part for access in call.accesses if access.writes}
    everywhere = any(access.home is None for call in part for access in call.accesses)
    for number, call in enumerate(part):
        own = [a for a in call.accesses if everywhere or a.home in homes]
        writes = [access for access in own if access.writes]
        if any(must_wait(call, own, *before) for before in written) or any(
            must_wait(call, writes, *before) for before in read
        ):
            found.add(number)
            written, read = [], []
        written += [(call, access) for access in writes]
        read += [(call, access) for access in own if not access.writes]
    return found


def _least_rows(team: Team, target: Target) -> tuple[Call, int] | None:
    """Of the call that takes longest the fewest live rows of which the team pays; None where it
    always does, or where rows end at numbers that a kernel of the team makes."""
    part = team.calls
    shared = [call for call in part if call.kernel.shared]
    times = [call.kernel.nanoseconds or 0 for call in shared]
    call = shared[times.index(max(times))]
    if call.kernel.live is None or any(c.kernel.nanoseconds is None for c in shared):
        return None
    whole = sum(t for c, t in zip(shared, times, strict=True) if c.kernel.live is None)
    barriers = len(team.barriers)
    if team_pays(whole, barriers, target):
        return None
    counts = {call.op.arguments[number] for number in call.kernel.live.counts}
    made = {
        c.op.arguments[n] for c in part for n, is_written in c.kernel.written.items() if is_written
    }
    if not counts.isdisjoint(made):
        return None
    least = least_paying(sum(times), call.kernel.live.rows, barriers, target)
    return (call, least) if least > 1 else None


def _merge(merged: Team, target: Target) -> None:
    """One team for its calls, where the last of them stands."""
    part = merged.calls
    block = part[-1].op.parent
    assert block is not None
    team = TeamOp([])
    if (found := _least_rows(merged, target)) is not None:
        call, least = found
        assert call.kernel.live is not None
        live, numbers = call.kernel.live.over_operands()
        team.fork_from(least, live, [call.op.arguments[number] for number in numbers])
    block.insert_op_after(team, part[-1].op)
    for number, call in enumerate(part):
        call.op.detach()
        if number in merged.barriers:
            team.body.block.add_op(BarrierOp())
        last = team.body.block.last_op
        if call.kernel.shared:
            team.body.block.add_op(call.op)
        elif isinstance(last, SingleOp):
            last.body.block.add_op(call.op)
        else:
            team.body.block.add_op(SingleOp([call.op]))
