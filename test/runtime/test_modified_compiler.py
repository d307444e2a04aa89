"""A compiler that somebody has changed shares no code with the compiler as it is."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_in(2)

PROGRAM = """
import numpy as np
import lamina

TEXT = '''func.func @main(%x: tensor<33x7xf32>) -> tensor<33x7xf32> {
  %0 = aten.gelu.default(%x) : (tensor<33x7xf32>) -> tensor<33x7xf32>
  %1 = aten.softmax.int(%0, dim = 1) : (tensor<33x7xf32>) -> tensor<33x7xf32>
  func.return %1 : tensor<33x7xf32>
}'''
from lamina.runtime import compile as module
from lamina.dialects.modifications import modification
"""

RUN = """
compiled = lamina.compile(TEXT)
x = np.linspace(-3, 3, 33 * 7, dtype=np.float32).reshape(33, 7)
print(modification(), "by", float(compiled(x).astype(np.float64).std()))
"""

PATCHES = {
    "a_decomposition": """
        from lamina.lowering.aten_to_core_aten.table import DECOMPOSITIONS
        DECOMPOSITIONS.table()["softmax.int"] = lambda op, b: op.operands[0]
    """,
    "a_lowering_by_another_of_ours": """
        from lamina.lowering.core_aten_to_prims.table import LOWERINGS
        table = LOWERINGS.table()
        table["gelu.default"] = table["relu.default"]
    """,
    "a_lowering_that_is_gone": """
        from lamina.lowering.core_aten_to_prims.table import LOWERINGS
        del LOWERINGS.table()["erf.default"]
        from lamina.lowering.aten_to_core_aten.table import DECOMPOSITIONS
        DECOMPOSITIONS.table()["softmax.int"] = lambda op, b: op.operands[0]
    """,
    "a_lowering_of_somebody_else": """
        from lamina.lowering.aten_to_core_aten.table import DECOMPOSITIONS
        del DECOMPOSITIONS.table()["softmax.int"]
        @DECOMPOSITIONS.lowers("softmax.int")
        def own(op, b):
            return op.operands[0]
    """,
    "a_pass": """
        import sys
        from dataclasses import dataclass
        from xdsl.passes import ModulePass
        from lamina.passes import registry
        from lamina.passes.functionalize.functionalize import FunctionalizePass
        @dataclass(frozen=True)
        class Mine(FunctionalizePass):
            name = "functionalize"
            def apply(self, ctx, op):
                super().apply(ctx, op)
                for each in list(op.walk()):
                    if each.name == "aten.softmax.int":
                        each.results[0].replace_all_uses_with(each.operands[0])
        registry.PASSES["functionalize"] = f"{__name__}:Mine"
    """,
    "a_pass_class": """
        from lamina.passes.functionalize.functionalize import FunctionalizePass
        before = FunctionalizePass.apply
        def apply(self, ctx, op):
            before(self, ctx, op)
            for each in list(op.walk()):
                if each.name == "aten.softmax.int":
                    each.results[0].replace_all_uses_with(each.operands[0])
        FunctionalizePass.apply = apply
    """,
    "a_function": """
        from lamina.runtime import lowering_options as module
        lower = module.lower
        def mine(ir, start, stop, *rest, **options):
            for each in list(ir.walk()):
                if each.name == "aten.softmax.int":
                    each.results[0].replace_all_uses_with(each.operands[0])
            lower(ir, start, stop, *rest, **options)
        module.lower = mine
    """,
    "an_emitter": """
        from lamina.codegen.llvm_emitter import module as emitted
        from xdsl.dialects.arith import DivfOp
        before = emitted.EMITTERS[DivfOp]
        def divide(w, op):
            w.bind(op.result, w.value(op.lhs))
        emitted.EMITTERS[DivfOp] = divide
    """,
}


def run(cache: Path, patch: str = "") -> tuple[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + textwrap.dedent(patch) + RUN],
        env={**os.environ, "LAMINA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said, _, value = done.stdout.partition(" by ")
    return said, float(value)


@pytest.fixture(scope="module")
def meaning(tmp_path_factory: pytest.TempPathFactory) -> float:
    said, value = run(tmp_path_factory.mktemp("own"))
    assert said == "None"
    return value


@pytest.mark.parametrize("name", PATCHES)
def test_neither_gets_the_code_of_the_other(name: str, meaning: float, tmp_path: Path) -> None:
    said, changed = run(tmp_path, PATCHES[name])
    assert said != "None" and changed != meaning
    assert run(tmp_path) == ("None", meaning)
    assert run(tmp_path, PATCHES[name]) == (said, changed)


COSTS = """
from lamina.passes.cost import team_cost
team_cost.LEAST_THREADS = 10**9
"""


def test_costs_count(tmp_path: Path) -> None:
    said, _ = run(tmp_path, COSTS)
    assert said == "lamina.passes.cost.team_cost.LEAST_THREADS"
    assert len(list(tmp_path.rglob("*.lamina"))) == 1  # the native call code


def test_a_compiler_as_it_is_keeps_programs(tmp_path: Path) -> None:
    run(tmp_path)
    assert len(list(tmp_path.rglob("*.lamina"))) == 2
