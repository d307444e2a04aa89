"""How the results of an op relate to the memory of an operand, as torch decides by strides.

Reshapes, copies into a memory format and conversions give their operand itself, a view of it or a
copy. Of a tensor that is seen through views of row-major memory all strides are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum, auto

from xdsl.dialects.builtin import ComplexType, TensorType
from xdsl.ir import Operation, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.passes.functionalize.aliases import Alias
from lamina.passes.functionalize.view_chains import (
    CONVERSIONS,
    EVALUATION_IDENTITIES,
    RESHAPES,
    ViewStep,
)
from lamina.passes.functionalize.view_layouts import Layout, dense, layout_of, reshaped


class Aliasing(Enum):
    """How a result relates to the memory of an operand."""

    NONE = auto()
    VIEW = auto()
    MAYBE = auto()


_UNDECLARED = frozenset(
    [
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "broadcast_tensors",
        "cartesian_prod",
        "einsum",
        "meshgrid",
    ]
)
"""May give back views of operands, though the schema does not say so."""

_PRODUCTS = frozenset(["cartesian_prod", "einsum"])
"""Of these, those that compute with more than one operand."""

_SURE_VIEWS = frozenset(["view_as", "unflatten", "_reshape_alias"])
"""Reshapes that fail where they would have to copy."""

_LAST_FIRST = {"channels_last": (1, 3, 2, 0), "channels_last_3d": (1, 4, 3, 2, 0)}
"""Dimensions of a memory format from the innermost to the outermost."""


def aliasing_of(
    op: Operation, index: int, aliases: Mapping[SSAValue, Alias]
) -> tuple[Aliasing, SSAValue | None]:
    """How result `index` of `op` shares memory, and with which operand."""
    if not op.name.startswith("aten.") or not op.operands:
        return Aliasing.NONE, None
    operand = op.operands[0]
    alias = aliases.get(operand)
    if alias is None:
        return Aliasing.NONE, None
    packet = op.name.removeprefix("aten.").partition(".")[0]
    if packet in RESHAPES:
        return _of_reshape(op, packet, alias, op.results[index]), operand
    if packet in CONVERSIONS:
        copies = _element(op.results[index]) != _element(operand) or _flag(op, "copy")
        return (Aliasing.NONE if copies else _of_format(op, alias)), operand
    if packet in EVALUATION_IDENTITIES:
        return (Aliasing.NONE if _flag(op, "train") else Aliasing.VIEW), operand
    if packet in _LAZY:
        return (Aliasing.NONE if _LAZY[packet](alias) else Aliasing.VIEW), operand
    if packet in _UNDECLARED:
        made = packet in _PRODUCTS and len(op.operands) > 1
        return (Aliasing.NONE if made else Aliasing.MAYBE), operand
    return (Aliasing.VIEW if _declares_view(op) else Aliasing.NONE), operand


def _of_reshape(op: Operation, packet: str, alias: Alias, result: SSAValue) -> Aliasing:
    if packet in _SURE_VIEWS:
        return Aliasing.VIEW
    layout = _layout(alias)
    if packet == "contiguous":
        return _is_in_order(layout, alias, memory_format(op))
    if packet == "ravel":  # a view of what `contiguous` gives
        return _is_in_order(layout, alias, None)
    assert isinstance(result.type, TensorType)
    if alias.contiguous or result.type == alias.value.type:
        return Aliasing.VIEW
    if layout is None:
        return Aliasing.MAYBE
    viewed = reshaped(layout, tuple(result.type.get_shape()))
    return Aliasing.NONE if viewed is None else Aliasing.VIEW


def _of_format(op: Operation, alias: Alias) -> Aliasing:
    """A conversion to its own type copies for another memory format only."""
    wanted = memory_format(op)
    if wanted is None or (wanted == "contiguous_format" and alias.contiguous):
        return Aliasing.VIEW
    if wanted in _LAST_FIRST and alias.contiguous:
        found = _is_in_order(_layout(alias), alias, wanted)
        # With one channel both formats are the same strides, and torch asks a tensor for its own.
        return Aliasing.NONE if found is Aliasing.NONE else Aliasing.MAYBE
    return Aliasing.MAYBE


def _is_in_order(layout: Layout | None, alias: Alias, wanted: str | None) -> Aliasing:
    """A view if the elements lie in memory as `wanted` has them, row-major by default."""
    last_first = _LAST_FIRST.get(wanted or "")
    if last_first is None and alias.contiguous:
        return Aliasing.VIEW
    if layout is None:
        return Aliasing.MAYBE
    if 0 in layout.shape:
        return Aliasing.VIEW
    dims = last_first or tuple(reversed(range(len(layout.shape))))
    if len(dims) != len(layout.shape):
        return Aliasing.MAYBE
    order = dims[::-1]
    moved = replace(
        layout,
        shape=tuple(layout.shape[d] for d in order),
        strides=tuple(layout.strides[d] for d in order),
        start=0,
    )
    expected = dense(moved.shape, layout.width)
    return Aliasing.VIEW if expected is not None and moved.is_at(expected) else Aliasing.NONE


def _layout(alias: Alias) -> Layout | None:
    """Strides as they are: those of a storage that is surely row-major."""
    whole = alias.storage.value.type
    if not alias.storage.contiguous or not isinstance(whole, TensorType):
        return None
    return layout_of(whole, alias.chain)


def memory_format(op: Operation) -> str | None:
    """The memory format that an op asks for; None if it keeps that of its operand."""
    if not isinstance(op, SchemaOp) or op.schema.arg("memory_format") is None:
        return None
    found = op.arg("memory_format")
    return None if found is None or str(found) == "preserve_format" else str(found)


def _lazy_bits(chain: tuple[ViewStep, ...]) -> tuple[bool, bool]:
    """Whether torch still has to conjugate, and to negate, what is seen through these views."""
    conjugate = negate = False
    for step in chain:
        if not isinstance(step.source_type.element_type, ComplexType):
            negate ^= step.packet == "_neg_view"
        elif step.packet in ("_conj", "conj", "adjoint", "mH", "matrix_H"):
            conjugate = not conjugate
        elif step.packet == "_neg_view":
            negate = not negate
        elif step.packet in ("real", "imag"):
            negate ^= conjugate and step.packet == "imag"
            conjugate = False
    return conjugate, negate


_LAZY: dict[str, Callable[[Alias], bool]] = {
    "resolve_conj": lambda alias: _lazy_bits(alias.chain)[0],
    "resolve_neg": lambda alias: _lazy_bits(alias.chain)[1],
}
"""Ops that copy what is still to be conjugated or negated, and give back all else."""


def _declares_view(op: Operation) -> bool:
    if not isinstance(op, SchemaOp) or not op.schema.args:
        return False
    return op.schema.args[0].alias is not None and op.schema.aliases


def _flag(op: Operation, name: str) -> bool:
    assert isinstance(op, SchemaOp)
    return op.schema.arg(name) is not None and bool(op.arg(name))


def _element(value: SSAValue) -> object:
    return value.type.get_element_type() if isinstance(value.type, TensorType) else value.type
