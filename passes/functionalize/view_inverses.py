"""Writing back: what the whole becomes when a view of it gets a new value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, ComplexType, TensorType
from xdsl.ir import Operation, SSAValue

from lamina.dialects import aten
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.functionalize.view_chains import PERMUTATIONS, SHAPE_ONLY, ViewStep, inserted
from lamina.passes.refusal import unsupported

_Inverse = Callable[[ViewStep, SSAValue, SSAValue, Operation], SSAValue]
"""Of a step, the old value of what it sees, its result's new value and the op that writes."""


def written_back(
    chain: tuple[ViewStep, ...], whole: SSAValue, value: SSAValue, writer: Operation
) -> SSAValue:
    """The whole after the tensor at the end of the chain became `value`."""
    seen = [whole]
    for position, step in enumerate(chain[:-1]):
        # Only steps that keep other elements read what they write into.
        needed = any(later.packet in PARTIAL for later in chain[position + 1 :])
        seen.append(step.replay(seen[-1], writer) if needed else seen[-1])
    for step, base in zip(reversed(chain), reversed(seen[: len(chain)]), strict=True):
        value = _inverse(step, base, value, writer)
    return value


def _inverse(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    if step.reads_bits:
        return _made(writer, "view.dtype", value, step.source_type.element_type)
    if step.packet in SHAPE_ONLY:
        return _reshaped(step, base, value, writer)
    if step.packet in PERMUTATIONS:
        return _unpermuted(step, value, writer)
    found = PARTIAL.get(step.packet) or _WHOLE.get(step.packet)
    if found is None:
        raise unsupported(
            writer,
            f"writes through {step.op.name}",
            "view, transpose, permute, select, slice, split, diagonal, unfold, as_strided",
        )
    return found(step, base, value, writer)


def _made(reader: Operation, name: str, *args: Any) -> SSAValue:
    op_class: Any = aten.op(name)
    return inserted(op_class(*args), reader).results[0]


def _reshaped(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    """The value in the shape of the view's source, of which sizes that are not known are asked."""
    shape = list(step.source_type.get_shape())
    if DYNAMIC_INDEX not in shape:
        same = value.type == step.source_type
        return value if same else _made(writer, "reshape.default", value, shape)
    if base.type != step.source_type:
        raise unsupported(writer, "writes through a view of a tensor with dynamic dimensions")
    sizes = [
        _made(writer, "sym_size.int", base, dim) if extent == DYNAMIC_INDEX else extent
        for dim, extent in enumerate(shape)
    ]
    return _made(writer, "reshape.default", value, sizes)


def _unpermuted(step: ViewStep, value: SSAValue, writer: Operation) -> SSAValue:
    if step.packet in _CONJUGATING:
        value = _conjugated(value, writer)
    dims = dims_seen(step)
    return _made(writer, "permute.default", value, [dims.index(d) for d in range(len(dims))])


_CONJUGATING = frozenset(["adjoint", "mH", "matrix_H"])


def _conjugated(value: SSAValue, writer: Operation) -> SSAValue:
    assert isinstance(value.type, TensorType)
    is_complex = isinstance(value.type.element_type, ComplexType)
    return _made(writer, "conj_physical.default", value) if is_complex else value


def dims_seen(step: ViewStep) -> list[int]:
    """For each dim of a permutation's result the dim of its operand."""
    rank = step.source_type.get_num_dims()
    dims = list(range(rank))
    if step.packet == "permute":
        return [d % rank for d in step.arg("dims")]
    if step.packet == "numpy_T":
        return dims[::-1]
    if step.packet in ("movedim", "moveaxis"):
        return _moved(step, rank)
    if rank < 2:
        return dims
    first, second = (0, 1) if step.packet == "t" else (rank - 2, rank - 1)
    if step.packet in ("transpose", "swapaxes", "swapdims"):
        assert isinstance(step.op, SchemaOp)
        first, second = (step.arg(a.name) % rank for a in step.op.schema.args[1:3])
    dims[first], dims[second] = second, first
    return dims


def _moved(step: ViewStep, rank: int) -> list[int]:
    source, destination = step.arg("source"), step.arg("destination")
    if isinstance(source, int):
        source, destination = [source], [destination]
    placed = {d % rank: s % rank for s, d in zip(source, destination, strict=True)}
    others = iter(d for d in range(rank) if d not in placed.values())
    return [placed[d] if d in placed else next(others) for d in range(rank)]


def _into_slice(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    names = ("dim", "start", "end", "step")
    return _made(writer, "slice_scatter.default", base, value, *(step.arg(n) for n in names))


def _into_narrow(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    dim, start, length = step.arg("dim"), step.arg("start"), step.arg("length")
    if not isinstance(start, int):
        raise unsupported(writer, f"writes through {step.op.name}", "a start that is a number")
    if start < 0:
        start += step.source_type.get_shape()[dim]
    return _made(writer, "slice_scatter.default", base, value, dim, start, start + length, 1)


def _into_select(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    dim, index = step.arg("dim"), step.arg("index")
    return _made(writer, "select_scatter.default", base, value, dim, index)


def _into_piece(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    rank = step.source_type.get_num_dims()
    # hsplit cuts vectors along their only dim.
    dim = min(CUT_DIM[step.packet], rank - 1) if step.packet in CUT_DIM else step.arg("dim")
    dim %= rank
    before = list(step.op.results)[: step.result_index]
    start = sum(_extent(result, dim) for result in before)
    end = start + _extent(step.op.results[step.result_index], dim)
    return _made(writer, "slice_scatter.default", base, value, dim, start, end, 1)


CUT_DIM = {"hsplit": 1, "vsplit": 0, "dsplit": 2}
"""The dim that splits along a fixed dim cut; `hsplit` cuts vectors along their only one."""


def _into_unbound(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    dim = step.arg("dim")
    return _made(writer, "select_scatter.default", base, value, dim, step.result_index)


def _extent(value: SSAValue, dim: int) -> int:
    assert isinstance(value.type, TensorType)
    return value.type.get_shape()[dim]


def _into_diagonal(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    names = ("offset", "dim1", "dim2")
    return _made(writer, "diagonal_scatter.default", base, value, *(step.arg(n) for n in names))


def _into_strided(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    start = step.arg("storage_offset") or 0
    return _by_strides(step, step.arg("size"), step.arg("stride"), start, base, value, writer)


def _into_windows(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    shape, rank = list(step.source_type.get_shape()), step.source_type.get_num_dims()
    dim, size, between = step.arg("dimension"), step.arg("size"), step.arg("step")
    if rank == 0:
        return _reshaped(step, base, value, writer)
    strides = [prod(shape[d + 1 :]) for d in range(rank)]
    dim %= rank
    shape[dim] = (shape[dim] - size) // between + 1
    window = strides[dim]
    strides[dim] *= between
    return _by_strides(step, [*shape, size], [*strides, window], 0, base, value, writer)


def _by_strides(
    step: ViewStep,
    size: list[int],
    stride: list[int],
    start: int,
    base: SSAValue,
    value: SSAValue,
    writer: Operation,
) -> SSAValue:
    if overlaps(size, stride):
        raise unsupported(
            writer,
            f"writes through {step.op.name}, whose elements share memory",
            "a clone() of the view, or windows that do not overlap",
        )
    return _made(writer, "as_strided_scatter.default", base, value, size, stride, start)


def overlaps(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Whether two elements may be at one place: whether a dim's steps end before the next one's.

    Says yes for some interleaved layouts in which no two elements meet.
    """
    if 0 in size:
        return False
    reach = 0
    for step, extent in sorted((s, n) for s, n in zip(stride, size, strict=True) if n > 1):
        if step <= reach:
            return True
        reach += step * (extent - 1)
    return False


def _into_expanded(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    known, given = _count(value), _count(base)
    if known is None or known != given:
        raise unsupported(
            writer, f"writes through {step.op.name}, whose elements share memory", "repeat"
        )
    return _reshaped(step, base, value, writer)


def _count(value: SSAValue) -> int | None:
    """How many elements a tensor has; None where a size is not known."""
    assert isinstance(value.type, TensorType)
    shape = value.type.get_shape()
    return None if DYNAMIC_INDEX in shape else prod(shape)


def _into_real_pairs(
    step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation
) -> SSAValue:
    return _made(writer, "view_as_complex.default", value)


def _into_complex(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    return _made(writer, "view_as_real.default", value)


def _into_part(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    if not isinstance(step.source_type.element_type, ComplexType):
        return value
    pairs = _made(writer, "view_as_real.default", base)
    part = ("real", "imag").index(step.packet)
    pairs = _made(writer, "select_scatter.default", pairs, value, -1, part)
    return _made(writer, "view_as_complex.default", pairs)


def _into_conjugate(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    return _conjugated(value, writer)


def _into_negative(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    return _made(writer, "neg.default", value)


def _into_itself(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    return value


PARTIAL: dict[str, _Inverse] = {
    "slice": _into_slice,
    "narrow": _into_narrow,
    "select": _into_select,
    "split": _into_piece,
    "chunk": _into_piece,
    "split_with_sizes": _into_piece,
    "tensor_split": _into_piece,
    "unbind": _into_unbound,
    "hsplit": _into_piece,
    "vsplit": _into_piece,
    "dsplit": _into_piece,
    "diagonal": _into_diagonal,
    "linalg_diagonal": _into_diagonal,
    "as_strided": _into_strided,
    "unfold": _into_windows,
    "real": _into_part,
    "imag": _into_part,
}
"""Views of a part: writing back needs the old whole."""

_WHOLE: dict[str, _Inverse] = {
    "expand": _into_expanded,
    "expand_as": _into_expanded,
    "view_as_real": _into_real_pairs,
    "view_as_complex": _into_complex,
    "_conj": _into_conjugate,
    "conj": _into_conjugate,
    "_neg_view": _into_negative,
    "resolve_conj": _into_itself,
    "resolve_neg": _into_itself,
}
"""Views of all elements."""
