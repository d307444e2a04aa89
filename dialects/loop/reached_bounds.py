"""How far a nest reads along an axis, by bounds of its dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.ir import SSAValue

from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.bounds import FIRST_COUNT, Bound
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.masked_reads import masked_reads


def read_within(
    reader: GenericOp,
    memory: SSAValue,
    axis: int,
    bounds: dict[int, set[Bound]],
    masks: Mapping[SSAValue, int],
) -> set[Bound]:
    """The bounds within which a nest wants an axis of some memory, each time that it reads it.

    `masks` are arguments that are false from the number in another argument on.
    """
    common: set[Bound] | None = None
    if memory in reader.sources:
        return set()
    guards = masked_reads(reader, masks, padded=True) if masks else {}
    for number, (value, index_map) in enumerate(zip(reader.inputs, reader.read_maps, strict=True)):
        if value is memory:
            forms = forms_of(index_map, reader.extents)
            own = set[Bound]() if forms is None else set(_reached(reader, forms[axis], bounds))
            for guard in guards.get(number, ()):
                if guard.axis == axis:
                    end = FIRST_COUNT + masks[reader.inputs[guard.read]]
                    own.add(Bound(True, Linear.dim(end)))
            common = own if common is None else common & own
    return common or set()


def _reached(reader: GenericOp, form: Linear, bounds: dict[int, set[Bound]]) -> Iterator[Bound]:
    """The bounds of an index, given those of dimensions: a window reaches behind its position."""
    rows = rows_of(reader)
    for dim, step in form.terms:
        if dim not in bounds or step < 1:
            continue
        rest = form.add(Linear.of({dim: -step}))
        if any(other in rows for other, _ in rest.terms):
            continue
        _, last = rest.range(reader.extents)
        for bound in bounds[dim]:
            if bound.is_upper:
                end = bound.form.scale(step)
                yield Bound(True, Linear(end.terms, end.constant - step + last + 1))
            elif rest == Linear(()) and step == 1:
                yield bound
