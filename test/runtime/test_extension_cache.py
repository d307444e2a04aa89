"""No program gets code that was made with other extensions."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
import numpy as np
import lamina

PLAIN = '''func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = aten.gelu.default(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}'''
OWN = PLAIN.replace("aten.gelu.default", "m.same.default")
version, number, overrides = sys.argv[1] or None, int(sys.argv[2]), sys.argv[3] == "overrides"

mine = lamina.extend("m", version=version)
mine.ops("m::same(Tensor self) -> Tensor")

@mine.lowers("m.same", to="prims")
def lower(op, b):
    return b.with_number("add", op.operands[0], NUMBER)

if overrides:
    mine.lowers("core_aten.gelu", override=True)(lower)
x = np.ones(8, np.float32)
with mine:
    own = float(lamina.compile(OWN)(x)[0])
    plain = float(lamina.compile(PLAIN)(x)[0])
print(own, round(plain, 3))
"""


PASSES = """
import sys
from dataclasses import dataclass
import numpy as np
import lamina
from own_passes import Negate

mine = lamina.extend("m", version=sys.argv[1] or None, passes=[Negate])
text = '''func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = prims.neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}'''
option = int(sys.argv[2])
given = Negate(option) if sys.argv[3] == "overrides" else f"negate{{times={option}}}"
with mine:
    own = lamina.Pipeline().before("convert-prims-to-loop", given)
    print(float(lamina.compile(text, pipeline=own)(np.ones(8, np.float32))[0]))
"""
OWN_PASS = """
from dataclasses import dataclass
from xdsl.passes import ModulePass

@dataclass(frozen=True)
class Negate(ModulePass):
    name = "negate"
    times: int = 1

    def apply(self, ctx, op):
        for inner in list(op.walk()):
            if inner.name == "prims.neg" and self.times % 2 == PARITY:
                inner.results[0].replace_all_uses_with(inner.operands[0])
"""


def test_passes_of_an_extension_with_a_version_are_told_apart(tmp_path: Path) -> None:
    def passed(version: str, times: int, as_object: str = "", parity: int = 1) -> tuple[str, int]:
        file = tmp_path / "own_passes.py"
        file.write_text(OWN_PASS.replace("PARITY", str(parity)))
        os.utime(file, (parity, parity))  # Python knows a changed file by seconds and size
        return run(tmp_path, version, times, as_object, PASSES)

    assert passed("", 1) == ("1.0", 1)  # native calls only: nothing tells the pass from others
    assert passed("1", 1) == ("1.0", 2)
    assert passed("1", 1, "overrides") == ("1.0", 2)  # the same as an object
    assert passed("1", 2) == ("-1.0", 3)  # another option
    assert passed("2", 1) == ("1.0", 4)
    assert passed("1", 1, parity=0) == ("-1.0", 5)  # another file


def run(
    tmp_path: Path, version: str, number: int, overrides: str = "", program: str = PROGRAM
) -> tuple[str, int]:
    """What the program prints, and how many files the cache has then."""
    file = tmp_path / "program.py"
    file.write_text(program.replace("NUMBER", str(number)))
    cache = tmp_path / "cache"
    done = subprocess.run(
        [sys.executable, str(file), version, str(number), overrides],
        env={**os.environ, "LAMINA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip(), len(list(cache.rglob("*.lamina")))


def test_without_a_version_only_programs_it_does_not_touch_are_kept(tmp_path: Path) -> None:
    assert run(tmp_path, "", 1) == ("2.0 0.841", 2)  # native calls, and the plain program
    assert run(tmp_path, "", 2) == ("3.0 0.841", 2)


def test_without_a_version_a_replaced_lowering_keeps_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, "", 1, "overrides") == ("2.0 2.0", 1)
    assert run(tmp_path, "", 1) == ("2.0 0.841", 2)
    assert run(tmp_path, "", 2, "overrides") == ("3.0 3.0", 2)


def test_with_a_version_code_is_kept_by_version_and_file(tmp_path: Path) -> None:
    assert run(tmp_path, "1", 1, "overrides") == ("2.0 2.0", 3)
    assert run(tmp_path, "1", 1, "overrides") == ("2.0 2.0", 3)
    assert run(tmp_path, "2", 1, "overrides") == ("2.0 2.0", 5)
    assert run(tmp_path, "2", 2, "overrides") == ("3.0 3.0", 7)  # another file
    assert run(tmp_path, "2", 2) == ("3.0 0.841", 9)
