"""`lamina.winograd` of a nest: a convolution that is to be computed by Winograd's F(2x2, 3x3)."""

from __future__ import annotations

from xdsl.dialects.builtin import Float32Type, Float64Type, StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.access import Forms, forms_of, is_contraction, shape_of
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.linear import Linear
from lamina.dialects.records import record

WINOGRAD = "lamina.winograd"
"""Attribute of a nest on tensors: it is computed in tiles of 2x2 results, line by line or all of an
image at once."""
BY_LINE = StringAttr("line")
BY_IMAGE = StringAttr("image")
WINDOW = 3
"""Lines and columns of a window."""
TILE = 2
"""Lines and columns of a tile of results."""


@record
class Windows:
    """A sum of products of floats over windows of 3x3 that slide in steps of one.

    `image` is the read that windows slide over. `places` are the dimensions of lines and columns of
    the result, `window` those within a window; `image_axes`, `weight_axes` and `result_axes` the
    axes that they walk: of the image both together, of the others one alone.
    """

    nest: GenericOp
    image: int
    places: tuple[int, int]
    window: tuple[int, int]
    image_axes: tuple[int, int]
    weight_axes: tuple[int, int]
    result_axes: tuple[int, int]
    image_forms: Forms
    weight_forms: Forms
    result_forms: Forms

    @property
    def tiles(self) -> tuple[int, int]:
        """Tiles along the lines, and along the columns."""
        extents = self.nest.extents
        return extents[self.places[0]] // TILE, extents[self.places[1]] // TILE

    @staticmethod
    def of(nest: GenericOp) -> Windows | None:
        """The windows of a nest, or None if it has none such, or an odd number of lines."""
        if not is_contraction(nest) or 0 in nest.extents or len(nest.inputs) != 2:
            return None
        kinds = {value.type.element_type for value in (*nest.inputs, *nest.res)}  # pyright: ignore
        if len(kinds) != 1 or not isinstance(kinds.pop(), Float32Type | Float64Type):
            return None
        forms = [forms_of(m, nest.extents) for m in (*nest.read_maps, nest.write_maps[0])]
        if any(form is None for form in forms):
            return None
        first, second, written = (form for form in forms if form is not None)
        reads = (first, second)
        for image in (0, 1):
            found = _slides(nest, image, reads[image], reads[1 - image], written)
            if found is not None:
                return found
        return None


def _slides(
    nest: GenericOp, image: int, own: Forms, weight: Forms, written: Forms
) -> Windows | None:
    reduced = set(nest.reduction_dims)
    places: list[int] = []
    window: list[int] = []
    axes: list[int] = []
    for axis, form in enumerate(own):
        dims = [d for d, _ in form.terms if nest.extents[d] > 1]
        if len(dims) != 2 or any(step != 1 for _, step in form.terms):
            continue
        inside = [d for d in dims if d in reduced and nest.extents[d] == WINDOW]
        kept = [d for d in dims if d not in reduced and nest.extents[d] % TILE == 0]
        if len(inside) != 1 or len(kept) != 1:
            continue
        places.append(kept[0])
        window.append(inside[0])
        axes.append(axis)
    if len(axes) != 2 or nest.pad_values[1 - image] is not None:
        return None
    weight_axes = tuple(a for dim in window for a, f in enumerate(weight) if f == Linear.dim(dim))
    result_axes = tuple(a for dim in places for a, f in enumerate(written) if f == Linear.dim(dim))
    moving = {*places, *window}
    others = [
        *(f for a, f in enumerate(own) if a not in axes),
        *(f for a, f in enumerate(weight) if a not in weight_axes),
        *(f for a, f in enumerate(written) if a not in result_axes),
    ]
    if len(weight_axes) != 2 or len(result_axes) != 2:
        return None
    if any(d in moving for form in others for d, _ in form.terms):
        return None
    if not _walks_all(nest, image, own, axes) or not _is_whole(nest, places, result_axes):
        return None
    return Windows(
        nest,
        image,
        (places[0], places[1]),
        (window[0], window[1]),
        (axes[0], axes[1]),
        (weight_axes[0], weight_axes[1]),
        (result_axes[0], result_axes[1]),
        own,
        weight,
        written,
    )


def _walks_all(nest: GenericOp, image: int, own: Forms, axes: list[int]) -> bool:
    """Whether reads stay inside the image, but for lines and columns that are padded."""
    sizes = shape_of(nest.inputs[image])
    for axis, (form, size) in enumerate(zip(own, sizes, strict=True)):
        low, high = form.range(nest.extents)
        if axis in axes and nest.pad_values[image] is not None:
            continue
        if low < 0 or high >= size:
            return False
    return True


def _is_whole(nest: GenericOp, places: list[int], axes: tuple[int, ...]) -> bool:
    """Whether lines and columns are all of the axes of the result that they walk."""
    sizes = shape_of(nest.res[0])
    return all(nest.extents[d] == sizes[axis] for d, axis in zip(places, axes, strict=True))


def verify_winograd(nest: GenericOp, note: Attribute) -> None:
    """Raises VerifyException for the attribute on a nest that is no such convolution."""
    if note not in (BY_LINE, BY_IMAGE):
        raise VerifyException(f"{nest.name}: {WINOGRAD} is {BY_LINE} or {BY_IMAGE}, not {note}")
    tensors = all(isinstance(value.type, TensorType) for value in (*nest.inputs, *nest.res))
    if not tensors or Windows.of(nest) is None:
        raise VerifyException(
            f"{nest.name}: {WINOGRAD} stands on what is no sum of products of floats over windows "
            f"of {WINDOW}x{WINDOW} in steps of one, with even numbers of lines and columns"
        )
