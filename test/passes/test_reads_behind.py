"""Memory behind the rows that count is not read: it need not be there."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from xdsl.dialects import func

from lamina.codegen.target import Target
from lamina.passes.schedule.kernel_parts import parts_of, schedules_of
from lamina.passes.schedule.reads_behind import reads_behind
from lamina.runtime.layers import lower, parse
from lamina.runtime.sized import padded_program

BOUND, WIDTH = 256, 1024
PROGRAMS = {
    "pointwise": ("aten.sigmoid.default(%x)", "?x1024"),
    "rows": ("aten.softmax.int(%x, -1)", "?x1024"),
    "columns": ("aten.sum.dim_IntList(%x, [0])", "1024"),
    "softmax": ("aten.softmax.int(%x, 0)", "?x1024"),
    "all": ("aten.sum.default(%x)", ""),
    "log-sum-exp": ("aten.logsumexp.default(%x, [0])", "1024"),
}
BLOCKS = {"scan": ("aten.cumsum.default(%x, 0)", "?x1024")}


def _text(name: str) -> str:
    call, shape = {**PROGRAMS, **BLOCKS}[name]
    result = f"tensor<{shape}{'x' if shape else ''}f32>"
    return f"""
func.func @main(%x: tensor<?x{WIDTH}xf32> {{lamina.dims = [#lamina.size<n in [1, {BOUND}]>]}})
    -> {result} {{
  %1 = {call} : (tensor<?x{WIDTH}xf32>) -> {result}
  func.return %1 : {result}
}}"""


def _says(name: str) -> list[bool]:
    """Of each kernel that takes the argument whether it reads behind its rows."""
    module = padded_program(parse(_text(name)), {"n": BOUND})
    lower(module, "functional", "bufferized", Target.host())
    found: list[bool] = []
    for call in [op for op in module.walk() if isinstance(op, func.CallOp)]:
        kernel = next(
            op
            for op in module.body.block.ops
            if isinstance(op, func.FuncOp) and op.sym_name.data == call.callee.string_value()
        )
        main = call.parent
        assert main is not None
        parts = parts_of(kernel)
        scheduled = list(zip(parts, schedules_of(kernel, parts), strict=True))
        sizes = [n for n, value in enumerate(call.arguments) if value is main.args[1]]
        found += [
            not sizes or reads_behind(kernel, scheduled, number, sizes[0])
            for number, value in enumerate(call.arguments)
            if value is main.args[0]
        ]
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_says_that_loops_end_at_the_rows_of_a_call(name: str) -> None:
    assert _says(name) == [False]


@pytest.mark.parametrize("name", BLOCKS)
def test_says_what_is_not_known_to_end_there(name: str) -> None:
    assert any(_says(name))


SCRIPT = """
import ctypes, mmap, sys
import numpy as np
from lamina.runtime.compile import compile_module
from lamina.runtime.layers import parse
from lamina.runtime.sized import padded_program

bound, width, text = {bound}, {width}, '''{text}'''
compiled = compile_module(padded_program(parse(text), {{"n": bound}}))

def run(count):
    made = compiled(x, np.array(count))
    return np.atleast_1d(np.array(made[0] if isinstance(made, (tuple, list)) else made))[:1]

memory = mmap.mmap(-1, 4 * bound * width)
x = np.frombuffer(memory, np.float32).reshape(bound, width)
x[:] = 1
wanted = {{count: run(count) for count in (1, 63, 200)}}
protect = ctypes.CDLL(None).mprotect
protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
for count in (200, 63, 1):
    behind = x.ctypes.data + count * 4 * width
    assert protect(behind, (bound - count) * 4 * width, 0) == 0
    np.testing.assert_array_equal(run(count), wanted[count])
print("read what counts")
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_behind_the_rows_of_a_call_need_not_be_there(name: str) -> None:
    """It is protected: a process that reads it ends."""
    script = SCRIPT.format(bound=BOUND, width=WIDTH, text=_text(name))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, re.sub(r"\s+", " ", done.stderr)[-500:]
    assert "read what counts" in done.stdout
