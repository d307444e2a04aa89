"""Where the columns of packed products end that are no rows of their kernel (`lamina.ends`)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.utils.type import get_element_type_or_self

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.bounded_dims import leaves_kernel
from lamina.dialects.loop.bounds import BOUNDS, ENDS, FIRST_COUNT, Bound
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.counted_dims import set_ends
from lamina.dialects.loop.kernel_nests import rows_of, summed_rows
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.packing import is_packed
from lamina.passes.fusion.element_limits import Reach
from lamina.passes.fusion.kernel_ends import (
    KernelCall,
    Numbers,
    counted_in_calls,
    kept_bounds,
    note_found,
)


def note_columns(
    kernel: func.FuncOp,
    nests: Sequence[GenericOp],
    calls: Sequence[KernelCall],
    numbers: dict[Reach, int],
) -> None:
    """Note the numbers behind which nobody reads the columns that a product gives to the caller.

    Those of products whose columns are rows end with these (`live` of `#loop.nest`); where sums of
    a kernel end, columns do already.
    """
    if any(ENDS in nest.attributes for nest in nests):
        return
    if _note_masked(kernel, nests, calls, numbers):
        return
    for nest in nests:
        shape = Contraction.of(nest)
        if shape is None or shape.panel is None or shape.pairs is not None:
            continue
        column = shape.inner_column
        if column in rows_of(nest) or nest.extents[column] < 2:
            continue
        known = Numbers(len(kernel.body.block.args), calls, dict(numbers))
        last = _last_columns(nest, column)
        found = [
            {bound.form.terms[0][0] for bound in kept_bounds(reader, calls, known).get(dim, ())}
            for reader, dim in last.items()
        ]
        ends = set[int].intersection(*found) if found else set[int]()
        if not ends:
            continue
        number = min(ends) - FIRST_COUNT
        for reach, own in known.made.items():
            if own == number and reach not in numbers and number >= len(kernel.body.block.args):
                number = numbers.setdefault(reach, len(kernel.body.block.args) + len(numbers))
                break
        for reader, dim in {nest: column, **last}.items():
            set_ends(reader, {dim: [Bound(True, Linear.dim(FIRST_COUNT + number))]})


def _note_masked(
    kernel: func.FuncOp,
    nests: Sequence[GenericOp],
    calls: Sequence[KernelCall],
    numbers: dict[Reach, int],
) -> bool:
    """Note the number behind which masks have what reduces the columns of the only product of a
    kernel leave them out, and what stands between both; whether there is one."""
    products = [nest for nest in nests if is_packed(nest)]
    shape = Contraction.of(products[0]) if len(products) == 1 else None
    if shape is None or shape.panel is None or shape.pairs is not None:
        return False
    column, readers = shape.inner_column, _readers_of(shape.op)
    behind = [nest for nest in nests if nest in readers]
    if column in rows_of(shape.op) or shape.op.extents[column] < 2 or len(behind) < len(readers):
        return False
    if any(BOUNDS in nest.attributes or summed_rows(nest) for nest in nests):
        return False
    if any(n.sources for n in behind) or isinstance(_element(shape.op.res[0]), IntegerType):
        return False  # readers may run on, over what was left out: nothing may be asked there
    counted, known, masks = counted_in_calls(kernel, nests, calls, numbers)
    ends = {
        bound
        for bound in counted[shape.op].get(column, ())
        if bound.form == Linear.dim(bound.form.terms[0][0])
    }
    if not ends:
        return False
    end = min(ends, key=lambda bound: bound.form.terms)
    found = {n: {d: {end} for d, own in counted[n].items() if end in own} for n in behind}
    note_found(kernel, {shape.op: {column: {end}}, **found}, known, masks, numbers)
    return True


def _readers_of(product: GenericOp) -> set[Operation]:
    """The nests that read what a product makes, or what others make of it."""
    found: set[Operation] = set()
    waiting: list[Operation] = [product]
    while waiting:
        for use in (use for made in waiting.pop().results for use in made.uses):
            reader = use.operation
            if reader not in found and not isinstance(reader, func.ReturnOp):
                found.add(reader)
                waiting.append(reader)
    return found


def _element(value: SSAValue) -> Attribute:
    return get_element_type_or_self(value.type)


def _last_columns(product: GenericOp, column: int) -> dict[GenericOp, int]:
    """The nests that give what becomes of the columns of a product to the caller of the kernel, and
    the dimension of each that walks these: the product, or pointwise nests that read it. None where
    others read it."""
    made = product.res[0]
    readers = [use.operation for use in made.uses if isinstance(use.operation, GenericOp)]
    if not readers:
        return {product: column} if leaves_kernel(made) else {}
    if leaves_kernel(made) or not all(isinstance(use.operation, GenericOp) for use in made.uses):
        return {}
    if isinstance(_element(made), IntegerType):
        return {}  # readers may run on, over what was left out: nothing may be divided by that
    forms = forms_of(product.write_maps[0], product.extents)
    axes = [a for a, form in enumerate(forms or ()) if form == Linear.dim(column)]
    found: dict[GenericOp, int] = {}
    for reader in readers:
        walked = {
            dim
            for value, index_map, _ in reader.reads
            if value is made
            for dim in _along(reader, index_map, axes)
        }
        dim = walked.pop() if len(walked) == 1 else None
        alone = all(not _is_read(result) for result in reader.res)
        if dim is None or dim in rows_of(reader) or not reader.is_pointwise or not alone:
            return {}
        found[reader] = dim
    return found


def _along(reader: GenericOp, index_map: AffineMap, axes: Sequence[int]) -> list[int | None]:
    """The dimensions that walk axes of a read alone."""
    forms = forms_of(index_map, reader.extents)
    return [None] if forms is None else [forms[axis].pure_dim for axis in axes]


def _is_read(made: SSAValue) -> bool:
    return any(isinstance(use.operation, GenericOp) for use in made.uses)
