"""Programs that another program calls: modules in its module, by name.

A function that is not inlined is a module of its name beside the functions that call it, with the
function as `@main`; a call of it is a call of the extern kernel `call.NAME`. Each such module goes
through every pass as a program does, with memory and prepared constants of its own, until
`link-callees` puts them together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from lamina.passes.refusal import invalid

LIBRARY = "call"
"""The library of the kernels that stand for such functions."""

CALLEE = "lamina.callee"
"""Attribute of a function that entries call as they call kernels: what was an entry of a callee."""

_CALLS = ("loop.extern", "prims.extern")


def callee_programs(module: ModuleOp) -> dict[str, ModuleOp]:
    """The programs that stand in a module, by name."""
    return {
        op.sym_name.data: op
        for op in module.body.block.ops
        if isinstance(op, ModuleOp) and op.sym_name is not None
    }


def kernel_of(name: str) -> str:
    """The extern kernel that stands for a callee."""
    return f"{LIBRARY}.{name}"


def callee_named(kernel: str) -> str | None:
    """The callee that an extern kernel stands for; None for other kernels."""
    library, _, name = kernel.partition(".")
    return name if library == LIBRARY else None


def callee_of(op: Operation) -> str | None:
    """The callee that an op calls; None for other ops."""
    kernel = op.properties.get("kernel") if op.name in _CALLS else None
    return callee_named(kernel.data) if isinstance(kernel, StringAttr) else None


def calls_of_callees(program: Operation) -> Iterator[tuple[str, Operation]]:
    """The calls in a program or a function, not those in the programs that stand in it."""
    for region in program.regions:
        for block in region.blocks:
            for op in block.ops:
                name = callee_of(op)
                if name is not None:
                    yield name, op
                elif not isinstance(op, ModuleOp):
                    yield from calls_of_callees(op)


def in_order_of_calls(module: ModuleOp, programs: Mapping[str, ModuleOp]) -> list[str]:
    """The programs that a module calls, at however many removes, each behind those it calls.

    Raises InputError for one that calls itself, be it through others.
    """
    if not programs:
        return []
    found: dict[str, None] = {}
    under_way: set[str] = set()

    def visit(program: ModuleOp) -> None:
        for name, call in calls_of_callees(program):
            if name in under_way:
                raise invalid(call, f"'{name}' calls itself: programs are no recursion")
            if name in programs and name not in found:
                under_way.add(name)
                visit(programs[name])
                under_way.remove(name)
                found[name] = None

    visit(module)
    return list(found)


def apply_to_programs(coming: ModulePass, context: Context, module: ModuleOp) -> None:
    """Applies a pass to each callee and to the program itself, one by one.

    A pass with the attribute `links` gets all of them at once.
    """
    programs = [] if getattr(coming, "links", False) else list(callee_programs(module).values())
    for program in programs:
        program.detach()
    try:
        for program in (*programs, module):
            coming.apply(context, program)
    finally:
        for program in programs:
            module.body.block.add_op(program)
