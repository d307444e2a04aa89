"""Calls of extern kernels."""

from __future__ import annotations

import json
from collections.abc import Sequence

from xdsl.ir import SSAValue

from lamina.dialects.loop.extern import ExternOp, option_attribute
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.prims_to_loop.table import LoopBuilder, lowers


@lowers("extern")
def _extern(op: SchemaOp, b: LoopBuilder) -> Sequence[SSAValue]:
    """The same call at the loop layer."""
    try:
        options = json.loads(op.arg("options"))
        attributes = {name: option_attribute(value) for name, value in options.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise b.refuse(f"the options are no JSON object of numbers and strings: {error}") from None
    types = [result.type for result in op.results]
    call = ExternOp(op.arg("kernel"), op.arg("inputs"), types, attributes)
    return list(b.insert(call).results)
