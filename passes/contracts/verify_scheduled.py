"""`verify-scheduled`: the contract of what code generation takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import chain

from xdsl.context import Context
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from lamina.codegen.target import STACK_BYTES
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import (
    BarrierOp,
    ExternOp,
    GenericOp,
    KernelOp,
    PollOp,
    SingleOp,
    TeamOp,
)
from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.dialects.loop.team import BACKWARD, CHUNK, SHARED
from lamina.dialects.op_list import instances, list_ops
from lamina.passes.calls.callee_programs import CALLEE
from lamina.passes.contracts.contracts import verify_addressable
from lamina.passes.contracts.entry_attributes import verify_entries
from lamina.passes.fusion.outline_kernels import KERNEL
from lamina.passes.kernel_passes import EntryPass
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.memory.plan_scratch import SCRATCH, bytes_of
from lamina.passes.parallel.team_calls import FREE_OPS
from lamina.passes.parallel.team_steps import is_shared
from lamina.passes.refusal import invalid

ENTRY_OPS = frozenset(
    {
        "arith.constant",
        "arith.addi",
        "memref.view",
        "memref.load",
        "memref.copy",
        "scf.if",
        "scf.while",
        "scf.for",
        "scf.condition",
        "scf.yield",
        "loop.reshape",
        "loop.row",
        "loop.poll",
        "loop.extern",
        "func.call",
        "func.return",
        "loop.team",
        "loop.single",
        "loop.barrier",
    }
)
KERNEL_DIALECTS = frozenset({"arith", "math", "memref", "vector", "scf", "loop", "cf", "func"})


class VerifyScheduledPass(EntryPass):
    """Check that entries only call kernels and that kernels are explicit loops over memory."""

    name = "verify-scheduled"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_entries(op, "scheduled")
        kernels = {
            f.sym_name.data: f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)
        }
        listed = {f: list_ops(f) for f in kernels.values()}
        verify_addressable(chain.from_iterable(listed.values()))
        verify_calls(listed)
        for name, kernel in kernels.items():
            if not kernel.body.blocks:
                raise invalid(kernel, f"@{name} is declared without a body")

        @cache
        def may_be_shared(name: str) -> bool:
            return name in kernels and is_shared(kernels[name].body.block)

        for function in op.body.block.ops:
            if not isinstance(function, func.FuncOp):
                raise invalid(function, "stands at module level, where functions are")
            verify_signature(function)
            ops = listed[function]
            if ENTRY in function.attributes or CALLEE in function.attributes:
                verify_entry(function, ops)
                for team in instances(ops, TeamOp):
                    _verify_team(team.body.block, may_be_shared)
            elif KERNEL in function.attributes:
                _verify_kernel(function, ops)
                if SHARED in function.attributes and not may_be_shared(function.sym_name.data):
                    raise invalid(function, f"{SHARED}: a team cannot run this kernel together")
            else:
                raise invalid(
                    function,
                    f"@{function.sym_name.data} is neither an entry "
                    f"({ENTRY}), nor called by one ({CALLEE}), nor a kernel ({KERNEL})",
                )


def verify_signature(function: func.FuncOp) -> None:
    """Arguments are memrefs of static shape; there are no results."""
    kind = function.function_type
    for value in kind.inputs.data:
        if not isinstance(value, MemRefType) or any(e < 0 for e in value.get_shape()):
            raise invalid(
                function,
                f"@{function.sym_name.data} takes {value}; arguments are memrefs of static shape",
            )
    if kind.outputs.data:
        raise invalid(function, f"@{function.sym_name.data} returns values; results are arguments")


def verify_calls(listed: Mapping[func.FuncOp, Sequence[Operation]]) -> None:
    """Entries, and what they call, call kernels and callees of the module, without a circle;
    kernels call nothing, themselves least of all. Takes its functions with all of their ops."""
    functions = {f.sym_name.data: f for f in listed}
    edges: dict[str, dict[str, func.CallOp]] = {}
    for function, ops in listed.items():
        for op in instances(ops, func.CallOp):
            name = op.callee.root_reference.data
            if KERNEL in function.attributes:
                raise invalid(op, f"calls @{name} in a kernel; only entries call kernels")
            called = functions.get(name)
            if called is None or not (KERNEL in called.attributes or CALLEE in called.attributes):
                raise invalid(op, f"calls @{name}, which is no kernel")
            edges.setdefault(function.sym_name.data, {})[name] = op
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        raise invalid(
            edges[circle[1]][circle[0]],
            f"{' calls '.join(f'@{name}' for name in reversed(circle))}: recursion is not compiled",
        ) from None


def verify_entry(function: func.FuncOp, ops: Sequence[Operation]) -> None:
    """An entry, of these ops with itself, only calls kernels, in branches and loops."""
    for op in ops[1:]:
        if op.name not in ENTRY_OPS:
            raise invalid(
                op,
                f"stands in entry @{function.sym_name.data}; an entry only calls kernels, in "
                "branches and loops",
            )
        if isinstance(op, ExternOp | PollOp):
            _verify_callee(function, op)


def _verify_callee(function: func.FuncOp, call: ExternOp | PollOp) -> None:
    """Code is called at the address of an argument of its own kind, made by the same signature."""
    callee, kind = call.callee, "poll" if isinstance(call, PollOp) else "extern"
    if callee is None:  # code generation says so where it needs one
        return
    entry = _entry_of(function, callee)
    if entry.get("lamina.kind") != StringAttr(kind):
        raise invalid(call, f"calls through no argument of kind {kind}")
    given = entry.get("lamina.signature")
    if isinstance(call, ExternOp) and given not in (None, StringAttr(call.signature)):
        raise invalid(call, f"%{callee.name_hint} has another lamina.signature: {given}")


def _entry_of(function: func.FuncOp, value: SSAValue) -> dict[str, Attribute]:
    """The attributes of an argument of the function; none for other values."""
    if not isinstance(value, BlockArgument) or value.block is not function.body.block:
        return {}
    if function.arg_attrs is None:
        return {}
    return dict(function.arg_attrs.data[value.index].data)


def _verify_team(block: Block, may_be_shared: Callable[[str], bool]) -> None:
    """Every thread runs what stands in a team, and in loops there, so only shared loops may write
    memory there."""
    for op in block.ops:
        if isinstance(op, SingleOp | BarrierOp | scf.YieldOp) or op.name in FREE_OPS:
            continue
        if isinstance(op, scf.ForOp):
            _verify_team(op.body.block, may_be_shared)
            continue
        name = op.callee.root_reference.data if isinstance(op, func.CallOp) else op.name
        if not may_be_shared(name):
            raise invalid(
                op,
                f"a team runs {name} on every thread, and it is no kernel of parallel loops; "
                "loop.single runs it on one",
            )


def _verify_scratch(function: func.FuncOp, ops: Sequence[Operation]) -> None:
    """What is noted of a kernel's stack is what it allocates, and fits."""
    noted = function.attributes.get(SCRATCH)
    taken = bytes_of(instances(ops, memref.AllocaOp))
    if noted is None:
        if taken > STACK_BYTES:
            raise invalid(
                function,
                f"@{function.sym_name.data} allocates {taken} bytes of stack, and there are "
                f"{STACK_BYTES}: plan-scratch puts them into the arena",
            )
        return
    if not isinstance(noted, DenseArrayBase) or len(noted.get_values()) != 2:
        raise invalid(function, f"{SCRATCH} is bytes of stack and of arena, not {noted}")
    noted_stack = int(noted.get_values()[0])
    if noted_stack < taken or noted_stack > STACK_BYTES:
        raise invalid(
            function,
            f"@{function.sym_name.data} allocates {taken} bytes of stack, {SCRATCH} has "
            f"{noted_stack}, and there are {STACK_BYTES}",
        )


def _verify_kernel(function: func.FuncOp, ops: Sequence[Operation]) -> None:
    _verify_scratch(function, ops)
    allowed: set[type[Operation]] = set()
    for op in ops[1:]:
        if type(op) not in allowed:
            _verify_kind(op, function)
            allowed.add(type(op))
        if type(op) in (scf.ForOp, scf.ParallelOp):
            _verify_steps(op)  # pyright: ignore[reportArgumentType]
            for key in (CHUNK, BACKWARD):
                if key in op.attributes:
                    _verify_shared_loop(op, function, key)


def _verify_kind(op: Operation, kernel: func.FuncOp) -> None:
    """Whether ops of this class stand in kernels."""
    dialect = op.name.partition(".")[0]
    if isinstance(op, ExternOp | PollOp):
        raise invalid(op, "stands in a kernel; only entries call what is outside")
    if isinstance(op, GenericOp | KernelOp) or dialect not in KERNEL_DIALECTS:
        raise invalid(op, f"stands in kernel @{kernel.sym_name.data}, and is not scheduled")


def _verify_shared_loop(op: Operation, kernel: func.FuncOp, key: str) -> None:
    """Iterations are taken in chunks, or backwards, of loops that a team shares out."""
    if not isinstance(op, scf.ParallelOp) or op.parent is not kernel.body.block:
        raise invalid(op, f"has {key}, and is no scf.parallel at the top of its kernel")
    chunk = op.attributes[key]
    if key == BACKWARD:
        if not isinstance(chunk, UnitAttr):
            raise invalid(op, f"{BACKWARD} is a mark without a value, not {chunk}")
    elif not isinstance(chunk, IntegerAttr) or chunk.value.data < 1:
        raise invalid(op, f"{CHUNK} is a positive number of iterations, not {chunk}")


def _verify_steps(loop: scf.ForOp | scf.ParallelOp) -> None:
    for step in (loop.step,) if isinstance(loop, scf.ForOp) else loop.step:
        number = constant_integer(step)
        if number is not None and number < 1:
            raise invalid(loop, f"its step is {number}; it has to be positive")
