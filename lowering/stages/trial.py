"""What `bound-dynamic-shapes` would make of a function, tried on a copy."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field
from math import prod

from xdsl.dialects.builtin import ArrayAttr, IntAttr, IntegerAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from lamina.dialects.errors import LaminaError, UnsupportedError
from lamina.dialects.records import mutable_record, record
from lamina.lowering.bound_dynamic_shapes.arguments import count_name
from lamina.lowering.bound_dynamic_shapes.program import bound_function
from lamina.lowering.bound_dynamic_shapes.values import State
from lamina.passes.contracts.argument_sizes import has_open_sizes, size_names, some_sizes
from lamina.passes.contracts.declared import arguments_of, results_of
from lamina.passes.cost.stage_cost import DEAR_GROWTH
from lamina.passes.sizes.bind_sizes import bind_sizes
from lamina.passes.sizes.limit_sizes import limit_sizes

_PLACE = "lamina.place"
"""Attribute of the ops of a copy: the number of the op of which it is one."""

_TRIED = 64
"""What open sizes are at most where a function is tried; which number it is does not matter."""


@record
class Count:
    """How many elements a dimension has: equal keys are equal sizes, at most `most`."""

    key: Hashable
    most: int | None


@mutable_record
class Trial:
    """A function that was tried: the op that is refused, or the copy that is bounded.

    Neither is there where other reasons than sizes stand against it. `is_for_any` says that bounds
    of the copy are those of the function, whatever its open sizes are.
    """

    refused: Operation | None = None
    bounded: FuncOp | None = None
    is_for_any: bool = True
    names: tuple[str, ...] = ()
    rooms: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """By op whose results have sizes that data decide: how many elements these are padded to."""

    def dear(self, elements: int) -> Operation | None:
        """The first op that pads its result to so many elements, and to far more than it reads."""
        for op, room in self.rooms.items():
            read = sum(self.rooms.get(v.owner, _elements(v)) for v in op.operands)  # pyright: ignore
            if room >= elements and room > DEAR_GROWTH * read:
                return op
        return None

    def counts(self) -> list[list[Count | None]] | None:
        """For each result, what is known of each dimension, or of the number that it is."""
        if self.bounded is None:
            return None
        end = self.bounded.body.block.last_op
        assert end is not None
        declared = results_of(self.bounded)
        counts = [end.operands[one.number] for one in declared if one.kind == "size"]
        found: list[list[Count | None]] = []
        for one in declared:
            if one.kind in ("size", "check"):
                continue
            kind = one.type
            assert isinstance(kind, TensorType)
            sizes = one.entries.get("lamina.sizes")
            if "lamina.number" in one.entries:
                found.append([Count(end.operands[one.number], None)])
            elif isinstance(sizes, ArrayAttr):
                found.append(
                    [
                        Count(counts[entry.value.data], extent if self.is_for_any else None)
                        if isinstance(entry, IntegerAttr) and entry.value.data >= 0
                        else None
                        for entry, extent in zip(sizes, kind.get_shape(), strict=True)
                    ]
                )
            else:
                found.append([None] * kind.get_num_dims())
        return found

    def named(self) -> dict[Hashable, str]:
        """Names of the sizes of arguments, by the keys of counts that are such sizes."""
        if self.bounded is None:
            return {}
        by_input = {count_name(text): text for text in self.names}
        arguments = zip(self.bounded.body.block.args, arguments_of(self.bounded), strict=True)
        return {value: by_input[one.name] for value, one in arguments if one.name in by_input}


def tried(function: FuncOp) -> Trial:
    """Tries a function padded up to some sizes; where that is refused, for a set of sizes."""
    if not has_open_sizes(function):
        return _try(function, lambda module: None)
    padded = _try(function, _limit)
    made = padded if padded.refused is None else _try(function, _bind)
    made.is_for_any, made.names = False, tuple(size_names(arguments_of(function)))
    return made


def _limit(module: ModuleOp) -> None:
    names = size_names(arguments_of(_main(module)))
    limit_sizes(module, {text: max(_TRIED, name.range.least) for text, name in names.items()})


def _bind(module: ModuleOp) -> None:
    bind_sizes(module, some_sizes(_main(module)))


def _main(module: ModuleOp) -> FuncOp:
    main = module.body.block.first_op
    assert isinstance(main, FuncOp)
    return main


def _try(function: FuncOp, narrow: Callable[[ModuleOp], None]) -> Trial:
    copy = function.clone()
    copy.properties["sym_name"] = StringAttr("main")
    for number, op in enumerate(copy.body.block.ops):
        op.attributes[_PLACE] = IntAttr(number)
    state = State()
    try:
        narrow(ModuleOp([copy]))
        bound_function(copy, state)
    except UnsupportedError:
        return Trial(refused=_original(function, state.at))
    except LaminaError:
        return Trial()
    return Trial(bounded=copy, rooms=_rooms(function, copy, state))


def _rooms(function: FuncOp, bounded: FuncOp, state: State) -> dict[Operation, int]:
    names = {count_name(text) for text in size_names(arguments_of(function))}
    pairs = zip(bounded.body.block.args, arguments_of(bounded), strict=True)
    given = {value for value, one in pairs if one.name in names}
    found: dict[Operation, int] = {}
    for old, new in state.tensors.items():
        if not given.issuperset(count for count in new.sizes if count is not None):
            owner = old.owner
            op = _original(function, owner) if isinstance(owner, Operation) else None
            if op is not None:
                found[op] = found.get(op, 0) + prod(new.shape)
    return found


def _elements(value: SSAValue) -> int:
    """How many there are at least."""
    kind = value.type
    return prod(e for e in kind.get_shape() if e > 0) if isinstance(kind, TensorType) else 1


def _original(function: FuncOp, op: Operation | None) -> Operation | None:
    place = None if op is None else op.attributes.get(_PLACE)
    if not isinstance(place, IntAttr):
        return None
    return list(function.body.block.ops)[place.data]
