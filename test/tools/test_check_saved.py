"""`lamina-ops --check` of .pt2 files: dtypes that IR lacks beside other blockers, and bad files."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from lamina.tools.lamina_ops import main

torch = pytest.importorskip("torch")


class ManyDtypes(torch.nn.Module):
    """Two dtypes without an element type, and a tensor that is resized."""

    def forward(self, x: torch.Tensor, r: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """f32[4, 4], i64[3] -> three tensors."""
        repeated = r.clone().resize_(2)
        small = x.to(torch.float8_e4m3fn)
        back = small.reshape(16).float()
        half = x.half().to(torch.complex32)
        return repeated, back, half


def test_dtypes_hide_no_other_blockers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.pt2"
    inputs = (torch.rand(4, 4), torch.tensor([1, 2, 3]))
    torch.export.save(torch.export.export(ManyDtypes(), inputs), path)
    assert main(["--check", str(path)]) == 1
    said = capsys.readouterr()
    lines = [line for line in said.out.splitlines() if not line.startswith(" ")]
    assert lines == [
        "aten.to.dtype: torch.float8_e4m3fn: this dtype has no element type",
        "aten.to.dtype: torch.complex32: this dtype has no element type",
        "aten.resize_.default: changes how much memory a tensor takes, or where its elements are",
    ]
    assert said.out.count("at: ") == 3 and said.out.count(Path(__file__).name) == 3
    assert "Traceback" not in said.err


def test_inputs_of_other_dtypes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return x.float() + 1, y.to(torch.complex32)

    path = tmp_path / "program.pt2"
    inputs = (torch.rand(4).to(torch.float8_e5m2), torch.rand(4))
    torch.export.save(torch.export.export(Module(), inputs), path)
    assert main(["--check", str(path)]) == 1
    out = capsys.readouterr().out
    assert "input x: torch.float8_e5m2: this dtype has no element type" in out
    assert "aten.to.dtype: torch.complex32: this dtype has no element type" in out
    assert "operand types: tensor<4xf32>" in out


@pytest.mark.parametrize("kind", ["missing", "empty", "text", "archive", "folder"])
def test_other_files_are_refused_in_one_line(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.pt2"
    if kind == "folder":
        path.mkdir()
    elif kind == "archive":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a/b", "text")
    elif kind != "missing":
        path.write_text("text" if kind == "text" else "")
    assert main(["--check", str(path)]) == 1
    said = capfd.readouterr()
    assert said.out == "" and len(said.err.splitlines()) == 1
    assert "program.pt2" in said.err
