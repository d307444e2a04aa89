"""Fixtures: scheduled IR text compiled and run on NumPy arrays."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, cf, func, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from lamina.codegen import jit
from lamina.codegen.llvm_emitter import EmitOptions, emit_module
from lamina.codegen.target import Target
from lamina.dialects.loop import Loop
from lamina.runtime.executable import Executable, ProgramMetadata

FOLDER = Path(__file__).parent
DIALECTS = (
    arith.Arith,
    builtin.Builtin,
    cf.Cf,
    func.Func,
    math.Math,
    memref.MemRef,
    scf.Scf,
    vector.Vector,
    Loop,
)

Runner = Callable[..., None]


class Program:
    """A scheduled program, compiled: `program("main", a, b)` runs an entry on arrays."""

    def __init__(self, text: str, target: Target, options: EmitOptions) -> None:
        module = parse(text)
        emitted = emit_module(module, target, options)
        code = jit.compile_object(emitted.text, target)
        arguments = {
            op.sym_name.data: [str(a.type) for a in op.body.block.args]
            for op in module.body.block.ops
            if isinstance(op, func.FuncOp) and "lamina.entry" in op.attributes
        }
        metadata = ProgramMetadata(
            arguments=arguments, messages=emitted.messages, needs_openmp=emitted.needs_openmp
        )
        self.text = emitted.text
        self.executable = Executable(code, metadata, target)

    def __call__(self, entry: str, *arrays: np.ndarray) -> None:
        assert all(a.flags.c_contiguous for a in arrays)
        self.executable.call(entry, [a.ctypes.data for a in arrays])


def parse(text: str) -> ModuleOp:
    """Parses and verifies scheduled IR."""
    context = Context()
    for dialect in DIALECTS:
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


@pytest.fixture(params=["host", "x86-64-v3", "x86-64-v4"])
def target(request: pytest.FixtureRequest) -> Target:
    """Every target that can run here."""
    found = Target.parse(request.param)
    if not found.runs_here():
        pytest.skip(f"this CPU has not all of {request.param}")
    return found


@pytest.fixture(params=[True, False], ids=["openmp", "serial"])
def options(request: pytest.FixtureRequest) -> EmitOptions:
    """With and without parallel regions."""
    if request.param and not jit.default_options().openmp:
        pytest.skip("no OpenMP runtime here")
    return EmitOptions(openmp=request.param)


@pytest.fixture
def build(target: Target, options: EmitOptions) -> Callable[[str], Program]:
    """Compiles a file of this folder by its name, or text with a line break in it."""

    def compile_program(source: str) -> Program:
        text = source if "\n" in source else (FOLDER / f"{source}.mlir").read_text()
        return Program(text, target, options)

    return compile_program
