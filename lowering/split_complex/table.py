"""The table of splits, and the builder they use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from lamina.dialects import prims
from lamina.dialects.modifications import is_new, register
from lamina.dialects.op_list import instances_under
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.sizes import UndecidedSizeError
from lamina.lowering.core_aten_to_prims.table import Number, PrimsBuilder
from lamina.lowering.sized_types import sized_types, sizes_around
from lamina.lowering.tensor_types import element_of, is_complex, shape_of
from lamina.passes.contracts.argument_sizes import NUMBERS, has_open_sizes
from lamina.passes.refusal import unsupported

Parts: TypeAlias = tuple[SSAValue, SSAValue]
"""The real and the imaginary part of a complex tensor."""

FAMILIES = (
    "arithmetic",
    "exponential",
    "inverse",
    "layout",
    "product",
    "reduction",
    "trigonometric",
)

CALLS = frozenset({"extern", "fft_c2c", "fft_c2r", "fft_r2c", "fourier", "svd"})
"""Primitives that become calls of extern kernels, which take complex tensors whole."""

STAYS = frozenset({"complex", "imag", "real"}) | CALLS
"""Primitives that complex tensors may reach the loop layer by."""


class ComplexBuilder(PrimsBuilder):
    """Makes primitives in front of the one being split; knows the parts of complex tensors."""

    def __init__(self, anchor: Operation, known: dict[SSAValue, Parts]) -> None:
        super().__init__(anchor)
        self._known = known

    def parts(self, value: SSAValue) -> Parts:
        """The parts of a complex tensor; those of a real one are itself and zero."""
        if not is_complex(element_of(value)):
            return value, self.like(value, 0)
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = _taken_apart(value)
        return found

    def like(self, x: SSAValue, number: Number) -> SSAValue:
        """A constant of a tensor's shape and type."""
        return self.full(shape_of(x), number, element_of(x))

    def join(self, parts: Parts) -> SSAValue:
        """The complex tensor with these parts, which stay known."""
        made = self("complex", *parts)
        self._known[made] = parts
        return made

    # Real arithmetic by short names

    def add(self, x: SSAValue, y: SSAValue | float) -> SSAValue:
        """x + y."""
        return self._binary("add", x, y)

    def sub(self, x: SSAValue, y: SSAValue | float) -> SSAValue:
        """x - y."""
        return self._binary("sub", x, y)

    def mul(self, x: SSAValue, y: SSAValue | float) -> SSAValue:
        """x * y."""
        return self._binary("mul", x, y)

    def div(self, x: SSAValue, y: SSAValue | float) -> SSAValue:
        """x / y."""
        return self._binary("div", x, y)

    def test(self, name: str, x: SSAValue, y: SSAValue | float) -> SSAValue:
        """A comparison."""
        return self._binary(name, x, y)

    def _binary(self, name: str, x: SSAValue, y: SSAValue | float) -> SSAValue:
        return self(name, x, y if isinstance(y, SSAValue) else self.like(x, y))


Split: TypeAlias = Callable[[SchemaOp, ComplexBuilder], Parts | SSAValue]
"""Gives the parts of a complex result, or a real result itself."""

_SPLITS: dict[str, Split] = {}


def splits(*names: str) -> Callable[[Split], Split]:
    """Decorator: register how primitives are split, by name."""

    def decorate(function: Split) -> Split:
        for name in names:
            assert is_new(_SPLITS, name, function), f"prims.{name} is split twice"
            register(_SPLITS, name, function)
        return function

    return decorate


def table() -> dict[str, Split]:
    """All splits by the primitive's name."""
    for family in FAMILIES:
        import_module(f"lamina.lowering.split_complex.{family}")
    return _SPLITS


def split_all(module: ModuleOp) -> None:
    """Split every primitive that has complex operands or results."""
    for function in module.body.block.ops:
        if isinstance(function, FuncOp) and function.body.blocks and has_open_sizes(function):
            if any(map(_is_complex, function.walk())):
                with sized_types(function):
                    _split_all(function)
        else:
            _split_all(function)


def _split_all(root: Operation) -> None:
    known: dict[SSAValue, Parts] = {}
    ops = [op for op in instances_under(root, SchemaOp) if op.name.startswith("prims.")]
    if not any(_is_complex(op) for op in ops):
        return
    found = table()
    for op in ops:
        if _is_complex(op):
            try:
                with sizes_around(op):
                    _split(op, found, known)
            except UndecidedSizeError as error:
                reason = f"its parts depend on sizes: {error}"
                raise unsupported(op, reason, NUMBERS) from error
    for op in reversed(
        [op for op in root.walk() if op.name in ("prims.complex", "prims.real", "prims.imag")]
    ):
        if not any(result.first_use for result in op.results):
            op.detach()
            op.erase()


def _is_complex(op: Operation) -> bool:
    values: Sequence[SSAValue] = (*op.operands, *op.results)
    tensors = [value for value in values if isinstance(value.type, TensorType)]
    return any(is_complex(element_of(tensor)) for tensor in tensors)


def _split(op: SchemaOp, found: dict[str, Split], known: dict[SSAValue, Parts]) -> None:
    name = op.name.removeprefix("prims.")
    b = ComplexBuilder(op, known)
    if name == "complex":
        known[op.results[0]] = (op.operands[0], op.operands[1])
        return
    if name in CALLS:
        return
    if name in ("real", "imag"):
        made: Parts | SSAValue = b.parts(op.operands[0])[name == "imag"]
    else:
        split = found.get(name)
        if split is None:
            raise unsupported(op, "is not computed on complex numbers", "real and imaginary parts")
        made = split(op, b)
    value = b.join(made) if isinstance(made, tuple) else made
    value.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


def _taken_apart(value: SSAValue) -> Parts:
    """Ops that read the parts, right behind where the tensor is made."""
    parts = [prims.op(name)(value) for name in ("real", "imag")]
    owner = value.owner
    for op in parts:
        if isinstance(owner, Block):
            first = owner.first_op
            assert first is not None
            owner.insert_op_before(op, first)
        else:
            block = owner.parent
            assert block is not None
            op.location = owner.location
            block.insert_op_after(op, owner)
    return parts[0].results[0], parts[1].results[0]
