"""What fusion must leave apart for loops to end at sizes that come with the call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.least_extents import least_extents_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.panels import panels_of
from lamina.passes.fusion.fusion_decisions import Refusal

ENDS_LOST = Refusal(
    "loops over sizes of the call would run to the bound: a reader has windows, panels or lines of "
    "them"
)
"""Loops over rows end at such sizes, and so do those inside of rows, but beside products, and where
what they make is read in parts."""


def is_open_inside(
    op: GenericOp,
    edges: Sequence[tuple[int, SSAValue]],
    rows: Mapping[GenericOp, Sequence[int]],
    *,
    in_windows: bool,
) -> bool:
    """Whether `op` reads a nest in parts, or `in_windows`, along a dimension of which a call may
    need but a few positions, and which is none of the `rows` of that nest. Loops over windows end
    where these do, of parts, as panels are, all run. Panels that `op` makes of them end with the
    product that reads these, if they are rows of a kernel."""
    panels = _open_panels(op) - {*rows.get(op, ())}
    for number, value in edges:
        producer = value.owner
        assert isinstance(producer, GenericOp)
        least, extents = least_extents_of(producer), producer.extents
        open_dims = {d for d in range(len(extents)) if least[d] < extents[d]} - {*rows[producer]}
        place = list[SSAValue](producer.res).index(value)
        written = forms_of(producer.write_maps[place], extents)
        read = forms_of(op.read_maps[number], op.extents)
        for axis, form in enumerate(written or ()):
            walked = None if read is None else read[axis]
            is_whole = walked is not None and (not walked.terms or walked.pure_dim is not None)
            is_whole = is_whole or not (in_windows or _in_parts(walked, op))
            along = {dim for dim, _ in form.terms} - {*rows[producer]}
            if open_dims & along and not is_whole:
                return True
            if along and walked is not None and panels & {dim for dim, _ in walked.terms}:
                return True
    return False


def spreads_open(op: GenericOp, edges: Sequence[tuple[int, SSAValue]], rows: Sequence[int]) -> bool:
    """Whether a nest has what it reads of a kernel again for each position of a dimension of which
    a call may need but a few, and which is no row: beside a product it would run all."""
    if Contraction.of(op) is not None:
        return False
    least = least_extents_of(op)
    inner = {dim for dim, n in enumerate(op.extents) if least[dim] < n} - {*rows}
    return bool(inner - {dim for number, _ in edges for dim in op.read_maps[number].used_dims()})


def loses_open_rows(op: GenericOp, shape: Contraction | None, rows: Sequence[int]) -> bool:
    """Whether a product has rows of which a call may need but a few, and which would be no rows of
    the kernel: it would multiply all of them."""
    if shape is None:
        return False
    inner = {*range(len(op.extents))} - {*rows, *shape.columns, *shape.summed}
    least = least_extents_of(op)
    return any(least[dim] < op.extents[dim] for dim in inner)


def _open_panels(op: GenericOp) -> set[int]:
    """The dimensions of a nest that count panels of columns, of which a product that reads them in
    a call may need but a few."""
    found: set[int] = set()
    for made, index_map in zip(op.res, op.write_maps, strict=True):
        written = forms_of(index_map, op.extents)
        for use in made.uses:
            if not isinstance(reader := use.operation, GenericOp) or written is None:
                continue
            axes = [
                axis
                for value, read_map, _ in reader.reads
                if value is made
                for axis in _panel_axes(reader, read_map)
            ]
            found.update(dim for axis in axes if (dim := written[axis].pure_dim) is not None)
    return found


def _panel_axes(reader: GenericOp, read_map: AffineMap) -> Iterator[int]:
    """The axes of a read along which panels of an open dimension lie."""
    least = least_extents_of(reader)
    for axis, expr in enumerate(read_map.results):
        panels = panels_of(expr)
        if panels is not None and least[panels[0]] < reader.extents[panels[0]]:
            yield axis


def _in_parts(form: Linear | None, nest: GenericOp) -> bool:
    """Whether an index counts positions of one dimension behind those of another."""
    if form is None or len(form.terms) != 2:
        return False
    (_, small), (_, large) = sorted(form.terms, key=lambda term: term[1])
    inner = next(dim for dim, step in form.terms if step == small)
    return small == 1 and large == nest.extents[inner] > 1
