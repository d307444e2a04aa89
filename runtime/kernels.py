"""What was fused into what: one record for each distinct kernel of a compiled program."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation

from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.dialects.attribute_texts import text_of
from lamina.dialects.loop import UNSTRUCTURED_OPS, ExternOp, GenericOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.kernel_nests import live_rows_of
from lamina.dialects.op_list import instances_under, list_ops
from lamina.dialects.records import mutable_record
from lamina.passes.calls.callee_programs import (
    CALLEE,
    callee_of,
    callee_programs,
    in_order_of_calls,
)
from lamina.passes.cost.fusion_cost import type_bytes
from lamina.passes.cost.kernel_costs import kernel_cost
from lamina.passes.fusion.fusion_reasons import reason_texts
from lamina.passes.regions.trip_counts import is_in_while, trip_count
from lamina.runtime.extern_kernels.flops import extern_flops

_KERNEL = "lamina.kernel"


@dataclass(frozen=True)
class Kernel:
    """One native kernel, an entry of `Compiled.kernels`.

    `name` is what the program calls it; `types` are those of its operands, as text. `ops` are the
    ops that it computes, in order, as they were called when they became loops; `calls` how often
    one run of the program calls it, taking every branch and one round of each loop by a condition,
    in which `in_while` says that a call is; `bytes` what one call reads and writes, each array once
    (of a table, what is looked up at most); `flops` the arithmetic of one call, a multiply and an
    add counting one each; `not_fused` why the kernel was not joined with others. `roofline_us` is
    the least time of one call on one core of the target, in microseconds, with divisions and
    functions weighed as what they cost (see `codegen/roofline.py`); `measured_us` the time that was
    measured, None before that. `schedule` is the text of the kernel's schedule, as
    `lamina.compile(..., schedules={name: text})` takes it; None for calls of libraries and for
    programs that came in as loops. `live_rows` are its rows where a call runs as many of them as
    one size of it says, None where it runs all, or a part that follows in other ways.

        slowest = max(compiled.kernels, key=lambda kernel: kernel.calls * kernel.roofline_us)
        faster = lamina.compile(text, schedules={slowest.name: schedule})
    """

    name: str
    ops: tuple[str, ...]
    calls: int
    bytes: int
    flops: int
    types: str
    not_fused: tuple[str, ...] = ()
    roofline_us: float = 0.0
    measured_us: float | None = None
    in_while: bool = False
    schedule: str | None = None
    live_rows: int | None = None


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
        lists = ("ops", "not_fused")
        return cls(Kernel(**{**entry, **{n: tuple(entry[n]) for n in lists}}) for entry in data)

    def with_times(self, seconds: Mapping[str, float]) -> "Kernels":
        """The same kernels with measured times, given by kernel name."""
        return Kernels(
            replace(k, measured_us=seconds[k.name] * 1e6) if k.name in seconds else k
            for k in self._kernels
        )

    def with_schedules(self, texts: Mapping[str, str]) -> "Kernels":
        """The same kernels with the texts of their schedules, given by kernel name."""
        return Kernels(replace(k, schedule=texts.get(k.name)) for k in self._kernels)

    def on_buffers(self, module: ModuleOp, target: Target) -> "Kernels":
        """The kernels of the same program once it is on buffers, where `fuse-borders` may have
        made one of two: those that there were as they are described here."""
        known = {kernel.name: kernel for kernel in self._kernels}
        found = kernels_of(module, target, known)
        return Kernels(replace(known.get(k.name, k), calls=k.calls) for k in found)

    def explain(self) -> str:
        """Why kernels were not joined with their neighbours, one line for each reason."""
        lines: list[str] = []
        for kernel in self._kernels:
            lines += [f"{kernel.name}: {reason}" for reason in kernel.not_fused]
        return "\n".join(lines) or "every op that could be was fused"

    def schedules(self) -> str:
        """The schedule of each kernel that has one, a line each."""
        return "\n".join(f"{k.name}: {k.schedule}" for k in self._kernels if k.schedule)

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


def kernels_of(
    module: ModuleOp, target: Target | None = None, known: Mapping[str, Kernel] | None = None
) -> Kernels:
    """Describes the kernels of an outlined or scheduled module, and its calls of extern kernels.

    The estimates are for `target`, by default this machine. Of those that are `known` by their
    names, it is only counted how often they run.
    """
    roofline = Roofline.of(target or Target.host())
    programs = callee_programs(module)
    runs: dict[str, _Runs] = {}
    found = [*_kernels_of(module, roofline, _Runs(1), runs, known or {})]
    for name in reversed(in_order_of_calls(module, programs)):
        kernels = _kernels_of(programs[name], roofline, runs[name], runs, {})
        found += [replace(kernel, name=f"{name}.{kernel.name}") for kernel in kernels]
    return Kernels(found)


@mutable_record
class _Runs:
    """How often something runs in a run of the whole, and whether a loop by a condition has it."""

    count: int = 0
    in_while: bool = False

    def add(self, runs: "_Runs", op: Operation) -> None:
        """Runs of an op in what runs so often."""
        self.count += runs.count * trip_count(op)
        self.in_while |= runs.in_while or is_in_while(op)


def _kernels_of(
    program: ModuleOp,
    roofline: Roofline,
    runs: _Runs,
    callees: dict[str, _Runs],
    known: Mapping[str, Kernel],
) -> list[Kernel]:
    """Those of a program that runs so often; adds the runs of the programs that it calls."""
    functions = {f.sym_name.data: f for f in program.body.ops if isinstance(f, FuncOp)}
    calls: dict[str, _Runs] = {}
    externs: dict[Kernel, _Runs] = {}

    def count(function: FuncOp, runs: _Runs) -> None:
        for op in list_ops(function):
            if isinstance(op, CallOp):
                name = op.callee.root_reference.data
                calls.setdefault(name, _Runs()).add(runs, op)
                called = functions.get(name)
                if called is not None and CALLEE in called.attributes:
                    once = _Runs()
                    once.add(runs, op)
                    count(called, once)
            elif isinstance(op, ExternOp):
                name = callee_of(op)
                if name is not None:
                    callees.setdefault(name, _Runs()).add(runs, op)
                else:
                    externs.setdefault(_extern(op, roofline), _Runs()).add(runs, op)

    main = functions.get("main")
    if main is not None:
        count(main, runs)
    found = [
        replace(
            known.get(name) or _kernel(function, roofline), calls=made.count, in_while=made.in_while
        )
        for name, function in functions.items()
        if _KERNEL in function.attributes and (made := calls.get(name)) and made.count
    ]
    return [
        *found,
        *(replace(kernel, calls=made.count) for kernel, made in externs.items()),
    ]


def _kernel(function: FuncOp, roofline: Roofline) -> Kernel:
    """A function as it is described, once it is known how often it runs."""
    ops = function.attributes.get("lamina.ops")
    names = (
        tuple(n.data for n in ops.data if isinstance(n, StringAttr))
        if isinstance(ops, ArrayAttr)
        else ()
    )
    cost = kernel_cost(function)
    return Kernel(
        name=function.sym_name.data,
        ops=names,
        calls=0,
        bytes=cost.traffic,
        flops=cost.flops,
        types=_signature(function.function_type.inputs, function.function_type.outputs),
        not_fused=reason_texts(function),
        roofline_us=1e6 * roofline.seconds(cost.traffic, cost.units),
        live_rows=_live_rows(function),
    )


def _live_rows(function: FuncOp) -> int | None:
    """The positions that end at a number of the call in all nests of a kernel, and nothing else."""
    ops = instances_under(function, (GenericOp, *UNSTRUCTURED_OPS))
    live = {live_rows_of(op) for op in ops}
    only = live.pop() if len(live) == 1 else None
    if only is None or len(only.counts) != 1 or any(isinstance(op, ExternOp) for op in ops):
        return None
    return next((digit.extent for digit in only.digits if digit.is_count), None)


def _extern(op: ExternOp, roofline: Roofline) -> Kernel:
    """One call of a kernel that a library computes."""
    results = [v.type for v in (op.res or op.outs)]
    inputs = [v.type for v in op.inputs]
    traffic = sum(map(type_bytes, (*inputs, *results)))
    flops = extern_flops(op.kernel.data, [shape_of(v) for v in op.inputs])
    return Kernel(
        name=op.kernel.data,
        ops=(f"extern.{op.kernel.data.replace('.', '_')}",),
        calls=1,
        bytes=traffic,
        flops=flops,
        types=_signature(inputs, results),
        roofline_us=1e6 * roofline.seconds(traffic, flops),
        in_while=is_in_while(op),
    )


def _signature(inputs: Iterable[Attribute], results: Iterable[Attribute]) -> str:
    return f"({', '.join(map(text_of, inputs))}) -> ({', '.join(map(text_of, results))})"


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
