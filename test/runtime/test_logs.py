"""`LAMINA_LOG` and `LAMINA_CRASH_REPRODUCER`, mostly in processes of their own."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lamina
from lamina.dialects.logs import TOPICS
from lamina.tools.lamina_opt import main as lamina_opt

PROGRAM = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = aten.relu.default(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
"""


def run(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LAMINA_CACHE_DIR": str(folder / "cache"), **environment},
    )


def compiling(text: str) -> str:
    return f"import lamina; lamina.compile({text!r})"


def test_topics_are_shown(tmp_path: Path) -> None:
    first = run(compiling(PROGRAM), tmp_path, LAMINA_LOG="passes, cache,compile").stderr
    assert "lamina.passes: convert-prims-to-loop: " in first and " ms, " in first
    assert "lamina.cache: " in first and ": not in " in first and ": kept, " in first
    assert "lamina.compile: " in first and ": 1 kernels, " in first
    second = run(compiling(PROGRAM), tmp_path, LAMINA_LOG="all").stderr
    assert ": found, " in second and "lamina.passes" not in second


def test_silence_is_the_default(tmp_path: Path) -> None:
    assert run(compiling(PROGRAM), tmp_path).stderr == ""


def test_an_unknown_topic_is_told_once(tmp_path: Path) -> None:
    said = run(compiling(PROGRAM), tmp_path, LAMINA_LOG="passe").stderr
    assert said == "lamina: LAMINA_LOG: there is no topic 'passe'; nearest: passes\n"


def test_loggers_are_those_of_python(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="lamina"):
        lamina.compile(PROGRAM, cache=False)
    assert {record.name for record in caplog.records} == {"lamina.passes", "lamina.compile"}
    assert {record.name.partition(".")[2] for record in caplog.records} <= set(TOPICS)


FAILING = f"""
import lamina
from xdsl.passes import ModulePass

class Failing(ModulePass):
    name = "verify-loop"
    def apply(self, ctx, op):
        raise lamina.InputError("this one fails")

pipeline = lamina.Pipeline().before("convert-prims-to-loop", Failing())
lamina.compile({PROGRAM!r}, pipeline=pipeline, cache=False)
"""


def test_reproducers_of_compile(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A pass that fails, and the program in front of it from what was written."""
    file = tmp_path / "crash.mlir"
    done = run(FAILING, tmp_path, LAMINA_CRASH_REPRODUCER=str(file))
    assert done.returncode == 1 and f"lamina-opt {file} --run-reproducer" in done.stderr
    text = file.read_text()
    assert text.startswith("// configuration: --passes='verify-loop,convert-prims-to-loop")
    assert "// this one fails" in text and "prims.maximum" in text
    assert lamina_opt([str(file), "--run-reproducer"]) == 1  # prims are no loops, as it says
    assert "is not an op of the loop layer" in capfd.readouterr().err


def test_a_reproducer_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "none" / "crash.mlir"
    done = run(FAILING, tmp_path, LAMINA_CRASH_REPRODUCER=str(file))
    assert "this one fails" in done.stderr
    assert f"the reproducer '{file}' cannot be written: No such file" in done.stderr
