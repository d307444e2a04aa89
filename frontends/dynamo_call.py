"""Calls of a graph that Dynamo captured: which arguments are passed on, and which are bound."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from lamina.dialects.errors import ArgumentError
from lamina.dialects.extension_tables import kept_scopes
from lamina.dialects.records import record
from lamina.frontends.dynamo_graph import DynamoGraph
from lamina.frontends.dynamo_shared_weights import SharedWeights
from lamina.frontends.dynamo_weights import Call, WeightPreparations
from lamina.frontends.torch_seeds import TORCH_SEEDS
from lamina.runtime.arguments import array_kind
from lamina.runtime.bind import bind
from lamina.runtime.checked_call import CheckedCall, provide
from lamina.runtime.compiled import drawn_state
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.dispatch.open_inputs import OpenExtent, OpenInputs, OpenSize
from lamina.runtime.dispatch.watched import WatchTable
from lamina.runtime.entry import Entry
from lamina.runtime.program import Program

WEIGHT_MODES = ("checked", "passed", "frozen")
"""How parameters and buffers reach a program, the default first: see `lamina_backend`."""


@record
class OpenArguments:
    """Arguments of a graph that tell sizes, which its program takes behind its other inputs.

    `extents` are as those of `OpenInputs`, by places among the arguments; at `numbers` are Python
    integers. `padded` makes all inputs of a call that is not native; arguments at the places that
    it is given are compact in memory.
    """

    sizes: Sequence[OpenSize]
    extents: Mapping[int, Mapping[int, OpenExtent]]
    numbers: Collection[int]
    padded: Callable[[list[Any], Collection[int]], list[Any]]

    def inputs(self, places: Sequence[int]) -> OpenInputs:
        """The same of a program that has these arguments, and its sizes, as inputs."""
        return OpenInputs(
            len(places) - sum(size.is_passed for size in self.sizes),
            self.sizes,
            {places.index(place): dims for place, dims in self.extents.items()},
            {places.index(place) for place in self.numbers},
        )


class DynamoCall:
    """One compiled graph, called with the list of its arguments; it empties the list.

    Tensors are taken as Dynamo's guards left them: gradients and lazy bits need no check here.
    Weights that the program packs are bound, once for each module; see `WeightPreparations`.
    `reading` compiles the program that reads all weights in each call. `opened` says which sizes
    calls tell. `shared` is what other versions of the graph have made of the same weights.
    """

    _boxed_call = True  # AOTAutograd's sign that the arguments come as one list

    def __init__(
        self,
        graph: DynamoGraph,
        program: Program,
        *,
        frozen: bool = False,
        reading: Callable[[], Program] | None = None,
        opened: OpenArguments | None = None,
        shared: SharedWeights | None = None,
    ) -> None:
        self._graph = graph
        self._shared = shared or SharedWeights()
        self._native: Call | None = None
        self._strided = graph.strided
        self._copied_back = [p for p in self._strided if p in graph.mutated]
        self._is_plain = not (self._strided or graph.begins or graph.finish)
        self._program, self._inputs, self._bound = (
            (program, graph.inputs, graph.bound) if frozen else _pass_unprepared(graph, program)
        )
        self._frozen, self._reading, self._opened = frozen, reading, opened
        # Modules that share the graph are bound when they are first called.
        self._bind = kept_scopes(self._bind_here)
        self._drawn = drawn_state(program, TORCH_SEEDS)
        self.weights: WeightPreparations | None = None
        if self._bound:
            self._native = self.weights = WeightPreparations(
                list(self._bound), self._prepare, self._read_weights, frozen=frozen
            )

    def __call__(self, args: list[Any]) -> list[Any]:
        """Runs the graph; ArgumentError for tensors that do not fit it."""
        if self._drawn is None:
            return self._run(args)
        with self._drawn.call():
            return self._run(args)

    @property
    def direct(self) -> Call:
        """What calls run once the first one has been: it takes and gives what this does."""
        if self._native is None or not self._is_plain or self._drawn is not None:
            return self
        return self._native

    def _run(self, args: list[Any]) -> list[Any]:
        if self._native is None:
            self._native = self._bind(self._program, self._inputs, args, None)[0]
            if self._is_plain and self._drawn is None:
                # From now on the builtin function alone is called.
                own_type: Any = type(
                    "DynamoCall", (DynamoCall,), {"__call__": staticmethod(self._native)}
                )
                self.__class__ = own_type
        if self._is_plain:
            return self._native(args)
        for position, begin in self._graph.begins.items():
            check_begin(args[position], position, begin)
        results = self._run_strided(args) if self._strided else self._native(args)
        finish = self._graph.finish
        return results if finish is None else finish(results)

    def _run_strided(self, args: list[Any]) -> list[Any]:
        assert self._native is not None
        values = list(args)
        for position in self._strided:
            values[position] = array_kind("torch").contiguous(args[position])
        written = [(args[p], values[p]) for p in self._copied_back]
        results = self._native(values)
        for target, source in written:
            target.copy_(source)
        args.clear()
        return results

    def _prepare(self, args: list[Any], watch: WatchTable) -> tuple[Call, Call]:
        return self._bind(self._program, self._inputs, args, watch)

    def _read_weights(self) -> Call:
        """A call that packs weights each time, and takes those of any strides."""
        assert self._reading is not None
        program = self._reading()
        inputs = sorted([*self._graph.inputs, *self._graph.bound])
        native: list[Call] = []

        def call(args: list[Any]) -> list[Any]:
            values = list(args)
            for position in self._graph.bound:
                values[position] = args[position].contiguous()
            if not native:
                native.append(self._bind(program, inputs, values, None)[0])
            args.clear()
            return native[0](values)

        return call

    def _bind_here(
        self,
        program: Program,
        inputs: Sequence[int],
        args: list[Any],
        watch: WatchTable | None,
    ) -> tuple[Call, Call]:
        """The native call of a program bound to the weights in `args`, and the checked one."""
        graph, code = self._graph, program.code
        assert code is not None
        constants = {name: args[position].detach() for position, name in self._bound.items()}
        if self._frozen:
            read = {slot.name for slot in program.main.slots}  # as they are, not packed
            constants |= {name: constants[name].clone() for name in read & constants.keys()}
        provide("torch")
        state = self._drawn and self._drawn.state
        shared = None
        if watch is not None:
            weights = {name: args[position] for position, name in self._bound.items()}
            shared = self._shared.among(weights, frozen=self._frozen)
        bound = bind(program, code, {**constants, **graph.constants}, state, shared)
        layout = Layout(
            "list",
            tuple(graph.outputs),
            boxed=tuple(inputs),
            boxed_count=len(args),
            native_kind="torch",
            watched=watch,
        )
        checked: Call = _Unboxed(CheckedCall(bound, layout), inputs)
        told = self._opened and self._opened.inputs(inputs)
        if self._opened is not None and told is not None:
            written = [p for p in graph.mutated if p in self._opened.extents]
            slots = [s for s in bound.slots if s.kind == "input"]
            compact = {p for p, s in zip(inputs, slots, strict=True) if s.extents is not None}
            opened = self._opened
            checked = _Padding(checked, lambda args: opened.padded(args, compact), written)
            if written:
                return checked, checked
            layout = replace(layout, boxed=tuple(inputs[: told.count]))
        slow = checked if watch is None or self.weights is None else self.weights.miss
        if told is not None and not told.fits([s for s in bound.slots if s.kind == "input"]):
            return checked, checked
        return bound.function(layout, slow, told), checked


def _pass_unprepared(
    graph: DynamoGraph, program: Program
) -> tuple[Program, list[int], dict[int, str]]:
    """The program with an input for each weight that its setup does not read.

    To bind those would gain nothing. Gives the positions of its inputs among the arguments, and
    those of what stays bound, with its name.
    """
    setup = program.setup.slots if program.setup is not None else ()
    prepared = {slot.name for slot in setup} | graph.rearranged
    bound = {place: name for place, name in graph.bound.items() if name in prepared}
    passed = {name: place for place, name in graph.bound.items() if name not in prepared}
    places = iter(graph.inputs)
    inputs: list[int] = []
    slots = list(program.main.slots)
    for number, slot in enumerate(slots):
        if slot.kind == "parameter" and slot.name in passed:
            slots[number] = replace(slot, kind="input")
            inputs.append(passed[slot.name])
        elif slot.kind == "input":
            inputs.append(next(places))
    return replace(program, main=Entry(tuple(slots))), inputs, bound


class _Unboxed:
    """Calls that native code does not take: each tensor is checked, and its error told."""

    def __init__(self, call: CheckedCall, places: Collection[int]) -> None:
        self._call = call
        self._places = places

    def __call__(self, args: list[Any]) -> list[Any]:
        results = self._call(*(args[place].detach() for place in self._places))
        args.clear()
        return results


class _Padding:
    """Calls that native code does not take, whose arguments are padded, and their sizes added.

    What is written to padded copies of the arguments at `written` goes into these.
    """

    def __init__(
        self, call: Call, padded: Callable[[list[Any]], list[Any]], written: Collection[int]
    ) -> None:
        self._call, self._padded, self._written = call, padded, written

    def __call__(self, args: list[Any]) -> list[Any]:
        made = self._padded(args)
        copies = [(args[p], made[p]) for p in self._written if made[p] is not args[p]]
        results = self._call(made)
        for target, source in copies:
            target.detach().copy_(source[tuple(map(slice, target.shape))])
        args.clear()
        return results


def check_begin(tensor: torch.Tensor, position: int, begin: int) -> None:
    """Raises ArgumentError for a tensor that begins elsewhere in its memory than compiled for."""
    if tensor.storage_offset() != begin:
        raise ArgumentError(
            f"argument {position} begins at element {tensor.storage_offset()} of its memory, and "
            f"at {begin} when as_strided of it was compiled; pass a clone()"
        )
