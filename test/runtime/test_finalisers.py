"""What is freed when objects die says nothing, however far their making came."""

import subprocess
import sys
from typing import Any

import pytest

from lamina.runtime.buffers import AlignedMemory
from lamina.runtime.compiled import Compiled
from lamina.runtime.dispatch.locks import Lock

PROGRAM = """
import sys
import numpy as np
import lamina
text = '''func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = prims.neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}'''
compiled = lamina.compile(text, cache=False)
compiled.itself = compiled
sys.modules["a module that is cleared late"] = compiled
assert compiled(np.ones(4, np.float32))[0] == -1
"""


@pytest.mark.parametrize("kind", [AlignedMemory, Compiled, Lock])
def test_objects_whose_making_failed(kind: Any) -> None:
    object.__new__(kind).__del__()  # raises if it is not robust


def test_programs_that_are_alive_when_the_process_ends() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
