"""Calls of a graph that Dynamo captured: which arguments are passed on, and which are bound."""

from collections.abc import Collection
from functools import partial
from typing import Any

import torch

from lamina.codegen.target import Target
from lamina.dialects.errors import ArgumentError
from lamina.frontends.dynamo_graph import DynamoGraph
from lamina.runtime.arguments import FlatStructure
from lamina.runtime.compiled import Compiled, Program
from lamina.runtime.dispatch.binding import Layout
from lamina.runtime.layers import render

WEIGHT_MODES = ("checked", "passed", "frozen")
"""How parameters and buffers reach a program: see `lamina_backend`."""


class _ListStructure(FlatStructure):
    """Arguments by position, all results as one list, whatever their number."""

    native_kind = "torch"

    def layout(self, outputs: int) -> Layout:
        """The results as they are."""
        return Layout("list", tuple(range(outputs)), native_kind=self.native_kind)


class DynamoCall:
    """One compiled graph, called with the list of its arguments; it empties the list.

    `static` has the positions of parameters and buffers. With `check`, those that are bound are
    bound anew when their version counter or address has changed.
    """

    _boxed_call = True  # AOTAutograd's sign that the arguments come as one list

    def __init__(
        self,
        graph: DynamoGraph,
        program: Program,
        target: Target,
        static: Collection[int],
        *,
        check: bool,
        rounding: str,
    ) -> None:
        self._graph = graph
        self._target = target
        self._program = program
        self._check = check
        self._rounding = rounding
        self._compiled: Compiled | None = None
        self._stamps: list[tuple[int, int, int]] = []
        self._outputs = graph.outputs
        self._all_kept = None not in graph.outputs
        places = list(enumerate(graph.inputs))
        self._weights = [place for place, position in places if position in static]
        self._strided = [place for place, position in places if position in graph.strided]
        self._copied_back = [p for p in self._strided if graph.inputs[p] in graph.mutated]
        self._aliases: dict[int, tuple[int, torch.Tensor]] = {}  # place: address, tensor over it

    def __call__(self, args: list[Any]) -> list[Any]:
        """Runs the graph; ArgumentError for tensors that do not fit it."""
        compiled = self._compiled
        if compiled is None or (self._check and self._has_changed(args)):
            compiled = self._compiled = self._bind(args)
        values = [args[position] for position in self._graph.inputs]
        for place in self._weights:
            values[place] = self._alias(place, values[place])
        for place in self._strided:
            values[place] = values[place].contiguous()
        results = compiled(*values)
        for place in self._copied_back:
            args[self._graph.inputs[place]].copy_(values[place])
        args.clear()
        if self._all_kept:
            return results
        return [None if number is None else results[number] for number in self._outputs]

    def _alias(self, place: int, tensor: torch.Tensor) -> torch.Tensor:
        """A weight without its gradient flag, made again when its memory is another."""
        found = self._aliases.get(place)
        address = tensor.data_ptr()
        if found is None or found[0] != address:
            found = self._aliases[place] = address, tensor.detach()
        return found[1]

    def _has_changed(self, args: list[Any]) -> bool:
        for position, version, address in self._stamps:
            tensor = args[position]
            if tensor._version != version or tensor.data_ptr() != address:
                return True
        return False

    def _bind(self, args: list[Any]) -> Compiled:
        graph = self._graph
        if self._check:
            for position in graph.bound:
                _refuse_inference(args[position])
            self._stamps = [(p, args[p]._version, args[p].data_ptr()) for p in graph.bound]
        constants = {name: args[position].detach() for position, name in graph.bound.items()}
        names = [str(position) for position in graph.inputs]
        return Compiled(
            self._program,
            {**constants, **graph.constants},
            _ListStructure(names),
            partial(render, graph.module, target=self._target, rounding=self._rounding),
        )


def _refuse_inference(tensor: torch.Tensor) -> None:
    if tensor.is_inference():
        raise ArgumentError(
            "weights='checked' needs version counters, which tensors made under "
            "torch.inference_mode() lack; use weights='passed' or 'frozen'"
        )
