"""f32 matrix product 1024^3, both operands changing from call to call, beside torch.

python -m bench.matmul [SIZE]
"""

import os
import sys
from collections.abc import Callable
from itertools import cycle

os.environ.setdefault("OMP_NUM_THREADS", "2")

import torch

import lamina
from bench.timing import interleave, print_table

_PAIRS = 4


def program(size: int) -> str:
    """The product of two square matrices as textual IR."""
    matrix = f"tensor<{size}x{size}xf32>"
    return f"""
func.func @main(%a: {matrix} {{lamina.name = "a", lamina.kind = "input"}},
                %b: {matrix} {{lamina.name = "b", lamina.kind = "input"}}) -> {matrix} {{
  %c = aten.mm.default(%a, %b) : ({matrix}, {matrix}) -> {matrix}
  func.return %c : {matrix}
}}"""


def compare(size: int = 1024, seconds: float = 5.0) -> None:
    """Prints the table, GF/s, and the share of the measured FMA peak."""
    from bench.fma_peak import fma_peak

    generator = torch.Generator().manual_seed(0)
    pairs = [
        (torch.randn(size, size, generator=generator), torch.randn(size, size, generator=generator))
        for _ in range(_PAIRS)
    ]
    compiled = lamina.compile(program(size))
    a, b = pairs[0]
    exact = a.double() @ b.double()
    error = (compiled(a, b) - exact).abs().max() / exact.abs().max()
    timings = interleave(
        {
            "lamina": _rotating(compiled, pairs),
            "torch": _rotating(torch.mm, pairs),
        },
        seconds=seconds,
    )
    print_table(f"f32 matrix product {size}^3", timings, "torch")
    peak = fma_peak(threads=2)
    for name, timing in timings.items():
        rate = 2 * size**3 / timing.best / 1e9
        print(f"  {name}: {rate:.0f} GF/s, {rate / peak:.0%} of the FMA peak of {peak:.0f} GF/s")
    print(f"  relative error of lamina against f64: {error:.1e}")


def _rotating(
    product: Callable[..., torch.Tensor], pairs: list[tuple[torch.Tensor, torch.Tensor]]
) -> Callable[[], torch.Tensor]:
    following = cycle(pairs)
    return lambda: product(*next(following))


if __name__ == "__main__":
    torch.set_num_threads(2)
    compare(*(int(argument) for argument in sys.argv[1:2]))
