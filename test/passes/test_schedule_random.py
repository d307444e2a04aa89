"""Random loop programs: native code between guard pages against NumPy, nest by nest.

A program is a chain of nests over values with random maps, pads, combiners and bodies, with
contractions, softmax and reshapes between them; what has been made is read again where it fits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lamina.passes.schedule.streaming as streaming
from lamina.codegen.target import Target

Form = tuple[dict[int, int], int]
"""Coefficient per dimension, and a constant."""
Execute = Callable[..., list[np.ndarray]]

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 19, 31, 32, 33, 40, 64, 65)
POINTS_AT_MOST = 40_000
DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}
TOLERANCE = {"f32": 2e-3, "f64": 1e-9}
NEW_AXES = {"plain": (1, 0, 0), "shifted": (1, 2, 3), "strided": (2, 1, 1), "padded": (1, -1, -2)}
"""Kind of read: the dimension's coefficient, the constant, and what the extent has beyond it."""
COMBINE = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}
FLOAT_OPS = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
}
INTEGER_OPS = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
}


def text_of(forms: Sequence[Form]) -> str:
    """A map as text over d0, d1, ..."""
    parts = []
    for terms, constant in forms:
        total = " + ".join(f"{c} * d{d}" for d, c in terms.items())
        parts.append(f"{total} + {constant}" if total else str(constant))
    return ", ".join(parts).replace("+ -", "- ")


def pure(dims: Sequence[int]) -> list[Form]:
    return [({d: 1}, 0) for d in dims]


def positions(forms: Sequence[Form], domain: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    grid = np.indices(domain)
    places = []
    for terms, constant in forms:
        place = np.full(domain, constant)
        for dim, coefficient in terms.items():
            place = place + coefficient * grid[dim]
        places.append(place)
    return tuple(places)


def read(
    array: np.ndarray, forms: Sequence[Form], domain: tuple[int, ...], pad: int | None
) -> np.ndarray:
    places = positions(forms, domain)
    inside = np.ones(domain, bool)
    for place, extent in zip(places, array.shape, strict=True):
        inside &= (place >= 0) & (place < extent)
    assert pad is not None or inside.all()
    safe = tuple(np.clip(p, 0, e - 1) for p, e in zip(places, array.shape, strict=True))
    values = np.broadcast_to(array[safe], domain)
    return np.where(inside, values, array.dtype.type(pad or 0))


def write(
    values: np.ndarray, combiner: str, forms: Sequence[Form], shape: tuple[int, ...]
) -> np.ndarray:
    """What a nest writes, with sums in double precision."""
    dtype = values.dtype
    places = positions(forms, values.shape)
    flat = np.ravel_multi_index(places, shape) if forms else np.zeros(values.shape, np.int64)
    if combiner == "store":
        out = np.zeros(shape, dtype).ravel()
        out[flat] = values
        return out.reshape(shape)
    info = np.iinfo(dtype) if dtype.kind == "i" else None
    low, high = (info.min, info.max) if info else (-np.inf, np.inf)
    start = {"add": 0, "mul": 1, "max": low, "min": high, "and": -1, "or": 0}[combiner]
    out = np.full(shape, start, dtype if info else np.float64).ravel()
    COMBINE[combiner].at(out, flat, values)
    return out.astype(dtype).reshape(shape)


class Program:
    """One random program with the values that it should compute."""

    def __init__(self, seed: int, build: Any) -> None:
        self.choose = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.build = build
        self.element = self.choose.choice(["f32", "f32", "f64", "i32", "i64"])
        self.values: dict[str, np.ndarray] = {}
        self.inputs: list[np.ndarray] = []
        self.made: list[str] = []

    @property
    def is_float(self) -> bool:
        return self.element.startswith("f")

    def chance(self, probability: float) -> bool:
        return self.choose.random() < probability

    def argument(self, shape: tuple[int, ...]) -> str:
        name = self.build.argument(shape, self.element)
        if self.is_float:
            array = self.numbers.standard_normal(shape).astype(DTYPES[self.element])
        else:
            array = self.numbers.integers(-4, 5, shape).astype(DTYPES[self.element])
        self.values[name] = np.asarray(array)
        self.inputs.append(self.values[name])
        return name

    def add(self, name: str, value: np.ndarray) -> None:
        self.values[name] = value
        self.made.append(name)

    # Reads

    def reading(self, domain: tuple[int, ...]) -> tuple[str, list[Form], int | None]:
        known = list(self.values)
        self.choose.shuffle(known)
        for name in known[:6]:
            forms = self.fitting(self.values[name].shape, domain)
            if forms is not None and self.chance(0.8):
                return name, forms, None
        return self.new_reading(domain)

    def fitting(self, shape: tuple[int, ...], domain: tuple[int, ...]) -> list[Form] | None:
        forms: list[Form] = []
        used: set[int] = set()
        for extent in shape:
            dims = [d for d, e in enumerate(domain) if e == extent and d not in used]
            if dims:
                dim = self.choose.choice(dims) if self.chance(0.3) else dims[0]
                used.add(dim)
                forms.append(({dim: 1}, 0))
            elif extent == 1 or self.chance(0.15):
                forms.append(({}, self.choose.randrange(extent)))
            else:
                return None
        return forms

    def new_reading(self, domain: tuple[int, ...]) -> tuple[str, list[Form], int | None]:
        dims = self.choose.sample(range(len(domain)), self.choose.randint(0, len(domain)))
        if self.chance(0.6):
            dims.sort()
        kinds = [self.choose.choices(list(NEW_AXES), [75, 10, 7, 8])[0] for _ in dims]
        pad = self.choose.choice([0, 3]) if "padded" in kinds else None
        forms: list[Form] = []
        shape: list[int] = []
        for dim, kind in zip(dims, kinds, strict=True):
            coefficient, start, more = NEW_AXES[kind]
            forms.append(({dim: coefficient}, start))
            shape.append(max(1, coefficient * domain[dim] + more))
        return self.argument(tuple(shape)), forms, pad

    # Nests

    def nest(self) -> None:
        domain = self.domain()
        reads = [self.reading(domain) for _ in range(self.choose.choice([1, 1, 2, 2, 3]))]
        values = [read(self.values[n], forms, domain, pad) for n, forms, pad in reads]
        lines, result, value = self.body(domain, values)
        writes, expected = self.writes(domain, value)
        listed = ", ".join([result] * len(writes)), ", ".join([self.element] * len(writes))
        lines.append(f"loop.yield {listed[0]} : {listed[1]}")
        shown = [
            (n, text_of(forms))
            if pad is None
            else (n, text_of(forms), f"{self.number(pad)} : {self.element}")
            for n, forms, pad in reads
        ]
        dims = ",".join(f"d{i}={e}" for i, e in enumerate(domain))
        for name, array in zip(
            self.build.nest(dims, shown, writes, "\n".join(lines)), expected, strict=True
        ):
            self.add(name, array)

    def domain(self) -> tuple[int, ...]:
        if self.values and self.chance(0.75):
            sizes = list(self.values[self.choose.choice(list(self.values))].shape)
            if self.chance(0.2) and len(sizes) < 4:
                sizes.append(self.choose.choice(SIZES))
            if self.chance(0.15):
                self.choose.shuffle(sizes)
        else:
            sizes = [self.choose.choice(SIZES) for _ in range(self.choose.randint(0, 4))]
        while np.prod(sizes) > POINTS_AT_MOST:
            sizes[sizes.index(max(sizes))] //= 2
        return tuple(sizes)

    def number(self, value: int) -> str:
        return f"{value}.0" if self.is_float else str(value)

    def body(
        self, domain: tuple[int, ...], values: list[np.ndarray]
    ) -> tuple[list[str], str, np.ndarray]:
        """Lines, name and value of a random expression over the reads."""
        lines: list[str] = []
        name, value = "%p0", values[0]
        ops = FLOAT_OPS if self.is_float else INTEGER_OPS
        for number, operand in enumerate(values[1:], start=1):
            op = self.choose.choice(list(ops))
            lines.append(f"%t{number} = {op} {name}, %p{number} : {self.element}")
            name, value = f"%t{number}", ops[op](value, operand)
        if domain and self.is_float and self.chance(0.2):
            dim = self.choose.randrange(len(domain))
            lines += [
                f"%i = loop.index {dim} : index",
                "%j = arith.index_cast %i : index to i64",
                f"%f = arith.sitofp %j : i64 to {self.element}",
                f"%g = arith.addf {name}, %f : {self.element}",
            ]
            name, value = "%g", value + np.indices(domain)[dim].astype(value.dtype)
        if self.is_float:
            if self.chance(0.4):
                lines.append(f"%u = math.tanh {name} : {self.element}")
                return lines, "%u", np.tanh(value)
            # Keep magnitudes tame over long chains.
            lines.append(f"%c = arith.constant 0.25 : {self.element}")
            lines.append(f"%u = arith.mulf {name}, %c : {self.element}")
            return lines, "%u", value * value.dtype.type(0.25)
        return lines, name, value

    def writes(self, domain: tuple[int, ...], value: np.ndarray) -> tuple[list[Any], list[Any]]:
        rank = len(domain)
        chosen: list[tuple[str, list[int]]] = []
        if not rank or self.chance(0.55):
            dims = list(range(rank))
            if self.chance(0.2):
                self.choose.shuffle(dims)
            chosen.append(("store", dims))
        else:
            kept = sorted(self.choose.sample(range(rank), self.choose.randint(0, rank - 1)))
            if self.chance(0.15):
                self.choose.shuffle(kept)
            names = ["add", "max", "min"] + ([] if self.is_float else ["mul", "and", "or"])
            chosen.append((self.choose.choice(names), kept))
            if self.chance(0.25):
                chosen.append((self.choose.choice(names), kept))
            if self.chance(0.15):
                chosen.insert(self.choose.randint(0, 1), ("store", list(range(rank))))
        writes, expected = [], []
        for combiner, dims in chosen:
            forms, shape = self.merged(dims, domain)
            writes.append((text_of(forms), combiner, shape, self.element))
            expected.append(write(value, combiner, forms, shape))
        return writes, expected

    def merged(
        self, dims: list[int], domain: tuple[int, ...]
    ) -> tuple[list[Form], tuple[int, ...]]:
        """A write map; now and then two neighbouring dims share an axis."""
        forms, shape = pure(dims), [domain[d] for d in dims]
        if len(dims) >= 2 and self.chance(0.12):
            at = self.choose.randrange(len(dims) - 1)
            outer, inner = dims[at : at + 2]
            forms[at : at + 2] = [({outer: domain[inner], inner: 1}, 0)]
            shape[at : at + 2] = [domain[outer] * domain[inner]]
        return forms, tuple(shape)

    def product(self) -> None:
        sizes = {d: self.choose.choice((1, 2, 3, 5, 8, 13, 16, 17, 33, 40)) for d in "mnk"}
        batch = "b" if self.chance(0.5) else ""
        more = "j" if self.chance(0.2) else ""
        sizes |= {d: self.choose.choice((2, 3)) for d in batch + more}
        left, right = list(f"{batch}mk{more}"), list(f"{batch}k{more}n")
        out = list(f"{batch}mn")
        for dims, probability in ((left, 0.4), (right, 0.4), (out, 0.25)):
            if self.chance(probability):
                self.choose.shuffle(dims)
        order = [*out, *(d for d in sizes if d not in out)]
        domain = tuple(sizes[d] for d in order)
        forms = [pure([order.index(d) for d in dims]) for dims in (left, right)]
        operands = [self.of_shape(tuple(sizes[d] for d in dims)) for dims in (left, right)]
        written, shape = self.merged(list(range(len(out))), domain)
        (name,) = [
            self.build.product(
                ",".join(f"d{i}={e}" for i, e in enumerate(domain)),
                (operands[0], text_of(forms[0])),
                (operands[1], text_of(forms[1])),
                text_of(written),
                shape,
            )
        ]
        a, b = (read(self.values[v], f, domain, None) for v, f in zip(operands, forms, strict=True))
        wide = a.astype(np.float64) * b if self.is_float else a * b
        self.add(name, write(wide, "add", written, shape).astype(a.dtype))

    def of_shape(self, shape: tuple[int, ...]) -> str:
        known = [n for n, v in self.values.items() if v.shape == shape]
        return self.choose.choice(known) if known else self.argument(shape)

    def softmax(self) -> None:
        known = [n for n in self.made if self.values[n].ndim >= 2]
        if not known or not self.is_float:
            return
        name = self.choose.choice(known)
        array = self.values[name]
        raised = np.exp(array - array.max(-1, keepdims=True))
        self.add(self.build.softmax(name), raised / raised.sum(-1, keepdims=True))

    def reshape(self) -> None:
        name = self.choose.choice(list(self.values))
        shape = list(self.values[name].shape)
        if len(shape) < 2:
            return
        at = self.choose.randrange(len(shape) - 1)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
        self.add(self.build.reshape(name, tuple(shape)), self.values[name].reshape(shape))

    def generate(self) -> tuple[str, list[np.ndarray]]:
        """The program's text and the values of its results."""
        self.nest()
        for _ in range(self.choose.choice([0, 0, 1, 2, 3, 5, 7])):
            kinds = [self.nest, self.product, self.softmax, self.reshape]
            self.choose.choices(kinds, [60, 15, 15, 10])[0]()
        returned = [n for n in self.made[:-1] if self.chance(0.25)] + [self.made[-1]]
        return self.build.text(*returned), [self.values[n] for n in returned]


def differs(got: np.ndarray, wanted: np.ndarray, element: str) -> bool:
    if got.shape != wanted.shape:
        return True
    tolerance = TOLERANCE.get(element)
    if tolerance is None:
        return bool((got != wanted).any())
    finite = wanted[np.isfinite(wanted)]
    scale = max(1.0, float(np.abs(finite).max(initial=0)))
    return not np.allclose(got, wanted, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


PROGRAMS_PER_TEST = 20


@pytest.mark.parametrize("first", range(0, 100, PROGRAMS_PER_TEST))
def test_programs_compute_what_numpy_does(
    build: Any, execute: Execute, target: Target, first: int
) -> None:
    for seed in range(first, first + PROGRAMS_PER_TEST):
        check(seed, type(build)(), execute)


def test_programs_with_all_results_past_the_caches(
    build: Any, execute: Execute, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "_least_part", lambda *_: Fraction(0))
    for seed in range(200, 200 + PROGRAMS_PER_TEST):
        check(seed, type(build)(), execute)


@pytest.mark.parametrize("seed", [2147, 2414, 2416])
def test_nests_of_two_results(build: Any, execute: Execute, target: Target, seed: int) -> None:
    """One is read by none, as a total over the rows of a kernel; or is reduced into few columns."""
    check(seed, build, execute)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 3000, PROGRAMS_PER_TEST))
def test_many_more_programs(build: Any, execute: Execute, target: Target, first: int) -> None:
    for seed in range(first, first + PROGRAMS_PER_TEST):
        check(seed, type(build)(), execute)


def check(seed: int, build: Any, execute: Execute) -> None:
    """Compile and run the program of a seed; an assertion shows its text."""
    program = Program(seed, build)
    with np.errstate(all="ignore"):
        text, expected = program.generate()
    for number, (got, wanted) in enumerate(
        zip(execute(text, *program.inputs), expected, strict=True)
    ):
        assert not differs(got, wanted, program.element), f"seed {seed}, result {number}\n{text}"
