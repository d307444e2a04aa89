"""When two loop nests may share a kernel: alignment of their rows, and what it must pay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from lamina.codegen.roofline import Roofline
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.contraction import Contraction, is_product
from lamina.dialects.loop.least_extents import least_extents_of
from lamina.dialects.loop.pairs import copies_in_pairs
from lamina.passes.cost.fusion_cost import value_bytes
from lamina.passes.cost.fusion_limits import (
    MAX_GROWN_ROW_BYTES,
    MIN_PADDED_ROWS,
    MOST_GROWTH,
    SERIAL_WORK,
)
from lamina.passes.cost.kernel_model import (
    THREADS,
    estimate_far_panels,
    estimate_few_rows,
    estimate_product,
    estimate_rows,
    repacked_bytes,
    row_products,
    row_tasks,
)
from lamina.passes.cost.scratch_budget import (
    MAX_PRODUCT_ROW_BYTES,
    MAX_ROW_BYTES,
    SCRATCH_BYTES,
)
from lamina.passes.fusion.fusion_decisions import Refusal, overridden
from lamina.passes.fusion.open_rows import ENDS_LOST, is_open_inside, loses_open_rows, spreads_open
from lamina.passes.fusion.position_masks import is_masked, is_position_mask, usual_share
from lamina.passes.fusion.slid_windows import is_slid_over
from lamina.passes.fusion.turned_rows import (
    TURNED_ROWS,
    TURNED_STORES,
    stores_in_one_set,
    turns_more,
)

MASK_TAKES_ROWS = Refusal("a mask of positions has fewer rows than its reader")
"""It costs next to nothing: its reader's loops are worth more, and may end at a call's sizes."""

MAX_CONTRACTIONS = 2
"""Products of one kernel: attention has two."""


def initial_rows(op: GenericOp) -> tuple[int, ...]:
    """Parallel dimensions in the order in which the first result is laid out, but for those of one
    position: what reads them need not have such a dimension."""
    reduced = set(op.reduction_dims)
    written = forms_of(op.write_maps[0], op.extents)
    rows: list[int] = []
    for form in written or ():
        dims = [dim for dim, _ in sorted(form.terms, key=lambda term: -term[1])]
        if reduced.intersection(dims):
            break
        rows += [dim for dim in dims if op.extents[dim] != 1]
    return tuple(rows)


MASKED_ROWS = Refusal("a size of the call masks rows that it sums over, at which products end")


def align_rows(
    members: Sequence[GenericOp],
    rows: Mapping[GenericOp, tuple[int, ...]],
    op: GenericOp,
    machine: Roofline,
) -> tuple[list[int], tuple[int, ...]] | Refusal:
    """Which of the kernel's rows survive if `op` joins, and which dims of `op` they are."""
    count = len(rows[members[0]])
    if any(0 in nest.extents for nest in (*members, op)):
        return Refusal("one of them has nothing to compute")
    if any(map(copies_in_pairs, (*members, op))):
        return Refusal("a copy in pairs has a schedule of its own")
    assigned: list[int | None] | None = None
    edges = [(number, value) for number, value in enumerate(op.inputs) if value.owner in rows]
    if any(v.owner in rows for v in op.sources):
        return Refusal("the result is read through computed indices")
    for number, value in edges:
        aligned = edge_rows(value, rows, op, number, count)
        if isinstance(aligned, Refusal):
            return aligned
        if assigned is None:
            assigned = aligned
        else:
            assigned = [a if a == b else None for a, b in zip(assigned, aligned, strict=True)]
    assert assigned is not None
    kept: list[int] = []
    dims: list[int] = []
    reduced = set(op.reduction_dims)
    for place, dim in enumerate(assigned):
        if dim is None or dim in dims or dim in reduced:
            break
        kept.append(place)
        dims.append(dim)
    parallel = prod(op.extents[d] for d in dims)
    if any(op.pad_values[number] is not None for number, _ in edges):
        work = sum(prod(m.extents) for m in members) + prod(op.extents)
        if is_product(op) or (parallel < MIN_PADDED_ROWS and work > SERIAL_WORK):
            return Refusal("the result is read beyond its edge")
    said = overridden(value.owner for _, value in edges if isinstance(value.owner, GenericOp))
    if said is not None and not said.fuse:
        return Refusal(said.reason)
    if said is None and len(dims) < len(initial_rows(op)) and all(map(is_position_mask, members)):
        return MASK_TAKES_ROWS
    if (lost := _lost_rows(members, op, edges, dims)) is not None:
        return lost
    if said is None and turns_more(op, edges, dims):
        return TURNED_ROWS
    if said is None and stores_in_one_set(op, edges, dims):
        return TURNED_STORES
    gone = {place: d for place, d in enumerate(assigned) if place not in kept and d in reduced}
    if said is None and any(
        is_masked(op, dim) and place in _row_places(member, rows[member])
        for place, dim in gone.items()
        if dim is not None
        for member in members
    ):
        return MASKED_ROWS
    own = {m: [rows[m][place] for place in kept] for m in members}
    nests = (*members, op)
    has_products = any(map(is_product, nests))
    if said is None and is_open_inside(op, edges, own, in_windows=has_products):
        return ENDS_LOST
    if said is None and has_products and spreads_open(op, edges, dims):
        return ENDS_LOST
    shapes = [Contraction.of(nest) for nest in nests]
    if said is None and loses_open_rows(op, shapes[-1], dims):
        return ENDS_LOST
    products = row_products(nests, shapes)
    too_long = row_too_long(members, shapes, op, edges, parallel) or product_row_too_long(
        products, own
    )
    if too_long is not None:
        return too_long
    if said is None and (refusal := rows_cost(nests, products, parallel, _bytes(edges), machine)):
        return refusal
    refusal = _pays(shapes, edges, machine, forced=said is not None)
    if refusal is None and said is None:
        joined = {**own, op: dims}
        refusal = few_rows_cost(nests, products, joined, parallel, _bytes(edges), machine)
    return refusal or (kept, tuple(dims))


def _row_places(product: GenericOp, rows: Sequence[int]) -> set[int]:
    """The places among a nest's rows of those that are no columns, if it is a product.

    Loops over columns that are masked, as over the keys of attention, end within a kernel, too.
    """
    shape = Contraction.of(product) if is_product(product) else None
    columns = set(rows) if shape is None else set(shape.columns)
    return {place for place, dim in enumerate(rows) if dim not in columns}


def _lost_rows(
    members: Sequence[GenericOp],
    op: GenericOp,
    edges: Sequence[tuple[int, SSAValue]],
    dims: Sequence[int],
) -> Refusal | None:
    """Whether joining would move outer rows of `op` inside its rows `dims`, for nothing.

    A mask or bias is the same for all heads: a kernel over its rows would hold every head of each
    row. What is read along those outer dimensions by the kernel as well, as by the mean over a
    batch, is worth it.
    """
    order = [d for d in initial_rows(op) if op.extents[d] != 1]
    last = max((order.index(d) for d in dims if d in order), default=0)
    lost = set(order[:last]) - set(dims)
    if not lost:
        return None
    known = {v for m in members for v in (*m.inputs, *m.sources)} | {v for _, v in edges}
    for value, index_map in zip(op.inputs, op.read_maps, strict=True):
        if value in known and lost & index_map.used_dims():
            return None
    along = ", ".join(f"d{d}" for d in sorted(lost))
    return Refusal(f"it is the same along {along} of the reader, whose rows would be lost")


def row_too_long(
    members: Sequence[GenericOp],
    shapes: Sequence[Contraction | None],
    op: GenericOp,
    edges: Sequence[tuple[int, SSAValue]],
    parallel: int,
) -> Refusal | None:
    """Rows between nests live on the stack of the thread that computes them.

    Those that are made of the rows of a product may be as long as these. Of an image that windows
    slide over, a few lines are there at a time (`compute_at`). `shapes` says which nests are
    products.
    """
    given = zip(members, shapes, strict=False)
    products = [product_row_limit(nest) for nest, shape in given if shape is not None]
    for _, value in edges:
        limit = max([MAX_ROW_BYTES, *products])
        if is_product(value.owner):
            limit = product_row_limit(value.owner)
        if value.owner in members and is_slid_over(value, op):
            limit = SCRATCH_BYTES
        row = value_bytes(value) // max(1, parallel)
        if row > limit:
            return Refusal(f"a row of the result takes {row} bytes of scratch, more than {limit}")
    return None


def product_row_too_long(
    products: Sequence[Contraction], rows: Mapping[GenericOp, Sequence[int]]
) -> Refusal | None:
    """A kernel of whole rows keeps all contiguous columns of its products, row or not.

    `rows` has the dimensions of all nests but the last that are rows of the kernel.
    """
    for shape in products:
        if (own := rows.get(shape.op)) is None:
            continue
        apart = prod(shape.op.extents[d] for d in own if d != shape.inner_column)
        row = value_bytes(shape.op.res[0]) // max(1, apart)
        if row > (limit := product_row_limit(shape.op)):
            return Refusal(
                f"a row of the matrix product takes {row} bytes of scratch, more than {limit}"
            )
    return None


def product_row_limit(product: Operation | Block) -> int:
    """Bytes that a kernel may keep of each row of a product."""
    assert isinstance(product, GenericOp)
    operands = sum(map(value_bytes, dict.fromkeys(product.inputs)))
    grown = value_bytes(product.res[0]) >= MOST_GROWTH * operands
    return MAX_GROWN_ROW_BYTES if grown else MAX_PRODUCT_ROW_BYTES


def edge_rows(
    value: SSAValue,
    rows: Mapping[GenericOp, tuple[int, ...]],
    op: GenericOp,
    number: int,
    count: int,
) -> list[int | None] | Refusal:
    """For each kernel row, the dimension of `op` that reads `value` at that row.

    `rows` has the kernel rows of the nest that makes the value, `count` of them; `number` is the
    place of the value among the reads of `op`.
    """
    producer = value.owner
    assert isinstance(producer, GenericOp)
    written = forms_of(producer.write_maps[list(producer.res).index(value)], producer.extents)  # pyright: ignore
    read = forms_of(op.read_maps[number], op.extents)
    if written is None or read is None:
        return Refusal("the result is read through an index map that is not linear")
    aligned: list[int | None] = [None] * count  # a read at the same row is inside along it
    for place, dim in enumerate(rows[producer]):
        for axis, form in enumerate(written):
            if form.pure_dim != dim:
                continue
            reader = read[axis].pure_dim
            if reader is not None and op.extents[reader] == producer.extents[dim]:
                aligned[place] = reader
    return aligned


def _pays(
    shapes: Sequence[Contraction | None],
    edges: Sequence[tuple[int, SSAValue]],
    machine: Roofline,
    *,
    forced: bool,
) -> Refusal | None:
    """Why a product, the last of `shapes`, had better stay apart from the other nests.

    `forced` leaves only what no kernel can do.
    """
    *members, shape = shapes
    if shape is None:
        return None
    contractions = sum(member is not None for member in members)
    kept_bytes = _bytes(edges)
    if any(number == shape.b for number, _ in edges):
        return Refusal("the result is the packed operand of a matrix product")
    if contractions + 1 > MAX_CONTRACTIONS:
        return Refusal("the kernel already holds two matrix products")
    panels = value_bytes(shape.op.inputs[shape.b])
    thought = estimate_product(kept_bytes, panels, machine)
    if forced or thought.pays:
        return None
    return Refusal(
        f"storing {kept_bytes} bytes costs less than reading the {panels} byte operand of the "
        "matrix product once for each block of rows: "
        + thought.compare("reading it again", "storing and reading them"),
        thought,
    )


def _bytes(edges: Sequence[tuple[int, SSAValue]]) -> int:
    """Of the values between nests, each once."""
    return sum(value_bytes(value) for value in dict.fromkeys(value for _, value in edges))


def few_rows_cost(
    nests: Sequence[GenericOp],
    products: Sequence[Contraction],
    rows: Mapping[GenericOp, Sequence[int]],
    parallel: int,
    spared: int,
    machine: Roofline,
) -> Refusal | None:
    """Why a product of weights had better not share rows of which a call may need but a few.

    `rows` has the dimensions of the nests that are rows of the kernel, `parallel` positions. Of
    what follows from sizes as well, such as the keys of attention, there is little to multiply by.
    """
    few = min(prod(least_extents_of(nest)[d] for d in rows[nest]) for nest in nests)
    if few >= min(THREADS, row_tasks(products, parallel)):
        return None
    weighted = [shape.op for shape in products if _is_of_weights(shape)]
    thought = estimate_few_rows(weighted, max(1, few), parallel, spared, machine)
    if not weighted or thought.pays:
        return None
    return Refusal(
        f"a call may need but {few} of their {parallel} rows: "
        + thought.compare("multiplying while other threads are idle", "storing and waiting"),
        thought,
    )


def _is_of_weights(shape: Contraction) -> bool:
    """Whether calls need all of the columns of a product, and of what they are multiplied by."""
    least, extents = least_extents_of(shape.op), shape.op.extents
    dims = (*shape.batch, *shape.columns, *shape.summed)
    return all(least[dim] == extents[dim] for dim in dims)


def rows_cost(
    nests: Sequence[GenericOp],
    products: Sequence[Contraction],
    rows: int,
    spared: int,
    machine: Roofline,
) -> Refusal | None:
    """Why nests had better not share these rows, if what their kernel spares costs less.

    `products` are their `row_products`.
    """
    tasks = row_tasks(products, rows)
    if tasks < THREADS:
        # Other sums end with rows that are apart, packed products with their blocks of rows.
        is_cut = bool(products) and all(shape.panel is None for shape in products)
        share = usual_share(nests) if is_cut else 1.0
        thought = estimate_rows(nests, tasks, spared, machine, share)
        if not thought.pays:
            blocks = "" if tasks == rows else f", {tasks} blocks for matrix products"
            return Refusal(
                f"together they have only {rows} rows to run in parallel{blocks}: "
                + thought.compare("work of idle threads", "storing and waiting"),
                thought,
            )
    if panels := repacked_bytes(products):
        thought = estimate_far_panels(panels, spared, machine)
        if not thought.pays:
            return Refusal(
                "each thread would read all of an operand that threads packed just before: "
                + thought.compare(f"fetching {panels} bytes", "storing and waiting"),
                thought,
            )
    return None
