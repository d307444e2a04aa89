"""lit configuration: `lit -v test` from the root of the project, or `make test`."""

import importlib
import os
import sys
from pathlib import Path

import lit.formats

root = Path(__file__).resolve().parent
# The folder of the running Python first, so that RUN lines find the tools of the same environment
# without activating it.
tools = Path(sys.executable).parent

config.name = "lamina"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["build", "data"]
config.test_source_root = str(root)
config.test_exec_root = str(root / "build" / "lit")
for name in ("LAMINA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "OMP_NUM_THREADS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["LAMINA_TARGET_FILE"] = ""  # decisions are those of a host nobody measured
sys.path.insert(0, str(root / "test"))
launchers = importlib.import_module("fork_server").start(config.environment)
paths = (launchers, tools, os.environ.get("PATH", ""))
config.environment["PATH"] = os.pathsep.join(map(str, paths))

# Every dialect has a file with each of its ops, printed in custom and in generic form and read
# back from both, and a file of invalid ops whose messages are checked.
split = "lamina-opt --split-input-file"
config.substitutions += [
    ("%python", sys.executable),
    ("%roundtrip", f"{split} %s | {split} | filecheck %s"),
    ("%generic_roundtrip", f"{split} %s --print-op-generic | {split} | filecheck %s"),
    ("%invalid", f"{split} %s --verify-diagnostics --parsing-diagnostics | filecheck %s"),
]
