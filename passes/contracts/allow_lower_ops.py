"""`allow-lower-ops`: a program that enters at a tensor layer may have ops of those below.

`aten` with `core_aten` or `prims` in one function: ops of lower layers stand as they are until the
rest has come down to them. Contracts let them pass, as `lamina.allow` names them.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.dialects.op_list import list_ops
from lamina.passes.calls.callee_programs import callee_programs
from lamina.passes.contracts.contracts import FOREIGN, allow_ops

_DIALECTS = ("aten", "core_aten", "prims")
"""Of the tensor layers, top first; `loop` stands at each of them anyway."""


class AllowLowerOpsPass(ModulePass):
    """Name the ops of a program that are of a lower layer than its highest one."""

    name = "allow-lower-ops"

    links = True
    """Functions that stay are programs of the same layer, which each have the attribute."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found: dict[str, set[str]] = {}
        for inner in list_ops(op):
            dialect = inner.name.partition(".")[0]
            if dialect in _DIALECTS and inner.name != FOREIGN:
                found.setdefault(dialect, set()).add(inner.name)
        present = [dialect for dialect in _DIALECTS if dialect in found]
        lower = set[str]().union(*(found[dialect] for dialect in present[1:]))
        for program in (op, *callee_programs(op).values()):
            allow_ops(program, sorted(lower))
