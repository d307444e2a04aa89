"""Second names of elementwise functions give what torch gives, in every dtype that it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32, i1, i64
from xdsl.ir import Attribute, Block, Region

import lamina
from lamina.dialects import aten
from lamina.dialects.elementwise import SECOND_NAMES
from lamina.runtime.interpreters import run_module

DTYPES: dict[torch.dtype, Attribute] = {torch.float32: f32, torch.int64: i64, torch.bool: i1}
WORDS: dict[str, Any] = {"rounding_mode": "floor", "alpha": 1}
NUMBERS: dict[str, Any] = {"other": 2, "min": 1, "max": 3}


def in_torch(name: str, tensors: list[torch.Tensor]) -> torch.Tensor | None:
    """Torch's result, or None where it takes no such tensors."""
    packet, _, overload = name.partition(".")
    rest = iter(tensors)
    given = [next(rest) if is_tensor(a) else NUMBERS.get(a.name) for a in positional(name)]
    words = {a.name: WORDS[a.name] for a in aten.op(name).schema.args if a.kwarg_only}
    try:
        return getattr(getattr(torch.ops.aten, packet), overload)(*given, **words)
    except (RuntimeError, NotImplementedError):
        return None


def positional(name: str) -> list[Any]:
    return [a for a in aten.op(name).schema.args if not a.kwarg_only]


def is_tensor(argument: Any) -> bool:
    return str(argument.type).startswith("Tensor")


def program(names: list[str], element: Attribute) -> ModuleOp:
    """All these overloads, each on the same tensors."""
    kind = TensorType(element, [6])
    block = Block(arg_types=[kind] * 3)
    made = []
    for name in names:
        rest = iter(block.args)
        given = [next(rest) if is_tensor(a) else NUMBERS.get(a.name) for a in positional(name)]
        words = {a.name: WORDS[a.name] for a in aten.op(name).schema.args if a.kwarg_only}
        made.append(aten.op(name)(*given, **words))
    results = [op.results[0] for op in made]
    block.add_ops([*made, func.ReturnOp(*results)])
    types = FunctionType.from_lists([kind] * 3, [r.type for r in results])
    return ModuleOp([func.FuncOp("main", types, Region(block))])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_result_is_torchs(dtype: torch.dtype) -> None:
    tensors = [
        torch.tensor(values).to(dtype)
        for values in ([0.5, 1.0, 2.0, 3.0, 0.0, -1.0], [1.0, 2.0, 2.0, 4.0, 1.0, 3.0], [3.0] * 6)
    ]
    expected = {name: in_torch(name, tensors) for name in SECOND_NAMES}
    wanted = {name: value for name, value in expected.items() if value is not None}
    assert len(wanted) > len(SECOND_NAMES) // 3
    module = program(list(wanted), DTYPES[dtype])
    compiled = lamina.compile(module, cache=False)
    interpreted = run_module(module, [x.numpy() for x in tensors])
    for name, got, array in zip(wanted, compiled(*tensors), interpreted, strict=True):
        torch.testing.assert_close(got, wanted[name], equal_nan=True, msg=name)
        same = torch.from_numpy(np.array(array))
        torch.testing.assert_close(same, wanted[name], equal_nan=True, msg=name)
