"""The launchers of RUN lines: each ends as its tool does, with what the tool said."""

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[1] / "fork_server.py"


@pytest.fixture(scope="module")
def launchers() -> Path:
    spec = importlib.util.spec_from_file_location("fork_server", SERVER)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.start(os.environ)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--no-such-option"], ""),
        ([], "func.func @main() {\n  func.return\n}\n"),
        ([], "func.func @main("),
    ],
)
def test_launchers_end_as_their_tools(launchers: Path, arguments: list[str], text: str) -> None:
    def end(folder: Path) -> tuple[int, str, str]:
        command = [folder / "lamina-opt", *arguments]
        process = subprocess.run(command, input=text, capture_output=True, text=True)
        return process.returncode, process.stdout, process.stderr

    assert end(launchers) == end(Path(sys.executable).parent)


def test_folder_and_environment_are_those_of_the_caller(launchers: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.mlir").write_text("func.func @main() {\n  func.return\n}\n")
    environment = os.environ | {"LAMINA_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run(
        [launchers / "lamina-run", "empty.mlir"], cwd=tmp_path, env=environment, check=True
    )
    assert (tmp_path / "cache").is_dir()


def test_server_goes_with_the_process_that_started_it(tmp_path: Path) -> None:
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); import fork_server;"
        "print(fork_server.start(os.environ))"
    )
    command = [sys.executable, "-c", code, str(SERVER.parent)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    folder = Path(said.strip())
    deadline = time.monotonic() + 60
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert folder.name.startswith("lamina-tools-")
    assert not folder.exists()
