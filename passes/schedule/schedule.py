"""`schedule`: kernels become explicit loops, vectors and parallel regions."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass

from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.dialects.loop import LONE_OPS, GenericOp, ReshapeOp
from lamina.dialects.loop.contraction import PANEL
from lamina.dialects.loop.nest_attributes import PART
from lamina.passes.cost.kernel_costs import COST, kernel_cost
from lamina.passes.cost.team_cost import (
    NANOSECONDS,
    kernel_nanoseconds,
    program_nanoseconds,
    team_pays,
)
from lamina.passes.fusion.outline_kernels import KERNEL, verify_kernel_function
from lamina.passes.schedule.combine import identity_value
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute
from lamina.passes.schedule.lone_ops import schedule_lone_op
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.pair_copy import PairCopy
from lamina.passes.schedule.product_kernel import schedule_product_kernel
from lamina.passes.schedule.result_pairs import paired
from lamina.passes.schedule.row_kernel import PARALLEL_WORK, schedule_row_kernel, work
from lamina.passes.schedule.stages import is_temporary, stages_of
from lamina.passes.schedule.streaming import streamed_arguments


@dataclass(frozen=True)
class SchedulePass(ModulePass):
    """Schedule every outlined kernel for a target (a name that `Target.parse` knows)."""

    name = "schedule"

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.parse(self.target)
        machine = Roofline.of(target)
        functions = [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]
        kernels = [function for function in functions if KERNEL in function.attributes]
        for function in kernels:
            verify_kernel_function(function)
            function.attributes[COST] = kernel_cost(function).attribute()
            estimate = kernel_nanoseconds(function, machine)
            function.attributes[NANOSECONDS] = IntegerAttr(estimate, i64)
        forks = team_pays(program_nanoseconds(functions), 0)
        streamed = streamed_arguments(op, target)
        for function in kernels:
            past = streamed.get(function.sym_name.data, frozenset())
            schedule_kernel(function, target, forks=forks, streamed=past)


def schedule_kernel(
    function: func.FuncOp,
    target: Target,
    *,
    forks: bool = True,
    streamed: frozenset[int] = frozenset(),
) -> None:
    """Replace the body of one bufferized kernel function by its schedule.

    Without `forks` it runs on the calling thread alone. The arguments whose numbers are in
    `streamed` are written past the caches.
    """
    old = function.body.block
    nests = [op for op in old.ops if isinstance(op, GenericOp)]
    alone = [op for op in old.ops if isinstance(op, LONE_OPS)]
    if not nests and not alone:
        return
    new = Block(arg_types=[a.type for a in old.args])
    emit = Emitter(new)
    memory = Memory(forks=forks, streamed=frozenset(old.args[n] for n in streamed))
    for argument, replacement in zip(old.args, new.args, strict=True):
        replacement.name_hint = argument.name_hint
        kind = argument.type
        assert isinstance(kind, MemRefType)
        count = 1
        for extent in kind.get_shape():
            count *= extent
        flat = ReshapeOp(replacement, MemRefType(kind.element_type, [count]))
        memory.flat[argument] = emit.add(flat)
    for op in alone:
        schedule_lone_op(emit, op, memory, target)
    for nest in nests:
        if 0 in nest.extents:
            fill_with_identity(emit, nest, memory)
    nests = [nest for nest in nests if 0 not in nest.extents]
    if not any(PANEL in nest.attributes for nest in nests):
        nests = paired(nests, target.lanes(32))
    for part in _parts(nests):
        stages = stages_of(part)
        if any(PANEL in nest.attributes for nest in part):
            schedule_product_kernel(emit, stages, memory, target)
        elif len(stages) == 1 and (pairs := PairCopy.of(stages[0])) is not None:
            pairs.schedule(emit, memory, forks=memory.forks and work(stages) >= PARALLEL_WORK)
        else:
            schedule_row_kernel(emit, stages, memory, target)
    new.add_op(func.ReturnOp.create())
    function.detach_region(function.body)
    function.add_region(Region(new))


def _parts(nests: list[GenericOp]) -> list[list[GenericOp]]:
    """The nests by the part of the kernel that they belong to (see `split-domains`)."""
    parts: dict[object, list[GenericOp]] = {}
    for nest in nests:
        parts.setdefault(nest.attributes.get(PART), []).append(nest)
    return list(parts.values())


def fill_with_identity(emit: Emitter, nest: GenericOp, memory: Memory) -> None:
    """What a reduction over an empty domain gives: its combiner's identity everywhere.

    An empty sum is 0.0, though sums start at -0.0, which alone keeps the sign of every zero.
    """
    for out, combiner in zip(nest.outs, nest.combiner_names, strict=True):
        kind = out.type
        assert isinstance(kind, MemRefType)
        if combiner == "store" or is_temporary(out):
            continue
        identity = identity_value(combiner, kind.element_type)
        if combiner == "add":
            identity = number_attribute(0, kind.element_type)
        value = emit.constant(identity)
        fill(emit, value, memory.flat[out], prod(kind.get_shape()))


def fill(emit: Emitter, value: SSAValue, flat: SSAValue, count: int) -> None:
    """Write one scalar to every element of a rank-1 memref."""

    def one(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
        inner.run(memref.StoreOp.get(value, flat, [inner.value(at)]))
        return values

    emit.loop(0, count, 1, [], one)
