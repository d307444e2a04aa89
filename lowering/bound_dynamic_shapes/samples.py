"""Ops that compute each sample alone: what they look at is static, batches of it may be padded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned, aligned_at, common_sizes
from lamina.lowering.bound_dynamic_shapes.reduction import kept_sizes
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count
from lamina.lowering.tensor_types import normalized, normalized_dims, shape_of

INNER: dict[str, dict[str, int]] = {
    "bilinear.default": {"input1": 1, "input2": 1},
    "bucketize.Tensor": {"self": 0},
    "diag_embed.default": {"self": 1},
    "fft_fft.default": {"self": 1},
    "fft_hfft.default": {"self": 1},
    "fft_ifft.default": {"self": 1},
    "fft_ihfft.default": {"self": 1},
    "fft_irfft.default": {"self": 1},
    "fft_rfft.default": {"self": 1},
    "linalg_det.default": {"A": 2},
    "pairwise_distance.default": {"x1": 1, "x2": 1},
    "stft.default": {"self": 1},
}
"""How many of the last dimensions of an operand an op looks at; those in front are batches."""


@bounds(*INNER)
def samples(op: SchemaOp, b: BoundBuilder) -> Bounded | list[Bounded]:
    """Batches in front; what other operands there are is static."""
    arguments, inner = op.args(), INNER[op.overload_name]
    if arguments.get("dim", -1) != -1 or arguments.get("dim1", -2) != -2:
        raise b.refuse("along other dimensions than the last ones", "a permutation")
    given = {name: b.tensor(arguments[name]) for name in inner}
    batches = [_batches(given[name], looked_at, b) for name, looked_at in inner.items()]
    if len({batch.rank for batch in batches}) > 1:
        raise b.refuse("batches of another rank")
    for dim in range(batches[0].rank):
        batches = aligned_at(dim, batches, b)
    _others_are_static(arguments, inner, b)
    values = dict(zip(inner, (batch.value for batch in batches), strict=True))
    return _results(b, op, {**arguments, **values}, common_sizes(batches))


def _batches(tensor: Bounded, inner: int, b: BoundBuilder) -> Bounded:
    """A tensor, of whose sizes only those of its batches are named."""
    count = tensor.rank - inner
    if any(size is not None for size in tensor.sizes[count:]):
        raise b.refuse("sizes of samples that depend on data", "batches whose sizes do")
    return Bounded(tensor.value, tensor.sizes[:count])


def _others_are_static(
    arguments: dict[str, Any], names: Sequence[str] | Any, b: BoundBuilder
) -> None:
    for name, value in arguments.items():
        for entry in value if isinstance(value, list) else [value]:
            if name not in names and isinstance(entry, SSAValue) and b.state.concerns(entry):
                raise b.refuse(f"{name} has a size that depends on data")


def _results(
    b: BoundBuilder, op: SchemaOp, arguments: dict[str, Any], sizes: tuple[Count, ...]
) -> Bounded | list[Bounded]:
    """The op with other operands; its results have these sizes in front."""
    made = b.op(op.overload_name, **arguments).results
    found = [
        Bounded(value, (*sizes, *[None] * (len(shape_of(value)) - len(sizes)))) for value in made
    ]
    return found[0] if len(found) == 1 else found


@bounds("_trilinear")
def trilinear(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Products of three tensors, which broadcast once each has dimensions of one more; summed along
    static ones."""
    arguments = op.args()
    names, expansions = ("i1", "i2", "i3"), [arguments[f"expand{n}"] for n in (1, 2, 3)]
    given = [b.tensor(arguments[name]) for name in names]
    wide = [_expanded(tensor, dims, b) for tensor, dims in zip(given, expansions, strict=True)]
    wide = aligned(wide, b)
    sizes = common_sizes(wide)
    summed = normalized_dims(arguments["sumdim"], len(sizes))
    if any(sizes[dim] is not None for dim in summed):
        raise b.refuse("along a dimension whose size depends on data")
    for name, tensor, dims in zip(names, wide, expansions, strict=True):
        shape = [extent for dim, extent in enumerate(tensor.shape) if dim not in dims]
        arguments[name] = b.reshape(tensor.value, shape)
    kept = tuple(size for dim, size in enumerate(sizes) if dim not in summed)
    return Bounded(b(op.overload_name, **arguments), kept)


def _expanded(tensor: Bounded, dims: Sequence[int], b: BoundBuilder) -> Bounded:
    """With dimensions of one at these places of the result."""
    shape, sizes = list(tensor.shape), list(tensor.sizes)
    for dim in sorted(dims):
        shape.insert(dim, 1)
        sizes.insert(dim, None)
    return Bounded(b.reshape(tensor.value, shape), tuple(sizes))


@bounds("cosine_similarity")
def cosine_similarity(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Of two tensors that broadcast, along a static dimension."""
    arguments = op.args()
    one, other = aligned([b.tensor(arguments["x1"]), b.tensor(arguments["x2"])], b)
    sizes = list(common_sizes([one, other]))
    if sizes.pop(normalized(arguments["dim"], one.rank)) is not None:
        raise b.refuse("along a dimension whose size depends on data")
    arguments.update(x1=one.value, x2=other.value)
    return Bounded(b(op.overload_name, **arguments), tuple(sizes))


@bounds("prelu")
def prelu(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """x where it is above 0, else weight * x; a weight for each channel, the second dimension."""
    tensor, weight = b.tensor(op.arg("self")), b.static(op.arg("weight"), "weight")
    shape = [1] * tensor.rank
    if tensor.rank > 1:
        shape[1] = shape_of(weight)[0] if shape_of(weight) else 1
    if tensor.rank > 1 and tensor.sizes[1] is not None and shape[1] != 1:
        raise b.refuse("as many channels as depend on data")
    low = b("mul.Tensor", tensor.value, b.reshape(weight, shape))
    positive = b("gt.Scalar", tensor.value, 0)
    return Bounded(b("where.self", positive, tensor.value, low), tensor.sizes)


@bounds("quantile", "quantile.scalar", "nanquantile", "nanquantile.scalar")
def quantile(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Of a static number of elements along a dimension; a vector of them stands in front."""
    arguments = op.args()
    tensor, dim = b.tensor(arguments["self"]), arguments["dim"]
    if dim is None or tensor.sizes[normalized(dim, tensor.rank)] is not None:
        raise b.refuse("sorts elements whose number depends on data")
    _others_are_static(arguments, ("self",), b)
    sizes = kept_sizes(tensor, [normalized(dim, tensor.rank)], arguments["keepdim"])
    value = b(op.overload_name, **{**arguments, "self": tensor.value})
    return Bounded(value, (*[None] * (len(shape_of(value)) - len(sizes)), *sizes))


@bounds("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """An image and its places for each sample."""
    arguments = op.args()
    names = ("input", "grid")
    pair = [_batches(t, t.rank - 1, b) for t in (b.tensor(arguments[name]) for name in names)]
    pair = aligned_at(0, pair, b)
    values = dict(zip(names, (tensor.value for tensor in pair), strict=True))
    made = _results(b, op, {**arguments, **values}, common_sizes(pair))
    assert isinstance(made, Bounded)
    return made


@bounds("gru.input", "lstm.input", "rnn_tanh.input", "rnn_relu.input")
def recurrent(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """As many sequences as the call says, all of one static length."""
    arguments = op.args()
    sequences = b.tensor(arguments["input"])
    place = 0 if arguments["batch_first"] else 1
    if any(dim != place for dim in sequences.dynamic_dims):
        raise b.refuse("steps whose number depends on data", "a static length")
    _others_are_static(arguments, ("input", "hx"), b)
    held = arguments["hx"]
    states = [b.tensor(state) for state in (held if isinstance(held, list) else [held])]
    ready, *states = _of_one_batch([(sequences, place), *((state, 1) for state in states)], b)
    arguments["input"] = ready.value
    values = [state.value for state in states]
    arguments["hx"] = values if isinstance(held, list) else values[0]
    made = b.op(op.overload_name, **arguments).results
    count = sequences.sizes[place]
    return [
        Bounded(value, tuple(count if d == at else None for d in range(3)))
        for value, at in zip(made, [place] + [1] * (len(made) - 1), strict=True)
    ]


def _of_one_batch(tensors: Sequence[tuple[Bounded, int]], b: BoundBuilder) -> list[Bounded]:
    """Tensors whose sizes at these dimensions are equal, with one bound for all."""
    first, place = tensors[0]
    extent = min(tensor.shape[dim] for tensor, dim in tensors)
    for tensor, dim in tensors[1:]:
        b.require_equal(b.size(first, place), b.size(tensor, dim), "batches of other sizes")
    return [Bounded(b.slice(t.value, dim, 0, extent), t.sizes) for t, dim in tensors]
