"""Small programs of the `aten` layer from which the seeds of all layers are made.

Among them they hold every kind of op that has a shape of its own further down: pointwise chains,
reductions of rows and columns, products, convolutions, branches, loops, scans, sorts, scatters,
gathers, random numbers, sizes that depend on data, in-place ops, extern kernels, half floats and
complex numbers.
"""

PROGRAMS: dict[str, str] = {
    "pointwise": """
func.func @main(%a: tensor<4x8xf32> {lamina.name = "a"}, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = aten.add.Tensor(%a, %b, alpha = 2) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = aten.gelu.default(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = aten.mul.Scalar(%1, other = 0.5) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}
""",
    "integers": """
func.func @main(%a: tensor<6xi64>, %b: tensor<6xi32>) -> (tensor<6xi64>, tensor<6xi1>) {
  %0 = aten.bitwise_and.Tensor(%a, %b) : (tensor<6xi64>, tensor<6xi32>) -> tensor<6xi64>
  %1 = aten.full.default(size = [6], fill_value = 7, dtype = i64) : () -> tensor<6xi64>
  %2 = aten.remainder.Tensor(%0, %1) : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
  %3 = aten.gt.Scalar(%2, other = 3) : (tensor<6xi64>) -> tensor<6xi1>
  func.return %2, %3 : tensor<6xi64>, tensor<6xi1>
}
""",
    "softmax": """
func.func @main(%x: tensor<3x37xf32>) -> tensor<3x37xf32> {
  %0 = aten._softmax.default(%x, dim = -1, half_to_float = false)
    : (tensor<3x37xf32>) -> tensor<3x37xf32>
  func.return %0 : tensor<3x37xf32>
}
""",
    "product": """
func.func @main(%x: tensor<5x16xf32>, %w: tensor<16x40xf32> {lamina.kind = "parameter"})
    -> tensor<5x40xf32> {
  %0 = aten.mm.default(%x, %w) : (tensor<5x16xf32>, tensor<16x40xf32>) -> tensor<5x40xf32>
  %1 = aten.relu.default(%0) : (tensor<5x40xf32>) -> tensor<5x40xf32>
  func.return %1 : tensor<5x40xf32>
}
""",
    "convolution": """
func.func @main(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>)
    -> tensor<1x4x8x8xf32> {
  %0 = aten.convolution.default(%x, %w, %b, stride = [1, 1], padding = [1, 1], dilation = [1, 1],
    transposed = false, output_padding = [0, 0], groups = 1)
    : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  func.return %0 : tensor<1x4x8x8xf32>
}
""",
    "layout": """
func.func @main(%x: tensor<2x6xf32>, %y: tensor<2x6xf32>) -> tensor<3x8xf32> {
  %0 = aten.cat.default([%x, %y], dim = 0) : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
  %1 = aten.permute.default(%0, dims = [1, 0]) : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %2 = aten.clone.default(%1) : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %3 = aten.view.default(%2, size = [3, 8]) : (tensor<6x4xf32>) -> tensor<3x8xf32>
  func.return %3 : tensor<3x8xf32>
}
""",
    "in place": """
func.func @main(%x: tensor<4x4xf32>, %i: tensor<4xi64>) -> tensor<4x4xf32> {
  %0 = aten.select.int(%x, dim = 0, index = 1) : (tensor<4x4xf32>) -> tensor<4xf32>
  %1 = aten.mul_.Scalar(%0, other = 3.0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.index_select.default(%x, dim = 1, %i)
    : (tensor<4x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  func.return %2 : tensor<4x4xf32>
}
""",
    "scatter, scan and sort": """
func.func @main(%x: tensor<3x9xf32>, %i: tensor<3x9xi64>)
    -> (tensor<3x9xf32>, tensor<3x9xi64>, tensor<3x9xf32>) {
  %0 = aten.scatter_add.default(%x, dim = 1, %i, %x)
    : (tensor<3x9xf32>, tensor<3x9xi64>, tensor<3x9xf32>) -> tensor<3x9xf32>
  %1, %2 = aten.sort.default(%0, dim = -1, descending = true)
    : (tensor<3x9xf32>) -> (tensor<3x9xf32>, tensor<3x9xi64>)
  %3 = aten.cumsum.default(%1, dim = 1) : (tensor<3x9xf32>) -> tensor<3x9xf32>
  func.return %0, %2, %3 : tensor<3x9xf32>, tensor<3x9xi64>, tensor<3x9xf32>
}
""",
    "branches": """
func.func @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %r = control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %v = aten.sin.default(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %v : tensor<4xf32>
  } else {
  ^bb0(%b: tensor<4xf32>):
    control.yield %b : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
""",
    "loops": """
func.func @main(%x: tensor<4xf32>, %i: tensor<i64>, %xs: tensor<5x4xf32>)
    -> (tensor<4xf32>, tensor<5x4xf32>) {
  %n, %y = control.while from(%i, %x) : (tensor<i64>, tensor<4xf32>)
      -> (tensor<i64>, tensor<4xf32>) test {
  ^bb0(%k: tensor<i64>, %a: tensor<4xf32>):
    %q = aten.lt.Scalar(%k, other = 5) : (tensor<i64>) -> tensor<i1>
    control.yield %q : tensor<i1>
  } do {
  ^bb0(%k: tensor<i64>, %a: tensor<4xf32>):
    %m = aten.add.Scalar(%k, other = 1) : (tensor<i64>) -> tensor<i64>
    %s = aten.tanh.default(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %m, %s : tensor<i64>, tensor<4xf32>
  }
  %h, %ys = control.scan from(%y) over(%xs) : (tensor<4xf32>, tensor<5x4xf32>)
      -> (tensor<4xf32>, tensor<5x4xf32>) do {
  ^bb0(%sum: tensor<4xf32>, %a: tensor<4xf32>):
    %s = aten.add.Tensor(%sum, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    control.yield %s, %s : tensor<4xf32>, tensor<4xf32>
  }
  func.return %h, %ys : tensor<4xf32>, tensor<5x4xf32>
}
""",
    "dynamic": """
func.func @main(%x: tensor<7xf32>) -> tensor<?xf32> {
  %m = aten.gt.Scalar(%x, other = 0) : (tensor<7xf32>) -> tensor<7xi1>
  %0 = aten.masked_select.default(%x, %m) : (tensor<7xf32>, tensor<7xi1>) -> tensor<?xf32>
  %1 = aten.mul.Scalar(%0, other = 2) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %1 : tensor<?xf32>
}
""",
    "random": """
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = aten.rand.default(size = [4, 4], dtype = f32) : () -> tensor<4x4xf32>
  %1 = aten.maximum.default(%x, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %1 : tensor<4x4xf32>
}
""",
    "half and complex": """
func.func @main(%x: tensor<2x5xbf16>, %z: tensor<4xcomplex<f32>>)
    -> (tensor<2xbf16>, tensor<4xcomplex<f32>>) {
  %0 = aten.exp.default(%x) : (tensor<2x5xbf16>) -> tensor<2x5xbf16>
  %1 = aten.sum.dim_IntList(%0, dim = [1]) : (tensor<2x5xbf16>) -> tensor<2xbf16>
  %2 = aten.mul.Tensor(%z, %z)
    : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  func.return %1, %2 : tensor<2xbf16>, tensor<4xcomplex<f32>>
}
""",
    "extern": """
func.func @main(%x: tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<i32>) {
  %0, %1 = aten.linalg_cholesky_ex.default(%x) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<i32>)
  func.return %0, %1 : tensor<3x3xf64>, tensor<i32>
}
""",
}
"""Name to text. A mutation may start from any of them, at any layer."""
