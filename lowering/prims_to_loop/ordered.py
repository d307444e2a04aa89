"""Builders of the loop ops whose points depend on one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, Block, Region, SSAValue

from lamina.dialects.loop import ScanOp, ScatterOp, SegmentReduceOp, YieldOp
from lamina.dialects.loop.labels import set_names
from lamina.dialects.schema.result_rules.shapes import tensor as shaped
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, Map, Started
from lamina.lowering.scalar import NotDefinedError
from lamina.lowering.tensor_types import element_of

Reads = Sequence[tuple[SSAValue, Map]]

ScatterBody = Callable[[Body, list[SSAValue], SSAValue], tuple[Sequence[SSAValue], SSAValue]]
"""From the elements read and the one that is there: its indices, and the new element."""

ScanBody = Callable[
    [Body, list[SSAValue], list[SSAValue]], tuple[Sequence[SSAValue], Sequence[SSAValue]]
]
"""From the elements read and the carried values: the next carried values, and the results."""


def scatter(
    b: LoopBuilder, domain: Sequence[int], reads: Reads, into: SSAValue, body: ScatterBody
) -> SSAValue:
    """A copy of `into` with the element at each point's indices replaced."""
    nest = _started(domain, reads)
    block = nest.body.block
    old = block.insert_arg(element_of(into), len(block.args))
    with_errors(b, nest.body, lambda inner: _scattered(body, inner, block, old))
    maps, sizes = nest.ended()
    inputs = [v for v, _ in reads]
    op = ScatterOp(nest.extents, inputs, maps, into, Region(block), sizes=sizes)
    set_names(op, [b.anchor.name])
    b.insert(op)
    return op.res[0]


def _scattered(body: ScatterBody, inner: Body, block: Block, old: SSAValue) -> list[SSAValue]:
    places, value = body(inner, list(block.args[:-1]), old)
    return [*places, value]


def scan(
    b: LoopBuilder,
    domain: Sequence[int],
    along: int,
    reads: Reads,
    starts: Sequence[Attribute],
    elements: Sequence[Attribute],
    body: ScanBody,
) -> list[SSAValue]:
    """Running values along one dimension of the domain, one result for each element type."""
    nest = _started(domain, reads)
    block = nest.body.block
    for start in starts:
        block.insert_arg(start.type, len(block.args))  # pyright: ignore
    given: list[SSAValue] = list(block.args[: len(reads)])
    carried: list[SSAValue] = list(block.args[len(reads) :])

    def made(inner: Body) -> list[SSAValue]:
        following, results = body(inner, given, carried)
        return [*following, *results]

    with_errors(b, nest.body, made)
    maps, sizes = nest.ended()
    types = [shaped(domain, element) for element in elements]
    inputs = [v for v, _ in reads]
    op = ScanOp(nest.extents, along, inputs, maps, starts, types, Region(block), sizes=sizes)
    set_names(op, [b.anchor.name])
    b.insert(op)
    return list(op.res)


SegmentBody = Callable[[Body, list[SSAValue], list[SSAValue]], Sequence[SSAValue]]
"""From the elements read and sources, and the carried values: the next carried values."""


def segment_reduce(
    b: LoopBuilder,
    domain: Sequence[int],
    offsets: SSAValue,
    reads: Reads,
    starts: Sequence[Attribute],
    results: int,
    body: SegmentBody,
    *,
    sources: Sequence[SSAValue] = (),
) -> list[SSAValue]:
    """The first `results` carried values after each segment of the domain's second dimension."""
    nest = _started(domain, reads)
    block = nest.body.block
    for kind in (*(v.type for v in sources), *(s.type for s in starts)):  # pyright: ignore
        block.insert_arg(kind, len(block.args))
    given: list[SSAValue] = list(block.args[: len(reads) + len(sources)])
    carried: list[SSAValue] = list(block.args[len(given) :])
    with_errors(b, nest.body, lambda inner: body(inner, given, carried))
    maps, sizes = nest.ended()
    shape = [domain[0], *domain[2:]]
    types = [shaped(shape, s.type) for s in starts[:results]]  # pyright: ignore
    op = SegmentReduceOp(
        nest.extents,
        offsets,
        [v for v, _ in reads],
        maps,
        starts,
        types,
        Region(block),
        sources=sources,
        sizes=sizes,
    )
    set_names(op, [b.anchor.name])
    b.insert(op)
    return list(op.res)


def _started(domain: Sequence[int], reads: Reads) -> Started:
    block = Block(arg_types=[element_of(v) for v, _ in reads])
    return Started(block, domain, [m for _, m in reads])


def with_errors(b: LoopBuilder, inner: Body, made: Callable[[Body], Sequence[SSAValue]]) -> None:
    """Fill a body and end it; refuse what its element type does not have."""
    try:
        values = made(inner)
    except NotDefinedError as error:
        raise b.refuse(str(error)) from None
    inner.block.add_op(YieldOp(values))
