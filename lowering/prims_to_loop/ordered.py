"""Builders of the loop ops whose points depend on one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.loop import ScanOp, ScatterOp, SegmentReduceOp, YieldOp
from lamina.dialects.loop.labels import set_names
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, Map, index_map
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
    maps, block = _start(domain, reads)
    old = block.insert_arg(element_of(into), len(block.args))
    with_errors(b, block, lambda inner: _scattered(body, inner, block, old))
    op = ScatterOp(domain, [v for v, _ in reads], maps, into, Region(block))
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
    maps, block = _start(domain, reads)
    for start in starts:
        block.insert_arg(start.type, len(block.args))  # pyright: ignore
    given: list[SSAValue] = list(block.args[: len(reads)])
    carried: list[SSAValue] = list(block.args[len(reads) :])

    def made(inner: Body) -> list[SSAValue]:
        following, results = body(inner, given, carried)
        return [*following, *results]

    with_errors(b, block, made)
    types = [TensorType(element, list(domain)) for element in elements]
    op = ScanOp(domain, along, [v for v, _ in reads], maps, starts, types, Region(block))
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
    maps, block = _start(domain, reads)
    for kind in (*(v.type for v in sources), *(s.type for s in starts)):  # pyright: ignore
        block.insert_arg(kind, len(block.args))
    given: list[SSAValue] = list(block.args[: len(reads) + len(sources)])
    carried: list[SSAValue] = list(block.args[len(given) :])
    with_errors(b, block, lambda inner: body(inner, given, carried))
    shape = [domain[0], *domain[2:]]
    types = [TensorType(s.type, shape) for s in starts[:results]]  # pyright: ignore
    inputs = [v for v, _ in reads]
    op = SegmentReduceOp(
        domain, offsets, inputs, maps, starts, types, Region(block), sources=sources
    )
    set_names(op, [b.anchor.name])
    b.insert(op)
    return list(op.res)


def _start(domain: Sequence[int], reads: Reads) -> tuple[list[AffineMap], Block]:
    maps = [index_map(m, len(domain)) for _, m in reads]
    return maps, Block(arg_types=[element_of(v) for v, _ in reads])


def with_errors(b: LoopBuilder, block: Block, made: Callable[[Body], Sequence[SSAValue]]) -> None:
    """Fill a block and end it; refuse what its element type does not have."""
    try:
        values = made(Body(block))
    except NotDefinedError as error:
        raise b.refuse(str(error)) from None
    block.add_op(YieldOp(values))
