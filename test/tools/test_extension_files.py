"""`--load FILE.py`, and extensions that are installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lamina.tools.lamina_ops import main as lamina_ops
from lamina.tools.lamina_opt import main as lamina_opt
from lamina.tools.lamina_run import main as lamina_run

pytestmark = pytest.mark.one_in(2)

CUBES = Path(__file__).with_name("extension_cubes.py")
PROGRAM = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = cubes.cube.default(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""


@pytest.mark.parametrize("tool", [lamina_opt, lamina_run, lamina_ops])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import lamina\nx = 1 / 0\n", ":2: ZeroDivisionError: division by zero"),
        ("def f(:\n", ":1: SyntaxError: invalid syntax"),
        ("import lamina\n", "the file makes no extension"),
        ("import nowhere_at_all\n", ":1: ModuleNotFoundError: No module named"),
        ("import lamina\na = lamina.extend('a')\na.ops('x')\n", "extension 'a' ("),
        (
            "import lamina\na = lamina.extend('a')\n"
            "a.lowers('core_aten.gelu')(lambda op, b: op.operands[0])\n",
            "override=True replaces it",
        ),
    ],
)
def test_a_faulty_file_is_one_line(
    tool: object, text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    program = tmp_path / "program.mlir"
    program.write_text(PROGRAM)
    given = ["--check", str(program)] if tool is lamina_ops else [str(program)]
    assert callable(tool) and tool(["--load", str(file), *given]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line and "mine.py" in line


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert lamina_opt(["--load", "nowhere.py"]) == 1
    assert capsys.readouterr().err == "--load nowhere.py: there is no such file\n"


def test_a_tool_leaves_nothing_active(tmp_path: Path) -> None:
    program = tmp_path / "program.mlir"
    program.write_text(PROGRAM)
    assert lamina_run(["--load", str(CUBES), str(program)]) == 0
    assert lamina_run([str(program)]) == 1


def test_a_pass_that_raises_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    text = CUBES.read_text().replace("        print(len", "        op.nothing\n        print(len")
    file.write_text(text)
    program = tmp_path / "program.mlir"
    program.write_text(PROGRAM)
    assert lamina_opt(["--load", str(file), "-p", "count-cubes", str(program)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "extension 'cubes'" in line and "pass 'count-cubes' raises AttributeError" in line


# Installed


def installed(folder: Path, group: str, value: str, text: str) -> dict[str, str]:
    """An environment with a package of one module, `mine`, which is an entry point."""
    (folder / "mine.py").write_text(text)
    information = folder / "mine-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[{group}]\nmine = {value}\n")
    return {**os.environ, "PYTHONPATH": str(folder)}


def run(environment: dict[str, str], *command: str, text: str = PROGRAM) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, *command],
        env=environment,
        input=text,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


COMPILE = (
    "import lamina, numpy, sys; print(lamina.compile(sys.stdin.read())(numpy.full(2, 3.0, 'f')))"
)


def test_an_installed_extension_is_found_by_all(tmp_path: Path) -> None:
    environment = installed(tmp_path, "lamina.extensions", "mine:cubes", CUBES.read_text())
    assert run(environment, "-c", COMPILE) == (0, "[27. 27.]\n")
    for tool, said in (
        (("lamina_opt", "--to", "loop"), "loop.generic"),
        (("lamina_run", "-", "--check"), "equal to the"),
        (("lamina_ops", "--check", "-"), "nothing stops"),
    ):
        code, printed = run(environment, "-m", f"lamina.tools.{tool[0]}", *tool[1:])
        assert code == 0 and said in printed, printed
    off = {**environment, "LAMINA_EXTENSIONS": ""}
    assert "not registered" in run(off, "-m", "lamina.tools.lamina_opt")[1]
    chosen = {**environment, "LAMINA_EXTENSIONS": "other, mine"}
    assert run(chosen, "-m", "lamina.tools.lamina_opt")[0] == 0


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        (
            "import lamina\nraise ValueError('broken')\n",
            "mine:cubes",
            "mine.py:2: ValueError: broken",
        ),
        ("import sys\nsys.exit(3)\n", "mine:cubes", "mine.py:2: SystemExit: 3"),
        ("cubes = 5\n", "mine:cubes", "is a int, and not what lamina.extend gives"),
        ("cubes = 5\n", "mine:cones", "AttributeError"),
    ],
)
def test_a_faulty_installed_extension_is_one_line(
    text: str, value: str, said: str, tmp_path: Path
) -> None:
    environment = installed(tmp_path, "lamina.extensions", value, text)
    code, printed = run(environment, "-m", "lamina.tools.lamina_run", "-")
    assert code == 1 and said in printed and printed.count("\n") == 1
    assert printed.startswith(f"extension 'mine' (entry point {value})")
    code, printed = run(environment, "-c", COMPILE)
    assert code == 1 and said in printed.splitlines()[-1]


UNIVERSE = """
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect
from xdsl.universe import Universe

@irdl_op_definition
class Cube(IRDLOperation):
    name = "cubes.cube"
    x = operand_def(TensorType)
    result = result_def(TensorType)

ALL = Universe(all_dialects={"cubes": lambda: Dialect("cubes", [Cube])}, all_passes={})
"""


def test_dialects_of_an_xdsl_universe_are_read(tmp_path: Path) -> None:
    environment = installed(tmp_path, "xdsl.universe", "mine:ALL", UNIVERSE)
    text = PROGRAM.replace("cubes.cube.default(%x)", '"cubes.cube"(%x)')
    code, printed = run(environment, "-c", COMPILE, text=text)
    assert code == 1 and "cubes.cube: not allowed at the aten layer" in printed
    assert run(environment, "-m", "lamina.tools.lamina_opt", text=text)[0] == 0
