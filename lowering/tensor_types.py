"""Reading shapes and element types off values, for lowerings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ComplexType,
    IntegerType,
    Signedness,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.errors import UnsupportedError
from lamina.dialects.identity_cache import once_an_object
from lamina.dialects.sizes import UndecidedSizeError
from lamina.dialects.type_shapes import shape_of_type


def tensor_type(value: SSAValue) -> TensorType:
    """The ranked tensor type of `value`; anything else is refused."""
    if not isinstance(value.type, TensorType):
        raise UnsupportedError(_maker(value), f"needs a ranked tensor, not {value.type}")
    return value.type


def shape_of(value: SSAValue) -> list[int]:
    """The static shape; a dynamic dimension is refused."""
    shape = _static_shape(value.type)
    if shape is None:
        raise UnsupportedError(_maker(value), f"dynamic dimensions in {tensor_type(value)}")
    return list(shape)


@once_an_object
def _static_shape(kind: Attribute) -> tuple[int, ...] | None:
    """The shape of a tensor type without dynamic dimensions; None for other types."""
    if not isinstance(kind, TensorType):
        return None
    shape = shape_of_type(kind)
    return None if DYNAMIC_INDEX in shape else tuple(shape)


def has_known_sizes(value: SSAValue) -> bool:
    """Whether each extent is a number: while functions of open sizes are converted, some are not
    (see `sized_types`)."""
    return all(isinstance(extent, int) for extent in shape_of(value))


def is_certain(question: Callable[[], bool]) -> bool:
    """Whether something holds whatever sizes are: for what may be spared then, and does no harm."""
    try:
        return question()
    except UndecidedSizeError:
        return False


def rank_of(value: SSAValue) -> int:
    """Number of dimensions, which may be dynamic."""
    return tensor_type(value).get_num_dims()


def numel(value: SSAValue) -> int:
    """Number of elements of a static shape."""
    return prod(shape_of(value))


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return tensor_type(value).get_element_type()


def is_float(element: Attribute) -> bool:
    """f16, bf16, f32 or f64."""
    return isinstance(element, AnyFloat)


def is_complex(element: Attribute) -> bool:
    """complex<f32> or complex<f64>."""
    return type(element) is ComplexType


def part_type(element: Attribute) -> Attribute:
    """The type of the parts of a complex type; other types are their own."""
    return element.element_type if isinstance(element, ComplexType) else element


def is_bool(element: Attribute) -> bool:
    """i1, torch's bool."""
    return element == i1


def is_integer(element: Attribute) -> bool:
    """Any integer type but bool."""
    return isinstance(element, IntegerType) and element != i1


def is_unsigned(element: Attribute) -> bool:
    """ui8 to ui64."""
    return isinstance(element, IntegerType) and element.signedness.data == Signedness.UNSIGNED


def normalized(dim: int, rank: int) -> int:
    """A possibly negative dimension as torch wraps it; a scalar counts as rank 1."""
    return dim % max(rank, 1)


def normalized_dims(dims: Sequence[int] | int | None, rank: int) -> list[int]:
    """Dimensions wrapped, in the given order; None or an empty list means all of them."""
    if dims is None or dims == []:
        return list(range(rank))
    if isinstance(dims, int):
        dims = [dims]
    return [normalized(dim, rank) for dim in dims] if rank else []


def broadcast_shapes(*shapes: Sequence[int]) -> list[int]:
    """The common shape under torch's (NumPy's) broadcasting rule; raises ValueError."""
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for position, extent in enumerate(shape, start=rank - len(shape)):
            if result[position] == 1:
                result[position] = extent
            elif extent not in (1, result[position]):
                raise ValueError(f"shapes {[list(s) for s in shapes]} do not broadcast")
    return result


def _maker(value: SSAValue) -> str:
    owner = value.owner
    return getattr(owner, "name", "block argument")
