"""Calls of a graph that Dynamo captured and that runs in stages, as sizes depend on data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from lamina.frontends.dynamo_call import check_begin
from lamina.frontends.dynamo_graph import DynamoGraph
from lamina.passes.contracts.declared import arguments_of
from lamina.runtime.arguments import Structure
from lamina.runtime.compiled import Compiled
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.entry import function_named


class StagedDynamoCall:
    """One graph, called with the list of its arguments; it empties the list.

    Weights are read in each call.
    """

    _boxed_call = True  # AOTAutograd's sign that the arguments come as one list

    def __init__(self, graph: DynamoGraph, program: Compiled) -> None:
        self._graph, self._program = graph, program
        self._places = _places(graph)

    def __call__(self, args: list[Any]) -> list[Any]:
        """Runs the stages; ExecutionError for sizes that the graph does not take."""
        for position, begin in self._graph.begins.items():
            check_begin(args[position], position, begin)
        values = [args[place] for place in self._places]
        args.clear()
        plain = [v.detach() if isinstance(v, torch.Tensor) else v for v in values]
        results = self._program(*plain)
        finish = self._graph.finish
        return results if finish is None else finish(results)


def _places(graph: DynamoGraph) -> list[int]:
    """The positions of the call's arguments that the program takes, in its order."""
    main = function_named(graph.module, "main")
    assert main is not None
    bound = {name: place for place, name in graph.bound.items()}
    inputs = iter(graph.inputs)
    return [
        bound[declared.name] if declared.name in bound else next(inputs)
        for declared in arguments_of(main)
        if declared.name not in graph.constants
    ]


class ListStructure(Structure):
    """Inputs by position; a list of results, some of which are None."""

    native_kind = "torch"

    @property
    def is_flat(self) -> bool:
        """Inputs come by position."""
        return True

    def __init__(self, outputs: Sequence[int | None]) -> None:
        self._outputs = tuple(outputs)

    def flatten(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """The arguments."""
        return args

    def layout(self, outputs: int) -> Layout:
        """A list with None for results that are none."""
        return Layout("list", self._outputs, native_kind=self.native_kind)

    def kept_by(self) -> str | None:
        """Nothing: inputs are flat."""
        return None

    def recorded(self) -> None:
        """None: inputs are flat."""
