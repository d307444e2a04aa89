"""Windows that slide over what another nest makes, of which they read a few lines at a time."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.contraction import is_product


def is_slid_over(value: SSAValue, reader: GenericOp) -> bool:
    """Whether all that a reduction reads of a value is a window for each position that it keeps,
    so that slices of the one need slices of the other."""
    if is_product(reader) or reader.is_pointwise or value in reader.sources:
        return False
    reduced = set(reader.reduction_dims)
    for read, index_map in zip(reader.inputs, reader.read_maps, strict=True):
        if read is not value:
            continue
        forms = forms_of(index_map, reader.extents) or ()
        dims = [{dim for dim, _ in form.terms} for form in forms]
        if not any(used & reduced and used - reduced for used in dims):
            return False
    return True
