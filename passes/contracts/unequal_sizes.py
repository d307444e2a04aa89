"""The error of programs that need sizes to be equal which need not be, and what it says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from xdsl.ir import Operation, SSAValue

from lamina.dialects.errors import InputError
from lamina.dialects.sizes import Assumption, Extent, Size, SizeName
from lamina.passes.contracts.argument_sizes import is_size, open_dims_of, texts_of
from lamina.passes.contracts.declared import Declared


class UnequalSizesError(InputError):
    """A program that needs sizes to be equal which need not be.

    `pairs` were compared; `names` are those of the sizes that its op has.
    """

    pairs: tuple[Assumption, ...] = ()
    names: tuple[SizeName, ...] = ()


class _Known(Protocol):
    """Shapes of tensors and values of integers (`SymbolicShapes`)."""

    @property
    def shapes(self) -> Mapping[SSAValue, tuple[Any, ...]]: ...
    @property
    def numbers(self) -> Mapping[SSAValue, Extent]: ...


def names_in(op: Operation, known: _Known) -> tuple[SizeName, ...]:
    """The sizes in the shapes and values of an op's operands, in the order of their names."""
    seen = [
        extent
        for value in op.operands
        for extent in (*known.shapes.get(value, ()), known.numbers.get(value))
    ]
    names = {name for extent in seen if isinstance(extent, Size) for name in extent.names}
    return tuple(sorted(names, key=lambda name: name.text))


def where_told(arguments: Sequence[Declared], names: Iterable[SizeName]) -> str:
    """A line for each size: the first argument and dimension that tell it, and its range."""
    texts = [
        (declared, dim, said)
        for declared in arguments
        for dim, said in zip(open_dims_of(declared), texts_of(declared), strict=True)
    ]
    lines: list[str] = []
    for name in names:
        for declared, dim, said in texts:
            if name.text in said.names:
                where = "" if is_size(declared) else f"dimension {dim} of "
                what = (
                    f"'{name.text}'"
                    if said.is_name
                    else f"{replace(said, range=None)}, '{name.text}'"
                )
                held = f"{',' if said.is_name else ''} in {name.range}"
                lines.append(f"\n  {where}argument '{declared.name}' is {what}{held}")
                break
    return "".join(lines)
