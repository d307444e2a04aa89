"""What torch's databases of ops, modules and higher-order ops offer: callables, and tensors."""

from __future__ import annotations

import fnmatch
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.testing._internal import common_methods_invocations, common_modules, hop_db
from torch.utils import _pytree as pytree

DTYPES: dict[str, torch.dtype] = {
    "f32": torch.float32,
    "f64": torch.float64,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "i64": torch.int64,
    "i32": torch.int32,
    "bool": torch.bool,
    "c64": torch.complex64,
}
"""The dtypes of the table, by the names it uses."""

UNINITIALISED = frozenset(
    {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
)
"""Ops whose results have shapes and dtypes, but no values."""


def _call(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return op(*args, **kwargs)


def _without_seeding() -> None:
    """Samples of random ops set a seed in their bodies, which is no part of the program."""
    from torch.testing._internal.opinfo import core

    for module in (common_methods_invocations, core):
        if hasattr(module, "wrapper_set_seed"):
            module.wrapper_set_seed = _call  # pyright: ignore[reportAttributeAccessIssue]


@dataclass(frozen=True)
class Entry:
    """An op or a module of torch's databases."""

    name: str
    info: Any
    is_module: bool = False

    def dtypes(self) -> list[str]:
        """Those of `DTYPES` that the entry has on the CPU."""
        if self.is_module:
            return [name for name, dtype in DTYPES.items() if dtype in self.info.dtypes]
        known = self.info.supported_dtypes("cpu")
        return [name for name, dtype in DTYPES.items() if dtype in known]


class Program(torch.nn.Module):
    """Calls `function` with the tensors it is given, all other arguments fixed."""

    def __init__(
        self, function: Callable[..., Any], leaves: list[Any], spec: Any, places: list[int]
    ) -> None:
        """`leaves` are the arguments as `spec` flattens them; tensors belong at `places`."""
        super().__init__()
        self.function = function
        self.leaves, self.spec, self.places = leaves, spec, places

    def forward(self, *tensors: torch.Tensor) -> Any:
        """The call, with `tensors` where the sample has its own."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.function(*args, **kwargs)


@dataclass
class Sample:
    """One call: the program and what it is called with."""

    program: Program
    tensors: list[torch.Tensor]
    """Row-major contiguous, as compiled programs ask for their arguments."""
    same_up_to: Callable[[Any], Any] = field(default=lambda result: result)
    """What makes results comparable that are not unique, as the signs of singular vectors."""


def entries(patterns: list[str]) -> list[Entry]:
    """Everything in the databases whose name fits one of `patterns`; in torch's order."""
    _without_seeding()
    found = [Entry(_name(op), op) for op in common_methods_invocations.op_db]
    found += [Entry(f"higher_order.{_name(op)}", op) for op in hop_db.hop_db]
    found += [Entry(f"module.{m.name}", m, True) for m in common_modules.module_db]
    return [e for e in found if any(fnmatch.fnmatch(e.name, pattern) for pattern in patterns)]


def _name(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def samples(entry: Entry, dtype: str) -> Iterator[Sample]:
    """The samples of `entry`, made anew and always the same ones."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from (_of_module if entry.is_module else _of_op)(entry.info, DTYPES[dtype])


def _of_op(info: Any, dtype: torch.dtype) -> Iterator[Sample]:
    for sample in info.sample_inputs("cpu", dtype, requires_grad=False):
        made = _program(info.op, (sample.input, *sample.args), dict(sample.kwargs))
        made.same_up_to = sample.output_process_fn_grad
        yield made


def _of_module(info: Any, dtype: torch.dtype) -> Iterator[Sample]:
    inputs = info.module_inputs_func(
        info, device="cpu", dtype=dtype, requires_grad=False, training=False
    )
    for made in inputs:
        if made.forward_input is None:
            continue
        torch.manual_seed(0)
        built, called = made.constructor_input, made.forward_input
        module = info.module_cls(*built.args, **built.kwargs).to(dtype).eval()
        if any(map(torch.nn.parameter.is_lazy, module.parameters())):
            module(*called.args, **called.kwargs)  # which tells it the shapes
        module.requires_grad_(False)
        yield _program(module, tuple(called.args), dict(called.kwargs))


def _program(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sample:
    leaves, spec = pytree.tree_flatten((args, kwargs))
    places = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    tensors = [_row_major(leaves[place].detach()) for place in places]
    fixed = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    return Sample(Program(function, fixed, spec, places), tensors)


def _row_major(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous() if tensor.layout is torch.strided else tensor
