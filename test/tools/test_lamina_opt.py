"""`lamina-opt` as a user meets it: exit codes, one-screen messages, start-up time."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from lamina.tools.lamina_opt import main

PROGRAM = """func.func @main(%a: f32, %b: f32) -> f32 {
  %c = arith.addf %a, %b : f32
  func.return %c : f32
}
"""


class Opt:
    """Runs the tool in this process, on a text given as standard input."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys = capsys
        self.monkeypatch = monkeypatch

    def __call__(self, *arguments: str, text: str | bytes = PROGRAM) -> tuple[int, str, str]:
        data = text.encode() if isinstance(text, str) else text
        stream = io.TextIOWrapper(io.BytesIO(data))
        self.monkeypatch.setattr(sys, "stdin", stream)
        code = main(arguments)
        output, errors = self.capsys.readouterr()
        return code, output, errors

    def fails(self, *arguments: str, text: str | bytes = PROGRAM) -> str:
        """The message of a run that must fail: exit code 1, one screen, no traceback, no output."""
        code, output, errors = self(*arguments, text=text)
        assert code == 1, output
        assert output == ""
        assert errors.strip()
        assert "Traceback" not in errors and "internal error" not in errors
        assert len(errors.splitlines()) <= 30
        return errors


@pytest.fixture
def opt(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Opt:
    return Opt(capsys, monkeypatch)


def test_prints_what_it_read(opt: Opt) -> None:
    code, output, errors = opt()
    assert (code, errors) == (0, "")
    assert "%c = arith.addf %a, %b : f32" in output
    assert opt(text=output) == (0, output, "")


def test_version_names_both(opt: Opt) -> None:
    code, output, _ = opt("--version")
    assert code == 0
    assert output.startswith("lamina-opt ") and "xdsl 0." in output


def test_every_op_has_a_location(opt: Opt) -> None:
    _, output, _ = opt("--print-debuginfo")
    assert '%c = arith.addf %a, %b : f32 loc("stdin":2:3)' in output


def test_written_locations_are_kept(opt: Opt) -> None:
    text = PROGRAM.replace("%b : f32\n", '%b : f32 loc("model.py":7:1)\n')
    assert 'loc("model.py":7:1)' in opt("--print-debuginfo", text=text)[1]


def test_locations_after_a_split_count_lines_of_the_file(opt: Opt) -> None:
    text = f"{PROGRAM}// -----\n{PROGRAM}"
    _, output, _ = opt("--split-input-file", "--print-debuginfo", text=text)
    assert 'arith.addf %a, %b : f32 loc("stdin":2:3)' in output
    assert 'arith.addf %a, %b : f32 loc("stdin":7:3)' in output


@pytest.mark.parametrize(
    ("old", "new", "place", "reason"),
    [
        ("arith.addf", "arith.addd", "stdin:2:8:", "nearest: arith.addi, arith.addf"),
        ("arith.addf", "ariht.addf", "stdin:2:8:", "nearest: arith.addf"),
        ("%a, %b : f32", "%a, %x : f32", "stdin:2:23:", "not defined"),
        ("f32, %b", "f32 %b", "stdin:1:25:", "')' expected"),
        ("%a: f32", "%a: tensor<axf32>", "stdin:1:28:", "shape"),
        ("%c : f32", "%c : f64", "stdin:3:15:", "f64"),
        ("-> f32", "-> f64", "stdin:3:3:", "func.return does not verify"),
        ("func.return %c : f32\n", "", "stdin:2:3:", "not a terminator"),
    ],
)
def test_malformed_text_names_the_place(
    opt: Opt, old: str, new: str, place: str, reason: str
) -> None:
    message = opt.fails(text=PROGRAM.replace(old, new, 1))
    assert message.startswith(place)
    assert reason in message


def test_value_before_its_definition_is_refused(opt: Opt) -> None:
    text = PROGRAM.replace("%c = arith.addf %a, %b : f32", "%d = arith.addf %c, %c : f32")
    text = text.replace("  func.return", "  %c = arith.addf %a, %b : f32\n  func.return")
    assert "stdin:2:3" in opt.fails(text=text)


def test_caret_points_at_the_place(opt: Opt) -> None:
    _, source, caret = opt.fails(text=PROGRAM.replace("addf", "addd")).splitlines()[:3]
    assert source[caret.index("^") : caret.rindex("^") + 1] == "arith.addd"


def test_message_on_a_very_long_line_stays_short(opt: Opt) -> None:
    text = f"// {'x' * 100_000}\n" + PROGRAM.replace("%a: f32", f"%a: f32{' ' * 200_000}oops")
    assert max(len(line) for line in opt.fails(text=text).splitlines()) < 200


@pytest.mark.parametrize("depth", [2_000])
def test_deep_nesting_is_refused(opt: Opt, depth: int) -> None:
    text = "builtin.module {" * depth + "}" * depth
    assert "nested too deeply" in opt.fails(text=text)


@pytest.mark.parametrize(
    "text",
    [b"", b"\n\n", b"abc\xff", b"\x7fELF\x00\x01", bytes(range(256)), b"}", b"%", b'"', b"loc"],
)
def test_garbage_is_refused(opt: Opt, text: bytes) -> None:
    assert opt.fails(text=text).startswith("stdin:")


def test_unknown_pass_names_the_nearest(opt: Opt) -> None:
    assert "nearest: fuse-elementwise" in opt.fails("-p", "cse,fuse-elementwis")


@pytest.mark.parametrize("options", ["{print-decisions=abc}", "{limit=3}", "{print-decisions=}"])
def test_bad_option_names_the_pass(opt: Opt, options: str) -> None:
    assert "fuse-elementwise" in opt.fails("-p", "fuse-elementwise" + options)


@pytest.mark.parametrize("spec", ["{", "cse cse", "fuse-elementwise{", ",", "cse,,cse"])
def test_malformed_pipeline_is_refused(opt: Opt, spec: str) -> None:
    assert "pass" in opt.fails("-p", spec)


@pytest.mark.parametrize(
    "arguments", [("-t", "nothing"), ("--bogus",), ("-f", "nothing"), ("--list-ops", "nothing")]
)
def test_unknown_argument_value_is_refused(opt: Opt, arguments: tuple[str, ...]) -> None:
    assert "nothing" in opt.fails(*arguments) or arguments == ("--bogus",)


def test_unreadable_files_are_refused(opt: Opt, tmp_path: Path) -> None:
    assert "nowhere.mlir" in opt.fails(str(tmp_path / "nowhere.mlir"))
    assert str(tmp_path) in opt.fails(str(tmp_path))


def test_output_file_appears_only_with_a_result(opt: Opt, tmp_path: Path) -> None:
    target = tmp_path / "out.mlir"
    opt.fails("-o", str(target), text="oops")
    assert not target.exists()
    assert opt("-o", str(target))[0] == 0
    assert "arith.addf" in target.read_text()
    assert "no such folder" in opt.fails("-o", str(tmp_path / "a" / "b.mlir"))


def test_object_needs_an_output_file(opt: Opt) -> None:
    assert "-o FILE.o" in opt.fails("-t", "object")


@pytest.mark.parametrize("options", ["{cpu}", "{cpu=aarch64,x86-64-v3}"])
@pytest.mark.parametrize("layer", [(), ("--to", "scheduled")])
def test_targets_take_one_cpu(opt: Opt, options: str, layer: tuple[str, ...]) -> None:
    message = opt.fails("-t", "asm" + options, *layer)
    assert "target 'asm': Incompatible types" in message
    assert "options: {cpu: str = host}" in message


@pytest.mark.parametrize(("start", "stop"), [("prims", "aten"), ("scheduled", "fused")])
def test_layers_are_only_reached_from_above(opt: Opt, start: str, stop: str) -> None:
    message = opt.fails("--from", start, "--to", stop)
    assert message.startswith(f"layer '{stop}' stands above '{start}'")


@pytest.mark.parametrize(
    "said", ["aten", "functional", "prims", "loop", "fused", "bufferized", "scheduled"]
)
@pytest.mark.parametrize("layer", ["aten", "prims", "loop", "fused", "bufferized", "scheduled"])
def test_programs_stand_where_from_says(opt: Opt, layer: str, said: str) -> None:
    text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    text += "  %0 = aten.neg.default(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
    text += "  func.return %0 : tensor<2xf32>\n}"
    text = opt("--to", layer, text=text)[1]
    if layer == said or (layer, said) == ("aten", "functional"):
        assert opt("--from", said, "--to", "scheduled", text=text)[0] == 0
    else:
        message = opt.fails("--from", said, "--to", "scheduled", text=text)
        wanted = f"the program stands at layer {layer}, not at {said} (--from {layer})"
        assert message == f"lamina-opt: error: {wanted}\n"


@pytest.mark.parametrize(
    "layer", ["aten", "core_aten", "prims", "loop", "fused", "bufferized", "scheduled"]
)
def test_programs_begin_at_the_layer_of_their_ops(opt: Opt, layer: str) -> None:
    text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    text += "  %0 = aten.neg.default(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
    text += "  func.return %0 : tensor<2xf32>\n}"
    wanted = opt("--to", "scheduled", text=text)[1]
    text = opt("--to", layer, text=text)[1]
    assert opt("--to", "scheduled", text=text)[:2] == (0, wanted)


def test_each_piece_of_a_file_begins_at_its_own_layer(opt: Opt) -> None:
    head = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    tail = "  func.return %0 : tensor<2xf32>\n}\n"
    lines = (
        "  %0 = aten.neg.default(%x) : (tensor<2xf32>) -> tensor<2xf32>\n",
        "  %0 = stablehlo.negate %x : tensor<2xf32>\n",
        "  %0 = prims.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>\n",
    )
    text = "// -----\n".join(head + line + tail for line in lines)
    code, made, _ = opt("--to", "prims", "--split-input-file", "-p", "cse", text=text)
    first, second, third = made.split("// -----\n")
    assert code == 0
    assert "prims.neg" in first
    assert first.strip() == second.strip() == third.strip()


def test_a_program_does_not_go_up(opt: Opt) -> None:
    text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    text += "  %0 = stablehlo.negate %x : tensor<2xf32>\n  func.return %0 : tensor<2xf32>\n}"
    message = opt.fails("--to", "core_aten", text=text)
    wanted = (
        "layer 'core_aten' stands above 'stablehlo', which joins 'prims': programs only go down"
    )
    assert message == f"{wanted}\n"


def test_several_lists_of_passes_are_one(opt: Opt) -> None:
    assert "'no-such'" in opt.fails("-p", "no-such", "-p", "cse")
    assert "'no-such'" in opt.fails("-p", "cse", "-p", "no-such")


def test_lists_passes_with_options(opt: Opt) -> None:
    code, output, _ = opt("--list-passes")
    assert code == 0
    options = "target: str = host, print-decisions: bool = false"
    assert f"  fuse-elementwise{{{options}}}" in output.splitlines()
    assert "  cse" in output.splitlines()


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        ("aten", "aten.add_.Tensor"),
        ("core_aten", "core_aten.add.Tensor"),
        ("prims", "prims.add"),
        ("loop", "loop.generic"),
    ],
)
def test_lists_ops_of_a_layer(opt: Opt, layer: str, name: str) -> None:
    code, output, _ = opt("--list-ops", layer)
    assert code == 0
    assert name in output.splitlines()
    assert all(line.startswith(f"{layer}.") for line in output.splitlines())


def test_starts_without_what_it_does_not_need() -> None:
    """What a start imports is bounded: with this, 0.4 s on a Zen 4, half of it xDSL's own."""
    command = (
        "import sys; from lamina.tools.lamina_opt import main; main(['--version'])\n"
        "print(*sorted(sys.modules))"
    )
    output = subprocess.run(
        [sys.executable, "-c", command], check=True, capture_output=True, text=True
    ).stdout
    loaded = output.splitlines()[-1].split()
    packages = {name.split(".")[0] for name in loaded}
    assert not packages & {"torch", "numpy", "llvmlite", "sympy", "networkx"}
    assert len(loaded) < 450
    assert sum(name.startswith("lamina.") for name in loaded) < 175


def test_sizes_of_texts_are_bound(opt: Opt, tmp_path: Path) -> None:
    file = tmp_path / "open.mlir"
    file.write_text(
        "func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) {\n  func.return\n}\n"
    )
    assert "@main(%x: tensor<4xf32>)" in opt(str(file), "--sizes", "n=4")[1]
    assert "no argument of the program has a size 'm'" in opt.fails(str(file), "--sizes", "m=4")


@pytest.mark.parametrize("target", ["llvm", "x86-asm", "mps"])
def test_targets_of_xdsl_that_fail_are_said_to_be_its_own(opt: Opt, target: str) -> None:
    message = opt.fails("-t", target)
    assert f"xDSL's target '{target}' failed" in message
    assert "Lamina's own targets are llvmir, asm, object" in message
