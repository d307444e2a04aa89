"""Type promotion against torch."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from lamina.dialects.schema.promotion import DTYPES, result_dtype

DTYPE_OF = {getattr(torch, name): dtype for name, dtype in DTYPES.items()}


def type_of(value: torch.Tensor) -> TensorType:
    return TensorType(DTYPE_OF[value.dtype], list(value.shape))


def torch_type(*operands: Any) -> Attribute:
    return DTYPE_OF[torch.result_type(*operands)]


def our_type(*operands: Any) -> Attribute:
    return result_dtype([type_of(v) if isinstance(v, torch.Tensor) else v for v in operands])


def or_none(promotion: Callable[..., Attribute], *operands: Any) -> Attribute | None:
    try:
        return promotion(*operands)
    except (RuntimeError, ValueError):
        return None


@pytest.mark.parametrize("dtype", DTYPES)
def test_promotion_is_torchs(dtype: str) -> None:
    """Of every pair of element types, as tensors, 0-d tensors and Python numbers."""
    others = [torch.empty(shape, dtype=d) for d in DTYPE_OF for shape in ((), (2,))]
    for shape, other in product(((), (2,)), (*others, True, 2, 1.5, 1j)):
        own = torch.empty(shape, dtype=getattr(torch, dtype))
        assert or_none(our_type, own, other) == or_none(torch_type, own, other), (shape, other)
