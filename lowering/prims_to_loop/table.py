"""The table of lowerings, and the builder of loop nests they use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ComplexType,
    IndexType,
    IntegerType,
    Signedness,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from lamina.dialects.ir_links import append_op
from lamina.dialects.loop import GenericOp, IndexOp, ReadOp, ReshapeOp, SizeOp, YieldOp
from lamina.dialects.loop.labels import set_names
from lamina.dialects.loop.monoid import COMBINE, Monoid
from lamina.dialects.loop.open_nests import with_symbols
from lamina.dialects.loop.scalar_ops import constant_op
from lamina.dialects.schema.result_rules.shapes import tensor as shaped
from lamina.dialects.sizes import Extent, Size
from lamina.dialects.sizes.size_values import size_values
from lamina.lowering.conversion import Builder, Conversion
from lamina.lowering.scalar import NotDefinedError, convert, is_unsigned, number
from lamina.lowering.tensor_types import element_of, shape_of

COMPLEX = frozenset(
    f"prims.{name}"
    for name in ("complex", "extern", "fft_c2c", "fft_c2r", "fft_r2c", "fourier", "imag", "real")
) | {"prims.svd"}
"""What hands complex tensors on; `split-complex` leaves nothing else."""

Map = Sequence[AffineExpr | int] | None
"""An index map by its expressions; None is the identity over the whole domain."""


def d(position: int) -> AffineExpr:
    """Dimension `position` of the domain."""
    return AffineExpr.dimension(position)


class Body:
    """Appends scalar ops (`arith`, `math`, `loop`) to the body of a nest.

    The functions that `LoopBuilder.pointwise` and its like take are called with one.

        from xdsl.dialects.arith import MulfOp
        def square(scalars, elements):
            return scalars.add(MulfOp(elements[0], elements[0]))
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.sizes: list[Extent] = []
        """Those that are no numbers, in the order in which the nest takes their values."""

    def add(self, op: Operation) -> SSAValue:
        """Append `op` to the body; returns its first result."""
        append_op(self.block, op)
        return op.results[0]

    def constant(self, value: float, kind: Attribute) -> SSAValue:
        """`value` as a scalar of type `kind`; integers keep their exact value."""
        if isinstance(value, Size):
            return self._size(value, kind)
        if isinstance(kind, IntegerType) and kind.signedness.data == Signedness.UNSIGNED:
            # arith has constants of signless integers only.
            signless = self.constant(value, IntegerType(kind.width.data))
            return self.add(arith.BitcastOp(signless, kind))
        return self.add(constant_op(number(value, kind)))

    def _size(self, size: Size, kind: Attribute) -> SSAValue:
        """A size of the nest, of a type of numbers."""
        made = self.add(SizeOp(self.place(size)))
        if isinstance(kind, IndexType):
            return made
        made = self.add(arith.IndexCastOp(made, i64))
        return made if kind == i64 else convert(self, made, kind)

    def place(self, size: Extent) -> int:
        """The number of a size among those that the nest takes."""
        if size not in self.sizes:
            self.sizes.append(size)
        return self.sizes.index(size)

    def index(self, dim: int) -> SSAValue:
        """The position along dimension `dim` of the domain, of index type."""
        return self.add(IndexOp(dim))

    def read(self, source: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """The element of the tensor `source` at `indices`, which are checked at run time."""
        return self.add(ReadOp(source, indices))

    def as_index(self, value: SSAValue) -> SSAValue:
        """The integer `value` as an index; one without sign is extended as such first."""
        if is_unsigned(value.type):
            value = convert(self, value, i64)
        return self.add(arith.IndexCastOp(value, IndexType()))


class LoopBuilder(Builder):
    """Makes nests of loops on tensors, `loop.generic`, in front of the op being replaced.

    An index map is a list of expressions of the domain's dimensions (`AffineExpr`, or numbers), one
    for each dimension of the tensor; None is the identity. Functions `body` get a `Body`, to which
    they add scalar ops, and the elements read, and give what is written.

        @mine.lowers("mine.square", to="loop")
        def lower(op, b):
            (x,) = op.operands
            return b.pointwise([x], x.type.element_type, square)
    """

    def __init__(self, anchor: Operation) -> None:
        super().__init__(anchor, _no_source)
        for value in (*anchor.operands, *anchor.results):
            self._check(value.type)

    def _check(self, kind: Attribute) -> None:
        """Refuse what no nest computes with: sizes as values, complex numbers, dynamic shapes."""
        if not isinstance(kind, TensorType):
            if size_values.get() is not None and isinstance(kind, IndexType | IntegerType):
                return
            raise self.refuse(f"a value of type {kind} (sizes must be known when compiling)")
        if type(kind.element_type) is ComplexType and self.anchor.name not in COMPLEX:
            raise self.refuse("loop nests hold no complex numbers", "split-complex before it")
        if DYNAMIC_INDEX in kind.get_shape():
            raise self.refuse("dynamic dimensions have no loop nest yet", "static shapes")

    def generic(
        self,
        domain: Sequence[int],
        reads: Sequence[tuple[SSAValue, Map]],
        writes: Sequence[tuple[Map, str, Sequence[int], Attribute]],
        body: Callable[[Body, list[SSAValue]], Sequence[SSAValue]],
        *,
        sources: Sequence[SSAValue] = (),
        pads: Sequence[Attribute | None] | None = None,
        monoids: Sequence[Monoid] = (),
    ) -> GenericOp:
        """A nest over `domain`, the extents of its loops.

        Each of `reads` is (tensor, map), each of `writes` (map, combiner, shape, element type) for
        a result, with a combiner of "store", "add", "mul", "max", "min", ... `body` gets the
        elements of the reads, then `sources`, tensors that it reads at places of its own, and gives
        the values to write. `pads` are, for each read, what stands outside of its tensor, or None
        where its map stays inside; `monoids` combine several writes together.
        """
        arguments = [element_of(v) for v, _ in reads] + [s.type for s in sources]
        block = Block(arg_types=arguments)
        nest = Started(block, domain, [*(m for _, m in reads), *(m for m, *_ in writes)])
        try:
            values = body(nest.body, list(block.args))
        except NotDefinedError as error:
            raise self.refuse(str(error)) from None
        append_op(block, YieldOp(values))
        maps, sizes = nest.ended()
        op = GenericOp(
            nest.extents,
            [v for v, _ in reads],
            maps[: len(reads)],
            maps[len(reads) :],
            [combiner for _, combiner, *_ in writes],
            [shaped(shape, element) for *_, shape, element in writes],
            Region(block),
            sources=sources,
            pads=pads,
            monoids=monoids,
            sizes=sizes,
        )
        set_names(op, [self.anchor.name])
        self.insert(op)
        return op

    def pointwise(
        self,
        operands: Sequence[SSAValue],
        element: Attribute,
        body: Callable[[Body, list[SSAValue]], SSAValue],
        shape: Sequence[int] | None = None,
    ) -> SSAValue:
        """What `body` makes of the elements of `operands` at each place of one `shape`.

        The result's elements are of type `element`; `shape` is that of the first operand if None.
        """
        shape = shape_of(operands[0]) if shape is None else shape
        reads: list[tuple[SSAValue, Map]] = [(v, None) for v in operands]
        write = (None, "store", shape, element)
        return self.generic(shape, reads, [write], lambda b, a: [body(b, a)]).res[0]

    def copy(
        self,
        source: SSAValue,
        index_map: Map,
        shape: Sequence[int],
        pad: Attribute | None = None,
    ) -> SSAValue:
        """A rearrangement into `shape`: result[i] = source[index_map(i)].

        `pad` is what stands outside of `source`, or None where the map stays inside.
        """
        write = (None, "store", shape, element_of(source))
        reads: list[tuple[SSAValue, Map]] = [(source, index_map)]
        return self.generic(shape, reads, [write], lambda b, a: [a[0]], pads=[pad]).res[0]

    def reduce(
        self,
        source: SSAValue,
        dims: Sequence[int],
        combiner: str,
        element: Attribute,
        body: Callable[[Body, list[SSAValue]], SSAValue] | None = None,
        extra: Sequence[tuple[SSAValue, Map]] = (),
    ) -> SSAValue:
        """Combine the elements of `source`, or what `body` makes of each, over `dims`.

        The result has the other dimensions, and elements of type `element`; `combiner` is as for
        `generic`. `body` gets the element and those of `extra`, pairs of a tensor and its map.
        """
        shape = shape_of(source)
        kept = [p for p in range(len(shape)) if p not in dims]
        write = ([d(p) for p in kept], combiner, [shape[p] for p in kept], element)
        reads: list[tuple[SSAValue, Map]] = [(source, None), *extra]
        return self.generic(shape, reads, [write], lambda b, a: [body(b, a) if body else a[0]]).res[
            0
        ]

    def reduce_together(
        self,
        source: SSAValue,
        dims: Sequence[int],
        monoid: Monoid,
        body: Callable[[Body, list[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """Combine the tuples that `body` makes of each element of `source` over `dims`.

        As `reduce` does, with a `monoid` over several values; a result for each.
        """
        shape = shape_of(source)
        kept = [p for p in range(len(shape)) if p not in dims]
        into, extents = [d(p) for p in kept], [shape[p] for p in kept]
        writes = [(into, COMBINE, extents, value.type) for value in monoid.yielded]
        made = self.generic(shape, [(source, None)], writes, body, monoids=[monoid])
        return list(made.res)

    def reshape(self, source: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The elements of `source`, in order, under another `shape`."""
        return self.seen_as(source, shaped(shape, element_of(source)))

    def seen_as(self, source: SSAValue, kind: TensorType) -> SSAValue:
        """The elements of `source`, in order, as a tensor of type `kind`, which may have pairs of
        floats in the place of complex numbers."""
        if source.type == kind:
            return source
        op = ReshapeOp(source, kind, self.values(kind.get_shape()))
        self.insert(op)
        return op.result

    def values(self, extents: Sequence[Extent]) -> list[SSAValue]:
        """The values of those of `extents` that are no numbers, in order."""
        held = size_values.get()
        return [] if held is None else [held.value(e) for e in extents if isinstance(e, Size)]


class Started:
    """A nest whose body is being made, over a `domain` of numbers and sizes.

    `extents` are those of the op: value `n` of its sizes is -1 - n.
    """

    def __init__(self, block: Block, domain: Sequence[int], maps: Sequence[Map]) -> None:
        self.body = Body(block)
        self.extents = [e if isinstance(e, int) else -1 - self.body.place(e) for e in domain]
        self._maps = [index_map(m, len(domain)) for m in maps]

    def ended(self) -> tuple[list[AffineMap], list[SSAValue]]:
        """Index maps with symbols for sizes that are no numbers, and the values of all sizes."""
        held, place = size_values.get(), self.body.place
        if held is None:
            return self._maps, []
        for index_map in self._maps:  # all have as many symbols as the nest has sizes
            with_symbols(index_map, place, 0)
        count = len(self.body.sizes)
        made = [with_symbols(index_map, place, count) for index_map in self._maps]
        return made, [held.value(size) for size in self.body.sizes]


def constant(number: int) -> AffineExpr:
    """An expression that is this number, or size."""
    return AffineExpr.constant(number)


def index_map(exprs: Map, rank: int) -> AffineMap:
    """An affine map over `rank` dimensions from its expressions."""
    if exprs is None:
        return _identity(rank)
    as_exprs = [e if isinstance(e, AffineExpr) else AffineExpr.constant(e) for e in exprs]
    return AffineMap(rank, 0, tuple(as_exprs))


@cache
def _identity(rank: int) -> AffineMap:
    return AffineMap.identity(rank)


def _no_source(name: str) -> type[Operation]:
    raise TypeError(f"loop ops are not made by name, as '{name}': see help(lamina.LoopBuilder)")


@cache
def limitations() -> dict[str, str]:
    """Primitives that are not lowered, with the reason, from `limitations.tsv`."""
    text = (Path(__file__).parent / "limitations.tsv").read_text()
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {row[0]: row[1] for row in rows}


LOWERINGS = Conversion(
    source="prims",
    package=__package__,
    families=(
        "pointwise",
        "power",
        "creation",
        "layout",
        "reduction",
        "scan",
        "special",
        "product",
        "random",
        "window",
        "indexing",
        "scatter",
        "segments",
        "sort",
        "extern",
        "complex",
        "fourier",
    ),
    builder=LoopBuilder,
    limitations=limitations,
    target="loop",
)

lowers = LOWERINGS.lowers
"""Decorator: register a lowering for primitives by name."""
