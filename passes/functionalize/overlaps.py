"""What an op reads of the memory that it writes: equal to eager mode, or refused.

Eager mode computes element by element and writes as it goes. Where an operand is at the very place
of the target, an elementwise op is well defined; where they share some elements only, eager mode
raises, or gives numbers that depend on the order of its loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from lamina.dialects import aten
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.functionalize.aliases import Alias
from lamina.passes.functionalize.functional_forms import functional_class
from lamina.passes.functionalize.running_statistics import updates_statistics
from lamina.passes.functionalize.view_chains import ViewStep
from lamina.passes.functionalize.view_layouts import layout_of
from lamina.passes.refusal import unsupported


class Overlap(Enum):
    """How an operand shares memory with a target.

    SAME: they are one tensor. ALIGNED: each element that they share has one index in both.
    """

    NONE = auto()
    SAME = auto()
    ALIGNED = auto()
    SOME = auto()


ELEMENTWISE = frozenset({"copy", "floor_divide"})
"""Packets of elementwise ops that torch does not tag as pointwise, in place or not."""

ROW_BY_ROW = frozenset(["_log_softmax", "_softmax", "log_softmax", "softmax"])
"""Packets that read an element for the last time before they write it."""

READ_BEFORE = frozenset(
    [
        ("fill_.Tensor", "value"),
        ("index_fill_.int_Tensor", "value"),
        ("masked_fill_.Tensor", "value"),
    ]
)
"""(overload, argument) of single numbers that eager mode reads before it writes anything."""


WRITES_LAST = frozenset(["instance_norm.default"])
"""Ops that compute in copies of what they write, and copy back at the end."""

_LAST = 2**63 - 1
"""Where torch ends a slice that goes to the end."""


def refuse_overlaps(op: SchemaOp, written: list[str], aliases: Mapping[SSAValue, Alias]) -> None:
    """Raise UnsupportedError if `op` reads memory that it writes, in another way than in place.

    `written` names the arguments that it writes.
    """
    if op.overload_name in WRITES_LAST:
        return
    targets = [entry for name in written for entry in tensors_of(op, name)]
    for number, target in enumerate(targets):
        for other in targets[:number]:
            if overlap_of(aliases[other], aliases[target]) is not Overlap.NONE:
                raise unsupported(op, "writes two tensors that share memory", "a clone() of one")
    for name in (a.name for a in op.schema.args if a.name not in written):
        for number, operand in enumerate(tensors_of(op, name)):
            for target in targets:
                _check(op, written, (name, number), aliases[operand], aliases[target])


def tensors_of(op: SchemaOp, name: str) -> list[SSAValue]:
    """The tensors of one argument."""
    value = op.arg(name)
    entries = value if isinstance(value, list) else [value]
    return [e for e in entries if isinstance(e, SSAValue) and isinstance(e.type, TensorType)]


def _check(
    op: SchemaOp, written: list[str], argument: tuple[str, int], operand: Alias, target: Alias
) -> None:
    name, number = argument
    found = overlap_of(operand, target)
    if found is Overlap.NONE or (op.overload_name, name) in READ_BEFORE:
        return
    what = f"argument '{name}'" + (f" (number {number})" if isinstance(op.arg(name), list) else "")
    if found is Overlap.SOME:
        reason = f"{what} shares some elements with the tensor that is written"
        raise unsupported(op, reason, f"a clone() of {what}")
    if _is_elementwise(op, written) or (found is Overlap.SAME and _reads_in_place(op, name)):
        return
    reason = f"{what} is in the tensor that is written, which only elementwise ops may read"
    raise unsupported(op, reason, f"a clone() of {what}")


def _is_elementwise(op: SchemaOp, written: list[str]) -> bool:
    packet = op.overload_name.partition(".")[0]
    if packet.removesuffix("_") in ELEMENTWISE or packet.startswith("_foreach_"):
        return True
    if "pointwise" in op.schema.tags:
        return True
    return not updates_statistics(op) and "pointwise" in functional_class(op, written).schema.tags


def _reads_in_place(op: SchemaOp, name: str) -> bool:
    """Whether an argument that is the target is read as if the target were written at the end."""
    packet = op.overload_name.partition(".")[0]
    if packet in ROW_BY_ROW:
        return True
    # addmm.out(x, a, b, out = x) is x.addmm_(a, b).
    return name == op.schema.args[0].name and _has_in_place_form(packet)


def _has_in_place_form(packet: str) -> bool:
    return any(known.startswith(f"{packet}_.") for known in aten.Aten.names)


def overlap_of(operand: Alias, target: Alias) -> Overlap:
    """How an operand shares memory with a target; SOME as well where that cannot be told."""
    if operand.storage is not target.storage:
        related = operand.storage.relatives and target.storage in operand.storage.family()
        return Overlap.SOME if related else Overlap.NONE
    if _same_chain(operand.chain, target.chain):
        return Overlap.SAME
    whole = target.storage.value.type
    assert isinstance(whole, TensorType)
    read, written = layout_of(whole, operand.chain), layout_of(whole, target.chain)
    if read is None or written is None:
        return Overlap.NONE if _cut_apart(operand.chain, target.chain) else Overlap.SOME
    if read.is_at(written):
        return Overlap.SAME
    if not read.meets(written):
        return Overlap.NONE
    return Overlap.ALIGNED if read.meets_in_place(written) else Overlap.SOME


def _same_chain(one: tuple[ViewStep, ...], other: tuple[ViewStep, ...]) -> bool:
    """Whether two chains see the same, whatever slices of all that there is stand in them."""
    one, other = (tuple(s for s in chain if not _sees_all(s)) for chain in (one, other))
    if len(one) != len(other):
        return False
    return all(a == b or _same_step(a, b) for a, b in zip(one, other, strict=True))


def _same_step(one: ViewStep, other: ViewStep) -> bool:
    """Whether two steps do the same to what they see."""
    same = one.op.name == other.op.name and one.result_index == other.result_index
    if not same or [r.type for r in one.op.results] != [r.type for r in other.op.results]:
        return False
    if one.packet == "slice":
        return _slice_of(one) == _slice_of(other)
    return one.op.properties == other.op.properties and list(one.op.operands[1:]) == list(
        other.op.operands[1:]
    )


def _sees_all(step: ViewStep) -> bool:
    return step.packet == "slice" and _slice_of(step)[1:] == (0, _LAST, 1)


def _slice_of(step: ViewStep) -> tuple[Any, Any, Any, Any]:
    """(dim, start, end, step) of a slice; ends that are left out are as torch writes them."""
    start, end = step.arg("start"), step.arg("end")
    dim = step.arg("dim") % step.source_type.get_num_dims()
    return dim, 0 if start is None else start, _LAST if end is None else end, step.arg("step")


def _cut_apart(one: tuple[ViewStep, ...], other: tuple[ViewStep, ...]) -> bool:
    """Whether two chains part with slices of one dim that do not meet; for dynamic dims."""
    for a, b in _parted(one, other):
        if a.op is b.op:
            return True  # two pieces of a split
        first, second = _interval(a), _interval(b)
        if first is None or second is None or first[0] != second[0]:
            return False
        return first[1] >= second[2] or second[1] >= first[2]
    return False


def _parted(
    one: tuple[ViewStep, ...], other: tuple[ViewStep, ...]
) -> Iterator[tuple[ViewStep, ViewStep]]:
    """The first two steps that differ."""
    for a, b in zip(one, other, strict=False):
        if a != b and not _same_step(a, b):
            yield a, b
            return


def _interval(step: ViewStep) -> tuple[int, int, int] | None:
    """(dim, start, end) of a slice or select along a dim of known extent."""
    if len(step.op.operands) != 1 or step.packet not in ("slice", "select"):
        return None
    shape = step.source_type.get_shape()
    dim = step.arg("dim") % len(shape)
    if shape[dim] < 0:
        return None
    if step.packet == "select":
        start = step.arg("index") % shape[dim]
        return dim, start, start + 1
    start, end, _ = slice(step.arg("start"), step.arg("end")).indices(shape[dim])
    return dim, start, end
