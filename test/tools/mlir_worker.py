"""Runs a program on tensors with MLIR's own passes and execution engine, in a process of its own.

python mlir_worker.py PROGRAM.mlir ARGUMENTS.npz RESULTS.npz
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np
from mlir import ir  # pyright: ignore
from mlir.execution_engine import ExecutionEngine  # pyright: ignore
from mlir.passmanager import PassManager  # pyright: ignore

TENSORS = """
    func.func(linalg-fuse-elementwise-ops), eliminate-empty-tensors, empty-tensor-to-alloc-tensor,
    one-shot-bufferize{bufferize-function-boundaries=1
        function-boundary-type-conversion=identity-layout-map allow-return-allocs-from-loops=1},
    func.func(convert-linalg-to-loops),"""
"""From linalg on tensors to loops on memory."""

LOOPS = """
    expand-strided-metadata, lower-affine, convert-vector-to-scf, convert-scf-to-cf,
    expand-strided-metadata, lower-affine, math-expand-ops{ops=rsqrt},
    func.func(arith-expand{include-bf16=true}), convert-vector-to-llvm, convert-math-to-llvm,
    convert-math-to-libm, convert-vector-to-llvm,
    expand-strided-metadata, lower-affine, convert-arith-to-llvm, finalize-memref-to-llvm,
    convert-func-to-llvm, convert-cf-to-llvm, convert-index-to-llvm, reconcile-unrealized-casts"""
"""From loops to LLVM's dialect."""


def _descriptor(array: np.ndarray[Any, Any]) -> ctypes.Structure:
    rank = array.ndim
    fields: list[tuple[str, Any]] = [
        ("allocated", ctypes.c_void_p),
        ("aligned", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
    ]
    if rank:
        fields += [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
    made = type("Memref", (ctypes.Structure,), {"_fields_": fields})()
    made.allocated = made.aligned = array.ctypes.data
    made.offset = 0
    if rank:
        made.sizes = (ctypes.c_int64 * rank)(*array.shape)
        made.strides = (ctypes.c_int64 * rank)(*(s // array.itemsize for s in array.strides))
    return made


def main() -> None:
    """Results are named `0`, `1`, ...; the last given arrays are where they go."""
    text = Path(sys.argv[1]).read_text()
    library = str(Path(ir.__file__).parent / "lib" / "libmlir_c_runner_utils.so")
    given = np.load(sys.argv[2])
    count = int(given["results"])
    arrays = [np.array(given[f"a{n}"], order="C", copy=True) for n in range(len(given.files) - 1)]
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        assert module.operation.verify()
        on_tensors = "linalg" in text or "tensor<" in text.split("{", 2)[1]
        begin = (
            TENSORS
            + "buffer-results-to-out-params{modify-public-functions=1},"
            + "buffer-deallocation-pipeline,"
            if on_tensors
            else ""
        )
        pipeline = f"builtin.module({begin}{LOOPS})"
        for function in module.body.operations:
            if "main" in str(function.attributes["sym_name"]):
                function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        PassManager.parse(" ".join(pipeline.split())).run(module.operation)
        engine = ExecutionEngine(module, opt_level=1, shared_libs=[library])
        held = [_descriptor(array) for array in arrays]
        pointers = [ctypes.pointer(ctypes.pointer(one)) for one in held]
        engine.invoke("main", *pointers)
        np.savez(sys.argv[3], **{str(n): a for n, a in enumerate(arrays[len(arrays) - count :])})


if __name__ == "__main__":
    main()
