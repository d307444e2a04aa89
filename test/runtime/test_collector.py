"""Python's cycle collector while the compiler is imported."""

import subprocess
import sys

IMPORTS = """
import gc, sys
import lamina

found, before = [], len(sys.modules)
gc.callbacks.append(lambda phase, info: found.append(len(sys.modules)))
gc.set_threshold(1, 1, 1)
lamina.compile
gc.set_threshold(700, 10, 10)
after = len(sys.modules)
assert gc.isenabled() and found and after - before > 200
print([n - before for n in found if before + 20 < n < after])
"""


def test_the_collector_does_not_run_while_the_compiler_is_imported() -> None:
    run = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "[]"
