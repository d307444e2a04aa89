"""Programs of one kernel, of the classes of rows, columns and transposes."""

PROGRAMS = {
    "chain": """
func.func @main(%x: tensor<37x70xf32>, %y: tensor<37x70xf32>) -> tensor<37x70xf32> {
  %0 = aten.mul.Tensor(%x, %y) : (tensor<37x70xf32>, tensor<37x70xf32>) -> tensor<37x70xf32>
  %1 = aten.sigmoid.default(%0) : (tensor<37x70xf32>) -> tensor<37x70xf32>
  func.return %1 : tensor<37x70xf32>
}""",
    "softmax": """
func.func @main(%x: tensor<37x70xf32>, %y: tensor<37x70xf32>) -> tensor<37x70xf32> {
  %0 = aten.softmax.int(%x, dim = 1) : (tensor<37x70xf32>) -> tensor<37x70xf32>
  %1 = aten.add.Tensor(%0, %y) : (tensor<37x70xf32>, tensor<37x70xf32>) -> tensor<37x70xf32>
  func.return %1 : tensor<37x70xf32>
}""",
    "columns": """
func.func @main(%x: tensor<37x70xf32>, %y: tensor<37x70xf32>) -> tensor<70xf32> {
  %0 = aten.mul.Tensor(%x, %y) : (tensor<37x70xf32>, tensor<37x70xf32>) -> tensor<37x70xf32>
  %1 = aten.sum.dim_IntList(%0, dim = [0]) : (tensor<37x70xf32>) -> tensor<70xf32>
  func.return %1 : tensor<70xf32>
}""",
    "rows": """
func.func @main(%x: tensor<64x70xf32>, %y: tensor<64x70xf32>) -> tensor<64xf32> {
  %0 = aten.mul.Tensor(%x, %y) : (tensor<64x70xf32>, tensor<64x70xf32>) -> tensor<64x70xf32>
  %1 = aten.sum.dim_IntList(%0, dim = [1]) : (tensor<64x70xf32>) -> tensor<64xf32>
  func.return %1 : tensor<64xf32>
}""",
    "transpose": """
func.func @main(%x: tensor<37x70xf32>, %y: tensor<70x37xf32>) -> tensor<70x37xf32> {
  %0 = aten.t.default(%x) : (tensor<37x70xf32>) -> tensor<70x37xf32>
  %1 = aten.mul.Tensor(%0, %y) : (tensor<70x37xf32>, tensor<70x37xf32>) -> tensor<70x37xf32>
  func.return %1 : tensor<70x37xf32>
}""",
}
