"""What a kernel writes lies apart from whatever else it is given.

Schedules reorder the points of a kernel as if its arguments were apart. Two that share bytes of the
arena keep the meaning only where `in_place_pairs` proves it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import combinations

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp

from lamina.dialects.ir_links import block_ops
from lamina.dialects.op_list import ops_of
from lamina.dialects.records import record
from lamina.passes.memory.in_place import in_place_pairs
from lamina.passes.memory.memory_accesses import Access, EntryMemory, root_of, written_arguments
from lamina.passes.refusal import invalid


@record
class _Kernel:
    """The arguments that a kernel touches: whether it writes them, and which may share memory."""

    written: Mapping[int, bool]
    in_place: frozenset[tuple[int, int]]


def verify_kernel_memory(module: ModuleOp) -> None:
    """Check all calls of kernels. Raises InputError at the first whose results overlap."""
    functions = {
        f.sym_name.data: f for f in block_ops(module.body.block) if isinstance(f, func.FuncOp)
    }

    @cache
    def kernel(name: str) -> _Kernel:
        function = functions[name]
        pairs = frozenset((min(pair), max(pair)) for pair in in_place_pairs(function))
        return _Kernel(written_arguments(function), pairs)

    for function in functions.values():
        memory = EntryMemory.of(function)
        for op in ops_of(function, func.CallOp):
            if op.callee.root_reference.data in functions:
                _verify_call(op, memory, kernel)


def _verify_call(call: func.CallOp, memory: EntryMemory, kernel: Callable[[str], _Kernel]) -> None:
    places = {
        number: memory.access(value, writes=True)
        for number, value in enumerate(call.arguments)
        if isinstance(root_of(value).owner, memref.ViewOp)
    }
    shared = [
        pair for pair in combinations(places, 2) if places[pair[0]].conflicts(places[pair[1]])
    ]
    if not shared:
        return
    callee = call.callee.root_reference.data
    called = kernel(callee)
    for pair in shared:
        first, second = pair
        if not (called.written.get(first, False) or called.written.get(second, False)):
            continue
        if pair in called.in_place and places[first] == places[second]:
            continue
        raise invalid(
            call,
            f"arguments {first} and {second} of @{callee} share bytes of the arena "
            f"({_bytes(places[first])} and {_bytes(places[second])}), and the kernel writes one of "
            "them; only a result that replaces an argument element by element may lie in its place",
        )


def _bytes(place: Access) -> str:
    return f"{place.first} to {place.end}"
