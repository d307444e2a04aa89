"""Programs in forked children, whose parents have had teams of threads."""

import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from lamina.dialects.forks import PATIENCE, forks_wait, let_fork

pytestmark = pytest.mark.one_in(3)

PARENT = """
import os, signal, sys, threading
FORKS = 20 if os.environ.get("LAMINA_EXHAUSTIVE") else 4
import numpy as np
import torch
import lamina

text = '''func.func @main(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = aten.softmax.int(%x, dim = 1) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  func.return %0 : tensor<512x512xf32>
}'''
torch.set_num_threads(2)
compiled = lamina.compile(text)
x = np.random.default_rng(0).standard_normal((512, 512), np.float32)
wanted = compiled(x)
torch.mm(torch.ones(512, 512), torch.ones(512, 512))

def check():
    for _ in range(3):
        assert (compiled(x) == wanted).all()
    assert (lamina.compile(text, cache=False)(x) == wanted).all()

def call(x):
    return compiled(x)

def forked(work):
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        try:
            work()
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""

WITH_COMPILER = "lamina.compile(text, cache=False)\n"
"""In front of cases that fork again and again: children find the compiler imported."""

CASES = {
    "fork": """
        forked(check)
    """,
    "children_of_children": """
        forked(lambda: (check(), forked(lambda: (check(), forked(check)))))
    """,
    "many_times": """
        for _ in range(5):
            forked(check)
            check()
    """,
    "from_a_thread": """
        def work():
            check()
            forked(check)
        thread = threading.Thread(target=work)
        thread.start(); thread.join()
    """,
    "while_other_threads_are_in_the_program": """
        stop = []
        def work():
            while not stop:
                compiled(x)
        threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
        for thread in threads: thread.start()
        for _ in range(FORKS):
            forked(check)
        stop.append(1)
        for thread in threads: thread.join()
    """,
    "while_another_thread_compiles": """
        stop = []
        def work():
            while not stop:
                lamina.compile(text, cache=False)
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        for _ in range(5):
            forked(check)
        stop.append(1)
        thread.join()
    """,
    "while_another_thread_imports_the_compiler": """
        assert "lamina.passes.schedule.schedule_texts" not in sys.modules, "not cached"
        def compiles():
            lamina.compile(text, cache=False)
        thread = threading.Thread(target=compiles)
        thread.start()
        for _ in range(3):
            forked(compiles)
        thread.join()
    """,
    "while_another_thread_frees_what_llvm_made": """
        from llvmlite import binding
        stop = []
        def work():
            while not stop:
                binding.parse_assembly("")
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        for _ in range(FORKS):
            forked(check)
        stop.append(1)
        thread.join()
    """,
    "while_another_thread_draws": """
        import lamina.frontends.torch_seeds
        drawing = text.replace("aten.softmax.int(%x, dim = 1)", "aten.rand_like.default(%x)")
        draw = lamina.compile(drawing)
        stop = []
        def work():
            while not stop:
                draw(x)
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        for _ in range(5):
            forked(lambda: draw(x))
        stop.append(1)
        thread.join()
    """,
    "multiprocessing": """
        import multiprocessing
        context = multiprocessing.get_context("fork")
        with context.Pool(2) as pool:
            for made in pool.map(call, [x] * 4):
                assert (made == wanted).all()
    """,
    "data_loader": """
        class Rows(torch.utils.data.Dataset):
            def __len__(self): return 8
            def __getitem__(self, index): return compiled(torch.from_numpy(x))
        loader = torch.utils.data.DataLoader(
            Rows(), num_workers=2, batch_size=None, multiprocessing_context="fork", timeout=120
        )
        for made in loader:
            assert (made.numpy() == wanted).all()
    """,
}

OFTEN = (
    "many_times",
    "while_other_threads_are_in_the_program",
    "while_another_thread_compiles",
    "while_another_thread_frees_what_llvm_made",
)


def run(script: str, cache: Path) -> None:
    """Runs it in a process of its own, until it prints that it is done."""
    done = subprocess.run(
        [sys.executable, "-c", script + "\nprint('done')\n"],
        env={**os.environ, "LAMINA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.endswith("done\n"), done.stdout + done.stderr[-3000:]


@pytest.fixture(scope="module")
def warm_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the program is, so that a process imports the compiler when it compiles anew."""
    directory = tmp_path_factory.mktemp("cache")
    run(PARENT + """assert "GOMP_parallel" in compiled.ir("llvm")""", directory)
    return directory


@pytest.mark.parametrize("case", CASES)
def test_children_compute_what_the_parent_does(case: str, warm_cache: Path) -> None:
    before = WITH_COMPILER if case in OFTEN else ""
    run(PARENT + before + textwrap.dedent(CASES[case]) + "\ncheck()\n", warm_cache)


def test_a_fork_waits_for_the_thread_that_compiles() -> None:
    inside, goes_on, forked = threading.Event(), threading.Event(), threading.Event()
    seen: list[str] = []

    def compiles() -> None:
        with forks_wait():
            inside.set()
            assert goes_on.wait(60)
            time.sleep(0.05)  # a fork that does not wait comes before the first pass
            seen.append("first pass")
            # The other thread may begin to fork late, but may not wait until its patience ends.
            end = time.monotonic() + PATIENCE / 2
            while not forked.is_set() and time.monotonic() < end:
                let_fork()
            seen.append("second pass")

    thread = threading.Thread(target=compiles)
    thread.start()
    assert inside.wait(60)
    goes_on.set()
    child = os.fork()
    if child == 0:
        os._exit(len(seen))
    forked.set()
    _, status = os.waitpid(child, 0)
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 1, "between the first pass and the second"
