"""What was fused into what: one record for each distinct kernel of a compiled program."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, SSAValue

from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.dialects.loop import GenericOp
from lamina.passes.fusion_cost import work
from lamina.passes.trip_counts import is_in_while, trip_count

_KERNEL = "lamina.kernel"
_FREE_BODY_OPS = ("loop.", "arith.constant", "arith.index_cast", "arith.extui", "arith.trunci")


@dataclass(frozen=True)
class Kernel:
    """One native kernel.

    `ops` are the ops that it computes, in order, as they were called when they became loops;
    `calls` how often one run of the program calls it, taking every branch and one round of each
    loop by a condition, in which `in_while` says that a call is; `bytes` what one call reads and
    writes, each array once (of a table, what is looked up at most); `flops` the arithmetic of one
    call, a multiply and an add counting one each; `not_fused` why the kernel was not joined with
    others.
    `roofline_us` is the least time of one call on one core of the target, in microseconds, with
    divisions and functions weighed as what they cost (see `codegen/roofline.py`); `measured_us` the
    time that was measured, None before that.
    """

    name: str
    ops: tuple[str, ...]
    calls: int
    bytes: int
    flops: int
    types: str
    not_fused: str | None = None
    roofline_us: float = 0.0
    measured_us: float | None = None
    in_while: bool = False


class Kernels(Sequence[Kernel]):
    """The kernels of a program; prints as a table."""

    def __init__(self, kernels: Iterable[Kernel]) -> None:
        self._kernels = tuple(kernels)

    def __getitem__(self, index: Any) -> Any:
        return self._kernels[index]

    def __len__(self) -> int:
        return len(self._kernels)

    def to_json(self) -> list[dict[str, Any]]:
        """The records as plain data."""
        return [asdict(kernel) for kernel in self._kernels]

    @classmethod
    def from_json(cls, data: Iterable[dict[str, Any]]) -> "Kernels":
        """The inverse of `to_json`."""
        return cls(Kernel(**{**entry, "ops": tuple(entry["ops"])}) for entry in data)

    def with_times(self, seconds: Mapping[str, float]) -> "Kernels":
        """The same kernels with measured times, given by kernel name."""
        return Kernels(
            replace(k, measured_us=seconds[k.name] * 1e6) if k.name in seconds else k
            for k in self._kernels
        )

    def explain(self) -> str:
        """Why kernels were not joined with their neighbours, one line for each reason."""
        lines: list[str] = []
        for kernel in self._kernels:
            for reason in (kernel.not_fused or "").split(";"):
                if reason.strip():
                    lines.append(f"{kernel.name}: {reason.strip()}")
        return "\n".join(lines) or "every op that could be was fused"

    def __repr__(self) -> str:
        header = ("kernel", "calls", "bytes", "flops", "roofline us", "measured us", "ops")
        rows = [
            (
                k.name,
                str(k.calls),
                _scaled(k.bytes),
                _scaled(k.flops),
                f"{k.roofline_us:.2f}",
                "-" if k.measured_us is None else f"{k.measured_us:.2f}",
                summarize_ops(k.ops),
            )
            for k in self._kernels
        ]
        table = [header, *rows]
        widths = [max(len(row[i]) for row in table) for i in range(6)]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, 6)), row[6]]
            )
            for row in table
        ]
        calls = sum(k.calls for k in self._kernels)
        lines.append(f"{len(self)} kernels, {calls} calls in one run")
        return "\n".join(lines)


def kernels_of(module: ModuleOp, target: Target | None = None) -> Kernels:
    """Describes the kernels of an outlined module: `loop.generic` on tensors inside functions.

    The estimates are for `target`, by default this machine.
    """
    roofline = Roofline.of(target or Target.host())
    calls: Counter[str] = Counter()
    repeated: set[str] = set()
    functions: list[FuncOp] = []
    for op in module.body.ops:
        if not isinstance(op, FuncOp):
            continue
        if _KERNEL in op.attributes:
            functions.append(op)
        elif op.sym_name.data == "main":
            for inner in op.body.walk():
                if isinstance(inner, CallOp):
                    name = inner.callee.root_reference.data
                    calls[name] += trip_count(inner)
                    if is_in_while(inner):
                        repeated.add(name)
    return Kernels(
        replace(
            _kernel(function, calls[function.sym_name.data], roofline),
            in_while=function.sym_name.data in repeated,
        )
        for function in functions
        if calls[function.sym_name.data]
    )


def _kernel(function: FuncOp, calls: int, roofline: Roofline) -> Kernel:
    inputs = list(function.function_type.inputs)
    outputs = list(function.function_type.outputs)
    ops = function.attributes.get("lamina.ops")
    names = (
        tuple(n.data for n in ops.data if isinstance(n, StringAttr))
        if isinstance(ops, ArrayAttr)
        else ()
    )
    reasons = function.attributes.get("lamina.not_fused")
    nests = [op for op in function.body.walk() if isinstance(op, GenericOp)]
    traffic = sum(_traffic(a) for a in function.args) + sum(_byte_size(t) for t in outputs)
    return Kernel(
        name=function.sym_name.data,
        ops=names,
        calls=calls,
        bytes=traffic,
        flops=sum(map(_flops, nests)),
        types=f"({', '.join(map(str, inputs))}) -> ({', '.join(map(str, outputs))})",
        not_fused=reasons.data if isinstance(reasons, StringAttr) else None,
        roofline_us=1e6 * roofline.seconds(traffic, sum(map(work, nests))),
    )


def _traffic(argument: SSAValue) -> int:
    """Bytes that are read of an argument: all of it, or one element for each look-up in a table."""
    size, looked_up = _byte_size(argument.type), 0
    for use in argument.uses:
        user = use.operation
        if not isinstance(user, GenericOp) or argument in user.inputs:
            return size
        looked_up += prod(user.extents) * _element_size(argument.type)
    return min(size, looked_up)


def _flops(generic: GenericOp) -> int:
    """Points of the domain times float ops in the body and reductions of the results."""
    body = sum(
        not op.name.startswith(_FREE_BODY_OPS) and op.name.startswith(("arith.", "math."))
        for op in generic.body.walk()
    )
    reductions = sum(combiner != "store" for combiner in generic.combiner_names)
    return prod(generic.extents) * (body + reductions)


def _byte_size(type_: Attribute) -> int:
    if not isinstance(type_, TensorType | MemRefType):
        return 0
    return prod(type_.get_shape()) * _element_size(type_)


def _element_size(type_: Attribute) -> int:
    """Bytes of one element; booleans take one each."""
    assert isinstance(type_, TensorType | MemRefType)
    element = type_.element_type
    if isinstance(element, ComplexType):
        return 2 * element.element_type.bitwidth // 8
    return max(1, getattr(element, "bitwidth", 8) // 8)


def summarize_ops(ops: Sequence[str], limit: int = 70) -> str:
    """Op names on one line, runs of equal ones counted, cut to about `limit` characters."""
    parts: list[str] = []
    for name in ops:
        short = name.partition(".")[2].partition(".")[0] or name
        if parts and parts[-1].partition(" x")[0] == short:
            count = int(parts[-1].partition(" x")[2] or 1) + 1
            parts[-1] = f"{short} x{count}"
        else:
            parts.append(short)
    text = ", ".join(parts)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _scaled(number: int) -> str:
    for unit in ("", "K", "M"):
        if number < 10_000:
            return f"{number}{unit}"
        number //= 1000
    return f"{number}G"
