"""Results that are views of arguments, of which AOTAutograd asks where they lie.

AOTAutograd makes such a result anew of the argument. Where the ops of the view take symbolic
numbers, and where arguments share memory and one is written, so that it passes their base, it asks
the compiled result for its strides and for where it begins, which a tensor in memory of its own
cannot say: so the views themselves are made, of the arguments of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import fx

from lamina.dialects.errors import UnsupportedError
from lamina.dialects.records import record

Call = Callable[[list[Any]], list[Any]]

_WRITE = torch.ops.aten.copy_.default


@record
class ArgumentViews:
    """The results of a graph at `positions`, which `made` makes of its arguments."""

    positions: tuple[int, ...]
    made: fx.GraphModule

    def beside(self, call: Call) -> Call:
        """A call of the graph that gives these views."""

        def boxed(args: list[Any]) -> list[Any]:
            views = self.made(*args)
            results = call(args)
            for position, view in zip(self.positions, views, strict=True):
                results[position] = view  # writes of the graph show in it
            return results

        boxed._boxed_call = True  # AOTAutograd's sign that the arguments come as one list
        return boxed


def argument_views(module: fx.GraphModule, positions: Collection[int]) -> ArgumentViews | None:
    """The results at these positions, if there are any.

    Raises UnsupportedError where the part of an argument that a view shows depends on data, and
    where a view has another dtype: AOTAutograd makes it anew with the argument's.
    """
    if not positions:
        return None
    results: Any = module.graph.output_node().args[0]
    written = {n.args[1]: n.args[0] for n in module.graph.nodes if n.target is _WRITE}
    graph = fx.Graph()
    copied = {n: graph.node_copy(n) for n in module.graph.nodes if n.op == "placeholder"}
    copied |= {value: copied[place] for value, place in written.items() if place in copied}
    for position in positions:
        _refuse_other_dtype(results[position], copied)
    graph.output(tuple(_copy(results[p], graph, copied) for p in positions))
    return ArgumentViews(tuple(positions), fx.GraphModule(module, graph))


def _copy(node: fx.Node, graph: fx.Graph, copied: dict[Any, fx.Node]) -> fx.Node:
    """The node in the other graph, with all that it takes; views and numbers only."""
    for source in node.all_input_nodes:
        if source not in copied:
            _copy(source, graph, copied)
    if node not in copied:
        if node.target is torch.ops.aten._local_scalar_dense.default:
            raise UnsupportedError(
                "torch.compile(backend='lamina')",
                "a result is a view of an argument, and of which part depends on data",
                nearest="a clone() of it",
            )
        copied[node] = graph.node_copy(node, lambda source: copied[source])
    return copied[node]


def _refuse_other_dtype(result: fx.Node, arguments: Collection[fx.Node]) -> None:
    argument = result
    while argument not in arguments:
        argument = argument.all_input_nodes[0]
    seen, held = result.meta["val"].dtype, argument.meta["val"].dtype
    if seen is not held and seen.is_complex == held.is_complex:  # parts of numbers it knows
        raise UnsupportedError(
            "torch.compile(backend='lamina')",
            f"a result is a view of {held} as {seen}, which torch makes anew with the other dtype",
            nearest="a clone() of it",
        )
