"""Calls of a graph that Dynamo captured and that runs in stages, as sizes depend on data."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import torch

from lamina.dialects.extension_tables import kept_scopes
from lamina.frontends.dynamo_call import check_begin
from lamina.frontends.dynamo_graph import DynamoGraph
from lamina.frontends.dynamo_weights import Call, WeightPreparations
from lamina.passes.contracts.declared import arguments_of
from lamina.runtime.arguments import Structure
from lamina.runtime.compiled import Compiled
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.dispatch.watched import WatchTable
from lamina.runtime.entry import function_named


class StagedDynamoCall:
    """One graph, called with the list of its arguments; it empties the list.

    `compile_with` compiles it bound to some of its weights, by name. Those are packed once for each
    module; see `WeightPreparations`.
    """

    _boxed_call = True  # AOTAutograd's sign that the arguments come as one list

    def __init__(
        self,
        graph: DynamoGraph,
        compile_with: Callable[[Mapping[str, torch.Tensor]], Compiled],
        *,
        frozen: bool = False,
    ) -> None:
        self._graph, self._frozen = graph, frozen
        self._compile = kept_scopes(compile_with)
        self.weights: WeightPreparations | None = None
        if graph.bound:
            self.weights = WeightPreparations(
                list(graph.bound), self._prepare, self._reading, frozen=frozen
            )
        else:
            self._call = self._reading()

    def __call__(self, args: list[Any]) -> list[Any]:
        """Runs the stages; ExecutionError for sizes that the graph does not take."""
        return self._call(args) if self.weights is None else self.weights.checked(args)

    def _prepare(self, args: list[Any], _: WatchTable) -> tuple[Call, Call]:
        constants = {name: args[place].detach() for place, name in self._graph.bound.items()}
        if self._frozen:
            constants = {name: tensor.clone() for name, tensor in constants.items()}
        call = self._calling(self._compile(constants), _places(self._graph, constants))
        return call, call

    def _reading(self) -> Call:
        """A call that reads all weights, and packs what it packs."""
        return self._calling(self._compile({}), _places(self._graph, ()))

    def _calling(self, program: Compiled, places: list[int]) -> Call:
        begins, finish = self._graph.begins, self._graph.finish

        def call(args: list[Any]) -> list[Any]:
            for position, begin in begins.items():
                check_begin(args[position], position, begin)
            values = [args[place] for place in places]
            args.clear()
            results = program(*(v.detach() if isinstance(v, torch.Tensor) else v for v in values))
            return results if finish is None else finish(results)

        return call


def _places(graph: DynamoGraph, constants: Container[str]) -> list[int]:
    """The positions of the call's arguments that the program takes, in its order."""
    main = function_named(graph.module, "main")
    assert main is not None
    weights = {name: place for place, name in graph.bound.items()}
    inputs = iter(graph.inputs)
    return [
        weights[declared.name] if declared.name in weights else next(inputs)
        for declared in arguments_of(main)
        if declared.name not in graph.constants and declared.name not in constants
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
