"""Programs with open sizes as files: they hold their versions, and choose among them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import ArgumentError, InputError

PROGRAM = """
func.func @main(%x: tensor<?x?x8xf32> {lamina.name = "x", lamina.dims = [
                    #lamina.size<batch in [0, 40]>, #lamina.size<length in [1, 200]>]},
                %y: tensor<?x8xf32> {lamina.dims = [#lamina.size<2 * batch>], lamina.name = "y"},
                %w: tensor<8x3xf32> {lamina.name = "w", lamina.kind = "parameter"})
    -> (tensor<?x?x3xf32>, tensor<?x8xf32>) {
  %m = aten.matmul.default(%x, %w) : (tensor<?x?x8xf32>, tensor<8x3xf32>) -> tensor<?x?x3xf32>
  %s = aten.softmax.int(%m, 1) : (tensor<?x?x3xf32>) -> tensor<?x?x3xf32>
  %e = aten.exp.default(%y) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %s, %e : tensor<?x?x3xf32>, tensor<?x8xf32>
}
"""

WEIGHTS = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)

SIZES = [(4, 6), (3, 7), (40, 64), (0, 1)]


def arguments(batch: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(batch + length)
    x, y = rng.standard_normal((batch, length, 8)), rng.standard_normal((2 * batch, 8))
    return x.astype(np.float32), y.astype(np.float32)


def expected(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    raised = np.exp(x @ WEIGHTS)
    return raised / raised.sum(1, keepdims=True), np.exp(y)


def check(compiled: lamina.Compiled, batch: int, length: int) -> None:
    x, y = arguments(batch, length)
    for found, wanted in zip(compiled(x, y), expected(x, y), strict=True):
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.fixture
def compiled() -> lamina.Compiled:
    return lamina.compile(PROGRAM, constants={"w": WEIGHTS})


def test_versions_that_calls_have_made(compiled: lamina.Compiled, tmp_path: Path) -> None:
    for sizes in SIZES:
        check(compiled, *sizes)
    compiled.save(tmp_path / "program")
    loaded = lamina.load(tmp_path / "program")
    before = lamina.compile_count()
    for sizes in (*SIZES, (17, 33), *SIZES):
        check(loaded, *sizes)
    assert lamina.compile_count() == before
    assert [version.of for version in loaded.sizes] == [version.of for version in compiled.sizes]
    assert sum(version.calls for version in loaded.sizes) == 2 * len(SIZES) + 1
    assert repr(loaded) == repr(compiled)
    assert loaded.inputs[0].shape == (-1, -1, 8)
    loaded.save(tmp_path / "again")
    check(lamina.load(tmp_path / "again"), 3, 7)


def test_versions_for_sizes_that_are_named(compiled: lamina.Compiled, tmp_path: Path) -> None:
    wanted = [{"batch": 4, "length": 6}, {"length": 7, "batch": 3}]
    compiled.save(tmp_path / "program", sizes=wanted)
    loaded = lamina.load(tmp_path / "program")
    assert [version.is_exact for version in loaded.sizes] == [True, False]
    for sizes in ((4, 6), (3, 7), (40, 64)):
        check(loaded, *sizes)
    assert loaded.version(batch=4, length=6).inputs[1].shape == (8, 8)


def test_prepared_weights_are_in_the_file_once(tmp_path: Path) -> None:
    wide = PROGRAM.replace("8x3xf32", "8x4096xf32").replace("?x3xf32", "?x4096xf32")
    made = lamina.compile(wide, constants={"w": np.ones((8, 4096), np.float32)})
    made.save(tmp_path / "one", sizes=[{"batch": 4, "length": 6}])
    made.save(tmp_path / "two", sizes=[{"batch": 3, "length": 6}])
    one, two = ((tmp_path / name).stat().st_size for name in ("one", "two"))
    assert len(made.sizes) == 2 and two - one < 8 * 4096 * 4


def test_no_version_for_the_sizes_of_a_call(compiled: lamina.Compiled, tmp_path: Path) -> None:
    compiled.save(tmp_path / "program", sizes=[{"batch": 4, "length": 6}])
    loaded = lamina.load(tmp_path / "program")
    check(loaded, 4, 6)
    with pytest.raises(
        ArgumentError,
        match=r"dimension 0 of argument 'x' makes 'batch' 5: .*program' has no version for batch = "
        r"5, length = 6, but those for batch = 4, length = 6; save the program with sizes=\[...\] "
        "that are called",
    ):
        loaded(*arguments(5, 6))
    with pytest.raises(ArgumentError, match="dimension 1 of argument 'x' makes 'length' 9: "):
        loaded(*arguments(4, 9))
    with pytest.raises(ArgumentError, match=r"is 41: 'batch' is in \[0, 40\]"):
        loaded(*arguments(41, 6))
    with pytest.raises(InputError, match="has no version for batch = 5, length = 6"):
        loaded.version(batch=5, length=6)
    with pytest.raises(InputError, match="there is no IR"):
        loaded.ir("loop")


def test_what_cannot_be_saved(compiled: lamina.Compiled, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no version is compiled; call .*'batch': ..., 'length'"):
        compiled.save(tmp_path / "program")
    with pytest.raises(InputError, match="has a size 'bach'; nearest: batch"):
        compiled.save(tmp_path / "program", sizes=[{"bach": 4, "length": 6}])
    with pytest.raises(InputError, match=r"'batch' is in \[0, 40\], and cannot be 41"):
        compiled.save(tmp_path / "program", sizes=[{"batch": 41, "length": 6}])
    with pytest.raises(InputError, match="its arguments are padded in this process"):
        check(compiled, 4, 6)
        check(compiled, 3, 6)
        compiled.sizes[1].compiled.save(tmp_path / "program")
    known = lamina.compile("func.func @main(%x: tensor<2xf32>) { func.return }")
    with pytest.raises(InputError, match="has a size 'batch'; all its sizes are known"):
        known.save(tmp_path / "program", sizes=[{"batch": 4}])


SCRIPT = """
import sys
import numpy as np
import lamina
program = lamina.load(sys.argv[1])
for length in (6, 9, 64):
    x = np.ones((3, length, 8), np.float32)
    found = program(x, np.zeros((6, 8), np.float32))[0]
    np.testing.assert_allclose(found, np.full((3, length, 3), 1 / length), rtol=1e-5)
assert lamina.compile_count() == 0
assert "torch" not in sys.modules
"""


def test_another_process_compiles_nothing(compiled: lamina.Compiled, tmp_path: Path) -> None:
    compiled.save(tmp_path / "program", sizes=[{"batch": 4, "length": n} for n in (6, 64)])
    subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path / "program")], check=True)


def test_hints_are_compiled_first() -> None:
    hints = "{lamina.hints = {batch = 4 : i64, length = 6 : i64}} {"
    text = PROGRAM.replace("tensor<?x8xf32>) {", f"tensor<?x8xf32>) attributes {hints}", 1)
    made = lamina.compile(text, constants={"w": WEIGHTS})
    assert [version.of for version in made.sizes] == ["batch = 4, length = 6"]
    check(made, 4, 6)
    assert len(made.sizes) == 1
    padded = lamina.compile(text, constants={"w": WEIGHTS}, versions="padded")
    assert [version.of for version in padded.sizes] == ["batch <= 40, length <= 200"]
    for wrong, message in (
        ("length", "no argument has the size 'lenth'; there: batch, length"),
        ("6 :", r"'length' is in \[1, 200\], and cannot be 0"),
    ):
        broken = text.replace("length = 6", "lenth = 6" if wrong == "length" else "length = 0")
        with pytest.raises(InputError, match=message):
            lamina.compile(broken, constants={"w": WEIGHTS})
    with pytest.raises(InputError, match="'length' is \"x\", not an integer"):
        lamina.compile(text.replace("6 : i64", '"x"'), constants={"w": WEIGHTS})
