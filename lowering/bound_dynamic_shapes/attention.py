"""Attention over padded sequences: padding among the keys is masked, among queries it may stay."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned_at
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count
from lamina.lowering.tensor_types import element_of, is_bool


@bounds("scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu")
def attention(op: SchemaOp, b: BoundBuilder) -> Bounded | list[Bounded]:
    """Any of batch, heads, queries and keys may be padded; features are static."""
    arguments = op.args()
    query, key, value = (b.tensor(arguments[name]) for name in ("query", "key", "value"))
    if any(tensor.sizes[-1] is not None for tensor in (query, key, value)):
        raise b.refuse("features whose number depends on data")
    if _are_grouped(op, query, key):
        raise b.refuse("groups of heads whose number depends on data")
    key, value = aligned_at(key.rank - 2, [key, value], b)
    query, key, value = _same_batches([query, key, value], b)
    keys = key.sizes[-2]
    if keys is not None:
        # Its weights are 0, which are no 0 times what is not finite.
        value = Bounded(b.filled(value, 0, [value.rank - 2]), value.sizes)
        key = Bounded(b.filled(key, 0, [key.rank - 2]), key.sizes)
        if arguments["is_causal"] and not _are_as_many(query, key):
            arguments["is_causal"] = False
            arguments["attn_mask"] = _causal(query, key, b)
        # Behind a causal mask no query sees padding, where there are as many keys.
        if not arguments["is_causal"]:
            arguments["attn_mask"] = _masked(arguments["attn_mask"], keys, key.shape[-2], b)
    elif arguments["attn_mask"] is not None:
        arguments["attn_mask"] = b.tensor(arguments["attn_mask"]).value
    given = {"query": query.value, "key": key.value, "value": value.value}
    made = b.op(op.overload_name, **{**arguments, **given}).results
    rows = query.sizes[:-1]
    result = Bounded(made[0], (*rows, None))
    return result if len(made) == 1 else [result, Bounded(made[1], rows)]


def _are_grouped(op: SchemaOp, query: Bounded, key: Bounded) -> bool:
    """Whether heads may share keys and it is open how many do: neither are there as many by name,
    nor is one for all."""
    dim = query.rank - 3
    if dim < 0 or key.rank != query.rank or not op.args().get("enable_gqa", True):
        return False
    heads = query.sizes[dim], key.sizes[dim]
    return heads[0] is not heads[1] and not (heads[1] is None and key.shape[dim] == 1)


def _are_as_many(query: Bounded, key: Bounded) -> bool:
    return query.sizes[-2] is key.sizes[-2] and query.shape[-2] == key.shape[-2]


def _same_batches(tensors: list[Bounded], b: BoundBuilder) -> list[Bounded]:
    """Operands whose batches have one size; static heads may be grouped."""
    heads = tensors[0].rank - 3
    for dim in range(heads + 1):
        if dim < heads or any(t.sizes[dim] is not None for t in tensors):
            tensors = aligned_at(dim, tensors, b)
    return tensors


def _causal(query: Bounded, key: Bounded, b: BoundBuilder) -> SSAValue:
    """Which keys each query sees: those that stand no further back than itself."""
    rows = b.reshape(b.iota(query.shape[-2]), [query.shape[-2], 1])
    return b("ge.Tensor", rows, b.iota(key.shape[-2]))


def _masked(mask: SSAValue | None, keys: Count, extent: int, b: BoundBuilder) -> SSAValue:
    """The mask of a call that sees no padding among the keys."""
    assert keys is not None
    seen = b.reshape(b.is_element(keys, extent), [1, extent])
    if mask is None:
        return seen
    given = b.tensor(mask).value
    if is_bool(element_of(given)):
        return b("logical_and.default", given, seen)
    return b.where(seen, given, float("-inf"))
