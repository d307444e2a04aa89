"""Calls of a graph that Dynamo captured: which arguments are passed on, and which are bound."""

from collections.abc import Collection
from typing import Any

import torch

from lamina.dialects.errors import ArgumentError
from lamina.frontends.dynamo_graph import DynamoGraph
from lamina.runtime.compiled import CheckedCall, Program, bind, provide
from lamina.runtime.dispatch.layout import Layout

WEIGHT_MODES = ("checked", "passed", "frozen")
"""How parameters and buffers reach a program: see `lamina_backend`."""


class DynamoCall:
    """One compiled graph, called with the list of its arguments; it empties the list.

    Tensors are taken as Dynamo's guards left them: gradients and lazy bits need no check here. With
    `check`, weights that are bound are bound anew when their version counter or address has
    changed.
    """

    _boxed_call = True  # AOTAutograd's sign that the arguments come as one list

    def __init__(self, graph: DynamoGraph, program: Program, *, check: bool) -> None:
        self._graph = graph
        self._program = program
        self._check = check
        self._native: Any = None
        self._stamps: list[tuple[int, int, int]] = []
        self._strided = graph.strided
        self._copied_back = [p for p in self._strided if p in graph.mutated]
        self._is_plain = not (self._strided or graph.begins or graph.finish)

    def __call__(self, args: list[Any]) -> list[Any]:
        """Runs the graph; ArgumentError for tensors that do not fit it."""
        if self._native is None or (self._check and self._has_changed(args)):
            self._native = self._bind(args)
            if self._is_plain and not self._check:
                # From now on the builtin function alone is called.
                own_type: Any = type(
                    "DynamoCall", (DynamoCall,), {"__call__": staticmethod(self._native)}
                )
                self.__class__ = own_type
        if self._is_plain:
            return self._native(args)
        for position, begin in self._graph.begins.items():
            _check_begin(args[position], position, begin)
        results = self._run_strided(args) if self._strided else self._native(args)
        finish = self._graph.finish
        return results if finish is None else finish(results)

    def _run_strided(self, args: list[Any]) -> list[Any]:
        values = list(args)
        for position in self._strided:
            values[position] = args[position].contiguous()
        written = [(args[p], values[p]) for p in self._copied_back]
        results = self._native(values)
        for target, source in written:
            target.copy_(source)
        args.clear()
        return results

    def _has_changed(self, args: list[Any]) -> bool:
        for position, version, address in self._stamps:
            tensor = args[position]
            if tensor._version != version or tensor.data_ptr() != address:
                return True
        return False

    def _bind(self, args: list[Any]) -> Any:
        graph, code = self._graph, self._program.code
        assert code is not None
        if self._check:
            for position in graph.bound:
                _refuse_inference(args[position])
            self._stamps = [(p, args[p]._version, args[p].data_ptr()) for p in graph.bound]
        constants = {name: args[position].detach() for position, name in graph.bound.items()}
        provide("torch")
        bound = bind(self._program, code, {**constants, **graph.constants})
        layout = Layout(
            "list",
            tuple(graph.outputs),
            boxed=tuple(graph.inputs),
            boxed_count=len(args),
            native_kind="torch",
        )
        return bound.function(layout, _Unboxed(CheckedCall(bound, layout), graph.inputs))


class _Unboxed:
    """Calls that native code does not take: each tensor is checked, and its error told."""

    def __init__(self, call: CheckedCall, places: Collection[int]) -> None:
        self._call = call
        self._places = places

    def __call__(self, args: list[Any]) -> list[Any]:
        results = self._call(*(args[place].detach() for place in self._places))
        args.clear()
        return results


def _refuse_inference(tensor: torch.Tensor) -> None:
    if tensor.is_inference():
        raise ArgumentError(
            "weights='checked' needs version counters, which tensors made under "
            "torch.inference_mode() lack; use weights='passed' or 'frozen'"
        )


def _check_begin(tensor: torch.Tensor, position: int, begin: int) -> None:
    if tensor.storage_offset() != begin:
        raise ArgumentError(
            f"argument {position} begins at element {tensor.storage_offset()} of its memory, and "
            f"at {begin} when as_strided of it was compiled; pass a clone()"
        )
