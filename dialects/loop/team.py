"""Several threads at the scheduled level: `loop.team`, `loop.single`, `loop.barrier`.

A team is started once and runs kernels one after the other, in loops if need be. `scf.parallel` at
the top of a kernel that a team calls shares its iterations out among the threads, and no thread
waits at its end: where a kernel needs what another thread wrote, a barrier stands in front of it.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, i64
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    opt_prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import NoTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.live_rows import LiveRows, LiveRowsAttr
from lamina.dialects.op_accessors import op_definition

SHARED = "lamina.shared"
"""Attribute of a kernel that threads of a team may run together. It is told which thread runs it,
and runs on one where no team calls it."""

CHUNK = "lamina.chunk"
"""Attribute of an `scf.parallel` at the top of a kernel: how many iterations a thread of a team
takes at a time, of its own share first, then of what others have not begun of theirs, much as under
OpenMP's dynamic schedule. Without it each thread runs its share."""

BACKWARD = "lamina.backward"
"""Attribute of an `scf.parallel` at the top of a kernel, a unit: each thread runs the iterations of
its share from the last to the first."""


class _BodyOp(IRDLOperation, ABC):
    """An op around others, which read values from outside of it."""

    body = region_def("single_block")
    traits = traits_def(NoTerminator())
    assembly_format = "attr-dict-with-keyword $body"

    def __init__(self, ops: Sequence[Operation]) -> None:
        super().__init__(regions=[Region(Block(ops))])

    def verify_(self) -> None:
        if self.body.block.args:
            raise VerifyException(f"{self.name}: its block takes no arguments")


@op_definition
class TeamOp(_BodyOp):
    """Runs its body on every thread of a team; after it, one thread goes on.

    How many threads there are is the machine's affair, and may be one; `max_threads` bounds it.
    `loop.team { func.call @k(%x) : (memref<4xf32>) -> () }`

    As with OpenMP's `if`, there is one thread where fewer rows than `least_rows` are live, by the
    sizes of a call:
    `loop.team if(%n : memref<i64>) attributes {live = #loop.live<[arg0 of 128]>, least_rows = 9}`
    """

    name = "loop.team"
    counts = var_operand_def(MemRefType)
    live = opt_prop_def(LiveRowsAttr)
    least_rows = opt_prop_def(IntegerAttr)
    max_threads = opt_prop_def(IntegerAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "(`if` `(` $counts^ `:` type($counts) `)`)? attr-dict-with-keyword $body"

    def __init__(self, ops: Sequence[Operation]) -> None:
        IRDLOperation.__init__(self, operands=[[]], regions=[Region(Block(ops))])

    def fork_from(self, least: int, live: LiveRows, counts: Sequence[SSAValue]) -> None:
        """Let the team have one thread where fewer rows are live; digits end at these numbers."""
        self.operands = [*counts]
        self.properties["live"] = LiveRowsAttr(live)
        self.properties["least_rows"] = IntegerAttr(least, i64)

    def bound(self, threads: int) -> None:
        """Let the team have at most `threads` threads."""
        self.properties["max_threads"] = IntegerAttr(threads, i64)

    def verify_(self) -> None:
        super().verify_()
        if self.max_threads is not None and self.max_threads.value.data < 1:
            raise VerifyException("loop.team: max_threads must be at least 1")
        if (self.live is None) != (self.least_rows is None):
            raise VerifyException("loop.team: live and least_rows are said together, or neither")
        named = () if self.live is None else self.live.data.counts
        if set(named) != set(range(len(self.counts))):
            raise VerifyException(
                f"loop.team: digits of live end at all of its counts, arg0 on: it has "
                f"{len(self.counts)}"
            )
        for value in self.counts:
            if value.type != MemRefType(i64, []):
                raise VerifyException(f"loop.team: a count is a memref<i64>, not {value.type}")
        if team_of(self) is not None:
            raise VerifyException("loop.team: inside of another team")


@op_definition
class SingleOp(_BodyOp):
    """Runs its body on the first thread of the team; the others go on and do not wait.

    `loop.single { func.call @k(%x) : (memref<4xf32>) -> () }`
    """

    name = "loop.single"

    def verify_(self) -> None:
        super().verify_()
        _verify_place(self)


@op_definition
class NumThreadsOp(IRDLOperation):
    """How many threads the team has; 1 where one thread runs a kernel.

    `%t = loop.num_threads : index`
    """

    name = "loop.num_threads"
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self) -> None:
        super().__init__(result_types=[IndexType()])


@op_definition
class ThreadOp(IRDLOperation):
    """The number of the thread in its team, from 0; 0 where one thread runs a kernel.

    `%t = loop.thread : index`
    """

    name = "loop.thread"
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self) -> None:
        super().__init__(result_types=[IndexType()])

    def verify_(self) -> None:
        _verify_place(self)


@op_definition
class BarrierOp(IRDLOperation):
    """No thread of the team goes on before all have come here and their writes can be seen."""

    name = "loop.barrier"
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        _verify_place(self)


def team_of(op: Operation) -> TeamOp | None:
    """The team around an op in the same function."""
    outer = op.parent_op()
    while outer is not None and not isinstance(outer, TeamOp):
        outer = outer.parent_op()
    return outer


def _verify_place(op: Operation) -> None:
    """All threads must come by: these ops stand in a team itself, or in loops there, whose steps
    all threads go through, or at the top of a kernel."""
    outer = op.parent_op()
    if team_of(op) is not None:
        while isinstance(outer, ForOp):
            outer = outer.parent_op()
    if outer is not None and not isinstance(outer, TeamOp | FuncOp):
        raise VerifyException(f"{op.name}: stands in {outer.name}, not in a team or a kernel")


__all__ = [
    "BACKWARD",
    "CHUNK",
    "SHARED",
    "BarrierOp",
    "NumThreadsOp",
    "SingleOp",
    "TeamOp",
    "ThreadOp",
    "team_of",
]
