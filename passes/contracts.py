"""What the contracts of the tensor layers share: which ops may stand there, how values are used."""

from __future__ import annotations

from collections.abc import Callable, Collection

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import Operation

from lamina.passes.dominance import verify_dominance
from lamina.passes.refusal import invalid

SURROUNDINGS = ("builtin", "func", "arith", "control")
"""What holds programs together, branches and loops, and computes with sizes, at every layer."""


def verify_layer(
    module: ModuleOp,
    layer: str,
    dialects: Collection[str],
    check: Callable[[Operation], None] = lambda op: None,
) -> None:
    """Every op is of one of `dialects` (or func, builtin) and passes `check`; values dominate.

    Raises `InputError` naming the first op that breaks the contract of `layer`.
    """
    module.verify()
    verify_dominance(module)
    for op in module.walk():
        dialect = op.name.partition(".")[0]
        if dialect in dialects:
            check(op)
        elif dialect not in SURROUNDINGS:
            allowed = ", ".join([*dialects, *SURROUNDINGS])
            raise invalid(op, f"not allowed at the {layer} layer, only: {allowed}")


def refuse_open_sizes(op: Operation) -> None:
    """No result of the op has a dimension that only the data tell."""
    for result in op.results:
        if isinstance(result.type, TensorType) and DYNAMIC_INDEX in result.type.get_shape():
            raise invalid(op, f"gives {result.type}; run bound-dynamic-shapes first")


def refuse_mutation(op: Operation) -> None:
    """No argument of the op is written."""
    schema = getattr(op, "schema", None)
    if schema is None:
        return
    for argument in schema.args:
        if argument.mutated:
            raise invalid(op, f"mutates its argument {argument.name}; run functionalize first")
