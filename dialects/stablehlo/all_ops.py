"""The dialects of programs from JAX and TensorFlow: `stablehlo`, `chlo`, and `sdy`'s annotations.

They are read in the pretty form that frameworks print and in the generic one, printed in the
pretty one, and lowered to `prims` (`lowering/stablehlo_to_prims`).
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Attribute, Dialect, Operation, OpTrait, OpTraits
from xdsl.traits import IsTerminator, Pure

from lamina.dialects.stablehlo.attributes import attribute_classes, type_classes
from lamina.dialects.stablehlo.forms import FORMS
from lamina.dialects.stablehlo.op import HloOp
from lamina.dialects.stablehlo.op_table import CHLO, STABLEHLO, Row
from lamina.dialects.stablehlo.sharding import MeshOp, ShardingConstraintOp

_EFFECTS = ("custom_call", "infeed", "outfeed", "recv", "send")
"""Ops that do more than to give their results."""


def _classes(dialect: str, rows: Mapping[str, Row]) -> list[type[Operation]]:
    return [_class(dialect, name, row) for name, row in rows.items()]


def _class(dialect: str, name: str, row: Row) -> type[HloOp]:
    traits: list[OpTrait] = [IsTerminator()] if row.terminator else []
    if name not in _EFFECTS:
        traits.append(Pure())
    members = {"print": Operation.print} if row.form == "generic" else {}
    return type(
        name.replace("-", "_").title().replace("_", "") + "Op",
        (HloOp,),
        {
            "name": f"{dialect}.{name}",
            "__module__": "lamina.dialects.stablehlo.all_ops",
            "row": row,
            "form": FORMS[row.form],
            "traits": OpTraits(lambda: tuple(traits)),
            **members,
        },
    )


def _attributes(dialect: str) -> list[type[Attribute]]:
    types = type_classes().values() if dialect == "stablehlo" else ()
    return [*attribute_classes(dialect).values(), *types]


StableHLO = Dialect("stablehlo", _classes("stablehlo", STABLEHLO), _attributes("stablehlo"))
Chlo = Dialect("chlo", _classes("chlo", CHLO), _attributes("chlo"))
Mhlo = Dialect("mhlo", [], _attributes("mhlo"))
Sdy = Dialect("sdy", [MeshOp, ShardingConstraintOp], _attributes("sdy"))
