"""`choose-padding`: which sizes of arguments one version can have in a range, and how widely.

`bound-dynamic-shapes` is tried on a copy, or `bound-nests` where the program is loops. A size of
which nothing but the ends of results is asked afterwards is one of rows: each is computed by
itself, loops end at the rows that count (`limit-rows`), and room for many costs memory alone.
Others are masked, which costs work up to the bound. Where an op takes no padding, sizes that it
takes padded one by one are kept, and the rest are `exact`. What a function states already stays.
Versions are made accordingly when calls need them (`runtime/size_versions.py`). Where the caller
tells which bounds it would take, these are tried, and what is so bounded is the version's program.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import field, replace
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.loop import GenericOp, ReadOp
from lamina.dialects.records import mutable_record, record
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.sizes import Size, quotients
from lamina.lowering.bound_dynamic_shapes.arguments import count_name
from lamina.lowering.growing_sizes import growing_sizes
from lamina.lowering.pass_specs import Pass
from lamina.passes.contracts.argument_sizes import (
    has_open_sizes,
    shape_of,
    size_names,
    some_sizes,
)
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.size_hints import hints_of, set_hints
from lamina.passes.contracts.size_padding import EXACT, MASKED, ROWS, padding_of, set_padding
from lamina.passes.contracts.symbolic_shapes import infer_shapes
from lamina.passes.sizes.bind_sizes import bind_sizes
from lamina.passes.sizes.limit_sizes import limit_sizes

_TRIED = 64
"""What sizes are at most where a program is tried; which number it is does not matter."""

_OF_INDICES = frozenset(
    f"aten.{name}"
    for name in (
        "add.Tensor",
        "expand.default",
        "ge.Tensor",
        "logical_and.default",
        "logical_or.default",
        "lt.Scalar",
        "lt.Tensor",
        "masked_fill.Scalar",
        "reshape.default",
        "where.self",
    )
)
"""Ops that keep indices in the range of what is read at them, each by itself."""
_READS = frozenset(
    f"aten.{name}"
    for name in (
        "embedding.default",
        "gather.default",
        "index.Tensor",
        "index_select.default",
        "take.default",
    )
)
"""Ops that read their first operand at indices, the others."""


_LAST = "bound-dynamic-shapes"
"""The pass behind which it is known which sizes a program reads."""


class ChoosePaddingPass(ModulePass):
    """State `lamina.padding` of the sizes that `@main` leaves open."""

    name = "choose-padding"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main, found = _main(op), choose_padding(op)
        if main is not None and found.ways:
            set_padding(main, found.ways)


Ways = Mapping[str, str]
"""Of sizes, what `lamina.padding` says."""


@mutable_record
class Tried:
    """A program behind `bound-dynamic-shapes`, for sizes up to bounds; None once asked for."""

    bounds: Mapping[str, int]
    module: ModuleOp | None


@record
class Padding:
    """The way of each size, why some are `exact`, the error that says so, how many elements the
    largest tensor of a version has that is made for given sizes, what was tried if it is of use,
    and which sizes grow from call to call."""

    ways: Mapping[str, str] = field(default_factory=dict[str, str])
    reason: str | None = None
    error: UnsupportedError | None = None
    largest: Callable[[Mapping[str, int]], int] = lambda sizes: 0
    tried: Tried | None = None
    growing: frozenset[str] = frozenset()

    def taken(self, bounds: Mapping[str, int]) -> ModuleOp | None:
        """What was tried, if it has these bounds; it belongs to the caller, who may change it.

        It is kept for the first who asks, and for nobody behind that.
        """
        tried = self.tried
        if tried is None:
            return None
        module, tried.module = tried.module, None
        return module if dict(tried.bounds) == dict(bounds) else None

    def growing_with(self, first: Mapping[str, str]) -> Padding:
        """The same where sizes that are one with another, the `first` of each, grow with it."""
        more = (text for text, other in first.items() if other in self.growing)
        return replace(self, growing=self.growing.union(more))


LikelyBounds = Callable[[Padding], Mapping[str, int]]
"""What sizes are at most in the version that is wanted, if they are padded so."""

UNKNOWN = Padding()
"""What nothing is known of: ways are those that the program states."""


def choose_padding(
    module: ModuleOp, likely: LikelyBounds | None = None, *, verified: bool = False
) -> Padding:
    """What `lamina.padding` of `@main` of a program at `aten`, or of loops, should say.

    The program stays as it is. With `likely` bounds, which have those of all its sizes, it is one
    at `aten`; it may be known to be `verified`. Raises InputError where it needs sizes to be equal
    which need not be.
    """
    main = _main(module)
    if main is None or not has_open_sizes(main):
        return Padding()
    names, given = list(size_names(arguments_of(main))), padding_of(main)
    exact = [name for name in names if given.get(name) == EXACT]
    padded = [name for name in names if name not in exact]
    reason = f"lamina.padding says so of {', '.join(exact)}" if exact else None
    largest = _Largest(module, padded)
    guess = _likely_ways(main) if likely is not None and not exact else None
    tried = None
    if guess is not None and likely is not None:
        wanted = likely(Padding(guess, largest=largest, growing=largest.growing))
        bounds = {name: most for name, most in wanted.items() if name in names}
        tried = _Trial(module, padded, bounds, guess, verified=verified)
    if tried is None or tried.error is not None:
        guess, tried = None, _Trial(module, padded)
    error = tried.error
    if tried.error is not None:
        reason = str(tried.error).partition("\n")[0]
        padded = [name for name in padded if _Trial(module, [name]).error is None]
        tried = _Trial(module, padded)
    if tried.error is not None:
        padded = []
    ways = {n: tried.way(n) if n in padded else EXACT for n in names} | given
    if padded != [n for n in names if ways[n] != EXACT]:
        ways = dict.fromkeys(names, EXACT)
    kept = tried.kept if guess == ways else None
    if padded != largest.padded:
        largest = _Largest(module, padded)
    return Padding(ways, reason, error, largest, kept, largest.growing)


def _likely_ways(function: FuncOp) -> dict[str, str]:
    """Sizes that arguments have in front alone are of rows, most likely, and others masked."""
    arguments = arguments_of(function)
    names = size_names(arguments)
    inner = {
        name.text
        for declared in arguments
        for extent in shape_of(declared, names)[1:]
        if isinstance(extent, Size)
        for name in extent.names
    }
    return {name: MASKED if name in inner else ROWS for name in names}


class _Largest:
    """How many elements the largest tensor has of a program for sizes, some of which are padded;
    which of them grow."""

    def __init__(self, module: ModuleOp, padded: Collection[str]) -> None:
        self._module, self.padded = module, list(padded)
        main = _main(module)
        assert main is not None
        with quotients() if _is_of_loops(main) else nullcontext():
            known = infer_shapes(main)
        made = [result for op in main.body.block.ops for result in op.results]
        tensors = [value for value in made if isinstance(value.type, TensorType)]
        self._distinct = list(dict.fromkeys(map(known.shape, tensors)))
        self._names = size_names(arguments_of(main))
        self.growing = growing_sizes(main, known)
        self._found: dict[tuple[tuple[str, int], ...], int] = {}

    def __call__(self, sizes: Mapping[str, int]) -> int:
        key = tuple(sizes.items())
        if key not in self._found:
            self._found[key] = self._at(sizes)
        return self._found[key]

    def _at(self, sizes: Mapping[str, int]) -> int:
        """As the shapes in sizes of arguments tell; where they do not, a copy is tried."""
        values = {self._names[name]: size for name, size in sizes.items() if name in self._names}
        largest = 0
        for shape in self._distinct:
            extents = [
                extent.at(values) if isinstance(extent, Size) else extent for extent in shape
            ]
            numbers = [extent for extent in extents if isinstance(extent, int)]
            if len(numbers) < len(extents) or any(number < 0 for number in numbers):
                return _Trial(self._module, self.padded, sizes).largest
            largest = max(largest, prod(numbers))
        return largest


class _Trial:
    """A copy of a program, some of whose sizes are padded, others numbers: given ones, else those
    of `lamina.hints`, else any.

    With `ways`, it is what a version for sizes up to the given ones is made of.
    """

    def __init__(
        self,
        module: ModuleOp,
        padded: Collection[str],
        sizes: Mapping[str, int] | None = None,
        ways: Ways | None = None,
        *,
        verified: bool = False,
    ) -> None:
        self.error: UnsupportedError | None = None
        self.kept: Tried | None = None
        self._bounded: FuncOp | None = None
        if not padded:
            return
        copy = module.clone()
        main = _main(copy)
        assert main is not None
        set_padding(main, ways or {})
        names = size_names(arguments_of(main))
        likely = some_sizes(main) | hints_of(main)
        if ways is None:
            set_hints(main, {})  # they may be above what is tried
        values = likely if sizes is None else {n: sizes[n] for n in names}
        most = {n: max(_TRIED, names[n].range.least) if sizes is None else sizes[n] for n in padded}
        try:
            bind_sizes(copy, {n: v for n, v in values.items() if n not in padded})
            limit_sizes(copy, most)
            _bound(copy, enters=not verified)
        except UnsupportedError as error:
            self.error = error.with_traceback(None)  # it would hold all that was tried
            return
        # Sizes that go together, of which only some are padded; or one of which an op makes
        # something else, as is found where the others are numbers.
        except (InputError, VerifyException) as error:
            self.error = UnsupportedError(f"sizes {', '.join(padded)}", str(error).splitlines()[0])
            return
        self._bounded = _main(copy)
        if ways is not None and sizes is not None:
            self.kept = Tried(dict(sizes), copy)

    def way(self, name: str) -> str:
        """Whether anything reads a size but the ends of results."""
        function = self._bounded
        if function is None:
            return EXACT
        counts = zip(function.body.block.args, arguments_of(function), strict=True)
        held = [value for value, one in counts if one.name == count_name(name)]
        return ROWS if all(map(_only_ends, held)) else MASKED

    @property
    def largest(self) -> int:
        """Elements of the largest tensor that the program makes."""
        ops = () if self._bounded is None else self._bounded.body.block.ops
        return max((_elements(value) for op in ops for value in op.results), default=0)


def _bound(module: ModuleOp, *, enters: bool) -> None:
    from lamina.dialects.context import Context as OwnContext
    from lamina.lowering.pipeline import pipeline, run_pipeline

    main = _main(module)
    assert main is not None
    of_loops = _is_of_loops(main)
    passes = ("bound-nests",)
    if not of_loops:
        known = pipeline(start="aten", stop="functional", enters=enters)
        passes = known[: known.index(_LAST) + 1]  # what rolls loops behind it tells nothing
    run_pipeline(module, passes, OwnContext())


def passes_behind_bounds() -> tuple[Pass, ...]:
    """What takes a program that was tried down to the end of `functional`."""
    from lamina.lowering.pipeline import pipeline

    known = pipeline(start="aten", stop="functional")
    return known[known.index(_LAST) + 1 :]


def _is_of_loops(function: FuncOp) -> bool:
    """Whether nests, and no op of a higher layer, stand in a function."""
    ops = list(function.walk())
    return any(op.name.startswith("loop.") for op in ops) and not any(
        isinstance(op, SchemaOp) for op in ops
    )


def _only_ends(count: SSAValue) -> bool:
    """Whether a count, and what follows from it, is a result, or keeps indices in their range."""
    return all(
        isinstance(use.operation, ReturnOp)
        or all(_elements(made) == 1 and _only_ends(made) for made in use.operation.results)
        or _is_of_index(use)
        for use in count.uses
    )


def _is_of_index(use: Use) -> bool:
    """Whether nothing but indices of reads follow from a value here."""
    op = use.operation
    if op.name in _OF_INDICES:
        return all(map(_is_of_index, op.results[0].uses))
    if isinstance(op, GenericOp) and use.index < len(op.inputs):
        return _is_of_place(op.block.args[use.index])
    return op.name in _READS and use.index > 0


def _is_of_place(value: SSAValue) -> bool:
    """Whether nothing but places of indirect reads follow from a value of a nest's body."""
    return all(
        isinstance(use.operation, ReadOp)
        or (bool(use.operation.results) and all(map(_is_of_place, use.operation.results)))
        for use in value.uses
    )


def _elements(value: SSAValue) -> int:
    kind = value.type
    return prod(kind.get_shape()) if isinstance(kind, TensorType) else 1


def _main(module: ModuleOp) -> FuncOp | None:
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main" and op.body.blocks:
            return op
    return None
