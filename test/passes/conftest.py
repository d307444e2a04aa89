"""Fixtures: structured loop programs built as text, run natively between guard pages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.codegen.target import Target

sys.path.append(str(Path(__file__).parent))  # helpers of tests stand beside them

from guarded_calls import call_guarded

DTYPES = {
    "i1": np.bool_,
    "i8": np.int8,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": np.uint16,  # NumPy has no bfloat16: its bits
    "f32": np.float32,
    "f64": np.float64,
}
Read = tuple[str, str] | tuple[str, str, str]
Write = tuple[str, str, tuple[int, ...], str]


def tensor(shape: Sequence[int], element: str) -> str:
    """The text of a tensor type."""
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


class Builder:
    """Text of a program of loop nests, op by op; values are names such as `%r0`."""

    def __init__(self) -> None:
        self.arguments: list[str] = []
        self.lines: list[str] = []
        self.types: dict[str, tuple[tuple[int, ...], str]] = {}

    def type_of(self, value: str) -> str:
        """The type of a value as text."""
        return tensor(*self.types[value])

    def argument(self, shape: Sequence[int], element: str = "f32", attributes: str = "") -> str:
        """A new argument of `@main`."""
        name = f"%a{len(self.arguments)}"
        self.types[name] = (tuple(shape), element)
        self.arguments.append(f"{name}: {self.type_of(name)} {attributes}")
        return name

    def nest(
        self,
        domain: str,
        reads: Sequence[Read],
        writes: Sequence[Write],
        body: str,
        sources: Sequence[str] = (),
    ) -> list[str]:
        """A `loop.generic` over a domain such as `i=4, j=8`; body arguments are %p0.., %s0...

        A read is (value, map) or (value, map, pad), a write (map, combiner, shape, element).
        """
        dims = [part.split("=") for part in domain.replace(" ", "").split(",") if part]
        header = f"({', '.join(d for d, _ in dims)}) in [{', '.join(e for _, e in dims)}]"
        arguments = [f"%p{i}: {self.types[r[0]][1]}" for i, r in enumerate(reads)]
        arguments += [f"%s{i}: {self.type_of(s)}" for i, s in enumerate(sources)]
        shown = [
            f"{r[0]}[{r[1]}]{f' pad {r[2]}' if len(r) > 2 else ''} : {self.type_of(r[0])}"
            for r in reads
        ]
        read = f" reads({', '.join(shown)})" if reads else ""
        source = ", ".join(f"{s} : {self.type_of(s)}" for s in sources)
        source = f" sources({source})" if sources else ""
        written = ", ".join(f"[{m}] {c} : {tensor(s, e)}" for m, c, s, e in writes)
        results = [self._result(shape, element) for _, _, shape, element in writes]
        entry = f"^bb0({', '.join(arguments)}):" if arguments else ""
        self.lines.append(
            f"{', '.join(results)} = loop.generic {header}{read}{source} writes({written}) "
            f"{{\n{entry}\n{body}\n}}"
        )
        return results

    def _result(self, shape: Sequence[int], element: str) -> str:
        name = f"%r{len(self.types)}"
        self.types[name] = (tuple(shape), element)
        return name

    def pointwise(self, expression: str, *values: str, element: str | None = None) -> str:
        """A nest over the whole shape of equally shaped values; the last body op is given."""
        shape, kind = self.types[values[0]]
        kind = element or kind
        names = [f"d{i}" for i in range(len(shape))]
        domain = ",".join(f"{n}={e}" for n, e in zip(names, shape, strict=True))
        index = ",".join(names)
        body = f"%v = {expression}\nloop.yield %v : {kind}"
        reads = [(v, index) for v in values]
        return self.nest(domain, reads, [(index, "store", shape, kind)], body)[0]

    def reduce(
        self, combiner: str, value: str, domain: str, read: str, write: str, shape: Sequence[int]
    ) -> str:
        """A reduction of a value's elements."""
        kind = self.types[value][1]
        writes = [(write, combiner, tuple(shape), kind)]
        return self.nest(domain, [(value, read)], writes, f"loop.yield %p0 : {kind}")[0]

    def product(
        self, domain: str, left: Read, right: Read, write: str, shape: Sequence[int]
    ) -> str:
        """A contraction: the sum of products of two reads."""
        kind = self.types[left[0]][1]
        op = "arith.mulf" if "f" in kind else "arith.muli"
        body = f"%v = {op} %p0, %p1 : {kind}\nloop.yield %v : {kind}"
        return self.nest(domain, [left, right], [(write, "add", tuple(shape), kind)], body)[0]

    def softmax(self, value: str) -> str:
        """Softmax over the last axis, as lowerings write it."""
        shape, kind = self.types[value]
        names = [f"d{i}" for i in range(len(shape))]
        domain = ",".join(f"{n}={e}" for n, e in zip(names, shape, strict=True))
        index, row = ",".join(names), ",".join(names[:-1])
        top = self.reduce("max", value, domain, index, row, shape[:-1])
        body = f"%u = arith.subf %p0, %p1 : {kind}\n%v = math.exp %u : {kind}"
        stored = [(index, "store", shape, kind)]
        raised = self.nest(
            domain, [(value, index), (top, row)], stored, f"{body}\nloop.yield %v : {kind}"
        )[0]
        total = self.reduce("add", raised, domain, index, row, shape[:-1])
        body = f"%v = arith.divf %p0, %p1 : {kind}\nloop.yield %v : {kind}"
        return self.nest(domain, [(raised, index), (total, row)], stored, body)[0]

    def reshape(self, value: str, shape: Sequence[int]) -> str:
        """The same elements under another shape."""
        before = self.type_of(value)
        result = self._result(shape, self.types[value][1])
        self.lines.append(f"{result} = loop.reshape {value} : {before} -> {self.type_of(result)}")
        return result

    def text(self, *results: str) -> str:
        """The program that returns the given values."""
        types = ", ".join(self.type_of(r) for r in results)
        body = "\n".join(self.lines)
        return (
            f"func.func @main({', '.join(self.arguments)}) -> ({types}) {{\n{body}\n"
            f"func.return {', '.join(results)} : {types}\n}}"
        )


@pytest.fixture
def build() -> Builder:
    """An empty program."""
    return Builder()


Execute = Callable[..., list[np.ndarray]]


@pytest.fixture(params=["host", "x86-64-v3"])
def target(request: pytest.FixtureRequest) -> Target:
    """Targets with different vector lengths that can run here."""
    found = Target.parse(request.param)
    if not found.runs_here():
        pytest.skip(f"this CPU has not all of {request.param}")
    return found


@pytest.fixture
def execute(target: Target) -> Execute:
    """Compile a program's text and run it on arrays, touching nothing beyond them."""

    def run(text: str, *arrays: np.ndarray) -> list[np.ndarray]:
        compiled = lamina.compile(text, target=target, cache=False)
        at_front = call_guarded(compiled, arrays, at_end=False)
        at_end = call_guarded(compiled, arrays, at_end=True)
        for one, other in zip(at_front, at_end, strict=True):
            assert one.tobytes() == other.tobytes()
        return at_end

    return run
