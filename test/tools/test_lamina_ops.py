"""`lamina-ops` and docs/ops.md: what they say is what the compiler does."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import lamina
from lamina.dialects import aten
from lamina.dialects.errors import InputError
from lamina.runtime.layers import parse
from lamina.tools.lamina_ops import blockers, listed, main, why
from lamina.tools.op_examples import EXAMPLES
from lamina.tools.ops_page import page

ROOT = Path(__file__).resolve().parents[2]

TWO_BLOCKERS = """func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.bernoulli.p(%x, p = 1.5) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = aten.relu.default(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = aten.geometric.default(%1, p = 2.0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}
"""


def test_why_names_dtypes_that_stop() -> None:
    lines = why("aten.sort")
    assert any(line.split() == ["f32", "goes", "down", "to", "loop"] for line in lines)
    assert any("complex<f32>" in line and "stops at" in line for line in lines)


def test_unknown_op_names_near_ones() -> None:
    with pytest.raises(InputError, match=r"nearest: .*add"):
        why("aten.addd.Tensor")


def test_listing_by_layer_and_tag() -> None:
    assert "aten.relu.default" in set(listed("aten", "relu*", "core", None))
    assert not set(listed("aten", "silu*", "core", None))
    assert "prims.erf" in set(listed("prims", "erf*", None, None))


def test_check_finds_all_blockers_with_their_lines() -> None:
    found = blockers(parse(TWO_BLOCKERS, name="program.mlir"))
    assert len(found) == 2
    assert "bernoulli" in found[0] and "program.mlir:2" in found[0]
    assert "geometric" in found[1] and "program.mlir:4" in found[1]


def test_check_agrees_with_compiling(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = TWO_BLOCKERS.replace("p = 1.5", "p = 0.5").replace("p = 2.0", "p = 1.0")
    for name, text, code in (("good.mlir", good, 0), ("bad.mlir", TWO_BLOCKERS, 1)):
        path = tmp_path / name
        path.write_text(text)
        assert main(["--check", str(path)]) == code, capsys.readouterr()
    lamina.compile(good, cache=False)


def test_check_goes_on_after_ops_that_cannot_be_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch")

    @torch.library.custom_op(
        "lamina_test::twice",
        mutates_args=(),
        device_types="cuda",
        schema="(Tensor x) -> Tensor",
    )
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    twice.register_fake(torch.empty_like)

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            y = twice(x)
            return twice(y.abs()), torch.logcumsumexp(torch.complex(x, x), 0), torch.relu(y)

    path = tmp_path / "program.pt2"
    torch.export.save(torch.export.export(Module(), (torch.rand(2, 2),)), path)
    assert main(["--check", str(path)]) == 1
    out = capsys.readouterr().out
    assert out.count("lamina_test.twice.default: a custom op") == 2
    assert "aten.logcumsumexp.default" in out
    assert "relu" not in out and "abs" not in out


def test_page_is_current() -> None:
    assert (ROOT / "docs" / "ops.md").read_text() == page(), (
        "run python -m lamina.tools.ops_page docs/ops.md"
    )


def test_check_of_a_file_that_is_no_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "README.md"
    path.write_text("# A title\n")
    assert main(["--check", str(path)]) == 1
    assert "README.md:1:1: error: expected a name after '#': this is no" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    [
        "combinations",
        "cross_entropy_loss",
        "arange.start_out",
        "_embedding_bag",
        "grid_sampler",
        "istft",
        "kl_div",
        "lstm.input",
        "nll_loss",
        "native_batch_norm",
        "reflection_pad2d",
        "repeat_interleave.self_Tensor",
        "upsample_bilinear2d.vec",
    ],
)
def test_examples_are_valid_calls(name: str) -> None:
    assert any(line.split()[:2] == ["f32", "goes"] for line in why(name))


def test_every_row_of_examples_fits_an_op() -> None:
    names = list(aten.Aten.names)
    for pattern, arguments in EXAMPLES:
        fitting = [name for name in names if fnmatchcase(name, pattern)]
        known = {arg.name for name in fitting for arg in aten.Aten.schema(name).args}
        assert fitting and known & set(arguments), pattern


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("higher_order.while_loop", "dialect 'control'"),
        ("higher_order.with_effects", "use instead"),
        ("prims.sum.default", "take its place"),
        ("quantized_decomposed.quantize_per_tensor.default", "take its place"),
        ("torch_nn._linear_cross_entropy_batch_chunked.default", "take its place"),
    ],
)
def test_names_that_are_no_ops_of_ours(name: str, text: str) -> None:
    (line,) = why(name)
    assert line.startswith(f"{name}: ") and text in line


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--tag", "nosuch"], "no tag 'nosuch'; tags: core, "),
        (["zzz*"], "no op of aten fits"),
        (["aten.sofmax"], "no op of aten fits; nearest: softmax"),
        (["sni"], "no op of aten fits; nearest: sin.default"),
        (["sofmax"], "no op of aten fits; nearest: softmax"),
        (["--why", ""], "aten has no op ''"),
        (["--check", "a.mlir", "--why", "add"], "not allowed with argument"),
        (["add.*", "--why", "add"], "list no ops"),
    ],
)
def test_arguments_without_effect_are_errors(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert text in said.err and said.out == ""


def test_a_name_without_overload_lists_its_overloads() -> None:
    assert list(listed("core_aten", "gelu", None, None)) == ["core_aten.gelu.default"]
    assert "aten.add.Tensor" in list(listed("aten", "add", None, None))


def test_names_are_listed_as_they_are_printed() -> None:
    assert list(listed("aten", "aten.add*", None, None)) == list(listed("aten", "add*", None, None))
