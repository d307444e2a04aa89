"""What `lamina-opt --verify-diagnostics` says where errors are not those that comments expect."""

from pathlib import Path

import pytest

from lamina.tools.lamina_opt import main

WRONG = '  %0 = "arith.addf"(%a) : (f32) -> f32'
RIGHT = "  %0 = arith.addf %a, %a : f32"


def program(*lines: str) -> str:
    return "\n".join(["func.func @f(%a: f32) {", *lines, "  func.return", "}"])


CASES: dict[str, tuple[str, list[str]]] = {
    "not produced": (
        program("  // expected-error@below {{Expected 2 operands}}", RIGHT),
        [':2: error: expected error "Expected 2 operands" in line 3 was not produced'],
    ),
    "another line": (
        program("  // expected-error {{Expected 2 operands}}", WRONG),
        ["unexpected error: ", ":3:", "in line 2 was not produced"],
    ),
    "another text": (
        program("  // expected-error@+1 {{Expected 3 operands}}", WRONG),
        ["unexpected error: ", "Expected 2 operands", '"Expected 3 operands" in line 3'],
    ),
    "nothing expected in this piece": (
        program("  // expected-error@+1 {{Expected 2 operands}}", WRONG)
        + "\n// -----\n"
        + program(WRONG),
        ["unexpected error: ", ":8:"],
    ),
    "a second error": (
        program(
            "  // expected-error@+2 {{Expected 2 operands}}",
            "  // expected-error@above {{never}}",
            WRONG,
        ),
        ['expected error "never" in line 1 was not produced'],
    ),
    "no such place": (
        program("  // expected-error@under {{x}}", RIGHT),
        [":2: error: not a comment that expects an error: @under is none of @+N"],
    ),
    "warnings": (
        program("  // expected-warning {{x}}", RIGHT),
        ["there are errors only, no warnings"],
    ),
    "no text": (
        program("  // expected-error@+1 Expected", RIGHT),
        ["write // expected-error@+1 {{a part of the message}}"],
    ),
    "no regular expression": (
        program("  // expected-error-re@+1 {{a{{(}}b}}", RIGHT),
        ["no regular expression"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_differences_are_told(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text, wanted = CASES[name]
    path = tmp_path / "program.mlir"
    path.write_text(text)
    assert main([str(path), "--split-input-file", "--verify-diagnostics"]) == 1
    said = capfd.readouterr().err
    for part in wanted:
        assert part in said, said


def test_an_error_without_a_place(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(
        "// expected-error@unknown {{stands at layer aten, not at prims}}\n"
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = aten.relu.default(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  func.return %0 : tensor<4xf32>\n}\n"
    )
    assert main([str(path), "--verify-diagnostics", "--from", "prims", "--to", "loop"]) == 0
