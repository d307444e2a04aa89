"""An import that Ctrl-C ends is made again: tables that its first half filled take its lines."""

import subprocess
import sys
from functools import partial

import pytest

from lamina.dialects.modifications import is_new

PROGRAM = """
import lamina
text = '''func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.exp.default(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}'''
from lamina.lowering import conversion
kept, count = conversion.register, 0


def interrupted(table, name, entry):
    global count
    kept(table, name, entry)
    count += 1
    if count in (5, 900):
        raise KeyboardInterrupt


conversion.register = interrupted
for _ in range(2):
    try:
        lamina.compile(text, cache=False)
    except KeyboardInterrupt:
        pass
assert count >= 900, count
conversion.register = kept
print(lamina.compile(text, cache=False).kernels)
"""


def test_a_compile_that_is_interrupted_at_its_first_import_can_be_repeated() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "exp" in done.stdout


def _one() -> None: ...


def _other() -> None: ...


@pytest.mark.parametrize(
    ("entry", "wanted"), [(_one, True), (_other, False), (partial(_one, 1), False)]
)
def test_a_name_is_taken_once(entry: object, wanted: bool) -> None:
    assert is_new({"a": _one}, "a", entry) is wanted
    assert is_new({}, "a", entry)
