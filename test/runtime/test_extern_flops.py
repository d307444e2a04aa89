"""Flops of extern kernels: every listed kernel exists, and counts follow from the shapes."""

import pytest

import lamina.runtime.extern_kernels.flops as flops
from lamina.runtime.extern_kernels.flops import extern_flops
from lamina.runtime.extern_kernels.registry import kernel_names


@pytest.mark.parametrize(
    ("kernel", "shapes", "count"),
    [
        ("linalg.lu_factor", [(30, 30)], 18_000),
        ("linalg.lu_factor", [(5, 30, 30)], 90_000),
        ("linalg.qr", [(40, 30)], 96_000),
        ("linalg.solve_triangular", [(30, 30), (30, 4)], 7_200),
        ("linalg.lu_solve", [(30, 30), (30,), (30, 4)], 7_200),
        ("linalg.cholesky_solve", [(30, 4), (30, 30)], 7_200),
        ("fft.c2c", [(8, 1024)], 5 * 8 * 1024 * 10),
        ("mine.unknown", [(30, 30)], 0),
        ("linalg.svd", [()], 0),
    ],
)
def test_count(kernel: str, shapes: list[tuple[int, ...]], count: int) -> None:
    assert extern_flops(kernel, shapes) == count


def test_listed_kernels_exist() -> None:
    names = set(kernel_names())
    for name in (*flops._CUBES, *flops._SOLVES):
        assert f"linalg.{name}" in names
