"""What the `lamina.*` attributes of a program's arguments and results may say.

The kinds of arguments and results decide which memory each pointer of a native call gets, so all
that comes in as text, and all that the pipeline makes, is checked against one table before it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
    i8,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.extern import signature_fault
from lamina.dialects.narrow_types import CODES, NARROW_TYPES
from lamina.dialects.records import record
from lamina.dialects.schema.promotion import ui8
from lamina.passes.contracts.argument_numbers import (
    COUNTS,
    EXTENTS,
    LEAST,
    LIMITS,
    TOUCHED,
    verify_counts,
    verify_least,
    verify_numbers,
    verify_touched,
)
from lamina.passes.contracts.argument_sizes import verify_dims
from lamina.passes.contracts.declared import (
    ARGUMENT,
    RESULT,
    Declared,
    arguments_of,
    results_of,
    text_of,
)
from lamina.passes.contracts.derived_sizes import DERIVED, verify_derived
from lamina.passes.contracts.in_place import IN_PLACE, verify_in_place
from lamina.passes.contracts.size_hints import hints_of
from lamina.passes.contracts.size_padding import padding_of
from lamina.passes.refusal import invalid

LAYERS = ("aten", "functional", "core_aten", "prims", "loop", "fused", "bufferized", "scheduled")
"""Top first. In memory, at the last two, results are arguments."""

IN_MEMORY = LAYERS[-2:]

VALUE = "lamina.value"
"""Attribute of an argument that is bound when a program is compiled: its value, as a literal."""


COMPACT = "lamina.compact"
"""Attribute of an entry: calls bring arguments of open sizes as they have them, row-major over what
counts, where the program can take them so."""


@record
class Kind:
    """Where a kind may stand, from which layer on, and the shape and element type it needs.

    -1 is any extent; None is any shape.
    """

    place: str
    since: str = LAYERS[0]
    shape: tuple[int, ...] | None = None
    element: Attribute | None = None

    def stands(self, place: str, layer: str) -> bool:
        """Whether arguments, or results, may be of the kind at a layer."""
        if LAYERS.index(layer) < LAYERS.index(self.since):
            return False
        return self.place == place or (layer in IN_MEMORY and place == ARGUMENT)

    def fits(self, given: TensorType | MemRefType) -> bool:
        """Whether a type is what the kind needs."""
        if self.shape is None:
            return True
        shape = given.get_shape()
        fitting = len(shape) == len(self.shape) and all(
            wanted in (-1, extent) for wanted, extent in zip(self.shape, shape, strict=True)
        )
        return fitting and given.element_type == self.element

    def __str__(self) -> str:
        extents = ["?" if extent < 0 else str(extent) for extent in self.shape or ()]
        return f"<{'x'.join([*extents, str(self.element)])}>"


KINDS = {
    "input": Kind(ARGUMENT),
    "parameter": Kind(ARGUMENT),
    "buffer": Kind(ARGUMENT),
    "constant": Kind(ARGUMENT),
    "seed": Kind(ARGUMENT, "prims", (2,), i64),
    "prepared": Kind(ARGUMENT, "loop"),
    "arena": Kind(ARGUMENT, "bufferized", (-1,), i8),
    "extern": Kind(ARGUMENT, "bufferized", (1,), i8),
    "poll": Kind(ARGUMENT, "bufferized", (1,), i8),
    "output": Kind(RESULT),
    "mutation": Kind(RESULT),
    "size": Kind(RESULT, "aten", (), i64),
    "check": Kind(RESULT, "aten", (), i1),
}
"""What `lamina.kind` may say. Results of `@setup` are of kind `prepared`, and no other."""

CONSTANT_KINDS = ("parameter", "buffer", "constant")
"""Kinds of arguments that are bound when a program is compiled, and which `@setup` takes."""
SETUP_MEMORY = (*CONSTANT_KINDS, "prepared", "arena", "extern")

_MADE = frozenset({"output", "size", "check", "mutation"})
"""Kinds of what a program makes; all others name something that it takes."""


def constants_of(function: FuncOp) -> list[SSAValue]:
    """The arguments that are bound at compile time, less those that the program writes back to."""
    results = function.res_attrs.data if function.res_attrs else ()
    written = {text_of(entry.data.get("lamina.target")) for entry in results}
    return [
        function.body.block.args[one.number]
        for one in arguments_of(function)
        if one.kind in CONSTANT_KINDS and one.name not in written
    ]


def verify_entries(module: ModuleOp, layer: str) -> None:
    """Check kinds, names and types of arguments and results of a module at `layer`.

    Functions are told apart by what they take: over memory they are of the last layer. Raises
    `InputError` with the place of the function, the argument or result, and what is allowed.
    """
    layer = layer if layer in LAYERS else LAYERS[0]  # source layers stand beside the first
    named: dict[str, FuncOp] = {}
    for function in module.body.block.ops:
        if not isinstance(function, FuncOp):
            continue
        name = function.sym_name.data
        if name in named:
            raise invalid(function, f"a function @{name} stands in the module already")
        named[name] = function
        if len(function.body.blocks) > 1:
            count = len(function.body.blocks)
            raise invalid(
                function, f"@{name} has {count} blocks; a program branches by ops with regions"
            )
        if function.arg_attrs is not None or function.res_attrs is not None:
            _verify_function(function, layer)
        padding_of(function)
        hints_of(function)
    main, setup = named.get("main"), named.get("setup")
    if main is not None and main.arg_attrs is not None:
        _verify_setup(main, setup)


def _verify_function(function: FuncOp, layer: str) -> None:
    arguments, results = arguments_of(function), results_of(function)
    if any(isinstance(argument.type, MemRefType) for argument in arguments):
        layer = layer if layer in IN_MEMORY else LAYERS[-1]
    elif layer in IN_MEMORY:
        layer = "fused"
    for declared in (*arguments, *results):
        _verify_text(declared)
        _verify_kind(declared, layer)
    taken = [argument for argument in arguments if argument.kind not in _MADE]
    by_name: dict[str, Declared] = {}
    for argument in taken:
        first = by_name.setdefault(argument.name, argument)
        if first is not argument:
            raise argument.refuse(f"its name is '{argument.name}', as that of {first.number}")
        if argument.kind == "seed" and argument is not _first(taken, "seed"):
            raise argument.refuse("a program has one random state")
    made = [declared for declared in (*arguments, *results) if declared.kind in _MADE]
    sizes = sum(declared.kind == "size" for declared in made)
    for declared in made:
        _verify_made(declared, by_name, sizes)
    for declared in arguments:
        for key in (LIMITS, EXTENTS):
            if key in declared.entries:
                verify_numbers(declared, arguments, key)
        if TOUCHED in declared.entries:
            verify_touched(declared, declared.entries[TOUCHED])
        if LEAST in declared.entries:
            verify_least(declared, declared.entries[LEAST])
        if DERIVED in declared.entries:
            verify_derived(declared, arguments)
    for declared in (*arguments, *results):
        if COUNTS in declared.entries:
            verify_counts(declared, arguments)
    verify_dims(taken, made)


def _first(declared: Sequence[Declared], kind: str) -> Declared:
    return next(one for one in declared if one.kind == kind)


def _verify_text(declared: Declared) -> None:
    for key in ("lamina.kind", "lamina.name", "lamina.target", "lamina.signature"):
        given = declared.entries.get(key)
        if given is not None and not (isinstance(given, StringAttr) and given.data):
            raise declared.refuse(f"{key} is a string, not {given}")


def _verify_kind(declared: Declared, layer: str) -> None:
    place, kind = declared.place, KINDS.get(declared.kind)
    if declared.function.sym_name.data == "setup":
        if layer in IN_MEMORY:
            allowed = SETUP_MEMORY
        elif LAYERS.index(layer) < LAYERS.index("loop"):
            allowed = _allowed(place, layer)
        else:
            allowed = ("prepared",) if place == RESULT else CONSTANT_KINDS
    else:
        allowed = _allowed(place, layer)
    if kind is None or declared.kind not in allowed:
        raise declared.refuse(
            f'its lamina.kind is "{declared.kind}"; kinds of {place}s at the {layer} layer are '
            + ", ".join(allowed)
        )
    given = declared.type
    if VALUE in declared.entries:
        _verify_value(declared, declared.entries[VALUE])
    if CODES in declared.entries:
        _verify_codes(declared, declared.entries[CODES])
    if not isinstance(given, TensorType | MemRefType):
        return  # refused where programs are given memory
    if not kind.fits(given):
        word = "memref" if isinstance(given, MemRefType) else "tensor"
        raise declared.refuse(f"of kind {declared.kind} it needs {word}{kind}, not {given}")
    if declared.kind == "extern" and "lamina.signature" not in declared.entries:
        raise declared.refuse("of kind extern it needs lamina.signature")
    signature = declared.entries.get("lamina.signature")
    if signature is None:
        return
    if isinstance(signature, StringAttr) and (fault := signature_fault(signature.data)):
        raise declared.refuse(f"lamina.signature: {fault}")


def _verify_value(declared: Declared, value: Attribute) -> None:
    if declared.kind not in CONSTANT_KINDS:
        raise declared.refuse(f"of kind {declared.kind} it cannot have {VALUE}")
    kind = declared.type
    if not isinstance(kind, TensorType | MemRefType):
        return
    if not isinstance(value, DenseIntOrFPElementsAttr) or (
        (value.get_shape(), value.get_element_type()) != (kind.get_shape(), kind.element_type)
    ):
        raise declared.refuse(f"its {VALUE} is no literal of {kind}")


def _verify_codes(declared: Declared, name: Attribute) -> None:
    known = ", ".join(NARROW_TYPES)
    if not isinstance(name, StringAttr) or name.data not in NARROW_TYPES:
        raise declared.refuse(f"{CODES} is one of the types {known}, not {name}")
    given = declared.type
    if isinstance(given, TensorType | MemRefType) and given.element_type != ui8:
        raise declared.refuse(f"{CODES} is for elements of ui8, not {given}")


@cache
def _allowed(place: str, layer: str) -> tuple[str, ...]:
    return tuple([name for name, kind in KINDS.items() if kind.stands(place, layer)])


def _verify_made(declared: Declared, taken: dict[str, Declared], size_count: int) -> None:
    if IN_PLACE in declared.entries:
        verify_in_place(declared)
    if declared.kind == "mutation":
        target = text_of(declared.entries.get("lamina.target"))
        if target not in taken:
            wanted = "needs lamina.target" if target is None else f"has lamina.target '{target}'"
            names = ", ".join(list(taken)[:8])
            raise declared.refuse(f"of kind mutation it {wanted}; the arguments are {names}")
        if taken[target].type != declared.type:
            raise declared.refuse(
                f"it is {declared.type}, and '{target}', which it is written to, is "
                f"{taken[target].type}"
            )
    _verify_sizes(declared, size_count)


def _verify_sizes(declared: Declared, size_count: int) -> None:
    """The marks of what is cut or made a number when a call ends."""
    number, sizes = (declared.entries.get(f"lamina.{key}") for key in ("number", "sizes"))
    if number is None and sizes is None:
        return
    given = declared.type
    rank = len(given.get_shape()) if isinstance(given, TensorType | MemRefType) else -1
    if declared.kind != "output" and (number is not None or declared.kind != "mutation"):
        wanted = "lamina.number is for results of kind output, lamina.sizes for mutations as well"
        raise declared.refuse(wanted)
    if number is not None and (not isinstance(number, UnitAttr) or rank != 0):
        raise declared.refuse(f"lamina.number marks a 0-d result, not {given}")
    if sizes is None:
        return
    numbers = (
        [entry.value.data for entry in sizes if isinstance(entry, IntegerAttr)]
        if isinstance(sizes, ArrayAttr)
        else []
    )
    if len(numbers) != rank or not all(-1 <= number < size_count for number in numbers):
        raise declared.refuse(
            f"lamina.sizes has {rank} numbers of results of kind size ({size_count} here), or -1"
        )


def _verify_setup(main: FuncOp, setup: FuncOp | None) -> None:
    """What `@main` takes prepared is what `@setup` makes; both mean the same by a name."""
    own = arguments_of(main)
    around = [*arguments_of(setup), *results_of(setup)] if setup is not None else []
    made = {one.name: one for one in around if one.kind == "prepared"}
    taken = {one.name: one for one in around if one.kind in CONSTANT_KINDS}
    for argument in own:
        there = (made if argument.kind == "prepared" else taken).get(argument.name)
        if there is None:
            if argument.kind == "prepared":
                raise argument.refuse(f"no @setup makes '{argument.name}'")
        elif there.type != argument.type:
            raise argument.refuse(f"'{argument.name}' is {argument.type}, in @setup {there.type}")
