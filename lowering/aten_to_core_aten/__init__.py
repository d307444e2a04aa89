"""`convert-aten-to-core-aten`: functional ATen becomes the core set, by decomposition.

An overload that is in the core set keeps its arguments and only changes its dialect. All others
have a function in one of the family modules beside this file.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.dialects.records import record


@record
class ConvertAtenToCoreAtenPass(ModulePass):
    """Decompose `aten` ops to `core_aten`; overloads named in `keep` stay as they are.

    The contracts of the layers below let those pass: they stand in `lamina.allow` of the module.
    """

    name = "convert-aten-to-core-aten"

    keep: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from lamina.dialects.aten import Aten
        from lamina.lowering.aten_to_core_aten.table import DECOMPOSITIONS

        DECOMPOSITIONS.lower(op, Aten, self.keep)
