"""Fixtures: scheduled IR text compiled and run on NumPy arrays."""

import ctypes
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
from lamina.codegen.llvm_emitter.types import mangled
from lamina.codegen.target import Target
from lamina.codegen.vector_math import FLUSHING, FUNCTIONS, function_text
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


def llvm_type(dtype: str, lanes: int) -> str:
    scalar = {"float32": "float", "float64": "double"}[dtype]
    return f"<{lanes} x {scalar}>" if lanes else scalar


def compile_function(
    stem: str, dtype: str, lanes: int, target: Target
) -> Callable[..., np.ndarray]:
    """The function over whole arrays whose length is a multiple of `lanes`."""
    type_ = llvm_type(dtype, lanes)
    operands = (FUNCTIONS | FLUSHING)[stem][1]
    text, shared = function_text(stem, type_, target)
    scalar = llvm_type(dtype, 0)
    size = np.dtype(dtype).itemsize
    arguments = ", ".join(f"{type_} %v{i}" for i in range(operands))
    lines = [*shared.declarations.values(), *shared.helpers.values(), text]
    lines.append("define i32 @lamina_main(ptr %args) #0 {\nentry:")
    for i in range(operands + 2):
        lines.append(f"  %g{i} = getelementptr ptr, ptr %args, i64 {i}")
        lines.append(f"  %p{i} = load ptr, ptr %g{i}")
    lines.append(f"  %n = load i64, ptr %p{operands + 1}\n  br label %loop\nloop:")
    lines.append("  %i = phi i64 [ 0, %entry ], [ %j, %loop ]")
    for i in range(operands + 1):
        lines.append(f"  %q{i} = getelementptr {scalar}, ptr %p{i}, i64 %i")
    for i in range(operands):
        lines.append(f"  %v{i} = load {type_}, ptr %q{i}, align {size}")
    lines.append(f"  %r = call {type_} @lamina.{stem}.{mangled(type_)}({arguments})")
    lines.append(f"  store {type_} %r, ptr %q{operands}, align {size}")
    lines.append(f"  %j = add i64 %i, {max(lanes, 1)}\n  %c = icmp slt i64 %j, %n")
    lines.append("  br i1 %c, label %loop, label %out\nout:\n  ret i32 0\n}")
    width = f'"prefer-vector-width"="{target.vector_bits}"'
    lines.append(f"attributes #0 = {{ nounwind {width} }}")
    lines.append(f"attributes #1 = {{ nounwind alwaysinline {width} }}")
    code = jit.compile_object("\n".join(lines), target)
    loaded = jit.load_object(code, ["lamina_main"], target, needs_openmp=False)
    native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(loaded.addresses["lamina_main"])

    def run(*arrays: np.ndarray) -> np.ndarray:
        assert arrays[0].size % max(lanes, 1) == 0 and loaded.addresses
        result = np.empty_like(arrays[0])
        count = np.array([result.size])
        data = [a.ctypes.data for a in (*arrays, result, count)]
        native((ctypes.c_void_p * len(data))(*data))
        return result

    return run


@pytest.fixture
def vector_function() -> Callable[..., Callable[..., np.ndarray]]:
    """Compiles a function of vector math by name, for a dtype, a number of lanes and a target."""
    return compile_function


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


@pytest.fixture
def compile_scheduled() -> Callable[[str, Target, EmitOptions], Program]:
    """Compiles scheduled IR text."""
    return Program
