"""Arguments whose sizes are not known: padded up to the most that their ranges allow."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue

from lamina.dialects.records import record
from lamina.dialects.sizes import Extent, Size, SizeName
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.size_arithmetic import affine, total
from lamina.lowering.bound_dynamic_shapes.values import (
    Bounded,
    Count,
    Number,
    State,
    is_dynamic,
    known,
)
from lamina.passes.contracts.argument_numbers import COUNTS, LEAST
from lamina.passes.contracts.argument_sizes import (
    DIMS,
    NUMBERS,
    has_open_sizes,
    is_size,
    shape_of,
    size_names,
)
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.size_hints import set_hints
from lamina.passes.contracts.size_padding import ROWS, padding_of, set_padding
from lamina.passes.refusal import unsupported


def bound_arguments(function: FuncOp, state: State) -> None:
    """Give arguments of open sizes static types, and the function an argument for each size, as
    `pad_arguments` does. Raises UnsupportedError for sizes without a bound.
    """
    if not has_open_sizes(function):
        return
    first = function.body.block.first_op
    assert first is not None
    b = BoundBuilder(first, state)
    ways = padding_of(function)
    counts, arguments = pad_arguments(function)
    for name, count in counts.items():
        state.least[count] = name.range.least
        state.inputs[count] = count_name(name.text)
        if ways.get(name.text) == ROWS:
            state.rows.add(count)
    for one in arguments:
        sizes = [_count(extent, counts, b) for extent in one.shape]
        if isinstance(one.given.type, TensorType):
            state.tensors[one.given] = Bounded(one.padded, tuple(sizes))
            state.arguments[one.name] = state.tensors[one.given]
            continue
        ((size,), (extent,)) = sizes, one.shape
        least = extent if isinstance(extent, int) else int(extent.range[0])
        bound = bound_of(extent)
        state.numbers[one.given] = known(least) if size is None else Number(size, bound, least)


@record
class PaddedArgument:
    """An argument of open size: as it was, what stands beside it, its name, and its sizes."""

    given: BlockArgument
    padded: BlockArgument
    name: str
    shape: tuple[Extent, ...]


def pad_arguments(
    function: FuncOp,
) -> tuple[dict[SizeName, SSAValue], list[PaddedArgument]]:
    """Put padded arguments in front of those of open sizes, and inputs for these sizes behind all.

    A `tensor<?x8xf32>` of a size `batch` in [1, 128] becomes a `tensor<128x8xf32>`, and `batch` an
    input `size(batch)`, a 0-d tensor of i64. An argument that is a size itself becomes such a
    tensor, which nothing reads. The arguments as they were are left for the caller to erase. Raises
    UnsupportedError for sizes without a bound.
    """
    block = function.body.block
    set_padding(function, {})
    set_hints(function, {})
    arguments = arguments_of(function)
    names = size_names(arguments)
    given = list(block.args)
    behind = len(given) - sum(declared.kind == "seed" for declared in arguments)  # it stays last
    counts: dict[SizeName, SSAValue] = {}
    for place, name in enumerate(names.values()):
        counts[name] = block.insert_arg(TensorType(i64, []), behind + place)
        counts[name].name_hint = "size"
    attributes = [dict(declared.entries) for declared in arguments]
    padded: list[PaddedArgument] = []
    for argument, declared, entries in zip(given, arguments, attributes, strict=True):
        if not is_dynamic(argument.type) and not is_size(declared):
            continue
        entries.pop(DIMS, None)
        kind = argument.type
        shape = shape_of(declared, names)
        _note_counts(entries, [_told_by(extent) for extent in shape])
        most = [bound_of(extent) for extent in shape]
        for extent, bound in zip(shape, most, strict=True):
            if bound is None:
                raise unsupported(
                    function,
                    f"argument {argument.index}: the size {extent} has no upper bound",
                    NUMBERS,
                )
        static = TensorType(i64, [])
        if isinstance(kind, TensorType):
            static = TensorType(kind.element_type, [bound or 0 for bound in most])
        made = block.insert_arg(static, argument.index)
        made.name_hint = argument.name_hint
        padded.append(PaddedArgument(argument, made, declared.name, shape))
    added: list[dict[str, Attribute]] = []
    for name in counts:
        held = {"lamina.kind": "input", "lamina.name": count_name(name.text)}
        added.append({key: StringAttr(text) for key, text in held.items()})
        if name.range.least > 1:
            added[-1][LEAST] = IntegerAttr(name.range.least, i64)
    attributes[behind:behind] = added
    function.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(entry) for entry in attributes])
    return counts, padded


def _note_counts(entries: dict[str, Attribute], inputs: Sequence[str | None]) -> None:
    """Note the inputs that say how much of each dimension counts, "" where all of it does.

    Not if one is None, as no input says it, and not if but the first dimension is open: the whole
    has the strides of what counts then.
    """
    told = [name for name in inputs if name is not None]
    if any(inputs[1:]) and len(told) == len(inputs):
        entries[COUNTS] = ArrayAttr(map(StringAttr, told))


def _told_by(extent: Extent) -> str | None:
    """The name of the input that an extent is, "" where it has one number only."""
    if isinstance(extent, int) or extent.range[0] == extent.range[1]:
        return ""
    (name, *others) = extent.names
    return count_name(name.text) if not others and extent == Size.of(name) else None


def count_name(size: str) -> str:
    """The name of the input that holds a size."""
    return f"size({size})"


def bound_of(extent: Extent) -> int | None:
    """What a size is at most; None where nothing says it."""
    if isinstance(extent, int):
        return extent
    most = extent.range[1]
    return None if most == float("inf") else int(most)


def _count(extent: Extent, counts: dict[SizeName, SSAValue], b: BoundBuilder) -> Count:
    if isinstance(extent, int) or extent.range[0] == extent.range[1]:
        return None  # it has one number only
    found = known(0)
    for names, factor in extent.terms:
        of = [Number(counts[name], name.range.most, name.range.least) for name in names]
        found = total(found, affine(b.product(*of), factor, 0, b), b)
    assert isinstance(found.value, SSAValue)
    return found.value
