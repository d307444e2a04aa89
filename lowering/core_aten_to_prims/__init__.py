"""`convert-core-aten-to-prims`: type promotion and broadcasting become ops of their own.

Families of overloads are lowered by the modules beside this file. Overloads without a lowering
stand in `limitations.tsv` with the reason.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.dialects.records import record


@record
class ConvertCoreAtenToPrimsPass(ModulePass):
    """Lower `core_aten` ops to `prims`; overloads named in `keep` stay as they are.

    The contracts of the layers below let those pass: they stand in `lamina.allow` of the module.
    """

    name = "convert-core-aten-to-prims"

    keep: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from lamina.dialects.core_aten import CoreAten
        from lamina.lowering.core_aten_to_prims.table import LOWERINGS

        LOWERINGS.lower(op, CoreAten, self.keep)
