"""Files of other programs in `lamina.compile` and the tools."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import lamina
from lamina.tools import lamina_compile, lamina_opt, lamina_run


class Mixed(torch.nn.Module):
    """Weights in bf16, a buffer that is not row-major, and one without dimensions.

    All are small integers and halves, so that bf16 holds each value on the way.
    """

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 4).bfloat16()
        for parameter in self.linear.parameters():
            parameter.data.copy_(torch.randint(-3, 4, parameter.shape))
        self.register_buffer("scale", torch.randint(-3, 4, (4, 3)).t().float())
        self.register_buffer("offset", torch.tensor(0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x.bfloat16()).relu() * self.scale + self.offset


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, torch.Tensor, torch.Tensor]:
    module, x = Mixed(), torch.randint(-3, 4, (3, 8)).float()
    path = tmp_path / "program.pt2"
    torch.export.save(torch.export.export(module, (x,)), path)
    with torch.no_grad():
        return path, x, module(x)


def test_compile_takes_a_path(saved: tuple[Path, torch.Tensor, torch.Tensor]) -> None:
    path, x, wanted = saved
    torch.testing.assert_close(lamina.compile(path)(x), wanted, rtol=0, atol=0)


def test_run_binds_its_weights(
    saved: tuple[Path, torch.Tensor, torch.Tensor], tmp_path: Path
) -> None:
    path, x, wanted = saved
    inputs, output = tmp_path / "x.npz", tmp_path / "out.npz"
    np.savez(inputs, x=x.numpy())
    given = [str(path), "--inputs", str(inputs), "--save", str(output)]
    assert lamina_run.main(given) == 0
    result = torch.from_numpy(np.load(output)["out0"])
    torch.testing.assert_close(result, wanted, rtol=0, atol=0)


def test_opt_shows_the_module(
    saved: tuple[Path, torch.Tensor, torch.Tensor], capfd: pytest.CaptureFixture[str]
) -> None:
    assert lamina_opt.main([str(saved[0]), "--to", "prims"]) == 0
    text = capfd.readouterr().out
    assert 'lamina.name = "linear.weight"' in text and "prims." in text


def test_object_files_hold_the_weights(
    saved: tuple[Path, torch.Tensor, torch.Tensor], tmp_path: Path
) -> None:
    assert lamina_compile.main([str(saved[0]), "-o", str(tmp_path), "--prefix", "mixed"]) == 0
    assert "linear.weight" not in (tmp_path / "mixed.h").read_text()
    assert (tmp_path / "mixed.o").stat().st_size > 0


@pytest.mark.parametrize("main", [lamina_opt.main, lamina_run.main])
def test_torch_script_says_how_to_export(
    main: object, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "module.pt"
    torch.jit.save(torch.jit.trace(Mixed(), torch.randn(3, 8)), path)
    assert main([str(path)]) == 1  # pyright: ignore[reportCallIssue]
    said = capfd.readouterr().err
    assert str(path) in said and "torch.export.save" in said and said.count("\n") == 1


@pytest.mark.parametrize("main", [lamina_opt.main, lamina_run.main])
def test_a_file_that_is_none(
    main: object, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.pt2"
    path.write_bytes(b"PK\x03\x04 not an archive")
    assert main([str(path)]) == 1  # pyright: ignore[reportCallIssue]
    assert str(path) in capfd.readouterr().err
    assert main([str(tmp_path / "none.pt2")]) == 1  # pyright: ignore[reportCallIssue]
    assert "No such file" in capfd.readouterr().err


@pytest.fixture
def onnx_file(tmp_path: Path) -> Path:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    helper = onnx.helper
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "one"], ["s"]), helper.make_node("Relu", ["s"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", kind, [3, 5])],
        [helper.make_tensor_value_info("y", kind, [3, 5])],
        [onnx.numpy_helper.from_array(np.array(1.0, np.float32), "one")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_tools_take_onnx_files(
    onnx_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    x = np.linspace(-3, 3, 15, dtype=np.float32).reshape(3, 5)
    np.save(tmp_path / "x.npy", x)
    run = [str(onnx_file), "--inputs", str(tmp_path / "x.npy"), "--check"]
    assert lamina_run.main([*run, "--save", str(tmp_path / "y.npz")]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["out0"], np.maximum(x + 1, 0))
    capfd.readouterr()
    assert lamina_opt.main([str(onnx_file)]) == 0
    assert "aten.relu.default" in capfd.readouterr().out
    assert lamina_compile.main([str(onnx_file), "-o", str(tmp_path / "built")]) == 0
    assert (tmp_path / "built" / "model.o").stat().st_size > 0


def test_onnx_files_without_the_package(
    onnx_file: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "onnx"]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in [name for name in sys.modules if name.startswith("lamina.frontends.onnx")]:
        monkeypatch.delitem(sys.modules, name)
    assert lamina_opt.main([str(onnx_file)]) == 1
    said = capfd.readouterr().err
    assert "lamina[onnx]" in said and said.count("\n") == 1
