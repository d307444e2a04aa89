"""`lamina.fuse`: what a program says itself about the fusion of a nest's results.

`"never"` on a nest: its results are stored, and what reads them is another kernel. `"always"`: its
results are computed inside what reads them, or in one kernel with it, wherever that is correct,
whatever it costs. The mark is given on an op of any layer and follows the op's result down.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from lamina.dialects.op_list import list_ops
from lamina.passes.refusal import invalid

FUSE = "lamina.fuse"
"""The attribute's name."""

VALUES = ("always", "never")

MATERIALIZED = "lamina.materialized"
"""Unit attribute of a nest that a pass has put in front of another, so that the other need not
compute its result again and again: it is never inlined, but may share a kernel."""


def override(op: object) -> str | None:
    """`"always"`, `"never"`, or None where the program leaves it to the cost model.

    Raises InputError for any other value.
    """
    attributes = getattr(op, "attributes", None)  # which a block, the owner of arguments, has not
    mark = None if attributes is None else attributes.get(FUSE)
    if mark is None or not isinstance(op, Operation):
        return None
    if isinstance(mark, StringAttr) and mark.data in VALUES:
        return mark.data
    raise invalid(op, f'{FUSE} = {mark}: it is "always" or "never"')


def check_overrides(module: ModuleOp) -> None:
    """Refuse marks with other values than `VALUES`, also where nothing would ask for them."""
    for op in list_ops(module):
        if FUSE in op.attributes:
            override(op)
