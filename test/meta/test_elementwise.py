"""The records of elementwise functions: what they name exists, and nobody lists it again."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import math

from lamina.codegen import vector_math
from lamina.codegen.llvm_emitter.math import EMITTERS
from lamina.dialects import aten, core_aten, prims
from lamina.dialects.elementwise import FUNCTIONS, ROWS, SECOND_NAMES, Elementwise, spellings
from lamina.dialects.loop import special
from lamina.dialects.loop.scalar_ops import scalar_op_class
from lamina.dialects.schema.result_rules import PRIMS_RULES, RULES, find_rule
from lamina.lowering.aten_to_core_aten.table import DECOMPOSITIONS
from lamina.lowering.core_aten_to_prims.table import LOWERINGS
from lamina.lowering.prims_to_loop import pointwise as bodies
from lamina.lowering.prims_to_loop.table import LOWERINGS as TO_LOOPS
from lamina.lowering.split_complex.table import table as splits
from lamina.runtime.interpreters import array_functions
from lamina.runtime.interpreters.prims import FUNCTIONS as INTERPRETED

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("codegen", "dialects", "frontends", "lowering", "passes", "runtime", "tools")
SyntaxOf = Callable[[Path], ast.Module]

every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def tensors_of(op: type[aten.SchemaOp]) -> int:
    return sum(argument.name not in ("out", "alpha") for argument in op.schema.args)


def test_each_name_stands_once() -> None:
    assert len(FUNCTIONS) == len(ROWS)
    named = [name for row in ROWS for name in spellings(row.name)]
    assert len(named) == len(set(named))
    ops = [op for row in ROWS for op in row.loop_ops]
    assert len(ops) == len(set(ops))


@every_row
def test_primitive_exists_and_is_lowered(row: Elementwise) -> None:
    assert (prims.Prims.find(row.name) is not None) == row.prims
    if row.prims:
        assert tensors_of(prims.op(row.name)) == row.operands
        assert row.name in PRIMS_RULES
        assert row.name in TO_LOOPS.table()
        assert row.name in INTERPRETED


@every_row
def test_overloads_exist_and_are_lowered(row: Elementwise) -> None:
    for name in row.overload_names:
        op = aten.op(name)
        assert find_rule("aten", name, frozenset(op.schema.tags)) is not None
        assert (core_aten.CoreAten.find(name) is not None) == row.core
        assert name in (LOWERINGS if row.core else DECOMPOSITIONS).table()
        if row.prims and not row.composed:
            assert len(op.schema.args) == row.operands
    for second, first in row.second_names.items():
        args, wanted = aten.op(second).schema.args, aten.op(first).schema.args
        assert [(a.type, a.kwarg_only) for a in args] == [(a.type, a.kwarg_only) for a in wanted]
        assert RULES[second] == RULES[first]
        assert "pointwise" in aten.op(second).schema.tags
        assert second in DECOMPOSITIONS.table()


@every_row
def test_ops_of_bodies_exist_and_are_emitted(row: Elementwise) -> None:
    for name in row.loop_ops:
        assert scalar_op_class(name) in EMITTERS or name.startswith("arith.")
    if row.loop.startswith("math."):
        assert bool(row.intrinsic) != bool(row.vector), "who computes it?"
    names = special.UNARY if row.operands == 1 else special.BINARY
    assert (row.name in names) == row.is_special
    assert not row.is_special or row.vector


@every_row
def test_vector_function_is_written(row: Elementwise) -> None:
    assert (row.name in vector_math.FUNCTIONS | vector_math.SPECIAL) == bool(row.vector)
    if row.vector:
        module = import_module(f"lamina.codegen.vector_math.{row.vector}")
        parameters = inspect.signature(getattr(module, row.name)).parameters
        assert len(parameters) == row.operands + 1


@every_row
def test_complex_form_is_written(row: Elementwise) -> None:
    assert row.complex == (row.name in splits())


@every_row
def test_function_of_arrays_is_numpys_or_our_own(row: Elementwise) -> None:
    assert not row.numpy or callable(getattr(np, row.numpy))
    assert not row.numpy or row.name not in array_functions.OWN
    inlined = bool(row.intrinsic) or row.name in vector_math.FUNCTIONS
    assert not inlined or row.name in array_functions.FUNCTIONS, "bodies are interpreted by it"


def test_implementations_are_of_known_functions() -> None:
    assert array_functions.OWN.keys() <= FUNCTIONS.keys()
    moves = {"clone", "conj", "copy_strided", "device_put", "view_of"}
    assert (bodies.UNARY | bodies.BINARY).keys() - FUNCTIONS.keys() == moves


def test_every_function_of_math_has_a_record() -> None:
    named = {op for row in ROWS for op in row.loop_ops}
    others = {op.name for op in math.Math.operations if op in EMITTERS} - named
    assert others == {"math.fma", "math.ctlz", "math.cttz", "math.ctpop"}


MOST = 7
"""So many names of functions may stand in a literal: more are a table."""

NOT_NAMES: dict[str, str] = {
    "dialects/linalg/named_ops_table.py": "which ops MLIR's linalg has",
    "lowering/linalg_to_loop/elementwise.py": "what MLIR's named ops are",
    "lowering/linalg_to_loop/folds.py": "ops of bodies that are combiners",
    "lowering/prims_to_loop/pointwise.py": "bodies of several ops",
    "passes/numerics/widen_half_floats.py": "what is exact in any float type, functions or not",
    "runtime/interpreters/array_functions.py": "what NumPy lacks",
}
"""File to what it says of functions, which is no name."""


def known_names() -> set[str]:
    names = {*FUNCTIONS, *SECOND_NAMES}
    for row in ROWS:
        names.update(row.packets, row.overload_names, row.loop_ops)
    return names


def literals(tree: ast.Module) -> Iterator[list[str]]:
    """The strings of each literal collection, and the words of each string that is a value."""
    for node in ast.walk(tree):
        entries: list[ast.expr | None] = []
        if isinstance(node, ast.Dict):
            entries = [*node.keys]
            yield from (v.value.split() for v in node.values if is_text(v))
        elif isinstance(node, ast.List | ast.Set | ast.Tuple):
            entries = [*node.elts]
        yield [e.value for e in entries if is_text(e)] + [
            "math." + e.attr.removesuffix("Op").lower()
            for e in entries
            if isinstance(e, ast.Attribute) and ast.unparse(e.value) == "math"
        ]


def is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


@pytest.mark.parametrize("layer", LAYERS)
def test_nobody_lists_the_functions_again(layer: str, syntax_of: SyntaxOf) -> None:
    names = known_names()
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / layer).rglob("*.py")):
        for words in literals(syntax_of(path)):
            listed = sorted(names.intersection(words))
            if len(listed) > MOST and "dialects/elementwise" not in str(path):
                found.setdefault(str(path.relative_to(ROOT)), []).extend(listed)
    assert found.keys() == {name for name in NOT_NAMES if name.startswith(f"{layer}/")}, found
