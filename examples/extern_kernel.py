"""A kernel of your own behind `loop.extern`: here a least squares solver.

python examples/extern_kernel.py
"""

import numpy as np

import lamina

PROGRAM = """
func.func @main(%a: tensor<6x3xf32> {lamina.name = "a"}, %b: tensor<6x2xf32> {lamina.name = "b"})
    -> tensor<3x2xf32> {
  %doubled = prims.add(%b, %b) : (tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<6x2xf32>
  %x = prims.extern([%a, %doubled], "mine.lstsq", "{\\22cutoff\\22: 1e-6}")
    : (tensor<6x3xf32>, tensor<6x2xf32>) -> (tensor<3x2xf32>)
  func.return %x : tensor<3x2xf32>
}
"""


@lamina.extern_kernel("mine.lstsq", dtypes=("f32", "f64"))
def lstsq(a: np.ndarray, b: np.ndarray, *, cutoff: float) -> np.ndarray:
    """The x that minimizes |a x - b|."""
    return np.linalg.lstsq(a, b, rcond=cutoff)[0]


def main() -> None:
    """Compiles the program and compares it with NumPy."""
    generator = np.random.default_rng(0)
    a = generator.standard_normal((6, 3)).astype(np.float32)
    b = generator.standard_normal((6, 2)).astype(np.float32)
    x = lamina.compile(PROGRAM)(a, b)
    difference = abs(x - np.linalg.lstsq(a, b + b, rcond=None)[0]).max()
    print(f"largest difference from NumPy: {difference:.1e}")


if __name__ == "__main__":
    main()
