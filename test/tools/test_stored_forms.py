"""Programs in forms that are kept in files, not read: messages say what prints them as text."""

from pathlib import Path

import pytest

import lamina
from lamina.tools.lamina_opt import main as lamina_opt

ARTIFACT = b"ML\xefR\x0dStableHLO_v1.9.0\x00\x07\x05\x01\x00"


@pytest.mark.parametrize("name", ["program.mlirbc", "program.mlir"])
def test_bytecode(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / name
    file.write_bytes(ARTIFACT)
    with pytest.raises(lamina.InputError, match=r"StableHLO_v1.9.0.*stablehlo-translate"):
        lamina.compile(file)
    assert lamina_opt([str(file)]) == 1
    assert "stablehlo-translate --deserialize FILE" in capsys.readouterr().err


def test_vhlo() -> None:
    text = "vhlo.func_v1 @main(%arg0: !vhlo.tensor_v1<2x!vhlo.f32_v1>) -> () {}"
    with pytest.raises(lamina.InputError, match=r"<text>:1:1.*--vhlo-legalize-to-stablehlo"):
        lamina.compile(text)


def test_sizes_are_those_that_a_text_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from lamina.tools.lamina_reduce import main as lamina_reduce

    file = tmp_path / "program.mlir"
    file.write_text("func.func @main() { func.return }")
    assert lamina_reduce([str(file), "--test", "true", "--sizes", "batch=4"]) == 1
    assert "no argument of the program has a size 'batch'" in capsys.readouterr().err
