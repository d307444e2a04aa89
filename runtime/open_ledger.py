"""The ledger of programs whose sizes are open: formulas, as text."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from lamina.codegen.target import Target
from lamina.dialects.errors import LaminaError
from lamina.dialects.sizes import Extent
from lamina.lowering.custom_pipeline import Pipeline
from lamina.passes.contracts.argument_sizes import size_names
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.cost.open_costs import open_costs, traffic_of_ends
from lamina.runtime.kernels import summarize_ops
from lamina.runtime.layers import layer_of, lower

OPEN_SIZES = Pipeline().drop("bound-dynamic-shapes")
"""The passes that take a program down to loops with the sizes that it has open."""


def open_ledger(module: ModuleOp, target: Target) -> str:
    """Bytes and flops of each op of `@main` by itself, as formulas of its sizes, and of the whole.

    Where an op does not go down with open sizes, the reason.
    """
    lowered = module.clone()
    names = size_names(arguments_of(_main(lowered)))
    header = "sizes: " + ", ".join(f"{text} in {name.range}" for text, name in names.items())
    layer = layer_of(lowered)
    try:
        if layer != "loop":
            lower(lowered, layer, "loop", target, passes=OPEN_SIZES)
        main = _main(lowered)
        costs = open_costs(main)
        ends = traffic_of_ends(main)
    except LaminaError as error:
        return f"{header}\nno formulas: {str(error).splitlines()[0]}"
    flops: Extent = 0
    for cost in costs:
        flops = flops + cost.flops
    rows = [(summarize_ops([c.op]), str(c.traffic), str(c.flops)) for c in costs]
    rows.append(("arguments and results", str(ends), str(flops)))
    return "\n".join([header, *_table([("op", "bytes", "flops"), *rows])])


def _main(module: ModuleOp) -> FuncOp:
    """The function that calls run: `@main`, or the first one there is."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    named = [function for function in functions if function.sym_name.data == "main"]
    return (named or functions)[0]


def _table(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return [f"{a.ljust(widths[0])}  {b.ljust(widths[1])}  {c}" for a, b, c in rows]
