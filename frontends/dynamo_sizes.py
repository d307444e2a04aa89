"""Graphs that Dynamo captured with symbolic sizes: a version for the sizes of each call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from ctypes import c_int64
from operator import itemgetter
from typing import Any, Protocol

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.fx import traceback
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import (
    ShapeEnv,
    free_unbacked_symbols,
    guarding_hint_or_throw,
)

from lamina.dialects.errors import (
    ArgumentError,
    InputError,
    OutOfMemoryError,
    UnsupportedError,
)
from lamina.dialects.sizes import SizeName
from lamina.frontends.dynamo_call import DynamoCall, OpenArguments
from lamina.frontends.dynamo_symbols import (
    feature_sizes,
    number_at,
    padded_elements,
    places_of_symbols,
)
from lamina.frontends.open_sizes import guarded_range, sized_symbols
from lamina.frontends.torch_types import known_size
from lamina.lowering.choose_padding import LikelyBounds, Padding
from lamina.runtime.arguments import array_kind
from lamina.runtime.call_sizes import CallSizes
from lamina.runtime.dispatch.open_inputs import OpenSize
from lamina.runtime.native_choice import open_extents
from lamina.runtime.size_versions import MOST_SETS, Sizes, Version, Versions

Call = Callable[[list[Any]], list[Any]]
"""A compiled graph, called with the list of its arguments, which it empties."""

CompileStatic = Callable[[fx.GraphModule], Call]


class OpenGraph(Protocol):
    """An imported graph whose sizes are open, some symbols of which stand for others."""

    def padding(self, hints: Mapping[str, int], likely: LikelyBounds) -> Padding:
        """How its sizes can be padded, where those that cannot are what `hints` says; the first
        version has the `likely` bounds. Raises InputError where symbols need to be equal."""
        ...

    def padded(self, bounds: Mapping[str, int], numbers: Collection[str], padding: Padding) -> Call:
        """A call for sizes up to bounds, and for single `numbers`.

        It raises OtherSizesError for arguments whose sizes are others.
        """
        ...


ImportOpen = Callable[[fx.GraphModule, Mapping[str, str]], OpenGraph]


class SizedDynamoCall:
    """A graph with symbolic sizes, called with the list of its arguments; it empties the list.

    The sizes at hand are compiled at once; see `runtime.size_versions` for others.
    `static` compiles a graph of known sizes, `imported` imports one whose sizes stay open.
    """

    _boxed_call = True  # AOTAutograd's sign that the arguments come as one list

    def __init__(
        self, graph: fx.GraphModule, static: CompileStatic, imported: ImportOpen, policy: str
    ) -> None:
        self._graph, self._static, self._import = graph, static, imported
        self._imported: OpenGraph | None = None
        self._aliases: Mapping[str, str] = {}
        self._symbols = symbols_of(graph)
        sized = _sizes_of_arguments(graph) | sized_symbols(graph)
        names = {
            str(size.node.expr): SizeName(
                str(size.node.expr), guarded_range(size.node.expr, size.node)
            )
            for size in self._symbols.values()
            if size.node.expr in sized
        }
        self._versions = Versions(
            names,
            self._exact,
            self._padded,
            self._padding,
            policy,
            self._elements,
            [name for name in feature_sizes(graph) if name in names],
        )
        self._hints = {
            str(size.node.expr): int(guarding_hint_or_throw(size))
            for size in self._symbols.values()
        }
        # Of two arguments that tell a symbol the last one is asked.
        told = {str(size.node.expr): source for source, size in self._symbols.items()}
        self._places = tuple(place for place, dim in told.values() if dim is None)
        self._dims = tuple((place, dim) for place, dim in told.values() if dim is not None)
        self._runs: dict[Any, tuple[Call, c_int64]] = {}
        self._known: list[Version] = []
        self._versions.find(self._hints)
        by_places = self._places and not self._dims
        self._told = itemgetter(*self._places) if by_places else None
        """The symbols of a call: one, or a tuple of several; None where arguments are asked."""

    @property
    def sizes(self) -> Sizes:
        """The symbols, and the versions that calls have made."""
        return self._versions.sizes

    def __call__(self, args: list[Any]) -> list[Any]:
        """Runs the version for the symbols among the arguments; each set is looked for once."""
        held = None if self._told is None else self._runs.get(self._told(args))
        if held is not None:
            run, calls = held
            try:
                results = run(args)
            except OtherSizesError:
                pass
            except OutOfMemoryError as error:
                raise self._blamed(error, self._given(args)) from None
            else:
                calls.value += 1
                return results
        return self._called(args)

    def _called(self, args: list[Any]) -> list[Any]:
        """A call whose version is to be found; calls with the same symbols run it from then on."""
        given = self._given(args)
        try:
            version, results = self._run(given, args)
        except OutOfMemoryError as error:
            raise self._blamed(error, given) from None
        version.count()
        self._keep(given, version)
        return results

    def _run(self, given: tuple[Any, ...], args: list[Any]) -> tuple[Version, list[Any]]:
        """The version for symbols, and its results."""
        version = self._versions.known(given) or self._versions.find(self._named(given))
        if not (version.is_exact or self._agree(given)):
            version = self._versions.exact(self._named(given))
        try:
            return version, version.compiled(args)
        except OtherSizesError:
            pass
        except OutOfMemoryError as error:
            if version.is_exact or error.result is not None:
                raise  # else its scratch memory has room for more than these
        version = self._versions.exact(self._named(given))
        return version, version.compiled(args)

    def _agree(self, given: tuple[Any, ...]) -> bool:
        """Whether symbols that are one size in versions for several sizes are equal in a call."""
        sizes = self._named(given)
        return all(sizes[text] == sizes[first] for text, first in self._aliases.items())

    def _given(self, args: list[Any]) -> tuple[Any, ...]:
        """The numbers of the symbols, of a call with these arguments."""
        given = tuple([args[place] for place in self._places])
        return given + tuple([args[place].shape[dim] for place, dim in self._dims])

    def _blamed(self, error: OutOfMemoryError, given: tuple[Any, ...]) -> OutOfMemoryError:
        """The error of a call for which there is no memory, with what makes that so much."""
        places = places_of_symbols(self._graph)
        names = self._versions.names
        lines = [
            f"  {places[name]} makes '{name}' {value}, in {names[name].range}"
            for name, value in self._named(given).items()
            if name in places and name in names
        ]
        return OutOfMemoryError("\n".join([str(error), *lines]), error.result)

    def _keep(self, given: tuple[Any, ...], version: Version) -> None:
        """Notes the version for symbols, and forgets all others if there are new versions: these
        may be for their symbols as well, or have taken the place of the oldest."""
        known = list(self._versions.sizes)
        if known != self._known or len(self._runs) >= MOST_SETS:
            self._runs.clear()
            self._known = known
        key = given if len(given) != 1 else given[0]
        compiled = version.compiled
        direct = compiled.direct if isinstance(compiled, DynamoCall) else compiled
        self._runs[key] = (direct, version.native_calls)

    def _named(self, given: Sequence[Any]) -> dict[str, int]:
        return dict(zip(self._hints, map(int, given), strict=True))

    def _elements(self, sizes: Mapping[str, int], growing: Collection[str]) -> int:
        """How many elements the arguments with symbolic sizes have that do not grow."""
        return padded_elements(self._graph, sizes, growing)

    def _exact(self, sizes: Mapping[str, int]) -> Call:
        with unset_fake_temporarily():  # tensors without data are of another mode
            graph = specialized(self._graph, sizes)
            return with_numbers(self._static(graph), graph)

    def _padding(self, likely: LikelyBounds) -> Padding:
        """Torch does not say which symbols an op needs to be equal, but compiles for such as are
        equal at the time: where the graph needs it, these are one size here, too."""
        for aliases in ({}, _first_alike(self._hints, self._versions.names)):
            self._aliases = aliases
            self._imported = self._import(self._copied(), aliases)
            try:
                return self._padding_alike(likely)
            except InputError as error:
                reason = str(error).partition("\n")[0]
        raise UnsupportedError("torch.compile(backend='lamina')", reason)

    def _padding_alike(self, likely: LikelyBounds) -> Padding:
        assert self._imported is not None
        one = self._aliases
        found = self._imported.padding(self._hints, lambda known: likely(known.growing_with(one)))
        return found.growing_with(one)

    def _padded(
        self, bounds: Mapping[str, int], numbers: Collection[str], padding: Padding
    ) -> Call:
        assert self._imported is not None
        return with_numbers(self._imported.padded(bounds, numbers, padding), self._graph)

    def _copied(self) -> fx.GraphModule:
        copied = fx.Graph()
        copied.output(copied.graph_copy(self._graph.graph, {}))
        return fx.GraphModule(self._graph, copied)


class OtherSizesError(Exception):
    """The arguments have sizes that a version is not for."""


def _first_alike(hints: Mapping[str, int], sized: Collection[str]) -> dict[str, str]:
    """For each symbol the first that is equal at the time, one of those in `sized` if there is one:
    versions have no room for others, which are numbers alone."""
    first: dict[int, str] = {}
    in_order = sorted(hints, key=lambda text: text not in sized)
    found = {text: first.setdefault(hints[text], text) for text in in_order}
    return {text: found[text] for text in hints}


def symbols_of(graph: fx.GraphModule) -> dict[tuple[int, int | None], torch.SymInt]:
    """The symbols of a graph, by the argument that tells each: its position, and None if it is one.

    AOTAutograd passes the base of arguments that share memory without its sizes: these are told by
    the dimension at hand. Guards may have fixed symbols. Raises UnsupportedError for one that no
    argument tells.
    """
    values = [n.meta.get("val") for n in graph.graph.nodes if n.op == "placeholder"]
    found: dict[tuple[int, int | None], torch.SymInt] = {
        (place, None): value
        for place, value in enumerate(values)
        if isinstance(value, torch.SymInt) and not value.node.expr.is_number
    }
    told = {size.node.expr for size in found.values()}
    tensors = [(p, v) for p, v in enumerate(values) if isinstance(v, torch.Tensor)]
    sizes = [(p, d, n) for p, v in tensors for d, n in enumerate(v.shape)]
    symbolic = [(p, d, n) for p, d, n in sizes if isinstance(n, torch.SymInt)]
    for place, dim, size in symbolic:
        expr: Any = size.node.expr
        if expr.is_symbol and expr not in told:
            found[place, dim] = size
            told.add(expr)
    for _, _, size in symbolic:
        expr = size.node.expr
        if untold := expr.free_symbols - told:
            raise UnsupportedError(
                "torch.compile(backend='lamina')",
                f"no argument tells {untold.pop()} of the size {expr}",
                nearest="a clone() of one of the arguments that share memory, or dynamic=False",
            )
    return found


def has_sizes_of_data(graph: fx.GraphModule) -> bool:
    """Whether a graph has symbols for sizes and numbers that depend on data."""
    values = [node.meta.get("val") for node in graph.graph.nodes]
    some = (value for value in values if isinstance(value, torch.Tensor | torch.SymInt))
    return any(free_unbacked_symbols(value) for value in some)


def _sizes_of_arguments(graph: fx.GraphModule) -> set[Any]:
    """Expressions that are sizes of placeholders."""
    values = [n.meta.get("val") for n in graph.graph.nodes if n.op == "placeholder"]
    return {
        size.node.expr
        for value in values
        if isinstance(value, torch.Tensor)
        for size in value.shape
        if isinstance(size, torch.SymInt)
    }


def specialized(graph: fx.GraphModule, sizes: Mapping[str, int]) -> fx.GraphModule:
    """The graph for these values of its symbols: traced again, on tensors without data."""
    values = [n.meta.get("val") for n in graph.graph.nodes if n.op == "placeholder"]
    numbers = ShapeEnv()  # those that are read of tensors
    fake = FakeTensorMode(allow_non_fake_inputs=True, shape_env=numbers, static_shapes=True)
    with fake, traceback.preserve_node_meta():
        examples = [_example(value, sizes) for value in values]
        return make_fx(fx.Interpreter(graph).run)(*examples)


def _example(value: Any, sizes: Mapping[str, int]) -> Any:
    if isinstance(value, torch.SymInt):
        return number_at(value, sizes)
    if not isinstance(value, torch.Tensor):
        return value
    shape = [number_at(size, sizes) for size in value.shape]
    stride = [number_at(step, sizes) for step in value.stride()]
    begin = number_at(value.storage_offset(), sizes)
    reach = sum((e - 1) * s for e, s in zip(shape, stride, strict=True)) if 0 not in shape else -1
    whole = torch.empty(begin + reach + 1, dtype=value.dtype)
    return whole.as_strided(shape, stride, begin)


def with_numbers(call: Call, graph: fx.GraphModule) -> Call:
    """A call that gives the numbers which the graph has among its results, or guards have fixed."""
    entries: Any = graph.graph.output_node().args[0]
    fixed = {place: _fixed_number(entry) for place, entry in enumerate(entries)}
    numbers = {place: number for place, number in fixed.items() if number is not None}
    if not numbers:
        return call

    def completed(args: list[Any]) -> list[Any]:
        results = list(call(args))
        for place, number in numbers.items():
            results[place] = number
        return results

    boxed: Any = completed
    boxed._boxed_call = True  # AOTAutograd's sign that the arguments come as one list
    return boxed


def _fixed_number(entry: Any) -> int | None:
    """A result of a graph that is one number in all its calls."""
    value = entry.meta.get("val") if isinstance(entry, fx.Node) else entry
    return known_size(value) if isinstance(value, int | torch.SymInt) else None


def open_arguments(
    sizes: CallSizes, places: Sequence[int], bounds: Mapping[str, int]
) -> OpenArguments:
    """How the arguments at these places tell the sizes of a version for sizes up to bounds."""
    kind = array_kind("torch")

    def padded(args: list[Any], compact: Collection[int]) -> list[Any]:
        given = [args[place] for place in places]
        shapes = [tuple(v.shape) if isinstance(v, torch.Tensor) else (v,) for v in given]
        try:
            found = sizes.of(shapes)
        except ArgumentError as error:
            raise OtherSizesError from error
        wanted = dict(sizes.padded(shapes, found, bounds))
        made = [*args, *map(torch.tensor, found.values())]
        for number, (place, value) in enumerate(zip(places, given, strict=True)):
            if not isinstance(value, torch.Tensor):
                made[place] = torch.tensor(value)
            elif number in wanted:
                made[place] = kind.padded(value, wanted[number], compact=place in compact)
        return made

    names = list(sizes.names.values())
    told = [
        OpenSize(name.range.least, bounds[name.text], name.range.least, name.range.step)
        for name in names
    ]
    extents, following = open_extents(sizes, names, {})
    return OpenArguments(
        [*told, *following],
        {places[position]: dims for position, dims in extents.items()},
        {places[position] for position in sizes.numbers},
        padded,
    )


def refuse_other_sizes(sizes: CallSizes, bounds: Mapping[str, int]) -> None:
    """UnsupportedError for sizes that follow from symbols in a way that has no name."""
    for text in sizes.names:
        if text not in bounds:
            raise UnsupportedError(
                f"the size {text}",
                "it is no sum of multiples of symbols and their products",
                nearest="sizes that are symbols, or such sums",
            )
