"""A cache that cannot be used costs a warning, and never a program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_in(2)

SCRIPT = """
import sys, warnings
import numpy as np
import lamina
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for rows in (3, 4):
        text = f'''func.func @main(%x: tensor<{rows}x7xf32>) -> tensor<{rows}x7xf32> {{
  %0 = aten.tanh.default(%x) : (tensor<{rows}x7xf32>) -> tensor<{rows}x7xf32>
  func.return %0 : tensor<{rows}x7xf32>
}}'''
        x = np.full((rows, 7), 2, np.float32)
        assert np.allclose(lamina.compile(text)(x), np.tanh(x))
        assert np.allclose(lamina.compile(text)(x), np.tanh(x))
print(*(str(w.message) for w in said), sep="\\n")
"""

LIMITED = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"


def said_with(changes: dict[str, str | None], folder: Path, before: str = "") -> list[str]:
    """The warnings of a process that compiles two programs, each twice."""
    names = ("LAMINA_CACHE_DIR", "LAMINA_CACHE_BYTES", "XDG_CACHE_HOME", "HOME")
    variables = {k: v for k, v in os.environ.items() if k not in names}
    variables |= {name: value for name, value in changes.items() if value is not None}
    done = subprocess.run(
        [sys.executable, "-B", "-c", before + SCRIPT],
        env=variables,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"HOME": "FOLDER/file/home"}, "cannot make the cache folder"),
        ({"HOME": ""}, "HOME is empty or relative"),
        ({"HOME": "relative"}, "HOME is empty or relative"),
        ({"HOME": "FOLDER", "XDG_CACHE_HOME": "relative"}, None),
        ({"LAMINA_CACHE_DIR": "FOLDER/file"}, "cannot make the cache folder"),
        ({"LAMINA_CACHE_DIR": "FOLDER/file/below"}, "cannot make the cache folder"),
        ({"LAMINA_CACHE_DIR": "/proc/lamina"}, "cannot make the cache folder"),
        ({"LAMINA_CACHE_DIR": "/proc/self"}, "cannot be written to"),
        ({"HOME": "FOLDER", "LAMINA_CACHE_BYTES": "1GB"}, "is no number of bytes"),
        ({"HOME": "FOLDER", "LAMINA_CACHE_BYTES": "-1"}, "is no number of bytes"),
        ({"HOME": "FOLDER", "LAMINA_CACHE_BYTES": "0"}, None),
        ({"HOME": "FOLDER", "LAMINA_CACHE_BYTES": ""}, None),
    ],
)
def test_programs_are_compiled_all_the_same(
    changes: dict[str, str], message: str | None, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    given = {name: value.replace("FOLDER", str(tmp_path)) for name, value in changes.items()}
    said = said_with(given, tmp_path)
    if message is None:
        assert said == []
    else:
        assert len(said) == 1 and message in said[0], said
    assert not (tmp_path / "relative").exists()


def test_without_a_home_at_all(tmp_path: Path) -> None:
    assert len(said_with({}, tmp_path)) <= 1  # the user may be known to the system


def test_a_full_disk(tmp_path: Path) -> None:
    said = said_with({"LAMINA_CACHE_DIR": str(tmp_path / "cache")}, tmp_path, LIMITED)
    assert len(said) == 1 and "cannot be written to: File too large" in said[0]
    assert not list(tmp_path.rglob("*.partial")) and not list(tmp_path.rglob("*.lamina"))


def test_a_folder_that_is_emptied_all_the_time(tmp_path: Path) -> None:
    before = f"""
import shutil, threading
def remove():
    while True:
        shutil.rmtree({str(tmp_path / "cache")!r}, ignore_errors=True)
threading.Thread(target=remove, daemon=True).start()
"""
    said = said_with({"LAMINA_CACHE_DIR": str(tmp_path / "cache")}, tmp_path, before)
    assert all("cannot" in text for text in said)
