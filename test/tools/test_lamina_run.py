"""`lamina-run`: results, inputs from files, checks, and one-screen messages for bad input."""

import re
from pathlib import Path

import numpy as np
import pytest

from lamina.codegen.target import Target
from lamina.runtime.compile import compile_module
from lamina.runtime.layers import parse
from lamina.tools.lamina_run import main

ATEN = """
func.func @main(%x: tensor<4x3xf32> {lamina.name = "x", lamina.kind = "input"},
                %w: tensor<2x3xf32> {lamina.name = "w", lamina.kind = "parameter"})
    -> (tensor<4x2xf32> {lamina.kind = "output"}) {
  %y = aten.linear.default(%x, %w) : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %z = aten.relu.default(%y) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  func.return %z : tensor<4x2xf32>
}
"""
LOOP = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xf32>)
      writes([d0] store : tensor<4xf32>) {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    loop.yield %b : f32
  }
  func.return %y : tensor<4xf32>
}
"""

STABLEHLO = """
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>) -> (tensor<4xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<4x3xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = call @relu(%2) : (tensor<4xf32>) -> tensor<4xf32>
    return %3 : tensor<4xf32>
  }
  func.func private @relu(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
    %0 = stablehlo.maximum %arg0, %cst : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""  # noqa: E501 - as JAX 0.10 prints it


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.mlir"
    path.write_text(ATEN)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def fail(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 1
    message = capsys.readouterr().err
    assert "Traceback" not in message and "internal error" not in message
    assert len(message.splitlines()) <= 30
    return message


def test_results_of_seeded_inputs_are_printed_and_repeatable(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first = run(capsys, program, "--seed", "7")
    assert first.startswith("out0: tensor<4x2xf32>\n")
    assert run(capsys, program, "--seed", "7") == first
    assert run(capsys, program, "--seed", "8") != first


def test_inputs_by_name_and_in_order(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    w = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    np.savez(tmp_path / "weights.npz", w=w)
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "out.npz"
    files = [str(tmp_path / "x.npy"), str(tmp_path / "weights.npz")]
    run(capsys, program, "--inputs", *files, "--save", str(out))
    np.testing.assert_allclose(np.load(out)["out0"], np.maximum(x @ w.T, 0), rtol=1e-5)


def test_check_compares_with_the_interpreter_of_the_layer(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "check: equal to the aten interpreter" in run(capsys, program, "--check")
    (tmp_path / "loop.mlir").write_text(LOOP)
    assert "check: equal to the loop interpreter" in run(
        capsys, str(tmp_path / "loop.mlir"), "--check"
    )


@pytest.mark.parametrize("layer", ["fused", "bufferized", "scheduled"])
def test_constants_that_only_setup_takes_are_arguments(
    layer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    product = ATEN.replace("4x3x", "40x64x").replace("2x3x", "48x64x").replace("4x2x", "40x48x")
    bound = {"w": np.ones((48, 64), np.float32)}
    lowered, arrays = tmp_path / "lowered.mlir", tmp_path / "arrays.npz"
    lowered.write_text(compile_module(parse(product), constants=bound).ir(layer))
    main_line = next(line for line in lowered.read_text().split("\n") if "@main" in line)
    assert 'lamina.name = "w"' not in main_line, "a weight that is packed"
    np.savez(arrays, x=np.ones((40, 64), np.float32), **bound)
    assert "[64. 64." in run(capsys, str(lowered), "--check", "--inputs", str(arrays))


def test_a_failed_check_names_the_element(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from lamina.runtime import interpreters

    wrong = np.full((4, 2), 1e9, np.float32)
    monkeypatch.setattr(interpreters, "run_module", lambda module, args: [wrong])
    message = fail(capsys, program, "--check")
    named = r"check failed: out0 \[[0-3], [01]\] is [\d.]+, the interpreter's is 1000000000\.0"
    assert re.search(named, message)


def test_a_failed_check_names_an_element_that_fails() -> None:
    """Not one that is further off, but within the tolerance of its size."""
    from lamina.tools import lamina_run

    found, wanted = np.array([1e9, 1.0], np.float32), np.array([1e9 + 4e4, 1.5], np.float32)
    fits = np.isclose(found, wanted, rtol=1e-4, atol=1e-4)
    assert fits.tolist() == [True, False]
    assert lamina_run._difference(found, wanted, ~fits).startswith("[1] is 1.0")


def test_kernels_layers_and_times_are_shown(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = run(capsys, program, "--print-kernels", "--time", "3", "--print-ir", "core_aten")
    assert "1 kernels, 1 calls in one run" in shown
    assert "core_aten.relu.default" in shown
    assert "time of 3 calls: best" in shown


def test_code_for_another_machine_can_be_shown(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "lamina_main:" in run(capsys, program, "--target", "aarch64", "--print-ir", "asm")
    assert "cannot run here" in fail(capsys, program, "--target", "aarch64")


BAD: dict[str, tuple[list[str], str]] = {
    "no such file": (["none.mlir"], "lamina-run: error: cannot use 'none.mlir': No such file"),
    "unknown layer": (["--print-ir", "lop"], "unknown layer 'lop'; the layers are: aten,"),
    "unknown target": (["--target", "i386"], "no target is called 'i386'"),
    "no calls to time": (["--time", "0"], "--time 0: it takes at least one call"),
    "unknown option": (["--bogus"], "unrecognized arguments: --bogus"),
    "no array file": (["--inputs", "{program}"], "not a .npy or .npz file of plain arrays"),
    "unknown name": (
        ["--inputs", "{wrong_name}"],
        "no argument is named 'v'; the arguments are: x",
    ),
    "wrong shape": (["--inputs", "{wrong_shape}"], "argument 0 ('x'): expected shape 4x3, got 4x4"),
    "wrong dtype": (["--inputs", "{wrong_dtype}"], "('x'): expected dtype float32, got float64"),
    "wrong weight": (
        ["--inputs", "{wrong_weight}"],
        "constant 'w': expected rank 2 (2x3), got rank",
    ),
    "too many": (["--inputs", *["{wrong_shape}"] * 3], "3 .npy files for 2 arguments"),
    "negative seed": (["--seed", "-1"], "--seed -1: seeds are 0 or more"),
    "no .npz": (["--save", "results"], "--save results: it takes the name of a file OUT.npz"),
    "no file": (["--save", "."], "--save .: it takes the name of a file OUT.npz"),
    "no folder": (["--save", "/nowhere/out.npz"], "there is no such folder"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_command_lines(
    case: str, program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "wrong_name.npz", v=np.zeros(3, np.float32))
    np.save(tmp_path / "wrong_shape.npy", np.zeros((4, 4), np.float32))
    np.save(tmp_path / "wrong_dtype.npy", np.zeros((4, 3)))
    np.savez(tmp_path / "wrong_weight.npz", w=np.zeros(3, np.float32))
    files = {"program": program} | {
        path.stem: str(path) for path in tmp_path.iterdir() if path.stem.startswith("wrong")
    }
    arguments, message = BAD[case]
    filled = [argument.format(**files) for argument in arguments]
    if not filled[0].endswith(".mlir"):
        filled.insert(0, program)
    assert message in fail(capsys, *filled)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @main() { foo.bar }", ":1:21: error: Operation foo.bar is not registered"),
        ("func.func @main(", ":1:17: error:"),
        ("func.func private @other() { func.return }", "there is no function @main to run"),
        ("\0\1\2", "binary data (a zero byte)"),
        (
            "func.func @main(%x: vector<4xf32>) { func.return }",
            "'arg0': a program's arguments and results",
        ),
        (
            "func.func @main(%x: tensor<?xf32>) { func.return }",
            "'arg0': tensor<?xf32> has dynamic dimensions",
        ),
        (
            f"func.func @main(%x: tensor<{2**63}xf32>) {{ func.return }}",
            f":1:28: error: extent {2**63} is beyond 2^63 - 1",
        ),
        (
            f"func.func @main(%x: tensor<{2**33}x{2**33}xf32>) {{ func.return }}",
            "is more than memory can hold",
        ),
        (
            f"func.func @main(%x: tensor<0x{2**32}x{2**32}xf32>) {{ func.return }}",
            "is more than memory can hold",
        ),
        (ATEN.replace("relu.default", "rleu.default"), "nearest: "),
        (ATEN.replace("4x2xf32", "4x5xf32"), ":5:"),
    ],
)
def test_bad_programs(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text(text)
    assert message in fail(capsys, str(path))


def test_help_names_all_targets(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "--help")
    assert all(name in text for name in Target.names())


def test_places_are_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "late.mlir"
    path.write_text("""func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %1 = aten.neg.default(%0) : (tensor<3xf32>) -> tensor<3xf32>
  %0 = aten.neg.default(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}""")
    assert fail(capsys, str(path)).startswith(f"{path}:2:3: error: aten.neg.default: operand 0")


def test_checks_bfloat16_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "narrow.mlir"
    path.write_text(ATEN.replace("f32", "bf16"))
    assert main([str(path), "--check"]) == 0
    assert "check: equal to the aten interpreter" in capsys.readouterr().out


def test_peak_memory_is_printed(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(capsys, program, "--print-memory")
    assert re.search(r"^peak memory \d+ bytes: arena \d+, outputs \d+, constants \d+$", shown, re.M)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--save", "/no/such/folder/out.npz", "there is no such folder"),
        ("--print-ir", "nothing", "unknown layer 'nothing'"),
    ],
)
def test_options_are_checked_before_anything_runs(
    program: str, capsys: pytest.CaptureFixture[str], option: str, value: str, message: str
) -> None:
    assert main([program, option, value]) == 1
    output = capsys.readouterr()
    assert message in output.err and not output.out


def test_stablehlo_text_of_a_file_needs_no_jax(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(STABLEHLO)
    x, w = np.arange(12, dtype=np.float32).reshape(4, 3) - 5, np.array([1, -2, 0.5], np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "w.npy", w)
    inputs = [str(tmp_path / name) for name in ("x.npy", "w.npy")]
    shown = run(capsys, str(path), "--inputs", *inputs, "--save", str(tmp_path / "y.npz"))
    (result,) = np.load(tmp_path / "y.npz").values()
    np.testing.assert_allclose(result, np.maximum(x @ w, 0), rtol=1e-6)
    assert shown.startswith("out0: tensor<4xf32>")
    assert "largest difference" in run(capsys, str(path), "--check")
