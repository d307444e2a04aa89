"""`lamina.dims`: names of the sizes that types of arguments and results leave open.

An array of `#lamina.size`, one for each `?` of the type, in order. A name means one number in a
whole function. An argument's `?` without `lamina.dims` is a size of its own, of any value. An `i64`
with `lamina.dims` is a size itself, which calls pass as a number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    MemRefType,
    ModuleOp,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from lamina.dialects.errors import InputError
from lamina.dialects.identity_cache import once_an_object
from lamina.dialects.ir_links import block_ops
from lamina.dialects.nearest_ops import nearest
from lamina.dialects.sizes import Extent, Range, Size, SizeAttr, SizeName, SizeText, telling
from lamina.dialects.type_shapes import shape_of_type
from lamina.passes.contracts.declared import ARGUMENT, RESULT, Declared, arguments_of
from lamina.passes.refusal import invalid

DIMS = "lamina.dims"

NUMBERS = "the program for numbers, as --sizes NAME=4 or bind-sizes make it of sizes with names"
"""What to do instead where sizes of arguments must be known."""


def verify_dims(arguments: Sequence[Declared], results: Sequence[Declared]) -> None:
    """Check `lamina.dims` of a function: form, ranges that agree, names that arguments define.

    Raises InputError naming the argument or result.
    """
    if not any(DIMS in declared.entries for declared in (*arguments, *results)):
        return
    ranges: dict[str, tuple[Range | None, Declared]] = {}
    for declared in arguments:
        for said in _said(declared):
            _join_range(ranges, said, declared)
    names = size_names(arguments)
    for declared in (*arguments, *results):
        for said in _said(declared):
            for name in said.names:
                if name not in names:
                    known = f"; they define {', '.join(names)}" if names else ""
                    raise declared.refuse(f"no argument has the size '{name}'{known}")
            _verify_value(said, names, declared)
    _verify_told(arguments, names)


def _join_range(
    ranges: dict[str, tuple[Range | None, Declared]], said: SizeText, declared: Declared
) -> None:
    if not said.tells_range:
        return
    (name,), own = said.names, said.name_range
    held, first = ranges.get(name, (None, declared))
    if held is not None and own is not None and held != own:
        raise declared.refuse(
            f"size '{name}' is in {own}, and in {held} at {first.place} {first.number}"
        )
    if held is None:
        ranges[name] = (own, declared)


def _verify_value(said: SizeText, names: Mapping[str, SizeName], declared: Declared) -> None:
    smallest = {names[name]: names[name].range.least for name in said.names}
    least = size_of(said, names).at(smallest)
    if least < 0:
        at = " and ".join(f"{name.text} is {value}" for name, value in smallest.items())
        raise declared.refuse(f"{said} is {least} where {at}")
    own = said.name_range
    if own is None or declared.place != RESULT:
        return
    (name,) = said.names
    held = names[name].range
    if own != held:
        raise declared.refuse(f"size '{name}' is in {own}, and in {held} of arguments")


def _verify_told(arguments: Sequence[Declared], names: Mapping[str, SizeName]) -> None:
    """Calls tell each size. Raises InputError for one that only sums and products have."""
    sizes = [
        (size, declared)
        for declared in arguments
        for size in shape_of(declared, names)
        if isinstance(size, Size)
    ]
    told, untold = telling([size for size, _ in sizes])
    known = {name for place in told for name in sizes[place][0].names}
    for place in untold:
        size, declared = sizes[place]
        missing = sorted(name.text for name in size.names - known)
        if missing:
            raise declared.refuse(
                f"{size} does not tell '{missing[0]}', and no other argument has that size"
            )


def _said(declared: Declared) -> list[SizeText]:
    """The sizes that `lamina.dims` says. Raises InputError if it does not fit the type."""
    held = declared.entries.get(DIMS)
    if held is None:
        return []
    open_dims = open_dims_of(declared)
    entries = list(held) if isinstance(held, ArrayAttr) else [held]
    sizes = [entry.data for entry in entries if isinstance(entry, SizeAttr)]
    if len(sizes) != len(entries):
        raise declared.refuse(f"{DIMS} is {held}, not sizes as in [#lamina.size<batch>]")
    if len(sizes) != len(open_dims):
        raise declared.refuse(
            f"{DIMS} has {len(sizes)} sizes for the {len(open_dims)} dimensions that "
            f"{declared.type} leaves open"
        )
    return sizes


def open_dims_of(declared: Declared) -> list[int]:
    """The dimensions that the type of an argument or result leaves open."""
    return [dim for dim, extent in enumerate(_extents(declared)) if extent < 0]


def _extents(declared: Declared) -> Sequence[int]:
    """Those of a tensor; the one that a number is."""
    kind = declared.type
    if isinstance(kind, TensorType | MemRefType):
        return shape_of_type(kind)
    return (-1,) if is_size(declared) else ()


def is_size(declared: Declared) -> bool:
    """Whether an argument is a number that is a size."""
    return declared.type == i64 and declared.place == ARGUMENT and DIMS in declared.entries


def sizes_among(function: FuncOp) -> set[int]:
    """The numbers of the arguments of a function that are sizes themselves."""
    return set(_sizes_among(function.function_type, function.arg_attrs))


@once_an_object
def _sizes_among(
    kind: FunctionType, attributes: ArrayAttr[DictionaryAttr] | None
) -> frozenset[int]:
    kinds = kind.inputs.data
    return frozenset(
        number
        for number, entry in enumerate(() if attributes is None else attributes.data)
        if DIMS in entry.data and kinds[number] == i64
    )


def stated_of_sizes(function: FuncOp, attribute: str) -> list[tuple[SizeName, Attribute]]:
    """What a dictionary of a function states of its sizes; nothing if there is none.

    Raises InputError for what is no dictionary, and for names of sizes that no argument has.
    """
    held = function.attributes.get(attribute)
    if held is None:
        return []
    if not isinstance(held, DictionaryAttr):
        raise invalid(function, f"{attribute} is {held}, not a dictionary of sizes")
    names = size_names(arguments_of(function))
    for name in held.data:
        if name not in names:
            known = f"there: {', '.join(names) or 'none'}"
            raise invalid(function, f"{attribute}: no argument has the size '{name}'; {known}")
    return [(names[name], said) for name, said in held.data.items()]


def size_names(arguments: Sequence[Declared]) -> dict[str, SizeName]:
    """The sizes that arguments of a verified function define, by name, with their ranges."""
    ranges: dict[str, Range] = {}
    for declared in arguments:
        for said in texts_of(declared):
            for name in said.names:
                ranges[name] = said.name_range or ranges.get(name) or Range()
    return {name: SizeName(name, held) for name, held in ranges.items()}


def shape_of(declared: Declared, names: Mapping[str, SizeName]) -> tuple[Extent, ...]:
    """The shape of an argument or result, in sizes where its type leaves dimensions open.

    A result's `?` that nothing names stays as it is. A number that is a size has one, itself.
    """
    shape: list[Extent] = list(_extents(declared))
    for dim, said in zip(open_dims_of(declared), texts_of(declared), strict=False):
        shape[dim] = size_of(said, names)
    return tuple(shape)


def size_of(said: SizeText, names: Mapping[str, SizeName]) -> Size:
    """A size of which a text says what it is."""
    terms = [(tuple(names[name] for name in product), by) for product, by in said.terms]
    return Size(dict(terms) | ({(): said.offset} if said.offset else {}))


def texts_of(declared: Declared) -> list[SizeText]:
    """What `lamina.dims` says of each open dimension, or names for what it leaves out."""
    said = _said(declared)
    if said or declared.place == RESULT:
        return said
    return [SizeText.of(f"{declared.name}.shape[{dim}]") for dim in open_dims_of(declared)]


def refuse_unknown_names(given: Iterable[str], known: Collection[str]) -> None:
    """Raises InputError for a name that is not among those of sizes."""
    for name in given:
        if name not in known:
            near = nearest(name, known) or sorted(known)
            hint = f"; nearest: {', '.join(near)}" if near else "; all its sizes are known"
            raise InputError(f"no argument of the program has a size '{name}'{hint}")


def has_open_sizes(function: FuncOp) -> bool:
    """Whether a function takes tensors of sizes that are not known, or sizes."""
    kind = function.function_type  # nearly all passes ask, and few change it
    return _has_open_types(kind) or bool(_sizes_among(kind, function.arg_attrs))


@once_an_object
def _has_open_types(kind: FunctionType) -> bool:
    return any(
        isinstance(one, TensorType) and any(extent < 0 for extent in one.get_shape())
        for one in kind.inputs
    )


def has_open_program(module: ModuleOp) -> bool:
    """Whether a function of a program has open sizes."""
    functions = [op for op in block_ops(module.body.block) if isinstance(op, FuncOp)]
    return any(function.body.blocks and has_open_sizes(function) for function in functions)


def some_sizes(function: FuncOp) -> dict[str, int]:
    """A value of each size of a function: different ones above 1, where ranges have them."""
    names = size_names(arguments_of(function))
    return {text: name.range.some(place) for place, (text, name) in enumerate(names.items(), 2)}
